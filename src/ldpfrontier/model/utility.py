"""Utility functions that are sums over the columns of a channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import f_divergence, mutual_information, relative_excess
from ldpfrontier.model.optimum import Unit
from ldpfrontier.numerics.arguments import as_distribution, check_callable
from ldpfrontier.numerics.jit import kernel
from ldpfrontier.numerics.rounding import UNIT_ROUNDOFF, gamma
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.numerics.subset_sums import balanced_set, subset_sums

#: Twice the unit roundoff: so many operations of it are more than their gamma.
_UNIT = 2.0 * UNIT_ROUNDOFF
#: Step of the finite difference that gives the slope of a generator at 1.
_GENERATOR_STEP = 1e-4

Kind = Literal["kl", "tv", "chi2", "hellinger"]


@dataclass(frozen=True, eq=False)
class Columns:
    """Candidate columns of a channel, each with scale . v = 1, and mu of each, in the unit of the utility."""

    vectors: FloatArray
    values: FloatArray

    @classmethod
    def join(cls, parts: Iterable[Columns]) -> Columns:
        """Put the columns of one or more parts together."""
        every = list(parts)
        return cls(np.concatenate([c.vectors for c in every]), np.concatenate([c.values for c in every]))


class Utility(Protocol):
    """A sum over the columns of a channel of a sublinear function mu."""

    @property
    def prior(self) -> FloatArray:
        """The distribution on the inputs that normalizes columns, shape (k,)."""

    @property
    def unit(self) -> Unit:
        """The unit of the utility."""

    def __call__(self, channel: Channel) -> float:
        """Return the utility of the channel."""

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, k) to prior . v = 1 and value them."""

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return prior . v and mu(v) / prior . v, shape (2^k,), for v = 1 on a subset and e^-eps off it.

        At several epsilon, shape (n, 1), they have the shape (n, 2^k).
        """


if TYPE_CHECKING:
    _Utility = Utility
else:  # properties of the protocol would become defaults of the fields of dataclasses
    _Utility = object


class SublinearUtility(_Utility):
    """What spatial branch and bound asks of a `Utility`, with answers for any convex function.

    mu is meant on all of v >= 0 here: homogeneous of degree 1, and convex.
    """

    def values(self, columns: FloatArray) -> FloatArray:
        """Return mu of columns, (m, inputs), with prior . v = 1, shape (m,)."""
        return self.columns(columns).values

    def gradient(self, columns: FloatArray) -> FloatArray:
        """Return a gradient of mu at columns, (m, inputs), as far as there is one: by differences here."""
        m, n = columns.shape
        steps = NUMERICS.gradient_floor * np.maximum(columns, NUMERICS.gradient_floor)
        moved = columns[:, None, :] + steps[:, None, :] * np.eye(n)
        rise = (
            self.homogeneous_values(moved.reshape(-1, n)).reshape(m, n)
            - self.homogeneous_values(columns)[:, None]
        )
        return np.asarray(rise / steps)

    def majorant(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes and constants, (inputs,) each: mu(v) <= slopes . v + sum(constants) on lo <= v <= hi.

        Less the slopes at the middle of the box, mu is still convex: it is largest at a corner. All corners
        are listed.
        """
        n = lo.size
        if n > NUMERICS.max_corner_inputs:
            raise Intractable(
                f"The utility has {n} inputs; without bounds of its own, a convex function is bounded over"
                f" boxes of at most {NUMERICS.max_corner_inputs}, as all their corners are listed."
            )
        slopes = self.gradient(((lo + hi) / 2.0)[None])[0]
        upper = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        corners = np.where(upper == 1, hi, lo)
        values = self.homogeneous_values(corners)
        error = gamma(n + 64) * (np.abs(values) + corners @ np.abs(slopes))
        return slopes, np.full(n, float((values - corners @ slopes + error).max()) / n * (1.0 + gamma(n)))

    def gaps(self, v: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
        """Return by how much the majorant exceeds mu at v, as a sum over the inputs, shape (inputs,)."""
        slopes, constants = self.majorant(lo, hi)
        n, middle = lo.size, (lo + hi) / 2.0
        gap = max(float(slopes @ v + constants.sum() - self.homogeneous_values(v[None])[0]), 0.0)
        arms = np.concatenate([np.diag(hi - middle), np.diag(lo - middle)]) + middle
        bends = (
            self.homogeneous_values(arms).reshape(2, n).sum(axis=0)
            - 2.0 * self.homogeneous_values(middle[None])[0]
        )
        bends = np.maximum(bends, 1e-12 * (hi - lo))
        return np.asarray(gap * bends / max(float(bends.sum()), 1e-300))

    def homogeneous_values(self, columns: FloatArray) -> FloatArray:
        """Return mu of columns of any mass, (m, inputs); a column that never occurs is worth nothing."""
        mass = columns @ self.prior.ravel()
        values, occurs = np.zeros(len(columns)), mass > 0
        values[occurs] = mass[occurs] * self.columns(columns[occurs]).values
        return values


@dataclass(frozen=True, eq=False)
class MutualInformation(SublinearUtility):
    """The utility I(X;Y) in nats under a known prior.

    As a sum over columns, mu(v) = sum_x P_x v_x log v_x - Z log Z with Z = P . v (lopuhaa2024, (45);
    kairouz2016, section 5). Scaled to Z = 1, a column counts the divergence of the posterior from the prior.

    Parameters
    ----------
    prior : array_like, any shape
        Distribution of X; (a1, a2) arrays are flattened row-major.

    Raises
    ------
    ValueError
        If the prior is not a distribution.
    """

    prior: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _normalized(as_distribution(self.prior, "The prior").ravel()))

    @property
    def unit(self) -> Unit:
        """The unit, which is always "nats"."""
        return "nats"

    def __call__(self, channel: Channel) -> float:
        """Return I(X;Y) of the channel, in nats."""
        return mutual_information(self.prior, channel)

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, inputs) to Z = 1 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        return Columns(scaled, np.asarray(relative_excess(scaled - 1.0) @ self.prior))

    def values(self, columns: FloatArray) -> FloatArray:
        """Return mu of columns, (m, inputs), with P . v = 1, in nats, shape (m,)."""
        return np.asarray(xlogy(columns, columns) @ self.prior)

    def gradient(self, columns: FloatArray) -> FloatArray:
        """Return the gradient of sum_x P_x v_x log v_x, shape (m, inputs); small entries count as larger."""
        return np.asarray(self.prior * (np.log(np.maximum(columns, NUMERICS.gradient_floor)) + 1.0))

    def majorant(self, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the secants of P_x v_x log v_x over [lo_x, hi_x]: slopes and values at 0, (inputs,) each."""
        return _secants(self.prior, lo, hi)

    def gaps(self, v: FloatArray, lo: FloatArray, hi: FloatArray) -> FloatArray:
        """Return by how much the secants exceed P_x v_x log v_x, shape (inputs,)."""
        slopes, constants = _secants(self.prior, lo, hi)
        return np.asarray(slopes * v + constants - self.prior * xlogy(v, v))

    @cached_property
    def balanced(self) -> NDArray[np.bool_]:
        """A set of inputs whose probability is closest to 1/2, shape (k,), as `balanced_set` finds it."""
        return balanced_set(self.prior)

    @cached_property
    def _mass(self) -> FloatArray:
        return np.clip(subset_sums(self.prior), 0.0, 1.0)

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Z and mu / Z of all 2^k staircase columns; bit x of the index says that x has entry 1.

        With phi(t) = (1 + t) log(1 + t) - t, a column that is 1 + d on a set of probability p and 1 off it
        has mu = p phi(d) - phi(d p). The set is the less likely one of T and its complement, so that neither
        a small epsilon nor a small p costs digits.
        """
        z, values = _patterns(self._mass, np.atleast_1d(np.asarray(epsilon, dtype=np.float64)).ravel())
        return (z, values) if np.ndim(epsilon) else (z[0], values[0])


@kernel
def _secants(scale: FloatArray, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes and values at 0 of lines above v log v on intervals, times P-hat: the secants, raised.

    As v log v is convex, a line is above it if it is at both ends. The slope is right to some roundings of
    the values at both ends, divided by the width, which cancels there; besides, all numbers of the line have
    the magnitudes of the values and of slope times end.
    """
    n = scale.size
    slopes, constants = np.empty(n), np.empty(n)
    for j in range(n):
        low = lo[j] * np.log(lo[j]) if lo[j] > 0.0 else 0.0
        high = hi[j] * np.log(hi[j]) if hi[j] > 0.0 else 0.0
        width = hi[j] - lo[j]
        slope = (high - low) / width if width > 1e-12 * hi[j] else np.log(max(hi[j], 1e-300)) + 1.0
        size = abs(low) + abs(high) + abs(slope) * (abs(lo[j]) + abs(hi[j]))
        slopes[j] = scale[j] * slope
        constants[j] = scale[j] * (low - slope * lo[j] + (n + 16) * _UNIT * size)
    return slopes, constants


def _patterns(mass: FloatArray, epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `MutualInformation.patterns` with a row per epsilon."""
    z, values = np.empty((epsilons.size, mass.size)), np.empty((epsilons.size, mass.size))
    likely = mass > 0.5
    p = np.where(likely, mass[::-1], mass)
    for n, epsilon in enumerate(epsilons.tolist()):
        rise, fall, floor = math.expm1(epsilon), math.expm1(-epsilon), math.exp(-epsilon)
        change = np.where(likely, fall, rise) * p
        excess = relative_excess(np.concatenate([[rise, fall], change]))
        risen, fallen = excess[:2]
        factor = np.where(likely, 1.0, floor)
        z[n] = factor * (1.0 + change)
        values[n] = factor * np.maximum(p * np.where(likely, fallen, risen) - excess[2:], 0.0) / z[n]
    return z, values


@dataclass(frozen=True, eq=False)
class FDivergence(SublinearUtility):
    """The utility D_f(M0 || M1) of the output distributions M0, M1 that two inputs P0, P1 induce.

    As a sum over columns, mu(v) = z1 f(z0 / z1) with z_i = P_i . v (kairouz2016, (14)). The divergences with
    a name are computed from M0 - M1, so that small ones keep their relative accuracy.

    Parameters
    ----------
    p0, p1 : array_like, shape (k,)
        Distributions of X under the two hypotheses.
    kind : {"kl", "tv", "chi2", "hellinger"}
        The function f: ``t log t`` (in nats), ``|t - 1| / 2``, ``(t - 1)^2`` or ``(sqrt t - 1)^2 / 2``.
    f : callable, optional
        Vectorised convex function on [0, inf) with f(1) = 0, instead of `kind`. f(0) is its limit at 0.

    Raises
    ------
    ValueError
        If p0 or p1 is not a distribution, the sizes differ, the kind is unknown, or f(1) is not 0, f is not
        a number somewhere, or f is seen not to be convex.

    Notes
    -----
    A channel that separates the supports of P0 and P1 may have the utility inf. A private one never has: at
    finite epsilon an output that is possible under one input is possible under all.
    """

    p0: FloatArray
    p1: FloatArray
    kind: Kind = "kl"
    f: Callable[[FloatArray], FloatArray] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("p0", "p1"):
            object.__setattr__(self, name, _normalized(as_distribution(getattr(self, name), name).ravel()))
        if self.p0.size != self.p1.size:
            raise ValueError(
                f"p0 has {self.p0.size} entries and p1 has {self.p1.size}; they must be equally many."
            )
        if self.f is not None:
            check_callable(self.f, "f")
            _check_convex(self.f)
        elif not isinstance(self.kind, str) or self.kind not in _PERSPECTIVES:
            raise ValueError(
                f"kind is {self.kind!r}; allowed are {', '.join(_PERSPECTIVES)}, and f= for any other"
                " generator."
            )

    @property
    def unit(self) -> Unit:
        """The unit: "nats" for "kl", "1" for the other kinds and for a custom f."""
        return "nats" if self.kind == "kl" and self.f is None else "1"

    @cached_property
    def difference(self) -> FloatArray:
        """P0 / sum(P0) - P1 / sum(P1), shape (k,), with all digits where an input has nearly all of both."""
        over = [math.fsum([*p.tolist(), -1.0]) for p in (self.p0, self.p1)]
        return np.asarray((self.p0 - self.p1) - (over[0] * self.p0 - over[1] * self.p1))

    @cached_property
    def _slope_at_one(self) -> float:
        """The slope of a generator of one's own at 1, where the others are flat."""
        assert self.f is not None
        low, high = self.f(np.array([1.0 - _GENERATOR_STEP, 1.0 + _GENERATOR_STEP]))
        return float(high - low) / (2.0 * _GENERATOR_STEP)

    @cached_property
    def prior(self) -> FloatArray:
        """The mixture (P0 + P1) / 2, shape (k,)."""
        return np.asarray((self.p0 + self.p1) / 2.0)

    def __call__(self, channel: Channel) -> float:
        """Return D_f(M0 || M1) of the channel, in nats for "kl"; inf where a term is."""
        matrix = channel.matrix
        z0, z1 = channel.flat_prior(self.p0) @ matrix, self.p1 @ matrix
        if self.f is not None:
            return f_divergence(z0 / z0.sum(), z1 / z1.sum(), self.f)
        shared = z1 > 0
        with np.errstate(over="ignore"):
            value = self.perspective(z1[shared], (self.difference @ matrix)[shared], z0[shared]).sum()
        if (escaped := float(z0[~shared].sum())) > 0:
            # The slope of f at infinity.
            value += escaped * {"kl": math.inf, "tv": 0.5, "chi2": math.inf, "hellinger": 0.5}[self.kind]
        return float(value)

    def perspective(self, z1: FloatArray, difference: FloatArray, z0: FloatArray | None = None) -> FloatArray:
        """Return z1 f(z0 / z1) for z1 > 0 and z0 = z1 + difference, up to a multiple of the difference.

        The multiple adds up to nothing over the outputs of a channel. An unlikely z0 should be given, as the
        sum loses its digits.
        """
        if self.f is not None:
            value = z1 * self.f(np.maximum(1.0 + difference / z1, 0.0))
            return np.asarray(value - self._slope_at_one * difference)
        if z0 is None:
            z0 = np.maximum(z1 + difference, 0.0)
        return _PERSPECTIVES[self.kind](z1, difference, z0)

    def slope(self, z1: FloatArray, difference: FloatArray, z0: FloatArray) -> FloatArray:
        """Return by how much, per unit, rounding of the difference changes what `perspective` returns.

        Of a generator of one's own that is not known, and 0.
        """
        if self.f is not None:
            return np.zeros_like(z1)
        return np.abs(_SLOPES[self.kind](z1, difference, z0))

    def columns(self, vectors: FloatArray) -> Columns:
        """Scale columns (m, k) to z0 + z1 = 2 and value them."""
        scaled = vectors / (vectors @ self.prior)[:, None]
        return Columns(scaled, self.perspective(*(scaled @ p for p in (self.p1, self.difference, self.p0))))

    @cached_property
    def masses(self) -> FloatArray:
        """P0(T), P1(T), their difference and the sum of its absolute terms over T, for all T, (4, 2^k)."""
        return subset_sums(np.stack([self.p0, self.p1, self.difference, np.abs(self.difference)]))

    def patterns(self, epsilon: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Z and mu / Z of all 2^k staircase columns; bit x of the index says that x has entry 1."""
        floor, share = np.exp(-epsilon), -np.expm1(-epsilon)
        p0, p1, apart, _ = self.masses
        z1, difference = floor + share * p1, share * apart
        z = z1 + difference / 2.0
        z0 = floor + share * p0 if self.kind == "hellinger" else None
        return z, self.perspective(z1, difference, z0) / z

    @cached_property
    def _divergence(self) -> float:
        return self(Channel(np.eye(self.p0.size)))

    def divergence(self) -> float:
        """Return D_f(P0 || P1), the utility without privacy; inf where a term is."""
        return self._divergence


def _normalized(p: FloatArray) -> FloatArray:
    """Divide by a sum that is off by more than rounding; else nothing changes, not even in the last digit."""
    total = float(p.sum())
    return p / total if abs(total - 1.0) > 1e-15 * max(p.size, 4) else p


def _check_convex(f: Callable[[FloatArray], FloatArray]) -> None:
    t = np.concatenate([np.zeros(1), np.geomspace(1e-6, 1e6, 97)])  # the middle of them is 1
    with np.errstate(all="ignore"):
        values = np.asarray(f(t), dtype=np.float64)
    at_one = float(np.asarray(f(np.ones(1)), dtype=np.float64).ravel()[0])
    if values.shape != t.shape or np.isnan(values).any() or np.isinf(values[1:]).any():
        raise ValueError("f must map an array of numbers t >= 0 to numbers; its limit at 0 may be inf.")
    if not abs(at_one) <= 1e-12:
        raise ValueError(f"f(1) is {at_one:.6g}; the generator of an f-divergence must have f(1) = 0.")
    left, right = (t[2:] - t[1:-1]) / (t[2:] - t[:-2]), (t[1:-1] - t[:-2]) / (t[2:] - t[:-2])
    chord = left * values[:-2] + right * values[2:]
    bad = values[1:-1] > chord + 1e-9 * (1.0 + np.abs(values[1:-1]))
    if bad.any():
        raise ValueError(f"f is not convex near t = {t[1 + int(bad.argmax())]:.4g}; it must be convex.")


def _hellinger(z1: FloatArray, difference: FloatArray, z0: FloatArray) -> FloatArray:
    return np.asarray((difference / (np.sqrt(z0) + np.sqrt(z1))) ** 2 / 2.0)


def _log_ratio(z1: FloatArray, difference: FloatArray, z0: FloatArray) -> FloatArray:
    # 1 + difference / z1 is 2^-53 at least, or 0.
    return np.asarray(np.log1p(np.maximum(difference / z1, 2.0**-53 - 1.0)))


_Perspective = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

_PERSPECTIVES: dict[str, _Perspective] = {
    "kl": lambda z1, difference, z0: z1 * relative_excess(difference / z1),
    "tv": lambda z1, difference, z0: np.abs(difference) / 2.0,
    "chi2": lambda z1, difference, z0: difference**2 / z1,
    "hellinger": _hellinger,
}

_SLOPES: dict[str, _Perspective] = {
    "kl": _log_ratio,
    "tv": lambda z1, difference, z0: np.full_like(z1, 0.5),
    "chi2": lambda z1, difference, z0: 2.0 * difference / z1,
    "hellinger": lambda z1, difference, z0: difference / (np.sqrt(z0) + np.sqrt(z1)) ** 2,
}


def check_utility(utility: object, *, own: bool = True) -> None:
    """Raise a ValueError if a utility is of another kind; one of one's own is allowed if `own` is set."""
    if not isinstance(utility, SublinearUtility if own else (MutualInformation, FDivergence)):
        allowed = "a MutualInformation or an FDivergence"
        if own:
            allowed = "a MutualInformation, an FDivergence, a ColumnUtility or an AverageUtility"
        raise ValueError(f"The utility is a {type(utility).__name__}; it must be {allowed}.")
