"""Own data: mechanisms designed for a table, reports drawn with them, estimates from the reports, audits.

A user of the library, which imports its public names alone. The names below are loaded when they are first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpsurvey.answer.codes import report_code, report_of_code
    from ldpsurvey.answer.collecting import Collected, collect_reports
    from ldpsurvey.answer.listening import report_application
    from ldpsurvey.answer.page import answer_page
    from ldpsurvey.answer.store import ReportStore
    from ldpsurvey.answer.texts import Texts, read_texts
    from ldpsurvey.channel.channel_file import PrivateChannel, read_channel
    from ldpsurvey.channel.memo import Memo
    from ldpsurvey.channel.privatizing import privatize, privatize_file
    from ldpsurvey.channel.reports import count_reports
    from ldpsurvey.data.tables import CountTable, count_records
    from ldpsurvey.data.value_lists import table_of_values, with_values
    from ldpsurvey.design.candidates import Design
    from ldpsurvey.design.design import design_channel
    from ldpsurvey.design.least_level import design_for_reports, least_epsilon
    from ldpsurvey.design.two_channels import TwoChannels, estimate_two_channels
    from ldpsurvey.estimate.auditing import Audit, audit_channel, count_pairs
    from ldpsurvey.estimate.change import Changes, estimate_change
    from ldpsurvey.estimate.deviating import DeviationBounds, estimate_bounds
    from ldpsurvey.estimate.distribution import Estimate, estimate_distribution
    from ldpsurvey.estimate.rates import Rates, estimate_rates

__all__ = [
    "Audit",
    "Changes",
    "Collected",
    "CountTable",
    "Design",
    "DeviationBounds",
    "Estimate",
    "Memo",
    "PrivateChannel",
    "Rates",
    "ReportStore",
    "Texts",
    "TwoChannels",
    "answer_page",
    "audit_channel",
    "collect_reports",
    "count_pairs",
    "count_records",
    "count_reports",
    "design_channel",
    "design_for_reports",
    "estimate_bounds",
    "estimate_change",
    "estimate_distribution",
    "estimate_rates",
    "estimate_two_channels",
    "least_epsilon",
    "privatize",
    "privatize_file",
    "read_channel",
    "read_texts",
    "report_application",
    "report_code",
    "report_of_code",
    "table_of_values",
    "with_values",
]

#: The public names by the module of this folder that defines them, as imported above for type checkers.
_NAMES = {
    "answer.codes": ("report_code", "report_of_code"),
    "answer.collecting": ("Collected", "collect_reports"),
    "answer.listening": ("report_application",),
    "answer.page": ("answer_page",),
    "answer.texts": ("Texts", "read_texts"),
    "answer.store": ("ReportStore",),
    "estimate.auditing": ("Audit", "audit_channel", "count_pairs"),
    "estimate.change": ("Changes", "estimate_change"),
    "data.tables": ("CountTable", "count_records"),
    "data.value_lists": ("table_of_values", "with_values"),
    "design.candidates": ("Design",),
    "design.design": ("design_channel",),
    "estimate.deviating": ("DeviationBounds", "estimate_bounds"),
    "estimate.distribution": ("Estimate", "estimate_distribution"),
    "channel.memo": ("Memo",),
    "channel.channel_file": ("PrivateChannel", "read_channel"),
    "estimate.rates": ("Rates", "estimate_rates"),
    "channel.reports": ("count_reports",),
    "design.least_level": ("design_for_reports", "least_epsilon"),
    "channel.privatizing": ("privatize", "privatize_file"),
    "design.two_channels": ("TwoChannels", "estimate_two_channels"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
