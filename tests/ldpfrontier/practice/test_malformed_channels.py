"""Malformed channels: every command that reads one ends with a sentence and leaves every file as it was."""

import pytest

from support.malformed import APPLY, AUDIT, ESTIMATE, refused
from support.owndata import rewritten


def deep(times):
    return "[" * times + "]" * times


BAD_CHANNELS = {
    "empty": ("", "channel.json is not a channel file: Expecting value: line 1"),
    "a number": ("5", "channel.json is a JSON file, but not a channel of ldp-frontier."),
    "a text": ('"ldp-frontier channel"', "channel.json is a JSON file, but not a channel of ldp-frontier."),
    "null": ("null", "channel.json is a JSON file, but not a channel of ldp-frontier."),
    "true": ("true", "channel.json is a JSON file, but not a channel of ldp-frontier."),
    "a list of a channel": (
        '[{"format": "ldp-frontier channel"}]',
        "channel.json is a JSON file, but not a channel of ldp-frontier.",
    ),
    "nested too deeply": (deep(100_000), "channel.json is not a channel file: it is nested too deeply."),
    "objects nested too deeply": (
        '{"a":' * 100_000,
        "channel.json is not a channel file: it is nested too deeply.",
    ),
    "a number of 5,000 digits": (
        '{"format": "ldp-frontier channel", "version": ' + "9" * 5000 + "}",
        "channel.json is not a channel file: it has a number of 5,000",
    ),
    "two objects": ("{} {}", "channel.json is not a channel file: Extra data: line 1 column"),
    "a comment": (
        "{} // ldp-frontier channel",
        "channel.json is not a channel file: Extra data: line 1 column",
    ),
    "an infinity": (
        '{"format": "ldp-frontier channel", "x": -Infinity}',
        "channel.json is not a channel file: it has the number",
    ),
    "single quotes": (
        "{'format': 'ldp-frontier channel'}",
        "channel.json is not a channel file: Expecting property name",
    ),
    "a byte order mark": (
        '\ufeff{"format": "ldp-frontier channel"}',
        "channel.json is not a channel file: Unexpected UTF-8 BOM",
    ),
    "version as a text": (
        '{"format": "ldp-frontier channel", "version": "1"}',
        "channel.json is a channel file of version '1'; this program",
    ),
    "version as a list": (
        '{"format": "ldp-frontier channel", "version": [1]}',
        "channel.json is a channel file of version [1]; this program",
    ),
    "format as a list": (
        '{"format": ["ldp-frontier channel"], "version": 1}',
        "channel.json is a JSON file, but not a channel of ldp-frontier.",
    ),
    "no hash": (
        '{"format": "ldp-frontier channel", "version": 2}',
        "channel.json was changed after it was written; design the",
    ),
    "a hash of another type": (
        '{"format": "ldp-frontier channel", "version": 2, "content_sha256": 5}',
        "channel.json was changed after it was written; design the",
    ),
    "a lone surrogate": (
        '{"format": "ldp-frontier channel", "version": 2, "x": "\\ud800"}',
        "channel.json was changed after it was written; design the",
    ),
}


@pytest.mark.parametrize("which", BAD_CHANNELS)
@pytest.mark.parametrize("command", [APPLY, [*ESTIMATE, "--out", "e.csv"], AUDIT], ids=lambda c: c[0])
def test_channels(here, capsys, which, command):
    text, sentence = BAD_CHANNELS[which]
    (here / "channel.json").write_text(text, encoding="utf-8")
    refused(here, capsys, command, sentence)


def put(*path, value):
    """A change that puts a value into a channel file."""

    def change(content):
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = value

    return change


