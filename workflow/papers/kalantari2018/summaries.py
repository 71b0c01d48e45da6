"""The statements of kalantari2018, checked on its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from reproduction.results.tables import CHECKS, Check, Relation, Row, select

PAPER = "kalantari2018"
DP, MI = "dp_leakage", "mi_leakage"

#: Theorem 2 as its proof reads it, and as it is printed.
ORDERED, PRINTED = "distance from the exact optimum, with D_1 ≤ D_i", "shortfall of (11) as printed"

#: Theorem 3: its lower bound where the folding permutations form a group and where they need not, its upper
#: bound, and how far the two are apart where the folded sets agree and where they need not.
LOWER, LOWER_NO_GROUP = "lower bound minus optimum", "lower bound minus optimum, no group"
UPPER = "upper bound minus optimum"
WIDTH, WIDTH_DIFFERING = "width where the folded sets agree", "width where they may differ"

#: The example of Section II-D.
NOT_SUBLINEAR = "U(Q1 + Q2) minus U(Q1) + U(Q2)"

#: By number of letters: the claims on DP leakage alone, and beside MI leakage.
FIGURES = {"6": ("Ka-F4", "Ka-F6"), "10": ("Ka-F5", "Ka-F7")}

#: The classes in the order in which knowing less leaks more.
CLASSES = ("II", "III a", "III b", "III c", "I")


def checks(
    tradeoff: pd.DataFrame,
    bounds: pd.DataFrame,
    random: pd.DataFrame,
    *,
    tolerance: Mapping[str, float],
    convex: float,
    gain: float,
    no_group: Sequence[str],
    differing: Sequence[str],
) -> pd.DataFrame:
    """Check the statements of the paper on the sets of the paper, those of Theorem 3, and the random ones.

    One row per statement and source set (or family of random sets), the extreme over the grid, with the
    distortion at which it occurs:

    - ``Ka-S2``: the excess of the utility of a sum in the example, whose distortions are 0 and 1;
    - ``Ka-T1``, ``Ka-T2``, ``Ka-L5``: largest distance of the formula from the optimum, 0; of Theorem 2 also
      the largest amount by which (11) as printed is too small;
    - ``Ka-T3``: largest excess of the lower bound over the optimum, at most 0; least excess of the upper
      bound, at least 0; largest distance between the two, 0 where the folded sets agree;
    - ``Ka-L6``: largest MI leakage at D >= D^(M-1), 0; least below it, positive;
    - ``Ka-F4`` (M = 6), ``Ka-F5`` (M = 10): the largest D up to which knowing the set gains nothing on
      Class I, which is to be on the grid; the largest gain; the least increase to the next set of `CLASSES`,
      at least 0;
    - ``Ka-F6``, ``Ka-F7``: the least DP minus MI leakage where DP is positive, above 0; their largest
      distance where DP is 0, 0; the least second difference of MI leakage, at least 0, and of DP leakage,
      below 0 as it is not convex.

    In nats, `tolerance` is what counts as equal, by the measure of the leakage, `convex` what a second
    difference may miss 0 by, and `gain` what counts as a large gain. The folding permutations of the sets, or
    families, in `no_group` need not form a group, and the folded sets in `differing` need not agree.
    """
    exact, near = tolerance[DP], tolerance[MI]
    rows: list[Row] = []
    for table in (tradeoff, bounds):
        for (size, instance), part in table.groupby(["size", "instance"], sort=False):
            curves = _curves(part, DP, ["distortion"])
            rows += _formulas(curves, exact, no_group, differing, instance=instance, size=size)
            mi = _curves(part, MI, ["distortion"])
            if mi:
                threshold = select(part, metric="threshold")["value"]
                rows += _information(mi, threshold, near, instance=instance, size=size)
                if size in FIGURES:
                    name = FIGURES[size][1]
                    rows += _comparison(
                        name, curves["optimal"], mi["optimal"], exact, near, convex,
                        instance=instance, size=size,
                    )  # fmt: skip
    for family, part in random.groupby("experiment", sort=False):
        # Here no function of D: a row per set, at a distortion of its own.
        curves = _curves(part, DP, ["distortion", "size", "instance"])
        rows += _formulas(curves, exact, no_group, differing, instance=family)
    rows.append(_not_sublinear())
    for size, (name, _) in FIGURES.items():
        rows += _ordering(name, size, select(tradeoff, size=size), exact, gain)
    return CHECKS.table(rows)


def _not_sublinear() -> Row:
    """Check the example of Section II-D: all letters become the second one, or the first."""
    mechanisms = np.array([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]])
    sources = np.eye(2)

    def utility(channel: FloatArray) -> float:
        wrong = channel.sum(axis=1) - np.diag(channel)
        return -float((sources @ wrong).max())

    excess = utility(mechanisms.sum(axis=0)) - sum(map(utility, mechanisms))
    return Check(PAPER, "Ka-S2", "example", NOT_SUBLINEAR, excess, ">=", 1.0, size="2")


def _curves(part: pd.DataFrame, metric: str, by: list[str]) -> dict[str, pd.Series[float]]:
    """Return the leakages by mechanism, indexed by the distortion and, of random sets, by the set."""
    return {
        str(mechanism): rows.set_index(by)["value"].sort_index()
        for mechanism, rows in select(part, metric=metric).groupby("mechanism")
    }


def _extreme(
    claim: str, quantity: str, values: pd.Series[float], relation: Relation, limit: float, **columns: Any
) -> Iterator[Row]:
    """Check the value that is nearest to its limit, or furthest beyond it, or one that is missing, if any."""
    if len(values):
        numbers = values.to_numpy()
        number = int(numbers.argmax() if relation == "<=" else numbers.argmin())
        place = values.index[number]
        at, *rest = place if isinstance(place, tuple) else (place,)
        note = "at set {1} on {0} letters".format(*rest) if rest else ""
        given = {"unit": "nats", "parameter": "distortion", "at": at, "note": note, **columns}
        instance = given.pop("instance")
        yield Check(PAPER, claim, instance, quantity, values.iloc[number], relation, limit, **given)


def _formulas(
    dp: Mapping[str, pd.Series[float]],
    exact: float,
    no_group: Sequence[str],
    differing: Sequence[str],
    **columns: Any,
) -> Iterator[Row]:
    """Compare Theorems 1 to 3 with the optimum."""
    columns["tolerance"] = exact
    # A formula is for some sets.
    optimum = {name: dp["optimal"].reindex(values.index) for name, values in dp.items()}
    if "theorem1" in dp:
        distance = (dp["theorem1"] - optimum["theorem1"]).abs()
        yield from _extreme("Ka-T1", "distance from the exact optimum", distance, "<=", 0.0, **columns)
    if "theorem2" in dp:
        distance = (dp["theorem2"] - optimum["theorem2"]).abs()
        yield from _extreme("Ka-T2", ORDERED, distance, "<=", 0.0, **columns)
        yield from _extreme("Ka-T2", PRINTED, optimum["printed"] - dp["printed"], "<=", 0.0, **columns)
    if "theorem3_lower" in dp:
        lower, upper = dp["theorem3_lower"], dp["theorem3_upper"]
        optimal = optimum["theorem3_lower"]
        below = LOWER_NO_GROUP if columns["instance"] in no_group else LOWER
        yield from _extreme("Ka-T3", below, lower - optimal, "<=", 0.0, **columns)
        yield from _extreme("Ka-T3", UPPER, upper - optimal, ">=", 0.0, **columns)
        if columns["instance"] in differing:
            # The largest, which shows that they do differ.
            widest = (upper - lower).nlargest(1)
            yield from _extreme("Ka-T3", WIDTH_DIFFERING, widest, ">=", 0.0, **columns)
        else:
            yield from _extreme("Ka-T3", WIDTH, upper - lower, "<=", 0.0, **columns)


def _information(
    mi: Mapping[str, pd.Series[float]], threshold: pd.Series[float], near: float, **columns: Any
) -> Iterator[Row]:
    """Compare Lemmas 5 and 6 with the optimum."""
    optimal = mi["optimal"]
    if "lemma5" in mi:
        distance = (mi["lemma5"] - optimal).abs()
        yield from _extreme(
            "Ka-L5", "distance from the exact optimum", distance, "<=", 0.0, tolerance=near, **columns
        )
    for least in threshold:
        silent, rest = optimal[optimal.index >= least], optimal[optimal.index < least]
        yield from _extreme(
            "Ka-L6", "MI leakage at D ≥ D^(M-1)", silent, "<=", 0.0, tolerance=near, **columns
        )
        yield from _extreme("Ka-L6", "MI leakage below D^(M-1)", rest, ">=", 1e-6, **columns)


def _comparison(
    claim: str,
    dp: pd.Series[float],
    mi: pd.Series[float],
    exact: float,
    near: float,
    convex: float,
    **columns: Any,
) -> Iterator[Row]:
    """Compare the curves of Figures 6 and 7."""
    gap = dp - mi
    above = "DP minus MI leakage where DP is positive"
    yield from _extreme(claim, above, gap[dp > 0], ">=", exact, **columns)
    yield from _extreme(
        claim,
        "distance of DP and MI leakage where DP is zero",
        gap.abs()[dp == 0],
        "<=",
        0.0,
        tolerance=near,
        **columns,
    )
    yield from _extreme(
        claim, "second difference of MI leakage", _second_difference(mi), ">=", 0.0,
        tolerance=convex, **columns,
    )  # fmt: skip
    # The least one: one is enough for a curve that is not convex.
    bend = _second_difference(dp).nsmallest(1)
    yield from _extreme(claim, "second difference of DP leakage", bend, "<=", -convex, **columns)


def _second_difference(curve: pd.Series[float]) -> pd.Series[float]:
    """Return slope to the right minus slope to the left, at the inner points."""
    slopes = np.diff(curve.to_numpy()) / np.diff(curve.index.to_numpy(dtype=np.float64))
    return pd.Series(np.diff(slopes), index=curve.index[1:-1])


def _ordering(claim: str, size: str, table: pd.DataFrame, exact: float, large: float) -> Iterator[Row]:
    """Compare the classes of one size, as Figures 4 and 5 do."""
    rows = select(table, metric=DP, mechanism="optimal")
    leakage = {
        str(name): part.set_index("distortion")["value"].sort_index()
        for name, part in rows.groupby("instance")
    }
    chain = [name for name in CLASSES if name in leakage]
    for low, high in pairwise(chain):
        yield from _extreme(
            claim, "increase of leakage to the next set", leakage[high] - leakage[low], ">=", 0.0,
            tolerance=exact, instance=f"{low} to {high}", size=size,
        )  # fmt: skip
    if "I" not in leakage:
        return
    for name in chain[:-1]:
        gain = leakage["I"] - leakage[name]
        best = gain.nlargest(1)
        yield from _extreme(claim, "largest gain over Class I", best, ">=", large, instance=name, size=size)
        gaining = gain.index[gain > exact]
        same = gain.index[gain.index < gaining.min()] if len(gaining) else gain.index
        last = float(same.max()) if len(same) else 0.0
        yield Check(
            PAPER, claim, name, "largest D without a gain over Class I", last, ">=", float(gain.index.min()),
            size=size, parameter="distortion", at=last,
        )  # fmt: skip
