"""The pages lead to each other: every link to what is there, and every page from the way into its folder."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "src", "config", "benchmarks", "containers", "workflow", "tests")
PAGES = [*ROOT.glob("*.md"), ROOT / "results/README.md"]
PAGES += [page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")


def links(page: Path) -> list[tuple[Path, str]]:
    """Return what a page leads to: a file or folder, and the place in it, which may be empty."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = LINK.findall(text)
    return [((page.parent / target).resolve() if target else page, place) for target, place in found]


def places(page: Path) -> set[str]:
    """Return the names that a forge gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_place_that_is_there(page: Path) -> None:
    for target, place in links(page):
        assert target.exists(), target.relative_to(ROOT)
        assert not place or place in places(target), f"{target.relative_to(ROOT)} has no heading {place}"


def test_every_page_is_led_to_from_the_way_into_its_folder() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        way_in = ROOT / "README.md" if page.parent.name == "docs" else page.with_name("README.md")
        if page == way_in:
            way_in = ROOT / "README.md"
        assert page in {target for target, _ in links(way_in)}, page.relative_to(ROOT)
