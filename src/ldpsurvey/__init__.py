"""Own data: mechanisms designed for a table, reports drawn with them, estimates from the reports, audits.

A user of the library, which imports its public names alone. The names below are loaded when they are first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpsurvey.analysis.any_channel import change_between, plan_people, regress
    from ldpsurvey.analysis.report_estimates import SurveyEstimate, estimate_reports
    from ldpsurvey.answer.card import answer_card
    from ldpsurvey.answer.codes import report_code, report_of_code
    from ldpsurvey.answer.collecting import Collected, collect_reports
    from ldpsurvey.answer.dice import dice_channel
    from ldpsurvey.answer.listening import report_application
    from ldpsurvey.answer.page import answer_page
    from ldpsurvey.answer.store import ReportStore
    from ldpsurvey.answer.texts import Texts, read_texts
    from ldpsurvey.channel.channel_file import PrivateChannel, read_channel
    from ldpsurvey.channel.memo import Memo
    from ldpsurvey.channel.privatizing import privatize, privatize_file, privatize_frame
    from ldpsurvey.channel.reports import count_reports
    from ldpsurvey.channel.together import LevelTogether, levels_together
    from ldpsurvey.data.tables import CountTable, count_records
    from ldpsurvey.data.value_lists import table_of_values, with_values
    from ldpsurvey.design.candidates import Design
    from ldpsurvey.design.design import design_channel
    from ldpsurvey.design.detecting_channels import DetectingChannels, detecting_channels
    from ldpsurvey.design.known_channels import known_channel
    from ldpsurvey.design.least_level import design_for_reports, least_epsilon
    from ldpsurvey.design.two_channels import TwoChannels, estimate_two_channels
    from ldpsurvey.estimate.auditing import Audit, audit_channel, count_pairs
    from ldpsurvey.estimate.change import Changes, estimate_change
    from ldpsurvey.estimate.deviation_bounds import DeviationBounds, estimate_bounds
    from ldpsurvey.estimate.distribution import Estimate, estimate_distribution
    from ldpsurvey.estimate.people import Aim, Need, people_needed
    from ldpsurvey.estimate.rates import Rates, estimate_rates
    from ldpsurvey.estimate.regression import RegressionResult
    from ldpsurvey.questionnaire.comparison import NeededPeople, compare_questionnaire
    from ldpsurvey.questionnaire.designing import design_questionnaire
    from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel, read_any_channel
    from ldpsurvey.questionnaire.questions import QuestionList, questions_of_records, questions_of_values
    from ldpsurvey.questionnaire.table_estimates import QuestionnaireEstimate

__all__ = [
    "Aim",
    "Audit",
    "Changes",
    "Collected",
    "CountTable",
    "Design",
    "DetectingChannels",
    "DeviationBounds",
    "Estimate",
    "LevelTogether",
    "Memo",
    "Need",
    "NeededPeople",
    "PrivateChannel",
    "QuestionList",
    "QuestionnaireChannel",
    "QuestionnaireEstimate",
    "Rates",
    "RegressionResult",
    "ReportStore",
    "SurveyEstimate",
    "Texts",
    "TwoChannels",
    "answer_card",
    "answer_page",
    "audit_channel",
    "change_between",
    "collect_reports",
    "compare_questionnaire",
    "count_pairs",
    "count_records",
    "count_reports",
    "design_channel",
    "design_for_reports",
    "design_questionnaire",
    "detecting_channels",
    "dice_channel",
    "estimate_bounds",
    "estimate_change",
    "estimate_distribution",
    "estimate_rates",
    "estimate_reports",
    "estimate_two_channels",
    "known_channel",
    "least_epsilon",
    "levels_together",
    "people_needed",
    "plan_people",
    "privatize",
    "privatize_file",
    "privatize_frame",
    "questions_of_records",
    "questions_of_values",
    "read_any_channel",
    "read_channel",
    "read_texts",
    "regress",
    "report_application",
    "report_code",
    "report_of_code",
    "table_of_values",
    "with_values",
]

#: The public names by the module of this folder that defines them, as imported above for type checkers.
_NAMES = {
    "analysis.any_channel": ("change_between", "plan_people", "regress"),
    "analysis.report_estimates": ("SurveyEstimate", "estimate_reports"),
    "answer.codes": (
        "report_code",
        "report_of_code",
    ),
    "answer.card": ("answer_card",),
    "answer.dice": ("dice_channel",),
    "answer.collecting": (
        "Collected",
        "collect_reports",
    ),
    "answer.listening": ("report_application",),
    "answer.page": ("answer_page",),
    "answer.texts": ("Texts", "read_texts"),
    "answer.store": ("ReportStore",),
    "channel.channel_file": (
        "PrivateChannel",
        "read_channel",
    ),
    "channel.memo": ("Memo",),
    "channel.privatizing": (
        "privatize",
        "privatize_file",
        "privatize_frame",
    ),
    "channel.reports": ("count_reports",),
    "channel.together": (
        "LevelTogether",
        "levels_together",
    ),
    "data.tables": (
        "CountTable",
        "count_records",
    ),
    "data.value_lists": (
        "table_of_values",
        "with_values",
    ),
    "design.candidates": ("Design",),
    "design.design": ("design_channel",),
    "design.detecting_channels": (
        "DetectingChannels",
        "detecting_channels",
    ),
    "design.known_channels": ("known_channel",),
    "design.least_level": (
        "design_for_reports",
        "least_epsilon",
    ),
    "design.two_channels": (
        "TwoChannels",
        "estimate_two_channels",
    ),
    "estimate.auditing": (
        "Audit",
        "audit_channel",
        "count_pairs",
    ),
    "estimate.change": (
        "Changes",
        "estimate_change",
    ),
    "estimate.deviation_bounds": (
        "DeviationBounds",
        "estimate_bounds",
    ),
    "estimate.distribution": (
        "Estimate",
        "estimate_distribution",
    ),
    "estimate.people": (
        "Aim",
        "Need",
        "people_needed",
    ),
    "estimate.rates": (
        "Rates",
        "estimate_rates",
    ),
    "estimate.regression": ("RegressionResult",),
    "questionnaire.comparison": (
        "NeededPeople",
        "compare_questionnaire",
    ),
    "questionnaire.designing": ("design_questionnaire",),
    "questionnaire.questionnaire_channel": (
        "QuestionnaireChannel",
        "read_any_channel",
    ),
    "questionnaire.questions": (
        "QuestionList",
        "questions_of_records",
        "questions_of_values",
    ),
    "questionnaire.table_estimates": ("QuestionnaireEstimate",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
