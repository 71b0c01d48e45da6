"""Certified privacy-utility optima for local privacy mechanisms, and the closed forms they compete with."""

from .channel import Channel
from .mechanisms import independent_reporting, randomized_response, secret_randomized_response
from .optimal import (
    Intractable,
    MutualInformation,
    Optimum,
    optimal_ldp,
    optimal_nonrobust,
    optimal_robust,
)
from .uncertainty import RenyiBall

__all__ = [
    "Channel",
    "Intractable",
    "MutualInformation",
    "Optimum",
    "RenyiBall",
    "independent_reporting",
    "optimal_ldp",
    "optimal_nonrobust",
    "optimal_robust",
    "randomized_response",
    "secret_randomized_response",
]
