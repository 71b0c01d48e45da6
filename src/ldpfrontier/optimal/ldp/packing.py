r"""Mutual information with many inputs: a converse for every prior, and mechanisms that nearly attain it.

Write t = e^eps and phi(x) = (1 + x) log(1 + x) - x. A staircase column with entries t on T and 1 off it is
worth m(P(T)), a concave function of the probability of T alone::

    m(p) = p phi(t - 1) - phi((t - 1) p),        m(0) = 0.

**Converse.** With prices beta_x / (t - 1) of the inputs, and A at least m(P(T)) - beta(T) for every T, every
eps-LDP mechanism has I(X;Y) <= max(A, sum(beta) / (t - 1)). Take any z in (1, t], q = (z - 1) / (t - 1) and
lam = m'(q). Inputs above q are *alone*, with beta_x = m(P_x) - A; the rest, of probability r, have
beta_x = lam P_x. Let A be at least the largest m(s) - lam s with s <= r, and at most m(q) - lam q =
z - 1 - log z. Then A is as it has to be:

- A set of inputs of the rest has m(s) - lam s <= A.
- The set {x} of an input alone has m(P_x) - beta_x = A. Beyond P_x > q the slope of m is at most lam, so that
  no input of the rest adds to it. Nor does another alone, y: m(P_x + P_y) - m(P_x) <= m(q + P_y) - m(q) by
  concavity, at most m(P_y) - m(q) + lam q <= m(P_y) - A = beta_y, as the slope beyond P_y is at most lam.

With nobody alone, the best z = eps t / (t - 1) gives I(X;Y) <= C(eps) = z - 1 - log z, whatever the prior and
the number of inputs. With everybody alone the bound is the value of randomized response.

**Packing.** The bound is attained when the rest can be packed: into sets of probability q, every input into
as many of them as every other. So N bins are filled with D copies of every input, D / N near q / r, the
largest inputs first into the least loaded bins, and then inputs change places until all bins weigh nearly the
same. A relative deviation from q costs its square. The mechanism names an input alone, or a bin, with e^eps
times the probability if it is, or has, the true one.

**Column generation** over the sets of such packings closes what is left where inputs are few. Sets are priced
by branch and bound, the likeliest inputs first, those to come taken for divisible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.channel import Channel
from ldpfrontier.information import excess, relative_excess
from ldpfrontier.numerics.subset_sums import MAX_PARTITION, balanced_set
from ldpfrontier.optimal.column_generation.smoothed import BATCH, generate
from ldpfrontier.optimum import Optimum, certified
from ldpfrontier.types import FloatArray
from ldpfrontier.utility import Columns, MutualInformation

#: Most inputs for which columns are generated, in at most WORK / k^2 rounds, and packings to start with.
MAX_MASTER, WORK, PACKINGS = 256, 500_000, 3

#: Least epsilon at which columns are generated.
LEAST_EPSILON = 1e-4

#: Most entries of a channel: 80 MB.
MAX_ENTRIES = 10_000_000

#: Share of the tolerance that the deviations of bins may cost; most passes over all pairs of bins.
SHARE, PASSES = 0.1, 30

#: Sets kept in all steps of a branch and bound together, by effort.
WIDTHS = (20_000, 320_000)


@dataclass(frozen=True, eq=False)
class Converse:
    """An upper bound on the mutual information of every eps-LDP mechanism, with its prices.

    Attributes
    ----------
    bound : float
        In nats.
    prices : ndarray, shape (k,)
        No staircase column has a positive reduced cost, to rounding; their sum is the bound.
    aim : float
        The probability that a set of inputs that are not alone should have.
    alone : ndarray of bool, shape (k,)
    """

    bound: float
    prices: FloatArray
    aim: float
    alone: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Worth:
    """What a staircase column with entries e^eps and 1 is worth, m(p), by the probability p of its set."""

    epsilon: float

    @cached_property
    def rise(self) -> float:
        """e^eps - 1."""
        return math.expm1(self.epsilon)

    @cached_property
    def first(self) -> float:
        """The slope of m at 0."""
        return excess(self.rise)

    def __call__(self, p: FloatArray) -> FloatArray:
        """Return m(p)."""
        return np.asarray(p * self.first - relative_excess(self.rise * p))

    def single(self, p: float) -> float:
        """Return m(p) of one p."""
        return p * self.first - excess(self.rise * p)

    def slope(self, p: float) -> float:
        """Return m'(p)."""
        return self.first - self.rise * math.log1p(self.rise * p)

    def at_slope(self, slopes: FloatArray) -> FloatArray:
        """Return where m has the given slopes; below 0 for those it has nowhere."""
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(np.minimum((self.first - slopes) / self.rise, 700.0)) / self.rise)


