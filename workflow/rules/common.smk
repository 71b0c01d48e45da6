"""What all rules share: the checked configuration, the papers, and what a job is told."""

import json
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

# Planning needs nothing but Snakemake: the reproduction and the library are taken from this repository, and what is
# imported here needs no numerical library. Jobs put both on their path themselves (workflow/scripts/_job.py).
BASE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
sys.path[:0] = [str(BASE / "workflow"), str(BASE / "src")]

try:
    from reproduction.data import catalogue as data
    from reproduction.planning import configuration, outside
    from reproduction.planning.imports import code_hash
    from reproduction.planning.paper import (
        BEYOND,
        Layout,
        PaperError,
        Table,
        module_name,
        papers,
        table_place,
    )
    from reproduction.planning.plan import Plan
except ImportError as missing:
    raise WorkflowError(
        f"The reproduction cannot be imported from {BASE}: {missing}. The workflow is used from a copy of"
        " its repository, also as a module."
    ) from None


class QuotedInCommands(str):
    """A path that is quoted where a text is formatted with it."""

    def __format__(self, specification):
        return shlex.quote(str(self))


# Snakemake puts the path of Python into its commands without quotes.
sys.executable = QuotedInCommands(sys.executable)

# One thread per job: Snakemake shares out the cores, and sums keep their order on every machine.
for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

COMMON_SCHEMA = json.loads((BASE / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))

# Within braces, Snakemake reads every value of --config as a text: `--config 'figures={dpi: 100}'`.
update_config(config, configuration.read_texts(workflow.config_settings.config))

# What is outside the repository lies beside the files of configuration, or in the working directory.
FOLDERS = outside.folders_of(workflow.overwrite_configfiles)

try:
    PAPERS = papers(outside=outside.locate_papers(config, FOLDERS))
    outside.locate_files(config, FOLDERS)
    configuration.check(config, COMMON_SCHEMA, PAPERS.values())
    outside.locate_mechanisms(config, FOLDERS)
except (configuration.ConfigurationError, PaperError) as problems:
    raise WorkflowError(str(problems)) from None

PAPERS = {key: paper.select_calls(config) for key, paper in PAPERS.items()}

# Relative, so that a project that moves with its results keeps them.
RESOURCES = Path(os.path.relpath(BASE / "resources"))
PLAN = Plan(PAPERS, config)
PAPER_FILES = [os.path.relpath(paper.folder / "paper.yaml") for paper in PAPERS.values()]

# What a run ends in, by paper, and the certificates; and of these, what the targets of a command ask for.
FORMATS = config["figures"]["formats"]
VERIFIED = [path for paper in PAPERS.values() for path in PLAN.verified_file(paper)]
FINISHED = {key: PLAN.target_files(paper, FORMATS) for key, paper in PAPERS.items()} | {
    "certificates": VERIFIED
}
TARGETS = {
    "all": [key for key, paper in PAPERS.items() if not paper.is_beyond],
    **{key: [key] if key in PAPERS else [] for key in BEYOND},
    "certificates": ["certificates"],
    "everything": [*FINISHED],
}


wildcard_constraints:
    data="|".join([*data.catalogue(), *data.own_tables(config)]),
    sensitive="[^/]+",
    useful="[^/]+",
    paper="|".join(PAPERS),
    figure="[^/]+",
    layout="[^/]+",
    suffix="[a-z]+",
    part=".+",


def named(wildcards, kind):
    """Return the figure or the layout that the wildcards name."""
    found = getattr(PAPERS[wildcards.paper], f"{kind}s").get(wildcards[kind])
    if found is None:
        raise WorkflowError(f"{wildcards.paper} has no {kind} {wildcards[kind]}.")
    return found


def code(script, *names):
    """Return a function of the wildcards that hashes what a job runs: a script, and the modules of ``module:name``."""
    return lambda wildcards: code_hash(script, *(name.partition(":")[0] for name in names))


def code_of(call):
    """Return the hash of what a job of a call runs: its script, its function, and the schemas of its tables."""
    script = {Table: "compute", Layout: "layout"}.get(type(call), "figure")
    tables = [*PLAN.input_tables(call), *([call] if isinstance(call, Table) else [])]
    return code(script, call.function_name, *(table.schema_name for table in tables))(None)


def asked_for():
    """Return the parts of the run that the targets of the command ask for."""
    # Known when the rules are put together, but not yet when this file is read.
    targets = getattr(workflow.dag_settings, "targets", None) or ()
    parts = [part for target in targets for part in TARGETS.get(target, [target])]
    return [part for part in FINISHED if part in parts] or TARGETS["all"]


def asked_files(suffix=""):
    """Return the files of what is asked for, and the tables of other papers that it is about."""
    files = [path for part in asked_for() for path in FINISHED[part]]
    about = PLAN.tables_of_claims(PAPERS[part] for part in asked_for() if part in PAPERS)
    return [path for path in dict.fromkeys([*files, *about]) if path.endswith(suffix)]


def there_already(suffix=""):
    """Return the files of what is not asked for that are there, each with what tells it from another version.

    They are shown as they are: no job makes them again.
    """
    others = dict.fromkeys(path for files in FINISHED.values() for path in files if path.endswith(suffix))
    found = {path: Path(path).stat() for path in others.keys() - {*asked_files()} if Path(path).is_file()}
    return {path: [found[path].st_mtime_ns, found[path].st_size] for path in others if path in found}


def said_at_the_end():
    """Return what was made, and what else there is."""
    targets = getattr(workflow.dag_settings, "targets", None) or ["all"]
    page = " results/report/index.html shows what is there on one page." * bool({*TARGETS} & {*targets})
    words = {
        "all": "the papers",
        "beyond": "the project's own results",
        "open_questions": "answers to what the papers left open",
        "certificates": "documents that prove optima",
    }
    others = [
        f"`snakemake {name}` makes {said}"
        for name, said in words.items()
        if not {*TARGETS[name]} <= {*asked_for()}
    ]
    more = f" {', '.join(others)}, and `snakemake everything` all of it." if others else ""
    return f"What was asked for is in results/.{page}{more}"


def input_files(call, part=None):
    """Return the files of the tables that a job of a call reads."""
    return [path for table in PLAN.input_files(call, part) for path in table]


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


def claim_code(script):
    """Return a function that hashes what decides claims, the schemas of the tables that claims are about included."""
    own = [
        module_name(key, "claims") for key, paper in PAPERS.items() if (paper.folder / "claims.py").is_file()
    ]
    return code(script, *own, *(table.schema_name for table in PLAN.tables if not table.population))
