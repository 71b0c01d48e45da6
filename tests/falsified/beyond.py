"""What tables of the project's own results may say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any

import pandas as pd

from falsified import Case, Tables, changed

SIZES = ("2 x 5", "2 x 6")


def table(levels: Sequence[float] = (0.075, 1.0), **columns: Any) -> pd.DataFrame:
    """Build a table: the same columns on both small tables at every level."""
    rows = [
        {"size": size, "instance": f"of {size}", "epsilon": epsilon, **columns}
        for size in SIZES
        for epsilon in levels
    ]
    return pd.DataFrame(rows)


def one(name: str, said: pd.DataFrame, column: str, **instead: tuple[float, Mapping[str, Any]]) -> Case:
    """Return a case whose tables have, by what they say instead, another number in some rows."""
    others: dict[str, Tables] = {
        words.replace("_", " "): {name: changed(said, value, column, **where)}
        for words, (value, where) in instead.items()
    }
    return Case({name: said}, others)


def both(one: Case, other: Case) -> Case:
    """Return the case of two about the same table."""
    return Case(one.said, {**one.instead, **other.instead})


def by_mechanism(table: pd.DataFrame, column: str, numbers: Mapping[str, float]) -> pd.DataFrame:
    """Return the rows of a table for every mechanism, with another number in a column."""
    return pd.concat(table.assign(mechanism=name, **{column: number}) for name, number in numbers.items())


@cache
def cases() -> dict[str, Case]:
    """Return what the tables of every claim may say."""
    return {
        **_of_information(),
        **_of_many_pairs(),
        **_of_drift(),
        **_of_promises(),
        **_of_attackers(),
        **_of_the_papers(),
    }


def _of_information() -> dict[str, Case]:
    calibrated = pd.concat(
        [
            table(mechanism="polyopt", nmi_calibrated=0.2, realized=0.07, exact=0.4, bound=0.40003),
            table(mechanism="exact", nmi_calibrated=math.nan, realized=0.07, exact=0.4, bound=0.40003),
        ]
    )
    factors = {("2 x 5", 0.075): 1.92, ("2 x 6", 0.075): 2.1, ("2 x 5", 1.0): 1.05, ("2 x 6", 1.0): 1.02}
    for (size, epsilon), factor in factors.items():
        where = {"mechanism": "polyopt", "size": size, "epsilon": epsilon}
        calibrated = changed(calibrated, 0.4 / factor, "nmi_calibrated", **where)
    polyopt, low = {"mechanism": "polyopt"}, {"size": "2 x 6", "epsilon": 0.075}
    disclosure = table(mechanism="exact", conditional_epsilon=math.inf, useful_given=0.4, information=0.5)
    people = by_mechanism(
        table(epsilon=1.0, target="cells", conditional_epsilon=math.inf, error=2.0, bound=1.99),
        "people",
        {"least_error_set": 1730.0, "exact": 2900.0},
    )
    best = {"mechanism": "least_error_set", "size": "2 x 6"}
    return {
        "F-1": one(
            "calibrated",
            calibrated,
            "nmi_calibrated",
            by_2_12=(0.4 / 2.12, polyopt | low),
            by_1_90=(0.4 / 1.9, polyopt | {"size": "2 x 5", "epsilon": 0.075}),
            by_1_06=(0.4 / 1.06, polyopt | {"size": "2 x 5", "epsilon": 1.0}),
            by_1_01=(0.4 / 1.01, polyopt | {"size": "2 x 6", "epsilon": 1.0}),
        ),
        "F-2": one("calibrated", calibrated, "bound", loose=(0.40005, low | {"mechanism": "exact"})),
        "F-3": one("calibrated", calibrated, "realized", as_asked_for=(0.075, polyopt | low)),
        "F-4": one("disclosure", disclosure, "useful_given", less=(0.24, {"size": "2 x 5", "epsilon": 1.0})),
        "F-12": both(
            one(
                "people",
                people,
                "people",
                fewer=(1640.0, best),
                as_many=(2960.0, {"mechanism": "exact", "size": "2 x 6"}),
            ),
            one("people", people, "bound", loose=(1.97, best)),
        ),
    }


def _of_many_pairs() -> dict[str, Case]:
    gain = pd.DataFrame(
        {
            "name": "polyopt",
            "quantity": ["gain", "gain", "bound of the gain", "gain"],
            "tables": ["small", "small", "small", "all"],
            "epsilon": [0.075, 1.0, 0.075, 0.075],
            "pairs": 14,
            "lower": [1.09, 1.00, 9.0, 9.0],
            "median": [1.51, 1.01, 9.0, 9.0],
            "upper": [1.87, 1.03, 9.0, 9.0],
        }
    )
    low, high = ({"quantity": "gain", "tables": "small", "epsilon": epsilon} for epsilon in (0.075, 1.0))
    name = "pairs_gain"
    cases = [
        one(name, gain, "median", more=(1.51 + 0.02, low), less_at_1=(1.01 - 0.02, high)),
        one(name, gain, "lower", lower=(1.09 - 0.02, low), higher_at_1=(1.00 + 0.02, high)),
        one(name, gain, "upper", another=(1.87 - 0.02, low), another_at_1=(1.03 + 0.02, high)),
        one(name, gain, "pairs", thirteen=(13, low)),
    ]
    return {"F-18": reduce(both, cases)}


def _of_drift() -> dict[str, Case]:
    survived = {("polyopt", 1.0): 0.82, ("exact", 1.0): 0.11, ("exact", 8.0): 0.95}
    nmi = {("polyopt", 1.0): 0.371, ("exact", 1.0): 0.46, ("exact", 8.0): 0.408}
    drift = pd.DataFrame(
        {
            "size": "2 x 5",
            "instance": "sex, race",
            "epsilon": 0.3,
            "drift": "whole distribution",
            "records": 2035.0,
            "mechanism": mechanism,
            "factor": factor,
            "nmi": nmi[mechanism, factor],
            "survived": share,
            "standard_error": math.sqrt(share * (1.0 - share) / 20_000),
        }
        for (mechanism, factor), share in survived.items()
    )
    polyopt, exact = {"mechanism": "polyopt"}, {"mechanism": "exact", "factor": 1.0}
    wider = {"mechanism": "exact", "factor": 8.0}
    shares = one(
        "drift",
        drift,
        "survived",
        polyopt_keeps_it_less=(0.80, polyopt),
        the_optimum_keeps_it_more=(0.125, exact),
        a_larger_set_keeps_it_less=(0.935, wider),
    )
    errors = one("drift", drift, "standard_error", fewer_were_drawn=(0.005, polyopt))
    return {
        "F-5": both(shares, errors),
        "F-6": one("drift", drift, "nmi", less=(0.369, polyopt), more=(0.409, wider)),
    }


def _of_promises() -> dict[str, Case]:
    promises = pd.concat(
        [
            table(promise="set", over_set=0.07, given_useful=0.075, one_of_two=0.07, kept=0.92),
            table(promise="insiders", over_set=0.07, given_useful=0.07, one_of_two=math.log(50), kept=1.0),
            table(promise="intervals", over_set=0.98, given_useful=0.07, one_of_two=0.07, kept=0.9),
        ]
    )
    first, second = ({"promise": "set", "size": size, "epsilon": 1.0} for size in SIZES)
    promises = changed(promises, 0.464, "kept", **second)
    promises = changed(promises, 1.059, "over_set", promise="intervals", size="2 x 5", epsilon=1.0)
    set_, hole = (
        {"promise": "set", "epsilon": 0.075},
        {"promise": "insiders", "size": "2 x 6", "epsilon": 1.0},
    )
    name = "promises_kept"
    return {
        "F-7": one(name, promises, "one_of_two", by_47=(math.log(47), hole), by_52=(math.log(52), hole)),
        "F-9": both(
            one(name, promises, "given_useful", insiders_are_told_more=(0.0751, set_ | {"size": "2 x 5"})),
            one(name, promises, "over_set", outsiders_are_told_more=(0.0751, set_)),
        ),
        "F-10": one(name, promises, "kept", less=(0.905, first), more=(0.48, second)),
        "F-11": one(name, promises, "over_set", kept=(1.0, {"promise": "intervals", "epsilon": 1.0})),
    }


def _of_attackers() -> dict[str, Case]:
    attackers = pd.concat(
        [table(mechanism="polyopt", given_useful=math.inf), table(mechanism="srr", given_useful=0.1)]
    )
    people = pd.DataFrame({"instance": "a", "knowledge": ["sex is Female", "nothing"], "epsilon": 1.0})
    shares = {"polyopt": 0.828, "exact": 0.97, "exact_and_insiders": 0.49, "association_set": 0.0}
    attacked = by_mechanism(people, "beyond", shares)
    woman = {"knowledge": "sex is Female"}
    return {
        "F-8": one("attacked", attacked, "beyond", fewer=(0.82, woman | {"mechanism": "polyopt"})),
        "F-15": one(
            "attackers",
            attackers,
            "given_useful",
            finite=(9.0, {"size": "2 x 6", "epsilon": 0.075, "mechanism": "polyopt"}),
        ),
        "F-16": one(
            "attacked",
            attacked,
            "beyond",
            fewer_over_the_set=(0.96, woman | {"mechanism": "exact"}),
            more_with_both_levels=(0.5, woman | {"mechanism": "exact_and_insiders"}),
        ),
        "F-17": one(
            "attacked",
            attacked,
            "beyond",
            one=(0.001, {"mechanism": "association_set", "knowledge": "nothing"}),
        ),
    }


def _of_the_papers() -> dict[str, Case]:
    shares = pd.DataFrame(
        {"instance": [*"abcdef"], "leakage": 1e-5, "share_of_2": [0.41, 0.64, 0.78, 0.98, 0.99, 1.0]}
    )
    coverage = pd.DataFrame(
        {
            "size": "15 x 16",
            "instance": "a",
            "order": 2.0,
            "method": "asymptotic",
            "beta": 0.05,
            "records": 326,
            "truth": ["rare cells, 0.86 expected in all", "like the table"],
            "covered": [0.42, 0.9],
            "samples": 10_000,
        }
    )
    return {
        "F-13": one(
            "liao2017/shares",
            shares,
            "share_of_2",
            better=(0.45, {"instance": "a"}),
            worse=(0.72, {"instance": "c"}),
            four=(0.7, {"instance": "d"}),
        ),
        "F-14": one(
            "lopuhaa2024/coverage",
            coverage,
            "covered",
            more=(0.45, {"truth": "rare cells, 0.86 expected in all"}),
            less=(0.39, {"truth": "rare cells, 0.86 expected in all"}),
        ),
    }
