"""Questions that kairouz2016 leaves open: approximately private mechanisms on more than two letters."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import generator
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from open_questions.summaries import APPROXIMATE

_log = logging.getLogger(__name__)

#: The levels that are drawn, nats, uniformly, and the deltas, log-uniformly.
LEVELS, DELTAS = (0.3, 4.0), (0.02, 0.6)


def approximate(*, letters: int, instances: int, seed: int) -> pd.DataFrame:
    """Compare optima with the mixture of the truth and the optimum of delta 0, at random instances.

    Distributions are uniform on the simplex. An instance has one distribution for mutual information and two
    for the f-divergences, and one level and delta for all of them.
    """
    rows = []
    for instance in range(instances):
        rng = generator(seed, "approximate", letters, instance)
        p, q = rng.dirichlet(np.ones(letters), size=2)
        epsilon, delta = rng.uniform(*LEVELS), np.exp(rng.uniform(*np.log(DELTAS)))
        utilities = {
            "mutual information": MutualInformation(p),
            "kl": FDivergence(p, q, kind="kl"),
            "tv": FDivergence(p, q, kind="tv"),
            "chi2": FDivergence(p, q, kind="chi2"),
        }
        for name, utility in utilities.items():
            best = optimal_ldp(utility, epsilon, delta)
            truth, nothing = utility(Channel(np.eye(letters))), optimal_ldp(utility, epsilon).value
            rows.append(
                {
                    "letters": letters,
                    "utility": name,
                    "instance": instance,
                    "epsilon": epsilon,
                    "delta": delta,
                    "value": best.value,
                    "bound": best.bound,
                    "mixture": delta * truth + (1.0 - delta) * nothing,
                }
            )
    _log.info("%d letters: %d instances", letters, instances)
    return APPROXIMATE.table(rows)
