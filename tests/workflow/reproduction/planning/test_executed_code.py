"""What a process records of the code that it imports and reads, against what its run was planned with."""

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.planning.executed_code import note, project_files

ROOT = Path(__file__).parents[4]
#: Compiled modules are written.
COMPILING = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

FILES = {
    "mine/__init__.py": '"""A package."""\n',
    "mine/early.py": "ONE = 1\n",
    "mine/late.py": "TWO = 1  # Why.\n",
    "mine/never.py": "THREE = 1\n",
    "mine/sources.yaml": "a: 1\n",
}

#: A job: it imports a module, does what a test gives as the text of a program, imports and reads others, and
#: says what is wrong.
JOB = """
import sys
from pathlib import Path
from reproduction.planning import executed_code
{before}
executed_code.watch(Path("planned.json"))
import mine.early
{meanwhile}
import mine.late
Path("mine/sources.yaml").read_text()
{after}
try:
    executed_code.require_planned({told})
    print("as planned", mine.late.TWO)
except executed_code.ChangedCode as problem:
    print(problem)
"""


def edit(name, old, new):
    """Return a program that edits a file."""
    return f"p = Path({name!r}); p.write_text(p.read_text().replace({old!r}, {new!r}))"


def revert(name):
    return f"Path({name!r}).write_text({FILES[name]!r})"


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    planned(tmp_path)
    return tmp_path


def planned(project, jobs=None):
    files = project_files([project / "mine"])
    note(files, [project / "mine"], jobs, project / "planned.json")


