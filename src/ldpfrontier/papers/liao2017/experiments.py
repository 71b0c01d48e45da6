"""Experiments of liao2017: Figures 1 to 3, Tables I and II, and how far W' is from the certified optimum.

Everything is in bits. In the result tables epsilon is the limit of the leakage, privacy the largest leakage
max_k I(p_k, W) of the channel, and privacy_limit the limit again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.information import kl_divergence, renyi_divergence, total_variation
from ldpfrontier.optimum import Optimum
from ldpfrontier.priors import generator
from ldpfrontier.tables import CLOSED_FORM, MEASURED, RESULTS, TableError, relative_gap
from ldpfrontier.testing.euclidean import (
    Perturbation,
    euclidean,
    euclidean_bernoulli,
    euclidean_binary,
    euclidean_sdp,
)
from ldpfrontier.testing.leakage import BITS, HypothesisTest, optimal_leakage

PAPER = "liao2017"

#: eit: W' with the w_0 given; eit_w0: W' with the best w_0; grid: exhaustive search over 2 x 2 channels;
#: optimal_2: the optimum over 2 x 2 channels; optimal: over any number of outputs.
MECHANISMS = ("eit", "eit_w0", "grid", "optimal_2", "optimal")

UTILITIES = ("relative_entropy", "renyi")

#: Leakages that the text names, over min H: where W' and W* are said to be equal up to.
NAMED = {"Pair 1": 0.005, "Pair 4": 0.001, "Triple 2": 0.002}

_Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Instance:
    """Hypotheses with their name, figure ("fig2a", ..., "study") and table ("I", "II", "ours")."""

    name: str
    figure: str
    table: str
    hypotheses: FloatArray


def read_instances(path: Path | str) -> list[Instance]:
    """Read hypotheses from a YAML list of {name, figure, table, hypotheses}.

    Raises
    ------
    ValueError
        If an entry lacks a key or its hypotheses are no distributions; the sentence names the file and entry.
    """
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ValueError(f"{path} must be a list of instances.")
    found = []
    for number, entry in enumerate(entries, start=1):
        missing = {"name", "figure", "table", "hypotheses"} - set(entry)
        if missing:
            raise ValueError(f"Entry {number} of {path} lacks {', '.join(sorted(missing))}.")
        try:
            test = HypothesisTest(entry["hypotheses"])
        except ValueError as reason:
            raise ValueError(f"Entry {number} of {path} ({entry['name']}): {reason}") from None
        found.append(Instance(entry["name"], entry["figure"], entry["table"], test.hypotheses))
    return found


def hypotheses_table(instances: Sequence[Instance]) -> pd.DataFrame:
    """Tabulate hypotheses (Tables I and II) with what the words "close" of Table I stand for.

    Returns
    -------
    DataFrame
        One row per instance: `table`, `instance`, `hypotheses`; total variation `between` p_1 and the nearest
        other hypothesis, and `from_uniform` of each; `min_entropy`, and the least `divergence` D(p_k || p_1),
        in bits.
    """
    rows = []
    for instance in instances:
        test = HypothesisTest(instance.hypotheses)
        first, *others = test.hypotheses
        uniform = np.full(test.letters, 1.0 / test.letters)
        rows.append(
            {
                "table": instance.table,
                "instance": instance.name,
                "hypotheses": " ".join(f"({', '.join(f'{x:.2f}' for x in p)})" for p in test.hypotheses),
                "between": min(total_variation(p, first) for p in others),
                "from_uniform": " ".join(f"{total_variation(p, uniform):.2f}" for p in test.hypotheses),
                "min_entropy": float(test.entropies.min()) * BITS,
                "divergence": float(test.divergences.min()) * BITS,
            }
        )
    return pd.DataFrame(rows)


# Figures 2 and 3 ------------------------------------------------------------------------------------------


def sweep(
    hypotheses: ArrayLike,
    shares: Sequence[float],
    *,
    instance: str,
    experiment: str,
    order: float | None = 0.5,
    w0: Sequence[float] | None = None,
    tolerance: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compare W' with the optima at the leakage of W' (Figures 2 and 3, and more letters).

    For every share, W' solves the E-IT problem with the limit share * min_k H(p_k). Its own leakage
    epsilon = max_k I(p_k, W') is the limit of the optima it is compared with, as in section VI. The curve
    stops where W' stops being a channel: larger shares give one last point there, with a note.

    The metrics are ``relative_entropy`` and (two hypotheses) ``renyi``, each also ``normalized``: divided by
    its value without privacy. Of W' there are also ``eit_leakage`` and ``eit_utility``, which the
    approximation takes for leakage and relative entropy. The mechanism ``identity`` at epsilon = inf has the
    utilities without privacy and ``min_entropy``.

    Parameters
    ----------
    hypotheses : array_like, shape (m, M)
        With two letters the 2 x 2 optimum is computed as well.
    shares : sequence of float
        Limits of the E-IT problem over min_k H(p_k), positive.
    instance, experiment : str
        Names in the result.
    order : float, optional
        Of the Renyi divergence; None for none. The paper does not say which one its figures use.
    w0 : sequence of float, optional
        Rows of W_0; by default uniform on as few outputs as W' needs: (1/2, 1/2) for rank one, as in the
        paper.
    tolerance : float, optional
        As for `optimal_leakage`.
    progress : callable, optional
        Told one line per share.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`. The upper bound of W' is that of the optimum with any outputs.

    Raises
    ------
    ValueError
        If a share is not positive, or min_k H(p_k) or a divergence is 0.
    TableError
        If a certificate fails; the sentence names the row.
    """
    test = HypothesisTest(np.array(hypotheses, dtype=np.float64))
    measures = _measures(test, order)
    least = _least_entropy(test)
    if min(shares, default=1.0) <= 0:
        raise ValueError(f"A share is {min(shares)}; every share of the entropy must be positive.")
    unit = euclidean(test.hypotheses, least)
    w = _start(unit, w0)
    rows = list(_facts(measures, least, experiment, instance))
    reach = unit.reach(w)
    kept = sorted(share for share in shares if share <= reach)
    notes = [""] * len(kept)
    if len(kept) < len(shares):
        # Just inside, where rounding cannot make an entry negative.
        kept.append(reach * (1.0 - 1e-12))
        notes.append(f"W' is no channel at a larger leakage: the E-IT limit may be {reach:.6g} of min H")
    starts: dict[str, Channel] = {}
    for share, note in zip(kept, notes, strict=True):
        perturbation = unit.scaled(share)
        channel = perturbation.channel(w)
        epsilon = float(test.leakage(channel).max())
        name = (experiment, instance)
        for metric, measure in measures.items():
            best = _optima(measure, epsilon, tolerance, starts, metric)
            rival = Optimum(channel, measure.utility(channel), best["optimal"].upper_bound, CLOSED_FORM, 0)
            rows += _certified(*name, "eit", epsilon, metric, measure, rival, note)
            for mechanism, optimum in best.items():
                rows += _certified(*name, mechanism, epsilon, metric, measure, optimum)
        rows.append(_row(*name, "eit", epsilon, "eit_leakage", float(perturbation.leakages.max())))
        rows.append(_row(*name, "eit", epsilon, "eit_utility", perturbation.value))
        if progress:
            progress(f"{instance}: share {share:.4g}, epsilon {epsilon:.4g} bits")
    return RESULTS.conform(pd.DataFrame(rows))


