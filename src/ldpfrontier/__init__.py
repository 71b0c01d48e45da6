"""Certified privacy-utility optima for local privacy mechanisms, and the closed forms they compete with.

The names below are loaded when they are first used: importing the package costs nothing, and a solver is
loaded by those who call it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpfrontier.calibration import Calibration, calibrated
    from ldpfrontier.channel import Channel
    from ldpfrontier.hamming.dp_leakage import hamming_leakage
    from ldpfrontier.hamming.mi_leakage import information_leakage
    from ldpfrontier.hamming.sources import SourceSet
    from ldpfrontier.information import entropy, mutual_information
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
    from ldpfrontier.optimal.two_reports import improved_reporting
    from ldpfrontier.optimal.unconditional import optimal_unconditional
    from ldpfrontier.optimum import Intractable, Optimum
    from ldpfrontier.privacy import ldp_epsilon, rldp_epsilon
    from ldpfrontier.renyi_ball import RenyiBall
    from ldpfrontier.testing.leakage import optimal_leakage
    from ldpfrontier.two_reports import BudgetSplit, budget_split, independent_reporting
    from ldpfrontier.utility import FDivergence, MutualInformation

__version__ = "0.2.0"

__all__ = [
    "BudgetSplit",
    "Calibration",
    "Channel",
    "FDivergence",
    "Intractable",
    "MutualInformation",
    "Optimum",
    "RenyiBall",
    "SourceSet",
    "binary_mechanism",
    "budget_split",
    "calibrated",
    "entropy",
    "geometric_mechanism",
    "hamming_leakage",
    "improved_reporting",
    "independent_reporting",
    "information_leakage",
    "ldp_epsilon",
    "mutual_information",
    "optimal_ldp",
    "optimal_leakage",
    "optimal_nonrobust",
    "optimal_robust",
    "optimal_unconditional",
    "quaternary_mechanism",
    "randomized_response",
    "rldp_epsilon",
    "secret_randomized_response",
]

#: The module that defines each name, as imported above for type checkers.
_HOMES = {
    "BudgetSplit": "two_reports",
    "Calibration": "calibration",
    "Channel": "channel",
    "FDivergence": "utility",
    "Intractable": "optimum",
    "MutualInformation": "utility",
    "Optimum": "optimum",
    "RenyiBall": "renyi_ball",
    "SourceSet": "hamming.sources",
    "binary_mechanism": "mechanisms",
    "budget_split": "two_reports",
    "calibrated": "calibration",
    "entropy": "information",
    "geometric_mechanism": "mechanisms",
    "hamming_leakage": "hamming.dp_leakage",
    "improved_reporting": "optimal.two_reports",
    "independent_reporting": "two_reports",
    "information_leakage": "hamming.mi_leakage",
    "ldp_epsilon": "privacy",
    "mutual_information": "information",
    "optimal_ldp": "optimal.staircase",
    "optimal_leakage": "testing.leakage",
    "optimal_nonrobust": "optimal.nonrobust",
    "optimal_robust": "optimal.robust",
    "optimal_unconditional": "optimal.unconditional",
    "quaternary_mechanism": "mechanisms",
    "randomized_response": "mechanisms",
    "rldp_epsilon": "privacy",
    "secret_randomized_response": "mechanisms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