def converse(prior: FloatArray, epsilon: float) -> Converse:
    """Bound the mutual information of all eps-LDP mechanisms, in O(k log k).

    Parameters
    ----------
    prior : ndarray, shape (k,)
    epsilon : float
        In nats, > 0.
    """
    worth = Worth(epsilon)
    falling = np.sort(prior)[::-1]
    value = np.append(0.0, np.cumsum(worth(falling)))
    left = np.append(np.cumsum(falling[::-1])[::-1], 0.0)  # from the least on: 1 less the others loses digits

    def at(q: float) -> tuple[float, float, float, float]:
        """Return the best A, its least, lam and the bound."""
        alone = int(np.searchsorted(-falling, -q))
        rest, lam = float(left[alone]), worth.slope(q)
        least, most = (worth.single(s) - lam * s for s in (min(q, rest), q))
        fair = (lam * rest + float(value[alone])) / (worth.rise + alone)
        A = min(max(fair, least), most)
        return A, fair - least, lam, max(A, (lam * rest + float(value[alone]) - alone * A) / worth.rise)

    low, high = 0.0, worth.first / worth.rise**2
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if at(middle)[1] >= 0.0 else (low, middle)
    q = min(low, high, key=lambda q: at(q)[3])
    A, _, lam, bound = at(q)
    alone = prior > q
    prices = np.where(alone, worth(prior) - A, lam * prior) / worth.rise
    prices = prices + max(bound - float(prices.sum()), 0.0) * prior
    return Converse(bound, prices, min(q, float(prior[~alone].sum())), alone)


