"""The column LP over all rays at once, by another solver."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier.model.utility import MutualInformation


def full_lp(utility: MutualInformation, rays: np.ndarray) -> float:
    """The column LP over all rays at once, by dual simplex through scipy."""
    z = rays @ utility.prior
    values = xlogy(rays, rays) @ utility.prior - xlogy(z, z)
    solution = linprog(
        -values,
        A_eq=rays.T,
        b_eq=np.ones(rays.shape[1]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.success
    return -float(solution.fun)
