"""Certified optima: the column LP and the families of columns it is solved over."""

from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.staircase import optimal_ldp
from ldpfrontier.optimum import Intractable, Optimum
from ldpfrontier.utility import FDivergence, MutualInformation

__all__ = [
    "FDivergence",
    "Intractable",
    "MutualInformation",
    "Optimum",
    "optimal_ldp",
    "optimal_nonrobust",
    "optimal_robust",
]
