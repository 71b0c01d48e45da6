r"""Convex cones of columns: what a mechanism promises, as an argument of `optimal_mechanism`.

The columns of a channel are the vectors v = (Q[x, y])_x, one for each output y. A promise of privacy that is
made output by output allows the columns of a convex cone that contains the constant column, and a mechanism
keeps it if and only if all its columns are in that cone. Two promises are kept by the mechanisms whose
columns are in both cones: ``a & b``.

Most notions of local privacy are finitely many inequalities, B v <= 0 (`PolyhedralCone`). Those of an
uncertainty set are infinitely many (`ldpfrontier.engines.joint.separation`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.comparisons import ROUNDING, Comparisons
from ldpfrontier.model.optimum import checked_epsilon
from ldpfrontier.numerics.arguments import as_count, as_numbers, check_choice, excerpt
from ldpfrontier.numerics.rounding import gamma

#: Most inputs of a cone that is made here: its inequalities are as many as pairs of these.
_MOST_INPUTS = 1_000
_SIZES = f"a whole number, 1 to {_MOST_INPUTS:,}"
#: By how much a column that was found may violate a cut of its cone, relative to the size of both.
OUTSIDE = 1e-9
#: Share of a conditional level that is left to rounding.
_LEVEL_MARGIN = 1e-12


@runtime_checkable
class Cone(Protocol):
    """A convex cone of columns v >= 0 that contains the constant column.

    An engine knows it by cuts, inequalities a . v <= 0 that hold for the whole cone.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values, with the inputs in row-major order; (1, inputs) if none."""

    @property
    def inequalities(self) -> FloatArray:
        """Cuts to begin with, shape (m, inputs), which are never forgotten."""

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return cuts that columns, (m, inputs), violate or nearly do, shape (m, any, inputs).

        They may be nearly the most violated ones, at less cost, unless the exact ones are asked for.
        """

    def constant_slack(self, cuts: FloatArray) -> FloatArray | float:
        """Return the slack -a . 1 >= 0 of cuts (..., inputs) at the constant column."""

    @property
    def least_constant_slack(self) -> float:
        """A lower bound on the slack -a . 1 of all cuts a, scaled such that the largest absolute entry is 1.

        At 0, where columns cannot be moved inside by mixing, branch and bound is refused. Otherwise it says
        which violations linear programs may ignore: a larger number than is true leaves a gap, a smaller one
        takes more programs, and the bound holds in any case.
        """

    @property
    def cuts_kept(self) -> int:
        """Cuts that programs keep before unused ones are forgotten, or 0: as many as the engine keeps."""

    def violation(self, columns: FloatArray) -> float:
        """Return the largest a . v of cuts a and columns v, (m, inputs), relative to their sizes, or 0."""

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return columns, (m, inputs), moved closer to the cone where that is easily done."""

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return columns, (m, inputs), moved into the cone, and the cuts met on the way, (any, inputs)."""

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return upper bounds on the entries of columns v with scale . v = 1, (inputs,); inf is allowed."""


def check_cone(value: Any) -> None:
    """Refuse an argument that is no cone of columns."""
    if not isinstance(value, Cone):
        raise ValueError(f"The cone is a {type(value).__name__}; it must be a PolyhedralCone or a Cone.")


def check_inside(cone: Cone, channel: Channel) -> None:
    """Check that the columns of a channel that was found for a cone are in it, by what the cone says itself.

    ArithmeticError if a column violates an inequality or a cut.
    """
    if (outside := cone.violation(channel.matrix.T)) > OUTSIDE:
        raise ArithmeticError(
            f"A column of the mechanism that was found violates a cut of the cone by {outside:.3g} of its"
            " size; the methods of the cone contradict each other."
        )


class BaseCone:
    """What most cones have in common, the intersection ``a & b`` among it.

    A cone of one's own adds `shape`, `inequalities`, `separate`, `pull` and `least_constant_slack`.
    """

    @property
    def cuts_kept(self) -> int:
        """Return 0: linear programs keep as many cuts as the engine does."""
        return 0

    def constant_slack(self, cuts: FloatArray) -> FloatArray | float:
        """Return the slack -a . 1 of cuts (..., inputs) at the constant column, shape (...)."""
        return np.asarray(-cuts.sum(axis=-1))

    def violation(self, columns: FloatArray) -> float:
        """Return the largest a . v of inequalities and cuts a over columns v, (m, inputs), or 0.

        It is divided by max |a| max v.
        """
        assert isinstance(self, Cone)
        most = columns.max(axis=1, keepdims=True)
        known, cuts = self.inequalities, self.separate(columns, exact=True)
        of_known = (columns @ known.T) / np.maximum(np.abs(known).max(axis=1) * most, 1e-300)
        sizes = np.maximum(np.abs(cuts).max(axis=2) * most, 1e-300)
        of_cuts = np.einsum("mkx,mx->mk", cuts, columns) / sizes
        return max(float(of_known.max(initial=0.0)), float(of_cuts.max(initial=0.0)))

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return the columns as they are."""
        return columns

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return 1 / scale, (inputs,): the engine's programs lower these bounds."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / scale * (1.0 + gamma(4)))

    def __and__(self, other: Cone) -> Cone:
        """Return the cone of the columns that are in both, which must have the same number of inputs."""
        if not (isinstance(self, Cone) and isinstance(other, Cone)):
            return NotImplemented
        inputs = math.prod(self.shape), math.prod(other.shape)
        if inputs[0] != inputs[1]:
            raise ValueError("The cones have {} and {} inputs; they must have equally many.".format(*inputs))
        if isinstance(self, PolyhedralCone) and isinstance(other, PolyhedralCone):
            shape = max(self.shape, other.shape)  # (1, inputs) is no table
            return PolyhedralCone(np.vstack([self.inequalities, other.inequalities]), shape)
        return Intersection(self, other)


