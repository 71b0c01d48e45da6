"""The pipeline through Snakemake, on two small tables and a few values of epsilon, and a paper that is a toy.

It runs from a copy of the repository among whose papers the toy is put, so that the tests may edit it.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import yaml

from reproduction.planning.paper import papers
from reproduction.results.files import read_metadata, read_table
from reproduction.results.tables import CHECKS, PRINTED
from support import conda, warm

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]
TABLE = "results/tables/lopuhaa2024/fig2.parquet"
RATIOS = "results/tables/kairouz2016/fig4.parquet"
#: Of lopuhaa2024: a table of counts and random tables, in parts, what is made of these, and a figure.
SOME = [TABLE, "results/tables/lopuhaa2024/fig4.parquet", "results/figures/lopuhaa2024/fig2.svg"]
TINY = {
    "adult": {"source": "bundled", "cache": None},
    "figures": {"formats": ["svg"], "dpi": 60},
    "lopuhaa2024": {
        "epsilon": {"values": [0.5, 1.0, 2.0]},
        "pairs": [
            # PolyOpt makes the jobs of this pair last long enough to be killed half-way.
            {"sensitive": "sex", "useful": "race", "mechanisms": ["polyopt", "polyopt_distinct", "srr"]},
            {"sensitive": "income", "useful": "relationship"},
        ],
        "mechanisms": ["ir", "srr", "grr"],
        "chunks": 2,
        # Coarse, as nothing here reads the optima.
        "solver": {"tolerance": 0.05},
        "bounds": {"epsilon": [1.0], "max_nodes": 0},
        "steps": {"pairs": 1, "epsilon": [1.0], "max_nodes": 0},
        "second_level": {"pairs": 1, "epsilon": [1.0], "levels": [0]},
        "drift": {"pairs": 1, "epsilon": [1.0], "factors": [1], "shares": [1], "truths": 9},
        "coverage": {"pairs": 1, "shares": [1], "rare": [0.2], "samples": 50},
        "few_records": {"pairs": 1, "epsilon": [1.0], "orders": [2], "mechanisms": ["polyopt"]},
        "calibrated": {"pairs": 1, "epsilon": [1.0], "mechanisms": ["srr"], "accuracy": 0.01},
        "promises": {"pairs": 1, "epsilon": [1.0], "chunks": 1, "max_nodes": 0},
        "estimation": {
            "pairs": 1,
            "designs": {"set": [], "simplices": [1.0], "acquaintances": [], "anyone": [1.0], "ldp": [1.0]},
            "mechanisms": ["srr"],
            "chunks": 1,
        },
        "synthetic": {
            "epsilon": [0.5, 1.5],
            "per_job": 1,
            "fresh": {"sizes": [[2, 3]], "tables": 10, "samples": [5], "concentrations": []},
            "blocks": [
                {
                    "name": "2x3",
                    "sensitive": 2,
                    "useful": 3,
                    "repetitions": 2,
                    "mechanisms": ["polyopt", "polyopt_distinct", "nr", "ir", "srr"],
                }
            ],
            "table2": {
                "betas": [0.5, 0.005],
                "blocks": [
                    {"name": "2x3", "sensitive": 2, "useful": 3, "repetitions": 1, "mechanisms": ["polyopt"]}
                ],
            },
        },
        "orders": {"values": [0.5, 2], "epsilon": [1.0], "mechanisms": ["ir"]},
        "theorems": {
            "tables": [{"sensitive": 2, "useful": 2, "records": 60}],
            "orders": [2],
            "epsilon": [1.0],
        },
    },
    "kairouz2016": {
        "instances": 2,
        "sizes": [3],
        "size": 3,
        "epsilon": {"values": [0.1, 1.0, 4.0]},
        "thresholds": ["kl"],
        "populations": {"number": 2, "concentrations": [], "ends": []},
        "channels": 2,
        "chunk": 2,
    },
    "liao2017": {
        "shares": {"start": 0.001, "stop": 0.1, "points": 2},
        "named": [0.001, 0.002],
        "grid": 10,
        "searches": [100],
        "tolerance": {"2": 0.1, "3": 0.1, "4": 0.1},
        "theorems": 1,
    },
    "kalantari2018": {"distortion": {"start": 0.1, "stop": 0.8, "points": 8}, "random": 2},
}


TOY = {"toy2026_rates", "toy2026_checks"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Copy the repository, and put the folder of the toy among the papers; nothing else is touched."""
    copied = tmp_path_factory.mktemp("house") / "it's $HOME"
    for name in ("workflow", "src", "config", "resources", "profiles"):
        shutil.copytree(ROOT / name, copied / name, ignore=shutil.ignore_patterns("*.pyc", "*.egg-info"))
    shutil.copy(ROOT / "Snakefile", copied)
    shutil.copytree(ROOT / "tests/toy2026", copied / "workflow/papers/toy2026")
    return copied


