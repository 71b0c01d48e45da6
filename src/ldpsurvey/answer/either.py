"""Channels of either kind: of a table, and of a questionnaire."""

from __future__ import annotations

from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.questionnaire.lot_reports import read_reports
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel
from ldpsurvey.questionnaire.questionnaire_channel import read_any_channel as read_either

__all__ = ["AnyChannel", "check_report", "read_either"]


def check_report(channel: AnyChannel, report: str) -> None:
    """Refuse a text that is no report of a channel."""
    if isinstance(channel, PrivateChannel):
        report_place(report, channel.outputs)
    else:
        read_reports(channel, {report: 1})
