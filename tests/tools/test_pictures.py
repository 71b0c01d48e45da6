"""The pictures of the pages are figures of the papers."""

import re
from pathlib import Path

from reproduction.planning.paper import papers
from support.programs import program

ROOT = Path(__file__).parents[2]

PICTURES = program("tools/pictures.py")


def test_every_picture_of_a_paper_is_a_figure_of_it():
    shown = list(PICTURES.shown())
    assert shown
    for path, key, figure in shown:
        assert figure in papers()[key].figures, path.name


def test_every_picture_is_on_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = set(re.findall(r"img/([\w.]+)", "".join(page.read_text(encoding="utf-8") for page in pages)))
    assert named == {path.name for path in PICTURES.PICTURES.iterdir()}
