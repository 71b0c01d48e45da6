"""Certified privacy-utility optima for local privacy mechanisms, and the closed forms they compete with."""

from .channel import Channel
from .distortion import SourceSet, hamming_leakage, information_leakage
from .mechanisms import (
    binary_mechanism,
    geometric_mechanism,
    independent_reporting,
    quaternary_mechanism,
    randomized_response,
    secret_randomized_response,
)
from .optimal import (
    FDivergence,
    Intractable,
    MutualInformation,
    Optimum,
    optimal_ldp,
    optimal_nonrobust,
    optimal_robust,
)
from .optimal.leakage import optimal_leakage
from .uncertainty import RenyiBall

__all__ = [
    "Channel",
    "FDivergence",
    "Intractable",
    "MutualInformation",
    "Optimum",
    "RenyiBall",
    "SourceSet",
    "binary_mechanism",
    "geometric_mechanism",
    "hamming_leakage",
    "independent_reporting",
    "information_leakage",
    "optimal_ldp",
    "optimal_leakage",
    "optimal_nonrobust",
    "optimal_robust",
    "quaternary_mechanism",
    "randomized_response",
    "secret_randomized_response",
]
