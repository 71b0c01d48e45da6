"""The claims ledger, the errata, and one page with everything."""

PAPERS = [rules.kairouz2016, rules.liao2017, rules.kalantari2018, rules.lopuhaa2024]
FINISHED = [str(path) for paper in PAPERS for path in paper.input]


rule claims:
    input:
        # Every table: a claim may be about more than one.
        tables=[path for path in FINISHED if path.endswith(".parquet")],
        claims=os.path.relpath(BASE / "resources/claims.yaml"),
        errata=os.path.relpath(BASE / "resources/errata.yaml"),
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
        "../../environment.yml"
    threads: 1
    params:
        directory=lambda wildcards, input: str(Path(input.tables[0]).parents[1]),
        code=code("claims.py"),
    script:
        "../scripts/claims.py"


rule report:
    input:
        finished=FINISHED,
        claims=rules.claims.output.parquet,
        errata=os.path.relpath(BASE / "resources/errata.yaml"),
        captions=[os.path.relpath(path) for path in sorted((BASE / "workflow/report").glob("*.rst"))],
        provenance=rules.adult_counts.output.provenance,
    output:
        "results/report/index.html",
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        logs="logs",
        configuration=config,
        template=hashlib.sha256((BASE / "src/ldpfrontier/templates/report.html").read_bytes()).hexdigest(),
        code=code("report.py"),
    script:
        "../scripts/report.py"
