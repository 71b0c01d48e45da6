"""Tables of counts: the pair counts of every data set from their source, and one small table per pair in use."""


rule counts:
    input:
        bundled=lambda wildcards: data.data_set(wildcards.data, config).path(RESOURCES),
        raw=lambda wildcards: config.get(wildcards.data, {}).get("file") or [],
    output:
        counts="results/data/{data}/counts.csv",
        provenance="results/data/{data}/provenance.json",
    log:
        "logs/data/{data}.log",
    benchmark:
        "logs/data/{data}.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        settings=lambda wildcards: config.get(wildcards.data, {}),
        code=lambda wildcards: code("counts", data.data_set(wildcards.data, config).loader_name)(wildcards),
    message:
        "Get the counts of {wildcards.data}"
    script:
        "../scripts/counts.py"


rule pair:
    input:
        # Of the counts that are shipped: those of every source must be the same, or the rule above fails. So another
        # source leaves what is computed from them alone.
        bundled=lambda wildcards: data.data_set(wildcards.data, config).path(RESOURCES),
    output:
        "results/data/{data}/{sensitive}/{useful}.csv",
    log:
        "logs/data/{data}/{sensitive}/{useful}.log",
    benchmark:
        "logs/data/{data}/{sensitive}/{useful}.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        entry=lambda wildcards: config.get("data", {}).get(wildcards.data, {}),
        code=code("pair"),
    message:
        "Count {wildcards.sensitive} by {wildcards.useful}"
    script:
        "../scripts/pair.py"
