"""Sampling of a channel with whole numbers, so that the stated probabilities are exactly those used.

A row of a channel is a list of whole numbers that sum to 2^62. An output is drawn from 8 random bytes: they
are a little-endian number, of which the lowest two bits are dropped; the output is the number of thresholds,
the running sums of the row, that are not above it. No floating-point number is involved, so that none of its
roundings can tell inputs apart (Mironov, On significance of the least significant bits, CCS 2012).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import Channel
from ldpfrontier.base.types import FloatArray, IntArray

#: Probabilities are multiples of 2^-62: running sums fit into signed integers of 64 bits.
BITS = 62
TOTAL = 1 << BITS

#: What the rows of a channel sum to that people draw from with two or three ten-sided dice.
OF_DICE = (100, 1000)

#: Bytes from the operating system, which are fit for secrets.
RandomSource = Callable[[int], bytes]


def whole_weights(matrix: FloatArray) -> IntArray:
    """Return rows of whole numbers that sum to 2^62, each the nearest to a chance, (inputs, outputs).

    What is missing in a row goes to its largest entry.
    """
    weights = np.rint(np.ldexp(matrix, BITS)).astype(np.int64)
    missing = TOTAL - weights.sum(axis=1)
    weights[np.arange(len(weights)), weights.argmax(axis=1)] += missing
    return weights


def check_weights(weights: IntArray) -> None:
    """Refuse whole numbers that are no channel: negative ones, or rows that do not sum to 2^62.

    All may also sum to a number `OF_DICE`.
    """
    if weights.ndim != 2 or weights.size == 0:
        raise ValueError(f"The weights have shape {weights.shape}; they must be (inputs, outputs).")
    if (weights < 0).any() or (weights > TOTAL).any():
        raise ValueError("A weight is out of range; allowed are whole numbers from 0 to 2^62.")
    rows = weights.tolist()
    total = sum(rows[0]) if sum(rows[0]) in OF_DICE else TOTAL
    needed = f"2^62 = {total}" if total == TOTAL else f"{total}"
    for place, row in enumerate(rows):
        if sum(row) != total:  # of Python's integers, which do not overflow
            raise ValueError(f"Row {place} of the weights sums to {sum(row)}; it must sum to {needed}.")


def total_of(weights: IntArray) -> int:
    """Return what the rows of a channel sum to."""
    return sum(weights[0].tolist())


def sampled_channel(weights: IntArray) -> Channel:
    """Return the channel that is sampled, as the floating-point numbers nearest to its chances."""
    return Channel(weights / float(total_of(weights)))


def sampled_level(weights: IntArray | FloatArray) -> float:
    """Least epsilon for which a channel of whole numbers, or of chances, is epsilon-LDP, in nats.

    Rounded upwards, by 1e-15 and its own rounding; exactly 0 if nothing is told.
    """
    most, least = weights.max(axis=0).tolist(), weights.min(axis=0).tolist()
    pairs = [(high, low) for high, low in zip(most, least, strict=True) if high]
    if any(low == 0 for _, low in pairs):
        return math.inf
    level = max(math.log1p((high - low) / low) for high, low in pairs)
    return level * (1.0 + 1e-15) + 1e-15 if level else 0.0


class Sampler:
    """Draws outputs of a channel of whole numbers, with random bytes of the operating system by default."""

    def __init__(self, weights: IntArray, source: RandomSource = os.urandom) -> None:
        check_weights(weights)
        if (total := total_of(weights)) != TOTAL:
            raise ValueError(
                f"The chances of this channel are whole {total}ths: people draw its reports with dice, by its"
                " card, and no program does."
            )
        self.thresholds: IntArray = np.cumsum(weights, axis=1)
        self._source = source

    def draw(self, inputs: ArrayLike) -> IntArray:
        """Return an output for every input, the number of a row, independently, (m,)."""
        rows = np.asarray(inputs)
        if rows.size == 0:
            return np.zeros(0, dtype=np.int64)
        whole = rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer)
        if not (whole and rows.min() >= 0 and rows.max() < len(self.thresholds)):
            raise ValueError(f"Inputs must be whole numbers from 0 to {len(self.thresholds) - 1}.")
        words = np.frombuffer(self._source(8 * rows.size), dtype="<u8") >> np.uint64(64 - BITS)
        numbers = words.astype(np.int64)
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(len(self.thresholds) + 1))
        outputs = np.empty(rows.size, dtype=np.int64)
        for row in np.flatnonzero(np.diff(ends)):
            part = order[ends[row] : ends[row + 1]]
            outputs[part] = np.searchsorted(self.thresholds[row], numbers[part], side="right")
        return outputs


def known_answers(weights: IntArray, size: int = 32) -> list[tuple[int, str, int]]:
    """Return inputs, 16 hexadecimal digits, and the outputs that they give, for other languages.

    The bytes lie just below and at thresholds, where an implementation can be off by one.
    """
    thresholds = np.cumsum(weights, axis=1)
    cells = [(x, y) for x in range(weights.shape[0]) for y in range(weights.shape[1])]
    inputs, words = list[int](), list[bytes]()
    for x, y in cells[:: max(1, 2 * len(cells) // size)]:
        for number in (int(thresholds[x, y]) - 1, int(thresholds[x, y])):
            if 0 <= number < TOTAL:
                dropped = len(words) % (1 << 64 - BITS)  # what the lowest bits are does not count
                inputs.append(x)
                words.append((number << (64 - BITS) | dropped).to_bytes(8, "little"))
    outputs = Sampler(weights, lambda _: b"".join(words)).draw(inputs).tolist()
    return [(x, word.hex(), y) for x, word, y in zip(inputs, words, outputs, strict=True)]
