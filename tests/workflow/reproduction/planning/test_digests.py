"""The list of digests of the results, and what was changed since."""

import os
import shutil
import subprocess

import pytest

from reproduction.planning.digests import add, changed, read, remove, warning

FILES = (
    "tables/p/a.csv",
    "tables/p/a.parquet",
    "chunks/p/a/0.certificates.parquet",
    "certificates/p/x/0.json",
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the content of {name}\n")
    (tmp_path / "results/certificates/p/.snakemake_timestamp").touch()
    add([*(f"results/{name}" for name in FILES[:3]), "results/certificates/p", "results/tables/p/not.csv"])
    return tmp_path / "results"


def checked(results, *options):
    """Return what the command that results/README.md names says."""
    command = ["sha256sum", "--quiet", *options, "-c", "SHA256SUMS"]
    done = subprocess.run(command, cwd=results, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_list_is_one_of_sha256sum(results):
    assert set(read()) == set(FILES)
    assert checked(results) == (0, "")
    assert changed() == []
    assert warning() == ""
    before = (results / "SHA256SUMS").read_bytes()
    add(f"results/{name}" for name in FILES)
    assert (results / "SHA256SUMS").read_bytes() == before
    assert {path.name for path in results.iterdir()} == {"SHA256SUMS", "tables", "chunks", "certificates"}


@pytest.mark.parametrize("name", FILES)
def test_what_was_edited_is_found_by_the_next_run_and_by_the_command(results, name):
    path, times = results / name, (results / name).stat()
    path.write_text(path.read_text().replace("content", "CONTENT"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changed() == [f"results/{name}"]
    assert warning() == (
        f"These results were changed after they had been made: results/{name}. Delete them and run the"
        " workflow again; they are made anew. results/SHA256SUMS has the digests of all results."
    )
    assert checked(results) == (1, f"{name}: FAILED\n")
    # Another run that does not make it leaves it in the list.
    (results / "more.md").write_text("More.")
    add([f"results/{name}", "results/more.md"])
    assert changed() == [f"results/{name}"]
    remove([f"results/{name}", "results/more.md"])
    assert changed() == []


def test_what_was_cut_is_found(results):
    path = results / FILES[2]
    os.truncate(path, 5)
    assert changed() == [f"results/{FILES[2]}"]


def test_what_is_made_again_is_no_change_even_if_the_run_is_killed(results):
    path = results / FILES[0]
    remove([f"results/{FILES[0]}", "results/certificates/p"])
    assert set(read()) == set(FILES[1:3])
    path.write_text("made again\n")
    assert changed() == []
    add([f"results/{FILES[0]}"])
    assert set(read()) == set(FILES[:3])
    assert checked(results) == (0, "")


def test_what_was_deleted_copied_or_touched_was_not_changed(results, tmp_path, monkeypatch):
    (results / FILES[0]).unlink()
    os.utime(results / FILES[1])
    assert changed() == []
    assert checked(results, "--ignore-missing") == (0, "")
    shutil.copytree(results, tmp_path / "elsewhere/results")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert changed() == []


def test_many_changes_are_counted(results):
    for number in range(9):
        path = results / f"tables/p/{number}.csv"
        path.write_text("1")
        add([path])
        path.write_text("2")
    assert "tables/p/4.csv, and 4 more. Delete them" in warning()


def test_without_a_list_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read() == {}
    assert warning() == ""
    remove(["results/a.csv"])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "results").mkdir()
    (tmp_path / "results/SHA256SUMS").write_text("\nno line\n0  a.csv\n")
    assert read() == {"a.csv": "0"}
