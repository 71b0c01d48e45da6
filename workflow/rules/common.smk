"""What all rules share: the package, the checked configuration, the papers, and what a job is told."""

import hashlib
import json
import os
import re
import shlex
import sys
import time
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import update_config

# Planning needs nothing but Snakemake: the reproduction and the library are taken from this repository, and what is
# imported here needs no numerical library. Jobs put both on their path themselves (workflow/scripts/_job.py).
BASE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
sys.path[:0] = [str(BASE / "workflow"), str(BASE / "src")]

try:
    from reproduction.data import catalogue as data
    from reproduction.planning import (
        configuration,
        digests,
        executed_code,
        outside,
        run_lock,
        run_times,
        terminal,
    )
    from reproduction.planning.paper import Counts, Layout, PaperError, Table, papers
    from reproduction.planning.plan import Plan
    from reproduction.planning.provenance import code_hash, freeze
except ImportError as missing:
    raise WorkflowError(
        f"The reproduction cannot be imported from {BASE}: {missing}. The workflow is used from a copy of"
        " its repository, also as a module."
    ) from None


class QuotedInCommands(str):
    """A path that is quoted where a text is formatted with it."""

    def __format__(self, specification):
        return shlex.quote(str(self))


TERMINAL = terminal.Concise(logger, lambda: workflow.dryrun)

# One thread per job: Snakemake shares out the cores, and sums keep their order on every machine.
for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

# Large arrays come and go: the GNU C library would return the memory of each to the system, and ask for it again.
for threshold, size in (("MMAP", 2**25), ("TRIM", 2**30)):
    os.environ.setdefault(f"MALLOC_{threshold}_THRESHOLD_", str(size))

# Snakemake puts the path of Python into its commands without quotes.
sys.executable = QuotedInCommands(sys.executable)

# All jobs import the same modules: what the first one compiles is kept, as kernels are.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

COMMON_SCHEMA = json.loads((BASE / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))

# Within braces, Snakemake reads every value of --config as a text: `--config 'figures={dpi: 100}'`.
update_config(config, configuration.read_texts(workflow.config_settings.config))

# What is outside the repository lies beside the files of configuration, or in the working directory.
FOLDERS = outside.folders_of(workflow.overwrite_configfiles)

try:
    PAPERS = papers(outside=outside.locate_papers(config, FOLDERS))
    outside.locate_files(config, FOLDERS)
    # A paper of the user's own may have such a key itself.
    for sentence in configuration.use_current_names(
        {key: section for key, section in config.items() if key not in PAPERS or not PAPERS[key].is_outside}
    ):
        if workflow.is_main_process:
            logger.warning(sentence)
    configuration.check(config, COMMON_SCHEMA, PAPERS.values())
    outside.locate_mechanisms(config, FOLDERS)
except (configuration.ConfigurationError, PaperError) as problems:
    raise WorkflowError(str(problems)) from None

OUTSIDE = {f"papers.{key}": paper.folder for key, paper in PAPERS.items() if paper.is_outside}

# What the jobs may run and read of the project, as it is now: from here on, this is what is hashed.
CODE_FOLDERS = [BASE / name for name in ("src/ldpfrontier", "workflow", "resources")]
CODE_FILES = executed_code.project_files(
    CODE_FOLDERS,
    [BASE / "docs/glossary.md", *outside.files_of(OUTSIDE, config)],
)
freeze(CODE_FILES)

PAPERS = {key: paper.select_calls(config) for key, paper in PAPERS.items()}

# Relative, so that a project that moves with its results keeps them.
RESOURCES = Path(os.path.relpath(BASE / "resources"))
RUN_TIMES = "logs/run_times.csv"
FINISHED_RUN = Path("results/.finished")
PLAN = Plan(PAPERS, config, RESOURCES)
PAPER_FILES = [os.path.relpath(paper.folder / "paper.yaml") for paper in PAPERS.values()]
FINISHED = [
    path for paper in PAPERS.values() for path in PLAN.target_files(paper, config["figures"]["formats"])
]

VERIFIED = [path for paper in PAPERS.values() for path in PLAN.verified_file(paper)]

if Path("results/tables").is_dir() and not any(Path(".snakemake/metadata").glob("*")):
    logger.warning(
        "There are results in this directory, but .snakemake/, which records how they were made, is missing, so that later"
        " changes cannot be detected. To be sure that all results are up to date, delete results/ or add --forceall."
    )