def job(project, before="", meanwhile="", after="", told=""):
    program = JOB.format(before=before, meanwhile=meanwhile, after=after, told=told)
    path = os.pathsep.join([str(ROOT / "workflow"), str(ROOT / "src"), str(project)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project, env={**COMPILING, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refused(*names):
    return (
        f"The code was edited after this run had been planned: {', '.join(names)}. This job ran the edited"
        " code, so its result is not written. Give the same command again."
    )


def test_a_job_that_runs_the_code_of_the_plan_goes_on(project):
    assert job(project) == "as planned 1"
    assert job(project) == "as planned 1"  # From what was compiled.


@pytest.mark.parametrize(
    ("before", "meanwhile", "after", "names"),
    [
        # Edited when it was imported or read, and back as it was when the job ends.
        ("", edit("mine/late.py", "1", "2"), revert("mine/late.py"), ["mine/late.py"]),
        ("", edit("mine/sources.yaml", "1", "2"), revert("mine/sources.yaml"), ["mine/sources.yaml"]),
        (edit("mine/early.py", "1", "2"), revert("mine/early.py"), "", ["mine/early.py"]),
        ("import mine.early\n" + edit("mine/early.py", "1", "2"), "", "", ["mine/early.py"]),
        ("", edit("mine/late.py", "1", "2"), "", ["mine/late.py"]),
        (
            edit("mine/late.py", "1", "2") + "\n" + edit("mine/early.py", "1", "3"),
            "",
            "",
            ["mine/early.py", "mine/late.py"],
        ),
        ("", "Path('mine/new.py').write_text('FOUR = 4')\nimport mine.new", "", ["mine/new.py"]),
    ],
)
def test_a_job_that_ran_other_code_is_refused(project, before, meanwhile, after, names):
    assert job(project, before, meanwhile, after) == refused(*names)


@pytest.mark.parametrize(
    ("meanwhile", "after"),
    [
        # Comments do not count, nor does what was imported before its edit, or is not imported at all.
        (edit("mine/late.py", "Why", "Why not"), ""),
        ("", edit("mine/late.py", "1", "2")),
        (edit("mine/never.py", "1", "2"), ""),
        ("Path('mine/late.csv').write_text('1')", ""),
        # Comments that are written and no code.
        (edit("mine/early.py", "1", "1 +"), ""),
    ],
)
def test_what_a_job_does_not_run_does_not_count(project, meanwhile, after):
    assert job(project, "", meanwhile, after) == "as planned 1"


def test_what_was_compiled_of_another_source_is_not_used(project):
    """An edit and its revert within a second leave a compiled module with the size and time of the source."""
    module = project / "mine/late.py"
    times = module.stat()
    module.write_text(FILES["mine/late.py"].replace("1", "2"))
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
    py_compile.compile(str(module), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    module.write_text(FILES["mine/late.py"])
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
    plain = [sys.executable, "-c", "import mine.late; print(mine.late.TWO)"]
    assert subprocess.run(plain, cwd=project, capture_output=True, check=True).stdout == b"2\n"
    # What was imported before the watch began is compared with its source, and refused.
    assert job(project, before="import mine.late") == refused("mine/late.py")
    assert job(project) == "as planned 1"
    # From now on Python itself compares the source.
    assert subprocess.run(plain, cwd=project, capture_output=True, check=True).stdout == b"1\n"


def test_a_module_of_ones_own_is_loaded_likewise(project, tmp_path):
    own = "spec = importlib.util.spec_from_file_location('late', 'mine/late.py',"
    own = f"import importlib.util\n{own} loader=executed_code.loader('late', 'mine/late.py'))\n"
    own += "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
    meanwhile = f"{edit('mine/late.py', '1', '2')}\n{own}{revert('mine/late.py')}"
    assert job(project, meanwhile=meanwhile) == refused("mine/late.py")


def test_the_source_of_a_module_is_that_which_was_imported(project):
    after = edit("mine/late.py", "1", "2") + "\nprint(executed_code.source_of(mine.late))"
    assert job(project, after=after) == f"{FILES['mine/late.py']}\nas planned 1"


def test_a_job_that_is_told_something_else_than_the_plan_says_is_refused(project):
    planned(project, {"results/a.csv": {"code": "1", "call": {"seed": 1, 2: "3"}}})
    assert job(project, told="'results/a.csv', {'code': '1', 'call': {'seed': 1, 2: '3'}}") == "as planned 1"
    assert job(project) == "as planned 1"
    for told in ("'results/a.csv', {'code': '2', 'call': {'seed': 1}}", "'results/b.csv', {}"):
        name = told.partition(",")[0].strip("'")
        assert job(project, told=told) == (
            f"{name} was planned with other code, or with another configuration, than this job was started"
            " with, so it is not written. Give the same command again."
        )


def test_without_a_plan_nothing_is_written(project):
    (project / "planned.json").unlink()
    assert job(project) == (
        "results/.code.json, which says what code this run was planned with, is missing; allowed is a run"
        " without the option --no-hooks, which writes it."
    )


def test_what_is_noted_is_what_there_was_at_that_moment(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "mine/__pycache__").mkdir()
    (tmp_path / "mine/__pycache__/late.pyc").touch()
    (tmp_path / "more.md").write_text("More.")
    files = project_files([tmp_path / "mine"], [tmp_path / "more.md", tmp_path / "nothing.md"])
    assert {str(path.relative_to(tmp_path)) for path in files} == {*FILES, "more.md"}
    first, second = tmp_path / "results/first.json", tmp_path / "results/second.json"
    note(files, [tmp_path / "mine"], path=first)
    (tmp_path / "mine/late.py").write_text("TWO = 3\n")
    note(files, [tmp_path / "mine"], path=second)
    assert first.read_bytes() == second.read_bytes()
    assert {path.name for path in first.parent.iterdir()} == {"first.json", "second.json"}


def test_hashes_are_of_what_was_noted(tmp_path):
    """Between the first hash of a plan and the last one nothing changes."""
    program = (
        "from pathlib import Path\n"
        "from reproduction.planning import provenance\n"
        "from reproduction.planning.executed_code import project_files\n"
        "script = Path('job.py').resolve()\n"
        "provenance.freeze(project_files([], [script]))\n"
        "before = provenance.code_hash(script)\n"
        "script.write_text('A = 2')\n"
        "assert provenance.code_hash(script) == before\n"
        "provenance.freeze({})\n"
        "assert provenance.code_hash(script) != before\n"
    )
    (tmp_path / "job.py").write_text("A = 1")
    path = os.pathsep.join([str(ROOT / "workflow"), str(ROOT / "src")])
    subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True
    )


def test_every_script_compares_before_it_writes():
    for script in sorted((ROOT / "workflow/scripts").glob("[!_]*.py")):
        text = script.read_text(encoding="utf-8")
        written = [text.find(name) for name in ("\nwrite_", "\n    save(", "\n    write_")]
        first = min(place for place in written if place >= 0)
        assert 0 < text.find("\nrequire_plan(snakemake)\n") < first, script.name
