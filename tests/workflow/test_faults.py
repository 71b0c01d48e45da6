"""What happens to a run when something goes wrong, and that a finished run leaves nothing stale.

On a paper that is a toy, alone in a copy of the repository: a run takes seconds.
"""

import copy
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]
CONFIGURATION = {
    "seed": 1,
    "papers": [],
    "adult": {"source": "bundled", "file": None, "timeout": 5, "retries": 0, "cache": None},
    "figures": {"formats": ["svg"], "dpi": 60},
}
#: Where the copies of the project are: of a name that must be quoted.
HOUSE = "it's our house"
RATES = "results/chunks/faulty2026/rates/1.parquet"

PAPER = """
title: A Faulty Toy
authors: Nobody
year: 2026
tables:
  rates: {parts: rates}
  shares: {function: shares, tables: [rates], brief: true}
  checks: {function: checks, tables: [shares], schema: CHECKS, brief: true}
figures:
  fig1: {function: rates, tables: [rates], labels: {figure: "1"}, caption: Shares.}
claims:
  - {id: T-1, where: Text, statement: Some., tolerance: none, origin: counts, rule: All are.,
     check: every_check_holds, tables: [checks]}
"""

PLAN = '''"""Two parts."""

from reproduction.planning.paper import Counts


def rates(configuration):
    return {
        str(part): {"part": part, "seed": configuration["seed"], "counts": Counts("adult", "sex", attribute)}
        for part, attribute in enumerate(("race", "income"))
    }
'''

EXPERIMENTS = '''"""What the toy computes."""

import builtins
import os
import time

import pandas as pd

from reproduction.results.tables import CHECKS, RESULTS, Check, Result

SCALE = 1.0


def rates(part, seed, counts):
    """Compute a share of the counts, at leisure if the tests ask for that."""
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    while os.path.exists(os.environ.get("TOY_HELD", "")):
        time.sleep(0.02)
    value = SCALE * (float(counts.iloc[0, 0]) / counts.to_numpy().sum() + seed)
    value += getattr(builtins, "EDITED", 0)  # By an edit of any module that the job imports.
    return RESULTS.table([Result("faulty2026", "rates", f"{part}", "any", "share", value, unit="1")])


def shares(table):
    """Add the parts up."""
    return RESULTS.table(
        [
            Result(
                "faulty2026", "shares", "all", "any", "share",
                table["value"].sum() + getattr(builtins, "EDITED", 0), unit="1",
            )
        ]
    )


def checks(table: pd.DataFrame) -> pd.DataFrame:
    """Check that there is something."""
    return CHECKS.table([Check("faulty2026", "T-1", "all", "share", table["value"].min(), ">=", 0.0)])
'''

FIGURES = '''"""What the toy draws."""

from matplotlib.figure import Figure

from reproduction.figure_style import style

WIDTH = 3


def rates(table):
    """Draw the shares."""
    with style():
        figure = Figure(figsize=(WIDTH, 2))
        figure.subplots().plot(table["value"])
    return figure
'''


def build(directory):
    """Copy the repository without its papers to a folder of a directory, and put a toy in their place."""
    copied = directory / HOUSE
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "*20[0-9][0-9]")
    for name in ("workflow", "src", "resources", "profiles"):
        shutil.copytree(ROOT / name, copied / name, ignore=ignore)
    shutil.copy(ROOT / "Snakefile", copied)
    (copied / "config").mkdir()
    (copied / "config/config.yaml").write_text(yaml.safe_dump(CONFIGURATION))
    folder = copied / "workflow/papers/faulty2026"
    folder.mkdir()
    for name, text in (
        ("paper.yaml", PAPER),
        ("plan.py", PLAN),
        ("experiments.py", EXPERIMENTS),
        ("figures.py", FIGURES),
    ):
        (folder / name).write_text(text)
    return copied


