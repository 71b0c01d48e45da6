r"""Several reports of one person: their channel, their level for each attacker, and mechanisms for m of them.

Reports on the same (S, U), each drawn by a mechanism of its own, are a channel whose columns are the products
of columns, one from each (their *composition*). Under privacy from anyone, and given U, it has at most the
sum of the levels; for acquaintances, little more; under RLDP alone nothing holds
(docs/beyond/theorems.md, statement 11, where the proofs are). What is needed for that is the *interaction* of
a column v, ::

    log( v_su v_tw / (v_sw v_tu) ),

by which a report changes the odds ratios at which the next one is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import conditional_epsilon, log_ratio
from ldpfrontier.numerics.arguments import as_instance
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

#: Entries of a composition that is computed: 160 MB.
MOST_ENTRIES = 20_000_000

#: Reports by one channel that are composed: the number of their orders has to be a number of the machine.
MOST_REPORTS = 170


def composition(channels: Iterable[Channel]) -> Channel:
    """Return the channel of one report by each of several channels, independent given the input.

    Reports by the same channel (the same object) count without their order, which tells nothing: of m reports
    with y outputs there are C(y + m - 1, m) columns. Otherwise columns are products, one column from each.

    Parameters
    ----------
    channels : iterable of Channel
        With the same inputs.

    Raises
    ------
    Intractable
        If the composition has more than 20 million entries, or there are more than 170 reports by a channel.
    ValueError
        If there is no channel, or they have different numbers of inputs.
    """
    parts = [_repeated(channel, number) for channel, number in _grouped(channels)]
    inputs = parts[0].n_inputs
    _check_size(inputs, math.prod(part.n_outputs for part in parts))
    matrix = np.ones((inputs, 1))
    for part in parts:
        matrix = (matrix[:, :, None] * part.matrix[:, None, :]).reshape(inputs, -1)
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _grouped(channels: Iterable[Channel]) -> list[tuple[Channel, int]]:
    """Return each of several channels, and how many times it is there."""
    try:
        given = list(channels)
    except TypeError:
        kind = type(channels).__name__
        raise ValueError(f"The channels are a {kind}; they must be a list of channels.") from None
    numbers = dict[int, tuple[Channel, int]]()
    for channel in given:
        as_instance(channel, Channel, "The channel")
        numbers[id(channel)] = channel, numbers.get(id(channel), (channel, 0))[1] + 1
    groups = list(numbers.values())
    if not groups:
        raise ValueError("There is no channel; one or more are needed.")
    sizes = {channel.n_inputs for channel, _ in groups}
    if len(sizes) > 1:
        raise ValueError(
            f"The channels have {' and '.join(map(str, sorted(sizes)))} inputs; all reports are of the same"
            " (S, U)."
        )
    return groups


def _repeated(channel: Channel, number: int) -> Channel:
    """Return the channel of several reports by one channel, as multisets."""
    if number == 1:
        return channel
    if number > MOST_REPORTS:
        raise Intractable(f"There are {number} reports by one channel; the limit is {MOST_REPORTS}.")
    outputs = channel.n_outputs
    _check_size(channel.n_inputs, math.comb(outputs + number - 1, number))
    chosen = np.array(list(combinations_with_replacement(range(outputs), number)), dtype=np.int64)
    counts = np.stack([(chosen == y).sum(axis=1) for y in range(outputs)])
    factorials = np.array([math.factorial(k) for k in range(number + 1)], dtype=np.float64)
    orders = factorials[number] / factorials[counts].prod(axis=0)
    matrix = orders * channel.matrix[:, chosen].prod(axis=2)
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _check_size(inputs: int, outputs: int) -> None:
    if inputs * outputs > MOST_ENTRIES:
        raise Intractable(
            f"The channel of all reports has {inputs} x {outputs} entries; the limit is {MOST_ENTRIES:,}."
        )


@dataclass(frozen=True)
class ReportLevels:
    """Levels of several reports together, in nats: by what factor they change the odds of two values of S.

    Attributes
    ----------
    anyone : float
        For everybody, whatever he knows.
    insiders : float
        For insiders, who know U and nothing else of S.
    acquaintances : float or None
        For acquaintances, who know something about U alone; None without odds ratios.
    outsiders : float or None
        For those who know the distribution alone, any in the uncertainty set; None without one.
    exact : bool
        Whether the last two are the levels. If not, they are bounds: the composition was too large, or had
        probabilities below 1e-308.
    """

    anyone: float
    insiders: float
    acquaintances: float | None
    outsiders: float | None
    exact: bool

    @property
    def given_useful(self) -> float:
        """The level for insiders, by its name in earlier versions."""
        return self.insiders


def levels_of_reports(
    channels: Iterable[Channel],
    shape: tuple[int, int],
    *,
    odds: OddsRatios | None = None,
    ball: RenyiBall | None = None,
) -> ReportLevels:
    """Compute the levels of several reports of one person on the same (S, U), drawn independently given them.

    Parameters
    ----------
    channels : iterable of Channel
        Their inputs are the pairs (s, u) in row-major order.
    shape : (int, int)
        Numbers of sensitive and useful values.
    odds : OddsRatios, optional
        For the level of acquaintances.
    ball : RenyiBall, optional
        For the level of outsiders.

    Raises
    ------
    ValueError
        If an argument is something else, or they do not agree.

    Examples
    --------
    >>> from ldpfrontier import OddsRatios, levels_of_reports, optimal_association
    >>> odds = OddsRatios.confidence([[30, 20], [10, 40]])
    >>> best = optimal_association(odds, 1.0).channel
    >>> together = levels_of_reports([best, best], (2, 2), odds=odds)
    >>> round(together.insiders, 3) <= 2.0 <= round(together.acquaintances, 3)
    True
    """
    groups = _grouped(channels)
    channels = [channel for channel, number in groups for _ in range(number)]
    # Of two cells, the worst outputs of each report are the worst ones of all: levels of pairs add up.
    apart = np.array([number * _cell_levels(channel, shape) for channel, number in groups]).sum(axis=0)
    a1, a2 = apart.shape[:2]
    given = float(apart[:, np.arange(a2), :, np.arange(a2)].max())
    apart[np.arange(a1), :, np.arange(a1)] = 0.0
    anyone = float(apart.max())
    acquaintances = outsiders = None
    together = _composition_if_possible(channels) if odds is not None or ball is not None else None
    if odds is not None:
        as_instance(odds, OddsRatios, "The odds ratios")
        if together is not None:
            acquaintances = association_epsilon(together, odds)
        else:
            acquaintances = min(anyone, _bound(channels, odds), given + math.log(odds.high.max()))
    if ball is not None:
        as_instance(ball, RenyiBall, "The ball")
        if together is not None:
            outsiders = ball.worst_case_epsilon(together)
        else:
            tells_u = Channel(np.tile(np.eye(a2), (a1, 1)))
            outsiders = min(anyone, given + ball.worst_case_epsilon(tells_u))
    exact = together is not None or acquaintances is outsiders is None
    return ReportLevels(anyone, given, acquaintances, outsiders, exact)


def _composition_if_possible(channels: list[Channel]) -> Channel | None:
    """Return the composition; None if it is too large, or has numbers that are too small for the machine."""
    try:
        together = composition(channels)
    except Intractable:
        return None
    lost = together.matrix.min() < np.finfo(float).tiny and all(one.matrix.all() for one in channels)
    return None if lost else together


def _cell_levels(channel: Channel, shape: tuple[int, int]) -> FloatArray:
    """Return the largest log Q(y|s,u) / Q(y|t,w) over outputs, shape (a1, a2, a1, a2)."""
    conditional_epsilon(channel, shape)  # which checks both
    rows = channel.matrix
    pairs = [log_ratio(row, rows).max(axis=1) for row in rows]
    return np.array(pairs).reshape(*shape, *shape)


def interactions(channel: Channel, shape: tuple[int, int]) -> FloatArray:
    """Return by how much a report may lower the logarithms of odds ratios, shape (a1, a1, a2, a2), nats.

    At (s, t, u, w), the largest log(v_su v_tw / (v_sw v_tu)) over columns v; inf where an entry is 0. It is
    at most twice the conditional level.
    """
    blocks = channel.matrix.reshape(*shape, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(blocks)
        ratios = logs[:, None, :, None] - logs[:, None, None, :]
        ratios = ratios - ratios.swapaxes(0, 1)
    ratios[np.isnan(ratios)] = math.inf
    found = ratios.max(axis=-1)
    a1, a2 = shape
    found[np.arange(a1), np.arange(a1)] = 0.0
    found[:, :, np.arange(a2), np.arange(a2)] = 0.0
    return np.asarray(np.maximum(found, 0.0))


def _bound(channels: list[Channel], odds: OddsRatios) -> float:
    """Return the sum of the levels of reports, each read at the odds ratios that earlier ones may leave."""
    level, shift = 0.0, np.zeros(odds.low.shape)
    for channel in channels:
        level += association_epsilon(channel, odds.widened(shift))
        shift = shift + interactions(channel, odds.shape)
    return level
