"""The expansions of kairouz2016 at small and at large epsilon: as printed, derived, and computed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, total_variation
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.utility import FDivergence, MutualInformation
from papers.kairouz2016.experiments import balance, sweep
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import InstanceUtility, measures
from reproduction.results.tables import RESULTS, Result, Row

_LOG = logging.getLogger(__name__)

#: The corollaries of a utility: at small and at large epsilon.
_COROLLARIES = {
    "kl": ("corollary 9", "corollary 10"),
    "mutual_information": ("corollary 15", "corollary 16"),
}


def high_privacy(measure: InstanceUtility, epsilon: float, *, printed: bool = False) -> float:
    r"""Expand what the binary mechanism achieves at small epsilon, in nats (kairouz2016, Cor. 9, 15).

    D(M0 || M1) = 2 tanh(eps/2)^2 TV^2 + O(eps^4) and I = 2 tanh(eps/2)^2 P(T) P(T^c) + O(eps^4). Printed:
    (e^eps - 1)^2 / (e^eps + 1) TV^2 and eps^2/2 P(T) P(T^c), the same to leading order.
    """
    if isinstance(measure, FDivergence):
        size = total_variation(measure.p0, measure.p1) ** 2
        leading = math.expm1(epsilon) ** 2 / (math.exp(epsilon) + 1.0)
    else:
        size = balance(measure)
        leading = epsilon**2 / 2.0
    return size * (leading if printed else 2.0 * math.tanh(epsilon / 2.0) ** 2)


def low_privacy(measure: InstanceUtility, epsilon: float, *, printed: bool = False) -> float:
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


# Figures 5 and 8 --------------------------------------------------------------------------------------------


def scaling(
    instances: pd.DataFrame,
    utility: str,
    numbers: Sequence[int],
    *,
    size: int = 6,
    epsilons: Sequence[float] = (0.1, 10.0),
    tolerance: float = 1e-9,
) -> pd.DataFrame:
    """Compute Figure 5 (``kl``) or Figure 8 (``mutual_information``): one point per instance and mechanism.

    The rows are those of `sweep` at a small and at a large epsilon, in the experiments ``fig5`` and ``fig8``,
    with two mechanisms more: ``printed``, the expansion as the paper has it, and ``predicted``, with its
    errata (`high_privacy`, `low_privacy`; not where a probability is 0). The abscissae are the rows of
    ``identity``. Everything is in nats, also for Figure 8, which the paper draws in bits.
    """
    experiment = {"kl": "fig5", "mutual_information": "fig8"}[utility]
    points = sweep(instances, utility, size, numbers, epsilons, tolerance=tolerance)
    rows = []
    for instance, measure in measures(instances, utility, size, numbers=numbers):
        row = partial(Result, PAPER, experiment, instance_name(instance), size=str(size))
        for epsilon, expansion in zip(epsilons, (high_privacy, low_privacy), strict=True):
            for mechanism in ("printed", "predicted"):
                value = expansion(measure, epsilon, printed=mechanism == "printed")
                if math.isfinite(value):
                    rows.append(row(mechanism, utility, value, unit=measure.unit, epsilon=epsilon))
    return RESULTS.conform(
        pd.concat([points.assign(experiment=experiment), RESULTS.table(rows)], ignore_index=True)
    )


# Constants and orders (Corollaries 9, 10, 15, 16) -----------------------------------------------------------


def expansions(
    instances: pd.DataFrame,
    sizes: Sequence[int],
    numbers: Sequence[int],
    *,
    small: Sequence[float] = (0.02, 0.04),
    large: Sequence[float] = (12.0, 14.0),
    delta: float = 0.1,
) -> pd.DataFrame:
    """Measure constants and error orders of the expansions below Corollaries 9, 10, 15 and 16.

    For each corollary and instance without zero probabilities: ``constant``, what the mechanism has over
    eps^2, or has lost over e^-eps (without the term (k - 1) eps e^-eps), as ``computed``, ``printed`` and
    ``derived``; and ``order``, the exponent of what is left after the expansion, in eps or in e^-eps, fitted
    to the two values of epsilon in `small` or `large`, again as ``printed`` and ``derived``. For Corollaries
    9 and 10 as stated, ``symmetrized`` is D(M0 || M1) + D(M1 || M0) of the same mechanism over the stated
    bound with delta = 0. The mechanism column says which variant; `delta` is that of Corollary 16.
    """
    rows: list[Row] = []
    for size in sizes:
        _LOG.info("%d inputs", size)
        for utility, corollaries in _COROLLARIES.items():
            for instance, measure in measures(instances, utility, size, numbers=numbers):
                entry = partial(Result, PAPER, instance=instance_name(instance), size=str(size))
                rows += _expansion_rows(measure, entry, corollaries, small, large)
                if isinstance(measure, MutualInformation) and measure.prior.min() > 0:
                    rows += _bound_rows(measure.prior, entry, corollaries[1], delta)
    return RESULTS.table(rows)


def _expansion_rows(
    measure: InstanceUtility,
    entry: Callable[..., Row],
    corollaries: tuple[str, str],
    small: Sequence[float],
    large: Sequence[float],
) -> Iterator[Row]:
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
        common = (k - 1) * near * math.exp(-near) if corollary == "corollary 16" else 0.0
        step = math.log(far / near) if high else near - far
        exact = [measure(channel) for channel in channels]
        row = partial(entry, experiment=corollary, epsilon=near)
        constant = partial(row, metric="constant", unit=measure.unit)
        yield constant(mechanism="computed", value=(exact[0] - limit + common) / unit)
        for variant in ("printed", "derived"):
            said = [expansion(measure, e, printed=variant == "printed") for e in (near, far)]
            left = [abs(x - y) for x, y in zip(exact, said, strict=True)]
            order = math.log(left[1] / left[0]) / step
            yield constant(mechanism=variant, value=(said[0] - limit + common) / unit)
            yield row(mechanism=variant, metric="order", value=order, unit="1")
        if isinstance(measure, FDivergence):
            both = exact[0] + FDivergence(measure.p1, measure.p0, measure.kind)(channels[0])
            bound = (2.0 if high else 1.0) * expansion(measure, near, printed=True)
            yield row(mechanism="printed", metric="symmetrized", value=both / bound, unit="1")


def response_loss(prior: FloatArray, epsilons: FloatArray) -> FloatArray:
    """Return e^eps H(X | Y) after randomized response, nats: what it loses, without cancellation.

    The prior, shape (k,), is positive; the epsilons, shape (n,) as the result, are up to 600.
    """
    small = np.exp(-epsilons)[:, None]
    # An output y has the posterior P_y : P_x e^-eps, and e^eps times the weight of the sum of these.
    truth = np.exp(epsilons)[:, None] * prior * np.log1p((1.0 - prior) / prior * small)
    total = np.log(prior + (1.0 - prior) * small) + epsilons[:, None]
    lies = (1.0 - prior) * total - (entropy_terms(prior).sum() - entropy_terms(prior))
    return np.asarray((truth + lies).sum(axis=1) / (1.0 + (len(prior) - 1) * small[:, 0]))


def entropy_terms(prior: FloatArray) -> FloatArray:
    """Return P log P."""
    return np.asarray(prior * np.log(prior))


def _bound_rows(prior: FloatArray, entry: Callable[..., Row], corollary: str, delta: float) -> Iterator[Row]:
    levels = np.geomspace(0.5, 600.0, 1000)
    ratio = response_loss(prior, levels) / ((len(prior) - 1) * levels)
    fails = np.flatnonzero(ratio < 1.0 - delta)
    first = 0 if not fails.size else int(fails[-1]) + 1
    level = float(levels[first]) if first < levels.size else math.inf
    row = partial(entry, experiment=corollary, mechanism="printed")
    yield row(metric="level", value=level, unit="nats", note=f"delta = {delta:g}")
    yield row(metric="limit", value=float(ratio[-1]), unit="1", epsilon=float(levels[-1]))
