"""Certified privacy-utility optima for local privacy mechanisms, and the closed forms they compete with."""

from ldpfrontier.channel import Channel
from ldpfrontier.hamming.dp_leakage import hamming_leakage
from ldpfrontier.hamming.mi_leakage import information_leakage
from ldpfrontier.hamming.sources import SourceSet
from ldpfrontier.independent_reporting import independent_reporting
from ldpfrontier.mechanisms import (
    binary_mechanism,
    geometric_mechanism,
    quaternary_mechanism,
    randomized_response,
    secret_randomized_response,
)
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.staircase import optimal_ldp
from ldpfrontier.optimum import Intractable, Optimum
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.testing.leakage import optimal_leakage
from ldpfrontier.utility import FDivergence, MutualInformation

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
