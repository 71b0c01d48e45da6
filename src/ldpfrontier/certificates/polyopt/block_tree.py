r"""Trees of letters that prove max {f(w) - lam z(w) : w in K, z(w) in [a, b]} <= h for one block of PolyOpt.

Here K = {w >= 0 : rest max w + L . w <= top, rest min w + L . w >= 1}, z(w) = P . w, and f(w) is convex and a
sum over the letters, sum_u P_u w_u log w_u - c_u w_u. With d = (top - 1) / rest and l = L(T), f is largest at
one of the vertices ::

    both:   1 - d l + d on T, 1 - d l off T            (d l <= 1)
    upper:  top / (rest + l) on T, 0 off T             (d l >= 1)
    third:  d on T, (1 - d l) / L_j at one letter j, 0 elsewhere.

Each kind is a curve along which one value x moves with l. For letters of which some are decided to be in T or
off it, the equation of l is relaxed with a multiplier y, and z(w) in [a, b] with a multiplier mu, the tilt:
what is left is a sum over the letters of maxima of convex functions of x, largest at an end of the range of x
that the decided letters leave. A node whose bound is above h is split at a letter.

These are the rules of `ldpfrontier.verify`, in floating point: that program proves what is found here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpfrontier.certificates.polyopt.settings import SETTINGS
from ldpfrontier.numerics.jit import inner, inner_with_arrays, kernel
from ldpfrontier.types import FloatArray

LEAST, LARGEST, THIRD, FREE = 0, 1, 2, -1
_STEPS = SETTINGS.multiplier_steps
_DIGITS = SETTINGS.digits
_ERROR = SETTINGS.excess_error


class BlockData(NamedTuple):
    """A block of PolyOpt, and what is to be proved of it."""

    letters: FloatArray  # (3, a2): P, c with lam P added, and L
    rest: float
    width: float  # d
    top: float
    low: float  # the ends of z
    high: float
    target: float  # h


class Ends(NamedTuple):
    """Space for the ends of the curves of a node: four at most."""

    found: NDArray[np.int64]  # (2,): how many ends, and curves
    #: (4, 7): the value x that moves, what does not depend on y or the tilt, the factors of y and of y L_u at
    #: the largest value, z of the third letter, and the least and the largest value, by which P_u is z_u.
    numbers: FloatArray
    terms: FloatArray  # (4, 2, a2): of every letter at the least and at the largest value


@inner_with_arrays
def _new_ends(letters: int) -> Ends:
    """Return space for the ends of the curves of a node."""
    return Ends(np.zeros(2, dtype=np.int64), np.zeros((4, 7)), np.zeros((4, 2, letters)))


@inner
def _find_ends(block: BlockData, side: NDArray[np.int8], ends: Ends) -> None:
    """Find the ends of the curves of a node, none if it has no vertex."""
    P, c, L = block.letters[0], block.letters[1], block.letters[2]
    found, numbers, d = ends.found, ends.numbers, block.width
    low, free, third = 0.0, 0.0, -1
    for u in range(side.size):
        if side[u] == LARGEST:
            low += L[u]
        elif side[u] == FREE:
            free += L[u]
        elif side[u] == THIRD:
            third = u
    most, fewest = 1.0 - d * low, 1.0 - d * (low + free)
    found[0] = found[1] = upper = 0
    if third >= 0:
        a, b = max(fewest / L[third], 0.0), min(most / L[third], d)
        if a > b:
            return
        numbers[0, 0], numbers[1, 0] = a, b
        found[0], found[1] = 2, 1
    else:
        if most >= 0.0:
            numbers[0, 0], numbers[1, 0] = max(fewest, 0.0), most
            found[0], found[1] = 2, 1
        upper = found[0]
        if fewest <= 0.0:
            numbers[upper, 0] = block.top / (block.rest + low + free)
            numbers[upper + 1, 0] = min(block.top / (block.rest + low), d)
            found[0] += 2
            found[1] += 1
    for k in range(found[0]):
        x = numbers[k, 0]
        numbers[k, 1], numbers[k, 2], numbers[k, 3], numbers[k, 4] = 0.0, 1.0 - x, d, 0.0
        a, b = x, x + d
        if third >= 0:
            numbers[k, 1] = P[third] * (x * np.log(x) if x > 0.0 else 0.0) - c[third] * x
            numbers[k, 2], numbers[k, 4] = 1.0 - L[third] * x, P[third] * x
            a, b = 0.0, d
        elif k >= upper:
            numbers[k, 2], numbers[k, 3] = block.top - block.rest * x, x
            a, b = 0.0, x
        numbers[k, 5], numbers[k, 6] = a, b
        h = a * np.log(a) if a > 0.0 else 0.0
        g = b * np.log(b)
        for u in range(side.size):
            ends.terms[k, 0, u] = P[u] * h - c[u] * a
            ends.terms[k, 1, u] = P[u] * g - c[u] * b


@inner
def _at(block: BlockData, side: NDArray[np.int8], ends: Ends, y: float, tilt: float) -> tuple[float, float]:
    """Return the bound of a node with multipliers, and its slope in y."""
    P, L = block.letters[0], block.letters[2]
    best, best_slope = -np.inf, 0.0
    for k in range(ends.found[0]):
        row = ends.numbers[k]
        slope, price, a, b = row[2], row[3], row[5], row[6]
        total = row[1] + y * slope - tilt * row[4]
        for u in range(side.size):
            if side[u] == THIRD:
                continue
            low = ends.terms[k, 0, u] - tilt * P[u] * a
            high = ends.terms[k, 1, u] - tilt * P[u] * b - y * price * L[u]
            if side[u] == LARGEST or (side[u] == FREE and high > low):
                total += high
                slope -= price * L[u]
            else:
                total += low
        if total > best:
            best, best_slope = total, slope
    return best + max(tilt * block.low, tilt * block.high), best_slope


@inner
def _least(
    block: BlockData, side: NDArray[np.int8], ends: Ends, tilt: float, enough: float
) -> tuple[float, float]:
    """Return the least bound of a node over y, or one that is low enough, and its y.

    It is convex and piecewise linear: the next y is where the tangents on both sides meet. Where they meet
    above what is enough, a share of what is missing is left as an error.
    """
    P, L = block.letters[0], block.letters[2]
    most = 0.0
    for k in range(ends.found[0]):
        price, a, b = ends.numbers[k, 3], ends.numbers[k, 5], ends.numbers[k, 6]
        for u in range(side.size):
            if side[u] == FREE and L[u] > 0.0:
                change = ends.terms[k, 1, u] - ends.terms[k, 0, u] - tilt * P[u] * (b - a)
                most = max(most, abs(change) / (price * L[u]))
    # At larger multipliers all letters are where they are at these.
    low, high, y, best, best_y = -2.0 * most, 2.0 * most, 0.0, np.inf, 0.0
    falling, rising, low_bound, high_bound = 0.0, 0.0, 0.0, 0.0
    for step in range(_STEPS):
        bound, slope = _at(block, side, ends, y, tilt)
        if bound < best:
            best, best_y = bound, y
        if best <= enough or most == 0.0 or slope == 0.0:
            break
        if slope > 0.0:
            high, high_bound, rising = y, bound, slope
        else:
            low, low_bound, falling = y, bound, slope
        y = 0.5 * (low + high)
        if falling < 0.0 < rising:
            meeting = (low_bound - falling * low - high_bound + rising * high) / (rising - falling)
            least = low_bound + falling * (meeting - low)
            if least > enough and best - least <= _ERROR * (best - enough):
                break
            if low < meeting < high and step % 4 < 3:
                y = meeting
    return best, best_y


@inner
def _rounded(x: float, digits: int) -> float:
    """Return x with so many significant digits."""
    if x == 0.0:
        return 0.0
    power = digits - 1 - math.floor(math.log10(abs(x)))
    unit = 10.0 ** abs(power)
    return float(np.rint(x * unit) / unit if power >= 0 else np.rint(x / unit) * unit)


@inner
def _excess(block: BlockData, side: NDArray[np.int8], ends: Ends, tilt: float) -> float:
    """Return how far a node is from being proved; 0 if it has no vertex."""
    _find_ends(block, side, ends)
    if ends.found[0] == 0:
        return 0.0
    return max(_least(block, side, ends, tilt, block.target)[0] - block.target, 0.0)


@inner
def _exact_tilt(block: BlockData, side: NDArray[np.int8], ends: Ends, bound: float) -> float:
    """Return a tilt that proves a node of a single vertex with z out of range; 0 if it is in range."""
    least, most = np.inf, -np.inf
    for k in range(ends.found[0]):
        z = ends.numbers[k, 4]
        for u in range(side.size):
            if side[u] != THIRD:
                z += block.letters[0, u] * ends.numbers[k, 6 if side[u] == LARGEST else 5]
        least, most = min(least, z), max(most, z)
    needed = 2.0 * (bound - block.target)
    if least > block.high:
        return needed / (least - block.high)
    if most < block.low:
        return -needed / (block.low - most)
    return 0.0


@inner
def _best_letter(block: BlockData, side: NDArray[np.int8], ends: Ends, tilt: float) -> int:
    """Return the free letter whose children are nearest to being proved, -1 if there is none."""
    curves, found, least = ends.found[1], -1, np.inf
    for u in range(side.size):
        if side[u] != FREE:
            continue
        total = 0.0
        for where in range(3):
            if where == THIRD and (curves < 2 or block.letters[2, u] == 0.0):
                continue
            side[u] = where
            total += _excess(block, side, ends, tilt)
            if total >= least:
                break
        side[u] = FREE
        if total < least:
            found, least = u, total
    return found


@kernel
def block_tree(block: BlockData, tilts: FloatArray, most: int) -> tuple[NDArray[np.int64], FloatArray, float]:
    """Find a tree of letters that proves the bound of a block.

    Parameters
    ----------
    block : BlockData
    tilts : ndarray
        Multipliers of the ends of z to try, 0 first.
    most : int
        Nodes at which to give up.

    Returns
    -------
    letters : ndarray of int
        The nodes in preorder: the letter of a split, or -1 for a leaf. Empty if there were too many.
    multipliers : ndarray, shape (nodes, 2)
        y and the tilt of leaves.
    bound : float
        The largest bound of a leaf, which is above the target if single vertices are.
    """
    n = block.letters.shape[1]
    letters, multipliers = np.empty(most, dtype=np.int64), np.zeros((most, 2))
    ends, other = _new_ends(n), _new_ends(n)
    pending = np.empty((3 * n + 3, n), dtype=np.int8)
    pending[0] = FREE
    waiting, nodes, worst = 1, 0, -np.inf
    while waiting > 0:
        waiting -= 1
        side = pending[waiting].copy()
        if nodes == most:
            return letters[:0], multipliers[:0], np.inf
        _find_ends(block, side, ends)
        bound, y, tilt = np.inf, 0.0, 0.0
        for trial in tilts:
            value, at = _least(block, side, ends, trial, block.target)
            if value < bound:
                bound, y, tilt = value, at, trial
            if bound <= block.target:
                break
        letter = -1
        if bound > block.target:
            letter = _best_letter(block, side, other, tilt) if ends.found[1] > 0 else -1
            if letter < 0:
                exact = _exact_tilt(block, side, ends, _at(block, side, ends, 0.0, 0.0)[0])
                if exact != 0.0:
                    y, tilt = 0.0, exact
        letters[nodes] = letter
        if letter < 0:
            for digits in _DIGITS:
                multipliers[nodes, 0], multipliers[nodes, 1] = _rounded(y, digits), _rounded(tilt, digits)
                bound = _at(block, side, ends, multipliers[nodes, 0], multipliers[nodes, 1])[0]
                if bound <= block.target:
                    break
            worst = max(worst, bound)
        else:
            for where in (THIRD, LEAST, LARGEST):
                if where == THIRD and (ends.found[1] < 2 or block.letters[2, letter] == 0.0):
                    continue
                side[letter] = where
                _find_ends(block, side, other)
                if other.found[0] > 0:
                    # One by one: an assignment of arrays compiles what to say of other shapes as well.
                    for u in range(n):
                        pending[waiting, u] = side[u]
                    waiting += 1
        nodes += 1
    return letters[:nodes], multipliers[:nodes], worst
