"""Channels, that is, row-stochastic matrices ``Q[x, y]``, which all other modules make, measure or bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.numerics.arguments import as_distribution, as_numbers
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS

#: Entries of a channel that are looked at together: so few stay in the cache.
_AT_ONCE = 8_000


@dataclass(frozen=True, eq=False)
class Channel:
    """A channel (privacy mechanism) from a finite input alphabet to a finite output alphabet.

    Parameters
    ----------
    matrix : array_like, shape (inputs, outputs)
        ``matrix[x, y]`` is the probability of output y given input x. Copied, validated and made read-only.

    Raises
    ------
    ValueError
        If the matrix is not two-dimensional and finite, has an entry below -1e-12 (smaller negatives are
        rounding and become 0), or has a row that does not sum to 1 within 1e-9.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        matrix = np.ascontiguousarray(as_numbers(self.matrix, "The channel matrix"))
        if matrix.ndim != 2 or matrix.size == 0:
            raise ValueError(
                f"The channel matrix has shape {matrix.shape}; it must be two-dimensional (inputs, outputs)"
                " and not empty."
            )
        if not np.isfinite(matrix).all():
            x, y = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(
                f"The channel matrix has {matrix[x, y]} in row {x}, column {y}; entries must be finite."
            )
        if matrix.min() < -NUMERICS.negative_tolerance:
            x, y = np.unravel_index(int(matrix.argmin()), matrix.shape)
            raise ValueError(
                f"The channel matrix has the negative entry {matrix[x, y]:.6g} in row {x}, column {y};"
                " allowed is 0 or more."
            )
        sums = matrix.sum(axis=1)
        worst = int(np.abs(sums - 1.0).argmax())
        if abs(sums[worst] - 1.0) > NUMERICS.sum_tolerance:
            raise ValueError(
                f"Row {worst} of the channel matrix sums to {sums[worst]:.12g};"
                f" every row must sum to 1 (within {NUMERICS.sum_tolerance:g})."
            )
        np.maximum(matrix, 0.0, out=matrix)
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @cached_property
    def row_sum_error(self) -> float:
        """The largest distance of a row sum from 1."""
        return float(np.abs(self.matrix.sum(axis=1) - 1.0).max())

    @cached_property
    def row_entropies(self) -> FloatArray:
        """The entropies of the output given each input, in nats, shape (inputs,)."""
        found, step = np.empty(self.n_inputs), max(1, _AT_ONCE // self.n_outputs)
        for start in range(0, self.n_inputs, step):
            q = self.matrix[start : start + step]
            # The logarithm of NumPy is the fastest there is; 0 log 0 = 0.
            found[start : start + step] = -(q * np.log(np.maximum(q, np.finfo(np.float64).tiny))).sum(axis=1)
        return found

    @property
    def n_inputs(self) -> int:
        """The number of inputs (rows)."""
        return int(self.matrix.shape[0])

    @property
    def n_outputs(self) -> int:
        """The number of outputs (columns)."""
        return int(self.matrix.shape[1])

    def flat_prior(self, prior: ArrayLike) -> FloatArray:
        """Validate a prior on the inputs, given in any shape, and flatten it row-major to (inputs,)."""
        p = as_distribution(prior, "The prior").ravel()
        if p.size != self.n_inputs:
            raise ValueError(f"The prior has {p.size} entries, the channel has {self.n_inputs} inputs.")
        return p

    def joint(self, prior: ArrayLike) -> FloatArray:
        """Return P(x, y) under `prior` (any shape, flattened row-major), shape (inputs, outputs)."""
        return self.flat_prior(prior)[:, None] * self.matrix

    def kron(self, other: Channel) -> Channel:
        """Return both channels in parallel; pairs (x1, x2) and (y1, y2) are in row-major order."""
        return Channel(np.asarray(np.kron(self.matrix, other.matrix), dtype=np.float64))

    def sample(self, inputs: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Draw one output index for every input index, independently.

        Parameters
        ----------
        inputs : array_like of int, any shape
            Input (row) indices.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of int, shape of `inputs`

        Raises
        ------
        ValueError
            If an index is not an integer in 0..inputs-1.
        """
        x = np.asarray(inputs)
        if x.size == 0:
            return np.zeros(x.shape, dtype=np.int64)
        if not np.issubdtype(x.dtype, np.integer) or x.min() < 0 or x.max() >= self.n_inputs:
            raise ValueError(f"Input indices must be integers from 0 to {self.n_inputs - 1}.")
        cumulative = np.cumsum(self.matrix, axis=1)
        flat = x.ravel()
        y = np.empty(flat.size, dtype=np.int64)
        uniform = rng.random(flat.size)
        for value in np.unique(flat):
            mask = flat == value
            row = cumulative[value]
            # Scaling by the row's own sum keeps rounding from ever selecting a column of probability zero.
            y[mask] = np.searchsorted(row, uniform[mask] * row[-1], side="right")
        return y.reshape(x.shape)

    def merged(self, tolerance: float = 1e-12) -> Channel:
        """Drop zero columns and add up proportional ones, which changes neither information nor privacy.

        Two columns are proportional when, each divided by its sum, no entry differs by more than `tolerance`
        relative to the larger of the two.
        """
        sums = self.matrix.sum(axis=0)
        kept = np.flatnonzero(sums > 0)
        shapes = self.matrix[:, kept] / sums[kept]
        leaders: list[int] = []
        groups: list[list[int]] = []
        for j in range(kept.size):
            column = shapes[:, j]
            if leaders:
                others = shapes[:, leaders]
                scale = np.maximum(others, column[:, None])
                same = (np.abs(others - column[:, None]) <= tolerance * scale).all(axis=0)
                if same.any():
                    groups[int(same.argmax())].append(j)
                    continue
            leaders.append(j)
            groups.append([j])
        matrix = np.column_stack([self.matrix[:, kept[group]].sum(axis=1) for group in groups])
        return Channel(matrix)
