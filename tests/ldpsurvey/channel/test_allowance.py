"""An account of what each person has reported: nobody reports more than the channel allows."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from ldpsurvey import Memo, PrivateChannel, design_channel, privatize, privatize_file
from ldpsurvey.command.cli import main
from ldpsurvey.data.reading import read_chunks
from ldpsurvey.design.least_level import design_for_reports
from ldpsurvey.questionnaire.designing import design_questionnaire
from ldpsurvey.questionnaire.questions import questions_of_values
from support.malformed import contents
from support.owndata import channel_of, records_of, small_table

PEOPLE = 500


def of_table(epsilon: float, reports: int | None = None, budget: float | None = None) -> PrivateChannel:
    choice = {"against": "anyone", "mechanisms": ["grr"]}
    if reports is not None:
        made = design_for_reports(small_table(), epsilon, reports, **choice)
    else:
        made = design_channel(small_table(), epsilon, budget=budget, **choice)
    return made.private(made.candidates[0])


def of_questions(epsilon: float, reports: int | None = None, budget: float | None = None):
    values = small_table().values
    return design_questionnaire(
        questions_of_values(values, list(values)), epsilon, reports=reports, budget=budget
    )


@pytest.fixture(scope="module", params=[of_table, of_questions])
def made(request):
    """Return a function that makes a channel of a level for several reports, or in a budget."""
    return request.param


#: What the kind of the channel has no part in.
only_tables = pytest.mark.parametrize("made", [of_table], indirect=True)


@pytest.fixture(scope="module")
def twice(made):
    return made(2.0, reports=2)


@pytest.fixture
def within(made):
    return lambda budget, epsilon: made(epsilon, budget=budget)


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Return a function that asks the people of a file in a wave, and the reports that were published."""
    monkeypatch.chdir(tmp_path)
    rows = (f"p{place},{','.join(record)}\n" for place, record in enumerate(records_of(small_table())))
    lines = list(rows)[:PEOPLE]
    (tmp_path / "people.csv").write_text("id,illness,region,age\n" + "".join(lines))

    def asked(private, wave, source=None, out=None):
        memo, target = Memo("memo", "id", source, wave), out or f"{wave}.csv"
        privatize_file(private, "people.csv", target, memo=memo, keep=["id"], force=True)
        return reports_of(target)

    return asked


def reports_of(path):
    return {
        name: report
        for chunk in read_chunks(path, ["id", "report"])
        for name, report in zip(chunk["id"], chunk["report"], strict=True)
    }


def account():
    with closing(sqlite3.connect("memo")) as base:
        rows = base.execute("SELECT id, wave, report FROM reports").fetchall()
    return {(name, wave): report for name, wave, report in rows}


def check_account(waves, most=2):
    """All that was published is in the account, and nobody has more reports in it than are allowed."""
    kept = account()
    assert max(Counter(name for name, _ in kept).values()) <= most
    for wave in waves:
        for name, report in reports_of(f"{wave}.csv").items():
            assert kept[name, wave] == report


def test_a_person_reports_as_often_as_the_channel_allows(survey, twice, tmp_path):
    first, second = survey(twice, "1"), survey(twice, "2")
    assert first != second
    before = contents(tmp_path)
    with pytest.raises(
        ValueError, match=r"'p0' has given 2 reports; one more, in the wave '3', .*: 2 reports\."
    ):
        survey(twice, "3")
    assert contents(tmp_path) == before
    assert survey(twice, "1") == first
    check_account("12")


def test_one_millionth_of_a_level_that_is_not_left_is_refused(survey, within):
    more = within(1.0, 0.5 + 1e-6)
    survey(more, "a")
    with pytest.raises(ValueError, match="levels that add up to 1, and this report has"):
        survey(more, "b")


def test_levels_of_reports_add_up_to_the_budget(survey, made, within, tmp_path):
    half, whole = within(2.0, 0.5), within(2.0, 1.0)
    survey(half, "a")
    survey(whole, "a", out="b.csv")  # another channel in the same wave
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"levels that add up to 2, and this report has 1\."):
        survey(whole, "c")
    assert contents(tmp_path) == before
    survey(half, "c")
    with pytest.raises(ValueError, match=r"'p0' has given 3 reports"):
        survey(half, "d")
    for other in (within(3.0, 0.5), made(0.5)):
        wave = "d" if other.certificate.allowance else ""
        with pytest.raises(ValueError, match="memo contains reports of another channel"):
            survey(other, wave)


def test_questionnaires_of_one_budget_have_one_account_whatever_they_ask(survey, tmp_path):
    """Levels for anyone of all answers of a person add up, also of answers to other questions."""
    values = small_table().values
    one, other = (
        design_questionnaire(
            questions_of_values({name: values[name] for name in names}, names), 0.6, budget=1.2
        )
        for names in (("illness", "region"), ("region", "age"))
    )
    survey(one, "a")
    survey(other, "a", out="b.csv")
    for channel in (one, other):
        with pytest.raises(ValueError, match=r"levels that add up to 1\.2, and this report has 0\.6"):
            survey(channel, "c")


