"""Experiments of liao2017: Figures 1 to 3, and how far W' is from the certified optimum.

Everything is in bits. In the tables epsilon is the limit of the leakage, privacy the largest leakage
max_k I(p_k, W) of the channel, and privacy_limit the limit again. The size "m x M" is that of the matrix of
hypotheses: m distributions on M letters.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hypothesis_testing.euclidean import Perturbation, euclidean, euclidean_binary
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS
from ldpfrontier.model.optimum import Optimum
from papers.liao2017.search import Search
from reproduction.results.tables import CLOSED_FORM, HEURISTIC, RESULTS, Result, Row

PAPER = "liao2017"

#: eit: W' with the w_0 given; eit_w0: W' with the best w_0; grid: exhaustive search over 2 x 2 channels;
#: optimal_2: the optimum over 2 x 2 channels; optimal: over any number of outputs.
MECHANISMS = ("eit", "eit_w0", "grid", "optimal_2", "optimal")

_log = logging.getLogger(__name__)


class _Rows(Protocol):
    """`reproduction.results.tables.Result` with the name of the instance filled in."""

    def __call__(self, mechanism: str, metric: str, value: float, **columns: Any) -> Row: ...


def _rows_of(experiment: str, instance: str, tested: Hypotheses) -> _Rows:
    size = "{} x {}".format(*tested.distributions.shape)
    return partial(Result, PAPER, experiment, instance, size=size, epsilon_unit="bits")


# Figures 2 and 3 ------------------------------------------------------------------------------------------


def sweeps(instances: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """Sweep over the leakages of several hypotheses: arguments of `sweep` for each, and those for all."""
    return pd.concat([sweep(**instance, **shared) for instance in instances], ignore_index=True)


def sweep(
    hypotheses: ArrayLike,
    shares: Sequence[float],
    *,
    instance: str,
    experiment: str,
    order: float | None = 0.5,
    w0: Sequence[float] | None = None,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Compare W' with the optima at the leakage of W' (Figures 2 and 3, and more letters).

    For every share, W' solves the E-IT problem with the limit share * min_k H(p_k). Its own leakage epsilon =
    max_k I(p_k, W') is the limit of the optima it is compared with, as in section VI. The curve stops where
    W' stops being a channel: larger shares give one last point there, with a note.

    The metrics are ``relative_entropy`` and (two hypotheses) ``renyi`` of an order, which the paper does not
    name for its figures, each also ``normalized``: divided by its value without privacy. Of W' there are also
    ``eit_leakage`` and ``eit_utility``, which the approximation takes for leakage and relative entropy. The
    mechanism ``identity`` at epsilon = inf has the utilities without privacy and ``min_entropy``. The bound
    of W' is that of the optimum with any outputs; with two letters the 2 x 2 optimum is computed as well.

    By default `w0`, the rows of W_0, is uniform on as few outputs as W' needs: (1/2, 1/2) for rank one, as in
    the paper. Shares must be positive, and so must min_k H(p_k) and the divergences.
    """
    tested = Hypotheses(np.array(hypotheses, dtype=np.float64))
    measures = _measures(tested, order)
    least = _least_entropy(tested)
    if min(shares, default=1.0) <= 0:
        raise ValueError(f"A share is {min(shares)}; every share of the entropy must be positive.")
    unit = euclidean(tested.distributions, least)
    w = _nominal_row(unit, w0)
    row = _rows_of(experiment, instance, tested)
    rows = list(_fact_rows(row, measures, least))
    reach = unit.reach(w)
    kept = sorted(share for share in shares if share <= reach)
    notes = [""] * len(kept)
    if len(kept) < len(shares):
        # Just inside, where rounding cannot make an entry negative.
        kept.append(reach * (1.0 - 1e-12))
        notes.append(f"W' is not a channel at a larger leakage: the E-IT limit may be {reach:.6g} of min H")
    starts: dict[str, Channel] = {}
    for share, note in zip(kept, notes, strict=True):
        perturbation = unit.scaled(share)
        channel = perturbation.channel(w)
        epsilon = float(tested.leakage(channel).max())
        for metric, measure in measures.items():
            best = _optima(measure, epsilon, tolerance, starts.get(metric))
            starts[metric] = best["optimal"].channel
            rival = _bounded_by(channel, measure, best["optimal"], CLOSED_FORM)
            rows += _certified_rows(row, "eit", epsilon, metric, measure, rival, note)
            for mechanism, optimum in best.items():
                rows += _certified_rows(row, mechanism, epsilon, metric, measure, optimum)
        rows.append(row("eit", "eit_leakage", perturbation.leakages.max(), unit="bits", epsilon=epsilon))
        rows.append(row("eit", "eit_utility", perturbation.value, unit="bits", epsilon=epsilon))
        _log.info("%s: share %.4g, epsilon %.4g bits", instance, share, epsilon)
    return RESULTS.table(rows)


