"""Certified privacy-utility optima for local privacy mechanisms, and closed forms.

The names below are loaded when they are first used: importing the package costs nothing, and a solver is
loaded by those who call it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpfrontier.block_designs import (
        block_design_response,
        hadamard_response,
        projective_geometry_response,
    )
    from ldpfrontier.calibration import Calibration, calibrated
    from ldpfrontier.certificates.association import association_certificate
    from ldpfrontier.certificates.levels import level_certificate
    from ldpfrontier.certificates.local import ldp_certificate
    from ldpfrontier.certificates.robust import nonrobust_certificate, robust_certificate
    from ldpfrontier.channel import Channel
    from ldpfrontier.column_utility import ColumnUtility
    from ldpfrontier.cones import (
        Cone,
        PolyhedralCone,
        conditional_cone,
        local_cone,
        polyopt_cone,
        unconditional_cone,
    )
    from ldpfrontier.hamming.dp_leakage import hamming_leakage
    from ldpfrontier.hamming.mi_leakage import information_leakage
    from ldpfrontier.hamming.sources import SourceSet
    from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
    from ldpfrontier.information import entropy, mutual_information
    from ldpfrontier.kairouz_mechanisms import geometric_mechanism, quaternary_mechanism
    from ldpfrontier.mechanisms import (
        binary_mechanism,
        randomized_response,
        secret_randomized_response,
        subset_selection,
    )
    from ldpfrontier.numerics.deadline import TimeIsUp, time_limit
    from ldpfrontier.optimal.association import optimal_association
    from ldpfrontier.optimal.designs.error import estimation_error
    from ldpfrontier.optimal.designs.solve import optimal_estimation
    from ldpfrontier.optimal.designs.targets import logit_coefficients, logit_target, rate_target
    from ldpfrontier.optimal.designs.united_outputs import with_united_outputs
    from ldpfrontier.optimal.designs.worst_error import worst_estimation_error
    from ldpfrontier.optimal.joint.association_cone import association_cone
    from ldpfrontier.optimal.joint.separation import robust_cone
    from ldpfrontier.optimal.label import optimal_label, optimal_label_estimation
    from ldpfrontier.optimal.listed.double_description import extreme_rays
    from ldpfrontier.optimal.listed.ldp import optimal_ldp
    from ldpfrontier.optimal.listed.nonrobust import optimal_nonrobust
    from ldpfrontier.optimal.listed.thresholds import (
        binary_domination_threshold,
        binary_threshold,
        randomized_response_threshold,
    )
    from ldpfrontier.optimal.mechanism import optimal_mechanism
    from ldpfrontier.optimal.repeated import RepeatedReports, optimal_repeated
    from ldpfrontier.optimal.robust import optimal_robust
    from ldpfrontier.optimal.robust_bound import robust_bound
    from ldpfrontier.optimal.unconditional import optimal_unconditional
    from ldpfrontier.optimum import Optimum
    from ldpfrontier.privacy import conditional_epsilon, ldp_epsilon, rldp_epsilon, unconditional_epsilon
    from ldpfrontier.questionnaires.comparisons import questionnaire_errors
    from ldpfrontier.questionnaires.interactions import Questionnaire
    from ldpfrontier.questionnaires.mechanism import Lot, QuestionnaireMechanism
    from ldpfrontier.questionnaires.solve import QuestionnaireOptimum, optimal_questionnaire
    from ldpfrontier.several_reports import ReportLevels, composition, levels_of_reports
    from ldpfrontier.two_reports import BudgetSplit, budget_split, independent_reporting
    from ldpfrontier.types import Intractable
    from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
    from ldpfrontier.uncertainty.renyi_ball import RenyiBall
    from ldpfrontier.utility import FDivergence, MutualInformation

__version__ = "0.3.0"

__all__ = [
    "BudgetSplit",
    "Calibration",
    "Channel",
    "ColumnUtility",
    "Cone",
    "FDivergence",
    "Intractable",
    "Lot",
    "MutualInformation",
    "OddsRatios",
    "Optimum",
    "PolyhedralCone",
    "Questionnaire",
    "QuestionnaireMechanism",
    "QuestionnaireOptimum",
    "RenyiBall",
    "RepeatedReports",
    "ReportLevels",
    "SourceSet",
    "TimeIsUp",
    "association_certificate",
    "association_cone",
    "association_epsilon",
    "binary_domination_threshold",
    "binary_mechanism",
    "binary_threshold",
    "block_design_response",
    "budget_split",
    "calibrated",
    "composition",
    "conditional_cone",
    "conditional_epsilon",
    "entropy",
    "estimation_error",
    "extreme_rays",
    "geometric_mechanism",
    "hadamard_response",
    "hamming_leakage",
    "independent_reporting",
    "information_leakage",
    "ldp_certificate",
    "ldp_epsilon",
    "level_certificate",
    "levels_of_reports",
    "local_cone",
    "logit_coefficients",
    "logit_target",
    "mutual_information",
    "nonrobust_certificate",
    "optimal_association",
    "optimal_estimation",
    "optimal_label",
    "optimal_label_estimation",
    "optimal_ldp",
    "optimal_leakage",
    "optimal_mechanism",
    "optimal_nonrobust",
    "optimal_questionnaire",
    "optimal_repeated",
    "optimal_robust",
    "optimal_unconditional",
    "polyopt_cone",
    "projective_geometry_response",
    "quaternary_mechanism",
    "questionnaire_errors",
    "randomized_response",
    "randomized_response_threshold",
    "rate_target",
    "rldp_epsilon",
    "robust_bound",
    "robust_certificate",
    "robust_cone",
    "secret_randomized_response",
    "subset_selection",
    "time_limit",
    "unconditional_cone",
    "unconditional_epsilon",
    "with_united_outputs",
    "worst_estimation_error",
]

#: The module that defines each name, as imported above for type checkers.
_HOMES = {
    "BudgetSplit": "two_reports",
    "Calibration": "calibration",
    "Channel": "channel",
    "ColumnUtility": "column_utility",
    "Cone": "cones",
    "FDivergence": "utility",
    "Intractable": "types",
    "Lot": "questionnaires.mechanism",
    "MutualInformation": "utility",
    "OddsRatios": "uncertainty.odds_ratios",
    "Optimum": "optimum",
    "PolyhedralCone": "cones",
    "Questionnaire": "questionnaires.interactions",
    "QuestionnaireMechanism": "questionnaires.mechanism",
    "QuestionnaireOptimum": "questionnaires.solve",
    "RenyiBall": "uncertainty.renyi_ball",
    "RepeatedReports": "optimal.repeated",
    "ReportLevels": "several_reports",
    "SourceSet": "hamming.sources",
    "TimeIsUp": "numerics.deadline",
    "association_certificate": "certificates.association",
    "association_cone": "optimal.joint.association_cone",
    "association_epsilon": "uncertainty.odds_ratios",
    "binary_domination_threshold": "optimal.listed.thresholds",
    "binary_mechanism": "mechanisms",
    "binary_threshold": "optimal.listed.thresholds",
    "block_design_response": "block_designs",
    "budget_split": "two_reports",
    "calibrated": "calibration",
    "composition": "several_reports",
    "conditional_cone": "cones",
    "conditional_epsilon": "privacy",
    "entropy": "information",
    "estimation_error": "optimal.designs.error",
    "extreme_rays": "optimal.listed.double_description",
    "geometric_mechanism": "kairouz_mechanisms",
    "hadamard_response": "block_designs",
    "hamming_leakage": "hamming.dp_leakage",
    "independent_reporting": "two_reports",
    "information_leakage": "hamming.mi_leakage",
    "ldp_certificate": "certificates.local",
    "ldp_epsilon": "privacy",
    "level_certificate": "certificates.levels",
    "levels_of_reports": "several_reports",
    "local_cone": "cones",
    "logit_coefficients": "optimal.designs.targets",
    "logit_target": "optimal.designs.targets",
    "mutual_information": "information",
    "nonrobust_certificate": "certificates.robust",
    "optimal_association": "optimal.association",
    "optimal_estimation": "optimal.designs.solve",
    "optimal_label": "optimal.label",
    "optimal_label_estimation": "optimal.label",
    "optimal_ldp": "optimal.listed.ldp",
    "optimal_leakage": "hypothesis_testing.leakage",
    "optimal_mechanism": "optimal.mechanism",
    "optimal_nonrobust": "optimal.listed.nonrobust",
    "optimal_questionnaire": "questionnaires.solve",
    "optimal_repeated": "optimal.repeated",
    "optimal_robust": "optimal.robust",
    "optimal_unconditional": "optimal.unconditional",
    "polyopt_cone": "cones",
    "projective_geometry_response": "block_designs",
    "quaternary_mechanism": "kairouz_mechanisms",
    "questionnaire_errors": "questionnaires.comparisons",
    "randomized_response": "mechanisms",
    "randomized_response_threshold": "optimal.listed.thresholds",
    "rate_target": "optimal.designs.targets",
    "rldp_epsilon": "privacy",
    "robust_bound": "optimal.robust_bound",
    "robust_certificate": "certificates.robust",
    "robust_cone": "optimal.joint.separation",
    "secret_randomized_response": "mechanisms",
    "subset_selection": "mechanisms",
    "time_limit": "numerics.deadline",
    "unconditional_cone": "cones",
    "unconditional_epsilon": "privacy",
    "with_united_outputs": "optimal.designs.united_outputs",
    "worst_estimation_error": "optimal.designs.worst_error",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
