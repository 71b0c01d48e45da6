r"""The least means over all distributions R within a Renyi divergence of a given one, and samples of them.

For a distribution r, numbers q and a radius B >= 0, sought is ::

    min of sum_u q_u R_u  over R with  D(r || R) = log(sum_u r_u^alpha R_u^(1-alpha)) / (alpha - 1) <= B,

alpha the order; D(r || R) = sum_u r_u log(r_u / R_u) at order 1. The Lagrangian is stationary where
R_u = r_u (q_u - mu)^(-1/alpha) up to scale, for every order, with a pole mu < min q. The divergence grows as
mu rises, so that one scalar equation per row is left, which Newton's method solves. If mu reaches the q of a
letter with r_u = 0 first, what is left of the budget moves mass onto that letter, at the price
-log(1 - mass). (lopuhaa2024, Theorem 1 and Proposition 1, for sets of letters.)

Two letters have closed forms at order 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.rounding import gamma
from ldpfrontier.uncertainty.settings import SETTINGS


class Minimizers(NamedTuple):
    """Least means over balls, m of them with k letters, and what attains them."""

    value: FloatArray  # (m,)
    #: (m, k), in the ball to rounding. Where the budget reaches a letter with r_u = 0, its share lies there.
    R: FloatArray
    #: (m, k): q_u - mu, with which R_u is proportional to r_u (q_u - mu)^(-1/order); inf where R = r.
    distance: FloatArray


class _Solution(NamedTuple):
    """Least means, log t of their minimizers (nan where R = r), and the budget left at the largest t."""

    value: FloatArray
    log_t: FloatArray
    left: FloatArray


def renyi_divergences(r: FloatArray, R: FloatArray, order: float) -> FloatArray:
    """Return D(r || R) along the last axis, in nats; `r` broadcasts against `R`, both are distributions.

    With e = R / r - 1 and m the mass of R where r = 0, sum r e = -m, so that
    e^((order-1) D) - 1 = sum r [(1 + e)^a - 1 - a e] - a m, a = 1 - order: terms of one sign, none of them
    cancels, however small D is and however near to 1 the order.
    """
    r, R = np.broadcast_arrays(r, R)
    a = 1.0 - order
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if order == 2:
            y = np.where(r != R, (R - r) ** 2 / R, 0.0).sum(axis=-1)
            return np.asarray(np.log1p(y))
        ratio = np.where(r > 0, R / r, 1.0)
        e = np.where(r > 0, (R - r) / r, 0.0)
        y = np.where(r > 0, -r * _power_remainder(e, ratio, a), R).sum(axis=-1)
        D = np.asarray(y if order == 1 else np.log1p(-a * y) / -a)
        if order > 1 and np.isinf(D).any():
            # A power that overflows: its logarithm does not.
            x = np.where(r > 0, np.log(r) - np.log(R), -np.inf)
            largest = x.max(axis=-1)
            big = np.where(np.isfinite(largest), largest, 0.0)
            terms = np.where(r > 0, r * np.exp((order - 1.0) * (x - big[..., None])), 0.0)
            D = np.where(np.isinf(D) & np.isfinite(largest), big + np.log(terms.sum(axis=-1)) / -a, D)
    return np.asarray(D)


def _power_remainder(w: FloatArray, v: FloatArray, a: float) -> FloatArray:
    """Return (v^a - 1 - a w) / a, v = 1 + w, of second order in w; log v - w at a = 0."""
    log = np.where(w < -0.5, np.log(v), np.log1p(np.maximum(w, -0.5)))
    direct = (np.expm1(a * log) / a if a else log) - w
    small = np.abs(w) * (2.0 + abs(a)) < 0.006
    x = np.where(small, w, 0.0)
    series = np.ones_like(x)
    for k in range(7, 2, -1):
        series = 1.0 + (a - k + 1.0) / k * x * series
    return np.where(small, x * x * series * (a - 1.0) / 2.0, direct)


def least_mean(r: FloatArray, q: FloatArray, B: FloatArray, order: float) -> FloatArray:
    """Return the infimum of sum_u R_u q_u over distributions R with D_order(r || R) <= B, row by row.

    r and q have shape (m, k), B has shape (m,). A row of zeros in r (an empty group) needs B = inf.
    """
    return _solve(r, q, B, order).value


def minimizers(r: FloatArray, q: FloatArray, B: FloatArray, order: float) -> Minimizers:
    """Return the infima of `least_mean`, whose arguments these are, and distributions that attain them."""
    values, log_t, left = _solve(r, q, B, order)
    low = q.min(axis=1, keepdims=True)
    least = q == low
    span = q.max(axis=1, keepdims=True) - low
    distance = np.full(q.shape, np.inf)
    R = r.copy()
    moved = np.flatnonzero(np.isfinite(log_t))
    z = (q[moved] - low[moved]) / span[moved]
    R[moved] = _tilted(r[moved], z, log_t[moved], order)
    distance[moved] = (np.exp(-log_t[moved])[:, None] + z) * span[moved]
    # An empty letter of least value takes what is left; an infinite budget goes there at once.
    share = _moved_share(B, left)
    spent = np.flatnonzero(share > 0)
    share = share[spent, None]
    R[spent] = (1.0 - share) * R[spent] + share * least[spent] / least[spent].sum(axis=1, keepdims=True)
    return Minimizers(values, R, distance)


def _tilted(r: FloatArray, z: FloatArray, log_t: FloatArray, order: float) -> FloatArray:
    """Return R_u ~ r_u (1 + t z_u)^(-1/order), a distribution in every row."""
    inverse = np.exp(-log_t)[:, None]
    floor = np.where(r > 0, z, np.inf).min(axis=1, keepdims=True)
    ratios = np.where(r > 0, (inverse + z) / (inverse + floor), 1.0)
    weights = r * ratios ** (-1.0 / order)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _moved_share(B: FloatArray, left: FloatArray) -> FloatArray:
    """Return the share of all mass that the budget left moves to the least value."""
    return np.where(np.isinf(B), 1.0, -np.expm1(-left))


def _solve(r: FloatArray, q: FloatArray, B: FloatArray, order: float) -> _Solution:
    """Solve the rows of `least_mean`.

    With z = (q - min q) / (max q - min q) and t = 1 / (min q - mu) (scaled alike), the minimizer is
    R_u proportional to r_u (1 + t z_u)^(-1/order), and its divergence rises with t from 0; log t is found by
    Newton's method on log D inside a bracket. At the end of the bracket (t = e^700) what is left of B goes
    to an empty letter if the minimum of q is there.
    """
    low = q.min(axis=1)
    span = q.max(axis=1) - low
    z = (q - low[:, None]) / np.where(span > 0, span, 1.0)[:, None]
    mean = np.einsum("ij,ij->i", r, z)
    found = _Solution(np.where(np.isinf(B), 0.0, mean), np.full(B.shape, np.nan), np.zeros(B.shape))
    active = np.flatnonzero((B > 0) & np.isfinite(B) & (span > 0))
    if active.size:
        for part, values in zip(found, _search(r[active], z[active], B[active], order), strict=True):
            part[active] = values
    return found._replace(value=_unscaled(r, q, B, order, found))


def _search(
    r: FloatArray, z: FloatArray, B: FloatArray, order: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the infima of z, log t and the budget left, as `_solve`, for rows with 0 < B < inf."""
    first, last = SETTINGS.log_t_range
    with np.errstate(all="ignore"):
        problems = _Tilts.of(np.ascontiguousarray(r.T), np.ascontiguousarray(z.T), order)
        # The far end decides whether the budget can be used up at all.
        D, _, values = problems.divergence(np.full(B.size, last))
        beyond = B > D
        # Below order 1 the budget may suffice for everything; a nearly empty letter is as good as empty.
        left = np.where(beyond, B - D, 0.0)
        # Mean left, as a share of the range, at the end of the search that counts as none.
        nothing = (problems.floor == 0.0) & (values < 1e-50)
        values = np.where(nothing, 0.0, values * np.exp(-left))
        log_t = np.full(B.size, last)
        rows = np.flatnonzero(~beyond)
        problems, B = problems.take(rows), B[rows]
        # Second order: D = t^2 Var(z) / (2 order).
        x = np.clip(0.5 * np.log(2.0 * order * B / problems.variances()), -60.0, 300.0)
        lo, hi = np.full(B.size, first), np.full(B.size, last)
        for step in range(SETTINGS.max_steps):
            if rows.size == 0:
                break
            D, slope, values[rows] = problems.divergence(x)
            lo, hi = np.where(B > D, x, lo), np.where(B > D, hi, x)
            new, middle = x - np.log(D / B) * D / slope, 0.5 * (lo + hi)
            # Away from r, D is a difference of logarithms: below about 1e-16 / D the steps are noise, which
            # may point out of the bracket.
            noise = 1e-14 * np.maximum(np.abs(x), 1.0) + 1e-15 / np.maximum(B, 1e-5)
            if step > SETTINGS.bisection_start and step % 2:
                # Entries that underflow spoil the slope: halves, in the long run.
                new = middle
            else:
                found = np.abs(new - x) <= noise
                new = np.where(found, x, np.where((lo < new) & (new < hi), new, middle))
            moved = np.abs(new - x) > noise
            log_t[rows] = new
            x = new
            if not moved.all():
                rows, problems, B = rows[moved], problems.take(moved), B[moved]
                x, lo, hi = x[moved], lo[moved], hi[moved]
    return values, log_t, left


