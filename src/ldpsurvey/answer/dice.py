"""Channels drawn with ten-sided dice: probabilities that are whole hundredths or thousandths.

The columns of a channel of a level lie in a cone, and whole numbers near the channel mostly leave it. So
entries are rounded from the channel and from mixtures with its mean row, which bring all ratios closer to
1; then units are moved from one report to another, in one row or in two at once, as long as the estimates
become more precise and the level is kept. Of two answers and two reports all possibilities are compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ldpfrontier import entropy, mutual_information
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.sampling import TOTAL, sampled_channel
from ldpsurvey.channel.attackers import WITHOUT_TABLE, levels_of
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel

#: Reports that letters name.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: Answers that a card has room for.
MOST_ANSWERS = 30

#: Shares of the mean row that rounding starts from.
_SHARES = (0.0, *np.geomspace(0.002, 0.9, 30).tolist())

#: Powers of the chances that it starts from as well: a channel that is not the best of its level becomes one
#: that tells more.
_POWERS = (1.0, 2.0, 4.0, 8.0)

#: Changes at random, with this standard deviation of the logarithms, that it starts from with hundredths: for
#: many equal chances, up to 7% fewer people are needed than without.
_CHANGES, _DEVIATION = 8, 0.05

#: How many of the roundings of the own channel are improved, the most precise ones first; of others, two.
_STARTS = 8

#: Units that are moved at once, as long as they are at most a fiftieth of all.
_STEPS = (20, 5, 1)

#: Pairs of units that are moved at once, above which only single ones are: some seconds.
_MOST_PAIRS = 6_000

#: Improvements that are looked at in their order of precision, where each level takes long.
_TRIED = 10


class _Search:
    """Whole numbers of rows that differ, (rows, reports), which sum to `total`, and what is asked of them."""

    def __init__(self, private: PrivateChannel, total: int) -> None:
        self._private, self.total = private, total
        matrix = private.channel.matrix
        # Where answers have one row, they keep it: what is not asked stays unasked.
        _, first, self.row_of = np.unique(private.weights, axis=0, return_index=True, return_inverse=True)
        self.row_of = self.row_of.ravel()
        self.matrix: FloatArray = matrix[first]
        self.prior = np.bincount(self.row_of, weights=private.table.expected.ravel())
        self._ratio = math.exp(min(private.certificate.epsilon, 700.0))
        self._above = self._compared()
        self._known = dict[bytes, bool]()

    def _compared(self) -> list[NDArray[np.intp]]:
        """Return, of each row, those whose entries must not be more than `ratio` times its own."""
        a1, a2 = self._private.table.counts.shape
        s, u = np.divmod(np.arange(a1 * a2), a2)
        against = self._private.certificate.against
        if math.isinf(self._private.certificate.epsilon) or (a2 > 1 and against == "outsider"):
            pairs = np.zeros((a1 * a2, a1 * a2), dtype=bool)
        elif a2 == 1:
            pairs = np.ones((a1 * a2, a1 * a2), dtype=bool)
        else:
            pairs = s[:, None] != s
            if against != "anyone":  # an acquaintance may know the useful value
                pairs &= u[:, None] == u
        rows = len(self.matrix)
        return [
            np.flatnonzero(np.bincount(self.row_of[pairs[self.row_of == row].any(axis=0)], minlength=rows))
            for row in range(rows)
        ]

    def variances(self, weights: IntArray | FloatArray) -> FloatArray:
        """Return the sums of the variances of all estimated shares, of one report, of many channels.

        The inverse of the Fisher information is the covariance of the best unbiased estimates, without that
        of the records, which no channel changes.
        """
        chances = weights / self.total
        expected = np.maximum(self.prior @ chances, 1e-300)[:, None, :]
        information = (chances / expected) @ chances.transpose(0, 2, 1)
        values = np.linalg.eigvalsh(information)
        lost = values[:, 0] <= 1e-9 * values[:, -1]
        return np.where(
            lost, math.inf, (1.0 / np.maximum(values, 1e-300)).sum(axis=1) - self.prior @ self.prior
        )

    def may_keep(self, weights: IntArray) -> NDArray[np.bool_]:
        """Tell which of many channels have the ratios that the level needs: enough, without a population."""
        kept = np.ones(len(weights), dtype=bool)
        for row, above in enumerate(self._above):
            if above.size:
                kept &= (weights[:, above].max(axis=1) <= self._ratio * weights[:, row]).all(axis=1)
        return kept

    def keeps(self, weights: IntArray) -> bool:
        """Tell whether a channel has the level that is promised."""
        key = weights.tobytes()
        if key not in self._known:
            stated, table = self._private.certificate, self._private.table
            every = weights[self.row_of]
            quick = table.useful and stated.against not in WITHOUT_TABLE
            level = levels_of(every, table, stated.population if quick else None).against(stated.against)
            self._known[key] = level <= stated.epsilon
        return self._known[key]

    def best(self, candidates: IntArray, below: float) -> tuple[float, IntArray] | None:
        """Return the most precise channel that keeps its level, if its variance is below a number."""
        candidates = candidates[(candidates >= 0).all(axis=(1, 2))]
        candidates = candidates[self.may_keep(candidates)]
        if not len(candidates):
            return None
        variances = self.variances(candidates)
        order = [place for place in np.argsort(variances, kind="stable") if variances[place] < below]
        for place in order[:_TRIED]:
            if self.keeps(candidates[place]):
                return float(variances[place]), candidates[place]
        return None


def _rounded(target: FloatArray, total: int) -> Iterator[IntArray]:
    """Yield whole numbers near a channel: what is missing goes to the largest entries, or to the nearest."""
    scaled = total * target
    rows = np.arange(len(target))
    for round_ in (np.rint, np.ceil, np.floor):
        weights = round_(scaled - 1e-9).astype(np.int64)
        weights[rows, scaled.argmax(axis=1)] += total - weights.sum(axis=1)
        yield weights
    weights = np.floor(scaled + 1e-9).astype(np.int64)
    for row, missing in enumerate((total - weights.sum(axis=1)).tolist()):
        order = np.argsort(weights[row] - scaled[row], kind="stable")
        weights[row, order[:missing]] += 1
    yield weights


def _bases(search: _Search, few: bool) -> Iterator[FloatArray]:
    """Yield channels that the search begins at: the own one, and if levels take little, others near it."""
    rng = np.random.default_rng(0)
    for power in _POWERS[: 1 if few else None]:
        yield search.matrix**power
    for _ in range(0 if few or search.total > 100 else _CHANGES):
        yield search.matrix * np.exp(rng.normal(scale=_DEVIATION, size=search.matrix.shape))


def _starts(search: _Search, few: bool) -> Iterator[tuple[float, IntArray]]:
    """Yield channels of whole numbers that keep the level, with their variances."""
    for place, base in enumerate(_bases(search, few)):
        near, kept = base / base.sum(axis=1, keepdims=True), dict[bytes, tuple[float, IntArray]]()
        for share in _SHARES:
            for weights in _rounded((1.0 - share) * near + share * (search.prior @ near), search.total):
                if (found := search.best(weights[None], math.inf)) is not None:
                    kept.setdefault(weights.tobytes(), found)
        most = 2 if place else _STARTS // (4 if few else 1)
        yield from sorted(kept.values(), key=lambda start: start[0])[:most]


def _moves(weights: IntArray, step: int, pairs: bool) -> IntArray:
    """Return channels with some units moved between two reports: in one row, or in two rows at once."""
    rows, reports = weights.shape
    moves = list(itertools.product(range(rows), itertools.permutations(range(reports), 2)))
    changes: list[tuple[tuple[int, tuple[int, int]], ...]] = [(move,) for move in moves]
    if pairs:
        changes = [
            (one, other)
            for one, other in itertools.combinations(moves, 2)
            if one[0] != other[0] and {*one[1]} & {*other[1]}
        ]
    found = np.repeat(weights[None], len(changes), axis=0)
    for place, change in enumerate(changes):
        for row, (source, target) in change:
            found[place, row, source] -= step
            found[place, row, target] += step
    return found


def _improved(search: _Search, variance: float, weights: IntArray) -> tuple[float, IntArray]:
    """Move units as long as that helps."""
    rows, reports = weights.shape
    two = rows**2 * reports**3 < _MOST_PAIRS
    # Large steps come first, since each is a search of its own.
    steps = [(step, False) for step in _STEPS if step <= max(search.total // 50, 1)]
    place = 0
    while place < len(steps) + two:
        step, pairs = [*steps, (1, True)][place]
        found = search.best(_moves(weights, step, pairs), variance)
        if found is None:
            place += 1
        else:
            variance, weights = found
            place = min(place, len(steps) - 1)
    return variance, weights


def _best_of_two(search: _Search) -> tuple[float, IntArray] | None:
    """Return the best of all channels of two rows and two reports."""
    first = np.repeat(np.arange(search.total + 1), search.total + 1)
    second = np.tile(np.arange(search.total + 1), search.total + 1)
    one = np.stack([first, search.total - first, second, search.total - second], axis=1).reshape(-1, 2, 2)
    return search.best(one, math.inf)


def dice_channel(channel: AnyChannel, dice: int = 2) -> tuple[PrivateChannel, float]:
    """Return the channel that people draw from with ten-sided dice, and its price in people.

    Its level, for those from whom the channel protects, is not above that of the channel, and its reports are
    letters. The price is how many times as many people have to report for the same precision: of the sum of
    the variances of all shares, of answers with rows of their own, where the table of the design is expected.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
        Of one table, and for one report of a person.
    dice : int
        2, for chances that are whole hundredths, or 3.

    Raises
    ------
    ValueError
        If the channel cannot be drawn from with dice, or no such channel with its level was found.
    """
    if not isinstance(channel, PrivateChannel):
        raise ValueError(
            f"{channel.id} is the channel of a questionnaire, for which dice would have to be rolled often; a"
            " card is for the channel of one table."
        )
    outputs = channel.weights.shape[1]
    if dice not in (2, 3):
        raise ValueError(f"The number of dice is {dice}; it must be 2 or 3.")
    if channel.total != TOTAL:
        raise ValueError(f"{channel.id} is a channel of dice already.")
    if channel.certificate.allowance is not None:
        raise ValueError(
            f"{channel.id} is for several reports of a person, of which a card keeps no account; it is for"
            " the channel of one report."
        )
    if len(channel.asked_labels) > MOST_ANSWERS or outputs > len(LETTERS):
        raise ValueError(
            f"{channel.id} has {len(channel.asked_labels)} answers and {outputs} reports; a card has room for"
            f" {MOST_ANSWERS} answers and {len(LETTERS)} reports."
        )
    weights, price = _best_weights(channel, 10**dice)
    table, stated = channel.table, channel.certificate
    prior = table.distribution.ravel()
    found = replace(
        stated,
        mechanism=f"{stated.mechanism}, drawn with {dice} dice",
        levels=levels_of(weights, table, stated.population),
        nmi=mutual_information(prior, sampled_channel(weights)) / entropy(prior),
        code_version=import_module("ldpfrontier").__version__,
    )
    drawn = PrivateChannel(table, weights, found, tuple(LETTERS[: weights.shape[1]]))
    drawn.check_levels(found.levels)
    return drawn, price


def _best_weights(private: PrivateChannel, total: int) -> tuple[IntArray, float]:
    """Return the best whole numbers found near a channel, which sum to `total`, and the price in people.

    Both are as of `dice_channel`.
    """
    search = _Search(private, total)
    (own,) = search.variances(total * search.matrix[None]).tolist()
    if math.isinf(own):
        raise ValueError(
            f"The reports of {private.id} do not tell all answers apart; a card is for those that do."
        )
    found: tuple[float, IntArray] | None = None
    if search.matrix.shape == (2, 2):
        found = _best_of_two(search)
    else:
        starts = _starts(search, private.certificate.against not in WITHOUT_TABLE)
        found = min((_improved(search, *start) for start in starts), key=lambda end: end[0], default=None)
    if found is None or math.isinf(found[0]):
        raise ValueError(
            f"No channel was found whose chances are whole {total}ths, which keeps the level of this one and"
            " tells all answers apart. More dice (--dice 3) are needed, or a channel with fewer reports, such"
            " as design --mechanism grr makes."
        )
    variance, weights = found
    used = weights[:, weights.max(axis=0) > 0]
    return used[search.row_of], variance / own