if workflow.is_main_process and (changed := digests.warning()):
    logger.warning(changed)


wildcard_constraints:
    data="|".join([*data.catalogue(), *data.own_tables(config)]),
    sensitive="[^/]+",
    useful="[^/]+",
    paper="|".join(PAPERS),
    figure="[^/]+",
    layout="[^/]+",
    suffix="[a-z]+",
    part=".+",


@cache
def code(script, *names):
    """Hash what a job runs, a script and the modules of ``module:name``: Snakemake does not see what is imported."""
    modules = sorted({name.partition(":")[0] for name in names})
    return code_hash((BASE / "workflow/scripts").resolve() / script, *modules, outside=OUTSIDE)


def code_of(call, *more):
    """Return the hash of what a job of a call runs: its script, its function, and the schemas of its tables."""
    script = {Table: "compute.py", Layout: "layout.py"}.get(type(call), "figure.py")
    schemas = [table.schema_name for table in (*PLAN.input_tables(call), *more)]
    found, looks = code(script, call.function_name, *schemas), PLAN.looks(call)
    return hashlib.sha256(f"{found} {looks}".encode()).hexdigest() if looks else found


def unknown_targets(arguments):
    """Yield a sentence for every argument that looks like a paper or a figure of one, and is neither.

    They are those of the command line: Snakemake has not read the targets yet, and will say only that it lacks a rule.
    """
    for before, target in zip(["", *arguments], arguments):
        is_like_a_paper = re.fullmatch("[a-z]+[0-9]{4}", target) and before not in ("-d", "--directory")
        if is_like_a_paper and target not in PAPERS:
            yield f"There is no paper {target}; there are {', '.join(PAPERS)}."
        if figure := re.fullmatch("results/figures/([^/]+)/([^/]+)[.]([a-z]+)", target):
            key, name, suffix = figure.groups()
            formats = config["figures"]["formats"]
            if key not in PAPERS:
                yield f"There is no paper {key}; there are {', '.join(PAPERS)}."
            elif name not in PAPERS[key].figures:
                yield f"{key} has no figure {name}; it has {', '.join(PAPERS[key].figures)}."
            elif suffix not in formats:
                yield f"Figures are made as {', '.join(formats)} (figures.formats), not as {suffix}."


def named(wildcards, kind):
    """Return the figure or the layout that the wildcards name."""
    found = getattr(PAPERS[wildcards.paper], f"{kind}s").get(wildcards[kind])
    if found is None:
        raise WorkflowError(f"{wildcards.paper} has no {kind} {wildcards[kind]}.")
    return found


def description(call, part=None):
    """Return what a job is told: its function, its arguments, and the tables and counts that it reads."""
    return PLAN.job_description(call, PLAN.arguments(call, part))


def origins(call, part=None):
    """Return how every table is read: the hashes of the code and of the configurations of its files, and whether it is read in batches."""
    return [
        {"code": code_of(table, table), "configurations": configurations, "batches": call.batches}
        for table, configurations in zip(
            PLAN.input_tables(call), PLAN.input_configurations(call, part), strict=True
        )
    ]


def collected(table):
    """Return how the parts of a table are read: the hash of their code, and those of their configurations."""
    return {"code": code_of(table, table), "configurations": PLAN.part_configurations(table)}


def count_files(table, part=None):
    """Return the files of the tables of counts that a job of a table reads."""
    return PLAN.count_files(PLAN.arguments(table, part))


def by_part(function, table):
    """Return a function of the wildcards that calls `function` with the table and the part that they name, if any."""
    return lambda wildcards: function(table, wildcards.get("part"))


def doubling(amount):
    """Return a function of the attempt: an amount of a resource, twice as much each time a job is tried again."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


def report_options(kind):
    """Return the options of `report` for figures or layouts: caption, category and labels."""
    return {
        "caption": "../report/caption.rst",
        "category": "{paper}",
        "labels": lambda wildcards: dict(named(wildcards, kind).labels),
    }


def figure_files():
    """Return the files of a figure in all formats; the best one for a browser goes into the report."""
    paths = {
        suffix: f"results/figures/{{paper}}/{{figure}}.{suffix}" for suffix in config["figures"]["formats"]
    }
    best = min(paths, key=["svg", "png", "pdf"].index)
    options = report_options("figure")
    return [report(path, **options) if suffix == best else path for suffix, path in paths.items()]


def hashes(*paths):
    """Hash files of the project that a job reads: their times tell nothing of an edit that keeps them."""
    return [hashlib.sha256(CODE_FILES[Path(path).resolve()]).hexdigest() for path in paths]


def when_asked(function, *arguments):
    """Return a function of the wildcards that calls `function`: what every job's process reads need not be hashed in all."""
    return lambda wildcards: function(*arguments)


