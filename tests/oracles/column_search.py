r"""A search for good robust mechanisms that shares nothing with `ldpfrontier.optimal`, to attack its bounds.

A mechanism is made of columns v, shape (a1, a2), scaled to Z = P . v = 1, with weights: the column LP

    max sum_j theta_j mu(v_j),     sum_j theta_j v_j = 1,     mu(v) = sum P v log v - Z log Z.

mu is convex and homogeneous, so that at duals c a column v is improved by maximizing the linear function
(P log(v / Z) - c) . v over private columns. Those with B_s(v_s) >= bottom_s and A_s(v_s) <= top_s are
products, so every v_s is found for itself, by the barrier method in (v_s, mu, mu'): A_s <= top_s iff some
mu >= max v_s has mu - h(M(mu - v_s)) <= top_s (`renyi_duality`), and likewise B_s. The ends are those of one
special value s0 with least B, b times that of the others, and of one price nu of the budget that two groups
share.

A + x and B + x are those of v + x, so that one number moves a column to where it is private, as the bounds of
`renyi_duality` on the safe side say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from scipy.optimize import linprog
from scipy.special import xlogy

from oracles.renyi_duality import divergence_cost, largest_mean, least_mean, radius_of_cost

#: Least level below epsilon that columns are moved to, relative: more than the means are rounded by.
SAFETY = 1e-12


@dataclass
class Cone:
    """The columns that are private: over the projections, of all or of distinct pairs, or over F itself."""

    P: np.ndarray  # (a1, a2)
    radius: float
    order: float
    epsilon: float
    distinct: bool
    exact: bool = False
    p: np.ndarray = field(init=False)
    r: np.ndarray = field(init=False)
    radii: np.ndarray = field(init=False)

    def __post_init__(self):
        self.p = self.P.sum(axis=1)
        self.r = self.P / self.p[:, None]
        self.budget = float(divergence_cost(self.radius, self.order))
        self.radii = radius_of_cost(self.budget / self.p, self.order)
        self.distinct = self.distinct or self.exact

    def means(self, V, nu=None):
        """A and B of columns (m, a1, a2), shapes (m, a1), from above and from below; at prices (m,) of F."""
        r, radii = np.broadcast_to(self.r, V.shape), np.broadcast_to(self.radii, V.shape[:-1])
        high = low = None
        if nu is not None:
            high = nu[:, None] * self.p / self.budget
            low = high * math.exp(-self.epsilon)
        A = largest_mean(r, V, radii, self.order, high)[0]
        return A, least_mean(r, V, radii, self.order, low)[0]

    def excess(self, V):
        """The largest A_s - e^eps B_s' of columns (m, a1, a2), from above, shape (m,)."""
        ratio, a1 = math.exp(self.epsilon), V.shape[1]
        A, B = self.means(V)
        gaps = A[:, :, None] - ratio * B[:, None, :]
        if self.distinct:
            gaps[:, np.arange(a1), np.arange(a1)] = -np.inf
        if self.exact:
            gaps = self._shared(V, gaps)
        return gaps.max(axis=(1, 2))

    def _shared(self, V, gaps):
        """The bounds of each pair at the best of some prices nu, near enough for the largest of a column."""
        m, a1, _ = V.shape
        ratio, high, golden = math.exp(self.epsilon), V.max(axis=(1, 2)), 0.5 * (math.sqrt(5.0) - 1.0)
        diagonal, gaps, at = np.arange(a1), gaps.copy(), np.zeros(gaps.shape)

        def largest(nu):
            """The largest bound at one price for all pairs; every pair keeps the best of its bounds."""
            A, B = self.means(V, nu)
            own = A[:, :, None] + nu[:, None, None] - ratio * B[:, None, :]
            own[:, diagonal, diagonal] = -np.inf
            at[:] = np.where(own < gaps, nu[:, None, None], at)
            gaps[:] = np.minimum(gaps, own)
            return own.max(axis=(1, 2))

        shares = np.concatenate([[0.0], np.geomspace(1e-2, 1.0, 7)])
        best = np.array([gaps.max(axis=(1, 2)), *(largest(share * high) for share in shares[1:])]).argmin(
            axis=0
        )
        low = shares[np.maximum(best - 1, 0)] * high
        top = shares[np.minimum(best + 1, len(shares) - 1)] * high
        c, d = top - golden * (top - low), low + golden * (top - low)
        at_c, at_d = largest(c), largest(d)
        for _ in range(16):
            left = at_c <= at_d
            low, top = np.where(left, low, c), np.where(left, d, top)
            new = np.where(left, top - golden * (top - low), low + golden * (top - low))
            own = largest(new)
            c, d = np.where(left, new, d), np.where(left, c, new)
            at_c, at_d = np.where(left, own, at_d), np.where(left, at_c, own)
        # The pairs that decide get prices of their own, until the largest bound of a column is one of these.
        flat, at = gaps.reshape(m, -1), at.reshape(m, -1)
        refined = np.zeros(flat.shape, dtype=bool)
        for _ in range(a1 * a1):
            pair = flat.argmax(axis=1)
            left = np.flatnonzero(~refined[np.arange(m), pair])
            if not left.size:
                break
            pair = pair[left]
            nu = at[left, pair]
            bottom, top = nu / 2.5, np.where(nu > 0.0, np.minimum(2.5 * nu, high[left]), 0.01 * high[left])
            own = self._priced_pair(V[left], *np.unravel_index(pair, (a1, a1)), bottom, top)
            flat[left, pair] = np.minimum(flat[left, pair], own)
            refined[left, pair] = True
        return flat.reshape(gaps.shape)

    def _priced_pair(self, V, s, t, low, top):
        """The least bound over prices between two of one pair of groups for each column."""
        m, golden = np.arange(len(V)), 0.5 * (math.sqrt(5.0) - 1.0)

        def value(nu):
            high, under = nu * self.p[s] / self.budget, nu * math.exp(-self.epsilon) * self.p[t] / self.budget
            A = largest_mean(self.r[s], V[m, s], self.radii[s], self.order, high)[0]
            B = least_mean(self.r[t], V[m, t], self.radii[t], self.order, under)[0]
            return A + nu - math.exp(self.epsilon) * B

        c, d = top - golden * (top - low), low + golden * (top - low)
        at_c, at_d = value(c), value(d)
        for _ in range(32):
            left = at_c <= at_d
            low, top = np.where(left, low, c), np.where(left, d, top)
            new = np.where(left, top - golden * (top - low), low + golden * (top - low))
            own = value(new)
            c, d = np.where(left, new, d), np.where(left, c, new)
            at_c, at_d = np.where(left, own, at_d), np.where(left, at_c, own)
        return np.minimum(at_c, at_d)

    def moved(self, V):
        """Columns moved to the end of the cone by a constant, or to where a letter is 0, with Z = 1."""
        V = V / np.einsum("su,nsu->n", self.P, V)[:, None, None]
        size = SAFETY * V.max(axis=(1, 2))
        x = np.maximum(self.excess(V) / math.expm1(self.epsilon) + size, -V.min(axis=(1, 2)))
        V = np.maximum(V + x[:, None, None], 0.0)
        # Where rounding of the means is more than that, a little more is added once.
        more = self.excess(V)
        over = np.maximum(more, 0.0) / math.expm1(self.epsilon) * (1.0 + 1e-6) + (more > 0.0) * 100.0 * size
        V = V + over[:, None, None]
        V = V / np.einsum("su,nsu->n", self.P, V)[:, None, None]
        again = more > 0.0
        kept = ~again
        if again.any():
            kept[again] = self.excess(V[again]) <= 0.0
        return V[kept]

    def level(self, V):
        """A privacy level of each column, from above, in nats."""
        if not self.exact:
            A, B = self.means(V)
            ratios = np.log(A[:, :, None]) - np.log(B[:, None, :])
            if self.distinct:
                ratios[:, np.arange(V.shape[1]), np.arange(V.shape[1])] = -np.inf
            return ratios.max(axis=(1, 2))
        lowest = self.means(V)[1].min(axis=1)
        return np.log(math.exp(self.epsilon) + np.maximum(self.excess(V), 0.0) / lowest)


