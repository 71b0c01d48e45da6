"""How long the commands of the README take is said once, in resources/durations.csv, and pages round it."""

import csv
import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DURATIONS = ROOT / "resources/durations.csv"

#: Where it is said how long a command takes, and in which words.
SAID = {
    "default": [
        ("README.md", "computes every figure and table of the four papers in {range} minutes on two cores"),
        ("README.md", "| time | {range} minutes on two idle cores"),
    ],
    "tests": [
        ("README.md", "This command runs the tests, which takes {range} minutes"),
        ("CONTRIBUTING.md", "All tests together take {range} minutes on two cores"),
        (".ci/run", "testing ({range} minutes on two cores)"),
    ],
}


def measured(command: str) -> list[float]:
    with DURATIONS.open(encoding="utf-8", newline="") as stream:
        return [float(row["minutes"]) for row in csv.DictReader(stream) if row["command"] == command]


def rounded(minutes: list[float]) -> str:
    """Return the range of some times, widened to multiples of 5 minutes."""
    return f"{max(1, 5 * math.floor(min(minutes) / 5))} to {5 * math.ceil(max(minutes) / 5)}"


@pytest.mark.parametrize(
    ("command", "page", "words"), [(c, *at) for c, places in SAID.items() for at in places]
)
def test_pages_say_what_was_measured(command, page, words):
    text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
    assert words.format(range=rounded(measured(command))) in text


def test_no_page_says_it_in_other_words():
    said = {page for places in SAID.values() for page, _ in places}
    for page in said | {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}:
        text = (ROOT / page).read_text(encoding="utf-8")
        allowed = sum(page == own for places in SAID.values() for own, _ in places)
        assert len(re.findall(r"\d+ to \d+ minutes", text)) <= allowed, page
