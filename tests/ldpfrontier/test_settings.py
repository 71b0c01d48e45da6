"""Every constant of the library is a stated limit, keeps answers accurate and safe, or tunes; few tune."""

import importlib
import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import ldpfrontier

SOURCE = Path(ldpfrontier.__file__).parents[1]
FILES = sorted(SOURCE.rglob("settings.py"))
#: In this order; a section begins with a comment that begins with its name.
SECTIONS = ("Stated limits", "Accuracy and safety", "Tuning")
#: Most constants of which another value would give valid results that are slower, faster, looser or tighter.
MOST_THAT_TUNE = 110

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)


@cache
def sections(path: Path) -> dict[str, str]:
    """Return the section of every field of a file; fields without a comment of their own are refused."""
    found: dict[str, str] = {}
    section, before = "", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not before and (heading := re.match(r"    # (.*?)[.:]", line)):
            assert heading[1] in SECTIONS, f"{heading[1]} is not a section"
            assert SECTIONS.index(heading[1]) >= SECTIONS.index(section or SECTIONS[0]), "out of order"
            section = heading[1]
        elif field := re.match(r"    (\w+): ", line):
            assert section, f"{field[1]} is in no section"
            assert before.startswith("    #: "), f"{field[1]} has no comment"
            assert field[1] not in found, f"{field[1]} is there twice"
            found[field[1]] = section
        before = line
    return found


@each_file
def test_every_constant_is_in_one_section_and_has_a_comment(path: Path) -> None:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    settings = importlib.import_module(module).SETTINGS
    assert list(sections(path)) == [field.name for field in fields(settings)]


@cache
def attributes() -> dict[Path, set[str]]:
    """Return the attributes of constants that are read, by file."""
    return {
        path: set(re.findall(r"\b[A-Z_]+\.(\w+)", path.read_text(encoding="utf-8")))
        for path in SOURCE.rglob("*.py")
    }


@each_file
def test_every_constant_is_used(path: Path) -> None:
    used = set().union(*(names for other, names in attributes().items() if other != path))
    assert not sections(path).keys() - used


def test_few_constants_tune() -> None:
    found = [section for path in FILES for section in sections(path).values()]
    assert len(FILES) == 15
    assert 0 < found.count("Tuning") <= MOST_THAT_TUNE