@pytest.fixture(scope="module")
def run(house, python):
    """Run Snakemake in a directory and return what it says."""

    def run(directory, *arguments, configuration=TINY, ok=True, python=python, **environment):
        done = subprocess.run(
            command(house, directory, *arguments, configuration=configuration, python=python),
            cwd=directory,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stderr
        return done.stdout + done.stderr

    return run


def command(house, directory, *arguments, configuration=TINY, python=sys.executable):
    directory.mkdir(exist_ok=True)
    file = directory / "tiny.yaml"
    file.write_text(yaml.safe_dump(configuration))
    snakemake = [python, "-m", "snakemake", *arguments, "-s", str(house / "Snakefile")]
    return [*snakemake, "--directory", str(directory), "--configfile", str(file)]


@pytest.fixture(scope="module")
def planned(run):
    """Return the rules and the parts that a dry run would make."""

    def planned(directory, configuration=TINY, *arguments):
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


def bytes_of(directory, parts):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for part in parts
        for path in sorted((directory / "results" / part).rglob("*.*"))
        if path.is_file()
    }


def changed(paper="lopuhaa2024", **keys):
    configuration = copy.deepcopy(TINY)
    configuration[paper].update(keys)
    return configuration


def assert_same_bytes(directory, finished, some, *parts):
    """What a run of some targets made is what the run of all made."""
    made, expected = bytes_of(directory, parts), bytes_of(finished, parts)
    assert {*some} <= {*made}
    assert made == {name: expected[name] for name in made}


@pytest.fixture(scope="module")
def finished(run, tmp_path_factory):
    directory = tmp_path_factory.mktemp("workflow") / "two"
    directory.mkdir()
    (directory / "said.txt").write_text(run(directory, "--cores", "2"))
    return directory


def test_every_paper_has_what_it_declares(finished):
    for paper in papers().values():
        paper = paper.select_calls(TINY)
        made = {path.name for path in (finished / f"results/tables/{paper.key}").iterdir()}
        tables = {f"{name}.{suffix}" for name in paper.published_tables for suffix in ("parquet", "csv")}
        texts = {f"{x.name}.{suffix}" for x in paper.layouts.values() for suffix in x.formats}
        assert made == tables | texts
        drawn = finished / f"results/figures/{paper.key}"
        assert {path.name for path in drawn.iterdir()} == {f"{name}.svg" for name in paper.figures}
        assert all(path.stat().st_size > 3000 for path in drawn.iterdir())


def test_tables_of_ones_own(run, house, tmp_path):
    """An entry of `data` makes Figures 2 and 4 for it, and another count there makes them again."""
    shutil.copy(ROOT / "docs/example/survey.csv", tmp_path)
    entry = {"file": "survey.csv", "sensitive": "illness", "useful": "region", "repetitions": 1}
    own = {**entry, "mechanisms": ["polyopt", "nr", "srr"], "chunks": 1}
    paper = {**TINY["lopuhaa2024"], "epsilon": {"values": [1.0]}}
    chosen = {**TINY, "lopuhaa2024": paper, "data": {"survey": own}}
    drawn = [f"results/figures/lopuhaa2024/own_{name}.svg" for name in ("fig2", "fig4")]
    source = "results/data/survey/provenance.json"
    run(tmp_path, *drawn, source, configuration=chosen)
    assert all((tmp_path / path).stat().st_size > 3000 for path in drawn)
    assert json.loads((tmp_path / source).read_text())["used"] == "survey.csv"
    rows = read_table(tmp_path / "results/tables/lopuhaa2024/own_fig2.parquet")
    assert set(rows["instance"]) == {"survey: illness, region"}
    assert "Nothing to be done" in run(tmp_path, "-n", *drawn, configuration=chosen)
    with edited(tmp_path / "survey.csv", "north,18-39,no,1078", "north,18-39,no,1079"):
        again = run(tmp_path, "-n", *drawn, configuration=chosen)
    assert "lopuhaa2024_own_fig2_part" in again
    assert "lopuhaa2024_own_study_part" in again


