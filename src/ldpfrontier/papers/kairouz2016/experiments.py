"""Experiments of kairouz2016: Figures 3 to 8, the thresholds of its theorems, and its statements checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, total_variation
from ldpfrontier.mechanisms import (
    balanced_set,
    binary_mechanism,
    geometric_mechanism,
    quaternary_mechanism,
    randomized_response,
)
from ldpfrontier.optimal.staircase import Staircase, best_cut, by_ratio, optimal_ldp
from ldpfrontier.optimum import Optimum
from ldpfrontier.priors import dirichlet, generator
from ldpfrontier.privacy import delta_at, error_region, ldp_epsilon
from ldpfrontier.tables import CLOSED_FORM, MEASURED, RESULTS, relative_gap
from ldpfrontier.utility import FDivergence, Kind, MutualInformation

PAPER = "kairouz2016"
SIZES = (3, 4, 6, 12)
MECHANISMS = ("binary", "rr", "geometric")

#: Utilities by their name in the tables: mutual information, and the f-divergences.
UTILITIES = ("mutual_information", "kl", "tv", "chi2", "hellinger")

#: Binary within this of the optimum, relatively, counts as optimal.
DECISION = 1e-9

#: Absolute rounding of a certificate.
_ROUNDING = 2e-12

#: Width at which bisection for a threshold stops, in nats.
_WIDTH = 1e-6

_Row = dict[str, Any]


def instance_name(size: int, instance: int) -> str:
    """Name an instance in the tables, as in ``"k=06, 017"``."""
    return f"k={size:02d}, {instance:03d}"


def draw(
    utility: str, size: int, instance: int, *, seed: int, concentration: float = 1.0
) -> MutualInformation | FDivergence:
    """Draw an instance: a prior for mutual information, a pair P0, P1 (one for all f-divergences).

    Parameters
    ----------
    utility : str
        Member of `UTILITIES`.
    size, instance : int
        Number of inputs, and number of the instance.
    seed : int
        Root of the random streams.
    concentration : float
        Of the symmetric Dirichlet distribution the paper leaves open; 1 is uniform on the simplex.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    if utility not in UTILITIES:
        raise ValueError(f"The utility is {utility!r}; allowed are {', '.join(UTILITIES)}.")
    if utility == "mutual_information":
        prior = dirichlet(seed, f"{PAPER}/prior", size, instance, concentration=concentration)
        return MutualInformation(prior[0])
    p0, p1 = dirichlet(seed, f"{PAPER}/pair", size, instance, count=2, concentration=concentration)
    kind: Kind = utility  # type: ignore[assignment]
    return FDivergence(p0, p1, kind)


def _row(
    experiment: str,
    size: int,
    instance: int,
    mechanism: str,
    epsilon: float,
    metric: str,
    value: float,
    *,
    note: str = "",
    **certificate: Any,
) -> _Row:
    """Build one row; without a certificate it is a measurement, of no channel or of one exactly private."""
    plain: _Row = {
        "upper_bound": math.nan,
        "status": MEASURED,
        "outputs": None,
        "iterations": None,
        "privacy": epsilon,
        "row_sum_error": 0.0,
    }
    found = plain | certificate
    return {
        "paper": PAPER,
        "experiment": experiment,
        "instance": instance_name(size, instance),
        "mechanism": mechanism,
        "epsilon": float(epsilon),
        "metric": metric,
        "value": float(value),
        "gap": relative_gap(float(value), found["upper_bound"]) if certificate else math.nan,
        "privacy_limit": float(epsilon),
        "note": note,
        **found,
    }


def _table(rows: Iterable[_Row]) -> pd.DataFrame:
    return RESULTS.conform(pd.DataFrame(list(rows), columns=list(RESULTS.columns)))


# Figures 3 to 8 -------------------------------------------------------------------------------------------


