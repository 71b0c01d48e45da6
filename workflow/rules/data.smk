"""UCI Adult: the counts of all pairs of attributes, and one small table per pair in use."""

from ldpfrontier.adult import ATTRIBUTES


wildcard_constraints:
    sensitive="|".join(ATTRIBUTES),
    public="|".join(ATTRIBUTES),


rule adult_counts:
    input:
        bundled=BUNDLED,
        raw=config["adult"]["file"] or [],
    output:
        counts="results/data/adult/counts.csv",
        provenance="results/data/adult/provenance.json",
    log:
        "logs/adult/counts.log",
    benchmark:
        "logs/adult/counts.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        adult=config["adult"],
        code=code("adult_counts.py"),
    script:
        "../scripts/adult_counts.py"


rule adult_pair:
    input:
        counts=rules.adult_counts.output.counts,
    output:
        ensure(
            "results/data/adult/{sensitive}/{public}.csv",
            sha256=lambda wildcards: pair_digest(wildcards.sensitive, wildcards.public),
        ),
    log:
        "logs/adult/{sensitive}/{public}.log",
    benchmark:
        "logs/adult/{sensitive}/{public}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        digest=lambda wildcards: pair_digest(wildcards.sensitive, wildcards.public),
        code=code("adult_pair.py"),
    script:
        "../scripts/adult_pair.py"
