"""The arguments of the tables of liao2017, derived from the configuration and the hypotheses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.base.entries import parse_yaml
from reproduction.planning.configuration import Arguments, Configuration, grid, grid_contradictions

#: Tables I and II, and instances on more letters.
HYPOTHESES = Path(__file__).with_name("hypotheses.yaml")

#: Numbers of letters that the certified optimum supports.
_LETTERS = range(2, 6)

#: Steps of the search that Figures 2 and 3 draw, as `paper.yaml` and their captions say.
_DRAWN = 100


def read_instances(path: Path | str = HYPOTHESES) -> list[Arguments]:
    """Read hypotheses from a YAML list of {name, figure, table, hypotheses}; another file is refused."""
    entries = parse_yaml(Path(path).read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ValueError(f"{path} must be a list of instances.")
    for number, entry in enumerate(entries, start=1):
        if missing := {"name", "figure", "table", "hypotheses"} - set(entry):
            raise ValueError(f"Entry {number} of {path} lacks {', '.join(sorted(missing))}.")
    return entries


def instances(configuration: Configuration) -> Arguments:
    """Return the arguments of the table of hypotheses."""
    return {"instances": read_instances()}


def searches(configuration: Configuration) -> Arguments:
    """Return the arguments of the exhaustive searches."""
    return {"instances": read_instances(), "steps": sorted(configuration["liao2017"]["searches"])}


def sweeps(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs of the sweeps over leakages, one per number of letters."""
    paper = configuration["liao2017"]
    shares = grid(**paper["shares"], spacing="geometric")
    return {
        part: {
            "instances": [{**_common(paper, entry), "experiment": entry["figure"]} for entry in entries],
            "shares": shares,
            "order": float(paper["order"]),
            "w0": paper["w0"],
        }
        for part, entries in _by_letters().items()
    }


def comparison(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs of the comparison at the leakages of interest, one per number of letters."""
    paper = configuration["liao2017"]
    return {
        part: {
            "instances": [_common(paper, entry) for entry in entries],
            "fractions": sorted(paper["named"]),
            "grid": paper["grid"],
            "w0": paper["w0"],
        }
        for part, entries in _by_letters().items()
    }


def _by_letters() -> dict[str, list[Arguments]]:
    """Group the instances: one takes seconds, and so does the start of a job."""
    groups: dict[str, list[Arguments]] = {}
    for entry in read_instances():
        groups.setdefault(f"{len(entry['hypotheses'][0])}_letters", []).append(entry)
    return groups


def _common(paper: Mapping[str, Any], entry: Mapping[str, Any]) -> Arguments:
    tolerances = {int(letters): tolerance for letters, tolerance in paper["tolerance"].items()}
    return {
        "hypotheses": entry["hypotheses"],
        "instance": entry["name"],
        "tolerance": tolerances.get(len(entry["hypotheses"][0])),
    }


def contradictions(configuration: Configuration) -> Iterator[str]:
    """Yield what in the section of the paper contradicts what."""
    paper = configuration["liao2017"]
    axis = {**paper["shares"], "values": None, "spacing": "linear"}
    yield from grid_contradictions("liao2017.shares", axis)
    if paper["w0"] is not None:
        yield from _sum("liao2017.w0", paper["w0"])
    if _DRAWN not in paper["searches"]:
        yield f"liao2017.searches is {paper['searches']}; it must have {_DRAWN}, which Figures 2 and 3 draw."
    allowed = list(map(str, _LETTERS))
    for letters in paper["tolerance"]:
        if str(letters) not in allowed:
            yield f"liao2017.tolerance has the key {letters!r}; allowed are numbers of letters, 2 to 5."
    first, second = (paper["fig1"]["hypotheses"][k] for k in (0, 1))
    yield from _sum("liao2017.fig1.hypotheses[0]", first)
    yield from _sum("liao2017.fig1.hypotheses[1]", second)
    yield from _sum("liao2017.fig1.w0", paper["fig1"]["w0"])
    if len(first) != len(second):
        yield (
            f"liao2017.fig1.hypotheses[1] has {len(second)} entries; allowed are as many as"
            f" liao2017.fig1.hypotheses[0] has, {len(first)}."
        )
    if len(paper["fig1"]["w0"]) != 3:
        outputs = len(paper["fig1"]["w0"])
        yield f"liao2017.fig1.w0 has {outputs} entries; allowed are 3, as Figure 1 is drawn in a triangle."


def _sum(key: str, probabilities: Sequence[float]) -> Iterator[str]:
    if abs(math.fsum(probabilities) - 1.0) > 1e-9:
        total = f"{math.fsum(probabilities):.10g}"
        yield f"{key} sums to {total}; allowed is a distribution, which sums to 1."