def optimal_packing(
    utility: MutualInformation,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> Optimum:
    """Find a nearly optimal eps-LDP mechanism for many inputs, with a certificate.

    Arguments and result are those of `optimal_ldp`. Up to `MAX_MASTER` inputs columns are generated where a
    packing leaves a gap, in at most `WORK` / k^2 rounds.
    """
    prior = utility.prior
    k, limit = len(prior), converse(prior, epsilon)
    small = k <= MAX_MASTER
    most = max(MAX_ENTRIES // k, 2)
    # Where even the inputs alone are too many outputs, only the likeliest are.
    alone = np.argsort(-prior, kind="stable")[: min(int(limit.alone.sum()), most // 2)]
    rest = np.setdiff1d(np.arange(k), alone)
    z = 1.0 + math.expm1(epsilon) * limit.aim
    # A relative deviation d of a bin costs (1 - 1 / z)^2 d^2 / 2 nats.
    spread = math.sqrt(2.0 * SHARE * tolerance * limit.bound) / max(1.0 - 1.0 / z, 1e-9)
    bins = max(min(most, MAX_MASTER if small else k) - len(alone), 1)
    found, best = [np.eye(k, dtype=bool)[:, alone]], None
    for copies, number in _designs(prior[rest], limit.aim, bins, spread)[: PACKINGS if small else 1]:
        inside = np.zeros((k, number), dtype=bool)
        inside[rest] = pack(prior[rest], number, copies, spread)
        found.append(inside)
        if len(alone) + number <= k:
            channel, value = _packed(prior, alone, inside, copies, epsilon)
            packed = certified(channel, value, limit.bound, tolerance, unit=utility.unit)
            if packed.gap <= tolerance or not small:
                return packed
            best = packed if best is None or packed.value > best.value else best
    if epsilon < LEAST_EPSILON:
        # Columns are too near to each other for a linear program: two halves are nearly the best there is.
        half = balanced_set(prior) if k <= MAX_PARTITION else pack(prior, 2, 1, spread)[:, 0]
        half = np.column_stack([half, ~half])
        channel, value = _packed(prior, alone[:0], half, 1, epsilon)
        halved = certified(channel, value, limit.bound, tolerance, unit=utility.unit)
        return halved if best is None or halved.value > best.value else best
    sets = np.unique(np.hstack(found), axis=1).T
    first = [utility.columns(np.where(sets, 1.0, math.exp(-epsilon)))]
    if start is not None:
        first.append(utility.columns(np.compress(start.matrix.any(axis=0), start.matrix, axis=1).T))
    return generate(
        Sets(prior, epsilon, SHARE * tolerance * limit.bound),
        Columns.join(first),
        utility,
        tolerance=tolerance,
        max_rounds=min(max_rounds, WORK // k**2),
        stable_prices=limit.prices,
    )


def _designs(masses: FloatArray, aim: float, most: int, spread: float) -> list[tuple[int, int]]:
    """Return numbers of copies and of bins, at most `most`, with bins that weigh nearly `aim` first."""
    if not masses.size:
        return [(1, 0)]
    fraction = min(max(aim / float(masses.sum()), 1e-9), 1.0)
    copies = np.arange(1, most + 1)
    bins = np.clip(np.rint(copies / fraction), copies, most).astype(int)
    error = np.abs(bins * fraction / copies - 1.0)
    return [(int(copies[i]), int(bins[i])) for i in np.lexsort((bins, np.maximum(error, spread)))]


def pack(masses: FloatArray, bins: int, copies: int, spread: float) -> NDArray[np.bool_]:
    """Put every item into the same number of bins, so that all bins weigh nearly the same.

    Parameters
    ----------
    masses : ndarray, shape (n,)
    bins, copies : int
        Every item gets into `copies` of the `bins`.
    spread : float
        Relative standard deviation of the weights at which to stop.

    Returns
    -------
    ndarray of bool, shape (n, bins)
    """
    inside, load = np.zeros((len(masses), bins), dtype=bool), np.zeros(bins)
    for x in np.argsort(-masses, kind="stable"):
        least = np.argpartition(load, copies - 1)[:copies]
        inside[x, least] = True
        load[least] += masses[x]
    random = np.random.default_rng(0)
    for i in range(PASSES if bins > 1 else 0):
        if load.std() <= spread * load.mean():
            break
        # The heaviest with the lightest, and in every other pass any with any.
        order = np.argsort(load) if i % 2 == 0 else random.permutation(bins)
        for a, b in zip(order[: bins // 2], order[::-1], strict=False):
            _level(masses, inside, load, *((a, b) if load[a] <= load[b] else (b, a)))
    return inside


def _level(masses: FloatArray, inside: NDArray[np.bool_], load: FloatArray, light: int, heavy: int) -> None:
    """Move an item from the heavier of two bins to the lighter, or exchange two, if that levels them."""
    want = (load[heavy] - load[light]) / 2.0
    down = np.flatnonzero(inside[:, heavy] & ~inside[:, light])
    up = np.flatnonzero(inside[:, light] & ~inside[:, heavy])
    if not down.size or want <= 0.0:
        return
    up = up[np.argsort(masses[up], kind="stable")]
    back = np.concatenate([np.zeros(1), masses[up]])
    above = np.clip(np.searchsorted(back, masses[down] - want), 1, max(len(back) - 1, 1))
    near = np.minimum(np.stack([above - 1, above]), len(back) - 1)
    error = np.abs(masses[down] - want - back[near])
    side, i = np.unravel_index(int(error.argmin()), error.shape)
    if error[side, i] >= want * (1.0 - 1e-9):
        return
    item, other = down[i], near[side, i]
    inside[item, [heavy, light]] = False, True
    if other > 0:
        inside[up[other - 1], [heavy, light]] = True, False
    moved = masses[item] - back[other]
    load[heavy] -= moved
    load[light] += moved


def _packed(
    prior: FloatArray, alone: NDArray[np.int64], inside: NDArray[np.bool_], copies: int, epsilon: float
) -> tuple[Channel, float]:
    """Name an input alone or a bin, e^eps times as likely if it is, or has, the true one.

    Returns
    -------
    channel : Channel
    value : float
        Its mutual information in nats, before the entries are rounded.
    """
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k, bins = inside.shape
    matrix = np.full((k, len(alone) + bins), floor)
    matrix[alone, np.arange(len(alone))] = 1.0
    matrix[:, len(alone) :][inside] = 1.0
    matrix[:, len(alone) :] /= copies
    total = floor * (len(alone) + bins / copies) + share
    worth = Worth(epsilon)
    value = float(worth(prior[alone]).sum()) + float(worth(prior @ inside).sum()) / copies
    return Channel(matrix / total), max(value * floor / total, 0.0)


@dataclass(frozen=True, eq=False)
class Sets:
    """All 2^k staircase columns, priced by branch and bound.

    Parameters
    ----------
    prior : ndarray, shape (k,)
    epsilon : float
        In nats, > 0.
    resolution : float
        In nats: reduced costs up to here are not looked for.
    """

    prior: FloatArray
    epsilon: float
    resolution: float
    efforts: int = len(WIDTHS)

    @property
    def scale(self) -> FloatArray:
        """The prior, shape (k,)."""
        return self.prior

    def price(self, prices: FloatArray, effort: int) -> tuple[float, Columns]:
        """Bound the reduced costs of all columns from above; offer the best sets found.

        Inputs are decided one after the other, the likeliest first. A set is dropped when it cannot gain
        enough even if the inputs to come are divisible, or when there are too many that are better, which
        the bound then allows for. Before they are scaled columns have Z >= 1, and reduced costs no smaller.
        """
        worth = Worth(self.epsilon)
        order = np.argsort(-self.prior, kind="stable")
        mass, cost = self.prior[order], worth.rise * prices[order]
        with np.errstate(over="ignore"):
            density = cost / mass
        cheap = np.argsort(density, kind="stable")
        until = worth.at_slope(density)
        p, spent, bound = np.zeros(1), np.full(1, float(prices.sum())), self.resolution
        width = WIDTHS[effort] // len(mass)
        history: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        for i in range(len(mass)):
            rest = cheap[cheap > i]
            parent, taken = np.tile(np.arange(len(p)), 2), np.repeat([False, True], len(p))
            p, spent = p[parent] + taken * mass[i], spent[parent] + taken * cost[i]
            gain = _completed(worth, p, mass[rest], cost[rest], until[rest]) - spent
            kept = np.flatnonzero(gain > self.resolution)
            if len(kept) > width:
                # Of sets that are equally likely, the cheapest is as good as any.
                likely = np.rint(p[kept] * 2.0**50)
                ranked = np.lexsort((spent[kept], likely))
                kept = kept[ranked[np.append(True, np.diff(likely[ranked]) > 0)]]
            if len(kept) > width:
                gain = gain[kept] / (1.0 + worth.rise * p[kept])
                ranked = np.argsort(-gain, kind="stable")
                kept, bound = kept[ranked[:width]], max(bound, float(gain[ranked[width]]))
            history.append((parent[kept], taken[kept]))
            p, spent = p[kept], spent[kept]
        reduced = (worth(p) - spent) / (1.0 + worth.rise * p)
        bound = max(bound, float(reduced.max(initial=0.0)))
        best = np.argsort(-reduced, kind="stable")[:BATCH]
        sets = np.zeros((len(best), len(mass)), dtype=bool)
        for x, (parent, taken) in zip(order[::-1], reversed(history), strict=True):
            sets[:, x] = taken[best]
            best = parent[best]
        utility = MutualInformation(self.prior)
        return bound, utility.columns(np.where(sets, 1.0, math.exp(-self.epsilon)))


def _completed(
    worth: Worth, p: FloatArray, mass: FloatArray, cost: FloatArray, until: FloatArray
) -> FloatArray:
    """Return the most that m(p + s) less the cost of s can be, with s made of divisible items, for all p.

    The items are in the order of cost / mass, the slope of m at `until`: they are taken as long as p + s is
    below that.
    """
    before = np.concatenate([np.zeros(1), np.cumsum(mass)])
    paid = np.concatenate([np.zeros(1), np.cumsum(cost)])
    # Item j is begun where p + before[j] < until[j], and taken whole where p + before[j + 1] < until[j].
    turns = np.column_stack([until - before[:-1], until - before[1:]]).ravel()
    count = np.searchsorted(-np.minimum.accumulate(turns), -p, side="left")
    whole, part = count // 2, count % 2 == 1
    taken, price = before[whole], paid[whole]
    j = whole[part]
    taken[part] = until[j] - p[part]
    price[part] += cost[j] / mass[j] * (taken[part] - before[j])
    x = worth.rise * (p + taken)
    # `Worth` itself keeps more digits where x is small, which is of no use here and takes longer.
    return np.asarray((p + taken) * worth.first - ((1.0 + x) * np.log1p(x) - x) - price)
