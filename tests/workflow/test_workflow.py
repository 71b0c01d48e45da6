"""The pipeline through Snakemake: a copy of the repository with one of its papers, small, and two toys."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from reproduction.planning.paper import papers
from reproduction.results.files import read_table
from reproduction.results.tables import CHECKS

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]
REAL = "kairouz2016"
RATIOS = "results/tables/kairouz2016/fig7.parquet"
TINY = {
    "adult": {"source": "bundled", "cache": None},
    "figures": {"formats": ["svg"], "dpi": 60},
    "kairouz2016": {
        "instances": 2,
        "sizes": [3],
        "size": 3,
        "epsilon": {"values": [0.1, 1.0, 4.0]},
        "populations": {"number": 2, "concentrations": [], "ends": []},
        "channels": 2,
        "chunk": 2,
    },
}

#: What is left of the paper: tables in parts, with certificates and without, and figures.
KEPT = {
    "tables": {"instances", "mutual_information", "fig7", "documents"},
    "figures": {"fig7"},
}

#: A paper whose table is made in parts, from counts, at leisure if a test asks for that.
CUT = {
    "paper.yaml": """
title: A Toy in Parts
authors: Nobody
year: 2026
tables:
  shares: {parts: shares}
figures:
  fig1: {function: shares, tables: [shares], labels: {figure: "1"}, caption: Shares.}
""",
    "plan.py": '''"""Two parts."""

from reproduction.planning.paper import Counts


def shares(configuration):
    pairs = enumerate(("race", "income"))
    return {str(i): {"seed": configuration["seed"], "counts": Counts("adult", "sex", x)} for i, x in pairs}
''',
    "experiments.py": '''"""What the toy computes."""

import os
import time

from reproduction.results.tables import RESULTS, Result


def shares(seed, counts):
    while os.path.exists(os.environ.get("TOY_HELD", "")):
        time.sleep(0.02)
    value = float(counts.iloc[0, 0]) / counts.to_numpy().sum() + seed
    return RESULTS.table([Result("cut2026", "shares", f"{counts.shape}", "any", "share", value, unit="1")])
''',
    "figures.py": '''"""What the toy draws."""

from matplotlib.figure import Figure


def shares(table):
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot(table["value"])
    return figure
''',
}


def shortened(paper):
    """Return a paper with the tables and figures that are kept, and the claims that need no others."""
    kept = {**paper, **{key: {name: paper[key][name] for name in names} for key, names in KEPT.items()}}
    kept["claims"] = [claim for claim in paper["claims"] if KEPT["tables"].issuperset(claim["tables"])]
    ids = {claim["id"] for claim in kept["claims"]}
    kept["highlights"] = [highlight for highlight in paper["highlights"] if highlight["claim"] in ids]
    return kept


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Copy the repository, with one of its papers and the toys, to a folder whose name must be quoted."""
    copied = tmp_path_factory.mktemp("house") / "it's $HOME"
    others = [key for key in papers() if key != REAL]
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", *others)
    for name in ("workflow", "config", "resources", "profiles"):
        shutil.copytree(ROOT / name, copied / name, ignore=ignored)
    shutil.copytree(ROOT / "src", copied / "src")  # with what is compiled
    paper = copied / f"workflow/papers/{REAL}/paper.yaml"
    paper.write_text(yaml.safe_dump(shortened(yaml.safe_load(paper.read_text(encoding="utf-8")))))
    shutil.copy(ROOT / "Snakefile", copied)
    shutil.copytree(ROOT / "tests/toy2026", copied / "workflow/papers/toy2026", ignore=ignored)
    (copied / "workflow/papers/cut2026").mkdir()
    for name, text in CUT.items():
        (copied / "workflow/papers/cut2026" / name).write_text(text)
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    kept = {key: section for key, section in default.items() if key not in others}
    (copied / "config/config.yaml").write_text(yaml.safe_dump(kept))
    return copied


def command(house, directory, *arguments, configuration=TINY):
    directory.mkdir(exist_ok=True)
    (directory / "tiny.yaml").write_text(yaml.safe_dump(configuration))
    snakemake = [sys.executable, "-m", "snakemake", "-s", str(house / "Snakefile"), *arguments]
    return [*snakemake, "--cores", "2", "--configfile", "tiny.yaml"]


