"""What came in becomes a file of reports, and what does not fit is refused and counted."""

import io
import json
import sys

import numpy as np
import pytest

from ldpsurvey import ReportStore, collect_reports, count_reports, report_code
from ldpsurvey.base.layout import Remark
from ldpsurvey.command.cli import main
from ldpsurvey.questionnaire.lot_reports import draw_reports
from support.owndata import channel_of, flat, questionnaire_of, seeded, small_table

TABLE = channel_of(flat(small_table()), "grr", 1.0, "anyone")
REPORTS = ["y1", "y2", "y1", "y3", "y2"]


def message(report, **more):
    return json.dumps({"channel": TABLE.id, "report": report, **more})


def lines(folder, *texts, name="in.jsonl"):
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    return folder / name


def collected(folder, *sources, **more):
    """Return what was collected, and the reports in the file."""
    done = collect_reports(TABLE, sources, folder / "out.csv", force=True, **more)
    rows = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    assert done.reports == len(rows) - 1 == count_reports(TABLE, folder / "out.csv").sum()
    return done, [row.split(",")[0] for row in rows[1:]]


def as_lines(folder):
    return lines(folder, *map(message, REPORTS))


def as_downloads(folder):
    (folder / "downloads" / "day 2").mkdir(parents=True)
    (folder / "downloads" / ".hidden").write_text("x")
    for number, report in enumerate(REPORTS):
        content = {"channel": TABLE.id, "report": report}
        path = folder / "downloads" / ("day 2" if number > 2 else "") / f"report ({number}).json"
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return folder / "downloads"


def as_codes(folder):
    typed = [report_code(TABLE, report) for report in REPORTS]
    return lines(folder, "who;code", *(f"{n};{code}" for n, code in enumerate(typed)), "5;", name="t.csv")


def as_form_tool(folder):
    cells = [message(report).replace('"', '""') for report in REPORTS]
    return lines(folder, "started,report", *(f'1,"{cell}"' for cell in cells), name="t.csv")


def as_reports(folder):
    rows = [f"{report},{TABLE.id}" for report in REPORTS]
    return lines(folder, "report,report_channel", *rows, name="t.csv")


def as_store(folder):
    store = ReportStore(folder / "r.sqlite", TABLE.id)
    for report in REPORTS:
        store.add(report)
    store.close()
    return folder / "r.sqlite"


def as_list(folder):
    return lines(folder, f"[{', '.join(map(message, REPORTS))}]")


@pytest.mark.parametrize(
    "came", [as_lines, as_downloads, as_codes, as_form_tool, as_reports, as_store, as_list]
)
def test_every_way_gives_the_same_file_of_reports(tmp_path, came):
    more = {"codes": "code"} if came is as_codes else {}
    done, reports = collected(tmp_path, came(tmp_path), **more)
    assert sorted(reports) == sorted(REPORTS)
    assert (done.refused, done.empty) == ({}, int(came is as_codes))


def test_several_sources_of_a_questionnaire(tmp_path):
    channel = questionnaire_of((3, 2, 2))
    one, other = draw_reports(channel, np.zeros((2, 3), dtype=np.int64), seeded(0))
    codes = lines(tmp_path, "code", report_code(channel, one), name="t.csv")
    sent = lines(tmp_path, json.dumps({"channel": channel.id, "report": other}))
    done = collect_reports(channel, [codes, sent], tmp_path / "out.csv", codes="code")
    assert (done.reports, done.refused) == (2, {})
    assert main(["estimate", "--channel", str(channel.write(tmp_path / "c.json")[0]), "--quiet",
                 "--data", str(tmp_path / "out.csv"), "--out", str(tmp_path / "e.csv")]) == 0  # fmt: skip


