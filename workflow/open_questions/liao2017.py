"""A question that liao2017 leaves open: how mutual information compares with other privacy metrics."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hamming.any_distortion import least_distortion
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS
from ldpfrontier.model.privacy import ldp_epsilon
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.ldp import optimal_ldp
from open_questions.summaries import DP_DISTORTION, INFORMATION, LOCAL, METRICS, MI_DISTORTION
from reproduction.results.tables import Row

_log = logging.getLogger(__name__)

#: Relative gap of the optima under a limit of mutual information.
_TOLERANCE = 1e-4

#: Relative gap of the largest mutual information over a hull, and the steps to it.
_CAPACITY_GAP, _CAPACITY_STEPS = 1e-5, 10_000


def metrics(
    *,
    instances: Sequence[Mapping[str, Any]],
    shares: Sequence[float],
    epsilons: Sequence[float],
    distortions: Sequence[float],
) -> pd.DataFrame:
    """Measure mechanisms that are optimal under one privacy metric by all, and compare with the best of each.

    An instance has a name and hypotheses, a distribution per row. Limits of mutual information are shares of
    the least entropy, levels are in nats, and distortions are shares of the least that tells nothing.
    """
    rows: list[Row] = []
    for instance in instances:
        tested = Hypotheses(instance["hypotheses"])
        mechanisms = list(_mechanisms(tested, shares, epsilons, distortions))
        for metric, limit, channel in mechanisms:
            row = {"instance": instance["name"], "letters": tested.letters, "metric": metric, "limit": limit}
            rows.append(row | _measured(tested, channel))
        _log.info("%s: %d mechanisms", instance["name"], len(mechanisms))
    return METRICS.table(rows)


def _mechanisms(
    tested: Hypotheses, shares: Sequence[float], epsilons: Sequence[float], distortions: Sequence[float]
) -> Iterator[tuple[str, float, Channel]]:
    """Yield the metric, the limit and the channel of optima."""
    p = tested.distributions
    for share in shares:
        limit = share * float(tested.entropies.min()) * BITS
        yield INFORMATION, limit, optimal_leakage(p, limit, tolerance=_TOLERANCE).channel
    for epsilon in epsilons:
        yield LOCAL, epsilon, optimal_ldp(_divergences(tested), epsilon).channel
    silent = least_distortion(p, 1.0 - np.eye(tested.letters), 0.0).value
    for share in distortions:
        yield DP_DISTORTION, share * silent, hamming_leakage(p, share * silent).channel
        yield MI_DISTORTION, share * silent, information_leakage(p, share * silent).channel


def _measured(tested: Hypotheses, channel: Channel) -> dict[str, Any]:
    """Return the utility and the leakages of a channel, with bounds on the utility at each of these."""
    told, level = float(tested.leakage(channel).max()), ldp_epsilon(channel)
    worst, full = worst_information(tested.distributions, channel), float(tested.divergences.min())
    local = full if math.isinf(level) else optimal_ldp(_divergences(tested), level).bound
    return {
        "utility": tested.utility(channel),
        "information": told,
        "epsilon": level,
        "worst_information": worst * BITS,
        "best_information": optimal_leakage(tested.distributions, told, tolerance=_TOLERANCE).bound,
        "best_local": local * BITS,
    }


def _divergences(tested: Hypotheses) -> list[FDivergence]:
    """Return the relative entropies from the first hypothesis, in nats."""
    first, *others = tested.distributions
    return [FDivergence(p, first, kind="kl") for p in others]


def worst_information(distributions: FloatArray, channel: Channel) -> float:
    """Bound the largest I(P; Y) over the hull of distributions, nats, from above and to 1e-5 of it.

    The iteration of Blahut and Arimoto for the weights of the distributions: sum_x P_x D(Q_x || M) is at
    least I(P; Y) for every M. Its steps are as long as the contraction of total variation from weights to
    outputs allows, which bounds that of relative entropy.
    """
    Q, w = channel.matrix, np.full(len(distributions), 1.0 / len(distributions))
    outputs = distributions @ Q
    contraction = max(float(np.abs(outputs[:, None] - outputs).sum(axis=2).max()) / 2.0, 1e-12)
    most = math.inf
    for _ in range(_CAPACITY_STEPS):
        logs = np.log(np.divide(Q, w @ outputs, out=np.ones_like(Q), where=Q > 0))
        each = distributions @ (Q * logs).sum(axis=1)
        most = min(most, float(each.max()))
        if most - float(w @ each) <= _CAPACITY_GAP * most:
            break
        w = w * np.exp((each - each.max()) / contraction)
        w = w / w.sum()
    return max(most, 0.0)
