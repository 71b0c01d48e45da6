"""Estimates from reports by any kind of channel, of all people or of a sample, as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import REPORT, decoder
from ldpsurvey.data.reading import Label, Records
from ldpsurvey.estimate.distribution import FittedReports, check_confidence
from ldpsurvey.estimate.estimates import Estimated, EstimateTable
from ldpsurvey.estimate.rates import rates_of, reference
from ldpsurvey.estimate.scores import estimate_scores
from ldpsurvey.estimate.weighted import Sample, SampleColumns, read_sample, weighted_estimates
from ldpsurvey.questionnaire.fit import doubt
from ldpsurvey.questionnaire.lot_reports import LotReports, ReportNumbers
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel
from ldpsurvey.questionnaire.table_estimates import estimate_questionnaire


@dataclass(frozen=True, eq=False, repr=False)
class SurveyEstimate(EstimateTable):
    """All estimates from the reports of a survey.

    Attributes
    ----------
    rows : list of tuple of str and Estimated
        Estimates, each with the group of people that it is about, "" for all.
    records : int
        Number of reports.
    confidence : float
        Level of each interval, or of all together.
    simultaneous : bool
        Whether it is that of all together.
    """

    rows: list[tuple[str, Estimated]]
    records: int
    confidence: float
    simultaneous: bool = False

    def _estimates(self) -> Iterable[tuple[str, Estimated]]:
        return self.rows

    def of(self, *columns: str, group: str = "") -> list[Estimated]:
        """Return the estimates of some columns together, of all people or of a group."""
        return [row for name, row in self.rows if name == group and row.quantity.attributes == columns]


def estimate_reports(
    channel: PrivateChannel | QuestionnaireChannel,
    reports: Records,
    *,
    column: str = REPORT,
    person: str | None = None,
    weight: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
    replicates: Sequence[str] = (),
    replicate_method: str = "",
    by: str | None = None,
    rates: tuple[str, str] | None = None,
    tables: Sequence[Label] = (),
    compare_with: Sequence[str] | None = None,
    mean: Sequence[str] = (),
    cumulative: Sequence[str] = (),
    confidence: float = 0.95,
    simultaneous: bool = False,
    check_fit: bool = True,
) -> SurveyEstimate:
    """Estimate all that the reports of a channel show: shares, tables, rates and their comparisons.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
        What the reports were drawn from.
    reports : path or DataFrame
        With a column of reports, as `privatize_file` writes them, and further public columns.
    column : str
        Of the reports.
    person : str, optional
        The column that identifies people, of each of whom the first report is counted.
    weight, strata, cluster : str, optional
        Columns of a sample's weights, strata and clusters; the intervals are then those of its design.
    replicates : sequence of str
        Columns of replicate weights, or patterns such as ``repw*``, with `weight` and `replicate_method`
        (``brr``, ``fay:RHO``, ``jackknife``, ``bootstrap`` or a factor).
    by : str, optional
        A public column, for each value of which the same is estimated as well.
    rates : tuple of str, optional
        Of a questionnaire: two questions, to estimate the rates of the first one given the second one.
    tables : sequence of tuple of str
        Of a questionnaire: further tables that the reports show, as the names of their questions.
    compare_with, mean, cumulative
        Of a table, as in `estimate_rates`, and columns as ``--mean`` and ``--cumulative`` take them.
    confidence : float
        The level of each interval, in (0, 1).
    simultaneous : bool
        Whether it is the level of all shares together, and of all rates and comparisons; not of a sample.
    check_fit : bool
        Whether reports are refused that are hardly of this channel.

    Returns
    -------
    SurveyEstimate

    Raises
    ------
    ValueError
        If an argument does not go with the channel or with another one, or the reports do not fit.
    """
    confidence = check_confidence(confidence)
    columns = SampleColumns(column, person, weight, strata, cluster, by, replicates, replicate_method)
    is_sample, of_table = columns != SampleColumns(column, person), (compare_with, mean, cumulative)
    if is_sample and (any(of_table) or simultaneous):
        raise ValueError(
            "Comparisons with one value, means, cumulative shares and simultaneous intervals are for people"
            " who are drawn at random, without weights, strata, clusters and groups."
        )
    if isinstance(channel, PrivateChannel):
        if rates is not None:
            raise ValueError(
                "Rates of two questions are for questionnaires; those of a table are there anyway."
            )
        if tables:
            raise ValueError("Further tables are for questionnaires; the joint table is there anyway.")
        sample = read_sample(channel.id, decoder(channel, reports, column), reports, columns)
        estimates = _of_table(channel, sample, check_fit, of_table)
    else:
        if any(of_table):
            raise ValueError("Comparisons, means and cumulative shares are for channels of one table.")
        numbers = ReportNumbers()
        sample = read_sample(channel.id, numbers, reports, columns)
        outputs, found = numbers.counted(channel, sample.outputs)
        sample = replace(sample, outputs=outputs)
        estimates = _of_questionnaire(channel, found, check_fit, rates, tables)
    if not is_sample:
        rows = [("", row) for row in estimates(confidence, simultaneous, None, None)]
    else:
        groups = sample.all_and_groups(by)
        rows = [(name, row) for name, who in groups for row in estimates(confidence, False, sample, who)]
    return SurveyEstimate(rows, len(sample.outputs), confidence, simultaneous)


#: Takes a confidence, whether it is simultaneous, and a sample with a group in it, (n,), if there are any.
_Estimates = Callable[[float, bool, Sample | None, np.ndarray | None], Iterable[Estimated]]


def _of_table(
    channel: PrivateChannel,
    read: Sample,
    check_fit: bool,
    asked: tuple[Sequence[str] | None, Sequence[str], Sequence[str]],
) -> _Estimates:
    """Return a function that estimates from the reports of a table, whose fit is checked."""
    fit = FittedReports(channel, np.bincount(read.outputs, minlength=len(channel.outputs)))
    if check_fit:
        fit.check_fit()
    compare_with, mean, cumulative = asked
    has_rates = bool(channel.table.useful) or compare_with is not None
    place = reference(channel, compare_with) if has_rates else None

    def estimates(
        confidence: float, together: bool, sample: Sample | None, who: np.ndarray | None
    ) -> Iterator[Estimated]:
        if sample is not None:
            yield from weighted_estimates(channel, sample, confidence, who)
            return
        yield from fit.distribution(confidence, simultaneous=together).frequencies
        if place is not None:
            yield from rates_of(fit, place, confidence, simultaneous=together).rows
        yield from estimate_scores(fit, mean, cumulative, confidence, simultaneous=together)

    return estimates


def _of_questionnaire(
    channel: QuestionnaireChannel,
    reports: Sequence[LotReports],
    check_fit: bool,
    rates: tuple[str, str] | None,
    tables: Sequence[Label],
) -> _Estimates:
    """Return a function that estimates from the reports of a questionnaire, whose fit is checked."""
    if check_fit and (misfit := doubt(channel, reports)):
        raise ValueError(f"{misfit}. Without a check of the fit they are estimated all the same.")

    def estimates(
        confidence: float, together: bool, sample: Sample | None, who: np.ndarray | None
    ) -> Iterator[Estimated]:
        found = estimate_questionnaire(
            channel, reports, confidence, simultaneous=together, rates=rates, more=tables, sample=sample,
            among=who,
        )  # fmt: skip
        yield from (*found.entries, *found.rates)

    return estimates
