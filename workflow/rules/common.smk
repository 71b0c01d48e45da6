"""What all rules share: the package, the checked configuration, the papers, and what a job is told."""

import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# Planning needs nothing but Snakemake: the package is taken from this repository, and what is imported here needs no
# numerical library. Jobs put the package on their path themselves (workflow/scripts/_job.py).
BASE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
sys.path.insert(0, str(BASE / "src"))

try:
    from ldpfrontier import configuration, data, runs
    from ldpfrontier.papers import ROOT as PAPER_FOLDERS
    from ldpfrontier.papers import data_of, papers
    from ldpfrontier.provenance import code_hash
except ImportError as missing:
    raise WorkflowError(
        f"The package ldpfrontier cannot be imported from {BASE / 'src'}: {missing}. The workflow is used from a copy of"
        " its repository, also as a module."
    ) from None

# One thread per job: Snakemake shares out the cores, and sums keep their order on every machine.
for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

PAPERS = papers()
COMMON_SCHEMA = json.loads((BASE / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))

try:
    configuration.check(config, COMMON_SCHEMA, PAPERS.values())
except configuration.ConfigurationError as problems:
    raise WorkflowError(str(problems)) from None


wildcard_constraints:
    data="|".join(data.catalogue()),
    sensitive="[^/]+",
    public="[^/]+",
    paper="|".join(PAPERS),
    figure="[^/]+",
    layout="[^/]+",
    suffix="[a-z]+",
    part=".+",


def shipped(name):
    """Return the path of a file of resources/: relative, so that a project that moves with its results keeps them."""
    return os.path.relpath(BASE / "resources" / name)


@cache
def code(script, *modules):
    """Hash what a job runs: for `params`, because Snakemake does not see imported modules."""
    return code_hash(BASE / "workflow/scripts" / script, *modules)


def modules(*names):
    """Return the modules of what ``module:name`` names, each once."""
    return sorted({name.partition(":")[0] for name in names})


@cache
def digest(name, sensitive, public):
    """Hash the counts of one pair.

    Every source must give the shipped counts, so their hash is known before anything is downloaded. With it in `params`,
    another source, or other counts of other attributes, leaves what is computed from this pair alone.
    """
    return data.data_set(name).contingency(shipped_counts(name), sensitive, public).digest()


@cache
def shipped_counts(name):
    return data.data_set(name).read(shipped(data.data_set(name).counts))


def told(call, arguments, tables):
    """Return what a job is told of a call, as plain values: what to call, with which arguments, and what to read."""
    counts = dict(data_of(arguments))
    return {
        "function": call.function_name,
        "arguments": {name: value for name, value in arguments.items() if name not in counts},
        "counts": {
            name: [c.data, c.sensitive, c.public, digest(c.data, c.sensitive, c.public)]
            for name, c in counts.items()
        },
        "tables": [{"name": t.name, "schema": t.schema_name, "files": len(files_of(t))} for t in tables],
    }
