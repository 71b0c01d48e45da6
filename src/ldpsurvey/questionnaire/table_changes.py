"""The change of all tables of a questionnaire between two waves, as `ldpsurvey.estimate.change` has it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ldpsurvey.channel.reports import REPORT
from ldpsurvey.data.reading import Label, Records
from ldpsurvey.estimate.additions import Addition
from ldpsurvey.estimate.change import Changes, changes_of, check_drawn_anew, read_waves, two_waves
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.two_samples import TwoSamples
from ldpsurvey.estimate.weighted import SampleColumns
from ldpsurvey.questionnaire.fit import doubt, most_repeated
from ldpsurvey.questionnaire.lot_reports import ReportNumbers
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel
from ldpsurvey.questionnaire.table_additions import additions_of_tables, tables_of


def estimate_questionnaire_change(
    channels: tuple[QuestionnaireChannel, QuestionnaireChannel],
    reports: tuple[Mapping[str, str], Mapping[str, str]],
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    more: Sequence[Label] = (),
    samples: TwoSamples | None = None,
) -> Changes:
    """Estimate how the entries of tables have changed, from the texts of reports by the ids of people.

    The tables are those that both channels are designed for, and `more` that both show. Arguments, intervals
    and errors are those of `ldpsurvey.estimate_change`.
    """
    confidence = check_confidence(confidence)
    one, other = channels
    if (one.names, one.answers) != (other.names, other.answers):
        raise ValueError(
            "The channels of the two waves have different questions or answers; they must agree."
        )
    if min(map(len, reports)) < 2:
        raise ValueError("A wave has fewer than two reports; an interval needs at least two in each.")
    of_other = set(tables_of(other, more))
    tables = [table for table in tables_of(one, more) if table in of_other]
    waves, additions = list[dict[str, int]](), list[Iterator[Addition]]()
    # What is impossible in both waves has not changed.
    masks = [one.impossible_entries(table) & other.impossible_entries(table) for table in tables]
    for channel, given in zip(channels, reports, strict=True):
        numbers = ReportNumbers()
        outputs, found = numbers.counted(channel, numbers(list(given.values())))
        if misfit := doubt(channel, found):
            raise ValueError(f"{misfit} (--id).")
        waves.append(dict(zip(given, outputs.tolist(), strict=True)))
        every = additions_of_tables(channel, found, tables)
        additions.append(itertools.compress(every, ~np.concatenate([mask.ravel() for mask in masks])))
    if one.id == other.id:
        check_drawn_anew(reports, most_repeated(one))
    return changes_of(additions, (waves[0], waves[1]), confidence, simultaneous=simultaneous, samples=samples)


def change_of_questionnaire_files(
    channels: Sequence[QuestionnaireChannel],
    paths: Sequence[Records],
    *,
    person: str | None = None,
    column: str = REPORT,
    confidence: float = 0.95,
    simultaneous: bool = False,
    more: Sequence[Label] = (),
    drawn: Mapping[str, Any] | None = None,
) -> Changes:
    """Estimate how the entries of tables have changed between two files of reports.

    Arguments are those of `change_of_files`.
    """
    numbers = [ReportNumbers(), ReportNumbers()]
    known = zip(two_waves(channels, paths), numbers, strict=True)
    columns = SampleColumns(column, person, **(drawn or {}))
    waves, samples = read_waves([(channel.id, decode) for (channel, _), decode in known], paths, columns)
    texts = [list(one.texts) for one in numbers]
    first, second = (
        {name: own[place] for name, place in wave.items()} for own, wave in zip(texts, waves, strict=True)
    )
    return estimate_questionnaire_change(
        (channels[0], channels[-1]), (first, second), confidence=confidence, simultaneous=simultaneous,
        more=more, samples=samples,
    )  # fmt: skip
