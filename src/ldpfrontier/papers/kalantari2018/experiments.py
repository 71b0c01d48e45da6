"""Experiments of kalantari2018: Figures 4 to 7, Tables I to IV, its statements checked.

The rows are those of `ldpfrontier.tables.RESULTS` with three conventions. The distortion D is part of the
instance (`instance_name`, `split_instance`). No privacy level is asked for: epsilon is inf. A leakage is
minimized, so ``value`` is its certified lower bound and ``upper_bound`` what the channel found leaks: the
least leakage lies between them. All leakages are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml  # type: ignore[import-untyped, unused-ignore]

from ldpfrontier.channel import Channel
from ldpfrontier.hamming.distortion import (
    SourceSet,
    class_one_information,
    class_one_leakage,
    class_three_bounds,
    class_two_channel,
    class_two_leakage,
    hamming_leakages,
    information_leakage,
)
from ldpfrontier.priors import generator
from ldpfrontier.privacy import ldp_epsilon
from ldpfrontier.tables import CLOSED_FORM, EXAMPLES, MEASURED, RESULTS, relative_gap

PAPER = "kalantari2018"
DP, MI = "dp_leakage", "mi_leakage"
MEASURES = (DP, MI)

#: A Class III set (ours) whose folded intersection is one point and whose folded union has three, so that the
#: bounds of Theorem 3 differ; its folding permutations are the group {identity, (1 2)}.
WIDE = (
    (0.43, 0.38, 0.14, 0.05),
    (0.60, 0.34, 0.05, 0.01),
    (0.34, 0.60, 0.05, 0.01),
    (0.17, 0.54, 0.16, 0.13),
)

#: A Class III set (ours) with one folded distribution, so that Corollary 1 gives one value, and with folding
#: permutations that do not form a group, so that the value is too large.
CYCLE = ((0.6, 0.3, 0.1), (0.1, 0.6, 0.3))

_Row = dict[str, Any]


def instance_name(sources: str, distortion: float) -> str:
    """Name a source set at a distortion, as in ``"P6 III a, D=0.300000"``."""
    return f"{sources}, D={distortion:.6f}"


def split_instance(instance: str) -> tuple[str, float]:
    """Return the source set and the distortion of `instance_name`."""
    sources, _, distortion = instance.rpartition(", D=")
    return sources, float(distortion)


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``sources`` and ``distortion`` to a table of this paper."""
    parts = [split_instance(name) for name in table["instance"]]
    return table.assign(sources=[p[0] for p in parts], distortion=[p[1] for p in parts])


def read_sources(path: Path | str) -> dict[str, SourceSet]:
    """Read the source sets of Tables I to IV, and of Class I the set of all distributions of each size.

    Parameters
    ----------
    path : path
        ``resources/kalantari2018.yaml``.

    Returns
    -------
    dict of str to SourceSet
        ``"P6 I"``, ``"P6 II"``, ``"P6 III a"``, ..., ``"P10 III c"``.
    """
    found: dict[str, SourceSet] = {}
    for size, groups in _read(path).items():
        rows = list(groups["base"])
        found[f"{size} I"] = SourceSet(np.eye(len(rows[0])))
        found[f"{size} II"] = SourceSet(np.array(rows))
        for group in "abc":
            rows += groups[group]
            found[f"{size} III {group}"] = SourceSet(np.array(rows))
    return found


def _read(path: Path | str) -> dict[str, Any]:
    stored: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return stored


