"""Whatever names and values contain: nothing that is printed forges a line or commands a terminal."""

import csv
import json

import pytest

from ldpfrontier import verify
from ldpsurvey.command.cli import main
from support.grids import few

#: What a terminal obeys, what begins a line, what turns the direction of a text, and what shows nothing.
HOSTILE = {
    "escape": "\x1b[2J\x1b[31m",
    "line": "x\nFORGED",
    "return": "x\rFORGED",
    "C1": "\x9b31m",
    "next line": "\x85FORGED",
    "separators": "\u2028FORGED\u2029",
    "override": "\u202egnorw\u202c",
    "isolate": "\u2066x\u2069",
    "nothing": "a\u200bb\xad",
    "one of each": "\x1b[2J\x85\u2028\u202e\u200b",
}
USUAL = ("line", "one of each")


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was printed, of which every character must be seen."""
    said = "".join(capsys.readouterr())
    assert [letter for letter in said if not (letter.isprintable() or letter == "\n")] == []
    assert not any(line.startswith("FORGED") for line in said.splitlines())
    return said


@pytest.mark.parametrize("which", few(USUAL, more=[which for which in HOSTILE if which not in USUAL]))
def test_hostile_names_and_values_are_made_visible(tmp_path, monkeypatch, capsys, which):
    monkeypatch.chdir(tmp_path)
    text = HOSTILE[which]
    sensitive, useful, spare = f"s{text}", f"u{text}", f"k{text}"
    folder, memo = f"f{text}".replace("/", ""), f"m{text}"
    # Ids with invisible characters are refused.
    records = [(f"{s}{text}", f"{u}{text}", f"{number}") for s, u, number in
               zip("abab" * 20, "cddc" * 20, range(80), strict=True)]  # fmt: skip
    with open(source := f"in{text}", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([(sensitive, useful, spare), *records])
    channel = f"{folder}/c.json"
    design = ["design", "--data", source, "--sensitive", sensitive, "--useful", useful, "--epsilon", "1"]
    assert main([*design, "--mechanism", "srr", "--out", channel]) == 0
    assert verify.visible(sensitive) in printed(capsys).replace("\n", " ")
    apply = ["apply", "--channel", channel, "--data", source, "--out"]
    assert main([*apply, "both", "--keep", sensitive, useful]) == 0
    assert verify.visible(sensitive) in printed(capsys)
    assert main([*apply, f"o{text}", "--memo", memo, "--id", spare]) == 0
    assert verify.visible(memo) in printed(capsys)
    estimate = ["estimate", "--channel", channel, "--data", f"o{text}", "--picture", f"e{text}.svg"]
    assert main(estimate) == 0
    assert verify.visible(f"a{text}, c{text}") in printed(capsys)
    assert main([*estimate, "--json"]) == 0
    assert json.loads(printed(capsys))["frequencies"][0]["quantity"]["value"] == [f"a{text}", f"c{text}"]
    assert main([*design, "--mechanism", "srr", "--out", channel, "--json", "--force"]) == 0
    assert json.loads(printed(capsys))["table"]["sensitive"] == [sensitive]
    # The csv module of Python writes a carriage return without quotation marks.
    for more in ([], ["--samples", "100"], *([] if "\r" in text else [["--data", "both"]])):
        assert main(["audit", "--channel", channel, *more]) == 0
        printed(capsys)
    assert main(["verify", f"{folder}/c.certificate.json"]) == 0
    assert verify.visible(folder).encode("ascii", "backslashreplace").decode() in printed(capsys)
    errors = (
        [*design[:3], "--sensitive", text, "--epsilon", "1"],
        [*design, "--mechanism", text],
        [*design, "--bins", text],
        ["estimate", "--channel", text, "--data", source],
        ["estimate", "--channel", channel, "--data", source, "--column", sensitive],
        [*apply, "o", "--keep", text],
        [*apply, source],
        ["verify", text],
    )
    for error in errors:
        assert main(error) == 2
        # One line, or one file with what is said of it, indented.
        assert all(line.startswith("  ") for line in printed(capsys).splitlines()[1:])
    for error in ([text], [*design, text]):
        with pytest.raises(SystemExit):
            main(error)
        assert verify.visible(text) in printed(capsys)


@pytest.mark.parametrize(
    "content",
    [
        {"\nFORGED\x1b[31m": 1, "format": verify.FORMAT, "version": verify.VERSION},
        {"format": verify.FORMAT, "version": "1\nFORGED\x1b[31m"},
        '{"\\nFORGED\\u001b": 1, "\\nFORGED\\u001b": 2}',
        '{"\u202e": 1, "\u202e": 2}',
    ],
)
def test_keys_of_a_certificate_forge_no_line(tmp_path, capsys, content):
    path = tmp_path / "c.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert verify.main([str(path)]) == 2
    said = printed(capsys)
    assert said.isascii()
    assert said.count("\n") == 1