def _measures(test: HypothesisTest, order: float | None) -> dict[str, HypothesisTest]:
    measures = {"relative_entropy": test}
    if order is not None and len(test.hypotheses) == 2:
        measures["renyi"] = HypothesisTest(test.hypotheses, order)
    for metric, measure in measures.items():
        if not 0 < measure.divergences.min() < math.inf:
            raise ValueError(
                f"The {metric.replace('_', ' ')} of the hypotheses is {measure.divergences.min():g};"
                " to normalize by it, it must be positive and finite."
            )
    return measures


def _least_entropy(test: HypothesisTest) -> float:
    least = float(test.entropies.min()) * BITS
    if least <= 0:
        raise ValueError("A hypothesis has entropy 0; leakages are given as shares of the least entropy.")
    return least


def _start(unit: Perturbation, w0: Sequence[float] | None) -> FloatArray:
    size = max(unit.rank, 1) + 1
    return np.full(size, 1.0 / size) if w0 is None else np.array(w0, dtype=np.float64)


def _optima(
    measure: HypothesisTest, epsilon: float, tolerance: float | None, starts: dict[str, Channel], metric: str
) -> dict[str, Optimum]:
    """Solve for the optima; the columns of the last one help to find the next."""
    found = {}
    if measure.letters == 2:
        found["optimal_2"] = optimal_leakage(
            measure.hypotheses, epsilon, 2, order=measure.order, tolerance=tolerance
        )
    found["optimal"] = optimal_leakage(
        measure.hypotheses, epsilon, order=measure.order, tolerance=tolerance, start=starts.get(metric)
    )
    starts[metric] = found["optimal"].channel
    return found


