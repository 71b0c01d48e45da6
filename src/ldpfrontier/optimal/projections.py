r"""Mechanisms private over the exact projections of the uncertainty set, instead of simplices around them.

A column v is allowed if A_s(v) <= e^eps B_s'(v), A_s and B_s the largest and the least mean of v_s over the
projection F_{U|s}: for all pairs (s, s'), or for s != s' only. The proof of privacy of PolyOpt (lopuhaa2024,
Theorem 2) uses nothing else of its simplex, and the columns are products of blocks as there
(`polyopt`), of convex bodies (`bodies`) instead of polytopes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.optimal.bodies import Body, polish, polish_from
from ldpfrontier.optimal.column_generation import BATCH, Master, generate
from ldpfrontier.optimal.covering import Cover
from ldpfrontier.optimal.decomposition import Decomposition
from ldpfrontier.optimal.products import BlockProduct
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.utility import Columns, MutualInformation

#: Deltas of distinct pairs, as parts of epsilon, with up to FEW sensitive values and with more; most special
#: values of more, the most probable first; most rounds of joint columns with more.
DELTAS, FEW_DELTAS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0), (0.25, 0.5, 1.0)
FEW, SPECIAL, JOINT = 3, 3, 3

#: Best vertices of a body that are improved in a round, and those of them whose letters are moved, on every
#: SCOUT-th round.
POLISHED, MOVED, SCOUT = 6, 3, 3

#: Relative gap, to the vertices known, of the first pass and of the others; most rounds.
ROUGH, GAP, ROUNDS = 1e-3, 1e-4, 60

#: Cells by which the loosest cover is refined at a time; passes of a certificate, each with its own prices;
#: how far in all, relative to the bound, the covers of a certificate may be above the vertices known.
PORTION, PASSES, SLACK = 1_000, 5, 1e-3

#: Passes without a certificate: looking at the covers' first cells only, for better vertices.
HINTS = 2


@dataclass(eq=False)
class BodyProducts:
    """The products of bodies, for every special value s0 and some deltas (see `polyopt`).

    Parameters
    ----------
    ball : RenyiBall
    epsilon : float
        In nats, > 0.
    distinct : bool
        Whether pairs s != s' only are compared.
    """

    ball: RenyiBall
    epsilon: float
    distinct: bool
    efforts: int = BlockProduct.efforts
    _bodies: dict[tuple[int, float, bool], Body] = field(default_factory=dict, repr=False)
    _products: dict[tuple[int, float], BlockProduct] = field(default_factory=dict, repr=False)
    _active: list[BlockProduct] = field(default_factory=list, repr=False)
    _covers: dict[Body, Cover] = field(default_factory=dict, repr=False)
    _round: int = 0

    def __post_init__(self) -> None:
        self._active.append(self.product(0, 0.0))
        small = self.ball.sensitive.size <= FEW
        groups = np.argsort(-self.ball.sensitive, kind="stable")
        self._others = [
            (int(s0), self.epsilon * part)
            for s0 in (groups if small else groups[:SPECIAL])
            for part in (DELTAS if small else FEW_DELTAS)
        ]

    def body(self, s: int, delta: float, special: bool) -> Body:
        """Return the body of one group at one delta."""
        key = s, delta, special
        if key not in self._bodies:
            ball, radius = self.ball, float(self.ball.projected_radii[s])
            level, scale = (delta, math.exp(-delta)) if special else (-delta, 1.0)
            self._bodies[key] = Body(
                ball.conditionals[s],
                radius,
                ball.order,
                ball.centre[s],
                self.epsilon + level,
                scale,
            )
        return self._bodies[key]

    def product(self, s0: int, delta: float) -> BlockProduct:
        """Return the product of (s0, delta); at delta = 0 the same for every s0."""
        key = (s0 if delta > 0 else 0), delta
        if key not in self._products:
            special = [s == s0 and delta > 0 for s in range(self.ball.sensitive.size)]
            bodies = [self.body(s, delta, is_special) for s, is_special in enumerate(special)]
            self._products[key] = BlockProduct(list(bodies), self.ball.centre)
        return self._products[key]

    @property
    def scale(self) -> FloatArray:
        """P-hat, row-major, shape (a1 a2,)."""
        return self.ball.centre.ravel()

    def known(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Explore the vertices known of the product of all pairs."""
        return self._active[0].excess(prices)[0], []

    def explore(self, prices: FloatArray, slack: float) -> tuple[float, list[BlockProduct]]:
        """Improve the vertices, and name other products worth having.

        Returns
        -------
        excess : float
            No column made of known vertices has a larger reduced cost per unit of Z.
        products : list of BlockProduct
            The best product of every special value, where it has columns worth adding.
        """
        self._round += 1
        scout = self._round % SCOUT == 1
        for product in self._active:
            lam = product.excess(prices)[1]
            tilted = prices.reshape(self.ball.centre.shape) + lam * self.ball.centre
            bodies = [body for body in product.blocks if isinstance(body, Body)]
            polish(bodies, list(tilted), POLISHED, MOVED if scout else 0)
            product.forget()
        bound = max(product.excess(prices)[0] for product in self._active)
        leaders: dict[int, tuple[float, BlockProduct]] = {}
        if self.distinct and scout:
            for s0, delta in self._others:
                product = self.product(s0, delta)
                excess = product.excess(prices)[0]
                if excess > leaders.get(s0, (1e-9, product))[0]:
                    leaders[s0] = excess, product
        new = [product for _, product in leaders.values() if product not in self._active]
        self._active += new
        return max(bound, *(excess for excess, _ in leaders.values()), -math.inf), new

    def certify(self, prices: FloatArray, work: int, slack: float) -> tuple[float, bool]:
        """Bound the reduced costs of all columns; look for better vertices where the bound is loose.

        Parameters
        ----------
        prices : ndarray, shape (a1, a2)
        work : int
            Cells to look at beyond the first of every body, which go where they are needed.
        slack : float
            How far in total the bounds of the bodies may be above the vertices known.

        Returns
        -------
        excess : float
            No column of the products has a larger reduced cost per unit of Z; inf if none is known.
        found : bool
            Whether better vertices were found.
        """
        lam = self._active[0].excess(prices)[1]
        groups = len(self.ball.centre)
        tilted = prices.reshape(self.ball.centre.shape) + lam * self.ball.centre
        owners = {body: s for product in self._active for s, body in enumerate(product.blocks)}
        best = {body: float(body.reduced(tilted[s]).max()) for body, s in owners.items()}
        bounds = dict(best)
        movable = [body for body in owners if isinstance(body, Body) and body.movable]
        hints: dict[Body, FloatArray] = {}

        def refine(body: Body, cells: int) -> None:
            if body not in self._covers:
                self._covers[body] = Cover(body)
            goal = best[body] + slack / groups
            bounds[body], hints[body] = self._covers[body].bound(tilted[owners[body]], goal, cells)

        for body in movable:
            refine(body, 1)
        while work > 0 and movable:
            loosest = max(movable, key=lambda body: bounds[body] - best[body])
            if bounds[loosest] - best[loosest] <= slack / groups:
                break
            refine(loosest, PORTION)
            work -= PORTION
        found = polish_from(movable, [tilted[owners[b]] for b in movable], [hints[b] for b in movable])
        excess = -math.inf
        for product in self._active:
            product.forget()
            F = -sum(bounds[body] for body in product.blocks)
            excess = max(excess, lam - 1.0 - math.log(F) if F > 0 else math.inf)
        return excess, found

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of joint columns of known vertices; offer the best ones found."""
        found = [product.price(prices, effort, BATCH) for product in self._active]
        return max(excess for excess, _ in found), Columns.join(columns for _, columns in found)


def projected_mechanism(
    products: BodyProducts, *, tolerance: float, max_rounds: int, cells: int, start: Channel | None = None
) -> tuple[Channel, float, int]:
    """Find a good mechanism made of bodies, private over F, and a bound on all of its class.

    Parameters
    ----------
    products : BodyProducts
    tolerance, max_rounds
        As in `generate`, for the joint columns.
    cells : int
        Cells to look at for the bound, see `BodyProducts.certify`; used for all pairs only.
    start : Channel, optional
        A mechanism whose columns may be used.

    Returns
    -------
    channel : Channel
    bound : float
        In nats; inf where none is known.
    rounds : int
    """
    utility = MutualInformation(products.ball.centre)
    decomposition = Decomposition(products.product(0, 0.0), products.epsilon)
    decomposition.solve(products.known, gap=ROUGH)
    bound, passes = math.inf, HINTS if products.distinct or cells == 0 else PASSES
    for last in range(passes - 1, -1, -1):
        prices = decomposition.solve(products.explore, gap=max(GAP, tolerance), rounds=ROUNDS)
        value = float(prices.sum())
        work = 0 if products.distinct else cells >> last
        excess, found = products.certify(prices, work, SLACK * value)
        if not products.distinct:
            bound = min(bound, value + excess)
        if not found and work >= cells:
            break
    decomposition.solve(products.explore, gap=max(GAP, tolerance), rounds=ROUNDS)
    if products.ball.sensitive.size > FEW:
        max_rounds = min(max_rounds, JOINT)
    coupled = decomposition.columns()
    joint = generate(products, coupled, utility, tolerance=max(GAP, tolerance), max_rounds=max_rounds)
    return best_mixture(joint.channel, start, utility), bound, joint.iterations


def best_mixture(channel: Channel, other: Channel | None, utility: MutualInformation) -> Channel:
    """Return the best channel made of the columns of two, or of one."""
    if other is None:
        return channel
    columns = Columns.join(utility.columns(c.matrix[:, c.matrix.any(axis=0)].T) for c in (channel, other))
    master = Master(channel.n_inputs, unit=max(float(columns.values.max()), 1e-6))
    master.add(columns)
    return master.channel(master.solve()[1])