def sweep(
    utility: str,
    size: int,
    instances: Sequence[int],
    epsilons: Sequence[float],
    *,
    seed: int,
    concentration: float = 1.0,
    mechanisms: Sequence[str] = MECHANISMS,
    experiment: str | None = None,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
) -> pd.DataFrame:
    """Compute the optimum and the closed forms for some instances over a grid (Figures 3, 4, 6, 7).

    Every mechanism has the metric named `utility` (nats, where it has a unit) and ``normalized`` (divided by
    D(P0 || P1) or H(X), where that is positive and finite). The upper bound of all of them is that of the
    optimum, so ``value / upper_bound`` is the ratio to OPT. The optimum has the metric ``staircase_error``
    too: how far the ratios within its columns are from 1 or e^eps, relatively. Facts of an instance are rows
    of the mechanism ``identity`` at epsilon = inf: the utility without privacy, ``tv``, and ``balance``,
    which is P(T) P(T^c) of the binary mechanism's T.

    Parameters
    ----------
    utility : str
        Member of `UTILITIES`.
    size : int
        Number of inputs k.
    instances : sequence of int
        Numbers of the instances; the rows of an instance do not depend on which others are asked for.
    epsilons : sequence of float
        Privacy levels in nats.
    seed, concentration
        As for `draw`.
    mechanisms : sequence of str
        Members of `MECHANISMS`.
    experiment : str, optional
        Name of the experiment in the table; the name of the utility by default.
    tolerance, max_rounds
        As for `optimal_ldp`.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.

    Raises
    ------
    TableError
        If a certificate fails; the sentence names the row.
    """
    return _table(
        row
        for instance in instances
        for row in _sweep_rows(
            draw(utility, size, instance, seed=seed, concentration=concentration),
            (experiment or utility, size, instance),
            utility,
            epsilons,
            mechanisms,
            tolerance,
            max_rounds,
        )
    )


def _sweep_rows(
    measure: MutualInformation | FDivergence,
    name: tuple[str, int, int],
    metric: str,
    epsilons: Sequence[float],
    mechanisms: Sequence[str],
    tolerance: float,
    max_rounds: int,
) -> Iterator[_Row]:
    facts = _facts(measure, metric)
    for fact, value in facts.items():
        yield _row(*name, "identity", math.inf, fact, value)
    full = facts[metric]
    optimum: Optimum | None = None
    for epsilon in epsilons:
        optimum = optimal_ldp(
            measure,
            epsilon,
            tolerance=tolerance,
            max_rounds=max_rounds,
            start=optimum.channel if optimum else None,
        )
        entries = [("optimal", optimum.channel, optimum.value, optimum.status, optimum.iterations)]
        for mechanism in mechanisms:
            channel = _closed_form(mechanism, measure, epsilon)
            entries.append((mechanism, channel, measure(channel), CLOSED_FORM, 0))
        for mechanism, channel, value, status, iterations in entries:
            upper = optimum.upper_bound
            # Value and bound come from different sums: within rounding they are equal.
            upper = value if upper < value <= upper + _ROUNDING else upper
            certificate: _Row = {
                "status": status,
                "outputs": channel.n_outputs,
                "iterations": iterations,
                "privacy": ldp_epsilon(channel),
                "row_sum_error": float(np.abs(channel.matrix.sum(axis=1) - 1.0).max()),
            }
            yield _row(*name, mechanism, epsilon, metric, value, upper_bound=upper, **certificate)
            if 0.0 < full < math.inf:
                yield _row(
                    *name,
                    mechanism,
                    epsilon,
                    "normalized",
                    value / full,
                    upper_bound=upper / full,
                    **certificate,
                )
        yield _row(*name, "optimal", epsilon, "staircase_error", staircase_error(optimum.channel, epsilon))


def _facts(measure: MutualInformation | FDivergence, metric: str) -> dict[str, float]:
    if isinstance(measure, MutualInformation):
        inside = float(measure.prior[balanced_set(measure.prior)].sum())
        return {metric: entropy(measure.prior), "balance": inside * (1.0 - inside)}
    return {"tv": total_variation(measure.p0, measure.p1), metric: measure.divergence()}


