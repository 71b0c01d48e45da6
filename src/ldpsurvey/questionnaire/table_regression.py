"""Logistic regression with questions of a questionnaire as outcome and predictors, by maximum likelihood.

What a report says of the questions of a formula is its projection: their places in the lot, and where their
answers are sent. Its chance depends on the answers to these alone (`TableStates.chances`), so that it is the
report of a channel for their table, and the regression is that of `ldpsurvey.estimate.regression`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ldpfrontier.base.types import IntArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import said
from ldpsurvey.estimate.regression import (
    RegressionResult,
    covariates,
    formula_variables,
    outcome_and_terms,
    randomized_logit,
)
from ldpsurvey.estimate.weighted import Sample
from ldpsurvey.questionnaire.lot_reports import LotReports
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel
from ldpsurvey.questionnaire.table_additions import TableStates, check_shown

if TYPE_CHECKING:
    import pandas as pd


def questionnaire_logit(
    formula: str,
    data: pd.DataFrame,
    channel: QuestionnaireChannel,
    outputs: IntArray,
    reports: Sequence[LotReports],
    sample: Sample | None = None,
) -> RegressionResult:
    """Fit a logistic regression in which some variables are questions, known through their reports.

    `data` has texts that are observed of each person, and `outputs` the numbers of their reports. The
    log-likelihood is that of what the reports say of these questions, less what no answer changes. The
    `sample` is as of `randomized_logit`.
    """
    outcome, terms = outcome_and_terms(formula)
    used = {outcome, *formula_variables(terms, [*map(str, data), *channel.names])}
    table = tuple(j for j, name in enumerate(channel.names) if name in used)
    names = tuple(channel.names[j] for j in table)
    if not table:
        raise ValueError(
            f"The formula names none of the questions of the channel, which are {', '.join(channel.names)}."
        )
    for pair in itertools.combinations(table, min(2, len(table))):
        check_shown(channel, pair)
    answers = [channel.answers[j] for j in table]
    if (cells := math.prod(map(len, answers))) > SETTINGS.max_regression_cells:
        raise ValueError(
            f"{said(names)} have {cells:,} combinations of answers; a regression is possible with up to"
            f" {SETTINGS.max_regression_cells}, so use fewer questions, or join answers in the design."
        )
    matrix = TableStates(channel, reports, table).chances(1 + int(outputs.max()))
    possible = ~channel.impossible_entries(table).ravel()
    labels = list(itertools.compress(itertools.product(*answers), possible))
    known = covariates(formula, data, names)
    found = randomized_logit(formula, known, outputs, matrix[possible], names, labels, sample)
    return replace(found, relative=True)
