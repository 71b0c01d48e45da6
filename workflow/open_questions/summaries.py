"""What the tables of what the papers left open contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from reproduction.results.tables import Schema

#: The utility that is no f-divergence by its kind.
MUTUAL_INFORMATION = "mutual information"


def _no_better(*columns: str, rounding: float = 1e-13) -> Callable[[pd.DataFrame], Iterator[tuple[Any, str]]]:
    """Return the rules of a table of optima: no value or comparison is above the bound."""

    def rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
        for column in ("value", *columns):
            above = table[column] > table["bound"] * (1.0 + 1e-9) + rounding
            yield above, f"has a {column} of {{{column}}}, above the bound {{bound}}"

    return rules


APPROXIMATE = Schema(
    name="approximate privacy",
    columns={
        "letters": "Int64",
        "utility": "str",
        "instance": "Int64",
        "epsilon": "float64",  # nats
        "delta": "float64",
        "value": "float64",  # of the optimum, in the unit of the utility
        "bound": "float64",  # on every (epsilon, delta)-LDP mechanism
        "mixture": "float64",  # of the truth with probability delta, else the optimum of delta 0
        "truth": "float64",  # of the truth
    },
    key=("letters", "utility", "instance"),
    rules=_no_better("mixture", rounding=0.0),
    finite=("value", "bound", "mixture", "truth"),
)
APPROXIMATE_GRID = replace(APPROXIMATE, key=(*APPROXIMATE.key, "epsilon", "delta"))
#: The instance is that of the table above in which a search began; the distributions have blanks between.
APPROXIMATE_SEARCH = replace(APPROXIMATE, columns={**APPROXIMATE.columns, "p": "str", "q": "str"})


HYPOTHESES = Schema(
    name="several hypotheses",
    columns={
        "letters": "Int64",
        "instance": "str",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # the largest least divergence over pairs, nats or 1
        "bound": "float64",
        "average": "float64",  # the least divergence of the mechanism of the best average
        "response": "float64",  # and of randomized response
        "single": "float64",  # the least optimum of one pair
    },
    key=("letters", "instance", "kind", "epsilon"),
    rules=_no_better("average", "response"),
    finite=("value", "bound", "average", "response", "single"),
)

ROBUST = Schema(
    name="robust tests",
    columns={
        "members": "str",  # what a ball is made of
        "instance": "str",
        "radius": "float64",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # of the saddle point, from below, nats or 1
        "bound": "float64",
        "centres": "float64",  # the least divergence of the best mechanism for the centres, from below
        "pairs": "Int64",  # of distributions in the last linear program
    },
    key=("members", "instance", "radius", "kind", "epsilon"),
    rules=_no_better("centres"),
    finite=("value", "bound", "centres"),
)

DISTRIBUTED = Schema(
    name="two people",
    columns={
        "letters": "Int64",
        "instance": "str",
        "kind": "str",  # of the divergence
        "epsilon": "float64",  # nats
        "value": "float64",  # of the best pair of mechanisms, nats or 1
        "bound": "float64",
        "alone": "float64",  # of the mechanisms that are best for each person's own values
        "response": "float64",  # of randomized response for both
        "outputs": "Int64",  # the larger number of outputs of the best pair
    },
    key=("letters", "instance", "kind", "epsilon"),
    rules=_no_better("alone", "response"),
    finite=("value", "bound", "alone", "response"),
)


def _leakage_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["bound"] > table["value"], "has the bound {bound}, above the leakage {value}"
    yield table["distortion"] > table["limit"] + 1e-12, "has a distortion of {distortion}, above its limit"


#: Least DP leakage at limits of a distortion whose largest entry is 1 (kalantari2018).
DISTORTIONS = Schema(
    name="distortions",
    columns={
        "letters": "Int64",
        "sources": "str",  # the class of the source set, as in Figures 4 and 5
        "measure": "str",
        "limit": "float64",
        "value": "float64",  # nats
        "bound": "float64",  # nats; no channel that keeps the limit leaks less
        "distortion": "float64",  # of the channel
        "status": "str",
    },
    key=("letters", "measure", "sources", "limit"),
    rules=_leakage_rules,
    finite=("value", "bound", "distortion"),
)


def _support_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["lower"] > table["upper"], "has the bounds {lower} and {upper}, in the wrong order"
    for side in (-1.0, 1.0):
        beyond = side * (table["closed_form"] - table["upper" if side > 0 else "lower"]) > 1e-12
        yield beyond.fillna(False), "has the optimum {closed_form}, outside {lower} to {upper}"


#: Least expected distance |X - Y| of mechanisms on [0, 1] (kalantari2018).
BOUNDED_SUPPORT = Schema(
    name="bounded support",
    columns={
        "source": "str",  # any, or the uniform one
        "epsilon": "float64",  # nats
        "cells": "Int64",
        "plain": "float64",  # the optimum on the middles of cells
        "lower": "float64",  # on all mechanisms on [0, 1]
        "upper": "float64",  # of a mechanism on [0, 1]
        "closed_form": "float64",  # the optimum, if there is a formula
        "points": "Int64",  # outputs that attain it
    },
    key=("source", "epsilon", "cells"),
    rules=_support_rules,
    finite=("plain", "lower", "upper"),
)


#: The metrics under which mechanisms are optimal: mutual information (liao2017), local privacy (kairouz2016),
#: and both at a Hamming distortion (kalantari2018).
INFORMATION, LOCAL = "mutual information", "local privacy"
DP_DISTORTION, MI_DISTORTION = "DP leakage at a distortion", "MI leakage at a distortion"


def _metric_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for column in ("best_information", "best_local"):
        beyond = table["utility"] > table[column] * (1.0 + 1e-6) + 1e-12
        yield beyond, f"has a utility of {{utility}}, above {{{column}}}"


#: What mechanisms that are optimal under one privacy metric leak by the others (liao2017).
METRICS = Schema(
    name="metrics",
    columns={
        "instance": "str",
        "letters": "Int64",
        "metric": "str",  # that the mechanism is optimal for
        "limit": "float64",  # bits, nats, or a distortion
        "utility": "float64",  # least relative entropy from the first hypothesis, bits
        "information": "float64",  # largest mutual information of a hypothesis, bits
        "epsilon": "float64",  # nats; may be infinite
        "worst_information": "float64",  # largest mutual information of a mixture of the hypotheses, bits
        "best_information": "float64",  # bound on the utility at that mutual information
        "best_local": "float64",  # bound on it at that level
    },
    key=("instance", "metric", "limit"),
    rules=_metric_rules,
    finite=("utility", "information", "worst_information"),
)


#: Independent reporting (lopuhaa2024), as shares of the entropy of the record.
COMPONENTS = Schema(
    name="components",
    columns={
        "instance": "str",
        "epsilon": "float64",  # nats
        "response": "float64",  # of the paper: randomized response for both
        "components": "float64",  # with the best components found
        "polyopt": "float64",
    },
    key=("instance", "epsilon"),
    finite=("response", "components", "polyopt"),
)


def _unasked_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    most = table["known_bound"] * (1.0 + 1e-9)
    for column in ("simplex", "exact", "association", "local", "information", "merged"):
        yield table[column] > most, f"has {column} {{{column}}}, above what a known distribution allows"
    for column in ("known", "simplex", "exact"):
        above = table[column] > table[f"{column}_bound"] * (1.0 + 1e-9)
        yield above, f"has {column} {{{column}}}, above its bound"


#: Mechanisms that see U alone, with the information about U in nats.
UNASKED = Schema(
    name="a secret that is not asked",
    columns={
        "sensitive": "str",
        "useful": "str",
        "epsilon": "float64",  # nats
        "entropy": "float64",  # of U
        "known": "float64",  # optimum of a known distribution
        "known_bound": "float64",
        "simplex": "float64",  # over the simplices of PolyOpt
        "simplex_bound": "float64",
        "exact": "float64",  # over F; missing for larger tables
        "exact_bound": "float64",
        "association": "float64",  # for acquaintances
        "local": "float64",  # local privacy of U
        "information": "float64",  # local information privacy at half of the level, distribution known
        "merged": "float64",  # the best way to merge values, distribution known
    },
    key=("sensitive", "useful", "epsilon"),
    rules=_unasked_rules,
    finite=("entropy", "known", "simplex", "association", "local", "information", "merged"),
)

#: The least information over F, nats.
LEAST = Schema(
    name="least information over F",
    columns={
        "table": "str",  # of Adult, or the size and number of a random one
        "records": "Int64",
        "epsilon": "float64",  # nats
        "value": "float64",  # proved of the best mechanism
        "bound": "float64",  # on all mechanisms of the class
        "published": "float64",  # at a member of F, of PolyOpt
        "centre": "float64",  # of PolyOpt, under the centre
        "centre_of_least": "float64",  # of the best mechanism, under the centre
    },
    key=("table", "records", "epsilon"),
    rules=_no_better(),
    finite=("value", "bound", "published", "centre", "centre_of_least"),
)

#: Local privacy within blocks, nats.
BLOCKS = Schema(
    name="privacy within blocks",
    columns={
        "instance": "Int64",
        "epsilon": "float64",  # nats
        "value": "float64",  # of the closed form
        "optimum": "float64",  # over the cone
        "bound": "float64",
        "local": "float64",  # optimum of local privacy of all inputs
    },
    key=("instance", "epsilon"),
    rules=_no_better("optimum", "local"),
    finite=("value", "optimum", "bound", "local"),
)
