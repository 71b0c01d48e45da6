r"""The best mechanism that is private under every distribution of (S, U) (lopuhaa2024, section 6).

A mechanism is private for every distribution if and only if every column v is in the cone (Proposition 3) ::

    v_{s,u} <= e^eps v_{s',u'}   for all s != s' and all u, u'.

Within one s the entries may differ by e^(2 eps). Two families of columns span it (Lemma A8; E = e^eps):

- V1: E or 1/E throughout one block s, 1 in all others;
- V2: 1 or E everywhere.

With two sensitive values V1 suffices. A column of V2 with two mixed blocks is m1 a + m2 b at m1 = m2, with
a = (1 off T1, E on T2), b = (E on T1, 1 off T2) and 0 elsewhere; at the ends m1 = E m2 and m2 = E m1 of the
cone one block is constant and the other takes E and 1/E times its value. If a block of V2 is constant,
the column divided by that constant has 1 and E, or 1 and 1/E, in the other block, between columns of V1.

On tables too large for pricing all columns of V2 at once, these are priced as products of blocks
(`products.pricing`): of vertices of {1 <= w <= E}, whose letters are 1 or E.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.smoothed import generate, start_columns
from ldpfrontier.engines.listed.staircase import Staircase
from ldpfrontier.engines.products.pricing import BlockProduct
from ldpfrontier.engines.products.product_optimum import allowed_level, block_product, over_products
from ldpfrontier.engines.products.settings import SETTINGS as PRODUCTS
from ldpfrontier.engines.registry import LIMITS, Call, Regime, choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy, excess, relative_excess
from ldpfrontier.model.mechanisms import secret_randomized_response
from ldpfrontier.model.optimum import (
    Optimum,
    certified,
    check_start,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.privacy import unconditional_epsilon
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.arguments import as_count, as_distribution, as_instance, as_number
from ldpfrontier.numerics.rounding import EXCESS, column_value, gamma, normalization
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.promises.closed_forms import best_closed_form, solved_in_time
from ldpfrontier.promises.settings import SETTINGS

_MECHANISMS = "mechanisms private under every distribution"


@records_fallbacks
@keeps_time_limit
def optimal_unconditional(
    prior: ArrayLike,
    epsilon: float,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the best (eps, P_X)-RLDP mechanism for the mutual information, with a certificate.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        The distribution of (S, U) under which I(X;Y) is measured; rows are the sensitive values. The
        privacy does not depend on it.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 30.
    tolerance : float
        Relative gap at which to stop, 0 or more.
    max_rounds : int
        Most LPs over joint columns to solve; when they are used up the result has status "bounded". On tables
        of more than 20 cells and more than two sensitive values, at most 2e8 divided by the cube of the
        number of cells.
    start : Channel, optional
        A mechanism that is private under every distribution at this epsilon, whose columns are among the
        first, so that the result does at least as well. Of no use, and only its size is checked, at epsilon 0
        and for one sensitive value.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; at most a1 a2 outputs (lopuhaa2024, proof of Theorem 4).

    Raises
    ------
    Intractable
        If a2 > 20: all subsets of a block are priced; or if the table has more than 1000 cells.
    ValueError
        If the prior is not a two-dimensional distribution, a number is out of range, or `start` has another
        number of inputs or is less private.
    """
    joint = _table(prior)
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    max_rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    if start is not None:
        as_instance(start, Channel, "The start")
    check_start(start, joint.size)
    utility = MutualInformation(joint)
    if joint.shape[0] == 1:
        # Nothing to hide, and no constraint.
        identity = Channel(np.eye(joint.size))
        method = choose("closed form").method(_MECHANISMS)
        return certified(identity, utility(identity), entropy(joint), tolerance, method=method)
    if epsilon == 0:
        return uninformative(joint.size, method=choose("closed form").method(_MECHANISMS))
    if start is not None:
        _check_level(start, joint.shape, epsilon)
    if joint.size > SETTINGS.max_cells and not _columns_are_listed(joint.shape):
        raise Intractable(
            f"The table has {joint.shape[0]} x {joint.shape[1]} cells; at most {SETTINGS.max_cells:,} are"
            " supported."
        )

    method = _regime(joint.shape).method(_MECHANISMS)
    optimum = solved_in_time(
        lambda: _solve(joint, epsilon, tolerance, max_rounds, start),
        lambda channel: _check_level(channel, joint.shape, epsilon),
        "Column generation for unconditional privacy",
    )
    if optimum is None:
        found = best_closed_form(joint, epsilon, start, tolerance, secret=True)
        return replace(found, method=choose("any robust").method(_MECHANISMS))
    if not _columns_are_listed(joint.shape):
        bound = optimum.upper_bound + SETTINGS.bound_noise
    else:
        of_values = gamma(column_value(epsilon) + 2.0 * joint.size) + 2.0 * normalization(joint)
        bound = optimum.upper_bound * (1.0 + of_values)
    value = utility(optimum.channel)
    return certified(optimum.channel, value, bound, tolerance, optimum.iterations, method=method)


