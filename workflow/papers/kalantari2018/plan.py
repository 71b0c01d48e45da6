"""The arguments of the tables of kalantari2018, derived from the configuration and the source sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproduction.base.entries import parse_yaml
from reproduction.planning.configuration import Arguments, Configuration, grid, grid_contradictions

#: Tables I to IV, and two sets on which the bounds of Theorem 3 are drawn.
SOURCES = Path(__file__).with_name("sources.yaml")

Distributions = list[list[float]]


def tradeoff(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs of Figures 4 to 7, one per number of letters."""
    return {
        str(letters): {"sources": _classes(groups), **_axis(configuration)}
        for letters, groups in _read()["paper"].items()
    }


def bounds(configuration: Configuration, **_: Any) -> Arguments:
    """Return the arguments of the table of the bounds of Theorem 3."""
    return {"sources": _read()["bounds"], **_axis(configuration)}


def printed(configuration: Configuration) -> Arguments:
    """Return the arguments of the table that rebuilds Tables I to IV."""
    return {"groups": {str(letters): groups for letters, groups in _read()["paper"].items()}}


def contradictions(configuration: Configuration) -> Iterator[str]:
    """Yield what in the section of the paper contradicts what."""
    axis = {**configuration["kalantari2018"]["distortion"], "values": None, "spacing": "linear"}
    yield from grid_contradictions("kalantari2018.distortion", axis)


def _read() -> dict[str, Any]:
    return dict(parse_yaml(SOURCES.read_text(encoding="utf-8")))


def _classes(groups: Mapping[str, Any]) -> dict[str, Distributions]:
    """Return the source sets of one size; Class I has the certain distributions, whose hull is everything."""
    members: Distributions = list(groups["base"])
    letters = range(len(members[0]))
    sets = {"I": [[float(i == j) for j in letters] for i in letters], "II": list(members)}
    for group in ("a", "b", "c"):
        members = members + groups[group]
        sets[f"III {group}"] = members
    return sets


def _axis(configuration: Configuration) -> Arguments:
    paper = configuration["kalantari2018"]
    return {"distortions": grid(**paper["distortion"]), "tolerance": float(paper["tolerance"])}