@dataclass(frozen=True, eq=False)
class PolyhedralCone(BaseCone):
    """The columns v >= 0 with B v <= 0.

    Parameters
    ----------
    inequalities : array_like, shape (m, inputs)
        The rows of B. None may exclude the constant column: their sums are 0 or less.
    table : (int, int), optional
        Numbers of sensitive and useful values, if the inputs are pairs of these in row-major order.

    Raises
    ------
    ValueError
        If an entry is not a finite number, a row excludes the constant column, or the table has another
        number of cells.

    Examples
    --------
    Local differential privacy of three inputs, v_x <= e^eps v_x':

    >>> import numpy as np
    >>> from ldpfrontier import PolyhedralCone
    >>> pairs, unit = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)], np.eye(3)
    >>> rows = [unit[x] - np.e * unit[y] for x, y in pairs]
    >>> PolyhedralCone(rows).shape
    (1, 3)
    """

    inequalities: FloatArray
    table: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        rows = as_numbers(self.inequalities, "The inequalities")
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise ValueError(
                f"The inequalities have the shape {rows.shape}; they must be a matrix with a row for each of"
                " them and a column for each input."
            )
        if not np.isfinite(rows).all():
            raise ValueError("The inequalities have an entry that is not a finite number.")
        sizes, sums = np.abs(rows).sum(axis=1), rows.sum(axis=1)
        if (sums > ROUNDING * sizes).any():
            row = int((sums - ROUNDING * sizes).argmax())
            raise ValueError(
                f"Row {row} of the inequalities is {sums[row]:.6g} at the constant column; it must be 0 or"
                " less, as the mechanism that tells nothing has constant columns and keeps every promise."
            )
        object.__setattr__(self, "inequalities", np.ascontiguousarray(rows[sizes > 0]))
        if self.table is not None:
            object.__setattr__(self, "table", _checked_shape(self.table, "The table"))
        if self.table is not None and math.prod(self.table) != rows.shape[1]:
            raise ValueError(
                f"The table has {self.table[0]} x {self.table[1]} cells; it must have as many as inputs,"
                f" {rows.shape[1]}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values, or (1, inputs)."""
        return self.table or (1, self.inequalities.shape[1])

    @cached_property
    def comparisons(self) -> Comparisons:
        """The inequalities as sums that are compared in groups."""
        return Comparisons.of(self.inequalities)

    def violation(self, columns: FloatArray) -> float:
        """Return the largest b . v of rows b of B, divided by its magnitudes, over columns (m, inputs)."""
        most, least = self.comparisons.sums(columns)
        values, sizes = most - least, most + least
        return float(np.divide(values, sizes, out=np.zeros_like(values), where=sizes > 0).max(initial=0.0))

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return no cuts: all are known from the beginning, shape (m, 0, inputs)."""
        return np.zeros((len(columns), 0, columns.shape[1]))

    @cached_property
    def least_constant_slack(self) -> float:
        """The least slack of the inequalities at the constant column, as a share of their coefficients."""
        rows = self.inequalities
        return max(float((-rows.sum(axis=1) / np.abs(rows).max(axis=1)).min(initial=1.0)), 0.0)

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mix columns with the constant one, no more than needed; there are no cuts to return."""
        share = self.comparisons.shares_of_constant(columns)[:, None]
        mean = columns.mean(axis=1, keepdims=True)
        return (1.0 - share) * columns + share * mean, np.zeros((0, columns.shape[1]))

    def mix_inside(self, channel: Channel) -> Channel:
        """Mix a channel with one that tells nothing, no more than needed for all its columns to be inside."""
        columns = channel.matrix.T
        share = float(self.comparisons.shares_of_constant(columns).max(initial=0.0))
        return Channel(((1.0 - share) * columns + share * columns.mean(axis=1, keepdims=True)).T)


@dataclass(frozen=True, eq=False)
class ConditionalCone(PolyhedralCone):
    """The columns of `conditional_cone`, with their level in nats.

    Raising every v_{t,u} to e^-k max_s v_{s,u} moves a column into it, which costs less utility than mixing
    with the constant column, and is possible at the level 0, too; mixing keeps it there.
    """

    level: float = math.inf

    @classmethod
    def of_level(cls, shape: tuple[int, int], level: float) -> ConditionalCone:
        """Return the cone of a level of 0 or more, in nats, however low."""
        ratio = max(math.nextafter(math.exp(level), 0.0), 1.0)
        rows = _table_inequalities(shape, ratio, lambda s, u, t, w: s != t and u == w)
        return cls(rows, shape, level)

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return columns, (m, inputs), with entries raised until they are inside."""
        return raised_to_level(columns, self.shape, self.level)

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns raised; there are no cuts to return."""
        return self.raised(columns), np.zeros((0, columns.shape[1]))


def raised_to_level(columns: FloatArray, shape: tuple[int, int], epsilon: float) -> FloatArray:
    """Return columns, (m, a1 a2), with entries raised until v_{s,u} <= e^epsilon v_{t,u} everywhere."""
    blocks = columns.reshape(-1, *shape)
    factor = math.exp(-epsilon * (1.0 - _LEVEL_MARGIN))
    least = factor * blocks.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(blocks, least).reshape(columns.shape))


