r"""The Renyi ball around an estimated distribution of (S, U), its projections and their statistics.

The uncertainty set of lopuhaa2024 (section 3) is, D being the Renyi divergence of order alpha, ::

    F = {P : D(P-hat || P) <= B},     with the projections     F_{U|s} = {P_{U|s} : P in F}.

Everything follows from two facts: what the extreme distributions of a single group are (`divergence`), and
how the groups share B. For that write g = (alpha - 1)/alpha and k(D) = (e^(g D) - 1)/g, k(D) = D for
alpha = 1: increasing in D. With D_s = D(P-hat_{U|s} || R_s) and q the distribution of S,

    e^((alpha-1) D(P-hat || P)) = sum_s p_s^alpha q_s^(1-alpha) e^((alpha-1) D_s)
                               = sum_s a_s^alpha q_s^(1-alpha),      a_s = p_s e^(g D_s),

whose optimum over q (least for alpha > 1, largest for alpha < 1, by Hoelder) is (sum_s a_s)^alpha, at q_s
proportional to a_s. So (R_s)_s are the conditionals of some P in F if and only if

    sum_s p_s k(D_s) <= k(B).

All the budget on one s is Theorem 1 of lopuhaa2024: B_s = k^-1(k(B) / p_s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import log_ratio, unconditional_epsilon
from ldpfrontier.numerics.arguments import (
    as_count,
    as_distribution,
    as_instance,
    as_number,
    as_numbers,
    check_choice,
)
from ldpfrontier.numerics.golden_section import golden_section
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.numerics.subset_sums import subset_sums
from ldpfrontier.uncertainty.confidence_radius import asymptotic_radius, finite_radius
from ldpfrontier.uncertainty.divergence import (
    least_mean,
    push_out,
    random_targets,
    renyi_divergences,
    two_cell_range,
    widening,
)
from ldpfrontier.uncertainty.settings import SETTINGS
from ldpfrontier.uncertainty.worst_case import worst_log_ratio

#: When a confidence set has its level: with many records, or with any number of them.
RadiusMethod = Literal["asymptotic", "finite"]


@dataclass(frozen=True, eq=False)
class RenyiBall:
    """The uncertainty set F = {P : D_order(centre || P) <= radius} (lopuhaa2024, section 3).

    Parameters
    ----------
    centre : array_like, shape (a1, a2)
        The estimate P-hat of the distribution of (S, U); rows are the sensitive values.
    radius : float
        B in nats, at least 0, however small; inf is the whole simplex.
    order : float
        Order alpha of the Renyi divergence, from 1/64 to 16.

    Raises
    ------
    ValueError
        If the centre is not a two-dimensional distribution, or the radius or the order is out of range.
    """

    centre: FloatArray
    radius: float
    order: float = 2.0

    def __post_init__(self) -> None:
        centre = as_distribution(self.centre, "The centre of the ball")
        if centre.ndim != 2:
            raise ValueError(
                f"The centre of the ball has shape {centre.shape}; it must be (sensitive, other) values."
            )
        radius = as_number(self.radius, "The radius of the ball", "0 or more", least=0.0, infinite=True)
        centre.flags.writeable = False
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "order", _checked_order(self.order))

    @classmethod
    def confidence(
        cls,
        counts: ArrayLike,
        beta: float = 0.05,
        order: float = 2.0,
        *,
        method: RadiusMethod = "asymptotic",
        factor: float = 1.0,
        effective: float | None = None,
        freedom: float | None = None,
    ) -> RenyiBall:
        """Build a confidence set of level 1 - beta from a table of counts.

        Parameters
        ----------
        counts : array_like of whole numbers, shape (a1, a2)
            At most 2^53 together; with `effective` any numbers of 0 or more, such as sums of weights.
        beta : float
            Significance level, in (0, 1).
        order : float
            Order alpha of the divergence, from 1/64 to 16; at most 2 for finite samples.
        method : {"asymptotic", "finite"}
            Whether the level holds in the limit of many samples, as in lopuhaa2024 (sections 3 and 8), or
            for every number of them, with a larger radius (`uncertainty.confidence_radius`).
        factor : float
            By which the radius is multiplied, > 0: above 1 for a population that may have moved away from
            the one that was sampled.
        effective : float, optional
            Number of samples of equal weights, 1 or more, that weighted shares are taken for: the set has its
            level if their covariance matrix is at most that of a multinomial sample of this size.
        freedom : float, optional
            Degrees of freedom, above 0, of the covariance that `effective` was estimated from; many without.

        Raises
        ------
        ValueError
            If the counts are not a two-dimensional table of whole numbers, 0 or more, not all 0 and not too
            many, another argument is out of range, or a finite radius is asked for weighted shares.
        """
        table = as_numbers(counts, "The table of counts")
        if table.ndim != 2 or table.size == 0:
            raise ValueError(f"The counts have shape {table.shape}; they must be (sensitive, other) values.")
        whole = np.abs(table - np.rint(table)) <= 1e-6 if effective is None else True
        wrong = ~(np.isfinite(table) & (table >= 0) & whole)
        if wrong.any():
            kind = "whole numbers" if effective is None else "numbers"
            raise ValueError(f"The counts contain {table[wrong][0]:.6g}; counts must be {kind}, 0 or more.")
        total = n = float(table.sum())
        if n == 0:
            raise ValueError("The counts are all 0; at least one sample is needed.")
        if effective is not None:
            n = as_number(effective, "The effective number of samples", "a number of 1 or more", least=1.0)
        if freedom is not None:
            freedom = as_number(freedom, "The degrees of freedom", "a number above 0", least=math.ulp(0.0))
            if effective is None:
                raise ValueError("Degrees of freedom belong to an effective number of samples.")
        if max(n, total) > SETTINGS.max_samples:
            raise ValueError(f"The counts add up to {n:.6g}; at most 2^53, about 9e15, are supported.")
        level = as_number(beta, "beta", "a significance level, strictly between 0 and 1")
        if not 0 < level < 1:
            raise ValueError(f"beta is {beta}; a significance level lies strictly between 0 and 1.")
        order = _checked_order(order)
        check_choice(method, "method", get_args(RadiusMethod))
        if method == "finite" and effective is not None:
            raise ValueError(
                'The method "finite" is for counts of samples; weighted shares have an "asymptotic" radius.'
            )
        if method == "finite":
            radius = finite_radius(n, table.size, level, order)
        else:
            radius = asymptotic_radius(n, table.size, level, order, freedom)
        radius *= as_number(factor, "factor", "a number above 0", least=math.ulp(0.0))
        return cls(table / total, radius, order)

    @cached_property
    def sensitive(self) -> FloatArray:
        """The marginal distribution P-hat_s of S, shape (a1,)."""
        return np.asarray(self.centre.sum(axis=1))

    @cached_property
    def conditionals(self) -> FloatArray:
        """The conditionals P-hat_{u|s}, shape (a1, a2), with a row of zeros for an empty sensitive group."""
        p = self.sensitive[:, None]
        return np.divide(self.centre, p, out=np.zeros_like(self.centre), where=p > 0)

    @cached_property
    def projected_radii(self) -> FloatArray:
        """The radii B_s of the projections F_{U|s} in nats (lopuhaa2024, Theorem 1), shape (a1,).

        Infinite for an empty group, and for an order below 1 whenever the argument of the logarithm is not
        positive: then F_{U|s} is the whole simplex.
        """
        return self.radius_at(np.ones_like(self.sensitive), self.sensitive)

    @cached_property
    def lower_bounds(self) -> FloatArray:
        """Least probabilities L_{u|s} over F_{U|s} (lopuhaa2024, Proposition 1; order 2: Lemma 1), (a1, a2).

        0 at a zero cell of P-hat, and throughout an empty group; 1 if there is only one u.
        """
        if self.centre.shape[1] == 1:
            return np.ones_like(self.centre)
        return two_cell_range(self.conditionals, self.projected_radii[:, None], self.order)[0]

    @cached_property
    def radii(self) -> FloatArray:
        """l1 radii rad_s = max ||R - P-hat_{U|s}||_1 over F_{U|s} (lopuhaa2024, Proposition 1), shape (a1,).

        The maximum over subsets U1 of 2 (m - rho), rho = P-hat(U1|s) and m the largest R(U1) that the
        two-cell divergence d(rho || m) <= B_s allows. {d <= B_s} is convex (joint quasi-convexity of the
        Renyi divergence), so this is concave in rho: the best subset sum is next to the maximizer over all
        rho. Exact for a2 <= 16; beyond, the maximum over all rho from the smallest cell to 1, an upper bound.
        An empty group has radius 2, the diameter of the simplex.
        """
        return np.array([self._l1_radius(s) for s in range(self.sensitive.size)])

    @cached_property
    def radius_bounds(self) -> FloatArray:
        """The bounds d_s >= rad_s as published (lopuhaa2024, Proposition 2), shape (a1,).

        For order 2, with b = e^(B_s) and r the smallest cell of P-hat_{U|s}: the exact radius of {r} if
        b - 1 >= (1 - 2 r)^2, else sqrt(b - 1). (The paper prints (1 - r)^2; its proof gives (1 - 2 r)^2.)
        Other orders: the exact radii.
        """
        if self.order != 2:
            return self.radii
        smallest = self.conditionals.min(axis=1)
        with np.errstate(over="ignore"):
            excess = np.expm1(self.projected_radii)
        exact = 2.0 * widening(smallest, self.projected_radii, self.order)
        return np.where(excess >= (1.0 - 2.0 * smallest) ** 2, exact, np.sqrt(excess))

    def divergence(self, P: ArrayLike) -> FloatArray:
        """Return D_order(centre || P) in nats for distributions P of shape (..., a1, a2); shape (...).

        Raises
        ------
        ValueError
            If P has another shape, or one of them is not a distribution.
        """
        other = as_numbers(P, "P")
        if other.shape[-2:] != self.centre.shape:
            raise ValueError(f"P has shape {other.shape}; its last two axes must be {self.centre.shape}.")
        sums = other.sum(axis=(-2, -1))
        if not ((other >= 0).all() and (np.abs(sums - 1.0) <= NUMERICS.sum_tolerance).all()):
            worst = float(sums.ravel()[np.abs(sums - 1.0).argmax()])
            raise ValueError(
                f"P sums to {worst:.12g} with least entry {other.min():.6g}; it must be a distribution."
            )
        return renyi_divergences(self.centre.ravel(), other.reshape(*other.shape[:-2], -1), self.order)

    def contains(self, P: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Return whether distributions P, shape (..., a1, a2), lie in the ball up to `tol` nats; shape (...).

        Raises
        ------
        ValueError
            As `divergence`, or if `tol` is not 0 or more.
        """
        spare = as_number(tol, "tol", "0 or more", least=0.0)
        return np.asarray(self.divergence(P) <= self.radius + spare)

    def support(self, s: int, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest sum_u R_u q_u over R in the projection F_{U|s}.

        Parameters
        ----------
        s : int
            Sensitive value.
        q : array_like, shape (m, a2)
            Numbers up to 1e150, of either sign.

        Returns
        -------
        tuple of two ndarrays, shape (m,)
            Infima and suprema, to about 1e-13 of the range of each row of `q`.

        Raises
        ------
        ValueError
            If there is no sensitive value `s`, or `q` has another shape or too large a number.
        """
        last = self.sensitive.size - 1
        s = as_count(s, "s", f"a sensitive value, from 0 to {last}", most=last)
        values = np.atleast_2d(as_numbers(q, "q"))
        if values.ndim != 2 or values.shape[1] != self.centre.shape[1]:
            raise ValueError(f"q has shape {np.shape(q)}; it must be (m, {self.centre.shape[1]}).")
        if not (np.abs(values) <= 1e150).all():
            raise ValueError("q has an entry that is not a number from -1e150 to 1e150.")
        r = np.broadcast_to(self.conditionals[s], values.shape)
        B = np.full(len(values), self.projected_radii[s])
        return least_mean(r, values, B, self.order), -least_mean(r, -values, B, self.order)

    def projected_epsilon(self, channel: Channel) -> float:
        """Return an upper bound on the worst realized epsilon over F, in nats: both groups at full budget.

        That replaces F by the product of its projections. Errors are those of `worst_case_epsilon`.
        """
        return float(self._projected_ratios(channel).max(initial=0.0))

    def worst_case_epsilon(self, channel: Channel, tol: float = 1e-10) -> float:
        """Return the worst realized epsilon over F, in nats: sup of rldp_epsilon(channel, P_{U|S}), P in F.

        For an output y and groups s1 != s2 only D_{s1} and D_{s2} matter (the budget condition at the top of
        the module), so the supremum is over the share of the budget that s1 receives (`worst_case`). Below
        order 1/2 its search starts from the best point of a grid, without a proof.

        Parameters
        ----------
        channel : Channel
            Its inputs are the pairs (s, u) in row-major order.
        tol : float
            Accuracy of the pruning in nats, relative below 1 nat; 0 or more.

        Returns
        -------
        float
            inf if some P in F (or in its closure) makes an output impossible for one group only.

        Raises
        ------
        Intractable
            If a1^2 times the number of outputs is more than 5e7.
        ValueError
            If the channel does not have an input for every pair, or `tol` is out of range.
        """
        tol = as_number(tol, "tol", "0 or more", least=0.0)
        # A mechanism is checked and then reported, which asks twice; neither object ever changes.
        last = self.__dict__.get("_last_worst_case")
        if last is None or last[0] is not channel or last[1] != tol:
            worst = worst_log_ratio(self, self._blocks(channel), self._projected_ratios(channel), tol)
            # Where next to nothing is told, most of that is the rounding of the means.
            worst = min(worst, unconditional_epsilon(channel, (self.centre.shape[0], self.centre.shape[1])))
            last = self.__dict__["_last_worst_case"] = channel, tol, worst
        return float(last[2])

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw random distributions on the boundary of F.

        The first half lie on rays from P-hat in random directions. The others are extremal in one group
        (half of them) or share the budget between two: their conditionals are pushed out until the budget
        condition holds with equality, and S has the distribution that attains it (proof of Theorem 1 of
        lopuhaa2024). Where a ray leaves the simplex first, its last point in the simplex.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int
            0 or more, and at most 5e7 cells together.

        Returns
        -------
        ndarray, shape (size, a1, a2)
            Members of F (to rounding).

        Raises
        ------
        ValueError
            If the size is out of range.
        """
        most = SETTINGS.max_numbers // self.centre.size
        size = as_count(size, "size", f"a whole number from 0 to {most}", most=most)
        a1, a2 = self.centre.shape
        rays = (size + 1) // 2
        flat = np.broadcast_to(self.centre.ravel(), (rays, a1 * a2))
        P = push_out(flat, random_targets(rng, rays, a1 * a2), np.full(rays, self.radius), self.order)
        m = size - rays
        R = np.repeat(self.conditionals[None], m, axis=0)
        D = np.zeros((m, a1))
        filled = np.flatnonzero(self.sensitive > 0)
        share = np.where(rng.random(m) < 0.5, 1.0, rng.random(m)) if filled.size > 1 else np.ones(m)
        first = rng.integers(filled.size, size=m)
        second = (first + 1 + rng.integers(max(filled.size - 1, 1), size=m)) % filled.size
        for which, part in ((first, share), (second, 1.0 - share)):
            i = np.flatnonzero(part > 0)
            s = filled[which[i]]
            r = self.conditionals[s]
            B = self.radius_at(part[i], self.sensitive[s])
            R[i, s] = push_out(r, random_targets(rng, i.size, a2), B, self.order)
            D[i, s] = renyi_divergences(r, R[i, s], self.order)
        # Clipped so that an infinite D (radius inf, or order < 1) keeps every group's share positive.
        tilt = np.clip(self.exponent * D, -30.0, 600.0) if self.order != 1 else 0.0
        weight = np.broadcast_to(self.sensitive * np.exp(tilt), D.shape)
        weight = weight / weight.sum(axis=1, keepdims=True)
        return np.concatenate([P.reshape(rays, a1, a2), weight[:, :, None] * R])

    @property
    def exponent(self) -> float:
        """The exponent g = (order - 1) / order of the budget condition."""
        return (self.order - 1.0) / self.order

    def radius_at(self, share: FloatArray, p: FloatArray) -> FloatArray:
        """Return the divergence in nats that a group of weight `p` may have with a `share` of the budget."""
        share, p = as_numbers(share, "share"), as_numbers(p, "p")
        g = self.exponent
        if math.isinf(self.radius):
            return np.full(np.broadcast_shapes(share.shape, p.shape), np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if g == 0:
                D = share * self.radius / p
            elif g * self.radius > 500.0:
                # e^(g B) may overflow, and 1 hardly counts beside it.
                D = np.logaddexp(0.0, np.log(share) + g * self.radius - np.log(p)) / g
            else:
                x = share * np.expm1(g * self.radius) / p
                D = np.where(x > -1.0, np.log1p(np.maximum(x, -1.0)) / g, np.inf)
        # An empty group costs nothing (its weight under P may be as small as one likes).
        return np.where(p > 0, D, np.inf)

    def _l1_radius(self, s: int) -> float:
        """Return rad_s, or a bound on it with many values (see `radii`)."""
        if self.sensitive[s] == 0:
            return 2.0
        r, B = self.conditionals[s], self.projected_radii[s : s + 1]

        def width(rho: FloatArray) -> FloatArray:
            return 2.0 * widening(rho, B, self.order)

        smallest = r.min(keepdims=True)
        if r.size > SETTINGS.max_subset_values:
            return float(golden_section(width, smallest, np.ones(1))[1][0])
        peak = golden_section(width, np.zeros(1), np.ones(1))[0]
        sums = np.sort(np.minimum(subset_sums(r)[1:], 1.0))
        after = int(np.searchsorted(sums, peak[0]))
        near = sums[np.clip([after - 1, after], 0, sums.size - 1)]
        return float(width(near).max())

    def _blocks(self, channel: Channel) -> FloatArray:
        """Return the matrix of a channel, shape (a1, a2, outputs)."""
        a1, a2 = self.centre.shape
        as_instance(channel, Channel, "The channel")
        if channel.n_inputs != a1 * a2:
            raise ValueError(
                f"The channel has {channel.n_inputs} inputs; the ball is over {a1} x {a2} = {a1 * a2} pairs."
            )
        return channel.matrix.reshape(a1, a2, -1)

    def _projected_ratios(self, channel: Channel) -> FloatArray:
        """Return the log ratios with both groups at full budget, shape (a1, a1, outputs); 0 for s1 = s2."""
        blocks = self._blocks(channel)
        a1, a2, outputs = blocks.shape
        if a1 * a1 * outputs > SETTINGS.max_numbers:
            raise Intractable(
                f"The channel has {outputs} outputs for {a1} sensitive values: {a1 * a1 * outputs:,}"
                f" comparisons; at most {SETTINGS.max_numbers:,} are supported."
            )
        # Closed forms repeat a few rows many times; their bytes are compared, which is faster than numbers.
        rows = np.empty((a1 * outputs, 1 + a2))
        rows[:, 0] = np.repeat(np.arange(a1), outputs)
        rows[:, 1:] = blocks.transpose(0, 2, 1).reshape(-1, a2)
        row = np.dtype((np.void, rows.itemsize * rows.shape[1]))
        _, first, inverse = np.unique(rows.view(row).ravel(), return_index=True, return_inverse=True)
        s, q = rows[first, 0].astype(np.intp), rows[first, 1:]
        r, B = self.conditionals[s], self.projected_radii[s]
        # Both at once, as few rows take as long as many.
        ends = least_mean(np.tile(r, (2, 1)), np.concatenate([q, -q]), np.tile(B, 2), self.order)
        least, largest = (end[inverse].reshape(a1, outputs) for end in (ends[: B.size], -ends[B.size :]))
        ratios = log_ratio(*np.broadcast_arrays(largest[:, None], least[None, :]))
        ratios[np.diag_indices(a1)] = 0.0
        return ratios


def _checked_order(order: float) -> float:
    """Return the order as a number, if it is one from 1/64 to 16."""
    least, most = SETTINGS.orders
    return as_number(order, "The order of the ball", "from 1/64 to 16", least=least, most=most)
