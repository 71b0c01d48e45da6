"""One report per person: kept, given again, and never a second one, whatever goes wrong."""

import os
import re
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from threading import Barrier, Event

import pytest

from ldpsurvey import Memo, privatize_file
from ldpsurvey.channel.reports import checked_name, ids_of
from ldpsurvey.command.cli import main
from ldpsurvey.data.reading import CHUNK, read_chunks
from support.owndata import channel_of, records_of, small_table

PEOPLE = records_of(small_table())


def people(path, records, names=None):
    names = [f"p{place}" for place in range(len(records))] if names is None else names
    rows = "".join(f"{name},{','.join(record)}\n" for name, record in zip(names, records, strict=True))
    path.write_text(f"id,illness,region,age\n{rows}", encoding="utf-8")
    return path


def reports_of(path):
    return [report for chunk in read_chunks(path, ["report"]) for report in chunk["report"]]


@pytest.fixture
def ask(tmp_path, private):
    """Return a function that asks people for their reports."""

    def asked(records, names=None, **more):
        people(tmp_path / "in.csv", records, names)
        memo = Memo(tmp_path / "memo", "id")
        target = tmp_path / "out.csv"
        done = privatize_file(private, tmp_path / "in.csv", target, memo=memo, force=True, **more)
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
        patch.setattr("ldpfrontier.base.atomic.os.replace", full)
        with pytest.raises(OSError, match="No space left"):
            ask(PEOPLE)
    rows = sqlite3.connect(tmp_path / "memo").execute("SELECT id, report FROM reports").fetchall()
    kept = dict(rows)
    reports, done = ask(PEOPLE)
    assert done.again == 1340
    assert reports == [kept[f"p{place}"] for place in range(1340)]


def test_a_memo_that_does_not_fit_is_refused(ask, tmp_path, private):
    ask(PEOPLE[:3])
    target, source = tmp_path / "new.csv", tmp_path / "in.csv"
    other = channel_of(small_table(), "grr")
    with pytest.raises(ValueError, match="memo contains reports of another channel"):
        privatize_file(other, source, target, memo=Memo(tmp_path / "memo", "id"))
    source.write_text("name,illness,region,age\na,no,north,old\n")
    with pytest.raises(ValueError, match="memo identifies people by the column 'id', but 'name' was given"):
        privatize_file(private, source, target, memo=Memo(tmp_path / "memo", "name"))
    base = sqlite3.connect(tmp_path / "other")
    base.execute("CREATE TABLE t (x)")
    with pytest.raises(ValueError, match="other is a database, but not a memo of version 3 of"):
        privatize_file(private, source, target, memo=Memo(tmp_path / "other", "name"))
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(ValueError, match="text is not a memo of ldp-frontier: file is not a database"):
        privatize_file(private, source, target, memo=Memo(tmp_path / "text", "name"))


def test_a_memo_in_use_is_refused(ask, tmp_path):
    ask(PEOPLE[:3])
    base = sqlite3.connect(tmp_path / "memo", isolation_level=None)
    base.execute("BEGIN IMMEDIATE")
    with pytest.raises(ValueError, match=r"The memo .* is in use by another run. Start this one again when"):
        ask(PEOPLE[:3])


# Several runs at once -------------------------------------------------------------------------------------


def kept_in(memo):
    with closing(sqlite3.connect(memo)) as base:
        return dict(base.execute("SELECT id, report FROM reports").fetchall())


def test_of_two_first_runs_at_once_one_publishes_and_its_memo_stays(tmp_path, private, monkeypatch):
    """Both find no memo before either creates it, and the one that draws waits until the other has ended."""
    source, opened = people(tmp_path / "in.csv", PEOPLE[:10]), os.open
    for trial in range(10):
        folder, both, ended = tmp_path / str(trial), Barrier(2), Event()
        folder.mkdir()

        def meet(path, *more, both=both):
            if os.path.basename(path) == "memo":
                both.wait(60)
            return opened(path, *more)

        def random(size, ended=ended):
            ended.wait(60)
            return os.urandom(size)

        def run(name, folder=folder, ended=ended, random=random):
            try:
                privatize_file(private, source, folder / name, memo=Memo(folder / "memo", "id", random))
                return "published"
            except ValueError as error:
                return str(error)
            finally:
                ended.set()

        with monkeypatch.context() as patch, ThreadPoolExecutor(2) as pool:
            patch.setattr("ldpsurvey.channel.memo.os.open", meet)
            said = list(pool.map(run, ["a", "b"]))
        assert "published" in said
        winner = "ab"[said.index("published")]
        assert sorted(path.name for path in folder.iterdir()) == [winner, "memo"]
        reports = reports_of(folder / winner)
        assert kept_in(folder / "memo") == {f"p{place}": report for place, report in enumerate(reports)}
        (refusal,) = [words for words in said if words != "published"]
        assert "memo is in use by another run" in refusal


