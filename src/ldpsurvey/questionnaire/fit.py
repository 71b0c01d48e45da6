r"""Whether reports of a questionnaire may be of its channel, whatever the answers are.

Lots, and which of the questions of a kind a lot asks, do not depend on the answers. Where an answer h is sent
does: with p_y the interaction of the question at the place y in the set of the lot, k places and the factor f
of the lot, h is sent to y with the chance (1 + f p_y) / k by people whose answer is h, and by others with (1
- f p_y / (k - 1)) / k. A whole report has at most the chance of one whose set has the own answers. So each of
these numbers of reports is binomial with a chance in a known interval, and the least probability that one of
them is so large or so small, times their number, bounds the probability of such reports (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import bdtr, bdtrc

from ldpfrontier import Lot
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.estimate.distribution import doubt_text
from ldpsurvey.questionnaire.lot_reports import LotReports
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel

#: Numbers of reports among so many, and the least and the largest chance of each of these.
_Binomials = tuple[IntArray, IntArray | int, FloatArray | float, FloatArray | float]


def questionnaire_fit(channel: QuestionnaireChannel, reports: Sequence[LotReports]) -> float:
    """Bound the probability that reports fit the channel as badly as these, whatever the answers are."""
    tests, least = 0, 1.0
    for counts, number, low, high in _binomials(channel, reports):
        tests += 2 * counts.size
        large, small = bdtrc(counts - 1, number, high), bdtr(counts, number, low)
        least = min(least, float(large.min()), float(small.min()))
    total = sum(int(group.times.sum()) for group in reports)
    for group in reports:
        tests += 1
        possible, lot = _reports_of(channel, group.lot), channel.mechanism.lots[group.lot]
        most = lot.weight * (1.0 + channel.mechanism.factor(lot) * (1.0 - lot.share)) / possible
        least = min(least, possible * float(bdtrc(int(group.times.max()) - 1, total, most)))
    return min(1.0, tests * least)


def _binomials(channel: QuestionnaireChannel, reports: Sequence[LotReports]) -> Iterator[_Binomials]:
    """Yield the numbers of reports of lots, of questions in their places, and of places of answers."""
    mechanism, of_lots = channel.mechanism, np.zeros(len(channel.weights), dtype=np.int64)
    members = mechanism.questionnaire.members
    for group in reports:
        of_lots[group.lot] = group.times.sum()
    weights = np.array([lot.weight for lot in mechanism.lots])
    yield of_lots, int(of_lots.sum()), weights, weights
    for group in reports:
        lot = mechanism.lots[group.lot]
        for axis, kind in enumerate(lot.kinds):
            asked = group.questions[:, axis]
            counts = np.bincount(asked, weights=group.times, minlength=len(channel.names)).astype(np.int64)
            counts, chance = counts[list(members[kind])], 1.0 / len(members[kind])
            yield counts, int(of_lots[group.lot]), chance, chance
            low, high = _chances_of_places(lot, axis, mechanism.factor(lot))
            size, number = lot.members.shape[axis], len(channel.names)
            for answer in range(size):
                at = asked * size + group.images[axis][:, answer]
                found = np.bincount(at, weights=group.times, minlength=number * size).astype(np.int64)
                found = found.reshape(number, size)[list(members[kind])]
                yield found, counts[:, None], low, high


def _chances_of_places(lot: Lot, axis: int, factor: float) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest chance that an answer is sent to each place."""
    p, size = lot.interactions[(axis,)], lot.members.shape[axis]
    ends = (1.0 + factor * p) / size, (1.0 - factor * p / (size - 1)) / size
    return np.minimum(*ends), np.maximum(*ends)


def _reports_of(channel: QuestionnaireChannel, lot: int) -> float:
    """Return how many reports a lot has."""
    own = channel.mechanism.lots[lot]
    orders = math.prod(math.factorial(size) for size in own.members.shape)
    return float(channel.mechanism.questionnaire.choices(own.kinds) * orders)


def most_repeated(channel: QuestionnaireChannel) -> float:
    """Return the largest probability that two reports of a person are the same.

    It is that of one person whose answers have not changed, and the same for all answers.
    """
    found = 0.0
    for number, lot in enumerate(channel.mechanism.lots):
        a, factor = lot.share, channel.mechanism.factor(lot)
        found += lot.weight**2 / _reports_of(channel, number) * (1.0 + factor**2 * a * (1.0 - a))
    return found


def doubt(channel: QuestionnaireChannel, reports: Sequence[LotReports]) -> str:
    """Say that the reports are hardly of this channel; empty if they may be."""
    fit = questionnaire_fit(channel, reports)
    return "" if fit >= SETTINGS.misfit else doubt_text(sum(int(one.times.sum()) for one in reports), fit)
