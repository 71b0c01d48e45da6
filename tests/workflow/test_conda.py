"""The jobs in an environment that has what the workflow lists and nothing else, made by pip, not by conda."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import conda

# It installs packages, for which it needs a network.
pytestmark = [pytest.mark.workflow, pytest.mark.long]

ROOT = Path(__file__).parents[2]
#: A job of every script but those that need all results, and tables of every paper.
TARGETS = [
    "results/data/adult/counts.csv",
    "results/certificates/kairouz2016.csv",
    "results/claims/Ka-T1.md",
    "results/figures/liao2017/fig1.svg",
    "results/tables/liao2017/hypotheses.md",
    "results/chunks/lopuhaa2024/fig2/sex-race/0.parquet",
]
SCRIPTS = {path.stem for path in (ROOT / "workflow/scripts").glob("[!_]*.py")} - {"claims", "report"}
#: What `numpy.f2py` imports where it is, which nothing here uses.
OPTIONAL = {"charset_normalizer"}


def test_jobs_need_no_package_but_those_of_their_environment(tmp_path: Path) -> None:
    """Snakemake puts its own environment at the end of a job's path: what is missing would come from it."""
    words = ["--sdm", "conda", "--cores", "1", "-s", str(ROOT / "Snakefile"), "--directory", str(tmp_path)]
    words += ["--configfile", str(ROOT / "config/smoke.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *TARGETS, *words],
        env={**os.environ, "PATH": conda.install(tmp_path / "tools", with_packages=True)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / target).is_file() for target in TARGETS)
    notes = map(json.loads, (tmp_path / "tools/notes.jsonl").read_text(encoding="utf-8").splitlines())
    seen = set()
    for program, prefix, files in notes:
        assert Path(prefix).parent == tmp_path / ".snakemake/conda"
        others = {file for file in files if "/site-packages/" in file and not file.startswith(prefix)}
        names = {file.partition("/site-packages/")[2].partition("/")[0] for file in others}
        assert not {name for name in names if not name.startswith("snakemake")} - OPTIONAL, program
        seen.add(program.rpartition(".py")[0].rpartition(".")[2])
    assert seen >= SCRIPTS