def _measures(tested: Hypotheses, order: float | None) -> dict[str, Hypotheses]:
    measures = {"relative_entropy": tested}
    if order is not None and len(tested.distributions) == 2:
        measures["renyi"] = Hypotheses(tested.distributions, order)
    for metric, measure in measures.items():
        if not 0 < measure.divergences.min() < math.inf:
            raise ValueError(
                f"The {metric.replace('_', ' ')} of the hypotheses is {measure.divergences.min():g};"
                " to normalize by it, it must be positive and finite."
            )
    return measures


def _least_entropy(tested: Hypotheses) -> float:
    least = float(tested.entropies.min()) * BITS
    if least <= 0:
        raise ValueError("A hypothesis has entropy 0; leakages are given as shares of the least entropy.")
    return least


def _nominal_row(unit: Perturbation, w0: Sequence[float] | None) -> FloatArray:
    size = max(unit.rank, 1) + 1
    return np.full(size, 1.0 / size) if w0 is None else np.array(w0, dtype=np.float64)


def _optima(
    measure: Hypotheses, epsilon: float, tolerance: float | None, start: Channel | None = None
) -> dict[str, Optimum]:
    """Solve for the optima; the columns of `start` help to find the best one."""
    solve = partial(optimal_leakage, measure.distributions, epsilon, order=measure.order, tolerance=tolerance)
    two = {"optimal_2": solve(outputs=2)} if measure.letters == 2 else {}
    return {**two, "optimal": solve(start=start)}


def _bounded_by(channel: Channel, measure: Hypotheses, best: Optimum, status: str) -> Optimum:
    """Put a channel that is no optimum beside the bound of the best one."""
    return Optimum(channel, measure.utility(channel), best.bound, status, 0, "bits")


def _certified_rows(
    row: _Rows,
    mechanism: str,
    epsilon: float,
    metric: str,
    measure: Hypotheses,
    optimum: Optimum,
    note: str = "",
) -> Iterator[Row]:
    """Give the utility of a channel and its normalized value, with their certificate."""
    full = float(measure.divergences.min()) * BITS
    for name, unit, scale in ((metric, "bits", 1.0), (f"normalized_{metric}", "1", full)):
        yield row(
            mechanism,
            name,
            optimum.value / scale,
            unit=unit,
            order=measure.order if metric == "renyi" else math.nan,
            epsilon=epsilon,
            direction="max",
            bound=optimum.bound / scale,
            status=optimum.status,
            channel=optimum.channel,
            iterations=optimum.iterations,
            method=optimum.method,
            privacy=float(measure.leakage(optimum.channel).max()),
            note=note,
        )


def _fact_rows(row: _Rows, measures: Mapping[str, Hypotheses], least: float) -> Iterator[Row]:
    """Give the utilities without privacy, and the least entropy."""
    for metric, measure in measures.items():
        full = float(measure.divergences.min()) * BITS
        order = measure.order if metric == "renyi" else math.nan
        yield row("identity", metric, full, unit="bits", order=order)
    yield row("identity", "min_entropy", least, unit="bits")


# How far W' is from the optima ----------------------------------------------------------------------------