def _row(
    experiment: str,
    instance: str,
    mechanism: str,
    epsilon: float,
    metric: str,
    value: float,
    **certificate: Any,
) -> _Row:
    """Build one row; without a certificate it is a measurement."""
    plain: _Row = {
        "upper_bound": math.nan,
        "gap": math.nan,
        "status": MEASURED,
        "outputs": None,
        "iterations": None,
        "privacy": epsilon,
        "privacy_limit": epsilon,
        "row_sum_error": 0.0,
        "note": "",
    }
    key = (PAPER, experiment, instance, mechanism, epsilon, metric, value)
    return dict(zip(RESULTS.columns, key, strict=False)) | plain | certificate


def _certified(
    experiment: str,
    instance: str,
    mechanism: str,
    epsilon: float,
    metric: str,
    measure: HypothesisTest,
    optimum: Optimum,
    note: str = "",
) -> Iterator[_Row]:
    """Give the utility of a channel and its normalized value, with their certificate."""
    channel, full = optimum.channel, float(measure.divergences.min()) * BITS
    certificate = {
        "status": optimum.status,
        "outputs": channel.n_outputs,
        "iterations": optimum.iterations,
        "privacy": float(measure.leakage(channel).max()),
        "row_sum_error": float(np.abs(channel.matrix.sum(axis=1) - 1.0).max()),
        "note": " ".join(filter(None, [note, f"order {measure.order:g}" if metric == "renyi" else ""])),
    }
    for name, scale in ((metric, 1.0), (f"normalized_{metric}", full)):
        value, upper = optimum.value / scale, optimum.upper_bound / scale
        bound = {"upper_bound": upper, "gap": relative_gap(value, upper)}
        yield _row(experiment, instance, mechanism, epsilon, name, value, **certificate, **bound)


def _facts(
    measures: dict[str, HypothesisTest], least: float, experiment: str, instance: str
) -> Iterator[_Row]:
    for metric, measure in measures.items():
        full = float(measure.divergences.min()) * BITS
        yield _row(experiment, instance, "identity", math.inf, metric, full)
    yield _row(experiment, instance, "identity", math.inf, "min_entropy", least)


