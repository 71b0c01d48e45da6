"""Malformed channels: every command that reads one ends with a sentence and leaves every file as it was."""

import json

import pytest

from support.malformed import APPLY, AUDIT, ESTIMATE, refused
from support.owndata import rewritten


def deep(times):
    return "[" * times + "]" * times


BAD_CHANNELS = {
    "empty": ("", "channel.json is not a channel file: that is the JSON file which ldp-frontier"),
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


#: Contents of a wrong type or value, in files with a good hash: member = value | part of the sentence.
WRONG = """
weights = "1 2 3" | weights is '1 2 3'; it must be a list of texts.
weights.0 = [1, 2] | weights is [[1, 2], '262865474721559648 1942327739189640512
weights = [] | The weights have shape (0,); they must be (inputs, outputs).
weights = null | weights is None; it must be a list of texts.
weights = {} | weights is {}; it must be a list of texts.
weights = ["", "", "", "", "", ""] | The weights have shape (6, 0); they must be (inputs, outputs).
weights.0 = "0.5 0.5" | weights has rows of different lengths; they must be equally
weights.0 = "4611686018427387905 -1 0 0 0 0" | weights contains '-1'; allowed are whole numbers from 0 to 2^62
certificate = [] | The certificate is []; it must be an object.
certificate = "private" | The certificate is 'private'; it must be an object.
certificate = null | The certificate is None; it must be an object.
certificate.extra = 1 | The certificate has the unknown member 'extra'; its members must be
certificate.epsilon = -1 | epsilon is -1; it must be a number, 0 or more.
certificate.epsilon = [1] | epsilon is [1]; it must be a number, 0 or more.
certificate.epsilon = HUGE | epsilon is 1
certificate.levels.insider = "low" | The level insider is 'low'; it must be a number, 0 or more.
certificate.levels = 1.0 | levels is 1.0; it must be an object.
certificate.against = ["outsider"] | against is ['outsider']; it must
certificate.nmi = null | nmi is None; it must be a number, 0 or more.
certificate.beta = "0.05" | beta is '0.05'; it must be a significance level, strictly
certificate.beta = [0.05] | beta is [0.05]; it must be a significance level, strictly
certificate.beta = 2 | beta is 2; a significance level lies strictly between 0 and 1.
certificate.beta = 0 | beta is 0; a significance level lies strictly between 0 and 1.
certificate.beta = true | beta is True; it must be a significance level, strictly
certificate.beta = null | beta, order and intervals belong together; either all are
certificate.order = "two" | The order of the ball is 'two'; it must be from 1/64 to 16.
certificate.order = null | beta, order and intervals belong together; either all are
certificate.order = {} | The order of the ball is {}; it must be from 1/64 to 16.
certificate.order = -1 | The order of the ball is -1; it must be from 1/64 to 16.
certificate.mechanism = 5 | mechanism is 5; it must be a text.
certificate.mechanism = null | mechanism is None; it must be a text.
certificate.code_version = [] | code_version is []; it must be a text.
design.sensitive = "illness" | sensitive is 'illness'; it must be a list of texts.
design.sensitive = null | sensitive is None; it must be a list of texts.
design.sensitive = [] | No column is sensitive; at least one must be.
design.sensitive = [1] | sensitive is [1]; it must be a list of texts.
design.sensitive = ["illness", "illness"] | The column 'illness' is named twice; it may be named once, as
design.useful = ["illness", "age"] | The column 'illness' is named twice; it may be named once, as
design.useful = ["region"] | columns has the value ['north', 'old']; it must have 1 texts.
design.useful = [] | columns has the value ['north', 'old']; it must have 0 texts.
design.rows = ["no", "yes"] | A value of rows is 'no'; it must be a list of texts.
design.rows = [["no"], ["no"]] | rows contains ['no'] twice; every value must occur once.
design.rows = [[0], [1]] | A value of rows is [0]; it must be a list of texts.
design.rows = null | rows is None; it must be a list of values.
design.columns = [["n", "o"], ["n", "o"], ["s", "o"]] | columns contains ['n', 'o'] twice; every value must
design.columns = [["n"], ["m"], ["s"]] | columns has the value ['n']; it must have 2 texts.
design.columns.0 = ["north"] | columns has the value ['north']; it must have 2 texts.
design.counts = [[1.5, 2, 3], [4, 5, 6]] | A count is 1.5; it must be a whole number, 0 to 2^53.
design.counts = [["1", "2", "3"], ["4", "5", "6"]] | A count is '1'; it must be a whole number, 0 to 2^53.
design.counts = [[true, 2, 3], [4, 5, 6]] | A count is True; it must be a whole number, 0 to 2^53.
design.counts = [[-1, 2, 3], [4, 5, 6]] | A count is -1; it must be a whole number, 0 to 2^53.
design.counts = [[1208925819614629174706176, 2, 3], [4, 5, 6]] | A count is 1208925819614629174706176; it must
design.counts = null | counts is None; it must be a list of rows unless
design.counts = [1, 2, 3, 4, 5, 6] | counts is [1, 2, 3, 4, 5, 6]; it must be a list of rows.
design.counts = [[0, 0, 0], [0, 0, 0]] | The table contains no records; at least one is needed.
design.counts = [[1, 2], [3, 4, 5]] | counts has rows of different lengths; they must be equally
design.source = null | source is None; it must be a text.
design.sha256 = 5 | sha256 is 5; it must be a text.
design = [1, 2] | The design is [1, 2]; it must be an object.
design = "design" | The design is 'design'; it must be an object.
bits = "62" | its outputs do not match its weights.
outputs = "y1" | its outputs do not match its weights.
outputs.0 = "yes" | its outputs do not match its weights.
outputs.99 = "y99" | its outputs do not match its weights.
""".strip().splitlines()


def put(change):
    """A change that puts a value into a channel file, or at the end of a list that is shorter."""
    path, value = change.replace("HUGE", f"{10**400}").split(" = ")
    *way, last = (int(name) if name.isdigit() else name for name in path.split("."))

    def changed(content):
        for name in way:
            content = content[name]
        if isinstance(content, list):
            content[last : last + 1] = [json.loads(value)]
        else:
            content[last] = json.loads(value)

    return changed


@pytest.mark.parametrize("which", WRONG)
@pytest.mark.parametrize("command", [APPLY, [*ESTIMATE, "--out", "e.csv"], AUDIT], ids=lambda c: c[0])
def test_channels_with_a_good_hash(here, capsys, which, command):
    change, sentence = which.split(" | ")
    rewritten(here / "channel.json", put(change))
    refused(here, capsys, command, sentence)