def _closed_form(mechanism: str, measure: MutualInformation | FDivergence, epsilon: float) -> Channel:
    match mechanism:
        case "binary":
            return binary_mechanism(measure, epsilon)
        case "rr":
            return randomized_response(len(measure.prior), epsilon)
        case "geometric":
            return geometric_mechanism(len(measure.prior), epsilon)
    raise ValueError(f"The mechanism is {mechanism!r}; allowed are {', '.join(MECHANISMS)}.")


def staircase_error(channel: Channel, epsilon: float) -> float:
    """Return how far the ratios within columns are from 1 or e^eps, relatively (kairouz2016, Theorem 2)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(channel.matrix) - np.log(channel.matrix.min(axis=0))
    return float(np.minimum(np.abs(gain), np.abs(gain - epsilon)).max())


def scaling(
    utility: str,
    instances: Sequence[int],
    *,
    seed: int,
    size: int = 6,
    epsilons: tuple[float, float] = (0.1, 10.0),
    concentration: float = 1.0,
    tolerance: float = 1e-9,
) -> pd.DataFrame:
    """Compute Figure 5 (``kl``) or Figure 8 (``mutual_information``): one point per instance and mechanism.

    The rows are those of `sweep` at a small and at a large epsilon, in the experiments ``fig5`` and ``fig8``,
    with two mechanisms more: ``printed``, the expansion as the paper has it, and ``predicted``, with its
    errata (`high_privacy`, `low_privacy`; not where a probability is 0). The abscissae are the rows of
    ``identity``. Everything is in nats, also for Figure 8, which the paper draws in bits.

    Parameters
    ----------
    utility : {"kl", "mutual_information"}
    instances, seed, size, concentration, tolerance
        As for `sweep`.
    epsilons : tuple of float
        The small and the large privacy level.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.
    """
    experiment = {"kl": "fig5", "mutual_information": "fig8"}[utility]
    points = sweep(
        utility,
        size,
        instances,
        epsilons,
        seed=seed,
        concentration=concentration,
        experiment=experiment,
        tolerance=tolerance,
    )
    rows = []
    for instance in instances:
        measure = draw(utility, size, instance, seed=seed, concentration=concentration)
        for epsilon, expansion in zip(epsilons, (high_privacy, low_privacy), strict=True):
            for mechanism in ("printed", "predicted"):
                value = expansion(measure, epsilon, printed=mechanism == "printed")
                if math.isfinite(value):
                    rows.append(_row(experiment, size, instance, mechanism, epsilon, utility, value))
    return RESULTS.conform(pd.concat([points, _table(rows)], ignore_index=True))


# Expansions (Corollaries 9, 10, 15, 16) -------------------------------------------------------------------


def high_privacy(measure: MutualInformation | FDivergence, epsilon: float, *, printed: bool = False) -> float:
    r"""Expand what the binary mechanism achieves at small epsilon, in nats (kairouz2016, Cor. 9, 15).

    D(M0 || M1) = 2 tanh(eps/2)^2 TV^2 + O(eps^4) and I = 2 tanh(eps/2)^2 P(T) P(T^c) + O(eps^4). Printed:
    (e^eps - 1)^2 / (e^eps + 1) TV^2 and eps^2/2 P(T) P(T^c), the same to leading order.
    """
    if isinstance(measure, FDivergence):
        size = total_variation(measure.p0, measure.p1) ** 2
        leading = math.expm1(epsilon) ** 2 / (math.exp(epsilon) + 1.0)
    else:
        size = _facts(measure, "")["balance"]
        leading = epsilon**2 / 2.0
    return size * (leading if printed else 2.0 * math.tanh(epsilon / 2.0) ** 2)


def low_privacy(measure: MutualInformation | FDivergence, epsilon: float, *, printed: bool = False) -> float:
    r"""Expand what randomized response achieves at large epsilon, in nats (kairouz2016, Cor. 10, 16).

    D(P0 || P1) - G e^-eps + O(e^-2eps) with G = k D(P0 || P1) + sum (P0/P1 - 1 - log P0/P1), and
    H - [(k - 1)(1 + eps) + k H + sum log P] e^-eps + O(eps e^-2eps), if all probabilities are positive.
    Printed: G = sum (1 - P0) log(P1/P0), and H - (k - 1) eps e^-eps.
    """
    k = len(measure.prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(measure, FDivergence):
            ratio = measure.p0 / measure.p1
            limit = measure.divergence()
            loss = (
                -float((1.0 - measure.p0) @ np.log(ratio))
                if printed
                else k * limit + float((ratio - 1.0 - np.log(ratio)).sum())
            )
        else:
            limit = entropy(measure.prior)
            loss = (k - 1) * epsilon
            if not printed:
                loss += k - 1 + k * limit + float(np.log(measure.prior).sum())
    return limit - loss * math.exp(-epsilon)


def expansions(
    size: int,
    instances: Sequence[int],
    *,
    seed: int,
    concentration: float = 1.0,
    small: tuple[float, float] = (0.02, 0.04),
    large: tuple[float, float] = (12.0, 14.0),
) -> pd.DataFrame:
    """Measure constants and error orders of the expansions below Corollaries 9, 10, 15 and 16.

    For each corollary and instance without zero probabilities: ``constant``, what the mechanism has over
    eps^2, or has lost over e^-eps (without the term (k - 1) eps e^-eps), as ``computed``, ``printed`` and
    ``derived``; and ``order``, the exponent of what is left after the expansion, in eps or in e^-eps, fitted
    to two values of epsilon, again as ``printed`` and ``derived``. For Corollaries 9 and 10 as stated,
    ``symmetrized`` is D(M0 || M1) + D(M1 || M0) of the same mechanism over the stated bound with delta = 0.

    Parameters
    ----------
    size, instances, seed, concentration
        As for `sweep`.
    small, large : tuple of float
        The two epsilons at which binary and randomized response are evaluated, nats.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``expansions``; the mechanism column says which variant.
    """
    return _table(
        row
        for instance in instances
        for utility, corollaries in (("kl", ("K-C9", "K-C10")), ("mutual_information", ("K-C15", "K-C16")))
        for row in _expansion_rows(
            draw(utility, size, instance, seed=seed, concentration=concentration),
            ("expansions", size, instance),
            corollaries,
            small,
            large,
        )
    )


def _expansion_rows(
    measure: MutualInformation | FDivergence,
    name: tuple[str, int, int],
    corollaries: tuple[str, str],
    small: tuple[float, float],
    large: tuple[float, float],
) -> Iterator[_Row]:
    sources = [measure.p0, measure.p1] if isinstance(measure, FDivergence) else [measure.prior]
    if min(float(p.min()) for p in sources) == 0.0:
        return
    k = len(measure.prior)
    for corollary, (near, far) in zip(corollaries, (small, large[::-1]), strict=True):
        high = corollary == corollaries[0]
        expansion = high_privacy if high else low_privacy
        mechanism = partial(binary_mechanism, measure) if high else partial(randomized_response, k)
        channels = [mechanism(near), mechanism(far)]
        # The value departs from `limit` at the scale `unit`; what Cor. 16 has in common would hide the rest.
        limit = 0.0 if high else measure(Channel(np.eye(k)))
        unit = near**2 if high else -math.exp(-near)
        common = (k - 1) * near * math.exp(-near) if corollary == "K-C16" else 0.0
        step = math.log(far / near) if high else near - far
        exact = [measure(channel) for channel in channels]
        yield _row(*name, "computed", near, f"{corollary} constant", (exact[0] - limit + common) / unit)
        for variant in ("printed", "derived"):
            said = [expansion(measure, e, printed=variant == "printed") for e in (near, far)]
            left = [abs(x - y) for x, y in zip(exact, said, strict=True)]
            yield _row(*name, variant, near, f"{corollary} constant", (said[0] - limit + common) / unit)
            yield _row(*name, variant, near, f"{corollary} order", math.log(left[1] / left[0]) / step)
        if isinstance(measure, FDivergence):
            both = exact[0] + FDivergence(measure.p1, measure.p0, measure.kind)(channels[0])
            bound = (2.0 if high else 1.0) * expansion(measure, near, printed=True)
            yield _row(*name, "printed", near, f"{corollary} symmetrized", both / bound)


# Thresholds (Theorems 5, 8, 12, 14) -----------------------------------------------------------------------


def thresholds(
    size: int,
    instances: Sequence[int],
    *,
    seed: int,
    concentration: float = 1.0,
    utilities: Sequence[str] = ("kl", "chi2", "hellinger", "mutual_information"),
) -> pd.DataFrame:
    """Find the largest epsilon up to which binary is optimal, and the smallest from which RR is.

    A threshold is the end of the first (binary) or last (RR) interval of a grid of step 0.1 on which the
    mechanism stops, or starts, to be optimal, refined by bisection to 1e-6. Two intervals of opposite
    character within one step of the grid would go unnoticed.

    *Binary* counts as optimal if it reaches (1 - 1e-9) times the optimum; at the threshold itself this is
    certified by the optimum's upper bound, to the gap in the note, and just above it by a better mechanism.
    As the ratio leaves 1 with some positive slope, the tolerance moves the threshold by 1e-9 over that slope.

    *RR* is optimal if and only if the prices its columns determine leave no staircase column a positive
    reduced cost (its basis is not degenerate), which is checked for all 2^k columns, to 1e-12.

    For the pair P0, P1 the metric ``all_f`` is the threshold of binary for every f-divergence at once
    (Theorem 5): the largest epsilon at which no column has a likelihood ratio beyond the two of binary
    (Lemma 24), so that binary dominates every private mechanism; exact up to the bisection.

    Parameters
    ----------
    size, instances, seed, concentration
        As for `sweep`.
    utilities : sequence of str
        Members of `UTILITIES` other than ``tv``, for which binary is optimal at every epsilon.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`: experiment ``thresholds``, mechanism ``binary`` or ``rr``, metric the
        utility, and the threshold as value and epsilon, in nats; inf if binary is optimal up to epsilon = 40,
        and if RR is not optimal there.
    """
    rows = []
    for instance in instances:
        name = ("thresholds", size, instance)
        for utility in utilities:
            measure = draw(utility, size, instance, seed=seed, concentration=concentration)
            found, note = _binary_threshold(measure)
            rows.append(_row(*name, "binary", found, utility, found, note=note))
            found = _response_threshold(measure)
            rows.append(_row(*name, "rr", found, utility, found))
        pair = draw("kl", size, instance, seed=seed, concentration=concentration)
        assert isinstance(pair, FDivergence)
        found = _dominance_threshold(pair)
        rows.append(_row(*name, "binary", found, "all_f", found))
    return _table(rows)


#: Finer where thresholds are small.
_GRID = np.concatenate([np.geomspace(1e-4, 0.1, 13)[:-1], np.arange(1, 401) / 10.0])


def _first_run(holds: Callable[[float], bool]) -> float:
    """Return where a condition that holds from the start of the grid first fails, or inf."""
    low = 0.0
    for high in map(float, _GRID):
        if not holds(high):
            while high - low > _WIDTH * min(1.0, high):
                middle = (low + high) / 2.0
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low
        low = high
    return math.inf


def _binary_threshold(measure: MutualInformation | FDivergence) -> tuple[float, str]:
    start: Channel | None = None

    def holds(epsilon: float) -> bool:
        nonlocal start
        value = measure(binary_mechanism(measure, epsilon))
        if isinstance(measure, FDivergence):
            return best_cut(measure, epsilon).value <= value * (1.0 + DECISION)
        optimum = optimal_ldp(measure, epsilon, start=start)
        start = optimum.channel
        return optimum.value <= value * (1.0 + DECISION)

    found = _first_run(holds)
    if not 0.0 < found < math.inf:
        return found, ""
    value = measure(binary_mechanism(measure, found))
    upper = optimal_ldp(measure, found).upper_bound
    return found, f"binary certified to {relative_gap(value, max(upper, value)):.1e} of the optimum here"


def _response_threshold(measure: MutualInformation | FDivergence) -> float:
    def fails(epsilon: float) -> bool:
        family = Staircase(measure, epsilon)
        prices = family.response_prices
        return float(family.reduced(prices).max()) > 1e-12

    grid = _GRID[::-1]
    if fails(float(grid[0])):
        return math.inf
    high = float(grid[0])
    for low in map(float, grid[1:]):
        if fails(low):
            while high - low > _WIDTH * min(1.0, high):
                middle = (low + high) / 2.0
                low, high = (middle, high) if fails(middle) else (low, middle)
            return high
        high = low
    return 0.0


def _dominance_threshold(pair: FDivergence) -> float:
    return _first_run(lambda epsilon: _dominates(pair, epsilon))


def _dominates(pair: FDivergence, epsilon: float) -> bool:
    """Whether the likelihood ratios of binary are the extremes over all columns (kairouz2016, Lemma 24)."""
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    order = by_ratio(pair)
    p0, p1 = pair.p0[order], pair.p1[order]
    # The extreme ratios are those of the inputs before, or from, some place in the order of P0 / P1.
    below = [floor + share * np.concatenate([np.zeros(1), np.cumsum(p)]) for p in (p0, p1)]
    above = [floor + share * (1.0 - np.concatenate([np.zeros(1), np.cumsum(p)])) for p in (p0, p1)]
    split = int((p0 < p1).sum())
    least, most = below[0] / below[1], above[0] / above[1]
    rounding = 1.0 + 1e-14
    return bool(least[split] <= least.min() * rounding and most[split] * rounding >= most.max())


# Theorems -------------------------------------------------------------------------------------------------


def theorems(table: pd.DataFrame) -> pd.DataFrame:
    """Check Theorems 2, 6, 7 and 13 on the rows of sweeps.

    Per instance, with the epsilon at which it occurs, the extreme over the grid of

    - ``K-T2 outputs``: outputs of the optimum over k, at most 1; ``K-T2 ratios``: its staircase error, 0;
    - ``K-T6 ratio``: (sweep of ``tv``) binary over the bound of the optimum, 1; ``K-T6 formula``: distance of
      binary's value from (e^eps - 1) / (e^eps + 1) TV, 0;
    - ``K-T7``: (sweep of ``kl``) binary over OPT / (2 (e^eps + 1)^2), at least 1;
    - ``K-T13``: (sweep of ``mutual_information``) binary over OPT / (1 + e^eps), eps <= 1, at least 1.

    Parameters
    ----------
    table : DataFrame
        As `sweep` returns it, of any utilities and sizes.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`: experiment ``theorems``, the utility in the column of the mechanism.
    """
    rows: list[_Row] = []
    private = table[np.isfinite(table["epsilon"]) & (table["epsilon"] > 0)]
    for (utility, instance), part in private.groupby(["experiment", "instance"], sort=False):
        size, number = (int(x) for x in str(instance).removeprefix("k=").split(","))
        optimal = part[(part["mechanism"] == "optimal") & (part["metric"] == utility)]
        binary = part[(part["mechanism"] == "binary") & (part["metric"] == utility)]
        top = np.exp(binary["epsilon"])
        ratio = binary["value"] / binary["upper_bound"]
        checks = {
            "K-T2 outputs": (optimal["epsilon"], optimal["outputs"].astype(float) / size, "largest"),
            "K-T2 ratios": (*_columns(part[part["metric"] == "staircase_error"]), "largest"),
        }
        if utility == "tv":
            tv = float(table[(table["instance"] == instance) & (table["metric"] == "tv")]["value"].max())
            exact = np.tanh(binary["epsilon"] / 2.0) * tv
            checks["K-T6 ratio"] = (binary["epsilon"], ratio, "least")
            checks["K-T6 formula"] = (binary["epsilon"], (binary["value"] - exact).abs(), "largest")
        if utility == "kl":
            checks["K-T7"] = (binary["epsilon"], ratio * 2.0 * (top + 1.0) ** 2, "least")
        if utility == "mutual_information":
            low = binary["epsilon"] <= 1.0
            checks["K-T13"] = (binary["epsilon"][low], (ratio * (1.0 + top))[low], "least")
        for check, (epsilons, values, side) in checks.items():
            if len(values):
                at = values.to_numpy().argmax() if side == "largest" else values.to_numpy().argmin()
                rows.append(
                    _row(
                        "theorems",
                        size,
                        number,
                        str(utility),
                        float(epsilons.iloc[at]),
                        check,
                        values.iloc[at],
                        note=f"{side} over the grid",
                    )
                )
    return _table(rows)


def _columns(part: pd.DataFrame) -> tuple[Any, Any]:
    return part["epsilon"], part["value"]


def quaternary_checks(instances: Sequence[int], *, seed: int, outputs: int = 5) -> pd.DataFrame:
    """Check Theorem 18 on random mechanisms with a binary input.

    An instance is a random channel with random epsilon in [0, 2]; its smallest delta there is exact. The
    quaternary mechanism of that (epsilon, delta) must dominate it. Metrics: ``containment``, the least
    distance by which a vertex of the error region of the channel lies inside the quaternary region, >= 0;
    ``tightness``, the largest difference of the quaternary region's vertices from {P_FA + e^eps P_MD >=
    1 - delta, e^eps P_FA + P_MD >= 1 - delta} (Figure 9b), 0; and for every utility ``excess``, that of the
    channel over the quaternary mechanism's, <= 0.

    Parameters
    ----------
    instances : sequence of int
    seed : int
    outputs : int
        Of the random channels.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`, experiment ``quaternary``; the column privacy, which knows no delta,
        repeats epsilon.
    """
    rows = []
    for instance in instances:
        rng = generator(seed, f"{PAPER}/quaternary", 2, instance)
        epsilon = float(rng.uniform(0.0, 2.0))
        channel = Channel(rng.dirichlet(np.full(outputs, 0.7), 2))
        prior = rng.dirichlet(np.ones(2))
        delta = delta_at(channel, epsilon)
        best = quaternary_mechanism(epsilon, delta)
        name = ("quaternary", 2, instance)
        note = f"delta = {delta:.6f}"
        false_alarm, missed = error_region(channel).T
        top = math.exp(epsilon)
        inside = min((false_alarm + top * missed).min(), (top * false_alarm + missed).min()) - (1.0 - delta)
        rows.append(_row(*name, "random", epsilon, "containment", inside, note=note))
        middle = (1.0 - delta) / (1.0 + top)
        corners = np.array([[0.0, 1.0], [0.0, 1.0 - delta], [middle, middle], [1.0 - delta, 0.0], [1.0, 0.0]])
        distance = np.abs(error_region(best)[:, None] - corners).max(axis=2).min(axis=1).max()
        rows.append(_row(*name, "quaternary", epsilon, "tightness", float(distance), note=note))
        pair = np.eye(2)
        measures: dict[str, MutualInformation | FDivergence] = {
            "mutual_information": MutualInformation(prior),
            "tv": FDivergence(pair[0], pair[1], "tv"),
            "hellinger": FDivergence(pair[0], pair[1], "hellinger"),
            "kl": FDivergence(0.9 * pair[0] + 0.05, 0.9 * pair[1] + 0.05, "kl"),
            "chi2": FDivergence(0.9 * pair[0] + 0.05, 0.9 * pair[1] + 0.05, "chi2"),
        }
        for metric, measure in measures.items():
            excess = measure(channel) - measure(best)
            rows.append(_row(*name, "random", epsilon, f"excess {metric}", excess, note=note))
    return _table(rows)