GONE = r"memo was removed or replaced while it was in use\. No report was written"


def before_the_lock(monkeypatch, act):
    """Let something happen once, after a run has found or created its memo and before it has the lock."""
    connect, acts = sqlite3.connect, [act]

    def connected(*names, **more):
        base = connect(*names, **more)
        if acts:
            acts.pop()()
        return base

    monkeypatch.setattr("ldpsurvey.channel.memo.sqlite3.connect", connected)


@pytest.mark.parametrize("record", [PEOPLE[0], ("no", "east", "old")], ids=["right", "wrong"])
def test_who_comes_between_a_first_run_and_its_lock_is_refused(ask, tmp_path, private, monkeypatch, record):
    people(tmp_path / "other.csv", PEOPLE[:3])
    memo, said = Memo(tmp_path / "memo", "id"), []

    def other():
        with pytest.raises(ValueError, match="If another run has just begun, wait for it") as error:
            privatize_file(private, tmp_path / "other.csv", tmp_path / "reports.csv", memo=memo)
        said.append(error)

    before_the_lock(monkeypatch, other)
    with nullcontext() if record == PEOPLE[0] else pytest.raises(ValueError, match="east"):
        ask([record])
    assert said
    assert not (tmp_path / "reports.csv").exists()
    assert (tmp_path / "memo").exists() == (tmp_path / "out.csv").exists() == (record == PEOPLE[0])


@pytest.mark.parametrize("again", [False, True])
def test_a_memo_that_is_removed_before_the_lock_is_not_written_to(ask, tmp_path, private, monkeypatch, again):
    ask(PEOPLE[:3])

    def removed():
        (tmp_path / "memo").unlink()
        if again:
            privatize_file(
                private, tmp_path / "in.csv", tmp_path / "2.csv", memo=Memo(tmp_path / "memo", "id")
            )

    before_the_lock(monkeypatch, removed)
    with pytest.raises(ValueError, match=GONE):
        ask(PEOPLE[:5])
    assert len(reports_of(tmp_path / "out.csv")) == 3
    assert (tmp_path / "memo").exists() == again


def test_reports_whose_memo_is_gone_are_not_published(tmp_path, private):
    def random(size):
        (tmp_path / "memo").unlink()
        return os.urandom(size)

    source = people(tmp_path / "in.csv", PEOPLE[:3])
    with pytest.raises(ValueError, match=GONE):
        privatize_file(private, source, tmp_path / "out.csv", memo=Memo(tmp_path / "memo", "id", random))
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


# Ids ------------------------------------------------------------------------------------------------------


def test_an_id_that_is_written_differently_is_the_same_person(ask, tmp_path):
    first, _ = ask(PEOPLE[:3], ["1", "é", "b"])
    again, done = ask(PEOPLE[3:9], ["b\u00a0", " 1", "e\u0301 ", "01", "1 ", " 01"])
    assert again == [first[2], first[0], first[1], again[3], first[0], again[3]]
    assert (done.again, set(kept_in(tmp_path / "memo"))) == (5, {"1", "é", "b", "01"})


@pytest.mark.parametrize("name", ["1.0", " 1. ", "1,0", "-2.5", "1e+05", "1E5", ".5", "1,250"])
def test_an_id_that_is_a_number_with_decimals_is_refused(ask, tmp_path, name):
    found = re.escape(name.strip())
    with pytest.raises(ValueError, match=rf"Record 2 of .* has '{found}' in the column 'id', which"):
        ask(PEOPLE[:3], ["1", f'"{name}"', "-3"])
    assert not (tmp_path / "memo").exists()