@dataclass(frozen=True, eq=False)
class Intersection(BaseCone):
    """The columns that are in two cones; attributes and methods as of `Cone`."""

    first: Cone
    second: Cone

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values, or (1, inputs)."""
        return max(self.first.shape, self.second.shape)

    @cached_property
    def inequalities(self) -> FloatArray:
        """Those of both cones, shape (m, inputs)."""
        return np.vstack([self.first.inequalities, self.second.inequalities])

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        """Return the cuts of both, shape (m, any, inputs)."""
        parts = [cone.separate(columns, exact=exact) for cone in (self.first, self.second)]
        return np.concatenate(parts, axis=1)

    @property
    def least_constant_slack(self) -> float:
        """The smaller one of both cones; a conditional level needs none, as columns are raised to meet it."""
        cones = (self.first, self.second)
        slacks = [cone.least_constant_slack for cone in cones if not isinstance(cone, ConditionalCone)]
        return min(slacks, default=0.0)

    @property
    def cuts_kept(self) -> int:
        """The sum of both, or 0 if one of them says 0."""
        first, second = self.first.cuts_kept, self.second.cuts_kept
        return first + second if first and second else 0

    def raised(self, columns: FloatArray) -> FloatArray:
        """Return columns moved closer to the first cone, then to the second."""
        return self.second.raised(self.first.raised(columns))

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Move columns into both cones: in turns, as each moves them towards the constant column."""
        inside, cuts = self.raised(columns), list[FloatArray]()
        for step, cone in enumerate((self.first, self.second, self.first)):
            before = inside
            inside, found = cone.pull(before)
            cuts.append(found)
            if step > 0 and np.array_equal(inside, before):
                break
        return inside, np.concatenate(cuts)

    def entry_bounds(self, scale: FloatArray) -> FloatArray:
        """Return the smaller bounds, (inputs,)."""
        return np.minimum(self.first.entry_bounds(scale), self.second.entry_bounds(scale))


def _ratios(pairs: list[tuple[int, int]], inputs: int, factor: Callable[[int, int], float]) -> FloatArray:
    """Return the inequalities v_x <= factor(x, y) v_y of pairs (x, y), shape (pairs, inputs)."""
    rows = np.zeros((len(pairs), inputs))
    for row, (x, y) in zip(rows, pairs, strict=True):
        row[x], row[y] = 1.0, -factor(x, y)
    return rows


