"""How long the commands of the README take is said once, in resources/durations.csv, and pages round it.

Its columns: minutes on so many cores, and the processor time of the jobs, s.
"""

import csv
import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DURATIONS = ROOT / "resources/durations.csv"

#: The same jobs took this much longer on one of the machines than on another one with the same processor. It
#: is the room for what was measured with one alone.
SLOWER = 4 / 3

#: Where it is said how long a command takes, and in which words.
SAID = {
    "default": [
        (
            "README.md",
            "computes every figure and table of the four papers in {range} minutes on two cores"
            " ({cpu} minutes of processor time)",
        ),
    ],
    "smoke": [
        ("README.md", "# a small version of everything, in {range} minutes on one core"),
        ("config/README.md", "a small version of everything that takes {range} minutes on one core"),
        ("docs/workflow.md", "a small version of everything in `smoke/`, in {range} minutes on one core"),
        ("docs/artifact.md", "makes a small version of everything in {range} minutes on one core"),
    ],
    "tests": [
        ("README.md", "This command runs the tests, which takes {range} minutes"),
        ("CONTRIBUTING.md", "All tests together take {range} minutes on two cores"),
        (".ci/run", "testing ({range} minutes on two cores)"),
    ],
}


def rows_of(command: str) -> list[dict[str, str]]:
    with DURATIONS.open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["command"] == command]


def rounded(rows: list[dict[str, str]], minutes: list[float]) -> str:
    """Return the range of some times, in whole minutes, with room if there is one kind of machine."""
    room = SLOWER if len({row["processor"] for row in rows}) == 1 else 1.0
    return f"{math.floor(min(minutes))} to {math.ceil(room * max(minutes))}"


@pytest.mark.parametrize(
    ("command", "page", "words"), [(c, *at) for c, places in SAID.items() for at in places]
)
def test_pages_say_what_was_measured(command, page, words):
    text, rows = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8")), rows_of(command)
    said = {"range": rounded(rows, [float(row["minutes"]) for row in rows])}
    said["cpu"] = rounded(rows, [float(row["cpu"]) / 60 for row in rows if row["cpu"]] or [0.0])
    assert words.format(**said) in text


def test_no_page_says_it_in_other_words():
    said = {page for places in SAID.values() for page, _ in places}
    for page in said | {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}:
        text = (ROOT / page).read_text(encoding="utf-8")
        words = [words for places in SAID.values() for own, words in places if own == page]
        allowed = sum(text.count("{") for text in words)
        assert len(re.findall(r"\d+ to \d+ minutes", text)) <= allowed, page
