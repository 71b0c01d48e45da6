"""One report per person: kept, given again, and never a second one, whatever goes wrong."""

import os
import sqlite3
import stat

import pytest

from ldpfrontier import Memo, privatize_persons
from ldpfrontier.practice.cli import main
from ldpfrontier.practice.records import CHUNK, read_chunks
from support.owndata import channel_of, records_of, small_table

PEOPLE = records_of(small_table())


def people(path, records, names=None):
    names = [f"p{place}" for place in range(len(records))] if names is None else names
    rows = "".join(f"{name},{','.join(record)}\n" for name, record in zip(names, records, strict=True))
    path.write_text(f"id,illness,region,age\n{rows}", encoding="utf-8")
    return path


def reports_of(path):
    return [report for chunk in read_chunks(path, ["report"]) for (report,) in chunk]


@pytest.fixture
def ask(tmp_path, private):
    """Return a function that asks people for their reports."""

    def asked(records, names=None, **more):
        people(tmp_path / "in.csv", records, names)
        memo = Memo(tmp_path / "memo", "id")
        done = privatize_persons(private, tmp_path / "in.csv", tmp_path / "out.csv", memo, **more)
        return reports_of(tmp_path / "out.csv"), done

    return asked


def test_a_person_gives_the_same_report_again(ask, tmp_path):
    first, done = ask(PEOPLE)
    assert (done.records, done.again) == (1340, 0)
    assert len(set(first)) > 1
    again, done = ask(PEOPLE)
    assert again == first
    assert (done.records, done.again) == (1340, 1340)
    # In another order, with other values, and with new people among them.
    names = [f"p{place}" for place in reversed(range(1340))] + ["new1", "new2"]
    later, done = ask([PEOPLE[0]] * 1342, names)
    assert later[:1340] == first[::-1]
    assert done.again == 1340
    mode = stat.S_IMODE(os.stat(tmp_path / "memo").st_mode)
    assert mode == 0o600
    rows = sqlite3.connect(tmp_path / "memo").execute("SELECT id, report FROM reports").fetchall()
    assert dict(rows) == dict(zip(names, later, strict=True))


def test_a_person_who_is_in_a_file_twice_reports_once(ask):
    names = ["a", "b", "a"] * CHUNK  # within a chunk of records, and beyond
    reports, done = ask([PEOPLE[0]] * len(names), names)
    assert done.again == len(names) - 2
    assert {reports[i] for i, name in enumerate(names) if name == "a"} == {reports[0]}
    assert {reports[i] for i, name in enumerate(names) if name == "b"} == {reports[1]}


def test_first_reports_are_drawn_from_the_channel(ask, private):
    n = 20_000
    reports, _ = ask([PEOPLE[0]] * n)
    place = private.table.labels.index(PEOPLE[0])
    for output, p in zip(private.outputs, private.channel.matrix[place], strict=True):
        assert abs(reports.count(output) - n * p) <= 6 * (n * p * (1 - p)) ** 0.5 + 1e-9


def test_what_fails_is_not_kept(ask, tmp_path, private):
    bad = [*PEOPLE, ("no", "east", "old")]
    with pytest.raises(ValueError, match=r"Record 1341 of .* has 'east'"):
        ask(bad)
    assert not (tmp_path / "memo").exists()
    assert not (tmp_path / "out.csv").exists()
    first, _ = ask(PEOPLE[:5])
    before = (tmp_path / "memo").read_bytes()
    with pytest.raises(ValueError, match=r"Record 1341 of .* has 'east'"):
        ask(bad)
    assert (tmp_path / "memo").read_bytes() == before
    assert reports_of(tmp_path / "out.csv") == first


def test_reports_that_could_not_be_written_are_drawn_no_second_time(ask, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("No space left")

    with monkeypatch.context() as patch:
        patch.setattr("ldpfrontier.atomic.os.replace", full)
        with pytest.raises(OSError, match="No space left"):
            ask(PEOPLE)
    rows = sqlite3.connect(tmp_path / "memo").execute("SELECT id, report FROM reports").fetchall()
    kept = dict(rows)
    reports, done = ask(PEOPLE)
    assert done.again == 1340
    assert reports == [kept[f"p{place}"] for place in range(1340)]


def test_a_record_without_an_id_is_refused(ask):
    with pytest.raises(
        ValueError, match=r"Record 2 of .* has no value in the column 'id', which identifies the person"
    ):
        ask(PEOPLE[:3], ["a", " ", "c"])


def test_a_memo_that_does_not_fit_is_refused(ask, tmp_path, private):
    ask(PEOPLE[:3])
    target, source = tmp_path / "out.csv", tmp_path / "in.csv"
    other = channel_of(small_table(), "grr")
    with pytest.raises(ValueError, match="memo contains reports of another channel"):
        privatize_persons(other, source, target, Memo(tmp_path / "memo", "id"))
    source.write_text("name,illness,region,age\na,no,north,old\n")
    with pytest.raises(ValueError, match="memo identifies people by the column 'id', but 'name' was given"):
        privatize_persons(private, source, target, Memo(tmp_path / "memo", "name"))
    base = sqlite3.connect(tmp_path / "other")
    base.execute("CREATE TABLE t (x)")
    with pytest.raises(ValueError, match="other is a database, but not a memo of version 1 of ldp-frontier"):
        privatize_persons(private, source, target, Memo(tmp_path / "other", "name"))
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(ValueError, match="text is not a memo of ldp-frontier: file is not a database"):
        privatize_persons(private, source, target, Memo(tmp_path / "text", "name"))
    with pytest.raises(ValueError, match="The source of random bytes is 3; it must be a function"):
        Memo(tmp_path / "memo", "id", 3)


def test_a_memo_in_use_is_refused(ask, tmp_path, monkeypatch):
    ask(PEOPLE[:3])
    base = sqlite3.connect(tmp_path / "memo", isolation_level=None)
    base.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("ldpfrontier.practice.memo.PATIENCE", 0.1)
    with pytest.raises(ValueError, match=r"The memo .* cannot be used: database is locked"):
        ask(PEOPLE[:3])


def test_the_command_says_how_many_reports_were_given_again(tmp_path, private, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "in.csv", PEOPLE)
    private.write("channel.json")
    words = ["apply", "--channel", "channel.json", "--data", "in.csv", "--out", "out.csv"]
    words += ["--memo", "m", "--id", "id", "--keep", "id"]
    assert main(words) == 0
    assert "For 0 of them, the person's earlier report was repeated (m)." in capsys.readouterr().out
    first = (tmp_path / "out.csv").read_bytes()
    assert main([*words, "--seed", "1", "--insecure"]) == 0
    assert "For 1,340 of them, the person's earlier report was repeated" in capsys.readouterr().out
    assert (tmp_path / "out.csv").read_bytes() == first