def test_a_memo_that_matches_nobody_is_named(ask):
    assert ask(PEOPLE[:3])[1].unmatched == 0  # it was empty
    assert ask(PEOPLE[:3])[1].unmatched == 0
    many = [f"P{place}" for place in range(CHUNK)]
    assert ask([PEOPLE[0]] * (2 * CHUNK), many * 2)[1].unmatched == 3
    assert ask([PEOPLE[0]] * (CHUNK + 2), [*(f"q{name}" for name in many), "qP0", "p0"])[1].unmatched == 0


def test_the_command_warns_of_a_memo_that_matches_nobody(tmp_path, private, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    private.write("channel.json")
    words = ["apply", "--channel", "channel.json", "--data", "in.csv", "--out", "out.csv", "--force"]
    for names in ("abc", "ABC"):
        assert "none of them" not in capsys.readouterr().err
        people(tmp_path / "in.csv", PEOPLE[:3], names)
        assert main([*words, "--memo", "m", "--id", "id"]) == 0
    said = capsys.readouterr().err
    assert "warning: the memo m has the reports of 3 people, and none of them is among these" in said


# Accounts that are lost, damaged or not there -----------------------------------------------------------


@pytest.mark.parametrize("cut", [True, False])
def test_an_empty_memo_of_another_run_is_refused(ask, tmp_path, cut):
    """It used to be taken for a new one, so that everybody in it reported again."""
    first, done = ask(PEOPLE[:3])
    assert done.new_memo
    assert not ask(PEOPLE[:3])[1].new_memo
    if cut:
        (tmp_path / "memo").write_bytes(b"")
    else:
        (tmp_path / "memo").unlink()
        with closing(sqlite3.connect(tmp_path / "memo")) as base:
            base.execute("PRAGMA application_id = 5")
    before = (tmp_path / "memo").read_bytes()
    with pytest.raises(ValueError, match=r"memo is empty, and this run did not create it\. If a first run"):
        ask(PEOPLE[:3])
    assert (tmp_path / "memo").read_bytes() == before
    assert reports_of(tmp_path / "out.csv") == first


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE reports SET channel = 'x' WHERE id = 'p1'", r"reports has the row \('p1', 'x', '', 'y"),
        ("UPDATE reports SET report = 'y99' WHERE id = 'p1'", "reports has the report 'y99' of 'p1'"),
        ("UPDATE reports SET id = x'01' WHERE id = 'p1'", r"reports has the row \(b'"),
        ("UPDATE channels SET cost = 'much'", r"channels has the row \('.*', 'much'\)"),
        ("UPDATE channels SET cost = -1", r"channels has the row \('.*', -1.0\)"),
        ("DELETE FROM channels", "(channels has 0 rows|reports has the row)"),
        ("DELETE FROM account", "account has 0 rows"),
        ("INSERT INTO account SELECT * FROM account", "account has 2 rows"),
    ],
)
def test_damaged_rows_of_a_memo_are_named(ask, tmp_path, damage, found):
    ask(PEOPLE[:3])
    with closing(sqlite3.connect(tmp_path / "memo", isolation_level=None)) as base:
        base.execute(damage)
    with pytest.raises(ValueError, match=rf"The memo .*memo is damaged: its table {found}"):
        ask(PEOPLE[:3])


def test_names_that_look_alike_are_one_person_and_one_wave():
    """The same rule for ids and for waves: normal forms are equal, and what cannot be seen is refused."""
    for one, other in (("é ", "e\u0301"), ("\u00a02027", "2027")):
        assert checked_name(one, "") == checked_name(other, "") == Memo("m", "id", wave=one).wave
    for hidden in ("\u200b", "\ufeff", "\u00ad", "\u202e", "\u3164", "\x07"):
        for use in (lambda name: Memo("m", "id", wave=name), lambda name: ids_of("f", "id", [name], [1])):
            with pytest.raises(
                ValueError, match=rf"with the invisible character U\+{ord(hidden):04X}; names"
            ):
                use(f"a{hidden}b")
    with pytest.raises(ValueError, match="it needs a name that can be seen"):
        Memo("m", "id", wave=" ")
