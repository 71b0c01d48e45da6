"""Source sets (kalantari2018) with their class (Definition 1), folds (Definition 6) and distortions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray, IntArray, Intractable
from ldpfrontier.hamming.game import Game
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_distribution, as_number, as_numbers
from ldpfrontier.numerics.highs import maximize

#: Probabilities closer than this count as equal, in orders and in "the hull contains uniform".
EQUAL = 1e-9

#: Most probabilities in a source set that is solved for: their LP is dense.
MAX_ENTRIES = 100_000

#: Least distortion that the solvers take: 1 - D, which they work with, has too few digits of a smaller one.
LEAST_DISTORTION = 1e-9


@dataclass(frozen=True, eq=False)
class SourceSet:
    """A source set: a finite list of distributions that represents its convex hull (kalantari2018, Lemma 2).

    Parameters
    ----------
    distributions : array_like, shape (J, M) or (M,)
        One distribution on the same M >= 2 letters per row.

    Raises
    ------
    ValueError
        If the list is empty, a row is not a distribution, or the rows differ in length.
    """

    distributions: FloatArray

    def __post_init__(self) -> None:
        given: Any = self.distributions
        if hasattr(given, "__array__") or not isinstance(given, Iterable):
            given = np.atleast_1d(as_numbers(given, "The source set"))
        rows = [as_numbers(row, "The source set") for row in given]
        if rows and all(row.ndim == 0 for row in rows):
            rows = [np.array(rows)]
        if not rows:
            raise ValueError("The source set is empty; it needs at least one distribution.")
        for j, row in enumerate(rows):
            if row.ndim != 1 or row.size != rows[0].size:
                raise ValueError(
                    f"Distribution {j} of the source set has {row.size} entries and distribution 0 has"
                    f" {rows[0].size}; all must be on the same letters."
                )
        if rows[0].size < 2:
            raise ValueError("The source set has 1 letter; there must be at least 2.")
        P = np.array(
            [as_distribution(row, f"Distribution {j} of the source set") for j, row in enumerate(rows)]
        )
        P /= P.sum(axis=1, keepdims=True)
        P.flags.writeable = False
        object.__setattr__(self, "distributions", P)

    @property
    def letters(self) -> int:
        """The size M of the alphabet."""
        return int(self.distributions.shape[1])

    @cached_property
    def contains_uniform(self) -> bool:
        """Whether the convex hull contains the uniform distribution.

        By one LP: min over the hull of max_i p_i, which is v(1), is 1/M at the uniform distribution only.
        """
        if len(self.distributions) == 1:
            return float(self.distributions.max()) <= 1.0 / self.letters + EQUAL
        return Game(self.distributions).solve(1.0)[0] <= 1.0 / self.letters + EQUAL

    @cached_property
    def order(self) -> IntArray | None:
        """A permutation T with P_T(1) >= ... >= P_T(M) for every P of the set, or None; shape (M,)."""
        # A common order orders the mean too, and where the mean ties all distributions do.
        T = _falling(self.distributions.mean(axis=0))
        return T if _ordered(self.distributions[:, T]) else None

    @cached_property
    def kind(self) -> str:
        """The class of Definition 1: "I", "II" or "III"."""
        if self.contains_uniform:
            return "I"
        return "III" if self.order is None else "II"

    @cached_property
    def folds(self) -> dict[tuple[int, ...], FloatArray]:
        """The folded equivalents of Definition 6: folding permutation -> its distributions in falling order.

        A distribution with ties has several folding permutations and belongs to several parts; it is put
        into one that another distribution needs anyway, if there is one, so that the union stays disjoint.
        """
        parts: dict[tuple[int, ...], list[FloatArray]] = {}
        ties = [int((np.diff(np.sort(p)) <= EQUAL).sum()) for p in self.distributions]
        for j in np.argsort(ties, kind="stable"):
            p = self.distributions[j]
            own = tuple(int(i) for i in _falling(p))
            T = next((T for T in parts if _ordered(p[None, list(T)])), own)
            parts.setdefault(T, []).append(p[list(T)])
        return {T: np.array(rows) for T, rows in sorted(parts.items())}

    @cached_property
    def folds_intersect(self) -> bool:
        """Whether the hulls of the folded parts have a common point, the folded intersection of (15)."""
        parts, M = list(self.folds.values()), self.letters
        count = sum(map(len, parts))
        A, start = np.zeros((len(parts), M + 1, count + M)), 0
        for k, part in enumerate(parts):
            A[k, :M, start : start + len(part)] = part.T
            A[k, :M, count:] = -np.eye(M)
            A[k, M, start : start + len(part)] = 1.0
            start += len(part)
        right = np.tile(np.append(np.zeros(M), 1.0), len(parts))
        return maximize(np.zeros(count + M), A.reshape(-1, count + M), right, right) is not None

    def thresholds(self) -> FloatArray:
        """D^(k) of (9), k = 0, ..., M: the largest probability of the last k letters, shape (M + 1,).

        Raises
        ------
        ValueError
            If the distributions have no common order.
        """
        tails = np.cumsum(self.distributions[:, self.common_order()[::-1]], axis=1).max(axis=0)
        return np.append(0.0, tails)

    def distortion(self, channel: Channel) -> float:
        """Return the largest expected Hamming distortion of a channel over the set."""
        if channel.n_inputs != self.letters or channel.n_outputs != self.letters:
            raise ValueError(
                f"The channel is {channel.n_inputs} x {channel.n_outputs}; Hamming distortion on"
                f" {self.letters} letters needs {self.letters} x {self.letters}."
            )
        return float((self.distributions @ (1.0 - np.diag(channel.matrix))).max())

    def common_order(self) -> IntArray:
        """Return `order`.

        Raises
        ------
        ValueError
            If the distributions have no common order.
        """
        if self.order is None:
            raise ValueError("The distributions of the source set have no common order; a Class II set does.")
        return self.order


def _falling(p: FloatArray) -> IntArray:
    # Rounded, so that letters that tie keep their places.
    return np.argsort(-np.round(p, 12), kind="stable")


def _ordered(P: FloatArray) -> bool:
    return bool((np.diff(P, axis=1) <= EQUAL).all())


def as_sources(sources: SourceSet | ArrayLike) -> SourceSet:
    """Return the source set that an argument stands for."""
    return sources if isinstance(sources, SourceSet) else SourceSet(sources)  # type: ignore[arg-type]


def check_size(sources: SourceSet, letters: int) -> None:
    """Raise Intractable if a source set has more letters than these, or over `MAX_ENTRIES` probabilities."""
    if sources.letters > letters:
        raise Intractable(f"The source set has {sources.letters} letters; at most {letters} are supported.")
    if sources.distributions.size > MAX_ENTRIES:
        raise Intractable(
            f"The source set has {len(sources.distributions)} distributions on {sources.letters} letters; at"
            f" most {MAX_ENTRIES:,} probabilities are supported."
        )


def checked_distortion(distortion: float, least: float = 0.0) -> float:
    """Return a distortion as a float; ValueError if it is not inside (0, 1), or is below `least`."""
    D = as_number(distortion, "The distortion", "a number strictly between 0 and 1")
    if not 0.0 < D < 1.0:
        raise ValueError(
            f"The distortion is {D:g}; it must lie strictly between 0 (where leakage is infinite) and 1."
        )
    if least > D:
        raise ValueError(f"The distortion is {D:g}; the least that can be solved for is {least:g}.")
    return D
