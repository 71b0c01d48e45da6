"""The arguments of the tables of kairouz2016, derived from the configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reproduction.planning.configuration import Arguments, Configuration, grid_contradictions, values
from reproduction.planning.own_mechanisms import names_in, own_contradictions
from reproduction.planning.paper import Parts, claim_entries

#: The mechanisms that the paper compares, which its claims need.
MECHANISMS = ("binary", "rr", "geometric")

#: Instances in a file, all of which are drawn, and fresh populations in a file: more of them only add files.
INSTANCES_PER_FILE, GROUPS_PER_FILE = 100, 100


# Random instances -----------------------------------------------------------------------------------------


def instances(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs that draw the instances of the figures and those past the paper's sizes, by size."""
    paper = configuration["kairouz2016"]
    numbers = dict.fromkeys([*paper["sizes"], paper["size"]], paper["instances"])
    larger = paper["larger"]
    for size in {*larger["sizes"], *larger["thresholds"]} if larger["instances"] else ():
        numbers[size] = max(numbers.get(size, 0), larger["instances"])
    return {
        part: {
            "size": size,
            "numbers": list(range(file * INSTANCES_PER_FILE, (file + 1) * INSTANCES_PER_FILE)),
            "seed": configuration["seed"],
            "concentration": float(paper["concentration"]),
        }
        for size, number in sorted(numbers.items())
        for file, part in enumerate(_instance_files(size, range(number)).names)
    }


