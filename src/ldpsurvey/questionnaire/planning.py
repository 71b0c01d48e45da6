"""How many people have to report by a questionnaire's channel, for entries of its tables.

What a report adds to the estimate of an entry (`QuestionnaireMechanism.values`) depends on the lot, on where
the questions of the table are asked, and on where the answers of the entry are sent. Its distribution follows
from the shares that are expected of these answers, if questions do not depend on each other: an image of the
entry agrees with that of the own answers in each question with the share of the answer, and is any other one
otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ldpfrontier import Lot
from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.channel.routing import TABLES
from ldpsurvey.data.reading import as_number, said
from ldpsurvey.estimate.intervals import mean_limits
from ldpsurvey.estimate.people import Aim, Need, needs_of
from ldpsurvey.questionnaire.questionnaire_channel import MOST_ASKED, QuestionnaireChannel
from ldpsurvey.questionnaire.questions import parsed_tables, table_of_names
from ldpsurvey.questionnaire.table_additions import TableStates, check_shown
from ldpsurvey.questionnaire.table_estimates import merged

#: The questions of a table, and answers to them, by their places.
Entry = tuple[tuple[int, ...], tuple[int, ...]]


def questionnaire_people(
    channel: QuestionnaireChannel,
    precise: str | None,
    aim: Aim,
    expected: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> TableRows[Need]:
    """Return how many people the entries of tables of a questionnaire need.

    Parameters
    ----------
    channel : QuestionnaireChannel
    precise : str, optional
        ``shares``, ``pairs`` or ``triples`` for all tables of so many questions; or the questions of one
        table, with commas between them. By default all tables that the channel is designed for.
    aim : Aim
    expected : sequence of str
        What is expected of those who will report, each as QUESTION=ANSWER=SHARE. Answers that are not named
        have equal parts of what is left, and questions do not depend on each other.
    progress : callable, optional
        A function that is called with every number of people of whom surveys are drawn.
    """
    shares, entries = expected_shares(channel, expected), _entries(channel, precise)
    own = [[shares[j][a] for j, a in zip(*entry, strict=True)] for entry in entries]
    values = np.array([math.prod(some) for some in own])
    # Entries whose reports have the same distribution are planned once.
    kinds = channel.mechanism.questionnaire.kinds
    keys = [(tuple(kinds[j] for j in t), *some) for (t, _), some in zip(entries, own, strict=True)]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    laws = {key: law_of_values(channel, entries[place][0], own[place]) for key, place in first.items()}
    variances = {key: float(p @ v**2 - (p @ v) ** 2) for key, (v, p) in laws.items()}
    tail = 0.5 * (1.0 - aim.confidence)

    def surveys(n: int) -> tuple[FloatArray, FloatArray]:
        """Return moves of estimates and margins, (surveys, entries), of surveys of so many people."""
        if progress:
            progress(n)
        found = dict[object, tuple[FloatArray, FloatArray]]()
        for key, (v, p) in laws.items():
            rng = np.random.default_rng(0)  # the same answer each time
            counts = rng.multinomial(n, p, size=SETTINGS.planned_surveys).astype(np.float64)
            high = mean_limits(v[None, :], counts, tail)[:, 0]
            low = -mean_limits(-v[None, :], counts, tail)[:, 0]
            if aim.width is not None:
                margins = aim.width - (np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0))
            else:
                margins = low - aim.value if values[first[key]] > aim.value else aim.value - high
            found[key] = (counts / n - p) @ v, margins
        own = [found[key] for key in keys]
        return np.column_stack([move for move, _ in own]), np.column_stack([margin for _, margin in own])

    names = []
    for table, answers in entries:
        pairs = [(channel.names[j], channel.answers[j][a]) for j, a in zip(table, answers, strict=True)]
        names.append(" = ".join(map(said, zip(*pairs, strict=True))))
    every = channel.mechanism.questionnaire.has_all_tables
    title = precise or (TABLES[channel.order - 1] if every else "tables")
    return needs_of(title, names, values, np.array([variances[key] for key in keys]), aim, surveys)


def law_of_values(
    channel: QuestionnaireChannel, table: Sequence[int], shares: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return the values that a report may add to the estimate of an entry, and the chance of each.

    `shares` are those of the answers of the entry to the questions of the table, in its order.
    """
    mechanism, states = channel.mechanism, TableStates(channel, [], tuple(table))
    values = [np.array([1.0 / math.prod(len(channel.answers[j]) for j in table)])]
    chances = list[FloatArray]()
    for lot, axes in states.blocks:
        image = mechanism.chances(lot, axes)
        own = [share for axis, share in zip(axes, shares, strict=True) if axis is not None]
        for place, (share, size) in enumerate(zip(own, image.shape, strict=True)):
            others = (image.sum(axis=place, keepdims=True) - image) / (size - 1)
            image = share * image + (1.0 - share) * others
        chance = lot.weight * _chance_of_places(channel, lot, axes, table)
        chances.append((chance / image.size * image).ravel())
        values.append(mechanism.values(lot, axes, table).ravel())
    told = np.concatenate(chances)
    found, sums = merged(np.concatenate(values), np.concatenate([[max(1.0 - told.sum(), 0.0)], told])[None])
    return found, sums[0] / sums.sum()


