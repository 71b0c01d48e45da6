"""Mechanisms and papers of the user's own, outside the repository.

A mechanism is an entry of `mechanisms` in the configuration that names a function in a file. A job makes the
entries known, with `register`, before it imports a paper; the catalogue of the paper then has them beside its
own. Standard library only.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Colours and markers of those that name no colour, by their place; no paper has them.
_STYLES = (("#117733", "h"), ("#AA4499", "d"), ("#44AA99", "<"), ("#DDCC77", ">"))

_registered: dict[str, dict[str, OwnMechanism]] = {}


@dataclass(frozen=True)
class OwnMechanism:
    """A mechanism of the user's own: its name in tables and in the configuration, and ``module:function``.

    Label, colour and marker are those of its curve. The file of the module, relative to the working
    directory, is empty until it is found.
    """

    name: str
    function: str
    label: str
    colour: str
    marker: str
    file: str = ""


def names_in(entries: Iterable[Any]) -> list[str]:
    """Return the names of the mechanisms in a list of the configuration."""
    return [entry["name"] if isinstance(entry, Mapping) else entry for entry in entries]


def own_mechanisms(section: Any) -> dict[str, OwnMechanism]:
    """Return the mechanisms of the user's own in the section of a paper, by name."""
    listed = section.get("mechanisms") if isinstance(section, Mapping) else None
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    found = {}
    for place, entry in enumerate(entries):
        colour, marker = _STYLES[place % len(_STYLES)]
        looks = {"label": entry["name"], "colour": colour, "marker": marker}
        found[entry["name"]] = OwnMechanism(**{**looks, **entry})
    return found


def own_contradictions(paper: str, section: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the names of the user's own mechanisms; the paper has those known."""
    names = names_in(entry for entry in section["mechanisms"] if isinstance(entry, Mapping))
    for name in dict.fromkeys(names):
        if name in known or names.count(name) > 1:
            yield f"{paper}.mechanisms has more than one mechanism {name!r}; allowed is a name of its own."


def register(configuration: Mapping[str, Any]) -> None:
    """Make the mechanisms of a configuration known to the papers that are imported from now on."""
    _registered.clear()
    _registered.update({key: own_mechanisms(section) for key, section in configuration.items()})


def registered(paper: str) -> dict[str, OwnMechanism]:
    """Return the mechanisms of the user's own that were made known to a paper."""
    return dict(_registered.get(paper, {}))


def make_importable(folder: Path | str) -> None:
    """Let the modules of a paper be imported as ``papers.<name of its folder>``.

    The papers of the repository come first: no folder beside this one takes the place of one of them.
    """
    path, beside = importlib.import_module("papers").__path__, str(Path(folder).resolve().parent)
    if beside not in path:
        path.append(beside)
