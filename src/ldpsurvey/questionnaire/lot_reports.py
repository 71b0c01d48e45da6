"""Reports of questionnaires: drawn with whole numbers from random bytes, written as texts, and read again.

A report is the lot and, of each question in its place, its number and where the answers are sent, as in
``L2/q3=10/q7=01``: of question 3 the first answer to 1 and the second to 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import IntArray
from ldpsurvey.base.sampling import BITS, TOTAL, RandomSource

if TYPE_CHECKING:
    from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel

#: Letters of places, of as many answers as a question may have.
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class RandomNumbers:
    """Whole numbers that are exactly uniform, from a source of random bytes."""

    def __init__(self, source: RandomSource = os.urandom) -> None:
        self._source = source

    def words(self, number: int) -> IntArray:
        """Return numbers below 2^62, shape (number,)."""
        found = np.frombuffer(self._source(8 * number), dtype="<u8") >> np.uint64(64 - BITS)
        return np.asarray(found, dtype=np.int64)

    def below(self, bound: int, number: int) -> IntArray:
        """Return numbers below a bound; words that are too large for equal chances are drawn again."""
        most = TOTAL - TOTAL % bound
        found = self.words(number)
        while (again := np.flatnonzero(found >= most)).size:
            found[again] = self.words(again.size)
        return np.asarray(found % bound)

    def permutations(self, size: int, number: int) -> IntArray:
        """Return permutations, shape (number, size), by Fisher and Yates."""
        found = np.tile(np.arange(size), (number, 1))
        rows = np.arange(number)
        for last in range(size - 1, 0, -1):
            other = self.below(last + 1, number)
            found[rows, last], found[rows, other] = found[rows, other], found[rows, last].copy()
        return found

    def subsets(self, size: int, number: int, rows: int) -> IntArray:
        """Return different numbers below a size in random order, shape (rows, number)."""
        found = np.tile(np.arange(size), (rows, 1))
        place = np.arange(rows)
        for first in range(number):
            other = first + self.below(size - first, rows)
            found[place, first], found[place, other] = found[place, other], found[place, first].copy()
        return found[:, :number]


def draw_reports(
    channel: QuestionnaireChannel, records: IntArray, source: RandomSource = os.urandom
) -> list[str]:
    """Draw a report for every record: (m, questions), the place of each answer among those to its question.

    Any source of random bytes but the default is no protection.
    """
    random, reports = RandomNumbers(source), [""] * len(records)
    lots = np.searchsorted(np.cumsum(channel.weights), random.words(len(records)), side="right")
    members = channel.mechanism.questionnaire.members
    for number, lot in enumerate(channel.mechanism.lots):
        rows = np.flatnonzero(lots == number)
        if not rows.size:
            continue
        questions = np.empty((rows.size, len(lot.kinds)), dtype=np.int64)
        for kind in sorted(set(lot.kinds)):
            places = [place for place, other in enumerate(lot.kinds) if other == kind]
            chosen = random.subsets(len(members[kind]), len(places), rows.size)
            questions[:, places] = np.array(members[kind])[chosen]
        own = np.take_along_axis(records[rows], questions, axis=1)
        images = [np.empty((rows.size, size), dtype=np.int64) for size in lot.members.shape]
        left = np.arange(rows.size)
        while left.size:
            tried = [random.permutations(size, left.size) for size in lot.members.shape]
            at = tuple(image[np.arange(left.size), own[left, axis]] for axis, image in enumerate(tried))
            kept = lot.members[at] | (random.words(left.size) < channel.accept)
            for image, one in zip(images, tried, strict=True):
                image[left[kept]] = one[kept]
            left = left[~kept]
        texts = [_texts(questions[:, axis], image) for axis, image in enumerate(images)]
        for row, parts in zip(rows.tolist(), zip(*texts, strict=True), strict=True):
            reports[row] = f"L{number + 1}/{'/'.join(parts)}"
    return reports


def _texts(questions: IntArray, images: IntArray) -> list[str]:
    """Return texts of questions and where their answers are sent, one for each row."""
    letters = np.array(list(LETTERS))[images]
    joined = letters.view(f"<U{images.shape[1]}").ravel().tolist()
    return [f"q{question + 1}={text}" for question, text in zip(questions.tolist(), joined, strict=True)]


@dataclass(frozen=True, eq=False)
class LotReports:
    """Reports of one lot, each given so many times, with their numbers among all that were read.

    By report: the question in each place, (n, axes), and where the answers to it are sent, of each place (n,
    answers).
    """

    lot: int
    questions: IntArray
    images: list[NDArray[np.int8]]
    times: IntArray
    numbers: IntArray

    @cached_property
    def _sorted(self) -> list[tuple[IntArray, IntArray]]:
        """Reports by the question in each place, and where those of each question begin."""
        ends = np.arange(int(self.questions.max()) + 2)
        orders = [np.argsort(column, kind="stable") for column in self.questions.T]
        return [
            (order, np.searchsorted(column[order], ends))
            for order, column in zip(orders, self.questions.T, strict=True)
        ]

    def asked(self, axis: int, question: int) -> IntArray:
        """Return the reports that have a question in a place."""
        order, starts = self._sorted[axis]
        return order[starts[question] : starts[question + 1]] if question + 1 < len(starts) else order[:0]


class ReportNumbers:
    """Gives numbers to the texts of reports, from 0 in the order in which different ones come."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, texts: Sequence[str], _: object = None) -> IntArray:
        """Return the number of each text."""
        known = self.texts
        return np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.int64)

    def counted(self, channel: QuestionnaireChannel, found: IntArray) -> tuple[IntArray, list[LotReports]]:
        """Return the reports with these numbers, and their numbers among those alone, shape (reports,)."""
        texts = list(self.texts)
        kept, numbers, times = np.unique(found, return_inverse=True, return_counts=True)
        counts = {texts[place]: n for place, n in zip(kept.tolist(), times.tolist(), strict=True)}
        return numbers.reshape(-1), read_reports(channel, counts)


