"""The pipeline through Snakemake, on two small tables and a few values of epsilon."""

import copy
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from ldpfrontier.tables import EXAMPLES, read_metadata, read_table

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[1]
TABLE = "results/tables/lopuhaa2024/fig2.parquet"
RATIOS = "results/tables/kairouz2016/fig4.parquet"
TINY = {
    "adult": {"source": "bundled", "cache": None},
    "figures": {"dpi": 60},
    "lopuhaa2024": {
        "epsilon": {"values": [0.5, 1.0, 2.0]},
        "pairs": [
            # PolyOpt makes the jobs of this pair last long enough to be killed half-way.
            {"sensitive": "sex", "public": "race", "mechanisms": ["polyopt", "polyopt_distinct", "srr"]},
            {"sensitive": "income", "public": "relationship"},
        ],
        "mechanisms": ["ir", "srr", "grr"],
        "chunks": 2,
        "synthetic": {
            "epsilon": [0.5, 1.5],
            "per_job": 1,
            "blocks": [
                {
                    "name": "2x3",
                    "sensitive": 2,
                    "public": 3,
                    "repetitions": 2,
                    "mechanisms": ["polyopt", "polyopt_distinct", "nr", "ir", "srr"],
                }
            ],
            "table2": {
                "betas": [0.5, 0.005],
                "blocks": [
                    {"name": "2x3", "sensitive": 2, "public": 3, "repetitions": 1, "mechanisms": ["polyopt"]}
                ],
            },
        },
        "orders": {"values": [0.5, 2], "epsilon": [1.0], "mechanisms": ["ir"]},
        "theorems": {
            "tables": [{"sensitive": 2, "public": 2, "records": 60}],
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
        "channels": 2,
        "chunk": 2,
    },
    "liao2017": {
        "shares": {"start": 0.001, "stop": 0.1, "points": 2},
        "named": [0.001, 0.002, 0.005],
        "grid": 10,
        "tolerance": {"3": 0.05, "4": 0.05},
        "theorems": 1,
    },
    "kalantari2018": {"distortion": {"start": 0.1, "stop": 0.8, "points": 8}, "random": 2},
}


def command(directory, *arguments, configuration=TINY):
    directory.mkdir(exist_ok=True)
    file = directory / "tiny.yaml"
    file.write_text(yaml.safe_dump(configuration))
    snakemake = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "workflow/Snakefile")]
    return [*snakemake, "--directory", str(directory), "--configfile", str(file), *arguments]


