r"""Products of bodies: the columns that are private over the exact projections of the uncertainty set.

A column v is allowed if A_s(v) <= e^eps B_s'(v), A_s and B_s the largest and the least mean of v_s over the
projection F_{U|s}: for all pairs (s, s'), or for s != s' only. The columns are products of blocks as for
PolyOpt (`polyopt`), of convex bodies (`bodies`) instead of polytopes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.optimal.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.optimal.geometry.ball_body import Body, polish
from ldpfrontier.optimal.products.pricing import BlockProduct
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.divergence import budget
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns

#: Deltas of distinct pairs, as parts of epsilon, with up to FEW sensitive values and with more; most special
#: values of more, the most probable first.
DELTAS, FEW_DELTAS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0), (0.25, 0.5, 1.0)
FEW, SPECIAL = 3, 3

#: Best vertices of a body that are improved in a round, and those of them whose letters are moved, on every
#: SCOUT-th round.
POLISHED, MOVED, SCOUT = 12, 6, 3

#: Vertices kept of a body whose list is long.
KEPT = 1_000

#: Level of a body up to which it has no more than constants.
NARROW = 1e-9

#: Least excess that a product is used for.
LITTLE = 1e-9

#: A sensitive value, a delta, and whether the value is special there.
Key = tuple[int, float, bool]


def level(key: Key) -> float:
    """Return how much more than epsilon the ends of A and B of a body are apart; e^(-level / 2) is B's."""
    _, delta, special = key
    return delta if special else -delta