class Runs:
    """Runs of the toy in one directory, by a Python that may be a quick one (`warm`).

    What is killed, or limited, or says its process id, is not.
    """

    def __init__(self, house, directory, python=sys.executable):
        self.house, self.directory, self.python = house, directory, python
        self.directory.mkdir(exist_ok=True)

    def command(self, *arguments, configuration=None, python=sys.executable):
        """Return the command: for tables and figures alone, unless another target is given."""
        (self.directory / "own.yaml").write_text(yaml.safe_dump(configuration or CONFIGURATION))
        arguments = arguments if any(not a.startswith("-") for a in arguments) else ("faulty2026", *arguments)
        snakemake = [python, "-m", "snakemake", *arguments, "-s", str(self.house / "Snakefile")]
        return [*snakemake, "--configfile", "own.yaml", "--cores", "2"]

    def __call__(self, *arguments, configuration=None, ok=True, **environment):
        done = subprocess.run(
            self.command(*arguments, configuration=configuration, python=self.python),
            cwd=self.directory,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stderr
        return done.stdout + done.stderr

    def start(self, *arguments, configuration=None, python=sys.executable, **environment):
        return subprocess.Popen(
            self.command(*arguments, configuration=configuration, python=python),
            cwd=self.directory,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def beside(self, directory):
        """Return runs of the same copy in another directory."""
        return Runs(self.house, directory, self.python)

    def made(self):
        """Return the results by name: all but what says when and on what machine."""
        kept = ("tables", "chunks", "figures", "claims")
        return {
            path.relative_to(self.directory).as_posix(): path.read_bytes()
            for path in sorted((self.directory / "results").rglob("*.*"))
            if path.relative_to(self.directory / "results").parts[0].startswith(kept)
        }


@pytest.fixture(scope="module")
def once(tmp_path_factory, python):
    """A copy of the repository, and a run that is finished: what the tests have copies of."""
    directory = tmp_path_factory.mktemp("once")
    Runs(build(directory), directory / "run", python)()
    return directory


@pytest.fixture
def fresh(once, tmp_path, python):
    """Runs in a directory in which there was none."""
    return Runs(shutil.copytree(once / HOUSE, tmp_path / HOUSE), tmp_path / "run", python)


@pytest.fixture
def runs(fresh, once):
    """Runs in a directory in which one is finished."""
    shutil.copytree(once / "run", fresh.directory, dirs_exist_ok=True)
    return fresh


def wait_for(condition):
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_another_key_changed_with_the_source_leaves_nothing_stale(runs, tmp_path):
    """Snakemake skips jobs whose inputs are all ancient when something upstream of them must run."""
    raw = CONFIGURATION["adult"] | {"source": "auto", "timeout": 1}
    both = {**CONFIGURATION, "seed": 2, "adult": raw}
    runs(configuration=both)
    clean = runs.beside(tmp_path / "clean")
    clean(configuration=both)
    assert runs.made() == clean.made()


#: What a random change may touch: keys of the configuration, and places in files of the copy.
KEYS = [
    ("seed", [1, 2, 3]),
    ("source", ["bundled", "auto"]),
    ("dpi", [60, 70]),
    ("formats", [["svg"], ["svg", "png"]]),
]
EDITS = [
    ("workflow/papers/faulty2026/experiments.py", "SCALE = {}", ["1.0", "2.0"]),
    ("workflow/papers/faulty2026/figures.py", "WIDTH = {}", ["3", "4"]),
    (
        "workflow/papers/faulty2026/plan.py",
        "enumerate(({}))",
        ['"race", "income"', '"race", "occupation"'],
    ),
    ("workflow/reproduction/results/tables.py", "ROUNDING = {}", ["2e-12", "3e-12"]),
    ("workflow/scripts/collect.py", "# {}\n", ["one", "two"]),
]


def test_random_changes_give_what_a_clean_run_gives(runs, tmp_path, long):
    """Combinations of keys, code and data, one after the other in the same directory."""
    chance = random.Random(20261121)
    places = {}
    (runs.house / "workflow/scripts/collect.py").open("a").write("# one\n")
    for file, pattern, values in EDITS:
        assert pattern.format(values[0]) in (runs.house / file).read_text(), file
        places[file] = values[0]
    for step in range(20 if long else 1):
        configuration = copy.deepcopy(CONFIGURATION)
        for key, values in chance.sample(KEYS, 3):
            section = {"source": "adult", "dpi": "figures", "formats": "figures"}.get(key)
            (configuration[section] if section else configuration)[key] = chance.choice(values)
        configuration["adult"]["timeout"] = 1
        for file, pattern, values in chance.sample(EDITS, 2):
            path, value = runs.house / file, chance.choice(values)
            path.write_text(path.read_text().replace(pattern.format(places[file]), pattern.format(value)))
            places[file] = value
        runs("all", configuration=configuration)
        clean = runs.beside(tmp_path / f"clean{step}")
        clean("all", configuration=configuration)
        made, expected = runs.made(), clean.made()
        assert {name: made[name] for name in expected} == expected, (step, configuration, places)


#: What a test appends to a module, so that every job that imports it has other results.
EDIT = "\n\nimport builtins\n\nbuiltins.EDITED = 1000\n"


@contextmanager
def edited(path):
    """Change what a file does, and put it back as it was, time and all."""
    text, times = path.read_text(), path.stat()
    if path.parent.name == "scripts":
        head, _, rest = text.partition('"""\n\n')
        path.write_text(f'{head}"""{EDIT}{rest}')
    else:
        path.write_text(text.replace("Some.", "Others.") if path.suffix == ".yaml" else text + EDIT)
    try:
        yield
    finally:
        path.write_text(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    ("place", "target", "lost"),
    [
        ("papers/faulty2026/experiments.py", "faulty2026", "results/tables/faulty2026/shares.parquet"),
        # As the one before, a module that jobs import.
        pytest.param(
            "reproduction/results/tables.py",
            "faulty2026",
            "results/tables/faulty2026/shares.parquet",
            marks=pytest.mark.long,
        ),
        ("scripts/_job.py", "faulty2026", "results/tables/faulty2026/rates.parquet"),
        ("papers/faulty2026/paper.yaml", "results/claims.md", "results/claims.md"),
    ],
)
def test_an_edit_during_a_run_leaves_nothing_stale_when_it_is_reverted(runs, tmp_path, place, target, lost):
    """A job that ran the edited code writes nothing: its result would bear the hash of the code before."""
    clean = runs
    if target != "faulty2026":  # which is there
        clean = runs.beside(tmp_path / "clean")
        clean(target)
    expected = clean.made()
    held = tmp_path / "held"
    held.touch()
    # The jobs of these import the code before the edit, and those after them during it.
    for name in ("0", "1"):
        (runs.directory / f"results/chunks/faulty2026/rates/{name}.parquet").unlink()
    shutil.rmtree(runs.directory / "results/tables")
    shutil.rmtree(runs.directory / "logs/faulty2026")
    run = runs.start(target, TOY_HELD=str(held), python=runs.python)
    wait_for(lambda: len(list(runs.directory.glob("logs/faulty2026/rates/*.log"))) == 2)
    with edited(runs.house / "workflow" / place):
        held.unlink()
        assert run.wait(timeout=1200) != 0
    assert not (runs.directory / lost).exists()
    logged = "".join(path.read_text() for path in runs.directory.glob("logs/**/*.log"))
    assert f"The code was edited after this run had been planned: ../{HOUSE}/workflow/{place}." in logged
    runs(target)
    made = runs.made()
    assert lost in expected
    assert {name: made[name] for name in expected} == expected


def test_a_ledger_that_is_put_back_with_its_time_is_decided_again(runs):
    with edited(runs.house / "workflow/papers/faulty2026/paper.yaml"):
        runs("all")
        assert "Others." in (runs.directory / "results/claims.md").read_text()
    runs("all")
    assert "Some." in (runs.directory / "results/claims.md").read_text()


@pytest.mark.long
def test_edits_in_random_places_during_a_run_leave_nothing_stale(fresh, tmp_path, python):
    chance = random.Random(20261125)
    clean = fresh.beside(tmp_path / "clean")
    clean("all")
    expected = clean.made()
    workflow = fresh.house / "workflow"
    places = [path for path in (fresh.house / "src/ldpfrontier").rglob("*.py") if path.name == "types.py"]
    places += [path for path in workflow.rglob("*.py") if path.stat().st_size > 100]
    places += workflow.glob("papers/*/paper.yaml")
    for trial in range(10):
        runs = fresh.beside(tmp_path / f"edited{trial}")
        place = chance.choice(places)
        run = runs.start("all", python=python)
        time.sleep(chance.uniform(0, 8))
        with edited(place):
            time.sleep(chance.uniform(0.2, 4))
        run.wait(timeout=1200)
        runs("all")
        made = runs.made()
        assert {name for name in expected if made[name] != expected[name]} == set(), place


@pytest.mark.parametrize("other", ["configuration", "content", "code"])
def test_a_chunk_that_does_not_belong_is_refused_by_name(runs, tmp_path, other):
    """A chunk of another run, or edited by hand, is not collected, however new or old it looks."""
    foreign = runs.beside(tmp_path / "foreign")
    script = [sys.executable, "-c"]
    if other == "configuration":
        foreign(RATES, configuration={**CONFIGURATION, "seed": 9})
        shutil.copy(foreign.directory / RATES, runs.directory / RATES)
        says = "was made by another configuration"
    elif other == "code":
        path = runs.house / "workflow/papers/faulty2026/experiments.py"
        text = path.read_text()
        path.write_text(text.replace("SCALE = 1.0", "SCALE = 7.0"))
        foreign(RATES)
        path.write_text(text)
        shutil.copy(foreign.directory / RATES, runs.directory / RATES)
        says = "was made by another version of the code"
    else:
        edit = (
            "import sys, pyarrow as pa, pyarrow.parquet as pq; t = pq.read_table(sys.argv[1]);"
            " i = t.schema.get_field_index('value');"
            " edited = t.set_column(i, 'value', pa.array([5.0]));"
            " pq.write_table(edited.replace_schema_metadata(t.schema.metadata), sys.argv[1])"
        )
        subprocess.run([*script, edit, str(runs.directory / RATES)], check=True)
        says = "was changed after it was written"
    said = runs(ok=False)
    assert f"{RATES} {says}" in said
    assert "Delete the file and run the workflow again" in said
    if other == "content":  # The others are gone in the same way.
        (runs.directory / RATES).unlink()
        before = runs.made()
        runs()
        assert {name: runs.made()[name] for name in before} == before


def test_a_pair_that_was_edited_is_refused_or_made_again(runs):
    pair = runs.directory / "results/data/adult/sex/race.csv"
    text = pair.read_text()
    pair.write_text(text.replace("119", "118"))
    (runs.directory / "results/chunks/faulty2026/rates/0.parquet").unlink()
    said = runs(ok=False)
    assert "sex/race.csv does not have the counts that are asked for" in said
    pair.unlink()
    # What nothing asks for is not made again: the table does ask for its parts, and these for the pair.
    (runs.directory / "results/tables/faulty2026/rates.parquet").unlink()
    runs()
    assert pair.read_text() == text


@pytest.mark.parametrize(
    "name",
    [
        # As the figure, a result that no job reads.
        pytest.param("tables/faulty2026/shares.csv", marks=pytest.mark.long),
        "tables/faulty2026/checks.parquet",
        "figures/faulty2026/fig1.svg",
    ],
)
def test_a_result_that_was_edited_by_hand_is_found_by_the_next_run(runs, name):
    """Also after another run, and until it is made again."""
    assert "changed after they had been made" not in runs("-n")
    path, times = runs.directory / "results" / name, (runs.directory / "results" / name).stat()
    content = path.read_bytes()
    path.write_bytes(content[:-9] + b"12345678\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    found = f"These results were changed after they had been made: results/{name}. Delete them and run"
    assert found in runs("-n")
    runs("results/claims.csv", "-R", "claims", ok=not name.endswith("parquet"))
    assert found in runs("-n")
    path.unlink()
    runs()
    assert "changed after they had been made" not in runs("-n")
    assert path.read_bytes() == content


def test_a_run_that_fails_or_is_killed_changes_nothing_by_hand(fresh, tmp_path):
    runs, held = fresh, tmp_path / "held"
    runs("results/tables/faulty2026/rates.parquet")
    changed = {**CONFIGURATION, "seed": 2}
    held.touch()
    run = runs.start(configuration=changed, TOY_HELD=str(held))
    wait_for(lambda: len(list(runs.directory.glob("logs/faulty2026/rates/*.log"))) == 2)
    jobs = psutil.Process(run.pid).children(recursive=True)
    for process in (run, *jobs):
        process.kill()
    run.wait()
    assert "changed after they had been made" not in runs("-n", configuration=changed)
    runs("all", configuration=changed)
    listed = (runs.directory / "results/SHA256SUMS").read_text()
    for name in runs.made():
        assert f"  {name.removeprefix('results/')}\n" in listed


def test_damaged_files_do_not_pass_into_the_report(runs):
    runs("all")
    for name in ("results/tables/faulty2026/shares.csv", "results/figures/faulty2026/fig1.svg"):
        path = runs.directory / name
        content = path.read_bytes()
        path.write_bytes(b"")
        said = runs("results/report/index.html", "-R", "report", ok=False)
        assert f"{name} is empty" in said
        path.write_bytes(content)


def test_two_runs_in_one_directory(runs, tmp_path):
    table = "results/tables/faulty2026/rates.parquet"
    for made in (RATES, table):
        (runs.directory / made).unlink()
    held = tmp_path / "held"
    held.touch()
    # What reads the table would take as long again, as the Python whose process id counts is not quick.
    first = runs.start(table, TOY_HELD=str(held))
    wait_for(lambda: f"process {first.pid} " in (runs.directory / "results/.run").read_text())
    said = runs(table, ok=False)
    assert f"\nAnother run, process {first.pid} on " in said
    assert said.endswith(", is using this directory; wait until it has finished, or stop it.\n")
    assert "Traceback" not in said
    held.unlink()
    assert first.wait(timeout=600) == 0
    assert "Nothing to be done" in runs(table)


def test_a_run_that_is_killed_leaves_nothing_in_the_way_and_its_orphans_do_no_harm(fresh, tmp_path):
    runs, held = fresh, tmp_path / "held"
    runs("results/data/adult/sex/race.csv", "results/data/adult/sex/income.csv")
    held.touch()
    first = runs.start(TOY_HELD=str(held))
    wait_for(lambda: len(list(runs.directory.glob("logs/faulty2026/rates/*.log"))) == 2)
    orphans = psutil.Process(first.pid).children(recursive=True)
    first.send_signal(signal.SIGKILL)
    first.wait()
    # The jobs of the killed run go on, and end after another run, of another configuration.
    changed = {**CONFIGURATION, "seed": 2}
    runs("results/tables/faulty2026/rates.parquet", configuration=changed)
    held.unlink()
    psutil.wait_procs(orphans, timeout=30)
    # Their files are refused by name, and made again once they are gone.
    assert "was made by another configuration" in runs(configuration=changed, ok=False)
    shutil.rmtree(runs.directory / "results/chunks")
    runs(configuration=changed)
    clean = runs.beside(tmp_path / "clean")
    clean(configuration=changed)
    made = runs.made()
    assert {name: made[name] for name in clean.made()} == clean.made()


def test_a_full_disk_and_a_directory_that_may_not_be_written(runs):
    blocked = runs.directory / "results/tables/faulty2026/shares.parquet"
    blocked.unlink()
    before = runs.made()
    # A limit on the size of files stands for a full disk: writing fails half-way.
    limited = " ".join(["ulimit -f 1;", *map(repr, runs.command("results/tables/faulty2026/shares.parquet"))])
    done = subprocess.run(
        ["bash", "-c", limited], cwd=runs.directory, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert not blocked.exists()
    assert {name: runs.made()[name] for name in before} == before
    runs("results/tables/faulty2026/shares.parquet")
    assert blocked.exists()


def test_results_that_cannot_be_written_are_named(fresh):
    runs = fresh
    # A directory where a file has to be: for a user who is root no directory is read-only.
    (runs.directory / "results/.run").mkdir(parents=True)
    said = runs(ok=False)
    assert "The directory results/ cannot be written: " in said
    assert "Traceback" not in said


def test_results_without_their_record_are_noticed(runs):
    shutil.rmtree(runs.directory / ".snakemake")
    counts = "results/data/adult/counts.csv"
    assert "which records how they were made, is missing" in runs("-n", counts)
    runs(counts, "--forceall")
    assert "is gone" not in runs("-n", counts)


def test_a_raw_file_that_is_not_there_is_noticed_in_a_finished_directory(runs):
    missing = {**CONFIGURATION, "adult": CONFIGURATION["adult"] | {"source": "file", "file": "adult.data"}}
    said = runs("-n", configuration=missing, ok=False)
    assert "adult.file is 'adult.data'; there is no such file beside the files of configuration" in said


def test_the_folder_of_the_workflow_has_the_same_snakefile(runs):
    """Catalogues of workflows look for it there."""
    above, below = (
        subprocess.run(
            [runs.python, "-m", "snakemake", "-n", "-s", str(runs.house / name), "--forceall"],
            cwd=runs.directory,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in ("Snakefile", "workflow/Snakefile")
    )
    counted = [re.findall(r"^(\w+) +(\d+)$", said, re.M) for said in (above, below)]
    assert counted[0] == counted[1]
    assert ("all", "1") in counted[0]


def test_an_input_of_the_future_is_refused_before_anything_is_removed(runs):
    chunk, table = runs.directory / RATES, "results/tables/faulty2026/rates.parquet"
    before = runs.made()
    (runs.directory / table).unlink()
    os.utime(chunk, (time.time() + 86400,) * 2)
    said = runs(table, ok=False)
    assert f"{RATES} is dated " in said
    assert chunk.is_file()
    os.utime(chunk)
    runs(table)
    assert runs.made() == before
