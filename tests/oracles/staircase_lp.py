"""The column LP over all 2^k staircase columns at once (kairouz2016, Theorem 4), by another solver."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog
from scipy.special import rel_entr, xlogy

from ldpfrontier.model.utility import MutualInformation

GENERATORS = {
    "kl": lambda t: xlogy(t, t),
    "tv": lambda t: np.abs(t - 1) / 2,
    "chi2": lambda t: (t - 1) ** 2,
    "hellinger": lambda t: (np.sqrt(t) - 1) ** 2 / 2,
}


def mu(utility, v):
    """Return the utility of one column, from its definition in the paper."""
    if isinstance(utility, MutualInformation):
        return float(rel_entr(utility.prior * v, utility.prior * (utility.prior @ v)).sum())
    z0, z1 = utility.p0 @ v, utility.p1 @ v
    return float(z1 * GENERATORS[utility.kind](np.array([z0 / z1]))[0])


def staircase_lp(utility, epsilon):
    """Return the optimum over all columns, by HiGHS at tolerances of 1e-10."""
    k = len(utility.prior)
    bits = np.array(list(itertools.product([0, 1], repeat=k)))
    columns = np.where(bits == 1, 1.0, math.exp(-epsilon))
    columns /= columns.mean(axis=1, keepdims=True)
    values = np.array([mu(utility, v) for v in columns])
    scale = values.max()
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solution = linprog(
        -values / scale,
        A_eq=columns.T,
        b_eq=np.ones(k),
        method="highs-ds",
        options=options | {"presolve": False},
    )
    assert solution.status == 0
    return -solution.fun * scale
