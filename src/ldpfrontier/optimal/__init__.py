"""Certified optima: the column LP and the families of columns it is solved over."""

from .master import Intractable, Optimum
from .nonrobust import optimal_nonrobust
from .robust import optimal_robust
from .staircase import optimal_ldp
from .utility import FDivergence, MutualInformation

__all__ = [
    "FDivergence",
    "Intractable",
    "MutualInformation",
    "Optimum",
    "optimal_ldp",
    "optimal_nonrobust",
    "optimal_robust",
]
