"""docs/reproduction/extending.md is true: its files are written, and its commands run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reproduction.results.files import read_table

pytestmark = [pytest.mark.workflow, pytest.mark.long]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reproduction/extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path):
    """Write the files of the page into a folder, and return what runs a command of it there."""
    for _, text in BLOCKS:
        if named := re.match(r"# ([\w/]+\.(?:py|yaml))\n", text):
            path = tmp_path / named[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(target, *more, ok=True):
        (command,) = [
            line
            for kind, text in BLOCKS
            if kind == "sh"
            for line in text.replace("\\\n", " ").splitlines()
            if target in line
        ]
        program, *arguments = shlex.split(command, comments=True)
        assert program == "snakemake"
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments, *more, "-s", str(ROOT / "Snakefile"), "-c1"],
            cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, timeout=1200, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) == ok, done.stderr
        return done.stdout + done.stderr

    return run


def test_a_mechanism(run, tmp_path):
    """It is in the figure and its table; an edit runs again, and is refused if it is not private."""
    run("fig2.png")
    made = tmp_path / "mine/results"
    assert (made / "figures/lopuhaa2024/fig2.png").stat().st_size > 3000
    rows = read_table(made / "tables/lopuhaa2024/fig2.parquet")
    mine = rows[(rows["mechanism"] == "mine") & (rows["metric"] == "nmi")]
    assert list(mine["status"]) == ["heuristic"] * 3
    assert (mine["privacy"] - mine["epsilon"]).abs().max() < 1e-9
    module = tmp_path / "my_module.py"
    module.write_text(
        module.read_text().replace("sensitive, useful =", "epsilon *= 1.1\n    sensitive, useful =")
    )
    (sentence,) = [" ".join(text.split()) for kind, text in BLOCKS if "has the privacy level" in text]
    said = run("fig2.png", ok=False)
    assert sentence.replace("leaky", "mechanism") in said
    assert "lopuhaa2024_solutions_part" in said
    assert "beyond" not in said


def test_a_paper(run, tmp_path):
    """Its tables, its figure and its claim are made; an edit makes them again."""
    run("mine2026")
    made = tmp_path / "papers/results"
    assert len(read_table(made / "tables/mine2026/truth.parquet")) == 3
    assert (made / "figures/mine2026/fig1.svg").stat().st_size > 3000
    assert "| verdict | reproduced |" in (made / "claims/M-1.md").read_text()
    module = tmp_path / "mine2026/figures.py"
    module.write_text(module.read_text().replace('"o-"', '"s-"'))
    planned = run("mine2026", "-n")
    assert "Draw fig1 of mine2026" in planned
    assert "mine2026_truth" not in planned


def test_tables_of_ones_own(tmp_path):
    """They lie beside the file that names them, make Figure 2, and another count there makes it again."""
    mine = tmp_path / "mine"
    mine.mkdir()
    shutil.copy(ROOT / "docs/survey/example/survey.csv", mine)
    entry = {"file": "survey.csv", "sensitive": "illness", "useful": "region", "repetitions": 1, "chunks": 1}
    configuration = {
        "adult": {"source": "bundled"},
        "figures": {"formats": ["svg"]},
        "lopuhaa2024": {"epsilon": {"values": [1.0]}},
        "data": {"survey": {**entry, "mechanisms": ["nr", "srr"]}},
    }
    (mine / "my.yaml").write_text(yaml.safe_dump(configuration))
    drawn, source = "results/figures/lopuhaa2024/own_fig2.svg", "results/data/survey/provenance.json"

    def run(*more):
        words = ["--cores", "1", "-s", str(ROOT / "Snakefile"), "--directory", "out"]
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", drawn, source, *words, "--configfile", "mine/my.yaml", *more],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run()
    assert (tmp_path / "out" / drawn).stat().st_size > 3000
    rows = read_table(tmp_path / "out/results/tables/lopuhaa2024/own_fig2.parquet")
    assert set(rows["instance"]) == {"survey: illness, region"}
    text = (mine / "survey.csv").read_text()
    (mine / "survey.csv").write_text(text.replace("north,18-39,no,1078", "north,18-39,no,1079"))
    assert "lopuhaa2024_solutions_part" in run("-n")
