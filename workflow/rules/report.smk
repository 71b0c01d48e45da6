"""The claims ledger, the errata, and one page with everything."""

CLAIMS = {claim["id"]: (paper.key, claim) for paper in PAPERS.values() for claim in paper.claims}
# What the page is made from, beside the results.
PAGES = [
    *sorted((BASE / "workflow/reproduction/report/templates").glob("report.*")),
    *filter(Path.is_file, [BASE / "docs/glossary.md"]),
]


rule claims:
    input:
        # Every table that is asked for: a claim may be about more than one.
        tables=lambda wildcards: asked_files(".parquet"),
        papers=PAPER_FILES,
    output:
        parquet="results/claims.parquet",
        csv="results/claims.csv",
        markdown="results/claims.md",
        errata="results/errata.md",
    log:
        "logs/report/claims.log",
    benchmark:
        "logs/report/claims.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        also=lambda wildcards: there_already(".parquet"),
        certificates=VERIFIED,
        code=claim_code("claims"),
    message:
        "Decide the claims"
    script:
        "../scripts/claims.py"


rule claim:
    input:
        # What this claim is about and no more, for a reader who wants to check it alone.
        tables=lambda wildcards: [
            f"results/tables/{table_place(CLAIMS[wildcards.claim][0], name)}.parquet"
            for name in CLAIMS[wildcards.claim][1]["tables"]
        ],
        papers=PAPER_FILES,
    output:
        "results/claims/{claim}.md",
    log:
        "logs/report/claims/{claim}.log",
    benchmark:
        "logs/report/claims/{claim}.tsv"
    wildcard_constraints:
        claim="|".join(CLAIMS),
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        paper=lambda wildcards: CLAIMS[wildcards.claim][0],
        code=claim_code("claim"),
    message:
        "Decide {wildcards.claim}"
    script:
        "../scripts/claim.py"


rule report:
    input:
        finished=lambda wildcards: asked_files(),
        claims=rules.claims.output.parquet,
        papers=PAPER_FILES,
        provenance=expand("results/data/{data}/provenance.json", data=PLAN.data_sets(*PAPERS.values())),
        pages=[os.path.relpath(path) for path in PAGES],
    output:
        "results/report/index.html",
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        configuration=config,
        also=lambda wildcards: there_already(),
        certificates=VERIFIED,
        code=code("report"),
    message:
        "Write the report"
    script:
        "../scripts/report.py"
