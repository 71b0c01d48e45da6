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
    from ldpfrontier.survey.tables import CountTable, count_records, table_of_values, with_values

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

#: The module of this folder that defines each name, as imported above for type checkers.
_HOMES = {
    "Audit": "auditing",
    "Changes": "change",
    "CountTable": "tables",
    "Design": "design",
    "Estimate": "estimation",
    "Memo": "memo",
    "PrivateChannel": "channel_file",
    "Rates": "rates",
    "audit_channel": "auditing",
    "count_pairs": "auditing",
    "count_records": "tables",
    "count_reports": "reports",
    "design_channel": "design",
    "design_for_reports": "least_level",
    "estimate_change": "change",
    "estimate_distribution": "estimation",
    "estimate_rates": "rates",
    "least_epsilon": "least_level",
    "privatize": "privatizing",
    "privatize_file": "privatizing",
    "read_channel": "channel_file",
    "table_of_values": "tables",
    "with_values": "tables",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