@dataclass(eq=False)
class BallFamily:
    """The products of bodies, for every special value s0 and some deltas (see `polyopt`).

    Parameters
    ----------
    ball : RenyiBall
    epsilon : float
        In nats, > 0.
    distinct : bool
        Whether pairs s != s' only are compared.
    share : float
        Share of the budget of F that every projection gets: 1 for the projections themselves. At 1/2 any two
        groups can have theirs at once, so every (eps, F)-RLDP mechanism is in the class of distinct pairs.
    budget_multiplier : float
        Price of all of the budget, relative to e^eps - 1, from 0 to less than 1. With 0 every projection has
        its share for nothing.
    resolution : float
        In nats: how far `price` may leave its bound above the largest reduced cost found.
    """

    ball: RenyiBall
    epsilon: float
    distinct: bool
    share: float = 1.0
    budget_multiplier: float = 0.0
    resolution: float = 0.0
    efforts: int = BlockProduct.efforts
    _bodies: dict[Key, Body] = field(default_factory=dict, repr=False)
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _active: list[BlockProduct] = field(default_factory=list, repr=False)
    _round: int = 0
    _focus: tuple[FloatArray, float] | None = None

    def __post_init__(self) -> None:
        self._active.append(self.product(0, 0.0))
        small = self.ball.sensitive.size <= FEW
        groups = np.argsort(-self.ball.sensitive, kind="stable")
        self._others = [
            (int(s0), self.widest * part)
            for s0 in (groups if small else groups[:SPECIAL])
            for part in (DELTAS if small else FEW_DELTAS)
        ]

    def body(self, key: Key) -> Body:
        """Return the body of one group at one delta."""
        if key not in self._bodies:
            self._bodies[key] = self._made(key)
            if self._focus is not None:
                self._shorten(key, [])
        return self._bodies[key]

    def _made(self, key: Key) -> Body:
        """Make a body. Columns of a product are those of which B is at least 1, times e^(delta / 2)."""
        (s, delta, _), ball = key, self.ball
        p, ratio, scale = ball.sensitive[s], self.epsilon + level(key), math.exp(-0.5 * level(key))
        radius = float(ball.radius_at(np.array(self.share), p))
        toll = self.budget_multiplier * math.expm1(self.epsilon) * math.exp(0.5 * delta)
        if toll > 0.0:
            ratio = math.log(max(math.exp(ratio) - toll / scale, 1.0))
            ratio = ratio if ratio > NARROW else 0.0  # of constants, up to rounding
        unit = float(p / budget(ball.radius, ball.order))
        tolls = toll * unit, toll * unit * math.exp(-self.epsilon)
        return Body(ball.conditionals[s], radius, ball.order, ball.centre[s], ratio, scale, tolls)

    @property
    def widest(self) -> float:
        """The largest delta at which all bodies are more than constants, or are just that."""
        return self.epsilon - math.log1p(self.budget_multiplier * math.expm1(self.epsilon))

    def keep_best(self, prices: FloatArray, used: Sequence[Collection[int]]) -> list[NDArray[np.int64]]:
        """Keep the best vertices at some prices from now on, of bodies to come, too, and those that are used.

        Parameters
        ----------
        prices : ndarray, shape (a1, a2)
        used : sequence of collections of int
            Vertices of every body of the product of all pairs, the only one so far.

        Returns
        -------
        list of ndarray of int
            The former indices of those that are kept.
        """
        (product,) = self._active
        self._focus = prices, product.best_tangent(prices)[1]
        kept = [self._shorten((s, 0.0, False), own) for s, own in enumerate(used)]
        product.clear_cache()
        return kept

    def _shorten(self, key: Key, used: Collection[int]) -> NDArray[np.int64]:
        assert self._focus is not None
        prices, tilt = self._focus
        body = self._bodies[key]
        return body.keep(np.union1d(body.leading(prices[key[0]], KEPT, tilt), list(used)).astype(np.int64))

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return the product of (s0, delta); at delta = 0 the same for every s0."""
        key = (s0 if delta > 0 else 0), delta
        if key not in self._products:
            bodies = [self.body(member) for member in self.members(s0, delta)]
            self._products[key] = BlockProduct(list(bodies), self.ball.centre)
        return self._products[key]

    def members(self, s0: int, delta: float) -> list[Key]:
        """List the bodies of a product."""
        return [(s, delta, s == s0 and delta > 0.0) for s in range(len(self.ball.centre))]

    def active(self) -> Sequence[BlockProduct]:
        """Return the products in use."""
        return self._active

    def active_blocks(self) -> Iterator[Key]:
        """List the keys of the bodies of the products in use."""
        for (s0, delta), product in self._products.items():
            if product in self._active:
                yield from self.members(s0, delta)

    def active_tangents(self, prices: FloatArray) -> Iterator[tuple[float, int, float, float]]:
        """List the excess, s0, delta and lam (see `BlockProduct.best_tangent`) of the products in use."""
        for (s0, delta), product in self._products.items():
            if product in self._active:
                excess, lam = product.best_tangent(prices)
                yield excess, s0, delta, lam

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

    def explore_all_pairs(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Explore the vertices known of the product of all pairs."""
        return self._active[0].best_tangent(prices)[0], []

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices, and name other products worth having.

        Returns
        -------
        excess : float
            No column made of known vertices has a larger reduced cost per unit of Z.
        products : list of BlockProduct
            The best product of every special value, where it has columns worth adding.
        """
        rows = prices.reshape(self.ball.centre.shape)
        scout = self.polish(rows)
        worth = [(product.best_tangent(prices)[0], product) for product in self._active]
        bound = max(excess for excess, _ in worth)
        leaders: dict[int, tuple[float, BlockProduct]] = {}
        if self.distinct and scout:
            for s0, delta in self._others:
                product = self.product(s0, delta)
                excess = product.best_tangent(prices)[0]
                if excess > leaders.get(s0, (LITTLE, product))[0]:
                    leaders[s0] = excess, product
        self._active += [product for _, product in leaders.values() if product not in self._active]
        # Those of `use` too: the decomposition knows which of them it has.
        new = [product for excess, product in (*worth, *leaders.values()) if excess > LITTLE]
        return max(bound, *(excess for excess, _ in leaders.values()), -math.inf), new

    def polish(self, prices: FloatArray) -> bool:
        """Improve the vertices of the products in use at prices (a1, a2); tell if letters were moved, too."""
        self._round += 1
        scout = self._round % SCOUT == 1
        done: set[Body] = set()
        for product in self._active:
            lam = product.best_tangent(prices.ravel())[1]
            # A body that several products share is improved for the first of them.
            own = {
                s: body
                for s, body in enumerate(product.blocks)
                if isinstance(body, Body) and body not in done
            }
            polish(list(own.values()), [prices[s] for s in own], POLISHED, MOVED if scout else 0, tilt=lam)
            done.update(own.values())
            product.clear_cache()
        return scout

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of joint columns of known vertices; offer the best ones found."""
        found = []
        for product in self._active:
            product.resolution = self.resolution
            found.append(product.price(prices, effort, GENERATION.batch))
        return max(excess for excess, _ in found), Columns.join(columns for _, columns in found)