def run(directory, *arguments, configuration=TINY, ok=True):
    done = subprocess.run(
        command(directory, *arguments, configuration=configuration),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert (done.returncode == 0) == ok, done.stderr
    return done.stdout + done.stderr


def planned(directory, configuration):
    """Return the rules and the chunks that a dry run would make."""
    text = run(directory, "-n", configuration=configuration)
    return set(re.findall(r"rule (\w+):", text)), re.findall(r"output: results/chunks/(\S+)", text)


def bytes_of(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for part in ("results/tables", "results/chunks", "results/figures")
        for path in sorted((directory / part).rglob("*.*"))
    }


def changed(paper="lopuhaa2024", **keys):
    configuration = copy.deepcopy(TINY)
    configuration[paper].update(keys)
    return configuration


def assert_same_bytes(directory, finished):
    """What a run of one paper made is what the run of all made."""
    made, expected = bytes_of(directory), bytes_of(finished)
    assert len(made) > 10
    assert made == {name: expected[name] for name in made}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("workflow") / "two"
    run(directory, "--cores", "2")
    return directory


def test_the_whole_pipeline_runs(finished):
    table = read_table(finished / TABLE)
    assert set(table["instance"]) == {"sex, race (2 x 5)", "income, relationship (2 x 6)"}
    # Two metrics at three values of epsilon, for three mechanisms on each pair.
    assert len(table) == 2 * 3 * 6
    assert set(table["status"]) == {"optimal", "closed form"}
    metadata = read_metadata(finished / TABLE)
    assert set(metadata) == {"code_hash", "code_version", "configuration_hash", "packages"}
    example = read_table(finished / "results/tables/lopuhaa2024/example.parquet", EXAMPLES)
    assert example["agrees"].sum() > 150
    for suffix in ("pdf", "svg", "png"):
        assert (finished / f"results/figures/lopuhaa2024/fig2.{suffix}").stat().st_size > 5000
    provenance = json.loads((finished / "results/data/adult/provenance.json").read_text())
    assert provenance["used"] == "bundled"
    log = (finished / "logs/lopuhaa2024/fig2/sex/race/0.log").read_text()
    assert "sex, race (2 x 5): epsilon 0.5, polyopt: optimal" in log
    assert (finished / "logs/lopuhaa2024/fig2/sex/race/0.tsv").read_text().startswith("s\t")


def test_the_pipeline_of_kairouz2016_runs(finished):
    tables = finished / "results/tables/kairouz2016"
    names = {path.stem for path in tables.glob("*.parquet")}
    assert names == {*(f"fig{n}" for n in range(3, 9)), "thresholds", "theorems", "expansions"}
    # The optimum, binary and randomized response for two instances and three values of epsilon.
    ratios = read_table(finished / RATIOS)
    assert len(ratios) == 3 * 2 * 3
    assert set(ratios["instance"]) == {"k=03, 000", "k=03, 001"}
    assert set(ratios["metric"]) == {"kl"}
    theorems = read_table(tables / "theorems.parquet")
    assert {"K-T2 outputs", "K-T6 ratio", "K-T7", "K-T13", "containment"} <= set(theorems["metric"])
    for name in (*(f"fig{n}" for n in range(2, 11)), "thresholds"):
        for suffix in ("pdf", "svg", "png"):
            assert (finished / f"results/figures/kairouz2016/{name}.{suffix}").stat().st_size > 3000


def test_the_synthetic_study_of_lopuhaa2024_runs(finished):
    tables = finished / "results/tables/lopuhaa2024"
    assert read_table(tables / "orders.parquet")["experiment"].nunique() == 2
    table = read_table(tables / "synthetic.parquet")
    assert set(table["instance"]) == {"2 x 3, 000", "2 x 3, 001"}
    assert {"nmi", "realized_epsilon", "utility_difference"} <= set(table["metric"])
    for name in ("fig3.csv", "fig4.csv", "fig5.csv", "gain.csv", "mean_orderings.csv", "table2.tex"):
        assert (tables / name).stat().st_size > 50
    for name in ("fig3", "fig4", "fig5", "gain"):
        assert (finished / f"results/figures/lopuhaa2024/{name}.pdf").stat().st_size > 3000


def test_the_pipeline_of_kalantari2018_runs(finished):
    tables = finished / "results/tables/kalantari2018"
    found = read_table(tables / "tradeoff.parquet")
    assert set(found["metric"]) >= {"dp_leakage", "mi_leakage"}
    assert read_table(tables / "sources.parquet", EXAMPLES)["agrees"].all()
    for name in ("fig4", "fig5", "fig6", "fig7", "bounds"):
        assert (finished / f"results/figures/kalantari2018/{name}.svg").stat().st_size > 3000


def test_the_pipeline_of_liao2017_runs(finished):
    tables = finished / "results/tables/liao2017"
    statements = read_table(tables / "statements.parquet")
    assert {"Li-F2a", "Li-F3"} <= {name[:6] for name in statements["mechanism"]} | {"Li-F3"}
    assert (tables / "shares.md").read_text().count("Pair 1") == 3
    for name in ("fig1", "fig2", "fig3", "study", "shares"):
        assert (finished / f"results/figures/liao2017/{name}.pdf").stat().st_size > 3000


def test_more_repetitions_only_add_chunks(finished):
    study = copy.deepcopy(TINY["lopuhaa2024"]["synthetic"])
    study["blocks"][0]["repetitions"] = 3
    _, chunks = planned(finished, changed(synthetic=study))
    assert chunks == ["lopuhaa2024/synthetic/2x3/2.parquet"]


def test_a_finished_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in run(finished, "-n")


def test_the_report_builds(finished):
    run(finished, "--report", "results/report/snakemake.html")
    assert (finished / "results/report/snakemake.html").stat().st_size > 100_000


def test_changing_one_pair_runs_that_pair_again_and_no_other(finished):
    pairs = copy.deepcopy(TINY["lopuhaa2024"]["pairs"])
    pairs[1]["mechanisms"] = ["srr"]
    rules, chunks = planned(finished, changed(pairs=pairs))
    assert rules == {
        "lopuhaa2024_fig2_chunk",
        "lopuhaa2024_fig2_table",
        "lopuhaa2024_orderings",
        "lopuhaa2024_fig2",
        "all",
        "claims",
        "report",
    }
    assert sorted(chunks) == [f"lopuhaa2024/fig2/income/relationship/{chunk}.parquet" for chunk in (0, 1)]


def test_another_source_of_the_same_counts_recomputes_nothing(finished):
    configuration = {**TINY, "adult": {"source": "auto", "cache": None}}
    rules, _ = planned(finished, configuration)
    assert rules == {"adult_counts", "adult_pair", "report", "all"}


def test_one_core_gives_the_same_bytes(finished, tmp_path):
    run(tmp_path / "one", "--cores", "1", "lopuhaa2024")
    assert_same_bytes(tmp_path / "one", finished)


def test_other_chunks_give_the_same_table(finished, tmp_path):
    run(tmp_path / "other", "--cores", "2", TABLE, configuration=changed(chunks=3))
    assert (tmp_path / "other" / TABLE).read_bytes() == (finished / TABLE).read_bytes()


def test_one_core_and_other_chunks_give_the_same_table_of_kairouz2016(finished, tmp_path):
    run(tmp_path / "one", "--cores", "1", RATIOS, configuration=changed("kairouz2016", chunk=1))
    assert (tmp_path / "one" / RATIOS).read_bytes() == (finished / RATIOS).read_bytes()


def test_more_instances_only_add_chunks(finished):
    _, chunks = planned(finished, changed("kairouz2016", instances=3))
    names = ("kl/3", "mutual_information/3", "thresholds/3", "tv/3")
    assert sorted(chunks) == [f"kairouz2016/{name}/1.parquet" for name in names]


def test_a_killed_run_resumes_with_the_same_command(finished, tmp_path):
    directory = tmp_path / "killed"
    log = directory / "logs/lopuhaa2024/fig2/sex/race/0.log"
    process = subprocess.Popen(
        command(directory, "--cores", "2", "lopuhaa2024"),
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (log.is_file() and "polyopt: optimal" in log.read_text()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    for job in [*psutil.Process(process.pid).children(recursive=True), process]:
        job.kill()
    process.wait()
    assert not (directory / TABLE).exists()
    assert not (directory / "results/chunks/lopuhaa2024/fig2/sex/race/0.parquet").exists()
    run(directory, "--cores", "2", "lopuhaa2024")
    assert_same_bytes(directory, finished)


@pytest.mark.parametrize(
    ("configuration", "sentence"),
    [
        (changed(betta=0.1), "Unknown key lopuhaa2024.betta; did you mean 'beta'?"),
        (changed(beta=2), "lopuhaa2024.beta is 2; allowed is a number greater than 0 and less than 1."),
        (
            changed("kairouz2016", sizes=[1]),
            "kairouz2016.sizes[0] is 1; allowed is a whole number at least 2 and at most 20.",
        ),
    ],
)
def test_a_bad_configuration_is_refused_before_any_job(tmp_path, configuration, sentence):
    text = run(tmp_path, "--cores", "1", configuration=configuration, ok=False)
    assert sentence in text
    assert "Traceback" not in text
    assert {path.name for path in tmp_path.iterdir()} <= {"tiny.yaml", ".snakemake"}


def test_a_failing_job_leaves_its_traceback_in_the_log(tmp_path):
    configuration = {**TINY, "adult": {"source": "file", "file": "adult.data"}}
    tmp_path.joinpath("adult.data").write_text("not, adult\n")
    text = run(
        tmp_path, "--cores", "1", "results/data/adult/counts.csv", configuration=configuration, ok=False
    )
    log = (tmp_path / "logs/adult/counts.log").read_text()
    assert "Traceback" in log
    assert "an Adult record has 15" in log
    assert "an Adult record has 15" in text
    assert not (tmp_path / "results/data/adult/counts.csv").exists()


def test_snakefiles_have_no_lints(tmp_path):
    assert "good condition" in run(tmp_path, "--lint")