@pytest.fixture(scope="module")
def run(house):
    """Return what runs Snakemake in a directory, and what it says."""

    def run(directory, *arguments, configuration=TINY, ok=True):
        done = subprocess.run(
            command(house, directory, *arguments, configuration=configuration),
            cwd=directory, capture_output=True, text=True, timeout=1200, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) == ok, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def planned(run):
    """Return the rules of a dry run, and the parts of tables that it would compute."""

    def planned(directory, *arguments, configuration=TINY):
        text = run(directory, "-n", *arguments, configuration=configuration)
        rules = {name for name, _ in re.findall(r"^(\w+) +(\d+)$", text, re.M)} - {"total"}
        return rules, re.findall(r"^Job \d+: Compute (\w+) of (\w+), part (\S+)$", text, re.M)

    return planned


@contextmanager
def edited(path, old, new):
    """Change a file of the copy, and put it back as it was."""
    text, times = path.read_text(encoding="utf-8"), path.stat()
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def changed(**keys):
    configuration = copy.deepcopy(TINY)
    configuration[REAL].update(keys)
    return configuration


@pytest.fixture(scope="module")
def finished(run, tmp_path_factory):
    """Make the certificates first, and then the papers; the page after the first run is kept."""
    directory = tmp_path_factory.mktemp("workflow") / "two"
    assert "`snakemake all` makes the papers" in run(directory, "certificates")
    shutil.copy(directory / "results/report/index.html", directory / "certified.html")
    run(directory)
    return directory


def test_the_page_shows_what_is_there_and_says_how_the_rest_is_made(finished):
    first = (finished / "certified.html").read_text()
    for target in (REAL, "toy2026", "cut2026"):
        assert f"<code>snakemake {target}</code>" in first
    assert "snakemake certificates" not in first
    assert 'id="figure-toy2026-fig1"' not in first
    assert 'href="../certificates/kairouz2016.csv"' in first
    page = (finished / "results/report/index.html").read_text()
    assert 'href="../certificates/kairouz2016.csv"' in page
    assert "Not computed yet" not in page


def test_every_paper_has_what_it_declares(finished, house):
    for paper in papers(house / "workflow/papers").values():
        paper = paper.select_calls(TINY)
        made = {path.name for path in (finished / f"results/tables/{paper.key}").iterdir()}
        tables = {f"{name}.{suffix}" for name in paper.published_tables for suffix in ("parquet", "csv")}
        texts = {f"{name}.md" for name in paper.layouts}
        assert made == tables | texts
        drawn = finished / f"results/figures/{paper.key}"
        assert {path.name for path in drawn.iterdir()} == {f"{name}.svg" for name in paper.figures}
        assert all(path.stat().st_size > 3000 for path in drawn.iterdir())
    # The optimum, binary and randomized response for two instances and three values of epsilon.
    ratios = read_table(finished / RATIOS)
    assert len(ratios) == 3 * 2 * 3
    assert set(ratios["instance"]) == {"000", "001"}
    assert (finished / "results/certificates/kairouz2016.csv").is_file()
    assert (finished / "logs/cut2026/shares/0.tsv").read_text().startswith("s\t")
    provenance = json.loads((finished / "results/data/adult/provenance.json").read_text())
    assert provenance["used"] == "bundled"


def test_toy_paper(finished):
    """Four files in a folder are computed, drawn, checked and reported; no other file knows of them."""
    assert len([path for path in (ROOT / "tests/toy2026").iterdir() if path.is_file()]) == 4
    assert read_table(finished / "results/tables/toy2026/checks.parquet", CHECKS)["holds"].all()
    claims = (finished / "results/claims.csv").read_text()
    assert re.search(r"T-1,toy2026,.*,reproduced,", claims)
    assert re.search(r"T-2,toy2026,.*,not reproduced,", claims)
    page = (finished / "results/report/index.html").read_text()
    assert 'id="figure-toy2026-fig1"' in page
    assert "Truth of randomized response against the privacy level." in page


@pytest.mark.long
def test_the_report_of_snakemake_builds(finished, run):
    run(finished, "--report", "snakemake.html")
    assert (finished / "snakemake.html").stat().st_size > 100_000


