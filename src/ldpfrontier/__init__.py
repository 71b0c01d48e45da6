"""Certified privacy-utility optima for local privacy mechanisms, and closed forms.

The names below are loaded when they are first used: importing the package costs nothing, and a solver is
loaded by those who call it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpfrontier.base.types import Intractable
    from ldpfrontier.certificates.association import association_certificate
    from ldpfrontier.certificates.levels import level_certificate
    from ldpfrontier.certificates.local import ldp_certificate
    from ldpfrontier.certificates.nonrobust import nonrobust_certificate
    from ldpfrontier.certificates.robust import robust_certificate
    from ldpfrontier.engines.designs.deviating import DeviatingEstimate, deviating_estimate
    from ldpfrontier.engines.designs.error import estimation_error
    from ldpfrontier.engines.designs.targets import logit_coefficients, logit_target, rate_target
    from ldpfrontier.engines.designs.united_outputs import with_united_outputs
    from ldpfrontier.engines.designs.worst_error import worst_estimation_error
    from ldpfrontier.engines.joint.association_cone import association_cone
    from ldpfrontier.engines.joint.separation import robust_cone
    from ldpfrontier.engines.joint.unasked import unasked_cone
    from ldpfrontier.engines.listed.double_description import extreme_rays
    from ldpfrontier.hamming.any_distortion import distortion_leakage, least_distortion
    from ldpfrontier.hamming.dp_leakage import hamming_leakage
    from ldpfrontier.hamming.mi_leakage import information_leakage
    from ldpfrontier.hamming.sources import SourceSet
    from ldpfrontier.hypothesis_testing.leakage import optimal_leakage
    from ldpfrontier.model.average_utility import AverageUtility
    from ldpfrontier.model.block_designs import (
        block_design_response,
        hadamard_response,
        projective_geometry_response,
    )
    from ldpfrontier.model.channel import Channel
    from ldpfrontier.model.column_utility import ColumnUtility
    from ldpfrontier.model.cones import (
        Cone,
        PolyhedralCone,
        conditional_cone,
        local_cone,
        polyopt_cone,
        unconditional_cone,
    )
    from ldpfrontier.model.information import entropy, mutual_information
    from ldpfrontier.model.kairouz_mechanisms import geometric_mechanism, quaternary_mechanism
    from ldpfrontier.model.mechanisms import (
        binary_mechanism,
        randomized_response,
        secret_randomized_response,
        subset_selection,
    )
    from ldpfrontier.model.optimum import Optimum
    from ldpfrontier.model.privacy import (
        conditional_epsilon,
        ldp_epsilon,
        least_delta,
        rldp_epsilon,
        unconditional_epsilon,
    )
    from ldpfrontier.model.utility import FDivergence, MutualInformation
    from ldpfrontier.numerics.deadline import TimeIsUp, time_limit
    from ldpfrontier.promises.association import optimal_association
    from ldpfrontier.promises.conditional import optimal_conditional, optimal_conditional_estimation
    from ldpfrontier.promises.deviating import optimal_deviating
    from ldpfrontier.promises.distributed_testing import DistributedTest, optimal_distributed_test
    from ldpfrontier.promises.estimation import optimal_estimation
    from ldpfrontier.promises.ldp import optimal_ldp
    from ldpfrontier.promises.least import least_information
    from ldpfrontier.promises.mechanism import optimal_mechanism
    from ldpfrontier.promises.nonrobust import optimal_nonrobust
    from ldpfrontier.promises.polyopt import optimal_polyopt
    from ldpfrontier.promises.repeated import RepeatedReports, optimal_repeated
    from ldpfrontier.promises.robust import optimal_robust
    from ldpfrontier.promises.robust_bound import robust_bound
    from ldpfrontier.promises.robust_testing import RobustTest, optimal_robust_test
    from ldpfrontier.promises.thresholds import (
        binary_domination_threshold,
        binary_threshold,
        randomized_response_threshold,
    )
    from ldpfrontier.promises.unconditional import optimal_unconditional
    from ldpfrontier.questionnaires.comparisons import questionnaire_errors
    from ldpfrontier.questionnaires.interactions import Questionnaire
    from ldpfrontier.questionnaires.mechanism import Lot, QuestionnaireMechanism
    from ldpfrontier.questionnaires.optimum import QuestionnaireOptimum, optimal_questionnaire
    from ldpfrontier.reports.calibration import Calibration, calibrated
    from ldpfrontier.reports.several_reports import ReportLevels, composition, levels_of_reports
    from ldpfrontier.reports.two_reports import BudgetSplit, budget_split, independent_reporting
    from ldpfrontier.uncertainty.divergence_ball import DivergenceBall
    from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
    from ldpfrontier.uncertainty.renyi_ball import RenyiBall

__version__ = "0.3.0"

__all__ = [
    "AverageUtility",
    "BudgetSplit",
    "Calibration",
    "Channel",
    "ColumnUtility",
    "Cone",
    "DeviatingEstimate",
    "DistributedTest",
    "DivergenceBall",
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
    "RobustTest",
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
    "deviating_estimate",
    "distortion_leakage",
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
    "least_delta",
    "least_distortion",
    "least_information",
    "level_certificate",
    "levels_of_reports",
    "local_cone",
    "logit_coefficients",
    "logit_target",
    "mutual_information",
    "nonrobust_certificate",
    "optimal_association",
    "optimal_conditional",
    "optimal_conditional_estimation",
    "optimal_deviating",
    "optimal_distributed_test",
    "optimal_estimation",
    "optimal_ldp",
    "optimal_leakage",
    "optimal_mechanism",
    "optimal_nonrobust",
    "optimal_polyopt",
    "optimal_questionnaire",
    "optimal_repeated",
    "optimal_robust",
    "optimal_robust_test",
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
    "unasked_cone",
    "unconditional_cone",
    "unconditional_epsilon",
    "with_united_outputs",
    "worst_estimation_error",
]

#: The module that defines each name, as imported above for type checkers.
_HOMES = {
    "AverageUtility": "model.average_utility",
    "BudgetSplit": "reports.two_reports",
    "Calibration": "reports.calibration",
    "Channel": "model.channel",
    "ColumnUtility": "model.column_utility",
    "Cone": "model.cones",
    "DeviatingEstimate": "engines.designs.deviating",
    "DistributedTest": "promises.distributed_testing",
    "DivergenceBall": "uncertainty.divergence_ball",
    "FDivergence": "model.utility",
    "Intractable": "base.types",
    "Lot": "questionnaires.mechanism",
    "MutualInformation": "model.utility",
    "OddsRatios": "uncertainty.odds_ratios",
    "Optimum": "model.optimum",
    "PolyhedralCone": "model.cones",
    "Questionnaire": "questionnaires.interactions",
    "QuestionnaireMechanism": "questionnaires.mechanism",
    "QuestionnaireOptimum": "questionnaires.optimum",
    "RenyiBall": "uncertainty.renyi_ball",
    "RepeatedReports": "promises.repeated",
    "ReportLevels": "reports.several_reports",
    "RobustTest": "promises.robust_testing",
    "SourceSet": "hamming.sources",
    "TimeIsUp": "numerics.deadline",
    "association_certificate": "certificates.association",
    "association_cone": "engines.joint.association_cone",
    "association_epsilon": "uncertainty.odds_ratios",
    "binary_domination_threshold": "promises.thresholds",
    "binary_mechanism": "model.mechanisms",
    "binary_threshold": "promises.thresholds",
    "block_design_response": "model.block_designs",
    "budget_split": "reports.two_reports",
    "calibrated": "reports.calibration",
    "composition": "reports.several_reports",
    "conditional_cone": "model.cones",
    "conditional_epsilon": "model.privacy",
    "deviating_estimate": "engines.designs.deviating",
    "distortion_leakage": "hamming.any_distortion",
    "entropy": "model.information",
    "estimation_error": "engines.designs.error",
    "extreme_rays": "engines.listed.double_description",
    "geometric_mechanism": "model.kairouz_mechanisms",
    "hadamard_response": "model.block_designs",
    "hamming_leakage": "hamming.dp_leakage",
    "independent_reporting": "reports.two_reports",
    "information_leakage": "hamming.mi_leakage",
    "ldp_certificate": "certificates.local",
    "ldp_epsilon": "model.privacy",
    "least_delta": "model.privacy",
    "least_distortion": "hamming.any_distortion",
    "least_information": "promises.least",
    "level_certificate": "certificates.levels",
    "levels_of_reports": "reports.several_reports",
    "local_cone": "model.cones",
    "logit_coefficients": "engines.designs.targets",
    "logit_target": "engines.designs.targets",
    "mutual_information": "model.information",
    "nonrobust_certificate": "certificates.nonrobust",
    "optimal_association": "promises.association",
    "optimal_deviating": "promises.deviating",
    "optimal_distributed_test": "promises.distributed_testing",
    "optimal_estimation": "promises.estimation",
    "optimal_conditional": "promises.conditional",
    "optimal_conditional_estimation": "promises.conditional",
    "optimal_ldp": "promises.ldp",
    "optimal_leakage": "hypothesis_testing.leakage",
    "optimal_mechanism": "promises.mechanism",
    "optimal_nonrobust": "promises.nonrobust",
    "optimal_polyopt": "promises.polyopt",
    "optimal_questionnaire": "questionnaires.optimum",
    "optimal_repeated": "promises.repeated",
    "optimal_robust": "promises.robust",
    "optimal_robust_test": "promises.robust_testing",
    "optimal_unconditional": "promises.unconditional",
    "polyopt_cone": "model.cones",
    "projective_geometry_response": "model.block_designs",
    "quaternary_mechanism": "model.kairouz_mechanisms",
    "questionnaire_errors": "questionnaires.comparisons",
    "randomized_response": "model.mechanisms",
    "randomized_response_threshold": "promises.thresholds",
    "rate_target": "engines.designs.targets",
    "rldp_epsilon": "model.privacy",
    "robust_bound": "promises.robust_bound",
    "robust_certificate": "certificates.robust",
    "robust_cone": "engines.joint.separation",
    "secret_randomized_response": "model.mechanisms",
    "subset_selection": "model.mechanisms",
    "time_limit": "numerics.deadline",
    "unasked_cone": "engines.joint.unasked",
    "unconditional_cone": "model.cones",
    "unconditional_epsilon": "model.privacy",
    "with_united_outputs": "engines.designs.united_outputs",
    "worst_estimation_error": "engines.designs.worst_error",
}


#: Names of earlier versions, and what they are now.
_RENAMED = {
    "optimal_label": "optimal_conditional",
    "optimal_label_estimation": "optimal_conditional_estimation",
}


def __getattr__(name: str) -> Any:
    name = _RENAMED.get(name, name)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