def information(P, V):
    """mu of columns (m, a1, a2)."""
    Z = np.einsum("su,nsu->n", P, V)
    return np.einsum("su,nsu->n", P, xlogy(V, V)) - xlogy(Z, Z)


@dataclass
class Ends:
    """Bounds of A and B of the blocks of columns, and prices of the budget."""

    top: np.ndarray  # (m, a1)
    bottom: np.ndarray
    nu: np.ndarray  # (m,)


def random_ends(cone, rng, m):
    """Ends of m columns: of all pairs, or of a random special value, share b and price."""
    a1, ratio = len(cone.p), math.exp(cone.epsilon)
    b = np.ones(m)
    s0 = rng.choice(a1, m, p=0.5 / a1 + 0.5 * cone.p)
    if cone.distinct:
        b = np.exp(-cone.epsilon * rng.beta(0.5, 1.0, m)) ** rng.integers(0, 2, m)
    nu = np.zeros(m)
    if cone.exact and cone.order > 0.5:
        nu = (ratio - 1.0) * 10.0 ** rng.uniform(-2.0, -0.15, m) * (rng.random(m) < 0.7)
        b = np.maximum(b, (1.0 + 1.5 * nu) / ratio)
    return ends_of(cone, s0, np.minimum(b, 1.0), nu)


