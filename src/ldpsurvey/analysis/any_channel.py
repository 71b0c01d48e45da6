"""Changes between waves, regressions and plans, of any kind of channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ldpfrontier.base.types import IntArray
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import REPORT, Decoder, decoder, first_reports, remark_on_weights
from ldpsurvey.data.reading import Label, Records
from ldpsurvey.estimate.change import Changes, change_of_files
from ldpsurvey.estimate.people import Aim, Need, people_needed
from ldpsurvey.estimate.regression import RegressionResult, covariates, randomized_logit
from ldpsurvey.estimate.targets import with_expected
from ldpsurvey.estimate.weighted import SampleColumns, sample_of_records
from ldpsurvey.questionnaire.lot_reports import ReportNumbers
from ldpsurvey.questionnaire.planning import questionnaire_people
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel, QuestionnaireChannel
from ldpsurvey.questionnaire.table_changes import change_of_questionnaire_files
from ldpsurvey.questionnaire.table_regression import questionnaire_logit


def change_between(
    channels: Sequence[AnyChannel],
    reports: Sequence[Records],
    *,
    person: str | None = None,
    column: str = REPORT,
    confidence: float = 0.95,
    simultaneous: bool = False,
    tables: Sequence[Label] = (),
    weight: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
) -> Changes:
    """Estimate how shares have changed between two waves.

    Parameters
    ----------
    channels : sequence of PrivateChannel or of QuestionnaireChannel
        One for both waves, or one for each.
    reports : two paths or data frames
    person : str, optional
        The column of ids in both; people who have the same one are in both waves. Without it nobody is.
    column : str
        Of the reports.
    confidence : float
        The level of each interval, in (0, 1).
    simultaneous : bool
        Whether it is that of all intervals together.
    tables : sequence of tuple of str
        Of a questionnaire, further tables, as the names of their questions.
    weight, strata, cluster : str, optional
        The columns, in both, of survey weights, and of the strata and clusters that people were drawn from.
        Clusters of the same name and stratum are the same in both waves.

    Raises
    ------
    ValueError
        If the channels are of two kinds or have different values, or the reports do not fit.
    """
    privates = [channel for channel in channels if isinstance(channel, PrivateChannel)]
    questionnaires = [channel for channel in channels if isinstance(channel, QuestionnaireChannel)]
    if privates and questionnaires:
        raise ValueError("One wave has the channel of a questionnaire, and the other that of one table.")
    drawn = {"weight": weight, "strata": strata, "cluster": cluster}
    if questionnaires:
        return change_of_questionnaire_files(
            questionnaires, reports, person=person, column=column, confidence=confidence,
            simultaneous=simultaneous, more=tables, drawn=drawn,
        )  # fmt: skip
    if tables:
        raise ValueError("Further tables are for questionnaires; the joint table is estimated anyway.")
    return change_of_files(
        privates, reports, person=person, column=column, confidence=confidence, simultaneous=simultaneous,
        drawn=drawn,
    )  # fmt: skip


def regress(
    formula: str,
    channel: AnyChannel,
    reports: Records,
    *,
    column: str = REPORT,
    person: str | None = None,
    weight: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
) -> RegressionResult:
    """Fit a logistic regression in which some variables are known through reports.

    Parameters
    ----------
    formula : str
        Such as ``illness ~ age + C(region)``, or with predictors that are reported. The variables are those
        of the channel and further columns of the reports, which are public.
    channel : PrivateChannel or QuestionnaireChannel
    reports : path or DataFrame
    column : str
        Of the reports.
    person : str, optional
        The column that identifies people, of each of whom the first report counts.
    weight, strata, cluster : str, optional
        The columns of survey weights, and of the strata and clusters that people were drawn from.

    Raises
    ------
    ValueError
        If a variable is neither in the channel nor in the data, has missing values, or the reports do not
        tell the coefficients.
    """
    columns = SampleColumns(column, person, weight, strata, cluster)
    drawn, weights = [name for name in (weight, strata, cluster) if name is not None], dict[str, None]()

    def read(decode: Decoder) -> tuple[pd.DataFrame, IntArray]:
        chunks = list(
            first_reports(
                reports, channel.id, decode, column, person, drawn, patterns=["*"],
                on_weights=weights.setdefault,
            )
        )  # fmt: skip
        if weight is None:
            remark_on_weights(weights)
        return pd.concat([chunk for chunk, *_ in chunks]), np.concatenate([some for *_, some in chunks])

    if isinstance(channel, QuestionnaireChannel):
        numbers = ReportNumbers()
        data, texts = read(numbers)
        sample = sample_of_records(reports, data, columns) if drawn else None
        return questionnaire_logit(formula, data, channel, *numbers.counted(channel, texts), sample)
    data, outputs = read(decoder(channel, reports, column))
    table = channel.table
    known = covariates(formula, data, table.attributes)
    return randomized_logit(
        formula, known, outputs, channel.channel.matrix, table.attributes, table.labels,
        sample_of_records(reports, data, columns) if drawn else None,
    )  # fmt: skip


def plan_people(
    channel: AnyChannel,
    aim: Aim,
    *,
    precise: str | None = None,
    expected: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> TableRows[Need]:
    """Return how many people have to report, for each estimate.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    aim : Aim
        A standard error, the width of intervals, or the power of a test.
    precise : str, optional
        What has to be precise: of a table ``cells``, ``S``, ``U``, ``rates``, ``differences`` or a formula;
        of a questionnaire ``shares``, ``pairs``, ``triples``, or the questions of one table. By default
        cells, or all tables that it is designed for.
    expected : sequence of str
        What is expected of those who will report, as ``--expect`` takes it.
    progress : callable, optional
        A function that is called with every number of people of whom surveys are drawn.
    """
    if isinstance(channel, QuestionnaireChannel):
        return questionnaire_people(channel, precise, aim, expected, progress)
    private = replace(channel, table=with_expected(channel.table, expected))
    return people_needed(private, precise or "cells", aim, progress)
