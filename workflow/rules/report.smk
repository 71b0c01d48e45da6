"""The claims ledger, the errata, and one page with everything; what is said before and after a run."""


def claim_modules():
    """Return what decides claims, and the schemas of the tables that claims are about."""
    own = [
        f"ldpfrontier.papers.{key}.claims" for key in PAPERS if (PAPER_FOLDERS / key / "claims.py").is_file()
    ]
    return {
        *own,
        *modules(*(table.schema_name for paper in PAPERS.values() for table in paper.tables.values())),
    }


def job_of(job):
    return runs.Job.of(job.benchmark, job.params.get("call"))


def announcement(dag, cores):
    """Make the terminal concise, and return what is said before a run."""
    runs.Concise.install(logger)
    todo = [job_of(job) for job in dag.needrun_jobs() if job.benchmark]
    return runs.announcement(todo, runs.read_times(RUN_TIMES, shipped("run_times.csv")), cores)


def conclusion(dag):
    """Keep the run times for the next announcement, and return what is said after a run."""
    runs.record_times([(job_of(job), Path(job.benchmark)) for job in dag.jobs if job.benchmark], RUN_TIMES)
    # `snakemake --report results/report/snakemake.html` does not make its directory.
    Path("results/report").mkdir(parents=True, exist_ok=True)
    return runs.summary("results")


RUN_TIMES = "logs/run_times.csv"
PAPER_FILES = [os.path.relpath(PAPER_FOLDERS / key / "paper.yaml") for key in PAPERS]
USED_DATA = sorted(
    {
        counts.data
        for paper in PAPERS.values()
        for table in paper.tables.values()
        for arguments in (jobs(paper.key, table.name).values() if table.parts else [table.resolved(config)])
        for _, counts in data_of(arguments)
    }
)


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
        tables="results/tables",
        code=code("claims.py", *sorted(claim_modules())),
    message:
        "Decide the claims"
    script:
        "../scripts/claims.py"


rule report:
    input:
        finished=FINISHED,
        claims=rules.claims.output.parquet,
        papers=PAPER_FILES,
        provenance=expand("results/data/{data}/provenance.json", data=USED_DATA),
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
        logs="logs",
        configuration=config,
        template=hashlib.sha256((BASE / "src/ldpfrontier/templates/report.html").read_bytes()).hexdigest(),
        code=code("report.py"),
    message:
        "Write the report"
    script:
        "../scripts/report.py"