def test_what_does_not_fit_is_refused_with_the_places(tmp_path):
    code = report_code(TABLE, "y1")
    wrong = code[:-1] + str((int(code[-1]) + 1) % 10)
    typed = lines(tmp_path, "code", code, wrong, "soon", name="t.csv")
    sent = lines(
        tmp_path, message("y1"), message("y1", channel="c000000000"), message("y9"), "{", "[1]", message(1),
        '{"report": "y1"}', message("y2", key="a"), message("y2", key="a"), message("", key=1), "",
    )  # fmt: skip
    done, reports = collected(tmp_path, typed, sent, codes="code")
    assert reports == ["y1", "y1", "y2"]
    found = {
        reason: [place.split()[1] for place in places if place.split()[0] in ("line", "record")]
        for reason, places in done.refused.items()
    }
    assert found == {
        "a code that is mistyped or of another channel": ["2", "3"],
        "of another channel": ["2"],
        "not a report of this channel": ["3"],
        "not a JSON object with a channel and a report": ["4", "5", "6", "7", "10"],
        "sent again, with a key that was there": ["9"],
    }


def test_a_person_counts_once_and_columns_can_be_kept(tmp_path):
    table = lines(tmp_path, "id,region,report", "1,n,y1", "2,s,y2", " 1,n,y3", ",n,y1", "4,n,", name="t.csv")
    sent = lines(tmp_path, message("y2", id=2, region="s"), message("y3", id=3, region="=1\ud800"))
    done, kept = collected(tmp_path, table, sent, person="id", keep=["region"], spreadsheet=True)
    assert kept == ["n", "s", "'=1?"]
    assert {reason: len(places) for reason, places in done.refused.items()} == {
        "of a person whose id was there": 2, "without an id": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match="nothing else, and no 'id'"):
        collected(tmp_path, as_store(tmp_path), person="id")


def test_a_file_counts_once_and_copies_are_remarked_upon(tmp_path):
    """Downloads of two people with one report are equal as well: those are no copies."""
    folder = as_downloads(tmp_path)
    done, reports = collected(tmp_path, folder, folder / "report (0).json")
    assert len(reports) == len(REPORTS)
    assert list(done.refused) == ["a file that was read already"]
    source = as_lines(tmp_path)
    (tmp_path / "copy.jsonl").write_bytes(source.read_bytes())
    with pytest.warns(Remark, match="is a copy of"):
        collected(tmp_path, source, tmp_path / "copy.jsonl")


def test_the_standard_input_has_messages_or_a_table(tmp_path, monkeypatch):
    for text in (as_lines(tmp_path).read_bytes(), as_reports(tmp_path).read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
        assert collected(tmp_path, "-")[1] == REPORTS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("none.jsonl --out o.csv", "No such file"),
        ("wrong.jsonl --out o.csv", "Nothing that came in is a report"),
        ("in.jsonl --out in.jsonl", "is the file that is read"),
        (". --out ./o.csv", "its reports would count again"),
        ("latin.jsonl --out o.csv", "no text in UTF-8"),
        ("in.jsonl --out o.csv --keep report", "their names must differ"),
        ("other.sqlite --out o.csv", "no file of SQLite with reports"),
        ("", "are needed"),
        ("in.jsonl", "--out is needed"),
        ("--listen 127.0.0.1:0", "--store"),
        ("in.jsonl --out o.csv --store r.sqlite", "no effect without --listen"),
        ("in.jsonl --out o.csv --column a --codes b", "no effect with --codes"),
        ("--listen 127.0.0.1:0 --store s --out o.csv", "no effect with --listen"),
        ("--listen nowhere --store s", "must be a host and a port"),
    ],
)
def test_what_cannot_be_collected_is_said(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    as_lines(tmp_path)
    lines(tmp_path, message("y7"), name="wrong.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"report": "\xe9"}')
    (tmp_path / "other.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    TABLE.write("c.json")
    before = {path.name for path in tmp_path.iterdir()}
    try:
        status = main(["collect", "--channel", "c.json", *words.split()])
    except SystemExit as left:
        status = left.code
    assert status == 2
    assert sentence in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_the_command_says_what_it_refused_even_if_it_is_quiet(tmp_path, capsys):
    TABLE.write(tmp_path / "c.json")
    source = lines(tmp_path, message("y1"), message("y7"))
    words = ["--channel", str(tmp_path / "c.json"), str(source), "--out", str(tmp_path / "o.csv")]
    assert main(["collect", *words]) == 0
    said = capsys.readouterr()
    assert "cannot be told from equal reports" in " ".join(said.out.split())
    assert main(["collect", *words, "--quiet", "--force"]) == 0
    assert "Refused: 1 not a report of this channel (line 2 of" in capsys.readouterr().err