def test_a_wave_belongs_to_several_reports(survey, twice, tmp_path, capsys):
    with pytest.raises(ValueError, match=r"is for several reports of a person; a wave \(--wave NAME\) says"):
        survey(twice, "", out="out.csv")
    with pytest.raises(ValueError, match=r"The wave is 'x', but the channel .* is for one report"):
        survey(channel_of(small_table(), "grr", 0.5, "anyone"), "x")
    twice.write("channel.json")
    words = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "out.csv"]
    with pytest.raises(SystemExit):
        main([*words, "--wave", "1"])
    assert "--wave has no effect without --memo" in capsys.readouterr().err
    assert main([*words, "--memo", "memo", "--id", "id", "--wave", "1"]) == 0
    assert "New memo: memo." in capsys.readouterr().out


def test_several_reports_need_an_account_or_the_word_that_there_is_none(survey, twice, tmp_path, capsys):
    twice.write("channel.json")
    words = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "out.csv"]
    before = contents(tmp_path)
    assert main(words) == 2
    assert "--no-memo" in capsys.readouterr().err
    with pytest.raises(ValueError, match="need an account of who has reported"):
        privatize_file(twice, "people.csv", "out.csv")
    with pytest.raises(ValueError, match="need an account of who has reported"):
        privatize(twice, small_table().labels)
    assert len(privatize(twice, small_table().labels, no_memo=True)) == len(small_table().labels)
    assert contents(tmp_path) == before
    assert main([*words, "--no-memo"]) == 0
    assert "keeps an account of what each person has reported" in " ".join(capsys.readouterr().out.split())


@only_tables
def test_two_runs_at_once_use_one_account(survey, twice):
    """Both want the last report of everybody: one has it, and the other one is refused."""
    for _ in range(5):
        for name in ("memo", "2.csv", "3.csv"):
            Path(name).unlink(missing_ok=True)
        survey(twice, "1")
        both = Barrier(2)

        def run(wave, both=both):
            both.wait(60)
            try:
                survey(twice, wave)
                return ""
            except ValueError as error:
                return str(error)

        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(run, "23"))
        assert sorted(map(bool, said)) == [False, True]
        assert re.search("is in use|has given 2 reports", "".join(said))
        published = [wave for wave in "123" if Path(f"{wave}.csv").exists()]
        assert len(published) == 2
        check_account(published)


#: Ends the process as kill -9 does, while reports are drawn or after they were saved.
KILLED = """
import os, signal, sys
from ldpsurvey import Memo, privatize_file
from ldpsurvey.questionnaire.questionnaire_channel import read_any_channel

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

source = None
if sys.argv[1] == "drawing":
    source = kill
elif sys.argv[1] == "saved":
    os.replace = kill
wave = sys.argv[2]
memo, private = Memo("memo", "id", source, wave), read_any_channel("channel.json")
privatize_file(private, "people.csv", wave + ".csv", memo=memo, keep=["id"])
"""


@only_tables
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a process is killed by SIGKILL")
@pytest.mark.parametrize("place", ["drawing", "saved"])
def test_a_run_that_is_killed_gives_nobody_one_report_more(survey, twice, place):
    twice.write("channel.json")
    if place == "drawing":  # of the first run, too, which leaves a memo in which nobody is
        subprocess.run([sys.executable, "-c", KILLED, place, "1"], check=False, capture_output=True)
        assert account() == {}
    first = survey(twice, "1")
    ended = subprocess.run([sys.executable, "-c", KILLED, place, "2"], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not os.path.exists("2.csv")
    kept = account()
    assert len(kept) == PEOPLE * (2 if place == "saved" else 1)
    if place == "saved":
        with pytest.raises(ValueError, match="has given 2 reports"):
            survey(twice, "3")
    again = survey(twice, "2")
    if place == "saved":
        assert again == {name: report for (name, wave), report in kept.items() if wave == "2"}
    assert survey(twice, "1") == first
    check_account("12")


@only_tables
def test_a_full_disk_gives_nobody_one_report_more(survey, twice, tmp_path):
    """Files may have so many bytes and no more: the journal, the memo or the reports do not fit."""
    resource = pytest.importorskip("resource")
    first = survey(twice, "1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = os.path.getsize("memo")
    failed = 0
    for most in (0, 100, 5_000, 8_192, size - 4_096, size, size + 4_096, size + 16_384):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            survey(twice, "2")
        except (ValueError, OSError):
            failed += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        published = ["1", "2"] if os.path.exists("2.csv") else ["1"]
        check_account(published)
        assert not [name for name in os.listdir(tmp_path) if name.endswith(".2.csv") and name[0] == "."]
    assert failed >= 4
    survey(twice, "2")
    assert survey(twice, "1") == first
    check_account("12")
    with pytest.raises(ValueError, match="has given 2 reports"):
        survey(twice, "3")