def claim_code(script):
    """Return the hash of what decides claims, the schemas of the tables that claims are about included."""
    own = [f"papers.{key}.claims" for key, paper in PAPERS.items() if (paper.folder / "claims.py").is_file()]
    return code(script, *own, *(table.schema_name for table in PLAN.tables if not table.population))


def job_of(job):
    return run_times.Job.from_benchmark(job.benchmark, job.params.get("call"))


def in_the_future(dag):
    """Yield a part of a sentence for every input that is dated more than a minute after now."""
    inputs = {path for job in dag.needrun_jobs() for path in job.input if Path(path).exists()}
    for path in sorted(path for path in inputs if not path.is_ancient):
        if (dated := Path(path).stat().st_mtime) > time.time() + 60:
            yield f"{path} is dated {time.strftime('%Y-%m-%d %H:%M', time.localtime(dated))}, in the future"


def announcement(dag):
    """Lock the directory, and return what is said before a run."""
    global RUN  # The lock is there as long as this process.
    try:
        RUN = run_lock.lock("results/.run")
    except run_lock.Busy as problem:
        sys.exit(str(problem))
    except OSError as problem:
        sys.exit(f"The directory results/ cannot be written: {problem}.")
    try:
        if any(Path(path).exists() for job in dag.needrun_jobs() for path in job.output):
            run_lock.keep_finished(FINISHED_RUN, workflow.overwrite_configfiles)
    except run_lock.WouldReplace as problem:
        sys.exit(str(problem))
    if late := "; ".join(in_the_future(dag)):
        sys.exit(
            f"{late}. Snakemake would remove what is made from it. Set the clock, or the time: touch FILE."
        )
    try:
        cores = workflow.cores
    except WorkflowError:  # A cluster has as many as it has.
        cores = None
    digests.remove(path for job in dag.needrun_jobs() for path in job.output)
    executed_code.note(
        CODE_FILES,
        CODE_FOLDERS,
        {str(job.output[0]): dict(job.params.items()) for job in dag.needrun_jobs() if job.output},
    )
    todo = {dag.jobid(job): job_of(job) for job in dag.needrun_jobs() if job.benchmark}
    times, scales = run_times.scaled(
        run_times.shipped(RESOURCES, workflow.overwrite_configfiles), RESOURCES / "durations.csv"
    )
    times = [*run_times.read_times(RUN_TIMES), *times]
    expected = dict(zip(todo, run_times.expected_times(todo.values(), times), strict=True))
    TERMINAL.progress = run_times.Progress(expected, cores, log=Path("logs/progress.csv"))
    count = sum(1 for _ in dag.needrun_jobs())
    said = run_times.announcement(todo.values(), times, cores, count, scales)
    asked = config["adult"]
    if (
        asked["source"] == "auto"
        and not asked["file"]
        and any(job.rule.name == "counts" for job in dag.needrun_jobs())
    ):
        said += (
            "\nThe counts of Adult are asked of UCI. If there is no answer, nothing is lost: after at most"
            f" {(asked['retries'] + 1) * asked['timeout']:.0f} s the same counts, which the project ships, are used."
        )
    return said


def add_digests(dag):
    """Note the digests of what a run has made, also if it has not finished."""
    digests.add(path for job in dag.jobs for path in job.output)


def conclusion(dag):
    """Keep the run times for the next announcement, and return what is said after a run."""
    run_times.record_times(
        [(job_of(job), Path(job.benchmark)) for job in dag.jobs if job.benchmark], RUN_TIMES
    )
    add_digests(dag)
    if {target.name for target in dag.targetrules or ()} == {"all"}:
        run_lock.note_finished(FINISHED_RUN, workflow.overwrite_configfiles)
    # `snakemake --report results/report/snakemake.html` does not make its directory.
    Path("results/report").mkdir(parents=True, exist_ok=True)
    return f"{run_times.summary('results')}\n{TERMINAL.progress.kept_word()}".rstrip()
