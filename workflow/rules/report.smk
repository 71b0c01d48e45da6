"""The claims ledger, the errata, and one page with everything."""


rule claims:
    input:
        # Every table: a claim may be about more than one.
        tables=[path for path in FINISHED if path.endswith(".parquet")],
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
        tables=lambda wildcards, input: str(Path(input.tables[0]).parents[1]),
        code=claim_code(),
    message:
        "Decide the claims"
    script:
        "../scripts/claims.py"


rule report:
    input:
        finished=FINISHED,
        claims=rules.claims.output.parquet,
        papers=PAPER_FILES,
        provenance=expand("results/data/{data}/provenance.json", data=PLAN.data(*PAPERS.values())),
    output:
        page="results/report/index.html",
        tables="results/report/tables.csv",
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        logs="logs",
        configuration=config,
        templates=[
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((BASE / "src/ldpfrontier/templates").glob("report.*"))
        ],
        code=code("report.py"),
    message:
        "Write the report"
    script:
        "../scripts/report.py"