#: Contents of a wrong type or value, in files with a good hash.
WRONG = {
    "weights: a text": (put("weights", value="1 2 3"), "weights is '1 2 3'; it must be a list of texts."),
    "weights: numbers": (
        put("weights", 0, value=[1, 2]),
        "weights is [[1, 2], '262865474721559648 1942327739189640512",
    ),
    "weights: none": (
        put("weights", value=[]),
        "The weights have shape (0,); they must be (inputs, outputs).",
    ),
    "weights: null": (put("weights", value=None), "weights is None; it must be a list of texts."),
    "weights: an object": (put("weights", value={}), "weights is {}; it must be a list of texts."),
    "weights: empty rows": (
        put("weights", value=[""] * 6),
        "The weights have shape (6, 0); they must be (inputs, outputs).",
    ),
    "weights: fractions": (
        put("weights", 0, value="0.5 0.5"),
        "weights has rows of different lengths; they must be equally",
    ),
    "weights: negative": (
        put("weights", 0, value=f"{2**62 + 1} -1 0 0 0 0"),
        "weights contains '-1'; allowed are whole numbers from 0 to 2^62.",
    ),
    "certificate: a list": (put("certificate", value=[]), "The certificate is []; it must be an object."),
    "certificate: a text": (
        put("certificate", value="private"),
        "The certificate is 'private'; it must be an object.",
    ),
    "certificate: null": (put("certificate", value=None), "The certificate is None; it must be an object."),
    "certificate: more": (
        put("certificate", "extra", value=1),
        "The certificate has the unknown member 'extra'; its members must be",
    ),
    "epsilon: negative": (
        put("certificate", "epsilon", value=-1),
        "epsilon is -1; it must be a number, 0 or more.",
    ),
    "epsilon: a list": (
        put("certificate", "epsilon", value=[1]),
        "epsilon is [1]; it must be a number, 0 or more.",
    ),
    "epsilon: huge": (put("certificate", "epsilon", value=10**400), "epsilon is 1"),
    "level: a text": (
        put("certificate", "levels", "insider", value="low"),
        "The level insider is 'low'; it must be a number, 0 or more.",
    ),
    "levels: a number": (put("certificate", "levels", value=1.0), "levels is 1.0; it must be an object."),
    "against: a list": (put("certificate", "against", value=["insider"]), "against is ['insider']; it must"),
    "nmi: null": (put("certificate", "nmi", value=None), "nmi is None; it must be a number, 0 or more."),
    "beta: a text": (
        put("certificate", "beta", value="0.05"),
        "beta is '0.05'; it must be a significance level, strictly",
    ),
    "beta: a list": (
        put("certificate", "beta", value=[0.05]),
        "beta is [0.05]; it must be a significance level, strictly",
    ),
    "beta: 2": (
        put("certificate", "beta", value=2),
        "beta is 2; a significance level lies strictly between 0 and 1.",
    ),
    "beta: 0": (
        put("certificate", "beta", value=0),
        "beta is 0; a significance level lies strictly between 0 and 1.",
    ),
    "beta: true": (
        put("certificate", "beta", value=True),
        "beta is True; it must be a significance level, strictly",
    ),
    "beta: null": (
        put("certificate", "beta", value=None),
        "beta and order belong together; either both are null or",
    ),
    "order: a text": (
        put("certificate", "order", value="two"),
        "The order of the ball is 'two'; it must be from 1/64 to 16.",
    ),
    "order: null": (
        put("certificate", "order", value=None),
        "beta and order belong together; either both are null or",
    ),
    "order: an object": (
        put("certificate", "order", value={}),
        "The order of the ball is {}; it must be from 1/64 to 16.",
    ),
    "order: -1": (
        put("certificate", "order", value=-1),
        "The order of the ball is -1; it must be from 1/64 to 16.",
    ),
    "mechanism: a number": (put("certificate", "mechanism", value=5), "mechanism is 5; it must be a text."),
    "mechanism: null": (put("certificate", "mechanism", value=None), "mechanism is None; it must be a text."),
    "code_version: a list": (
        put("certificate", "code_version", value=[]),
        "code_version is []; it must be a text.",
    ),
    "sensitive: a text": (
        put("design", "sensitive", value="illness"),
        "sensitive is 'illness'; it must be a list of texts.",
    ),
    "sensitive: null": (
        put("design", "sensitive", value=None),
        "sensitive is None; it must be a list of texts.",
    ),
    "sensitive: none": (
        put("design", "sensitive", value=[]),
        "No column is sensitive; at least one must be.",
    ),
    "sensitive: numbers": (
        put("design", "sensitive", value=[1]),
        "sensitive is [1]; it must be a list of texts.",
    ),
    "sensitive: two of one": (
        put("design", "sensitive", value=["illness", "illness"]),
        "The column 'illness' is named twice; it may be named once, as",
    ),
    "useful: a column of what is sensitive": (
        put("design", "useful", value=["illness", "age"]),
        "The column 'illness' is named twice; it may be named once, as",
    ),
    "useful: one too few": (
        put("design", "useful", value=["region"]),
        "columns has the value ['north', 'old']; it must have 1 texts.",
    ),
    "useful: none": (
        put("design", "useful", value=[]),
        "columns has the value ['north', 'old']; it must have 0 texts.",
    ),
    "rows: texts": (
        put("design", "rows", value=["no", "yes"]),
        "A value of rows is 'no'; it must be a list of texts.",
    ),
    "rows: alike": (
        put("design", "rows", value=[["no"], ["no"]]),
        "rows contains ['no'] twice; every value must occur once.",
    ),
    "rows: numbers": (
        put("design", "rows", value=[[0], [1]]),
        "A value of rows is [0]; it must be a list of texts.",
    ),
    "rows: null": (put("design", "rows", value=None), "rows is None; it must be a list of values."),
    "columns: alike": (
        put("design", "columns", value=[["n", "o"], ["n", "o"], ["s", "o"]]),
        "columns contains ['n', 'o'] twice; every value must occur once.",
    ),
    "columns: too short": (
        put("design", "columns", value=[["n"], ["m"], ["s"]]),
        "columns has the value ['n']; it must have 2 texts.",
    ),
    "columns: of two lengths": (
        put("design", "columns", 0, value=["north"]),
        "columns has the value ['north']; it must have 2 texts.",
    ),
    "counts: fractions": (
        put("design", "counts", value=[[1.5, 2, 3], [4, 5, 6]]),
        "A count is 1.5; it must be a whole number, 0 to 2^53.",
    ),
    "counts: texts": (
        put("design", "counts", value=[["1", "2", "3"], ["4", "5", "6"]]),
        "A count is '1'; it must be a whole number, 0 to 2^53.",
    ),
    "counts: truth values": (
        put("design", "counts", value=[[True, 2, 3], [4, 5, 6]]),
        "A count is True; it must be a whole number, 0 to 2^53.",
    ),
    "counts: negative": (
        put("design", "counts", value=[[-1, 2, 3], [4, 5, 6]]),
        "A count is -1; it must be a whole number, 0 to 2^53.",
    ),
    "counts: huge": (
        put("design", "counts", value=[[2**80, 2, 3], [4, 5, 6]]),
        "A count is 1208925819614629174706176; it must be a whole",
    ),
    "counts: null": (put("design", "counts", value=None), "counts is None; it must be a list of rows."),
    "counts: a row": (
        put("design", "counts", value=[1, 2, 3, 4, 5, 6]),
        "counts is [1, 2, 3, 4, 5, 6]; it must be a list of rows.",
    ),
    "counts: all 0": (
        put("design", "counts", value=[[0, 0, 0], [0, 0, 0]]),
        "The table contains no records; at least one is needed.",
    ),
    "counts: of two lengths": (
        put("design", "counts", value=[[1, 2], [3, 4, 5]]),
        "counts has rows of different lengths; they must be equally",
    ),
    "source: null": (put("design", "source", value=None), "source is None; it must be a text."),
    "sha256: a number": (put("design", "sha256", value=5), "sha256 is 5; it must be a text."),
    "design: a list": (put("design", value=[1, 2]), "The design is [1, 2]; it must be an object."),
    "design: a text": (put("design", value="design"), "The design is 'design'; it must be an object."),
    "bits: a text": (put("bits", value="62"), "its outputs do not match its weights."),
    "outputs: a text": (put("outputs", value="y1"), "its outputs do not match its weights."),
    "outputs: other names": (put("outputs", 0, value="yes"), "its outputs do not match its weights."),
    "outputs: one more": (
        lambda content: content["outputs"].append("y99"),
        "its outputs do not match its weights.",
    ),
}


@pytest.mark.parametrize("which", WRONG)
@pytest.mark.parametrize("command", [APPLY, [*ESTIMATE, "--out", "e.csv"], AUDIT], ids=lambda c: c[0])
def test_channels_with_a_good_hash(here, capsys, which, command):
    change, sentence = WRONG[which]
    rewritten(here / "channel.json", change)
    refused(here, capsys, command, sentence)


# Arguments ------------------------------------------------------------------------------------------------
