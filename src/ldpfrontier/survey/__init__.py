"""Own data: mechanisms designed for a table, reports drawn with them, estimates from the reports, audits.

A user of the library, which imports its public names alone. The names below are loaded when they are first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpfrontier.survey.auditing import Audit, audit_channel, count_pairs
    from ldpfrontier.survey.change import Changes, estimate_change
    from ldpfrontier.survey.channel_file import PrivateChannel, read_channel
    from ldpfrontier.survey.design import Design, design_channel
    from ldpfrontier.survey.estimation import Estimate, estimate_distribution
    from ldpfrontier.survey.least_level import design_for_reports, least_epsilon
    from ldpfrontier.survey.memo import Memo
    from ldpfrontier.survey.privatizing import privatize, privatize_file
    from ldpfrontier.survey.rates import Rates, estimate_rates
    from ldpfrontier.survey.reports import count_reports
    from ldpfrontier.survey.tables import CountTable, count_records
    from ldpfrontier.survey.value_lists import table_of_values, with_values

__all__ = [
    "Audit",
    "Changes",
    "CountTable",
    "Design",
    "Estimate",
    "Memo",
    "PrivateChannel",
    "Rates",
    "audit_channel",
    "count_pairs",
    "count_records",
    "count_reports",
    "design_channel",
    "design_for_reports",
    "estimate_change",
    "estimate_distribution",
    "estimate_rates",
    "least_epsilon",
    "privatize",
    "privatize_file",
    "read_channel",
    "table_of_values",
    "with_values",
]

#: The public names by the module of this folder that defines them, as imported above for type checkers.
_NAMES = {
    "auditing": ("Audit", "audit_channel", "count_pairs"),
    "change": ("Changes", "estimate_change"),
    "tables": ("CountTable", "count_records"),
    "value_lists": ("table_of_values", "with_values"),
    "design": ("Design", "design_channel"),
    "estimation": ("Estimate", "estimate_distribution"),
    "memo": ("Memo",),
    "channel_file": ("PrivateChannel", "read_channel"),
    "rates": ("Rates", "estimate_rates"),
    "reports": ("count_reports",),
    "least_level": ("design_for_reports", "least_epsilon"),
    "privatizing": ("privatize", "privatize_file"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