def fresh_instances(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs that draw the instances of fresh populations, by concentration."""
    return {
        part: {
            "sizes": sorted({study["size"] for study in studies}),
            "groups": groups,
            "seed": configuration["seed"],
            "concentration": concentration,
        }
        for part, (concentration, studies, groups) in _fresh_parts(configuration).items()
    }


def _instance_files(size: int, numbers: Sequence[int]) -> Parts:
    """Return the parts of the table of instances that have some of them."""
    return Parts(tuple(f"{size}/{file}" for file in sorted({i // INSTANCES_PER_FILE for i in numbers})))


# Experiments on them --------------------------------------------------------------------------------------


def sweeps(configuration: Configuration, *, utility: str, **_: Any) -> dict[str, Arguments]:
    """Return the jobs of a sweep: a size and a chunk of the instances each.

    All mechanisms are in Figures 3 and 6, which are of one size; at other sizes there are those of Figures 4
    and 7, and of total variation, which is in no figure, that of Theorem 6.
    """
    paper = configuration["kairouz2016"]
    rest = {
        "epsilons": values(paper["epsilon"]),
        "tolerance": float(paper["solver"]["tolerance"]),
        "max_rounds": paper["solver"]["rounds"],
    }
    every = {paper["size"]: names_in(paper["mechanisms"])} if utility != "tv" else {}
    usual = ["binary", "rr"] if utility != "tv" else ["binary"]
    jobs = _cut({*paper["sizes"], paper["size"]}, paper["instances"], paper["chunk"], rest)
    return {part: job | {"mechanisms": every.get(job["size"], usual)} for part, job in jobs.items()}


def documents(configuration: Configuration, **_: Any) -> dict[str, Arguments]:
    """Return the jobs of the certificates of the first instances of a sweep."""
    paper = configuration["kairouz2016"]
    effort = {"tolerance": float(paper["solver"]["tolerance"]), "max_rounds": paper["solver"]["rounds"]}
    rest = {"epsilons": values(paper["epsilon"]), **effort}
    number = min(paper["certificates"], paper["instances"])
    return _cut({*paper["sizes"], paper["size"]}, number, paper["chunk"], rest)


def thresholds(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs that look for thresholds: a size and a chunk of the instances each."""
    paper = configuration["kairouz2016"]
    return _cut(paper["sizes"], paper["instances"], paper["chunk"], {"utilities": paper["thresholds"]})


def larger(configuration: Configuration, **_: Any) -> dict[str, Arguments]:
    """Return the jobs of a sweep past the paper's sizes: a size and some instances each."""
    study = configuration["kairouz2016"]["larger"]
    rest = {
        "epsilons": sorted(map(float, study["epsilon"])),
        "tolerance": float(study["tolerance"]),
        "max_rounds": configuration["kairouz2016"]["solver"]["rounds"],
    }
    return _cut(study["sizes"], study["instances"], study["chunk"], rest)


def larger_thresholds(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs that look for thresholds past the paper's sizes."""
    paper = configuration["kairouz2016"]
    study, rest = paper["larger"], {"utilities": paper["thresholds"]}
    return _cut(study["thresholds"], study["instances"], study["chunk"], rest)


def _cut(sizes: Iterable[int], total: int, step: int, rest: Arguments) -> dict[str, Arguments]:
    """Cut the instances of every size into jobs; those of a job do not depend on how many there are."""
    return {
        f"{size}/{start // step}": {
            "instances": _instance_files(size, numbers),
            "size": size,
            "numbers": list(numbers),
            **rest,
        }
        for size in sorted(sizes)
        for start in range(0, total, step)
        for numbers in [range(start, min(start + step, total))]
    }


def scaling(configuration: Configuration, **_: Any) -> Arguments:
    """Return the arguments of Figures 5 and 8."""
    paper = configuration["kairouz2016"]
    numbers = range(paper["instances"])
    return {
        "instances": _instance_files(paper["size"], numbers),
        "numbers": list(numbers),
        "size": paper["size"],
        "epsilons": [float(epsilon) for epsilon in paper["scaling"]],
        "tolerance": float(paper["solver"]["tolerance"]),
    }


def expansions(configuration: Configuration) -> Arguments:
    """Return the arguments of the table of expansions."""
    paper = configuration["kairouz2016"]
    sizes, numbers = sorted(paper["sizes"]), range(paper["instances"])
    return {
        "instances": Parts(tuple(part for size in sizes for part in _instance_files(size, numbers).names)),
        "sizes": sizes,
        "numbers": list(numbers),
        "small": [float(epsilon) for epsilon in paper["expansions"]["small"]],
        "large": [float(epsilon) for epsilon in paper["expansions"]["large"]],
    }


def populations(configuration: Configuration) -> dict[str, Arguments]:
    """Return the jobs of the table of populations: one for each job that draws instances of them."""
    return {
        part: {"fresh_instances": Parts((part,)), "studies": studies, "numbers": groups}
        for part, (_, studies, groups) in _fresh_parts(configuration).items()
    }


def _fresh_parts(configuration: Configuration) -> dict[str, tuple[float, list[Arguments], list[int]]]:
    """Return, by part, a concentration, what is studied of the instances drawn with it, and some groups."""
    number, found = configuration["kairouz2016"]["populations"]["number"], _studies(configuration)
    return {
        f"{concentration:g}/{first // GROUPS_PER_FILE}": (
            concentration,
            [study for study in found if study["concentration"] == concentration],
            list(range(first + 1, min(first + GROUPS_PER_FILE, number) + 1)),
        )
        for concentration in sorted(
            {
                float(configuration["kairouz2016"]["concentration"]),
                *(study["concentration"] for study in found),
            }
        )
        for first in range(0, number, GROUPS_PER_FILE)
    }


def _studies(configuration: Configuration) -> list[Arguments]:
    """Return what is studied of fresh populations: the setting of the figures, other priors and levels."""
    paper = configuration["kairouz2016"]
    study, grid = paper["populations"], [e for e in values(paper["epsilon"]) if e > 0]
    drawn = {
        "concentration": float(paper["concentration"]),
        "ends": [min(grid), max(grid)],
        "drawn": True,
    }
    # Where the two mechanisms are equal does not depend on the least and the largest level.
    every, extremes = ["rr", "binary", "mixed"], ["rr", "binary"]
    other = {**drawn, "drawn": False}
    priors = [{**other, "concentration": float(x)} for x in study["concentrations"]]
    levels = [{**other, "ends": list(map(float, x)), "statistics": extremes} for x in study["ends"]]
    size = paper["size"]
    # Columns of more inputs are too many to list.
    sizes = sorted(k for k in {*paper["sizes"], size} if k <= 12)
    more = {max(sizes, default=0): priors, size: [*priors, *levels]}
    return [
        {"utility": utility, "size": k, "statistics": every if k == size else ["mixed"], **setting}
        for utility in ("kl", "mutual_information")
        for k in sizes
        for setting in [drawn, *more.get(k, [])]
    ]


def sensitivity(configuration: Configuration) -> Arguments:
    """Return the claims that other ways to draw the instances may decide otherwise."""
    return {"claims": claim_entries("kairouz2016", ["K-F3a", "K-F4", "K-F6", "K-F7"])}


def contradictions(configuration: Configuration) -> Iterator[str]:
    """Yield what in the section of the paper contradicts what."""
    paper = configuration["kairouz2016"]
    yield from grid_contradictions("kairouz2016.epsilon", paper["epsilon"])
    named = [entry for entry in paper["mechanisms"] if isinstance(entry, str)]
    if sorted(named) != sorted(MECHANISMS):
        yield (
            f"kairouz2016.mechanisms names {', '.join(named) or 'nothing'}; allowed are"
            f" {', '.join(MECHANISMS)}, and functions of your own beside them."
        )
    yield from own_contradictions("kairouz2016", paper, (*MECHANISMS, "optimal", "identity", "mixed"))
    pairs = {"scaling": paper["scaling"], **{f"expansions.{k}": v for k, v in paper["expansions"].items()}}
    for key, (first, second) in pairs.items():
        if not first < second:
            yield f"kairouz2016.{key} is [{first}, {second}]; allowed is the smaller number first."
    for i, (first, second) in enumerate(paper["populations"]["ends"]):
        if not first < second:
            yield (
                f"kairouz2016.populations.ends[{i}] is [{first}, {second}]; allowed is the smaller "
                "number first."
            )
    if paper["concentration"] in paper["populations"]["concentrations"]:
        yield (
            f"kairouz2016.populations.concentrations has {paper['concentration']}, which is that "
            "of the figures; "
            "allowed are others."
        )
    drawings = paper["drawings"]
    for name in ("p0", "p1"):
        if abs(math.fsum(drawings[name]) - 1.0) > 1e-9:
            total = f"{math.fsum(drawings[name]):.10g}"
            yield f"kairouz2016.drawings.{name} sums to {total}; allowed is a distribution, which sums to 1."
    if len(drawings["p0"]) != len(drawings["p1"]):
        yield (
            f"kairouz2016.drawings.p1 has {len(drawings['p1'])} entries; allowed are as many as p0 has,"
            f" {len(drawings['p0'])}."
        )