@pytest.mark.parametrize("key", ["useful", "public"])
def test_a_table_of_ones_own_lies_beside_the_file_that_names_it(house, tmp_path, python, key):
    """Not in the folder of the results, nor where the command is given; its former key has one warning."""
    mine = tmp_path / "mine"
    mine.mkdir()
    shutil.copy(ROOT / "docs/example/survey.csv", mine)
    entry = {"file": "survey.csv", "sensitive": "illness", key: "region"}
    (mine / "my.yaml").write_text(yaml.safe_dump({"data": {"survey": entry}}))
    made = tmp_path / "out/results/data/survey/illness/region.csv"
    done = subprocess.run(
        [python, "-m", "snakemake", "--cores", "1", str(made.relative_to(tmp_path / "out")), "-s",
         str(house / "Snakefile"), "--directory", "out", "--configfile", "mine/my.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert made.read_text().startswith(",north,south,west\nno,1")
    warning = (
        "data.survey.public is the former name of data.survey.useful; the next version will not know it."
    )
    assert (done.stdout + done.stderr).count(warning) == (key == "public")


def test_a_column_that_names_no_file_is_refused_in_a_dry_run(run, tmp_path):
    (tmp_path / "t.csv").write_text("a/b,..,count\nx,y,3\nz,y,4\n")
    entry = {"file": "t.csv", "sensitive": "a/b", "useful": ".."}
    said = run(tmp_path, "-n", "results/data/t/x.csv", configuration={**TINY, "data": {"t": entry}}, ok=False)
    assert "data.t.sensitive is 'a/b'; it becomes a part of the names of files" in said
    assert "data.t.useful is '..'; it becomes a part of the names of files" in said
    assert "Traceback" not in said


def test_toy_paper(finished, house):
    """Four files in a folder are computed, drawn, checked and reported; no other file knows of them."""
    assert len([path for path in (ROOT / "tests/toy2026").iterdir() if path.is_file()]) == 4
    rates = read_table(finished / "results/tables/toy2026/rates.parquet")
    assert list(rates["status"].unique()) == ["closed form"]
    assert read_table(finished / "results/tables/toy2026/checks.parquet", CHECKS)["holds"].all()
    assert (finished / "results/figures/toy2026/fig1.svg").stat().st_size > 3000
    claims = (finished / "results/claims.csv").read_text()
    assert re.search(r"T-1,toy2026,.*,reproduced,", claims)
    assert re.search(r"T-2,toy2026,.*,not reproduced,", claims)
    page = (finished / "results/report/index.html").read_text()
    assert "<p>Nobody." in page
    assert "A Toy" in page
    assert 'id="figure-toy2026-fig1"' in page
    assert "Truth of randomized response against the privacy level." in page


def test_the_tables_of_adult(finished):
    table = read_table(finished / TABLE)
    assert set(zip(table["instance"], table["size"], strict=True)) == {
        ("sex, race", "2 x 5"),
        ("income, relationship", "2 x 6"),
    }
    # Utility, also normalized, that of S and of U alone, two errors, and five levels, at three values of
    # epsilon for three mechanisms per pair.
    assert len(table) == 11 * 3 * 6
    assert set(table["status"]) == {"optimal", "closed form", "measured"}
    metadata = read_metadata(finished / TABLE)
    assert set(metadata) == {
        "code_hash",
        "code_version",
        "configuration_hash",
        "content_hash",
        "packages",
    }
    example = read_table(finished / "results/tables/lopuhaa2024/example.parquet", PRINTED)
    assert example["agrees"].sum() > 150
    provenance = json.loads((finished / "results/data/adult/provenance.json").read_text())
    assert provenance["used"] == "bundled"
    (log,) = finished.glob("logs/lopuhaa2024/fig2/*sex*race*/0.log")
    assert re.search(r"sex, race.*0\.5.*polyopt.*optimal", log.read_text())
    assert log.with_suffix(".tsv").read_text().startswith("s\t")


def test_the_sweeps_of_kairouz2016(finished):
    # The optimum, binary and randomized response for two instances and three values of epsilon.
    ratios = read_table(finished / RATIOS)
    assert len(ratios) == 3 * 2 * 3
    assert set(ratios["instance"]) == {"000", "001"}
    assert set(ratios["metric"]) == {"kl"}


def test_what_the_terminal_says(finished):
    """Two lines before, two per job, a few after, and nothing of fonts or internal names."""
    said = (finished / "said.txt").read_text()
    lines = said.splitlines()
    jobs = int(re.search(r"^(\d+) jobs; expected: ", said, re.M)[1])
    assert "Job stats" not in said
    assert len([line for line in lines if re.match(r"\[\d\d:\d\d:\d\d\] ", line)]) == jobs
    done = re.findall(r"^(\d+) of \d+ jobs done, (\d+)% of the work(, about .+ left)?$", said, re.M)
    assert [int(number) for number, *_ in done] == list(range(1, jobs + 1))
    shares = [int(share) for _, share, _ in done]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert all(left for *_, left in done[:-1])
    assert len(lines) < 2 * jobs + 25
    assert max(map(len, lines)) < 200
    assert re.search(
        r"^\d+ figures in results/figures/<paper>/, \d+ tables in results/tables/<paper>/", said, re.M
    )
    assert re.search(r"^All results are on one page: results/report/index.html$", said, re.M)
    assert not [path for path in finished.glob("logs/**/*.log") if "glyph" in path.read_text()]


def test_the_next_run_knows_how_long_it_takes(finished, run):
    shutil.rmtree(finished / "results/figures/toy2026")
    said = run(finished, "--cores", "1", "toy2026")
    assert re.search(r"^2 jobs; expected: about \d+ s on 1 core\.$", said, re.M)


def test_more_repetitions_and_instances_only_add_parts(finished, planned):
    configuration = changed("kairouz2016", instances=3)
    configuration["lopuhaa2024"]["synthetic"]["blocks"][0]["repetitions"] = 3
    _, parts = planned(finished, configuration)
    names = ("kl", "mutual_information", "thresholds", "tv")
    assert sorted(parts) == [
        *((name, "kairouz2016", "3/1") for name in names[:2]),
        ("synthetic", "lopuhaa2024", "2x3/2"),
        *((name, "kairouz2016", "3/1") for name in names[2:]),
    ]


def test_a_finished_run_has_nothing_to_do(finished, run):
    said = run(finished, "-n")
    assert "Nothing to be done" in said
    assert "changed after" not in said


def test_certificates_that_were_cut_are_found(finished, run):
    path = finished / "results/certificates/kairouz2016.parquet"
    listed = (finished / "results/SHA256SUMS").read_text()
    for file in (path, *(finished / "results/certificates/kairouz2016").rglob("*.json")):
        assert f"  {file.relative_to(finished / 'results').as_posix()}\n" in listed
    content, times = path.read_bytes(), path.stat()
    rows = pq.read_table(path)
    pq.write_table(rows.slice(1).replace_schema_metadata(rows.schema.metadata), path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        said = run(finished, "-n")
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "changed after they had been made: results/certificates/kairouz2016.parquet. Delete" in said


def test_the_report_builds(finished, run):
    run(finished, "--report", "results/report/snakemake.html")
    assert (finished / "results/report/snakemake.html").stat().st_size > 100_000


def test_changing_one_pair_runs_that_pair_again_and_no_other(finished, planned):
    pairs = copy.deepcopy(TINY["lopuhaa2024"]["pairs"])
    pairs[1]["mechanisms"] = ["srr"]
    rules, parts = planned(finished, changed(pairs=pairs))
    read_fig2 = {
        f"lopuhaa2024_{table.name}"
        for table in papers()["lopuhaa2024"].tables.values()
        if "fig2" in table.tables
    }
    # The verdicts with other choices are made from summaries of that table.
    read_fig2.add("lopuhaa2024_sensitivity")
    own = {"lopuhaa2024_fig2_part", "lopuhaa2024_fig2", "verify_lopuhaa2024"}
    assert rules == {*own, "figure", "layout", "all", "claims", "report"} | read_fig2
    assert {(table, paper) for table, paper, _ in parts} == {("fig2", "lopuhaa2024")}
    assert len(parts) == 2
    assert all("income" in part for _, _, part in parts)


def test_another_source_of_the_same_counts_recomputes_nothing(finished, planned):
    configuration = {**TINY, "adult": {"source": "auto", "cache": None}}
    rules, _ = planned(finished, configuration)
    assert rules == {"counts", "report", "all"}


@pytest.mark.parametrize(
    ("file", "old", "new", "papers_again"),
    [
        (
            "src/ldpfrontier/uncertainty/settings.py",
            "max_subset_values: int = 16",
            "max_subset_values: int = 15",
            {"lopuhaa2024"},
        ),
        # What the hashes of these say is tested without Snakemake (test_architecture.py).
        *(
            pytest.param(*edit, marks=pytest.mark.long)
            for edit in (
                (
                    "src/ldpfrontier/hypothesis_testing/two_outputs.py",
                    "HALVINGS = 48",
                    "HALVINGS = 47",
                    {"liao2017"},
                ),
                (
                    "src/ldpfrontier/hamming/sources.py",
                    "LEAST_DISTORTION = 1e-9",
                    "LEAST_DISTORTION = 2e-9",
                    {"kalantari2018"},
                ),
                (
                    "src/ldpfrontier/optimal/ldp/staircase.py",
                    "MAX_INPUTS = 20",
                    "MAX_INPUTS = 19",
                    {"kairouz2016", "lopuhaa2024"},
                ),
                (
                    "workflow/papers/toy2026/experiments.py",
                    "range(1, points + 1)",
                    "range(2, points + 2)",
                    {"toy2026"},
                ),
            )
        ),
    ],
)
def test_an_edit_runs_again_what_depends_on_it(finished, house, planned, file, old, new, papers_again):
    with edited(house / file, old, new):
        rules, _ = planned(finished)
    computed = {rule.partition("_")[0] for rule in rules} & {"toy2026", *papers()}
    assert computed == papers_again


def test_an_edit_of_a_figure_module_draws_again_and_computes_nothing(finished, house, planned):
    with edited(house / "workflow/papers/toy2026/figures.py", "figsize=(3, 2)", "figsize=(4, 2)"):
        assert planned(finished)[0] == {"figure", "report", "all"}


def test_comments_run_nothing_again(finished, house, run):
    files = [
        "src/ldpfrontier/channel.py",
        "src/ldpfrontier/optimal/column_generation/smoothed.py",
        "workflow/reproduction/results/tables.py",
        "workflow/papers/toy2026/figures.py",
    ]
    with ExitStack() as edits:
        for file in files:
            path = house / file
            edits.enter_context(edited(path, "\nimport ", "\n# Why not.\nimport "))
        assert "Nothing to be done" in run(finished, "-n")


def test_one_core_and_other_chunks_give_the_same_bytes(finished, run, long, tmp_path):
    """Tables, and a figure, of parts that were cut otherwise, by processes with another hash seed."""
    other = changed(chunks=1)
    other["kairouz2016"]["chunk"] = 1
    other["lopuhaa2024"]["synthetic"]["per_job"] = 2
    with nullcontext(sys.executable) if long else warm.serving() as python:
        run(tmp_path / "one", "--cores", "1", *SOME, RATIOS, configuration=other, python=python)
    assert_same_bytes(tmp_path / "one", finished, [*SOME, RATIOS], "tables", "figures")


def test_a_killed_run_resumes_with_the_same_command(finished, house, run, tmp_path):
    """Also one that was asked for more threads: every job has one."""
    directory = tmp_path / "killed"
    process = subprocess.Popen(
        command(house, directory, "--cores", "2", TABLE),
        cwd=directory,
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    while not [
        log
        for log in directory.glob("logs/lopuhaa2024/fig2/*sex*race*/0.log")
        if "polyopt" in log.read_text()
    ]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    for job in [*psutil.Process(process.pid).children(recursive=True), process]:
        job.kill()
    process.wait()
    assert not (directory / TABLE).exists()
    assert not list(directory.glob("results/chunks/lopuhaa2024/fig2/*sex*race*/0.parquet"))
    run(directory, "--cores", "2", TABLE)
    assert_same_bytes(directory, finished, [TABLE], "tables", "chunks")


def test_a_bad_configuration_is_refused_before_any_job(run, tmp_path):
    configuration = changed(betta=0.1, beta=2)
    configuration["kairouz2016"]["sizes"] = [1]
    text = run(tmp_path, "--cores", "1", configuration=configuration, ok=False)
    for sentence in (
        "Unknown key lopuhaa2024.betta; did you mean 'beta'?",
        "lopuhaa2024.beta is 2; allowed is a number greater than 0 and less than 1.",
        "kairouz2016.sizes[0] is 1; allowed is a whole number at least 2 and at most 20.",
    ):
        assert sentence in text
    assert "Traceback" not in text
    assert {path.name for path in tmp_path.iterdir()} <= {"tiny.yaml", ".snakemake"}


def test_a_failing_job_leaves_its_traceback_in_the_log(run, tmp_path):
    configuration = {**TINY, "adult": {"source": "file", "file": "adult.data"}}
    tmp_path.joinpath("adult.data").write_text("not, adult\n")
    counts = "results/data/adult/counts.csv"
    text = run(tmp_path, "--cores", "1", counts, configuration=configuration, ok=False)
    log = (tmp_path / "logs/data/adult.log").read_text()
    assert "Traceback" in log
    assert "an Adult record has 15" in log
    assert "an Adult record has 15" in text
    assert not (tmp_path / counts).exists()


def test_a_part_that_is_not_made_is_refused_by_name(run, tmp_path):
    text = run(tmp_path, "-n", "results/chunks/kairouz2016/kl/3/9.parquet", ok=False)
    assert "Table kl of kairouz2016 has no part 3/9; the configuration makes 3/0" in text
    text = run(tmp_path, "-n", "results/figures/kairouz2016/fig99.pdf", ok=False)
    assert "kairouz2016 has no figure fig99; it has fig2, " in text
    text = run(tmp_path, "-n", "kairouz2017", ok=False)
    assert "There is no paper kairouz2017; there are kairouz2016, " in text
    assert "Traceback" not in text


def test_snakefiles_have_no_lints(run, tmp_path):
    assert "good condition" in run(tmp_path, "--lint")


def test_jobs_run_in_environments_that_conda_makes_elsewhere(run, tmp_path):
    """The package comes from the repository, whatever the environment has: only this copy has the toy."""
    tools = tmp_path / "tools"
    directory = tmp_path / "elsewhere"
    own = {"python": sys.executable, "PATH": conda.install(tools)}
    assert "toy2026_rates" in run(directory, "-n", "toy2026", "--sdm", "conda", **own)
    run(directory, "--cores", "1", "toy2026", "--sdm", "conda", **own)
    assert (directory / "results/tables/toy2026/rates.parquet").is_file()
    needed = conda.requirements(tools / "environment.yaml")
    assert needed
    assert not [name for name in needed if re.search(r"/|ldpfrontier", name)]
    assert "- -" not in (tools / "environment.yaml").read_text(encoding="utf-8")


def test_the_workflow_is_used_as_a_module(house, tmp_path, python):
    (tmp_path / "Snakefile").write_text(
        "configfile: 'own.yaml'\n"
        f"module frontier:\n    snakefile: {str(house / 'Snakefile')!r}\n    config: config\n"
        "use rule * from frontier as frontier_*\n"
    )
    full = yaml.safe_load((house / "config/config.yaml").read_text())
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(full))
    assert full["figures"]["formats"] == ["pdf", "svg", "png"]
    figure = "results/figures/toy2026/fig1.svg"
    done = subprocess.run(
        [python, "-m", "snakemake", "--cores", "1", figure],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Draw fig1 of toy2026" in done.stdout + done.stderr
    for suffix in full["figures"]["formats"]:
        assert (tmp_path / figure).with_suffix(f".{suffix}").stat().st_size > 3000