# How far W' is from the optima ----------------------------------------------------------------------------


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

    W' is solved for the E-IT limit at which it leaks epsilon. Of rank one, it is also tried with many w_0 (at
    logits spaced by 0.25 within [-12, 12]), as the E-IT problem does not prefer any. With two letters the
    best 2 x 2 channel is also looked for on a grid, which is what an exhaustive search does; its entries are
    multiples of 1 / grid.

    Parameters
    ----------
    hypotheses : array_like, shape (m, M)
    fractions : sequence of float
        Leakages over min_k H(p_k), in (0, 1).
    instance : str
        Name in the result.
    w0 : sequence of float, optional
        As for `sweep`.
    grid : int
        Steps of the exhaustive search.
    tolerance : float, optional
        As for `optimal_leakage`.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``comparison``; without rows of W' where it is no channel
        at that leakage. The bound of a mechanism is that of the optimum with any outputs, for ``optimal_2``
        its own.
    """
    test = HypothesisTest(np.array(hypotheses, dtype=np.float64))
    measures, least = _measures(test, None), _least_entropy(test)
    unit = euclidean(test.hypotheses, least)
    name = ("comparison", instance)
    rows = list(_facts(measures, least, *name))
    for fraction in fractions:
        epsilon = fraction * least
        best = _optima(test, epsilon, tolerance, {}, "relative_entropy")
        upper = best["optimal"].upper_bound
        found = {mechanism: (optimum, "") for mechanism, optimum in best.items()}
        tried = {"eit": [_start(unit, w0)]}
        if unit.rank == 1:
            odds = np.arange(-12.0, 12.25, 0.25)
            starts = [np.array([1.0, math.exp(x)]) / (1.0 + math.exp(x)) for x in odds]
            tried["eit_w0"] = starts
        for mechanism, starts in tried.items():
            channels = [(c, w) for w in starts if (c := at_leakage(test, unit, epsilon, w)) is not None]
            if channels:
                channel, w = max(channels, key=lambda pair: test.utility(pair[0]))
                note = "w_0 = (" + ", ".join(f"{x:.4g}" for x in w) + ")"
                rival = Optimum(channel, test.utility(channel), upper, CLOSED_FORM, 0)
                found[mechanism] = (rival, note)
        if test.letters == 2:
            channel = grid_search(test, epsilon, grid)
            rival = Optimum(channel, test.utility(channel), upper, MEASURED, 0)
            found["grid"] = (rival, f"exhaustive search in steps of 1/{grid}")
        for mechanism, (optimum, note) in found.items():
            rows += _certified(*name, mechanism, epsilon, "relative_entropy", test, optimum, note)
    return RESULTS.conform(pd.DataFrame(rows))


def at_leakage(test: HypothesisTest, unit: Perturbation, epsilon: float, w0: ArrayLike) -> Channel | None:
    """Return the multiple of a perturbation that leaks epsilon (bits) at most; None if it is no channel."""
    largest = unit.reach(w0) * (1.0 - 1e-12)

    def leak(root: float) -> float:
        return float(test.leakage(unit.scaled(root * root).channel(w0)).max())

    if not math.isfinite(largest) or leak(math.sqrt(largest)) < epsilon:
        return None
    root = float(brentq(lambda x: leak(x) - epsilon, 0.0, math.sqrt(largest), xtol=1e-15, rtol=1e-14))
    while leak(root) > epsilon:
        root *= 1.0 - 1e-15 if root * (1.0 - 1e-15) < root else 0.999
    return unit.scaled(root * root).channel(w0)


def grid_search(test: HypothesisTest, epsilon: float, steps: int) -> Channel:
    """Return the best 2 x 2 channel with entries k / steps and no leakage above epsilon (bits)."""
    grid = np.linspace(0.0, 1.0, steps + 1)
    a, b = (x[np.tri(steps + 1, dtype=bool)] for x in np.meshgrid(grid, grid, indexing="ij"))
    ones = np.stack([a, b], axis=-1)
    columns = np.stack([ones, 1.0 - ones], axis=-2)
    fits = (test.costs(columns).sum(axis=1) * BITS <= epsilon).all(axis=1)
    values = np.where(fits, test.gains(columns).sum(axis=1).min(axis=1), -1.0)
    return Channel(columns[int(values.argmax())].T)


def comparison_table(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out comparisons: a row per instance and leakage, normalized utilities and the shares of W'.

    Parameters
    ----------
    table : DataFrame
        As `comparison` returns it, of any number of instances.

    Returns
    -------
    DataFrame
        `instance`; `leakage` over min H; the normalized utility of every mechanism; `share_of_2` and
        `share_of_any`, the utility of W' over that of the 2 x 2 optimum and of the optimum with any outputs.
    """
    facts = table[table["metric"] == "min_entropy"].set_index("instance")["value"]
    rows = table[table["metric"] == "normalized_relative_entropy"].assign(
        leakage=lambda t: (t["epsilon"] / t["instance"].map(facts)).round(12)
    )
    wide = rows.pivot_table(index=["instance", "leakage"], columns="mechanism", values="value", sort=True)
    wide = wide.reindex(columns=list(MECHANISMS))
    wide["share_of_2"] = wide["eit"] / wide["optimal_2"]
    wide["share_of_any"] = wide["eit"] / wide["optimal"]
    return wide.reset_index().rename_axis(columns=None)


# Figure 1 -------------------------------------------------------------------------------------------------


def perturbation(hypotheses: ArrayLike, leakage: float, w0: Sequence[float]) -> pd.DataFrame:
    """Compute what Figure 1 draws: the rows of W' around w_0 for one pair of hypotheses.

    Parameters
    ----------
    hypotheses : array_like, shape (2, M)
    leakage : float
        E-IT limit in bits.
    w0 : sequence of float, shape (N,)

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``fig1``: per letter the metrics ``p1``, ``p2``, ``a``
        (its entry of a*) and ``w1``, ``w2``, ... (its row of W'); the instance ``w0`` has the nominal row.
    """
    test = HypothesisTest(np.array(hypotheses, dtype=np.float64))
    found = euclidean_binary(test.hypotheses, leakage)
    channel = found.channel(w0)
    epsilon = float(test.leakage(channel).max())
    rows = []
    for letter, row in enumerate(channel.matrix, start=1):
        metrics = {"p1": test.hypotheses[0], "p2": test.hypotheses[1], "a": found.factor[:, 0]}
        values = {name: float(column[letter - 1]) for name, column in metrics.items()}
        values |= {f"w{j}": float(x) for j, x in enumerate(row, start=1)}
        rows += [_row("fig1", f"letter {letter}", "eit", epsilon, m, v) for m, v in values.items()]
    rows += [_row("fig1", "w0", "eit", epsilon, f"w{j}", float(x)) for j, x in enumerate(w0, start=1)]
    return RESULTS.conform(pd.DataFrame(rows))