def printed_tables(path: Path | str) -> pd.DataFrame:
    """Rebuild Tables I to IV from the Class II sets by the swaps the text gives, beside the printed entries.

    Parameters
    ----------
    path : path
        ``resources/kalantari2018.yaml``.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.EXAMPLES`; ``example`` is the number of the table.
    """
    rows: list[_Row] = []
    numbers = {"I": 1, "II": 2, "III": 3, "IV": 4}
    for size, groups in _read(path).items():
        base = np.array(groups["base"])
        for step, group in enumerate(("base", "a", "b", "c")):
            table = numbers[groups["classes"]["III" if step else "II"]]
            swapped = base.copy()
            swapped[:, [0, step]] = base[:, [step, 0]]
            for j, (computed, printed) in enumerate(zip(swapped, groups[group], strict=True), start=1):
                for i, (c, p) in enumerate(zip(computed, printed, strict=True), start=1):
                    name = f"{size} {'II' if step == 0 else 'III ' + group}, row {j}: P{i}"
                    agrees = abs(c - p) < 1e-12
                    note = "" if agrees else "not the swap that the text gives"
                    rows.append(
                        {
                            "example": table,
                            "order": len(rows),
                            "quantity": name,
                            "computed": float(c),
                            "printed": float(p),
                            "digits": 3,
                            "agrees": agrees,
                            "note": note,
                        }
                    )
    return EXAMPLES.conform(pd.DataFrame(rows))


def _row(
    experiment: str,
    instance: str,
    mechanism: str,
    metric: str,
    value: float,
    *,
    upper: float | None = None,
    channel: Channel | None = None,
    more: _Row | None = None,
) -> _Row:
    """Build one row; with `upper`, what the channel leaks, it is certified."""
    level = math.inf if channel is None else ldp_epsilon(channel)
    sums = 0.0 if channel is None else float(np.abs(channel.matrix.sum(axis=1) - 1.0).max())
    return {
        "paper": PAPER,
        "experiment": experiment,
        "instance": instance,
        "mechanism": mechanism,
        "epsilon": math.inf,
        "metric": metric,
        "value": float(value),
        "upper_bound": math.nan if upper is None else float(upper),
        "gap": math.nan if upper is None else relative_gap(value, upper),
        "status": MEASURED if upper is None else CLOSED_FORM,
        "outputs": None if channel is None else int((channel.matrix.max(axis=0) > 0).sum()),
        "iterations": None,
        "privacy": level,
        "privacy_limit": math.inf,
        "row_sum_error": sums,
        "note": "",
    } | (more or {})


def _table(rows: Iterable[_Row]) -> pd.DataFrame:
    return RESULTS.conform(pd.DataFrame(list(rows), columns=list(RESULTS.columns)))


# Figures 4 to 7, and the bounds of Theorem 3 --------------------------------------------------------------