def read_reports(channel: QuestionnaireChannel, counts: dict[str, int]) -> list[LotReports]:
    """Return reports by lot, of texts that occur so often; refuse what is no report of the channel.

    The number of a report is the place of its text.
    """
    found: list[tuple[list[list[int]], list[list[list[int]]], list[int], list[int]]]
    found = [([], [[] for _ in lot.kinds], [], []) for lot in channel.mechanism.lots]
    parsed = report_parser(channel)
    for place, (text, times) in enumerate(counts.items()):
        if (parts := parsed(text)) is None:
            raise ValueError(f"{text!r} is no report of this channel.")
        number, asked, own = parts
        questions, images, often, numbers = found[number]
        questions.append(asked)
        for image_list, image in zip(images, own, strict=True):
            image_list.append(image)
        often.append(times)
        numbers.append(place)
    return [
        LotReports(
            number,
            np.array(questions),
            [np.array(image, dtype=np.int8) for image in images],
            np.array(often),
            np.array(numbers),
        )
        for number, (questions, images, often, numbers) in enumerate(found)
        if often
    ]


#: The lot of a report, its questions, and where their answers are sent.
ReportParts = tuple[int, list[int], list[list[int]]]


def report_parser(channel: QuestionnaireChannel) -> Callable[[str], ReportParts | None]:
    """Return what takes a report apart; it returns None for a text that is no report of the channel."""
    members, lots = channel.mechanism.questionnaire.members, channel.mechanism.lots
    places = {letter: place for place, letter in enumerate(LETTERS)}

    @cache
    def question_of(part: str) -> tuple[int, list[int]]:
        question, _, letters = part.partition("=")
        j = int(question[1:]) - 1 if question[:1] == "q" and question[1:].isdecimal() else -1
        image = [places.get(letter, -1) for letter in letters]
        known = 0 <= j < len(channel.names) and sorted(image) == list(range(len(channel.answers[j])))
        return (j if known else -1), image

    def parsed(text: str) -> ReportParts | None:
        head, *parts = text.split("/")
        number = int(head[1:]) - 1 if head[:1] == "L" and head[1:].isdecimal() else -1
        if not 0 <= number < len(lots) or len(parts) != len(lots[number].kinds):
            return None
        asked, images = map(list, zip(*map(question_of, parts), strict=True))
        own = all(j in members[kind] for j, kind in zip(asked, lots[number].kinds, strict=True))
        return (number, asked, images) if own and len(set(asked)) == len(asked) else None

    return parsed


def states(reports: LotReports, table: Sequence[int]) -> Iterator[tuple[tuple[int | None, ...], IntArray]]:
    """Yield on which axis of the set each question of a table is, or None, and of which reports.

    Reports that have none of the questions are left out.
    """
    every = range(reports.questions.shape[1])
    for first, question in enumerate(table):
        parts = list[tuple[tuple[int | None, ...], IntArray]]()
        for axis in every:
            rows = reports.asked(axis, question)
            for other in table[:first]:
                rows = rows[(reports.questions[rows] != other).all(axis=1)]
            parts.append(((None,) * first + (axis,), rows))
        for later in table[first + 1 :]:
            split = []
            for axes, rows in parts:
                for axis in every:
                    here = reports.questions[rows, axis] == later
                    split.append(((*axes, axis), rows[here]))
                    rows = rows[~here]
                split.append(((*axes, None), rows))
            parts = split
        yield from (part for part in parts if part[1].size)
