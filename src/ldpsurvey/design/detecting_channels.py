"""Two channels, drawn by lot, that show who always gives one report, as channels that can be sampled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldpfrontier import Channel
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.data.reading import said
from ldpsurvey.data.tables import CountTable
from ldpsurvey.design.candidates import Candidate
from ldpsurvey.design.design import design_channel
from ldpsurvey.design.detecting import DetectingPair, detecting_pair

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class DetectingChannels(Tabular):
    """Two channels of one level, and how many people they need.

    Attributes
    ----------
    channels : tuple of PrivateChannel
        Each person reports by one of them, drawn by lot: by the first with probability `pair.lot`.
    pair : DetectingPair
    alone : float
        People with whom one channel of this level gives the error, if nobody deviates; inf if none do.
    always : str
        The report that some may always give.
    """

    channels: tuple[PrivateChannel, PrivateChannel]
    pair: DetectingPair
    alone: float
    always: str

    def to_frame(self) -> pd.DataFrame:
        """Return how many people are needed, and for what."""
        people = {
            "to detect": self.pair.to_detect,
            "to estimate": self.pair.to_estimate,
            "for both": self.pair.needed,
            "by one channel, if nobody deviates": self.alone,
        }
        return frame_of({"aim": aim, "people": number} for aim, number in people.items())

    def _about(self) -> str:
        return f"two channels, the first with probability {self.pair.lot:.2f}; {self.pair.needed:,.0f} people"


def detecting_channels(
    table: CountTable, epsilon: float, report: str, error: float = 0.01
) -> DetectingChannels:
    """Return two channels that show who always gives a report, with the fewest people of those tried.

    Parameters
    ----------
    table : CountTable
        Of which all of a record is sensitive.
    epsilon : float
        The level of each channel, nats.
    report : str
        One of the values, which the reports of these channels have as their names.
    error : float
        Root mean square error of the shares that so many people have to give.

    Raises
    ------
    ValueError
        If the report is no value, there are useful columns, or no such pair was found.
    """
    if table.useful:
        raise ValueError(
            f"{said(table.useful)} is useful; two channels are looked for where all of a record is sensitive."
        )
    names = tuple(map(said, table.labels))
    place = report_place(report, names)
    pair = detecting_pair(table.expected.ravel(), epsilon, place, error)
    made = design_channel(table, epsilon, records=1, purpose="frequencies")
    title = f"one of two that show who always reports {report}"
    first, second = (
        replace(made.private(Candidate(title, title, True, Channel(matrix))), reports=names)
        for matrix in pair.matrices
    )
    return DetectingChannels((first, second), pair, made.reports_for(made.best(), error), report)