def ends_of(cone, s0, b, nu):
    m, a1, ratio = len(b), len(cone.p), math.exp(cone.epsilon)
    top = np.repeat((b * ratio - nu)[:, None], a1, axis=1)
    bottom = np.ones((m, a1))
    top[np.arange(m), s0], bottom[np.arange(m), s0] = ratio - nu, b
    return Ends(top, bottom, nu)


def ends_of_columns(cone, V):
    """The ends that columns have, and the columns scaled to them."""
    B = cone.means(V)[1]
    s0 = B.argmin(axis=1)
    second = np.sort(B, axis=1)[:, 1] if B.shape[1] > 1 and cone.distinct else B.min(axis=1)
    b = np.clip(B.min(axis=1) / second, math.exp(-cone.epsilon) * (1.0 + 1e-6), 1.0)
    return ends_of(cone, s0, b, np.zeros(len(V))), V / second[:, None, None]


@njit(cache=True, error_model="numpy")
def _with_price(M, most, c, shrink, g):
    """h, the least of (1 + g k)^(-1/g) M + c k over k up to `most`, and its two derivatives."""
    if c > 0.0:
        if g <= -1.0:
            if shrink * M + c * most < M:
                return shrink * M + c * most, shrink, 0.0
            return M, 1.0, 0.0
        log = math.log(M / c) / (1.0 + g)
        k = log if g == 0.0 else math.expm1(g * log) / g
        if k <= 0.0:
            return M, 1.0, 0.0
        if k < most:
            q = math.exp(log)
            return M / q + c * k, 1.0 / q, -1.0 / ((1.0 + g) * M * q)
        return shrink * M + c * most, shrink, 0.0
    return shrink * M, shrink, 0.0


@njit(cache=True, error_model="numpy")
def _mean(r, x, g):
    total = 0.0
    for u in range(r.size):
        if r[u] > 0.0:
            total += r[u] * (math.log(x[u]) if g == 0.0 else x[u] ** g)
    return math.exp(total) if g == 0.0 else total ** (1.0 / g)


@njit(cache=True, error_model="numpy")
def _merit(y, t, G, r, top, bottom, most, shrink, prices, g):
    """The barrier function; -inf outside of the block."""
    n = r.size
    total, x = 0.0, np.empty(n)
    for side in range(2):
        for u in range(n):
            x[u] = y[n] - y[u] if side == 0 else y[u] - y[n + 1]
            if x[u] <= 0.0 or y[u] <= 0.0:
                return -np.inf
            total += math.log(x[u])
        value = _with_price(_mean(r, x, g), most, prices[side], shrink, g)[0]
        value += top - y[n] if side == 0 else y[n + 1] - bottom
        if not value > 0.0:
            return -np.inf
        total += math.log(value)
    for u in range(n):
        total += math.log(y[u]) + t * G[u] * y[u]
    return total