# Statements -----------------------------------------------------------------------------------------------


def theorem_checks(
    *, seed: int, instances: int = 3, letters: Sequence[int] = range(2, 9), order: float = 0.5
) -> pd.DataFrame:
    """Check Theorems 1 to 3 and Lemma 2 on random hypotheses (uniform on the simplex).

    Rows are the worst over the instances, one row per number of letters M and hypotheses m:

    - ``Li-T1`` (m = 2): ``sdp``, ``solver``: relative distance of the closed form's value from the SDP's and
      from that of the convex program (62); ``rank`` of the SDP's solution;
    - ``Li-T3`` (m = 2, 3, 4): ``construction``: relative distance of the E-IT value of A from the SDP's;
      ``excess``: largest E-IT leakage of A over its limit, minus 1; ``orthogonal``: largest |A sqrt(w_0)|;
      ``outputs`` over M + 1; ``negative``: minus the least entry of W' at limits of 1e-4 bits; with two
      letters also ``closed_form``: relative distance of (44) from the SDP;
    - ``Li-L2``: (1 - order) D / (2^((1 - order) D_order) - 1) over log2(e) / order, minus 1, for random
      channels within 10^-1, ..., 10^-3 of a constant one: the instance has the distance.

    Parameters
    ----------
    seed : int
    instances : int
        Random instances per M and m.
    letters : sequence of int
    order : float
        Of the Renyi divergence, in (0, 1).

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``theorems``, mechanism = the claim.
    """
    rows: list[_Row] = []
    for M in letters:
        for m in (2, 3, 4):
            worst: dict[tuple[str, str], float] = {}
            for instance in range(instances):
                rng = generator(seed, f"{PAPER}/theorems/{m}", M, instance)
                p, limits = rng.dirichlet(np.ones(M), m), rng.uniform(0.2, 2.0, m) * 1e-4
                for key, value in _theorem_instance(p, limits).items():
                    worst[key] = max(worst.get(key, -math.inf), value)
            name = f"M={M}, m={m}"
            rows += [_row("theorems", name, claim, 0.0, metric, v) for (claim, metric), v in worst.items()]
    for power in (1, 2, 3):
        distances = []
        for instance in range(instances):
            rng = generator(seed, f"{PAPER}/lemma2", 3, instance)
            p2, p1 = rng.dirichlet(np.ones(3), 2) * 10.0**-power + (1.0 - 10.0**-power) * np.full(3, 1 / 3)
            renyi = renyi_divergence(p2, p1, order, bits=True)
            ratio = (
                (1.0 - order) * kl_divergence(p2, p1, bits=True) / math.expm1((1.0 - order) * renyi / BITS)
            )
            distances.append(abs(ratio * order / BITS - 1.0))
        rows.append(_row("theorems", f"distance 1e-{power}", "Li-L2", 0.0, "ratio", max(distances)))
    return RESULTS.conform(pd.DataFrame(rows))


