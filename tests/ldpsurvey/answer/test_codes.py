"""Codes of reports come back as the reports, tell every slip, and are the same in JavaScript."""

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ldpsurvey
from ldpsurvey.answer.codes import _report, _reports, report_code, report_of_code
from ldpsurvey.questionnaire.lot_reports import draw_reports
from support.owndata import channel_of, flat, questionnaire_of, seeded, small_table
from support.questionnaires import report_chances

NODE = shutil.which("node")


TABLE = channel_of(flat(small_table()), "grr", 1.0, "anyone")
LARGE = questionnaire_of((5, 2, 5, 8, 2, 5), 3)
CHANNELS = [TABLE, questionnaire_of((2,)), questionnaire_of((3, 2, 2)), LARGE]


def reports_of(channel, number=200):
    """Return some reports: all, of a channel with few."""
    size = _reports(channel)
    ranks = range(size) if size <= number else [size - 1, *range(0, size - 1, size // number)]
    return [_report(channel, int(rank)) for rank in ranks]


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_report_has_a_code_of_its_own(channel):
    reports = reports_of(channel)
    codes = [report_code(channel, report) for report in reports]
    assert len(set(codes)) == len(set(reports)) == len(codes)
    assert [report_of_code(channel, code) for code in codes] == reports
    assert len({len(code) for code in codes}) == 1


def test_the_ranks_of_a_questionnaire_are_those_of_all_its_reports():
    """An independent list of all reports, and of a large channel, reports that were drawn."""
    for channel in CHANNELS[1:3]:
        assert set(reports_of(channel)) == set(report_chances(channel.text()))
    drawn = draw_reports(LARGE, np.ones((200, 6), dtype=np.int64), seeded(0))
    assert [report_of_code(LARGE, report_code(LARGE, report)) for report in drawn] == drawn


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_mistyped_digit_and_every_swap_is_noticed(channel):
    for report in reports_of(channel, 8):
        code = report_code(channel, report).replace("-", "")
        wrong = {code[:i] + d + code[i + 1 :] for i in range(len(code)) for d in "0123456789"}
        for step in (1, 2):  # neighbours, and those with one digit between
            for i in range(len(code) - step):
                letters = list(code)
                letters[i], letters[i + step] = letters[i + step], letters[i]
                wrong.add("".join(letters))
        wrong |= {
            code[:i] + d + d + code[i + 2 :]
            for i, (a, b) in enumerate(pairwise(code))
            if a == b
            for d in "0123456789"
        }
        for other in wrong - {code}:
            with pytest.raises(ValueError, match="mistyped"):
                report_of_code(channel, other)


def test_check_digits_are_those_of_the_standard():
    """ISO 7064 has 79444 as its example of MOD 97-10; IBANs have the same digits in another place."""
    code = report_code(TABLE, "y2")
    whole = TABLE.id[1:] + code.replace("-", "")[3:]
    assert int(whole) % 97 == 1 == 79444 % 97


def test_codes_of_other_channels_are_refused():
    """Even if the three digits that are told are the same."""
    code, number = report_code(TABLE, "y1"), int(TABLE.id[1:])

    class Other(type(TABLE)):
        id = ""

    for more in (1, 999, *range(1000, 97_000, 1000)):
        Other.id = f"c{(number + more) % 10**9:09d}"
        with pytest.raises(ValueError, match="mistyped"):
            report_of_code(Other(TABLE.table, TABLE.weights, TABLE.certificate), code)


@pytest.mark.parametrize("text", ["", "817", "y1", "not a code", "１２３-４５６", "9" * 4000])
def test_what_is_no_code_is_refused(text):
    with pytest.raises(ValueError, match="is no code; those of this channel have 6 digits"):
        report_of_code(TABLE, text)


def test_spaces_and_dashes_do_not_count():
    code = report_code(TABLE, "y1")
    for written in (code.replace("-", ""), f" {code.replace('-', ' ')} ", code.replace("-", "–")):
        assert report_of_code(TABLE, written) == "y1"


ENCODE = """
import { readFileSync } from "node:fs";
import { encode } from "./codes.mjs";
const found = JSON.parse(readFileSync(0, "utf8")).map(({ content, reports }) =>
  reports.map((report) => {
    try { return encode(content, report); } catch (error) { return error.message; }
  }));
console.log(JSON.stringify(found));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript_has_the_same_codes(tmp_path):
    shutil.copy(Path(ldpsurvey.__file__).parent / "answer" / "codes.mjs", tmp_path)
    wrong = ["", "y0", "L1", "L0/q1=01", "L1/q1=00", "L1/q1=02", "L99/q1=01", "constructor"]
    asked = [(json.loads(channel.text()), [*reports_of(channel), *wrong]) for channel in CHANNELS]
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", ENCODE], cwd=tmp_path, capture_output=True, text=True, check=True,
        input=json.dumps([{"content": content, "reports": reports} for content, reports in asked]),
    )  # fmt: skip
    for channel, (_, reports), codes in zip(CHANNELS, asked, json.loads(done.stdout), strict=True):
        for report, code in zip(reports, codes, strict=True):
            if report in wrong:
                assert re.match("The channel gives no report", code), report
                with pytest.raises(ValueError, match="no report"):
                    report_code(channel, report)
            else:
                assert code == report_code(channel, report)