def tradeoff(
    sources: Mapping[str, SourceSet],
    distortions: Sequence[float],
    *,
    experiment: str,
    measures: Sequence[str] = MEASURES,
    tolerance: float = 1e-9,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compute the least leakage of source sets over a grid of distortions, and the paper's formulas.

    ``optimal`` is exact, with its certificate. Beside it, where they apply: ``theorem1``; ``theorem2`` with
    the channel (48), and ``printed``, (11) without D_1 <= D_i; ``theorem3_lower`` and ``theorem3_upper``;
    ``lemma5``.

    Parameters
    ----------
    sources : mapping of str to SourceSet
        By name.
    distortions : sequence of float
        In (0, 1); rounded to six decimals, which is what the name of the instance keeps.
    experiment : str
        Name of the experiment in the table.
    measures : sequence of str
        Members of `MEASURES`.
    tolerance : float
        Largest gap in nats.
    progress : callable, optional
        Told one line per source set.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.

    Raises
    ------
    ArithmeticError
        If a solution is not certified to the tolerance.
    """
    if unknown := [measure for measure in measures if measure not in MEASURES]:
        raise ValueError(f"The measure is {unknown[0]!r}; allowed are {', '.join(MEASURES)}.")
    grid = sorted({round(float(D), 6) for D in distortions})
    rows: list[_Row] = []
    for name, members in sources.items():
        if DP in measures:
            rows += _dp_rows(experiment, name, members, grid, tolerance)
        if MI in measures:
            rows += _mi_rows(experiment, name, members, grid, tolerance)
        if progress:
            progress(f"{experiment}: {name} (Class {members.kind}), {len(grid)} distortions")
    return _table(rows)


def _dp_rows(
    experiment: str, name: str, sources: SourceSet, grid: Sequence[float], tolerance: float
) -> Iterator[_Row]:
    for D, best in zip(grid, hamming_leakages(sources, grid, tolerance=tolerance), strict=True):
        at = (experiment, instance_name(name, D))
        found: _Row = {"status": "optimal", "iterations": best.iterations, "privacy_limit": best.value}
        yield _row(*at, "optimal", DP, best.lower_bound, upper=best.value, channel=best.channel, more=found)
        if sources.kind == "I":
            channel = _symmetric(sources.letters, D)
            yield _formula(at, "theorem1", class_one_leakage(sources.letters, D), channel)
        elif sources.kind == "II":
            formula = class_two_leakage(sources, D)
            yield _formula(at, "theorem2", formula.value, class_two_channel(sources, formula))
            printed = class_two_leakage(sources, D, ordered=False)
            yield _row(*at, "printed", DP, printed.value)
        else:
            lower, upper = class_three_bounds(sources, D)
            yield _row(*at, "theorem3_lower", DP, lower)
            yield _row(*at, "theorem3_upper", DP, upper)


def _symmetric(letters: int, D: float) -> Channel:
    D = min(D, 1.0 - 1.0 / letters)
    Q = np.full((letters, letters), D / (letters - 1))
    np.fill_diagonal(Q, 1.0 - D)
    return Channel(Q)


def _formula(at: tuple[str, str], mechanism: str, value: float, channel: Channel) -> _Row:
    # Formula and channel come from different sums: within rounding they are equal.
    upper = ldp_epsilon(channel)
    value = upper if abs(value - upper) < 1e-12 else value
    return _row(*at, mechanism, DP, value, upper=upper, channel=channel, more={"privacy_limit": upper})


def _mi_rows(
    experiment: str, name: str, sources: SourceSet, grid: Sequence[float], tolerance: float
) -> Iterator[_Row]:
    for D in grid:
        at = (experiment, instance_name(name, D))
        best = information_leakage(sources, D, tolerance=tolerance)
        found: _Row = {"status": "optimal", "iterations": best.iterations}
        yield _row(*at, "optimal", MI, best.lower_bound, upper=best.value, channel=best.channel, more=found)
        if sources.kind == "I":
            yield _row(*at, "lemma5", MI, class_one_information(sources.letters, D))


# Random sets ----------------------------------------------------------------------------------------------


def draw(family: str, instance: int, *, seed: int) -> tuple[SourceSet, float]:
    """Draw a source set on 3 to 8 letters and a distortion.

    Parameters
    ----------
    family : {"I", "II", "group", "copies", "permuted"}
        Class I: distributions and the uniform one. Class II: up to 4 in one order. ``group``: Class III, up
        to 4 falling distributions, some of them also with letters 1 and 2 swapped. ``copies``: one falling
        distribution and its copies by all permutations of the first 2 to 4 letters (a group, so Corollary 1
        holds). ``permuted``: one and up to 3 copies by random permutations, in general not a group.
    instance, seed : int

    Returns
    -------
    sources : SourceSet
    distortion : float
    """
    rng = generator(seed, f"{PAPER}/{family}", 8, instance)
    M = int(rng.integers(3, 9))
    P = -np.sort(-rng.dirichlet(np.full(M, 0.8), int(rng.integers(1, 5))), axis=1)
    D = float(rng.uniform(0.02, 0.85))
    match family:
        case "I":
            P = np.array([*(rng.permutation(p) for p in P), np.full(M, 1.0 / M)])
        case "group":
            both = P[:, [1, 0, *range(2, M)]]
            P = np.concatenate([P, both[rng.permutation(len(P))[: rng.integers(1, len(P) + 1)]]])
        case "copies":
            moved = int(rng.integers(2, min(M, 5)))
            P = np.array([P[0, [*head, *range(moved, M)]] for head in permutations(range(moved))])
        case "permuted":
            P = np.array([P[0], *(rng.permutation(P[0]) for _ in range(int(rng.integers(1, 4))))])
        case "II":
            pass
        case _:
            raise ValueError(f"The family is {family!r}; allowed are I, II, group, copies and permuted.")
    return SourceSet(P), D


def random_checks(
    instances: Sequence[int],
    *,
    seed: int,
    families: Sequence[str] = ("I", "II", "group", "copies", "permuted"),
) -> pd.DataFrame:
    """Compare Theorems 1 to 3 with the exact optimum on random source sets.

    Per instance of a family (`draw`) the rows of `tradeoff` at its one distortion, experiment
    ``random <family>``.

    Parameters
    ----------
    instances : sequence of int
    seed : int
    families : sequence of str

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.
    """
    rows: list[_Row] = []
    for family in families:
        for instance in instances:
            sources, D = draw(family, instance, seed=seed)
            name = f"M={sources.letters} {sources.kind} {instance:03d}"
            rows += _dp_rows(f"random {family}", name, sources, [round(D, 6)], 1e-9)
    return _table(rows)


# Statements -----------------------------------------------------------------------------------------------


def checks(table: pd.DataFrame, sources: Mapping[str, SourceSet]) -> pd.DataFrame:
    """Check the statements of the paper on the rows of `tradeoff` and `random_checks`.

    One row per statement and source set (or family of random sets), the extreme over the grid, with the
    distortion at which it occurs in the instance:

    - ``Ka-T1``, ``Ka-T2``: largest distance of the formula from the optimum, 0; ``Ka-T2 printed``: largest
      amount by which (11) as printed is too small;
    - ``Ka-T3 lower``: largest excess of the lower bound over the optimum, at most 0; ``Ka-T3 upper``: least
      excess of the upper bound, at least 0; ``Ka-T3 width``: largest distance between the two;
    - ``Ka-L5``: largest distance of the formula from the optimum, 0;
    - ``Ka-L6 zero``: largest MI leakage at D >= D^(M-1), 0; ``Ka-L6 positive``: least below, positive;
    - ``Ka-F4`` (M = 6), ``Ka-F5`` (M = 10): ``same``, the largest D up to which knowing the set gains
      nothing on Class I; ``gain``, the largest gain; ``order``, the least increase to the next set, at
      least 0 (II, a, b, c, I);
    - ``Ka-F6``, ``Ka-F7``: ``gap``, the least DP minus MI leakage where DP is positive, above 0; ``equal``,
      the largest where DP is 0, 0; ``mi convex``, the least second difference of MI, at least 0;
      ``dp convex``, that of DP, below 0 as DP is not convex.

    Parameters
    ----------
    table : DataFrame
    sources : mapping of str to SourceSet
        The sets of the table, by name; sets of `random_checks` need not be there.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``checks``.
    """
    rows = curves(table)
    grids = rows[~rows["experiment"].str.startswith("random ")]
    random = rows[rows["experiment"].str.startswith("random ")]
    found: list[_Row] = []
    for (experiment, name), part in grids.groupby(["experiment", "sources"], sort=False):
        label = str(name) if str(name) in sources else f"{experiment} {name}"
        found += _formula_checks(label, part.set_index("distortion"))
        found += _information_checks(label, part, sources.get(str(name)))
    for experiment, part in random.groupby("experiment", sort=False):
        # Not a function of D here: one row per set.
        found += _formula_checks(str(experiment), part.set_index("instance"))
    for size, figure in (("P6", "Ka-F4"), ("P10", "Ka-F5")):
        found += _ordering_checks(figure, size, grids)
    unique = {(row["instance"], row["metric"]): row for row in found}
    return _table(unique.values())


def _check(label: str, where: Any, metric: str, value: float) -> _Row:
    at = str(where) if isinstance(where, str) else f"D={float(where):.6f}"
    return _row("checks", label, "measured", metric, value, more={"note": f"at {at}"})


def _extreme(label: str, metric: str, values: pd.Series[float], side: str) -> Iterator[_Row]:
    values = values.dropna()
    if len(values):
        at = int(values.argmax() if side == "largest" else values.argmin())
        yield _check(label, values.index[at], metric, float(values.iloc[at]))


def _wide(part: pd.DataFrame, metric: str) -> dict[str, pd.Series[float]]:
    """Return the values of every mechanism by the index; of optima the attained ones."""
    rows = part[part["metric"] == metric]
    return {
        str(mechanism): group["upper_bound" if mechanism == "optimal" else "value"].sort_index()
        for mechanism, group in rows.groupby("mechanism")
    }


def _formula_checks(label: str, part: pd.DataFrame) -> Iterator[_Row]:
    dp = _wide(part, DP)
    for mechanism, metric in (("theorem1", "Ka-T1"), ("theorem2", "Ka-T2")):
        if mechanism in dp:
            yield from _extreme(label, metric, (dp[mechanism] - dp["optimal"]).abs(), "largest")
    if "printed" in dp:
        yield from _extreme(label, "Ka-T2 printed", dp["optimal"] - dp["printed"], "largest")
    if "theorem3_lower" in dp:
        lower, upper = dp["theorem3_lower"], dp["theorem3_upper"]
        yield from _extreme(label, "Ka-T3 lower", lower - dp["optimal"], "largest")
        yield from _extreme(label, "Ka-T3 upper", upper - dp["optimal"], "least")
        yield from _extreme(label, "Ka-T3 width", upper - lower, "largest")
    mi = _wide(part, MI)
    if "lemma5" in mi:
        yield from _extreme(label, "Ka-L5", (mi["lemma5"] - mi["optimal"]).abs(), "largest")


def _information_checks(label: str, part: pd.DataFrame, sources: SourceSet | None) -> Iterator[_Row]:
    part = part.set_index("distortion")
    dp, mi = _wide(part, DP).get("optimal"), _wide(part, MI).get("optimal")
    if mi is None:
        return
    if sources is not None and sources.kind == "II":
        threshold = float(sources.thresholds()[-2])
        yield from _extreme(label, "Ka-L6 zero", mi[mi.index >= threshold], "largest")
        yield from _extreme(label, "Ka-L6 positive", mi[mi.index < threshold], "least")
    figure = "Ka-F6" if sources is None or sources.letters == 6 else "Ka-F7"
    yield from _extreme(label, f"{figure} mi convex", _second_difference(mi), "least")
    if dp is not None:
        yield from _extreme(label, f"{figure} gap", (dp - mi)[dp > 0], "least")
        yield from _extreme(label, f"{figure} equal", (dp - mi).abs()[dp == 0], "largest")
        yield from _extreme(label, f"{figure} dp convex", _second_difference(dp), "least")


def _second_difference(curve: pd.Series[float]) -> pd.Series[float]:
    """Return slope to the right minus slope to the left, at the inner points."""
    slopes = np.diff(curve.to_numpy()) / np.diff(curve.index.to_numpy(dtype=np.float64))
    return pd.Series(np.diff(slopes), index=curve.index[1:-1])


def _ordering_checks(figure: str, size: str, rows: pd.DataFrame) -> Iterator[_Row]:
    curve = {
        str(name): _wide(
            part.drop_duplicates(["distortion", "mechanism", "metric"]).set_index("distortion"), DP
        )
        for name, part in rows[rows["sources"].str.startswith(f"{size} ")].groupby("sources")
    }
    known = {name: wide["optimal"] for name, wide in curve.items() if "optimal" in wide}
    chain = [f"{size} {kind}" for kind in ("II", "III a", "III b", "III c", "I")]
    chain = [name for name in chain if name in known]
    for low, high in pairwise(chain):
        yield from _extreme(
            f"{low} to {high.removeprefix(f'{size} ')}", f"{figure} order", known[high] - known[low], "least"
        )
    none = known.get(f"{size} I")
    for name in chain:
        if none is not None and not name.endswith(" I"):
            gain = none - known[name]
            yield from _extreme(name, f"{figure} gain", gain, "largest")
            gaining = gain.index[gain > 1e-9]
            same = gain.index[gain.index < gaining.min()] if len(gaining) else gain.index
            if len(same):
                yield _check(name, float(same.max()), f"{figure} same", float(same.max()))