def _theorem_instance(p: FloatArray, limits: FloatArray) -> dict[tuple[str, str], float]:
    sdp = euclidean_sdp(p, limits)
    found: dict[tuple[str, str], float] = {}
    if len(p) == 2:
        closed = euclidean_binary(p, limits)
        a = cp.Variable(p.shape[1])
        scale = np.sqrt(2.0 * limits / BITS)
        cones = [cp.SOC(cp.Constant(s), a @ np.diag(np.sqrt(row))) for row, s in zip(p, scale, strict=True)]
        program = cp.Problem(cp.Maximize((p[1] - p[0]) @ a), cones)
        direct = float(program.solve(solver=cp.CLARABEL)) ** 2 / 2.0 * BITS  # type: ignore[no-untyped-call]
        found["Li-T1", "sdp"] = abs(closed.value / sdp.value - 1.0)
        found["Li-T1", "solver"] = abs(closed.value / direct - 1.0)
        found["Li-T1", "rank"] = float(sdp.rank)
    if p.shape[1] == 2:
        found["Li-T3", "closed_form"] = abs(euclidean_bernoulli(p, limits).value / sdp.value - 1.0)
    w0 = np.full(sdp.rank + 1, 1.0 / (sdp.rank + 1))
    matrix = sdp.matrix(w0)
    A = (matrix - w0) / np.sqrt(w0)
    value = float(np.square((p[1:] - p[0]) @ A).sum(axis=1).min()) / 2.0 * BITS
    leaks = p @ np.square(A).sum(axis=1) / 2.0 * BITS
    found["Li-T3", "construction"] = abs(value / sdp.value - 1.0)
    found["Li-T3", "excess"] = float((leaks / limits).max()) - 1.0
    found["Li-T3", "orthogonal"] = float(np.abs(A @ np.sqrt(w0)).max())
    found["Li-T3", "outputs"] = (sdp.rank + 1) / (p.shape[1] + 1)
    found["Li-T3", "negative"] = -float(matrix.min())
    return found


def figure_checks(sweeps: pd.DataFrame, comparisons: pd.DataFrame) -> pd.DataFrame:
    """Measure what the text says of Figures 2 and 3: W' and W* equal up to a leakage, or everywhere.

    Per claim (mechanism ``Li-F2a`` and so on; epsilon = the leakage at which the extreme occurs, bits) the
    least share of the optimum that W' has: over the whole sweep (``share_of_2``, ``share_of_any``), where the
    text says so for the whole range, else at leakages up to the one it names. And at the least leakage of the
    sweep ``first_share_of_any``, whose limit should be 1 if W' is optimal at high privacy, and
    ``leakage_ratio`` and ``utility_ratio``, what W' has over what the E-IT approximation says it has: their
    limits should be 1 if Proposition 1 holds.

    Parameters
    ----------
    sweeps : DataFrame
        As `sweep` returns it, for the instances of the paper.
    comparisons : DataFrame
        As `comparison` returns it, with the leakages of `NAMED` among others.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``statements``.
    """
    claims = {
        "Pair 1": "Li-F2a",
        "Pair 2": "Li-F2b",
        "Pair 3": "Li-F2c",
        "Pair 4": "Li-F2d",
        "Triple 1": "Li-F3",
        "Triple 2": "Li-F3",
    }
    rows = []
    for instance, claim in claims.items():
        part = pd.concat([sweeps, comparisons])
        part = part[part["instance"] == instance]
        if part.empty:
            raise TableError(f"There are no results of {instance}; {claim} needs them.")
        least = float(part.loc[part["metric"] == "min_entropy", "value"].iloc[0])
        values = part[part["metric"] == "relative_entropy"].pivot_table(
            index="epsilon", columns="mechanism", values="value"
        )
        values = values[values["eit"].notna()]
        limit = NAMED.get(instance, math.inf)
        said = values[values.index <= limit * least * (1.0 + 1e-9)]
        text = f"up to {limit:.1%} of min H" if limit < 1 else "over the whole range"
        for metric, mechanism in (("share_of_2", "optimal_2"), ("share_of_any", "optimal")):
            share = said["eit"] / said[mechanism]
            at = float(share.index[int(share.to_numpy().argmin())])
            rows.append(_row("statements", instance, claim, at, metric, float(share.min()), note=text))
        own = sweeps[(sweeps["instance"] == instance) & np.isfinite(sweeps["epsilon"])]
        wide = own[own["mechanism"] == "eit"].pivot_table(index="epsilon", columns="metric", values="value")
        first = float(wide.index.min())
        best = own[(own["mechanism"] == "optimal") & (own["metric"] == "relative_entropy")]
        at_first = wide.loc[first]
        limits = {
            "first_share_of_any": at_first["relative_entropy"]
            / best.set_index("epsilon")["value"].loc[first],
            "leakage_ratio": first / at_first["eit_leakage"],
            "utility_ratio": at_first["relative_entropy"] / at_first["eit_utility"],
        }
        for metric, value in limits.items():
            rows.append(
                _row("statements", instance, claim, first, metric, float(value), note="least leakage")
            )
    return RESULTS.conform(pd.DataFrame(rows))