def local_cone(inputs: int, epsilon: float) -> PolyhedralCone:
    """Return the columns of epsilon-LDP, v_x <= e^eps v_x' (kairouz2016, (1)).

    Parameters
    ----------
    inputs : int
    epsilon : float
        Level in nats, 0, or 0.001 to 300.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    inputs, ratio = as_count(inputs, "inputs", _SIZES, least=1, most=_MOST_INPUTS), _ratio(epsilon)
    return PolyhedralCone(_ratios(list(itertools.permutations(range(inputs), 2)), inputs, lambda x, y: ratio))


def conditional_cone(shape: tuple[int, int], epsilon: float) -> PolyhedralCone:
    """Return the columns that protect S from insiders, who know U: v_{s,u} <= e^eps v_{s',u}.

    That is local label differential privacy, with S as the label.

    Parameters
    ----------
    shape : (int, int)
        Numbers of sensitive and useful values.
    epsilon : float
        Level in nats, 0, or 0.001 to 300.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    _ratio(epsilon)
    return ConditionalCone.of_level(_checked_shape(shape, "The shape"), float(epsilon))


def unconditional_cone(shape: tuple[int, int], epsilon: float) -> PolyhedralCone:
    """Return the columns that protect S under every distribution: v_{s,u} <= e^eps v_{s',u'} for s != s'.

    The condition is lopuhaa2024, Proposition 3; arguments are those of `conditional_cone`.
    """
    shape, ratio = _checked_shape(shape, "The shape"), _ratio(epsilon)
    return PolyhedralCone(_table_inequalities(shape, ratio, lambda s, u, t, w: s != t), shape)


def _checked_shape(shape: Any, name: str) -> tuple[int, int]:
    """Return the numbers of sensitive and useful values, two from 1 to the most cells of a table."""
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise ValueError(
            f"{name} is {excerpt(shape)}; it must be two whole numbers, of sensitive and useful values."
        )
    a1, a2 = (as_count(size, name, _SIZES, least=1, most=_MOST_INPUTS) for size in shape)
    return a1, a2


def _table_inequalities(
    shape: tuple[int, int], ratio: float, compared: Callable[[int, int, int, int], bool]
) -> FloatArray:
    """Return v_{s,u} <= ratio v_{t,w} of the compared (s, u, t, w), shape (pairs, a1 a2)."""
    cells = list(itertools.product(range(shape[0]), range(shape[1])))
    pairs = [
        (x, y) for x, y in itertools.product(range(len(cells)), repeat=2) if compared(*cells[x], *cells[y])
    ]
    return _ratios(pairs, len(cells), lambda x, y: ratio).reshape(-1, len(cells))


def polyopt_cone(lower: ArrayLike, epsilon: float, *, pairs: str = "all") -> PolyhedralCone:
    """Return the columns of PolyOpt, A_s(v) <= e^eps B_s'(v) (lopuhaa2024, Definition 3).

    Parameters
    ----------
    lower : array_like, shape (a1, a2)
        L_{u|s}, such as `RenyiBall.lower_bounds`.
    epsilon : float
        Level in nats, 0, or 0.001 to 300.
    pairs : {"all", "distinct"}
        Whether s is also compared with itself, as published, or with other values only.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    L, ratio = as_numbers(lower, "The lower bounds"), _ratio(epsilon)
    if L.ndim != 2 or 0 in L.shape or not ((L >= 0).all() and (L.sum(axis=1) <= 1.0 + 1e-9).all()):
        raise ValueError(
            "The lower bounds must be a matrix of numbers, 0 or more, with row sums of at most 1."
        )
    check_choice(pairs, "pairs", ("all", "distinct"))
    a1, a2 = L.shape
    # The vertices of the simplex around F_{U|s}.
    vertices = L[:, None, :] + np.maximum(1.0 - L.sum(axis=1), 0.0)[:, None, None] * np.eye(a2)
    rows = [
        _compared(vertices[s][u], s, ratio * vertices[t][w], t, a1)
        for s, t in itertools.product(range(a1), repeat=2)
        if s != t or pairs == "all"
        for u, w in itertools.product(range(a2), repeat=2)
        if s != t or u != w
    ]
    return PolyhedralCone(np.array(rows).reshape(-1, a1 * a2), (a1, a2))


def _compared(larger: FloatArray, s: int, smaller: FloatArray, t: int, a1: int) -> FloatArray:
    """Return the inequality larger . v_s <= smaller . v_t, shape (a1 a2,)."""
    row = np.zeros((a1, larger.size))
    row[s] += larger
    row[t] -= smaller
    return row.ravel()


def _ratio(epsilon: float) -> float:
    """Return e^epsilon, rounded down such that no column of a cone has a higher level."""
    level = checked_epsilon(epsilon)
    return math.nextafter(math.exp(level), 0.0) if level > 0.0 else 1.0
