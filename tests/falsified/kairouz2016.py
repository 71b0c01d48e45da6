"""What tables of kairouz2016 may say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from falsified import Case, changed, measuring, of_checks
from papers.kairouz2016 import checks
from papers.kairouz2016.checks import theorems
from papers.kairouz2016.populations import POPULATIONS
from papers.kairouz2016.summaries import EFFECTIVE_ORDER, EFFECTIVE_SHARE
from reproduction.ledger.claims import claims_of
from reproduction.planning.paper import papers
from reproduction.results.tables import CHECKS, RESULTS, Result, select
from support.instances import sweep

LEDGER = {claim.id: claim for claim in claims_of(papers()["kairouz2016"])}

# Tables ---------------------------------------------------------------------------------------------------


def table(*rows: Mapping[str, Any], **common: Any) -> pd.DataFrame:
    """Build a result table: what a row leaves out has a plain value."""
    plain = {
        "paper": "kairouz2016",
        "experiment": "any",
        "size": "6",
        "instance": "000",
        "mechanism": "any",
        "epsilon": 1.0,
        "metric": "any",
        "unit": "1",
    }
    return RESULTS.table(Result(**plain | common | row) for row in rows)


def minima(
    utility: str, values: Mapping[tuple[str, str], tuple[float, float]], number: int = 39, drawn: bool = True
) -> pd.DataFrame:
    """Build fresh populations: by size and statistic the least and the largest minimum."""
    return POPULATIONS.table(
        {
            "paper": "kairouz2016",
            "utility": utility,
            "size": size,
            "concentration": 1.0,
            "statistic": statistic,
            "range": "0.1 to 10",
            "drawn": drawn,
            "population": population,
            "instances": 100,
            "least": low + (high - low) * population / number,
            "certified": low,
            "instance": f"{population}00",
            "epsilon": 1.0,
        }
        for (size, statistic), (low, high) in values.items()
        for population in range(number + 1)[1:]
    )


def expansion(claim: str, order: float) -> pd.DataFrame:
    """Build the expansions of a corollary with a remainder of some order."""
    corollary = LEDGER[claim].arguments["corollary"]
    rows = [
        {"mechanism": variant, "metric": name, "value": value}
        for variant in ("computed", "printed", "derived")
        for name, value in (("constant", 2.0), ("order", order if variant == "printed" else 4.0))
    ]
    if corollary == "corollary 9":
        rows.append({"mechanism": "printed", "metric": "symmetrized", "value": 1.0})
    return table(*rows, experiment=corollary)


def ratios(
    rr: float, binary: float, metric: str, sizes: tuple[str, ...] = ("6",), instances: int = 100
) -> pd.DataFrame:
    """Build a sweep of which the first instance has the least shares of the optimum."""
    values = {"rr": rr, "binary": binary, "optimal": 1.0}
    rows = (
        {"size": k, "instance": f"{i:03d}", "mechanism": name, "value": max(value, 1 - i)}
        for k in sizes
        for i in range(instances)
        for name, value in values.items()
    )
    return table(*rows, metric=metric, bound=1.0, direction="max", status="closed form")


def points(metric: str) -> pd.DataFrame:
    """Build three instances at a small and a large level, on which the optimum is as expanded."""
    values = {"optimal": 1.0, "printed": 1.0, "geometric": 0.5, "binary": 1.0, "rr": 0.8}
    return table(
        *(
            {"instance": f"{i:03d}", "mechanism": name, "value": value * (1 + i), "epsilon": epsilon}
            for i in range(3)
            for name, value in values.items()
            for epsilon in (0.1, 10.0)
        ),
        metric=metric,
    )


# Claims ---------------------------------------------------------------------------------------------------


def _theorems() -> dict[str, Case]:
    """Falsify what the checks are made from: levels, values and bounds of a sweep, at one of its levels."""
    sweeps = {
        utility: sweep(utility, 3, [0], [0.5, 2.0], seed=1) for utility in ("kl", "mutual_information", "tv")
    }

    def checked(*tables: pd.DataFrame) -> pd.DataFrame:
        with patch.object(checks, "_ANY_COLUMNS", 0), patch.object(checks, "_STATEMENTS", 0):
            return theorems(*tables, channels=0, seed=1)

    parts = {utility: checked(rows) for utility, rows in sweeps.items()}
    # What depends on no sweep.
    apart = theorems(channels=1, seed=1)

    def made(**other: pd.DataFrame) -> pd.DataFrame:
        return CHECKS.conform(pd.concat([*(parts | other).values(), apart]))

    def instead(
        utility: str, change: Callable[[pd.DataFrame], object] | float, column: str = "value", **where: object
    ) -> dict[str, pd.DataFrame]:
        at = {"epsilon": 0.5, "metric": utility} | where
        return {"theorems": made(**{utility: checked(changed(sweeps[utility], change, column, **at))})}

    def short(share: Callable[[float], float]) -> Callable[[pd.DataFrame], object]:
        return lambda rows: rows["bound"] * rows["epsilon"].map(share)

    said = made()
    second = select(said, claim="K-T2").reset_index(drop=True)
    bounds = second.index[second["quantity"].str.startswith("bound on columns of any ratios")]
    rest: dict[str, dict[str, dict[str, pd.DataFrame]]] = {
        "K-T2": {
            f"{what}, {utility}": falsified
            for utility in sweeps
            for what, falsified in {
                "k + 1 outputs": instead(utility, 4, "outputs", mechanism="optimal"),
                "another ratio in a column": instead(utility, 1e-5, metric="staircase_error"),
            }.items()
        }
        | {
            f"other columns are better, {row}": {"theorems": measuring(second, row, 1 + 1e-7)}
            for row in bounds[:3]
        },
        "K-T6": {
            "binary below the optimum": instead("tv", short(lambda _: 1 - 3e-9), mechanism="binary"),
            "another distance in the formula": instead(
                "tv", lambda rows: rows["value"] * (1 + 1e-7), epsilon=math.inf, mechanism="identity"
            ),
        },
        "K-T7": {
            "binary below the bound": instead(
                "kl", short(lambda epsilon: 0.999 / (2 * (math.exp(epsilon) + 1) ** 2)), mechanism="binary"
            )
        },
        "K-T13": {
            "binary below the bound": instead(
                "mutual_information",
                short(lambda epsilon: 0.999 / (1 + math.exp(epsilon))),
                mechanism="binary",
            )
        },
    }
    quaternary = of_checks(
        "K-T18",
        "theorems",
        said,
        {
            "distance of error regions inside": -1e-8,
            "distance of the quaternary region": 1e-8,
            **{
                f"excess over the quaternary mechanism in {words}": 1e-8
                for words in ("Hellinger", "KL", "mutual information", "total variation", "χ²")
            },
        },
    )
    return {
        **{claim: Case({"theorems": said}, falsified) for claim, falsified in rest.items()},
        **_statements(said),
        "K-T18": quaternary,
    }


def _statements(made: pd.DataFrame) -> dict[str, Case]:
    """Let a statement without a theorem miss its limit by a little, on the first of the instances."""
    effective = select(made, claim="K-S1")
    as_number = changed(effective, 1.0, "measured", quantity=EFFECTIVE_SHARE).assign(holds=True)
    orders = [*as_number.index[as_number["quantity"] == EFFECTIVE_ORDER]]
    # Of the pairs only those on which the printed G is not too large.
    kept = select(made, claim="K-S3b", holds=True)
    return {
        "K-L26": of_checks("K-L26", "theorems", made, {"optimum over": 1 + 1e-8}),
        "K-L27": of_checks("K-L27", "theorems", made, {"ratio": 1 + 1e-8}),
        "K-S1": Case(
            {"theorems": as_number},
            {
                f"of order {order:g}": {"theorems": measuring(as_number, orders[0], order)}
                for order in (1.0, 1.94, 2.06)
            },
            {"theorems": effective},
        ),
        "K-S3a": of_checks("K-S3a", "theorems", made, {"exponent": 1 + 1e-8, "second": 1 + 1e-8}),
        "K-S3b": of_checks("K-S3b", "theorems", kept, {"loss": lambda limit: limit - 1e-6}),
    }


def _thresholds(claim: str) -> Case:
    arguments = LEDGER[claim].arguments
    binary = arguments["mechanism"] == "binary"

    def falsified(number: float, utility: str) -> dict[str, pd.DataFrame]:
        """The second of two instances has another threshold."""
        rows = [{"metric": name} for name in arguments["utilities"]]
        first = table(*rows, mechanism=arguments["mechanism"], value=3.0)
        return {
            "thresholds": pd.concat(
                [first, changed(first.assign(instance="001"), number, metric=utility)], ignore_index=True
            )
        }

    # A mechanism that falls short by 0.1 ε counts as optimal up to 1e-8.
    others = {"none": 0.0, "rounding": 1e-8} if binary else {"none": math.inf, "past the grid": 41.0}
    return Case(
        falsified(1e-5 if binary else 39.0, arguments["utilities"][0]),
        {
            f"{words}, {utility}": falsified(number, utility)
            for words, number in others.items()
            for utility in arguments["utilities"]
        },
    )


def _expansions() -> dict[str, Case]:
    def cases_of(claim: str, order: float, orders: list[float], **others: tuple[str, list[float]]) -> Case:
        said = expansion(claim, order)
        falsified = {f"order {other:g}": {"expansions": expansion(claim, other)} for other in orders}
        for metric, (mechanism, values) in others.items():
            for value in values:
                falsified[f"{metric} {value:g}"] = {
                    "expansions": changed(said, value, metric=metric, mechanism=mechanism)
                }
        return Case({"expansions": said}, falsified)

    # Of a printed constant of 2: half, double, and a little beyond the tolerance.
    constants = ("computed", [1.0, 1.89, 2.11, 4.0])
    sums = ("printed", [0.5, 0.94, 1.06, 2.0])

    def bound(level: float, limit: float) -> dict[str, pd.DataFrame]:
        rows = [
            {"metric": name, "value": value, "instance": instance}
            for instance, numbers in (("000", (3.0, 1.0)), ("001", (level, limit)))
            for name, value in zip(("level", "limit"), numbers, strict=True)
        ]
        return {"expansions": table(*rows, experiment="corollary 16", mechanism="printed")}

    return {
        "K-C9": cases_of("K-C9", 3.0, [2.0, 2.7], constant=constants, symmetrized=sums),
        "K-C10": cases_of("K-C10", 2.0, [1.0, 1.5]),
        "K-C15": cases_of("K-C15", 3.0, [2.0, 2.7], constant=constants),
        "K-C16b": cases_of("K-C16b", 2.0, [1.0, 1.5]),
        "K-C16": Case(
            bound(9.0, 1.04),
            {
                "more at every ε": bound(np.inf, 1.0),
                "a larger term would do": bound(9.0, 1.06),
                "half of the term": bound(9.0, 0.5),
                "less than the term": bound(9.0, 0.94),
            },
        ),
    }


def _minima(claim: str, statistics: Mapping[tuple[str, str], list[float]]) -> Case:
    """Move all minima of one size and statistic beyond what is stated, by a little more than its rounding.

    Several numbers are stated if text and caption differ.
    """
    utility = LEDGER[claim].arguments["utility"]
    name = LEDGER[claim].tables[0]
    sizes = tuple(dict.fromkeys(size for size, _ in statistics))

    def of(values: Mapping[tuple[str, str], tuple[float, float]]) -> dict[str, pd.DataFrame]:
        return {name: ratios(0.3, 0.3, utility, sizes=sizes), "populations": minima(utility, values)}

    said = {key: (min(stated) - 0.01, max(stated) + 0.02) for key, stated in statistics.items()}
    return Case(
        of(said),
        {
            f"{words}, {' '.join(key)}": of(said | {key: other})
            for key, stated in statistics.items()
            for words, other in {
                "less": (min(stated) - 0.1, min(stated) - 0.026),
                "more": (max(stated) + 0.03, max(stated) + 0.1),
            }.items()
        },
    )


def _geometric(claim: str) -> Case:
    """Let both, or one of them, be no better than the geometric mechanism."""
    name = LEDGER[claim].tables[0]
    said = points("normalized")

    def least(share: float, mechanisms: list[str], epsilon: float) -> dict[str, pd.DataFrame]:
        at = {"epsilon": epsilon, "mechanism": mechanisms}
        return {name: changed(said, lambda rows: share * 0.5 * (1 + rows["instance"].astype(float)), **at)}

    return Case(
        {name: said},
        {
            f"both have {share:g} of geometric at ε = {epsilon:g}": least(share, ["binary", "rr"], epsilon)
            for share in (0.5, 0.999, 1.0)
            for epsilon in (0.1, 10.0)
        }
        | {"binary alone, as the caption may be read": least(0.5, ["binary"], 10.0)},
    )


def _scaling(claim: str) -> Case:
    name, metric = LEDGER[claim].tables[0], LEDGER[claim].arguments["utility"]
    said = points(metric)
    others: dict[str, Callable[[pd.DataFrame], object]] = {
        "below it": lambda rows: rows["value"] * 1.13,
        "above it": lambda rows: rows["value"] / 1.13,
        "another power": lambda rows: rows["value"] ** 3 / rows["value"].median() ** 2,
        "no relation": lambda rows: rows["value"].to_numpy()[::-1],
    }
    falsified = {
        f"{words} at ε = {epsilon:g}": {name: changed(said, other, mechanism="printed", epsilon=epsilon)}
        for words, other in others.items()
        for epsilon in (0.1, 10.0)
    } | {
        f"geometric as good on an instance at ε = {epsilon:g}": {
            name: changed(said, 2.0, mechanism="geometric", instance="001", epsilon=epsilon)
        }
        for epsilon in (0.1, 10.0)
    }
    return Case({name: said}, falsified)


@cache
def cases() -> dict[str, Case]:
    """Return the cases of all claims, by id."""
    figure3, figure6 = partial(_minima, "K-F3a"), partial(_minima, "K-F6")
    return {
        **_theorems(),
        **{claim: _thresholds(claim) for claim in ("K-T5", "K-T8", "K-T12", "K-T14")},
        **_expansions(),
        "K-F3a": figure3({("6", "rr"): [0.1], ("6", "binary"): [0.25]}),
        "K-F6": figure6({("6", "rr"): [0.35], ("6", "binary"): [0.35, 0.4]}),
        "K-F4": _minima("K-F4", {("6", "mixed"): [0.7], ("12", "mixed"): [0.55]}),
        "K-F7": _minima("K-F7", {("6", "mixed"): [0.75], ("12", "mixed"): [0.65]}),
        **{claim: _geometric(claim) for claim in ("K-F3b", "K-F6b")},
        **{claim: _scaling(claim) for claim in ("K-F5", "K-F8")},
    }