@njit(cache=True, error_model="numpy")
def _newton_step(y, t, G, r, top, bottom, most, shrink, prices, g):
    """Step of Newton's method, and what it promises."""
    n = r.size
    grad, H = np.zeros(n + 2), np.zeros((n + 2, n + 2))
    x, own, slope = np.empty(n), np.empty(n + 2), np.empty(n)
    for side in range(2):
        last, sign = n + side, 1.0 if side == 0 else -1.0
        for u in range(n):
            x[u] = sign * (y[last] - y[u])
        M = _mean(r, x, g)
        value, first, second = _with_price(M, most, prices[side], shrink, g)
        value += top - y[n] if side == 0 else y[n + 1] - bottom
        own[:] = 0.0
        own[last] = -sign
        for u in range(n):
            slope[u] = r[u] * (x[u] / M) ** (g - 1.0) if r[u] > 0.0 else 0.0
            own[u] -= sign * first * slope[u]
            own[last] += sign * first * slope[u]
        curve = second + first * (1.0 - g) / M
        total = 0.0
        for u in range(n):
            row = 0.0
            for v in range(n):
                h = curve * slope[u] * slope[v] / value
                if u == v:
                    h -= (1.0 - g) * first * slope[u] / x[u] / value + 1.0 / x[u] ** 2
                H[u, v] += h
                row += h
            H[u, last] -= row
            H[last, u] -= row
            total += row
            grad[u] -= sign / x[u]
            grad[last] += sign / x[u]
        H[last, last] += total
        for u in range(n + 2):
            grad[u] += own[u] / value
            for v in range(n + 2):
                H[u, v] -= own[u] * own[v] / value**2
    for u in range(n):
        grad[u] += t * G[u] + 1.0 / y[u]
        H[u, u] -= 1.0 / y[u] ** 2
    scale = np.empty(n + 2)
    for u in range(n + 2):
        scale[u] = 1.0 / math.sqrt(max(-H[u, u], 1e-300))
    for u in range(n + 2):
        grad[u] *= scale[u]
        for v in range(n + 2):
            H[u, v] *= scale[u] * scale[v]
            if not math.isfinite(H[u, v]):
                return np.zeros(n + 2), 0.0
        H[u, u] -= 1e-12
    step = -np.linalg.solve(H, grad)
    return step * scale, step @ grad


@njit(cache=True, error_model="numpy")
def _block_maximum(y, G, r, top, bottom, most, shrink, prices, g, first, last):
    """Maximize G . w over a block from an inner point y = (w, mu, mu'), in place."""
    t = first
    while t < last:
        for _ in range(12):
            step, decrement = _newton_step(y, t, G, r, top, bottom, most, shrink, prices, g)
            if not decrement > 0.05:
                break
            before, length = _merit(y, t, G, r, top, bottom, most, shrink, prices, g), 1.0
            moved = False
            for _ in range(30):
                after = _merit(y + length * step, t, G, r, top, bottom, most, shrink, prices, g)
                if after >= before + 0.1 * length * decrement:
                    moved = True
                    break
                length *= 0.5
            if not moved:
                break
            y += length * step
        t *= 20.0


@njit(cache=True, error_model="numpy")
def _all_maxima(w, G, r, top, bottom, most, shrink, prices, g, accuracy):
    m, a1, n = G.shape
    y = np.empty(n + 2)
    for i in range(m):
        for s in range(a1):
            y[:n] = 0.5 * (top[i, s] + bottom[i, s])
            if top[i, s] > bottom[i, s] * (1.0 + 1e-9):
                quarter = 0.25 * (top[i, s] - bottom[i, s])
                y[n], y[n + 1] = y[0] + quarter, y[0] - quarter
                size = 1e-300
                for u in range(n):
                    size = max(size, abs(G[i, s, u]) / max(r[s, u], 0.02) * top[i, s])
                _block_maximum(
                    y, G[i, s], r[s], top[i, s], bottom[i, s], most[s], shrink[s], prices[i, s], g,
                    3.0 / size, 10.0 * n / accuracy / size,
                )  # fmt: skip
            w[i, s] = y[:n]


def linear_maxima(cone, G, ends, accuracy=1e-5):
    """Points near the maxima of G_s . w over the blocks of columns, shape (m, a1, a2): barrier method."""
    g = (cone.order - 1.0) / cone.order
    most = np.minimum(divergence_cost(cone.radii, cone.order), 1e12)
    unit = ends.nu[:, None] * cone.p / cone.budget
    prices = np.stack([unit, unit * math.exp(-cone.epsilon)], axis=2)
    w = np.empty(G.shape)
    _all_maxima(
        w,
        np.ascontiguousarray(G),
        cone.r,
        ends.top,
        ends.bottom,
        most,
        np.exp(-cone.radii),
        prices,
        g,
        accuracy,
    )
    return w


def ascend(cone, V, ends, c, steps=6):
    """Columns reached from others by linearizing mu - c . v again and again, in the blocks of their ends."""
    P = cone.P
    for _ in range(steps):
        Z = np.einsum("su,nsu->n", P, V)[:, None, None]
        floor = 1e-7 * V.max(axis=(1, 2), keepdims=True)
        V = linear_maxima(cone, P * np.log(np.maximum(V, floor) / Z) - c, ends)
    return V


def sharpened(V):
    """Columns with letters that the barrier alone keeps above 0 set to 0."""
    return np.where(1e-3 * V.max(axis=2, keepdims=True) > V, 0.0, V)