def _check_level(channel: Channel, shape: tuple[int, ...], epsilon: float) -> None:
    """Raise a ValueError unless a mechanism is private under every distribution."""
    level = unconditional_epsilon(channel, (shape[0], shape[1]))
    if level > allowed_level(epsilon) + PRODUCTS.level_rounding:
        raise ValueError(
            f"The start is private at level {level:.9g} under every distribution; epsilon is {epsilon:.9g}."
        )


def _regime(shape: tuple[int, ...]) -> Regime:
    """Return the entry of the registry that serves a table of a shape (a1, a2)."""
    return choose("unconditional", Call(math.prod(shape), sensitive=shape[0]))


def _columns_are_listed(shape: tuple[int, ...]) -> bool:
    """Tell whether the columns of Lemma A8 are few enough to be listed: V1 alone, or all subsets of cells."""
    return _regime(shape).name == "listed"


def _solve(
    joint: FloatArray, epsilon: float, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum:
    """Generate columns of Lemma A8, priced all at once, or as products where they are too many."""
    if not _columns_are_listed(joint.shape):
        product = block_product(np.zeros_like(joint), joint, epsilon)
        products = Unconditional(joint, epsilon, raised=True, product=product, efforts=product.efforts)
        known = [secret_randomized_response(joint.shape[0], joint.shape[1], epsilon)]
        return over_products(
            product,
            products,
            products.explore,
            epsilon,
            known if start is None else [*known, start],
            tolerance=tolerance,
            max_rounds=min(max_rounds, max(200_000_000 // joint.size**3, 1)),  # some ten minutes
        )
    family, utility = Unconditional(joint, epsilon, raised=True), MutualInformation(joint)
    columns = Columns.join([utility.columns(family.secret_response), *start_columns(start, utility)])
    return generate(family, columns, utility, tolerance=tolerance, max_rounds=max_rounds)


def response_excess(prior: ArrayLike, epsilon: float) -> float:
    """Return the largest reduced cost of a column at the duals of secret randomized response, in nats.

    The columns of the response are linearly independent, so its duals are unique, and it is optimal if and
    only if no column has a positive reduced cost at them. If one has, I of the response plus the largest one
    is at least the optimum.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        With a1 >= 2.
    epsilon : float
        Nats, 0.001 to 30.

    Returns
    -------
    float
        The largest reduced cost; at most about 1e-12 H(X) if the response is optimal.

    Raises
    ------
    Intractable
        If a1 >= 3 and a1 a2 > 20, or a2 > 20: all subsets of the cells, or of one block, are priced.
    ValueError
        As `optimal_unconditional`.
    """
    return _response_excess(_table(prior), checked_epsilon(epsilon, SETTINGS.max_epsilon))


def _response_excess(joint: FloatArray, epsilon: float) -> float:
    """Return the excess of `response_excess`, at any level above 0."""
    family = Unconditional(joint, epsilon)
    return family.price(family.response_duals, 0)[0]


def response_threshold(
    prior: ArrayLike, *, accuracy: float = 1e-4, step: float = 0.25, largest: float = 20.0
) -> tuple[float, float]:
    """Bracket the smallest eps from which secret randomized response is optimal (lopuhaa2024, Theorem 4).

    Optimality is decided exactly at every eps looked at. These are `largest` and lower ones, `step` apart,
    down to the first at which the response is not optimal; bisection follows.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
    accuracy : float
        Width of the bracket, nats; 1e-9 or more.
    step : float
        Distance of the first scan, 0.001 or more: an interval of non-optimality shorter than this may be
        missed.
    largest : float
        Where the scan starts, at most 30.

    Returns
    -------
    low, high : float
        The response is not optimal at `low` and optimal at `high`; (0, `high`) with `high` below `accuracy`
        if it is optimal at all levels, (`largest`, inf) if it is not even at `largest`. The latter is
        the rule if a cell is empty, as the response spends an output on it: Theorem 4 needs P > 0. It is also
        so for a1 = 1, where the identity is optimal, and the response with a2 > 1 is not the identity.

    Raises
    ------
    Intractable, ValueError
        As `response_excess`.
    """
    joint = _table(prior)
    accuracy = as_number(accuracy, "accuracy", "1e-9 or more, in nats", least=1e-9)
    step = as_number(step, "step", "0.001 or more, in nats", least=1e-3)
    largest = as_number(
        largest,
        "largest",
        f"0 or more, and at most {SETTINGS.max_epsilon:g}",
        least=0.0,
        most=SETTINGS.max_epsilon,
    )
    if joint.size == 1:
        return 0.0, 0.0
    if joint.shape[0] == 1:
        return largest, math.inf
    h = entropy(joint)

    def optimal(epsilon: float) -> bool:
        # Reduced cost, relative to H(X), that counts as positive. What the response loses when it is not
        # optimal decays as e^-eps, so a threshold is looked for up to 20 nats only, where the loss is still
        # 1e-9.
        return _response_excess(joint, epsilon) <= 1e-11 * h

    high = largest
    if not optimal(high):
        return largest, math.inf
    while high > step and optimal(high - step):
        high -= step
    low = max(high - step, 0.0)
    while high - low > accuracy:
        middle = (low + high) / 2.0
        low, high = (low, middle) if optimal(middle) else (middle, high)
    return low, high


@dataclass(frozen=True, eq=False)
class Unconditional:
    """The columns of Lemma A8, priced all at once by subset sums.

    Intractable is raised if a1 >= 3 and a1 a2 > 20 without a product, or a2 > 20.
    """

    prior: FloatArray  # (a1, a2), with a1 >= 2
    epsilon: float  # in nats, > 0
    raised: bool = False  # whether reduced costs are raised by the rounding of their evaluation
    product: BlockProduct | None = None  # the columns of V2, where they are too many to list
    efforts: int = 1

    def __post_init__(self) -> None:
        a1, a2 = self.prior.shape
        cells = a2 if a1 == 2 or self.product is not None else a1 * a2
        if cells > LIMITS.max_listed_inputs:
            raise Intractable(
                f"The table is {a1} x {a2}: all subsets of {cells} cells would be priced; at most"
                f" {LIMITS.max_listed_inputs} are supported."
            )

    @cached_property
    def _everywhere(self) -> Staircase | BlockProduct | None:
        """The columns of V2, and with them some of V1."""
        if self.product is not None or self.prior.shape[0] == 2:
            return self.product
        return Staircase(MutualInformation(self.prior), self.epsilon)

    @cached_property
    def scale(self) -> FloatArray:
        """The prior, row-major, shape (a1 a2,)."""
        return self.prior.ravel()

    @cached_property
    def secret_response(self) -> FloatArray:
        """The columns of secret randomized response, shape (a1 a2, a1 a2): those of V1 with a single E."""
        a1, a2 = self.prior.shape
        columns = np.where(np.kron(np.eye(a1), np.ones((a2, a2))) > 0, math.exp(-self.epsilon), 1.0)
        np.fill_diagonal(columns, math.exp(self.epsilon))
        return np.asarray(columns)

    @cached_property
    def response_duals(self) -> FloatArray:
        """The duals at which the columns of secret randomized response have reduced cost 0."""
        columns = MutualInformation(self.prior).columns(self.secret_response)
        return np.asarray(np.linalg.solve(columns.vectors, columns.values))

    @cached_property
    def _blocks(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Z, mu / Z and the operations times size of mu / Z, for columns of V1, shape (a1, 2^a2)."""
        inside = np.array([subset_sums(row) for row in self.prior])
        outside = self.prior.sum(axis=1, keepdims=True) - inside
        rise, fall, top = math.expm1(self.epsilon), math.expm1(-self.epsilon), math.exp(self.epsilon)
        apart, z = rise * inside + fall * outside, _others(self.prior) + top * inside + outside / top
        gain, less = excess(rise) * inside + excess(fall) * outside, relative_excess(apart)
        weighted, product = self.epsilon * np.stack([top * inside, outside / top]), xlogy(z, z)
        near = np.abs(apart) < 0.5
        values = np.where(near, gain - less, weighted[0] - weighted[1] - product)
        sizes = np.where(
            near,
            EXCESS * (gain + less),
            (16.0 + 2.0 * self.prior.shape[1]) * (weighted.sum(axis=0) + np.abs(product)),
        )
        return z, values / z, sizes / z

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs for a `Decomposition` of the product."""
        assert self.product is not None, "Decomposed is the product."
        return max(self.product.best_tangent(duals)[0], self._price_blocks(duals)[0]), []

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all columns, exactly without a product; return the best columns."""
        largest, columns = self._price_blocks(duals)
        if self._everywhere is None:
            return largest, columns
        other, more = self._everywhere.price(duals, effort)
        return max(largest, other + self._sum_error(duals)), Columns.join([columns, more])

    def _sum_error(self, duals: FloatArray) -> float:
        """Return by how much the sum of duals, and prices at them, are raised for rounding."""
        if not self.raised:
            return 0.0
        size, operations = float(np.abs(duals).sum()), 2.0 * duals.size + 16.0
        return gamma(operations) * size + max(math.fsum(duals.ravel()) - float(duals.sum()), 0.0)

    def _price_blocks(self, duals: FloatArray) -> tuple[float, Columns]:
        """Return the largest reduced cost over all columns of V1, and the best ones."""
        a1, a2 = self.prior.shape
        z, values, sizes = self._blocks
        table = duals.reshape(a1, a2)
        inside = np.array([subset_sums(row) for row in table])
        outside = table.sum(axis=1, keepdims=True) - inside
        top = math.exp(self.epsilon)
        cost = _others(table) + top * inside + outside / top
        reduced = values - cost / z
        best = np.argsort(-reduced, axis=None, kind="stable")[: GENERATION.batch]
        columns = MutualInformation(self.prior).columns(self._vectors(*np.unravel_index(best, reduced.shape)))
        raised = float((reduced + gamma(1) * sizes).max()) if self.raised else float(reduced.max())
        return raised + self._sum_error(duals), columns

    def _vectors(self, blocks: NDArray[np.intp], subsets: NDArray[np.intp]) -> FloatArray:
        """Return columns of V1 by their block s and its subset of letters with E, shape (n, a1 a2)."""
        a1, a2 = self.prior.shape
        vectors = np.ones((len(blocks), a1, a2))
        inside = subsets[:, None] >> np.arange(a2) & 1
        vectors[np.arange(len(blocks)), blocks] = np.exp(np.where(inside == 1, self.epsilon, -self.epsilon))
        return vectors.reshape(len(blocks), -1)


def _others(table: FloatArray) -> FloatArray:
    """Return the sum over the rows other than s, for every s, shape (a1, 1), none as a difference."""
    rows = table.sum(axis=1)
    return np.asarray(np.where(np.eye(len(rows), dtype=bool), 0.0, rows).sum(axis=1, keepdims=True))


def _table(prior: ArrayLike) -> FloatArray:
    """Return a distribution of (S, U), checked."""
    joint = as_distribution(prior, "The prior")
    if joint.ndim != 2:
        raise ValueError(f"The prior has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    return joint