def comparisons(instances: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """Compare on several hypotheses: arguments of `comparison` for each, and those for all."""
    return pd.concat([comparison(**instance, **shared) for instance in instances], ignore_index=True)


def comparison(
    hypotheses: ArrayLike,
    fractions: Sequence[float],
    *,
    instance: str,
    w0: Sequence[float] | None = None,
    grid: int = 100,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Compare all mechanisms at leakages epsilon = fraction * min_k H(p_k), in relative entropy.

    W' is solved for the E-IT limit at which it leaks epsilon, and has no row where it is no channel then. Of
    rank one, it is also tried with many w_0 (at logits spaced by 0.25 within [-12, 12]), as the E-IT problem
    does not prefer any. With two letters the best 2 x 2 channel is also looked for on a grid, which is what
    an exhaustive search does; its entries are multiples of 1 / grid. The bound of a mechanism is that of the
    optimum with any outputs, for ``optimal_2`` its own.
    """
    tested = Hypotheses(np.array(hypotheses, dtype=np.float64))
    measures, least = _measures(tested, None), _least_entropy(tested)
    unit = euclidean(tested.distributions, least)
    row = _rows_of("comparison", instance, tested)
    rows = list(_fact_rows(row, measures, least))
    for fraction in fractions:
        epsilon = fraction * least
        best = _optima(tested, epsilon, tolerance)
        compared = {mechanism: (optimum, "") for mechanism, optimum in best.items()}
        tried = {"eit": [_nominal_row(unit, w0)]}
        if unit.rank == 1:
            odds = np.arange(-12.0, 12.25, 0.25)
            tried["eit_w0"] = [np.array([1.0, math.exp(x)]) / (1.0 + math.exp(x)) for x in odds]
        for mechanism, starts in tried.items():
            channels = [(c, w) for w in starts if (c := at_leakage(tested, unit, epsilon, w)) is not None]
            if channels:
                channel, w = max(channels, key=lambda pair: tested.utility(pair[0]))
                note = "w_0 = (" + ", ".join(f"{x:.4g}" for x in w) + ")"
                compared[mechanism] = (_bounded_by(channel, tested, best["optimal"], CLOSED_FORM), note)
        if tested.letters == 2:
            searched = _bounded_by(Search(tested, grid)(epsilon), tested, best["optimal"], HEURISTIC)
            compared["grid"] = (searched, f"exhaustive search in steps of 1/{grid}")
        for mechanism, (optimum, note) in compared.items():
            rows += _certified_rows(row, mechanism, epsilon, "relative_entropy", tested, optimum, note)
        _log.info("%s: epsilon %.4g bits", instance, epsilon)
    return RESULTS.table(rows)


def at_leakage(tested: Hypotheses, unit: Perturbation, epsilon: float, w0: ArrayLike) -> Channel | None:
    """Return the multiple of a perturbation that leaks at most epsilon (bits); None if it is no channel."""
    largest = unit.reach(w0) * (1.0 - 1e-12)

    def leak(root: float) -> float:
        return float(tested.leakage(unit.scaled(root * root).channel(w0)).max())

    if not math.isfinite(largest) or leak(math.sqrt(largest)) < epsilon:
        return None
    root = float(brentq(lambda x: leak(x) - epsilon, 0.0, math.sqrt(largest), xtol=1e-15, rtol=1e-14))
    while leak(root) > epsilon:
        root *= 1.0 - 1e-15 if root * (1.0 - 1e-15) < root else 0.999
    return unit.scaled(root * root).channel(w0)


# Figure 1 -------------------------------------------------------------------------------------------------


def perturbation(hypotheses: ArrayLike, leakage: float, w0: Sequence[float]) -> pd.DataFrame:
    """Compute what Figure 1 draws: the rows of W' around w_0 for one pair of hypotheses.

    The leakage is the E-IT limit in bits. Per letter (001, ...) there are the metrics ``p1``, ``p2``, ``a``
    (its entry of a*) and ``w1``, ``w2``, ... (its row of W'); the instance ``w0`` has the nominal row.
    """
    tested = Hypotheses(np.array(hypotheses, dtype=np.float64))
    direction = euclidean_binary(tested.distributions, leakage)
    channel = direction.channel(w0)
    epsilon = float(tested.leakage(channel).max())
    first, second = tested.distributions
    values = {
        f"{letter:03d}": {
            "p1": first[letter - 1],
            "p2": second[letter - 1],
            "a": direction.factor[letter - 1, 0],
            **{f"w{j}": x for j, x in enumerate(row, start=1)},
        }
        for letter, row in enumerate(channel.matrix, start=1)
    }
    values["w0"] = {f"w{j}": x for j, x in enumerate(w0, start=1)}
    return RESULTS.table(
        _rows_of("fig1", letter, tested)("eit", metric, value, unit="1", epsilon=epsilon)
        for letter, metrics in values.items()
        for metric, value in metrics.items()
    )
