"""The mechanisms of kairouz2016 against the optimum on random instances (Figures 3, 4, 6, 7)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, total_variation
from ldpfrontier.model.kairouz_mechanisms import geometric_mechanism
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.optimum import UNKNOWN, Optimum
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import InstanceUtility, measures
from reproduction.own_channels import channel_of, require_private
from reproduction.planning.own_mechanisms import registered
from reproduction.results.tables import CLOSED_FORM, HEURISTIC, RESULTS, Result

MECHANISMS = ("binary", "rr", "geometric")

#: Those of the user's own, by name.
OWN = registered(PAPER)

_LOG = logging.getLogger(__name__)


def sweep(
    instances: pd.DataFrame,
    utility: str,
    size: int,
    numbers: Sequence[int],
    epsilons: Sequence[float],
    *,
    mechanisms: Sequence[str] = MECHANISMS,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
) -> pd.DataFrame:
    """Compute the optimum and the closed forms of a population of instances over a grid of privacy levels.

    Every mechanism has the metric named `utility` and ``normalized`` (divided by D(P0 || P1) or H(X), where
    that is positive and finite). The bound of all of them is that of the optimum, so ``value / bound`` is the
    ratio to OPT. The optimum has the metric ``staircase_error`` too: how far the ratios within its columns
    are from 1 or e^eps, relatively. Facts of an instance are rows of the mechanism ``identity`` at epsilon =
    inf: the utility without privacy, ``tv``, and ``balance``, which is P(T) P(T^c) of the binary mechanism's
    T.

    `numbers` are those of the instances to choose from `instances.instances`, of `size` inputs; the rows of
    one do not depend on the others. `mechanisms` are members of `MECHANISMS`, and those of the user's own.
    """
    rows: list[Result] = []
    for instance, measure in measures(instances, utility, size, numbers=numbers):
        _LOG.info("%s, %d inputs, instance %d", utility, size, instance)
        row = partial(Result, PAPER, utility, instance_name(instance), size=str(size))
        rows += _sweep_rows(measure, row, utility, epsilons, mechanisms, tolerance, max_rounds)
    return RESULTS.table(rows)


def _sweep_rows(
    measure: InstanceUtility,
    row: Callable[..., Result],
    metric: str,
    epsilons: Sequence[float],
    mechanisms: Sequence[str],
    tolerance: float,
    max_rounds: int,
) -> Iterator[Result]:
    full = _without_privacy(measure)
    yield row("identity", metric, full, unit=measure.unit)
    if isinstance(measure, MutualInformation):
        yield row("identity", "balance", balance(measure), unit="1")
    elif metric != "tv":
        yield row("identity", "tv", total_variation(measure.p0, measure.p1), unit="1")
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
            status = HEURISTIC if mechanism in OWN else CLOSED_FORM
            entries.append((mechanism, channel, measure(channel), status, 0))
        for mechanism, channel, value, status, iterations in entries:
            certificate = {
                "epsilon": epsilon,
                "direction": optimum.direction,
                "status": status,
                "channel": channel,
                "iterations": iterations,
                "method": optimum.method if mechanism == "optimal" else UNKNOWN,
                "privacy": ldp_epsilon(channel),
            }
            absolute = row(
                mechanism, metric, value, unit=measure.unit, bound=optimum.upper_bound, **certificate
            )
            yield absolute
            if 0.0 < full < math.inf:
                share, bound = value / full, absolute.bound / full
                yield row(mechanism, "normalized", share, unit="1", bound=bound, **certificate)
        error = staircase_error(optimum.channel, epsilon)
        yield row("optimal", "staircase_error", error, unit="1", epsilon=epsilon)


def _without_privacy(measure: InstanceUtility) -> float:
    if isinstance(measure, MutualInformation):
        return entropy(measure.prior)
    return measure.divergence()


def balance(measure: MutualInformation) -> float:
    """Return P(T) P(T^c) of the set T whose membership the binary mechanism reports."""
    inside = float(measure.prior[measure.balanced].sum())
    return inside * (1.0 - inside)


def _closed_form(mechanism: str, measure: InstanceUtility, epsilon: float) -> Channel:
    if mechanism in OWN:
        own = OWN[mechanism]
        channel = channel_of(own, measure, epsilon, len(measure.prior))
        require_private(own, ldp_epsilon(channel), epsilon, "between any two inputs")
        return channel
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