def _unscaled(r: FloatArray, q: FloatArray, B: FloatArray, order: float, found: _Solution) -> FloatArray:
    """Return infima of q from those of z, as a distance from the end of q that is nearer to 0.

    With q of one sign nothing cancels then, however rare the letters are that count.
    """
    low, high = q.min(axis=1), q.max(axis=1)
    values = low + (high - low) * found.value
    far = np.flatnonzero((np.abs(high) < np.abs(low)) & np.isfinite(B))
    if far.size == 0:
        return np.asarray(values)
    R, q, low, high, log_t = r[far], q[far], low[far, None], high[far, None], found.log_t[far]
    moved = np.isfinite(log_t)
    z = (q[moved] - low[moved]) / (high - low)[moved]
    R[moved] = _tilted(R[moved], z, log_t[moved], order)
    share = _moved_share(B[far], found.left[far])
    below = np.einsum("ij,ij->i", R, high - q)
    values[far] = high[:, 0] - (share * (high - low)[:, 0] + (1.0 - share) * below)
    return np.asarray(values)


def two_cell_range(rho: FloatArray, B: FloatArray, order: float) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest m with D_order((rho, 1 - rho) || (m, 1 - m)) <= B.

    For order 2 these are (26) to (28) of lopuhaa2024. Probabilities and radii broadcast against each other.
    """
    rho, B = np.broadcast_arrays(rho, B)
    if order == 2:
        c = np.exp(-B)
        spare = -np.expm1(-B)
        largest = (spare + 2 * rho * c + np.sqrt(spare * (spare + 4 * rho * (1 - rho) * c))) / 2
        # From the product of the roots: no cancellation.
        least = np.divide(rho**2 * c, largest, out=np.zeros(rho.shape), where=largest > 0)
        return least, np.minimum(largest, 1.0)
    r = np.column_stack([rho.ravel(), 1.0 - rho.ravel()])
    q = np.broadcast_to([1.0, 0.0], r.shape)
    least = least_mean(r, q, B.ravel(), order)
    return least.reshape(rho.shape), 1.0 - least_mean(r, 1.0 - q, B.ravel(), order).reshape(rho.shape)


def allowed_probabilities(rho: FloatArray, B: FloatArray, order: float) -> FloatArray:
    """Return the largest probability of cells that balls of two cells surely allow, in spite of rounding.

    Of cells (rho, 1 - rho) and (rho + e, 1 - rho - e) the divergence is at most B if and only if ::

        rho psi(e / rho) + (1 - rho) psi(-e / (1 - rho)) <= (1 - e^((order - 1) B)) / (1 - order),

    psi(w) = -((1 + w)^a - 1 - a w) / a, a = 1 - order (`_power_remainder`), which is convex in e, and 0 at 0.
    So if it is exceeded by a factor at the e of `widening`, e divided by the factor is in the ball. For small
    w psi is a series, from |w| = 0.006 / (2 + |a|) on a difference of which one term is w. As psi(w) / |w|
    grows with |w|, and is about order |w| / 2 there, the difference counts twice the inverse of that.
    """
    rho, B = np.broadcast_arrays(rho, B)
    found = np.where(np.isinf(B), 1.0, np.maximum(rho, -np.expm1(-B) * (rho == 0.0) * (1.0 - gamma(64))))
    own = (rho > 0.0) & (rho < 1.0) & (B > 0.0) & np.isfinite(B)
    rho, B, a = rho[own], B[own], 1.0 - order
    e, other = np.minimum(widening(rho, B, order), 1.0 - rho), 1.0 - rho
    # Logarithms of ratios are up to 750, and so many times as much is the error of their powers.
    operations = 4096.0 * (1.0 + abs(a)) + 24.0 * (2.0 + abs(a)) / (0.006 * order)
    operations += 8.0 * abs(a) * float(B.max(initial=0.0))
    with np.errstate(divide="ignore", over="ignore"):
        spent = -_power_remainder(e / rho, (rho + e) / rho, a) * rho
        spent -= _power_remainder(-e / other, (other - e) / other, a) * other
        most = (B if a == 0.0 else -np.expm1(-a * B) / a) * (1.0 - gamma(operations))
        share = np.where(spent > most, most / np.maximum(spent, most), 1.0)
    found[own] = (rho + share * e) * (1.0 - gamma(4))
    return found


def divergence_cost(D: float, order: float) -> float:
    """Return k(D) = (e^(g D) - 1)/g, g = 1 - 1/order, which groups of a ball share (see `renyi_ball`)."""
    g = (order - 1.0) / order
    with np.errstate(over="ignore"):
        return D if g == 0 else float(np.expm1(g * D) / g)


def widening(rho: FloatArray, B: FloatArray, order: float) -> FloatArray:
    """Return the largest m - rho of `two_cell_range`, as exact as B, however small."""
    rho, B = np.broadcast_arrays(rho, B)
    if order == 2:
        # The positive root of x^2 - spare (1 - 2 rho) x - spare rho (1 - rho), whichever way does not cancel.
        spare = -np.expm1(-B)
        linear, product = spare * (1.0 - 2.0 * rho), spare * rho * (1.0 - rho)
        root = np.sqrt(linear**2 + 4.0 * product)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(linear < 0, 2.0 * product / (root - linear), (root + linear) / 2.0)
    r = np.column_stack([rho.ravel(), 1.0 - rho.ravel()])
    values, log_t, _ = _solve(r, np.broadcast_to([0.0, 1.0], r.shape), B.ravel(), order)
    plain = 1.0 - values - r[:, 0]
    with np.errstate(invalid="ignore", over="ignore"):
        # The odds of the first letter grow by the factor (1 + t)^(1/order).
        growth = np.expm1(np.log1p(np.exp(np.minimum(log_t, 600.0))) / order)
        exact = r[:, 0] * r[:, 1] * growth / (1.0 + r[:, 0] * growth)
    return np.where(log_t < 600.0, np.where(np.isfinite(exact), exact, plain), plain).reshape(rho.shape)


@dataclass(frozen=True, eq=False)
class _Tilts:
    """The distributions R_u ~ r_u (1 + t z_u)^(-1/order) of m problems.

    r and z have shape (k, m), as sums over few letters are fast then; `floor` is the least z where r > 0.
    """

    r: FloatArray
    z: FloatArray
    floor: FloatArray
    mean: FloatArray
    order: float

    @classmethod
    def of(cls, r: FloatArray, z: FloatArray, order: float) -> _Tilts:
        """Return the tilts of distributions r in the directions z."""
        return cls(r, z, np.where(r > 0.0, z, np.inf).min(axis=0), (r * z).sum(axis=0), order)

    def take(self, rows: NDArray[Any]) -> _Tilts:
        """Return the problems with these indices or of this mask."""
        return _Tilts(self.r[:, rows], self.z[:, rows], self.floor[rows], self.mean[rows], self.order)

    def variances(self) -> FloatArray:
        """Return the variances of z under r, shape (m,)."""
        return np.asarray((self.r * (self.z - self.mean) ** 2).sum(axis=0))

    def divergence(self, log_t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return D(r || R), its derivative in log t, and sum_u R_u z_u, shape (m,) each."""
        r, z, order = self.r, self.z, self.order
        t = np.exp(log_t)
        unit = 1.0 + t * self.floor
        # Dividing by the smallest factor on the support keeps every sum within range.
        v = z * (t / unit)
        v += 1.0 / unit
        np.maximum(v, 1.0, out=v)
        h = r / np.sqrt(v) if order == 2.0 else r / v if order == 1.0 else r * v ** (-1.0 / order)
        zh = z * h
        W, moment = h.sum(axis=0), zh.sum(axis=0)
        T = (W + t * moment) / unit  # sum_u v_u h_u
        bent = (zh / v).sum(axis=0)
        if abs(order - 1.0) < SETTINGS.cancelling_order:
            # log T / (order - 1), by powers less 1, divided by g.
            g, log = 1.0 - 1.0 / order, np.log(v)
            part = (r * (np.expm1(g * log) / g if g != 0.0 else log)).sum(axis=0)
            if g != 0.0:
                part = np.where(g * part > -0.5, np.log1p(g * part), np.log(T)) / g
            D = np.log(W) + part / order
        else:
            D = np.log(W) + np.log(T) / (order - 1.0)
        slope = (moment / T - bent / W) * (t / unit) / order
        # Divergence, times the larger of the order and its inverse, below which sums of logarithms would
        # cancel.
        near = np.flatnonzero(1e-6 * max(order, 1.0 / order) > D)
        if near.size:
            D[near], slope[near] = self.take(near)._small_divergence(t[near])
        return D, slope, moment / W

    def _small_divergence(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return small D(r || R), R_u ~ r_u v_u^(-1/order), and derivatives in log t, without cancellation.

        With v = 1 + w, sum_u r_u w_u = 0, D = log E v^a + log E v^b / (order - 1), a = -1/order, b = 1 + a:
        logarithms that cancel up to the second order in w. So 1 + a w, the mean of which is 1, is taken out
        of each power beforehand. Where rare letters are far away, v is 1 for the heaviest letter instead of
        the mean, and nothing is taken out.
        """
        r, z, order, inverse = self.r, self.z, self.order, 1.0 / t
        by_mean = inverse + self.floor > 0.1 * (inverse + self.mean)
        heaviest = np.take_along_axis(z, r.argmax(axis=0)[None], axis=0)[0]
        middle = np.where(by_mean, self.mean, heaviest)
        unit, inside = inverse + middle, r > 0.0
        w = np.where(inside, (z - middle) / unit, 0.0)
        v = np.where(inside, (inverse + z) / unit, 1.0)
        log = np.where(w < -0.5, np.log(v), np.log1p(np.maximum(w, -0.5)))
        total, slope = np.zeros(t.size), np.zeros(t.size)
        for a, factor in ((-1.0 / order, -1.0 / order), (1.0 - 1.0 / order, 1.0 / order)):
            power = np.expm1(np.minimum(a * log, 700.0)) / a if a != 0.0 else log
            rest = (r * np.where(by_mean, _power_remainder(w, v, a), power)).sum(axis=0)
            change = np.exp(np.minimum((a - 1.0) * log, 700.0))
            change = np.where(by_mean, np.expm1((a - 1.0) * log), change)
            bent = (r * w * change).sum(axis=0)
            # log1p(a rest) / a, which is rest for a = 0 (order 1).
            total += factor * (np.log1p(a * rest) / a if a != 0.0 else rest)
            slope += factor * bent / (1.0 + a * rest)
        return total, slope / (t * unit)


def random_targets(rng: np.random.Generator, m: int, k: int) -> FloatArray:
    """Return random points of the simplex, shape (m, k), from near a vertex to the middle."""
    gamma = rng.gamma(rng.choice([0.1, 0.5, 2.0], size=(m, 1)), size=(m, k)) + 1e-300
    return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def push_out(r: FloatArray, target: FloatArray, B: FloatArray, order: float) -> FloatArray:
    """Return the last points of the simplex with D_order(r || R) <= B on rays from r to targets, by rows."""
    step = target - r
    # Where r is nearly the target, rounding in the difference must not be blown up on the way to the
    # boundary: the largest entry is made to balance the others.
    largest = np.abs(step).argmax(axis=-1)[..., None]
    balance = np.take_along_axis(step, largest, axis=-1) - step.sum(axis=-1, keepdims=True)
    np.put_along_axis(step, largest, balance, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exits = np.where(step < 0, -r / step, np.inf).min(axis=1)
    hi = np.where(np.isfinite(exits), exits, 0.0)
    lo = np.zeros_like(hi)
    last = hi.copy()
    for _ in range(70):
        middle = 0.5 * (lo + hi)
        inside = renyi_divergences(r, np.maximum(r + middle[:, None] * step, 0.0), order) <= B
        lo, hi = np.where(inside, middle, lo), np.where(inside, hi, middle)
    whole = renyi_divergences(r, np.maximum(r + last[:, None] * step, 0.0), order) <= B
    return np.asarray(np.maximum(r + np.where(whole, last, lo)[:, None] * step, 0.0))