def structured(cone, rng, m):
    """Columns that reveal one letter or a set of letters in every group, or two values in each."""
    a1, a2 = cone.P.shape
    one = np.eye(a2)[rng.integers(0, a2, (m, a1))]
    sets = (rng.random((m, a1, a2)) < rng.uniform(0.2, 0.8, (m, 1, 1))).astype(float)
    same = np.repeat((rng.random((m, 1, a2)) < 0.5).astype(float), a1, axis=1)
    rays = rng.exponential(size=(m, a1, a2)) ** 2
    pick = rng.integers(0, 4, m)[:, None, None]
    V = np.choose(np.broadcast_to(pick, one.shape), [one, sets, same, rays])
    return V + 1e-3 * V.max(axis=(1, 2), keepdims=True) + 1e-3


def master(P, V, values):
    """Value, weights and duals (a1, a2) of the column LP."""
    solution = linprog(
        -values, A_eq=V.reshape(len(V), -1).T, b_eq=np.ones(P.size), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert solution.success, solution.message
    return -float(solution.fun), solution.x, -solution.eqlin.marginals.reshape(P.shape)


@dataclass
class Mechanism:
    """The best mechanism found: its value and a level of it, both computed here."""

    value: float
    level: float
    columns: np.ndarray  # (outputs, a1, a2): the rows of a channel, transposed
    history: list[float]


def best_mechanism(cone, seeds, rng, *, starts=24, rounds=6, steps=6):
    """Search for a good mechanism, from given columns (m, a1, a2), structured and random ones."""
    P, (a1, a2) = cone.P, cone.P.shape
    # One letter revealed, and constants: they make the LP feasible.
    first = np.concatenate([np.ones((1, a1, a2)), structured(cone, rng, 4 * a1 * a2), seeds])
    pool = np.concatenate([np.ones((1, a1, a2)), cone.moved(first)])
    history, best_c = [], None
    for n in range(rounds + 1):
        values = information(P, pool)
        value, theta, c = master(P, pool, values)
        history.append(value)
        if n == rounds or (n > 2 and value - history[-3] < 1e-6 * value):
            break
        used = np.argsort(-theta)[: min(starts // 2, int((theta > 1e-9).sum()))]
        near = pool[used]
        own, near = ends_of_columns(cone, near)
        other = structured(cone, rng, starts - len(used))
        # Some of the random starts are mixed out of good columns.
        mix = pool[rng.choice(used, (len(other), a1)), np.arange(a1)]
        other = np.where(rng.random((len(other), 1, 1)) < 0.5, mix, other)
        drawn = random_ends(cone, rng, len(other))
        if cone.exact:
            drawn_used = random_ends(cone, rng, len(used))
            swap = rng.random(len(used)) < 0.5
            own = Ends(*(np.where(swap.reshape(-1, *[1] * (x.ndim - 1)), y, x) for x, y in
                         zip(vars(own).values(), vars(drawn_used).values(), strict=True)))  # fmt: skip
        ends = Ends(*(np.concatenate(x) for x in zip(vars(own).values(), vars(drawn).values(), strict=True)))
        target = c if best_c is None or n % 2 == 0 else 0.5 * (c + best_c)
        best_c = c if best_c is None else 0.5 * (c + best_c)
        found = ascend(cone, np.concatenate([near, other]), ends, target, steps)
        found = np.concatenate([found, sharpened(found)])
        found /= np.einsum("su,nsu->n", P, found)[:, None, None]
        reduced = information(P, found) - np.einsum("su,nsu->n", c, found)
        found = cone.moved(found[np.argsort(-reduced)[: (3 * starts) // 2]])
        reduced = information(P, found) - np.einsum("su,nsu->n", c, found)
        pool = np.concatenate([pool, found[reduced > -0.2 * abs(value)]])
    return finished(cone, pool, theta, history)


def finished(cone, pool, theta, history):
    """The mechanism of some weights, with rows that add up to 1, and its own level and value."""
    used = theta > 0.0
    columns = theta[used, None, None] * pool[used]
    total = columns.sum(axis=0)
    columns = columns / total.max()
    rest = 1.0 - columns.sum(axis=0)
    # What is missing goes to a nearly constant column, which gets as much more as it needs to be private.
    share = 4.0 * rest.max() / math.expm1(cone.epsilon) + 1e-15
    columns = np.concatenate([(1.0 - share) * columns, ((1.0 - share) * rest + share)[None]])
    assert abs(columns.sum(axis=0) - 1.0).max() < 1e-13
    level = float(cone.level(columns).max())
    return Mechanism(float(information(cone.P, columns).sum()), level, columns, history)
