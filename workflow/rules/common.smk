"""What all rules share: the checked configuration, code hashes, the files of a figure."""

import hashlib
import os
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from ldpfrontier import adult, configuration
from ldpfrontier.provenance import code_hash
from ldpfrontier.tables import pair_text

BASE = Path(workflow.basedir).parent
# Relative, so that a project that moves with its results keeps them.
BUNDLED = Path(os.path.relpath(BASE / "resources/adult_pair_counts.csv"))

# One thread per job: Snakemake shares out the cores, and sums keep their order on every machine.
for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

try:
    configuration.check(config, configuration.load_schema(BASE / "workflow/schemas/config.schema.json"))
except configuration.ConfigurationError as problems:
    raise WorkflowError(str(problems)) from None


@cache
def code(script):
    """Hash what a script runs: for `params`, because Snakemake does not see imported modules."""
    return code_hash(BASE / "workflow/scripts" / script)


def figure(stem, **shown):
    """Name the files of a figure in all formats; the best one for a browser goes into the report."""
    paths = {suffix: f"{stem}.{suffix}" for suffix in config["figures"]["formats"]}
    best = min(paths, key=["svg", "png", "pdf"].index)
    paths[best] = report(paths[best], **shown)
    return list(paths.values())


@cache
def pair_digest(sensitive, public):
    """Hash the counts of one pair.

    Every source must give the shipped counts, so their hash is known before anything is downloaded. With it in
    `params`, another source, or other counts of other attributes, leaves what is computed from this pair alone.
    """
    text = pair_text(*adult.contingency(shipped_counts(), sensitive, public))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def shipped_counts():
    return adult.read_counts(BUNDLED)
