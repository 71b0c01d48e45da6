"""Experiments of kalantari2018: Figures 4 to 7, the bounds of Theorem 3, random sets, Tables I to IV.

No privacy level is asked for, so epsilon is inf. A leakage is minimized: the value is what the channel leaks,
and the bound below it is certified. All leakages are in nats. The size of an instance is its number of
letters M.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.hamming.dp_leakage import hamming_leakages
from ldpfrontier.hamming.formulas import (
    class_one_channel,
    class_one_information,
    class_one_leakage,
    class_three_bounds,
    class_two_channel,
    class_two_leakage,
)
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hamming.optimum import LeakageOptimum
from ldpfrontier.hamming.sources import SourceSet
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import ldp_epsilon
from papers.kalantari2018.source_sets import PAPER
from reproduction.data.populations import arrays
from reproduction.results.tables import CLOSED_FORM, PRINTED, RESULTS, Printed, Result, Row

DP, MI = MEASURES = "dp_leakage", "mi_leakage"

#: A formula and its channel come from different sums: this much apart, in nats, they are equal.
_ROUNDING = 1e-12

#: What solvers leave open, in nats: a closed form that is lower than a certified bound by less is on it.
_SOLVERS = 1e-9

_log = logging.getLogger(__name__)


# Figures 4 to 7, and the bounds of Theorem 3 --------------------------------------------------------------


def tradeoff(
    sources: Mapping[str, ArrayLike],
    distortions: Sequence[float],
    *,
    experiment: str = "tradeoff",
    measures: Sequence[str] = MEASURES,
    tolerance: float = 1e-9,
) -> pd.DataFrame:
    """Compute the least leakage of source sets over a grid of distortions, and the paper's formulas.

    ``optimal`` is exact, with its certificate, to a gap of `tolerance` in nats. Beside it, where they apply,
    are the closed forms of the paper, bounded by that certificate: ``theorem1``, ``theorem2`` with the
    channel (48), ``lemma5``. What is no leakage of any channel is measured: ``printed``, (11) without D_1 <=
    D_i; ``theorem3_lower`` and ``theorem3_upper``; and of Class II ``lemma6`` with the metric ``threshold``,
    D^(M-1). A source set, by the name of its instance, has shape (J, M), a distribution per row.
    """
    if unknown := [measure for measure in measures if measure not in MEASURES]:
        raise ValueError(f"The measure is {unknown[0]!r}; allowed are {', '.join(MEASURES)}.")
    grid = sorted(set(map(float, distortions)))
    rows: list[Row] = []
    for name, distributions in sources.items():
        members = SourceSet(np.array(distributions))
        if DP in measures:
            rows += _dp_rows(experiment, name, members, grid, tolerance)
        if MI in measures:
            rows += _mi_rows(experiment, name, members, grid, tolerance)
        _log.info("%s: %s (Class %s), %d distortions", experiment, name, members.kind, len(grid))
    return RESULTS.table(rows)


def _dp_rows(
    experiment: str, name: str, sources: SourceSet, grid: Sequence[float], tolerance: float
) -> Iterator[Row]:
    row = partial(Result, PAPER, experiment, name, size=str(sources.letters), unit="nats")
    for D, best in zip(grid, hamming_leakages(sources, grid, tolerance=tolerance), strict=True):
        yield row(
            "optimal", DP, best.value, distortion=D, privacy_limit=best.value, **_certificate_columns(best)
        )
        if sources.kind == "I":
            value, channel = class_one_leakage(sources.letters, D), class_one_channel(sources.letters, D)
            yield row("theorem1", DP, distortion=D, **_attained_columns(value, channel, best))
        elif sources.kind == "II":
            formula = class_two_leakage(sources, D)
            channel = class_two_channel(sources, formula)
            yield row("theorem2", DP, distortion=D, **_attained_columns(formula.value, channel, best))
            yield row("printed", DP, class_two_leakage(sources, D, ordered=False).value, distortion=D)
        else:
            lower, upper = class_three_bounds(sources, D)
            yield row("theorem3_lower", DP, lower, distortion=D)
            yield row("theorem3_upper", DP, upper, distortion=D)


def _mi_rows(
    experiment: str, name: str, sources: SourceSet, grid: Sequence[float], tolerance: float
) -> Iterator[Row]:
    row = partial(Result, PAPER, experiment, name, size=str(sources.letters))
    for D in grid:
        best = information_leakage(sources, D, tolerance=tolerance)
        yield row("optimal", MI, best.value, unit="nats", distortion=D, **_certificate_columns(best))
        if sources.kind == "I":
            value = class_one_information(sources.letters, D)
            yield row("lemma5", MI, unit="nats", distortion=D, **_formula_columns(value, best))
    if sources.kind == "II":
        yield row("lemma6", "threshold", sources.thresholds()[-2], unit="1")


def _certificate_columns(best: LeakageOptimum) -> dict[str, Any]:
    """Return the columns of a certified leakage but its value."""
    return {
        "direction": best.direction,
        "bound": best.bound,
        "status": best.status,
        "iterations": best.iterations,
        "method": best.method,
        **_channel_columns(best.channel),
    }


def _formula_columns(value: float, best: LeakageOptimum) -> dict[str, Any]:
    """Return the columns of a formula; one that is clearly below the certified bound makes no table."""
    bound = min(best.bound, value) if value > best.bound - _SOLVERS else best.bound
    return {"value": value, "direction": "min", "bound": bound, "status": CLOSED_FORM}


def _attained_columns(value: float, channel: Channel, best: LeakageOptimum) -> dict[str, Any]:
    """Return the columns of a formula that a channel attains."""
    leaks = ldp_epsilon(channel)
    value = leaks if abs(value - leaks) < _ROUNDING else value
    return {**_formula_columns(value, best), "privacy_limit": leaks, **_channel_columns(channel)}


def _channel_columns(channel: Channel) -> dict[str, Any]:
    """Return the columns of a channel; an output that never occurs is none."""
    used = int((channel.matrix.max(axis=0) > 0).sum())
    return {"channel": channel, "outputs": used, "privacy": ldp_epsilon(channel)}


# Random sets ----------------------------------------------------------------------------------------------


def random_sets(source_sets: pd.DataFrame) -> pd.DataFrame:
    """Compute the rows of `tradeoff` on DP leakage of random source sets, each at its one distortion."""
    rows: list[Row] = []
    for (population, instance), drawn in source_sets.groupby(["population", "instance"]):
        family = str(population).removeprefix(f"{PAPER}/")
        sources, D = SourceSet(arrays(drawn)[0]), float(drawn["distortion"].iloc[0])
        rows += _dp_rows(f"random {family}", f"{instance:03d}", sources, [D], 1e-9)
    _log.info("%d rows of random sets", len(rows))
    return RESULTS.table(rows)


# Tables I to IV -------------------------------------------------------------------------------------------


def printed_sets(groups: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Rebuild Tables I to IV from the Class II sets by the swaps that the text gives.

    The groups have, by number of letters, ``tables``, the number of the table of either class, and the
    printed rows of ``base`` (Class II) and of ``a``, ``b``, ``c``, which swap letter 1 with letter 2, 3 and
    4.
    """
    rows: list[Row] = []
    for entries in groups.values():
        base = np.array(entries["base"])
        for step, group in enumerate(("base", "a", "b", "c")):
            table = entries["tables"]["III" if step else "II"]
            name = f"III {group}" if step else "II"
            swapped = base.copy()
            swapped[:, [0, step]] = base[:, [step, 0]]
            for j, (found, said) in enumerate(zip(swapped, entries[group], strict=True), start=1):
                for i, (computed, entry) in enumerate(zip(found, said, strict=True), start=1):
                    rows.append(
                        Printed(
                            PAPER, f"Table {table}", len(rows), f"{name}, row {j}: P{i}", computed, entry,
                            digits=2, note="not the swap that the text gives",
                        )
                    )  # fmt: skip
    return PRINTED.table(rows)
