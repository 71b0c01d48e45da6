"""The parts and the arguments of the tables of what the papers left open."""

from __future__ import annotations

from collections.abc import Iterable

from papers.kalantari2018 import plan as kalantari2018
from papers.liao2017 import plan as liao2017
from reproduction.planning.configuration import Arguments, Configuration, PartsByName, grid
from reproduction.planning.paper import Counts


def approximate(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of approximately private mechanisms: numbers of letters."""
    study, seed = configuration["open_questions"]["approximate"], configuration["seed"]
    rest = {name: study[name] for name in ("instances", "utilities")} | {"seed": seed}
    return {f"{letters}-letters": {"letters": letters, **rest} for letters in study["letters"]}


def approximate_grid(configuration: Configuration) -> PartsByName:
    """Return the parts of the same over the levels of kairouz2016: numbers of letters."""
    study, seed = configuration["open_questions"]["approximate_grid"], configuration["seed"]
    levels = {name: sorted(map(float, study[name])) for name in ("epsilons", "deltas")}
    rest = {name: study[name] for name in ("instances", "utilities")}
    return {
        f"{letters}-letters": {"letters": letters, **rest, **levels, "seed": seed}
        for letters in study["letters"]
    }


def hypotheses(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of several hypotheses: the named ones, and numbers of letters."""
    study, seed = configuration["open_questions"]["hypotheses"], configuration["seed"]
    sizes = {"named": None, **{f"{letters}-letters": letters for letters in study["letters"]}}
    rest = {name: study[name] for name in ("count", "instances", "epsilons")}
    return {name: {"letters": letters, **rest, "seed": seed} for name, letters in sizes.items()}


def robust(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of robust tests: what the classes are balls of."""
    study, seed = configuration["open_questions"]["robust"], configuration["seed"]
    rest = {name: study[name] for name in ("letters", "instances", "epsilons")}
    return {
        members.replace(",", "").replace(" ", "-"): {
            "members": members,
            "radii": radii,
            **rest,
            "seed": seed,
        }
        for members, radii in study["radii"].items()
    }


def distributed(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of two people: independence, and random joint distributions."""
    study, seed = configuration["open_questions"]["distributed"], configuration["seed"]
    kinds = {
        "independence": {"alike": study["alike"], "epsilons": study["epsilons"]},
        "random": {"alike": None, "epsilons": study["random_epsilons"]},
    }
    return {
        f"{name}-{letters}": {"letters": letters, "instances": study["instances"], **given, "seed": seed}
        for name, given in kinds.items()
        for letters in study["letters"]
    }


def distortions(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of other distortions: the sources of Figures 4 and 5 of kalantari2018."""
    study = configuration["open_questions"]["distortions"]
    return {
        f"{letters}-letters-{measure}": {
            "sources": figure["sources"],
            "measure": measure,
            "limits": grid(**study["limits"]),
        }
        for letters, figure in kalantari2018.tradeoff(configuration).items()
        for measure in study["measures"]
    }


def bounded_support(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of sources on an interval: numbers of cells."""
    study = configuration["open_questions"]["bounded_support"]
    return {f"{n}-cells": {"cells": [n], "epsilons": study["epsilons"]} for n in study["cells"]}


def metrics(configuration: Configuration) -> Arguments:
    """Return the arguments of the comparison of privacy metrics."""
    return {"instances": liao2017.read_instances(), **configuration["open_questions"]["metrics"]}


def components(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of independent reporting: pairs of attributes of Adult."""
    study = configuration["open_questions"]["components"]
    return {
        f"{pair['sensitive']}-{pair['useful']}": {
            "counts": Counts("adult", pair["sensitive"], pair["useful"]),
            "instance": f"{pair['sensitive']}, {pair['useful']}",
            **{name: study[name] for name in ("epsilons", "beta", "order")},
        }
        for pair in study["pairs"]
    }


def _tables(pairs: Iterable[tuple[str, str]]) -> dict[str, Counts]:
    """Return the tables of pairs of attributes of Adult, as arguments of a part."""
    return {
        f"{sensitive}_{useful}".replace("-", "_"): Counts("adult", sensitive, useful)
        for sensitive, useful in pairs
    }


def unasked(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of a secret that is not asked: sensitive attributes of Adult."""
    study = configuration["open_questions"]["unasked"]
    rest = {name: study[name] for name in ("epsilons", "letters", "cells", "beta", "order")}
    parts = {}
    for sensitive in study["attributes"]:
        useful = [name for name in study["attributes"] if name != sensitive]
        tables = _tables((sensitive, name) for name in useful)
        parts[sensitive] = {"sensitive": sensitive, "useful": useful, **rest, **tables}
    return parts


def least(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of the least information: sizes of random tables, and pairs of Adult."""
    study, seed = configuration["open_questions"]["least"], configuration["seed"]
    rest = {name: study[name] for name in ("instances", "records", "epsilons")} | {"seed": seed}
    pairs = [(pair["sensitive"], pair["useful"]) for pair in study["pairs"]]
    parts = {"-".join(map(str, shape)): {"shape": shape, "names": [], **rest} for shape in study["shapes"]}
    names = [", ".join(pair) for pair in pairs]
    return {**parts, "adult": {"shape": None, "names": names, **rest, **_tables(pairs)}}


def blocks(configuration: Configuration) -> Arguments:
    """Return the arguments of the comparison of a closed form with the optimum within blocks."""
    return {**configuration["open_questions"]["blocks"], "seed": configuration["seed"]}
