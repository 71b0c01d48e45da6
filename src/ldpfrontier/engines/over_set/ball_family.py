r"""The columns that are private over the projections of an uncertainty set: products of convex bodies.

A column v is allowed if A_s(v) <= e^eps B_s'(v), with A_s and B_s the largest and the least mean of v_s over
the projection F_{U|s}: for all pairs (s, s'), or for s != s' only. As for PolyOpt (lopuhaa2024, section 5;
`polyopt`), with a Renyi ball in place of a simplex, every column is a multiple of one in a product ::

    {w : B_s(w) >= c, A_s(w) <= c e^(eps + shift)},    c = e^(-shift / 2),

over all s, with shift = delta for one special value s0 and -delta for the others, delta in [0, eps]; for all
pairs delta is 0. The family has the products of some deltas, and of every body the vertices found so far
(`products.geometry.ball_body`), polished at the duals of the day.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.products.geometry.ball_body import Body, polish
from ldpfrontier.engines.products.pricing import BlockProduct
from ldpfrontier.engines.products.settings import SETTINGS
from ldpfrontier.model.utility import Columns
from ldpfrontier.uncertainty.divergence import divergence_cost
from ldpfrontier.uncertainty.renyi_ball import RenyiBall


class BlockKey(NamedTuple):
    """A body: the sensitive value, delta, and whether the value is the special one."""

    s: int
    delta: float = 0.0
    special: bool = False

    @property
    def shift(self) -> float:
        """The number that is added to the level epsilon, in nats."""
        return self.delta if self.special else -self.delta


@dataclass(eq=False)
class BallFamily:
    """The products of bodies for every special value s0 and some deltas."""

    ball: RenyiBall
    epsilon: float  # in nats, > 0
    distinct: bool  # whether pairs s != s' only are compared
    radii: FloatArray | None = None  # (a1,), in nats: of balls that take the place of the projections
    #: Price of all of the budget, relative to e^eps - 1, from 0 to less than 1
    #: (`engines.projections.budget_multiplier`); with 0 every projection has its share for nothing.
    budget_multiplier: float = 0.0
    #: In nats: how far `price` may leave its bound above the largest reduced cost found.
    resolution: float = 0.0
    efforts: int = BlockProduct.efforts
    _bodies: dict[BlockKey, Body] = field(default_factory=dict, repr=False)
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _active: list[BlockProduct] = field(default_factory=list, repr=False)
    _round: int = 0
    _focus: tuple[FloatArray, float] | None = None  # duals and lam at which bodies to come are shortened

    def __post_init__(self) -> None:
        self._active.append(self.product(0, 0.0))
        groups = np.argsort(-self.ball.sensitive, kind="stable")[: SETTINGS.few_groups]
        few = self.ball.sensitive.size <= SETTINGS.few_groups
        shares = SETTINGS.deltas if few else SETTINGS.coarse_deltas
        self._candidates = [(int(s0), self.max_delta * share) for s0 in groups for share in shares]

    def body(self, s: int, delta: float = 0.0, special: bool = False) -> Body:
        """Return the body of a sensitive value at a delta, with the vertices found so far."""
        key = BlockKey(s, delta, special)
        if key not in self._bodies:
            self._bodies[key] = self._new_body(key)
            if self._focus is not None:
                self._shorten(key, [])
        return self._bodies[key]

    def _new_body(self, key: BlockKey) -> Body:
        """Return a new body, with its first vertices."""
        (s, delta, _), ball, shift = key, self.ball, key.shift
        p, ratio, scale = ball.sensitive[s], self.epsilon + shift, math.exp(-0.5 * shift)
        radius = float((ball.projected_radii if self.radii is None else self.radii)[s])
        # Columns with B >= 1 are scaled by e^(delta / 2) here, and the multiplier with them.
        multiplier = self.budget_multiplier * math.expm1(self.epsilon) * math.exp(0.5 * delta)
        if multiplier > 0.0:
            ratio = math.log(max(math.exp(ratio) - multiplier / scale, 1.0))
            ratio = ratio if ratio > SETTINGS.negligible else 0.0  # of constants, up to rounding
        unit = float(p / divergence_cost(ball.radius, ball.order))
        costs = multiplier * unit, multiplier * unit * math.exp(-self.epsilon)
        return Body(ball.conditionals[s], radius, ball.order, ball.centre[s], ratio, scale, costs)

    @property
    def max_delta(self) -> float:
        """The delta at which the bodies of s != s0 have shrunk to constants; beyond it they are empty."""
        return self.epsilon - math.log1p(self.budget_multiplier * math.expm1(self.epsilon))

    def keep_best(self, duals: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices at duals, (a1, a2), and those in use, of each body; return former indices.

        `used` has the vertices in use of every body of the one product that there is so far. Bodies that are
        made later are shortened at the same duals.
        """
        (product,) = self._active
        self._focus = duals, product.best_tangent(duals)[1]
        kept = [self._shorten(BlockKey(s), own) for s, own in enumerate(used)]
        product.clear_cache()
        return kept

    def _shorten(self, key: BlockKey, used: Collection[int]) -> NDArray[np.int64]:
        """Keep the best vertices of a body, `max_vertices` of them, its constants and the ones in use."""
        assert self._focus is not None
        (duals, lam), body = self._focus, self._bodies[key]
        best = body.best_indices(duals[key.s], SETTINGS.max_vertices, lam)
        return body.keep(np.union1d(best, list(used)).astype(np.int64))

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return the product of (s0, delta); at delta = 0 the same for every s0."""
        key = (s0 if delta > 0 else 0), delta
        if key not in self._products:
            bodies = [self.body(*own) for own in self._block_keys(s0, delta)]
            self._products[key] = BlockProduct(list(bodies), self.ball.centre)
        return self._products[key]

    def active(self) -> Sequence[BlockProduct]:
        """Return the products in use."""
        return self._active

    def active_blocks(self) -> Iterator[BlockKey]:
        """Yield the keys of the bodies of the products in use."""
        for (s0, delta), product in self._products.items():
            if product in self._active:
                yield from self._block_keys(s0, delta)

    def _block_keys(self, s0: int, delta: float) -> list[BlockKey]:
        """Return the bodies of the product of (s0, delta); at delta = 0 no value is special."""
        return [BlockKey(s, delta, s == s0 and delta > 0) for s in range(len(self.ball.centre))]

    def active_tangents(self, duals: FloatArray) -> Iterator[tuple[float, int, float, float]]:
        """Yield kappa, s0, delta and lam (see `BlockProduct.best_tangent`) of the products in use."""
        for (s0, delta), product in self._products.items():
            if product in self._active:
                kappa, lam = product.best_tangent(duals)
                yield kappa, s0, delta, lam

    def activate(self, s0: int, delta: float) -> bool:
        """Use a product from now on; return whether it was not in use."""
        product = self.product(s0, delta)
        new = product not in self._active
        if new:
            self._active.append(product)
        return new

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.ball.centre.ravel()

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Bound the reduced costs of the products in use, polished, and name products worth having.

        No column made of known vertices has a larger reduced cost per unit of Z. Of every special value it is
        the best product, where it has columns worth adding.
        """
        scout = self.polish(duals.reshape(self.ball.centre.shape))
        bounds = [(product.best_tangent(duals)[0], product) for product in self._active]
        most = max(kappa for kappa, _ in bounds)
        leaders: dict[int, tuple[float, BlockProduct]] = {}
        if self.distinct and scout:
            for s0, delta in self._candidates:
                product = self.product(s0, delta)
                kappa = product.best_tangent(duals)[0]
                if kappa > leaders.get(s0, (SETTINGS.negligible, product))[0]:
                    leaders[s0] = kappa, product
        self._active += [product for _, product in leaders.values() if product not in self._active]
        # Those of `activate` too: the decomposition knows which of them it has.
        new = [product for kappa, product in (*bounds, *leaders.values()) if kappa > SETTINGS.negligible]
        return max(most, *(kappa for kappa, _ in leaders.values()), -math.inf), new

    def polish(self, duals: FloatArray) -> bool:
        """Improve the vertices of the products in use at duals (a1, a2); return if letters were moved."""
        self._round += 1
        # Rounds after which other deltas are looked at.
        scout = self._round % 3 == 1
        moved = SETTINGS.polished // 2 if scout else 0
        done: set[Body] = set()
        for product in self._active:
            lam = product.best_tangent(duals.ravel())[1]
            # A body that several products share is improved for the first of them.
            own = {
                s: body
                for s, body in enumerate(product.blocks)
                if isinstance(body, Body) and body not in done
            }
            polish(list(own.values()), [duals[s] for s in own], SETTINGS.polished, moved, lam)
            done.update(own.values())
            product.clear_cache()
        return scout

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of joint columns of known vertices; offer the best ones found."""
        found = []
        for product in self._active:
            product.resolution = self.resolution
            found.append(product.price(duals, effort))
        return max(excess for excess, _ in found), Columns.join(columns for _, columns in found)


@dataclass(eq=False)
class FamilyUnion:
    """The columns of several families of one table at one level; methods as those of `BallFamily`.

    A decomposition starts with the product of all pairs of the first one.
    """

    families: Sequence[BallFamily]
    resolution: float = 0.0
    efforts: int = BlockProduct.efforts

    def __post_init__(self) -> None:
        first = self.families[0]
        self.ball, self.epsilon = first.ball, first.epsilon
        self.scale, self.product = first.scale, first.product

    def keep_best(self, duals: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices of all families, and those in use of the first one."""
        first, *others = self.families
        for family in others:
            family.keep_best(duals, [()] * len(used))
        return first.keep_best(duals, used)

    def explore(self, duals: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices of every family, and name products worth having."""
        found = [family.explore(duals, slack) for family in self.families]
        return max(excess for excess, _ in found), [product for _, new in found for product in new]

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of joint columns of known vertices; offer the best ones found."""
        found = []
        for family in self.families:
            family.resolution = self.resolution
            found.append(family.price(duals, effort))
        return max(excess for excess, _ in found), Columns.join([columns for _, columns in found])