@pytest.mark.long
def test_more_instances_only_add_parts(finished, house, planned):
    """Catalogues of workflows look for the second Snakefile."""
    more = changed(instances=3)
    rules, parts = planned(finished, "-s", str(house / "workflow/Snakefile"), configuration=more)
    assert "all" in rules
    assert parts == [("mutual_information", REAL, "3/1")]


def test_another_source_of_the_same_counts_recomputes_nothing(finished, planned):
    configuration = {**TINY, "adult": {"source": "auto", "cache": None}}
    assert planned(finished, configuration=configuration)[0] == {"counts", "report", "all"}


def test_an_edit_runs_again_what_depends_on_it(finished, house, planned):
    """For other modules, what the hashes say is tested without Snakemake (test_architecture.py)."""
    with (
        edited(
            house / "src/ldpfrontier/model/kairouz_mechanisms.py", "import numpy", "# Edited.\nimport numpy"
        ),
        edited(house / "workflow/papers/toy2026/figures.py", "figsize=(3, 2)", "figsize=(4, 2)"),
    ):
        rules, _ = planned(finished)
    assert {rule.partition("_")[0] for rule in rules} & {REAL, "toy2026", "cut2026"} == {REAL}
    assert {"figure", "report", "all"} <= rules


@pytest.mark.long
def test_other_parts_give_the_same_bytes(finished, run, tmp_path):
    run(tmp_path / "one", RATIOS, configuration=changed(chunk=1))
    assert (tmp_path / "one" / RATIOS).read_bytes() == (finished / RATIOS).read_bytes()


@pytest.mark.long
def test_a_killed_run_goes_on_with_the_same_command(finished, house, run, tmp_path):
    """It leaves the lock of Snakemake behind."""
    directory, held = tmp_path / "killed", tmp_path / "held"
    shutil.copytree(finished, directory, ignore=shutil.ignore_patterns("cut2026"))
    held.touch()
    process = subprocess.Popen(
        command(house, directory, "results/tables/cut2026/shares.parquet"),
        cwd=directory, env={**os.environ, "TOY_HELD": str(held)}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 600
    while len(list(directory.glob("logs/cut2026/shares/*.log"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(directory.glob("results/chunks/cut2026/shares/*"))
    table = "results/tables/cut2026/shares.parquet"
    assert "--unlock" in run(directory, table, ok=False)
    run(directory, "--unlock")
    run(directory, table)
    assert (directory / table).read_bytes() == (finished / table).read_bytes()


def test_a_bad_configuration_is_refused_before_any_job(run, tmp_path):
    text = run(tmp_path, configuration=changed(sises=[1], sizes=[1]), ok=False)
    assert "Unknown key kairouz2016.sises; did you mean 'sizes'?" in text
    assert "kairouz2016.sizes[0] is 1; allowed is a whole number at least 2 and at most 20." in text
    assert "Traceback" not in text
    assert {path.name for path in tmp_path.iterdir()} <= {"tiny.yaml", ".snakemake"}


def test_a_failing_job_leaves_its_traceback_in_the_log(run, tmp_path):
    configuration = {**TINY, "adult": {"source": "file", "file": "adult.data"}}
    tmp_path.joinpath("adult.data").write_text("not, adult\n")
    counts = "results/data/adult/counts.csv"
    text = run(tmp_path, counts, configuration=configuration, ok=False)
    log = (tmp_path / "logs/data/adult.log").read_text()
    assert "Traceback" in log
    assert "an Adult record has 15" in log
    assert "an Adult record has 15" in text
    assert not (tmp_path / counts).exists()


def test_a_figure_that_is_not_made_is_refused_by_name(run, tmp_path):
    text = run(tmp_path, "-n", "results/figures/kairouz2016/fig99.svg", ok=False)
    assert "kairouz2016 has no figure fig99" in text


@pytest.mark.long
def test_the_workflow_is_used_as_a_module(house, tmp_path):
    (tmp_path / "Snakefile").write_text(
        "configfile: 'own.yaml'\n"
        f"module frontier:\n    snakefile: {str(house / 'Snakefile')!r}\n    config: config\n"
        "use rule * from frontier as frontier_*\n"
    )
    full = yaml.safe_load((house / "config/config.yaml").read_text())
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(full))
    figure = "results/figures/toy2026/fig1.svg"
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", figure],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for suffix in full["figures"]["formats"]:
        assert (tmp_path / figure).with_suffix(f".{suffix}").stat().st_size > 3000
