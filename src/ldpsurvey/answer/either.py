"""Channels of either kind: of a table, and of a questionnaire."""

from __future__ import annotations

from pathlib import Path

from ldpsurvey.channel.channel_file import PrivateChannel, read_channel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.channel.routing import is_questionnaire
from ldpsurvey.questionnaire.lot_reports import read_reports
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel, read_questionnaire

AnyChannel = PrivateChannel | QuestionnaireChannel


def read_either(path: Path | str) -> AnyChannel:
    """Read the channel of a table or of a questionnaire, and refuse one that does not keep its level."""
    return read_questionnaire(path) if is_questionnaire(path) else read_channel(path).verified()


def check_report(channel: AnyChannel, report: str) -> None:
    """Refuse a text that is no report of a channel."""
    if isinstance(channel, PrivateChannel):
        report_place(report, channel.outputs)
    else:
        read_reports(channel, {report: 1})