def _chance_of_places(
    channel: QuestionnaireChannel, lot: Lot, axes: Sequence[int | None], table: Sequence[int]
) -> float:
    """Return the chance that the questions of a table are asked on these axes, and no other one is."""
    kinds, members = channel.mechanism.questionnaire.kinds, channel.mechanism.questionnaire.members
    asked, of_lot = Counter(lot.kinds[axis] for axis in axes if axis is not None), Counter(lot.kinds)
    of_table, chance = Counter(kinds[j] for j in table), 1.0
    for kind, number in of_lot.items():
        size = len(members[kind])
        chance *= math.perm(max(size - of_table[kind], 0), number - asked[kind]) / math.perm(size, number)
    return chance


def expected_shares(channel: QuestionnaireChannel, texts: Sequence[str]) -> list[list[float]]:
    """Return the expected shares of the answers to each question, from texts QUESTION=ANSWER=SHARE."""
    named: list[dict[int, float]] = [{} for _ in channel.names]
    for text in texts:
        question, rest = split_column(text, channel.names)
        answer, _, part = (rest or "").rpartition("=")
        number = as_number(part)
        if question not in channel.names:
            raise ValueError(
                f"--expect has {text!r}; of a questionnaire it must be QUESTION=ANSWER=SHARE with one of the"
                f" questions {', '.join(channel.names)}.{close_name(question, channel.names)}"
            )
        j = channel.names.index(question)
        if answer not in channel.answers[j] or number is None or not 0 <= number <= 1:
            raise ValueError(
                f"--expect has {text!r}; it must be {question}=ANSWER=SHARE with a share from 0 to 1, and one"
                f" of the answers {', '.join(channel.answers[j])}.{close_name(answer, channel.answers[j])}"
            )
        named[j][channel.answers[j].index(answer)] = float(number)
    shares = []
    for name, answers, known in zip(channel.names, channel.answers, named, strict=True):
        left, total = len(answers) - len(known), sum(known.values())
        if total > 1.0 + SETTINGS.rounding or (not left and abs(total - 1.0) > SETTINGS.rounding):
            raise ValueError(f"The shares of {name} sum to {total:g}; all of them together must sum to 1.")
        shares.append([known.get(a, max(1.0 - total, 0.0) / max(left, 1)) for a in range(len(answers))])
    return shares


def _entries(channel: QuestionnaireChannel, precise: str | None) -> list[Entry]:
    """Return the entries of all tables of so many questions, of one table, or of those of the design."""
    tables: Sequence[tuple[int, ...]] = channel.mechanism.questionnaire.tables
    if precise in TABLES:
        order = TABLES.index(precise) + 1
        tables = list(itertools.combinations(range(len(channel.names)), order))
    elif precise is not None:
        (names,) = parsed_tables([precise], channel.names)
        if unknown := [name for name in names if name not in channel.names]:
            raise ValueError(
                f"precise is {precise!r}; of a questionnaire it must be {', '.join(TABLES)}, or some of the"
                f" questions {', '.join(channel.names)}.{close_name(unknown[0], channel.names)}"
            )
        tables = [table_of_names(names, channel.names, MOST_ASKED)]
    for table in tables:
        check_shown(channel, table)
    return [
        (table, entry)
        for table in tables
        for entry in itertools.product(*(range(len(channel.answers[j])) for j in table))
    ]
