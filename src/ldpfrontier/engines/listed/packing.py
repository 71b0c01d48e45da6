r"""Mutual information with many inputs: mechanisms made of packings, which nearly attain the converse.

The bound of `converse` is attained if the inputs that are not alone, of total probability r, can be packed
into sets of probability q each, every input into as many sets as every other. So N bins are filled with D
copies of every input, D / N near q / r, the largest inputs first into the least loaded bins, and then inputs
change places until all bins weigh nearly the same. A relative deviation d of a bin from q costs
(1 - 1 / z)^2 d^2 / 2 nats, z = 1 + (e^eps - 1) q. The mechanism names an input alone, or a bin, with e^eps
times the probability if it is, or contains, the true one.

Column generation over the sets of such packings closes the gap that is left where inputs are few
(`set_pricing`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.smoothed import generate, start_columns
from ldpfrontier.engines.listed.converse import ColumnValue, converse
from ldpfrontier.engines.listed.set_pricing import ALIKE, SetFamily
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import BoundError, Optimum, certified, fell_back, one_line
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.deadline import time_is_up
from ldpfrontier.numerics.rounding import column_value, gamma, normalization, storage
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.numerics.subset_sums import balanced_set


def optimal_packing(
    utility: MutualInformation,
    epsilon: float,
    *,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> Optimum:
    """Find a nearly optimal eps-LDP mechanism for many inputs, with a certificate.

    Arguments and result are those of `optimal_ldp`. Up to `max_generation_inputs` inputs columns are
    generated where a packing leaves a gap, in at most 500,000 / k^2 rounds, which
    keeps the time to seconds.
    """
    prior = utility.prior
    k, limit = len(prior), converse(prior, epsilon)
    error = BoundError(storage(epsilon) * limit.bound)
    small = k <= LIMITS.max_generation_inputs
    most = max(SETTINGS.max_channel_entries // k, 2)
    # Where even the inputs alone are too many outputs, only the likeliest are.
    alone = np.argsort(-prior, kind="stable")[: min(int(limit.alone.sum()), most // 2)]
    rest = np.setdiff1d(np.arange(k), alone)
    cost = GENERATION.inner_share * tolerance * limit.bound
    z = 1.0 + math.expm1(epsilon) * limit.target
    deviation = math.sqrt(2.0 * cost) / max(1.0 - 1.0 / z, 1e-9)
    bins = max(min(most, LIMITS.max_generation_inputs if small else k) - len(alone), 1)
    copies, number = _design(prior[rest], limit.target, bins, deviation)
    inside, best = np.zeros((k, number), dtype=bool), None
    inside[rest] = pack(prior[rest], number, copies, deviation)
    if len(alone) + number <= k:
        channel, value = _mechanism(prior, alone, inside, copies, epsilon)
        best = certified(channel, value, limit.bound, tolerance, unit=utility.unit, error=error)
        if best.gap <= tolerance or not small:
            return best
    if best is None or epsilon < SETTINGS.least_generation_epsilon:
        channel, value = _two_halves(prior, epsilon, deviation)
        halved = certified(channel, value, limit.bound, tolerance, unit=utility.unit, error=error)
        best = halved if best is None or halved.value > best.value else best
    if epsilon < SETTINGS.least_generation_epsilon:
        fell_back(f"the packing alone, as epsilon is below {SETTINGS.least_generation_epsilon:g}")
        return best
    sets = np.unique(np.hstack([np.eye(k, dtype=bool)[:, alone], inside]), axis=1).T
    first = [utility.columns(np.where(sets, 1.0, math.exp(-epsilon))), *start_columns(start, utility)]
    try:
        generated = generate(
            SetFamily(prior, epsilon, cost),
            Columns.join(first),
            utility,
            tolerance=tolerance,
            max_rounds=min(max_rounds, 500_000 // k**2),
            stable_duals=limit.duals,
        )
    except (ArithmeticError, RuntimeError, ValueError) as failure:
        fell_back(f"the packing alone, as column generation failed: {one_line(failure)}")
        return best  # columns in ratio 1e8 and a prior below 1e-12 are beyond the digits of a linear program
    of_values = gamma(column_value(epsilon) + 16.0) + ALIKE + 2.0 * normalization(prior)
    bound = generated.bound * (1.0 + of_values) + max(limit.bound - float(limit.duals.sum()), 0.0)
    bound = min(bound, limit.bound)
    return certified(generated.channel, generated.value, bound, tolerance, generated.iterations, error=error)


def _design(masses: FloatArray, target: float, most: int, deviation: float) -> tuple[int, int]:
    """Return copies and bins, of which there are at most `most`, such that a bin weighs nearly `target`."""
    if not masses.size:
        return 1, 0
    fraction = min(max(target / float(masses.sum()), 1e-9), 1.0)
    copies = np.arange(1, most + 1)
    bins = np.clip(np.rint(copies / fraction), copies, most).astype(int)
    error = np.abs(bins * fraction / copies - 1.0)
    best = np.lexsort((bins, np.maximum(error, deviation)))[0]
    return int(copies[best]), int(bins[best])


def pack(masses: FloatArray, bins: int, copies: int, deviation: float) -> NDArray[np.bool_]:
    """Put every item into `copies` of the bins, so that all bins weigh nearly the same; mask (n, bins).

    It ends at a relative standard deviation of the weights.
    """
    inside, load = np.zeros((len(masses), bins), dtype=bool), np.zeros(bins)
    for x in np.argsort(-masses, kind="stable"):
        least = np.argpartition(load, copies - 1)[:copies]
        inside[x, least] = True
        load[least] += masses[x]
    random = np.random.default_rng(0)
    for i in range(GENERATION.usual_rounds if bins > 1 else 0):
        if load.std() <= deviation * load.mean() or time_is_up():
            break
        # The heaviest with the lightest, and in every other pass any with any.
        order = np.argsort(load) if i % 2 == 0 else random.permutation(bins)
        for a, b in zip(order[: bins // 2], order[::-1], strict=False):
            _equalize(masses, inside, load, *((a, b) if load[a] <= load[b] else (b, a)))
    return inside


def _equalize(
    masses: FloatArray, inside: NDArray[np.bool_], load: FloatArray, light: int, heavy: int
) -> None:
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
    change = masses[item] - back[other]
    load[heavy] -= change
    load[light] += change


def _two_halves(prior: FloatArray, epsilon: float, deviation: float) -> tuple[Channel, float]:
    """Return the mechanism that names one of two halves of the inputs, nearly the best at tiny epsilon."""
    half = balanced_set(prior) if len(prior) <= NUMERICS.max_partition else pack(prior, 2, 1, deviation)[:, 0]
    nobody = np.zeros(0, dtype=np.int64)
    return _mechanism(prior, nobody, np.column_stack([half, ~half]), 1, epsilon)


def _mechanism(
    prior: FloatArray, alone: NDArray[np.int64], inside: NDArray[np.bool_], copies: int, epsilon: float
) -> tuple[Channel, float]:
    """Name an input alone or a bin, e^eps times as likely if it is, or contains, the true one.

    The mutual information in nats is returned, too, before entries are rounded.
    """
    floor, share = math.exp(-epsilon), -math.expm1(-epsilon)
    k, bins = inside.shape
    matrix = np.full((k, len(alone) + bins), floor)
    matrix[alone, np.arange(len(alone))] = 1.0
    matrix[:, len(alone) :][inside] = 1.0
    matrix[:, len(alone) :] /= copies
    total = floor * (len(alone) + bins / copies) + share
    m = ColumnValue(epsilon)
    packed = m(prior @ inside, prior @ ~inside)
    value = float(m.of_inputs(prior)[alone].sum()) + float(packed.sum()) / copies
    return Channel(matrix / total), max(value * floor / total, 0.0)
