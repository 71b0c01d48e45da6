r"""Odds ratios of the sensitive and the useful value, and the level for acquaintances.

Somebody who knows something about a person's U, but nothing else about S, has a Z with Z - U - S, and
P(z|u) = w_u is any vector of weights. A column v is private at the level eps for him if, for all w >= 0, with
R_s = P(.|s), ::

    sum_u w_u R_s(u) v_su / sum_u w_u R_s(u)  <=  e^eps sum_u w_u R_t(u) v_tu / sum_u w_u R_t(u),     s != t.

The worst w has at most two positive entries u and w, and the condition depends on P through the *odds ratios*
alone (docs/beyond/theorems.md, statement 11), ::

    rho(s, t, u, w) = P(u|t) P(w|s) / (P(w|t) P(u|s)),

the factor by which the odds of u against w are larger given t than given s. A smaller rho below 1 is the
stricter one, so that of an interval only the least one counts; that its largest one counts, too, is
rho(s, t, w, u) = 1 / rho(s, t, u, w).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.base.types import FloatArray, IntArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.privacy import conditional_epsilon, log_ratio
from ldpfrontier.numerics.arguments import as_distribution, as_instance, as_numbers, check_choice
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS
from ldpfrontier.uncertainty.confidence_radius import chi_squared_quantile
from ldpfrontier.uncertainty.exact_intervals import exact_ends
from ldpfrontier.uncertainty.odds_over_ball import least_odds_ratios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.uncertainty.settings import SETTINGS

IntervalMethod = Literal["exact", "bonferroni", "scheffe"]


class OddsComparisons(NamedTuple):
    """Comparisons of s and t at u and w with an odds ratio below 1, one an entry of each, shape (k,)."""

    s: IntArray
    t: IntArray
    u: IntArray
    w: IntArray
    rho: FloatArray

    def take(self, chosen: NDArray[np.bool_] | slice) -> OddsComparisons:
        """Return the comparisons of a mask or slice."""
        return OddsComparisons(
            self.s[chosen], self.t[chosen], self.u[chosen], self.w[chosen], self.rho[chosen]
        )


@dataclass(frozen=True, eq=False)
class OddsRatios:
    """Intervals of the odds ratios rho(s, t, u, w) = P(u|t) P(w|s) / (P(w|t) P(u|s)), and an estimate of P.

    As rho(s, t, u, w) is rho(s, t, u, x) rho(s, t, x, w), and rho(s, x, u, w) rho(x, t, u, w), intervals
    imply each other. Ends that no distribution with all odds ratios in the intervals has are moved inwards.

    Parameters
    ----------
    prior : array_like, shape (a1, a2)
        The estimate of the distribution of (S, U), under which utility counts.
    low : array_like, shape (a1, a1, a2, a2)
        The least rho(s, t, u, w), 0 or more; inf is allowed. The largest is 1 / low[s, t, w, u] (`high`).
    impossible : array_like of bool, shape (a1, a2), optional
        Cells (s, u) that nobody can be in. What a mechanism does there counts for nothing: there is no level
        given u for s. If s rules out u, but not w, and t rules out neither, somebody with s of whom it is
        known that U is u or w has w for sure, so that the report must not tell w given s from u given t:
        rho(s, t, u, w) is inf, whatever `low` says. If s rules out both, or s and t both rule out one, there
        is no comparison of u and w, and rho is 1.

    Raises
    ------
    ValueError
        If the prior is not a two-dimensional distribution, or has an impossible cell, a number is negative or
        missing, an interval is empty, low[s, t, u, w] and low[t, s, w, u] differ, or no distribution has all
        odds ratios in the intervals.
    """

    prior: FloatArray
    low: FloatArray
    impossible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        prior, low = as_distribution(self.prior, "The prior"), as_numbers(self.low, "The least odds ratios")
        if prior.ndim != 2:
            raise ValueError(f"The prior has the shape {prior.shape}; it must be (sensitive, useful) values.")
        a1, a2 = prior.shape
        if low.shape != (a1, a1, a2, a2):
            raise ValueError(
                f"The least odds ratios have the shape {low.shape}; for a prior of {a1} x {a2} cells it must"
                f" be {(a1, a1, a2, a2)}."
            )
        if not (low >= 0.0).all():
            raise ValueError("The least odds ratios have an entry that is not a number, 0 or more.")
        same = np.isclose(low, low.transpose(1, 0, 3, 2), rtol=SETTINGS.odds_rounding, atol=0.0)
        if not same.all():
            raise ValueError(
                f"The least odds ratios have {_at(low, ~same)}, where s and t, and u and w, are exchanged"
                " with another number; both are the same odds ratio."
            )
        empty = low > _reciprocal(low.swapaxes(2, 3)) * (1.0 + SETTINGS.odds_rounding)
        if empty.any():
            raise ValueError(
                f"The least odds ratios have {_at(low, empty)}, above the largest one, which is 1 divided by"
                " the entry where u and w are exchanged."
            )
        impossible = _checked_impossible(self.impossible, prior)
        low = _longest_paths(low, impossible)
        if impossible is not None:
            low = _decided_by_impossible(low, impossible)
        for name, array in (("prior", prior), ("low", low), ("impossible", impossible)):
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def high(self) -> FloatArray:
        """The largest odds ratios, shape (a1, a1, a2, a2)."""
        return _reciprocal(self.low.swapaxes(2, 3))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and useful values."""
        a1, a2 = self.prior.shape
        return a1, a2

    @property
    def comparisons(self) -> OddsComparisons:
        """The comparisons with least odds ratios below 1, the only ones that are conditions."""
        s, t, u, w = np.nonzero(self.low < 1.0)
        return OddsComparisons(s, t, u, w, self.low[s, t, u, w])

    def contains(self, other: OddsRatios) -> bool:
        """Tell whether all intervals contain those of others of the same shape, to rounding."""
        return bool((self.low <= other.low * (1.0 + SETTINGS.odds_rounding)).all())

    def widened(self, level: ArrayLike) -> OddsRatios:
        """Return the intervals with both ends moved outwards by e^level.

        Whoever has seen reports whose conditional levels add up to k reads the next one at odds ratios within
        the intervals widened by 2 k: mechanisms that are private over these have together at most the sum of
        their levels, even if each is chosen after the reports before it were seen (docs/beyond/theorems.md,
        statement 11).

        Parameters
        ----------
        level : array_like, broadcast to (a1, a1, a2, a2)
            In nats, 0 or more; inf leaves an odds ratio open. Equal at (s, t, u, w) and (t, s, w, u).

        Raises
        ------
        ValueError
            If a level is negative or not a number, or the shape does not fit.
        """
        levels = as_numbers(level, "The level")
        if not (levels >= 0.0).all():
            raise ValueError("The level is negative or not a number; it must be 0 or more.")
        a1, a2 = self.shape
        try:
            levels = np.broadcast_to(levels, self.low.shape).copy()
        except ValueError:
            raise ValueError(
                f"The levels have the shape {levels.shape}; they must be one number, or {self.low.shape}."
            ) from None
        levels[np.arange(a1), np.arange(a1)] = 0.0
        levels[:, :, np.arange(a2), np.arange(a2)] = 0.0
        # What cells that nobody can be in decide, no report changes.
        with np.errstate(invalid="ignore"):
            low = np.where(np.isinf(self.low), self.low, self.low * np.exp(-levels))
        return OddsRatios(self.prior, low, self.impossible)

    @classmethod
    def known(cls, distribution: ArrayLike, impossible: ArrayLike | None = None) -> OddsRatios:
        """Take the odds ratios of a distribution for known.

        Cells with probability 0 are taken for rare ones, unless they are declared impossible: odds ratios
        are then 0 or inf, and anything where they are 0 / 0.

        Parameters
        ----------
        distribution : array_like, shape (a1, a2)
        impossible : array_like of bool, shape (a1, a2), optional
            Cells that nobody can be in; see above.

        Raises
        ------
        ValueError
            If it is not a two-dimensional distribution, or not 0 at impossible cells.
        """
        prior = as_distribution(distribution, "The distribution")
        if prior.ndim != 2:
            raise ValueError(
                f"The distribution has the shape {prior.shape}; it must be (sensitive, useful) values."
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.exp(_contrasts(np.log(prior)))
        ratios[np.isnan(ratios)] = 0.0
        return cls(prior, _without_comparison(ratios), _checked_impossible(impossible, prior))

    @classmethod
    def over(cls, ball: RenyiBall) -> OddsRatios:
        """Return the intervals of the odds ratios of all distributions in an uncertainty set.

        Every end is attained in F (`odds_over_ball`), but not all of them at once: the intervals allow more
        distributions than F does, whatever their marginals are. So private mechanisms have the guarantee
        over F, and more. For an order up to 1.001 they are those of the ball of order 1, which contains F.

        Parameters
        ----------
        ball : RenyiBall
            Of order 1 or more.

        Raises
        ------
        Intractable
            If its order is below 1.
        ValueError
            If it is no RenyiBall.
        """
        as_instance(ball, RenyiBall, "The ball")
        return cls(ball.centre, least_odds_ratios(ball))

    @classmethod
    def confidence(
        cls,
        counts: ArrayLike,
        beta: float = 0.05,
        method: IntervalMethod = "exact",
        impossible: ArrayLike | None = None,
        effective: float | None = None,
        freedom: float | None = None,
    ) -> OddsRatios:
        r"""Build intervals that contain all odds ratios at once with probability 1 - beta or more.

        - ``"exact"``: every interval is the exact conditional one (Clopper-Pearson for Fisher's noncentral
          hypergeometric distribution of a cell given the margins of its 2 x 2 table), at the level beta
          divided by the number of odds ratios, (a1 choose 2) (a2 choose 2), less those of tables with an
          impossible cell, which are not estimated. It holds for every number of samples and whatever is
          fixed by the design, samples for each s included, and is the default therefore.
        - ``"bonferroni"``: log rho-hat plus or minus z sqrt(sum of 1 / n over the four cells), with the
          normal quantile of the same level: narrower by little, and right for many samples only.
        - ``"scheffe"``: the same with the square root of the chi-squared quantile of a1 a2 - 1 degrees of
          freedom, less the impossible cells, in place of z. It holds for all contrasts of logarithms of
          probabilities at once, marginals included, and is wider than both.

        A cell without samples gives the end 0 or inf by the first method, and both by the others: that is
        always valid. These ends are those of cells that are rare.

        Parameters
        ----------
        counts : array_like of whole numbers, shape (a1, a2)
        beta : float
            Significance level, in (0, 1).
        method : {"exact", "bonferroni", "scheffe"}
        impossible : array_like of bool, shape (a1, a2), optional
            Cells that nobody can be in, without samples; a cell that is empty by chance is none of these.
        effective, freedom : float, optional
            As of `RenyiBall.confidence`, for weighted shares; not by the exact method. Quantiles are those of
            Student's t and of F then.

        Raises
        ------
        Intractable
            If the margins of a 2 x 2 table leave more than 1,000,000 possible counts to the exact method.
        ValueError
            If `RenyiBall.confidence` refuses the counts, or another argument is out of range.
        """
        check_choice(method, "method", get_args(IntervalMethod))
        # Which checks the arguments.
        prior = RenyiBall.confidence(counts, beta, 1.0, effective=effective, freedom=freedom).centre
        table, level = as_numbers(counts, "The table of counts"), float(beta)
        if effective is not None:
            check_choice(method, "method of weighted shares", ("bonferroni", "scheffe"))
            table = float(effective) * prior
        a1, a2 = table.shape
        excluded = _checked_impossible(impossible, prior)
        cells = np.ones((a1, a2)) if excluded is None else np.where(excluded, 0.0, 1.0)
        # Useful values that are possible with both of two sensitive ones.
        both = cells @ cells.T
        number = int((both * (both - 1.0) / 2.0)[np.triu_indices(a1, 1)].sum())
        if number == 0:
            return cls(prior, np.ones((a1, a1, a2, a2)), excluded)
        if method == "exact":
            return cls(prior, exact_ends(table, cells, math.log(level) - math.log(number)), excluded)
        single = method == "bonferroni"
        contrasts, tail = (1.0, level / number) if single else (float(cells.sum()) - 1.0, level)
        quantile = chi_squared_quantile(contrasts, tail, freedom)
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = _contrasts(1.0 / table, signs=(1, 1, 1, 1))
            ends = np.exp(_contrasts(np.log(table)) - np.sqrt(quantile * variances))
        ends[~np.isfinite(variances)] = 0.0
        return cls(prior, _without_comparison(ends), excluded)


def _contrasts(cells: FloatArray, signs: tuple[int, int, int, int] = (1, 1, -1, -1)) -> FloatArray:
    """Return the signed sums of the cells (t, u), (s, w), (t, w), (s, u), shape (a1, a1, a2, a2)."""
    su, sw = cells[:, None, :, None], cells[:, None, None, :]
    tu, tw = cells[None, :, :, None], cells[None, :, None, :]
    return np.asarray(signs[0] * tu + signs[1] * sw + signs[2] * tw + signs[3] * su)


def _without_comparison(ratios: FloatArray) -> FloatArray:
    """Return odds ratios with 1 where s = t or u = w, and equal where they are the same one to rounding."""
    a1, a2 = ratios.shape[0], ratios.shape[2]
    ratios = np.minimum(ratios, ratios.transpose(1, 0, 3, 2))
    ratios[np.arange(a1), np.arange(a1)] = 1.0
    ratios[:, :, np.arange(a2), np.arange(a2)] = 1.0
    return ratios


def _reciprocal(ratios: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / ratios)


def _checked_impossible(impossible: ArrayLike | None, prior: FloatArray) -> NDArray[np.bool_] | None:
    """Return a copy of the impossible cells of a table, or None, after checking that nobody is in them."""
    if impossible is None:
        return None
    try:
        cells = np.array(impossible)
    except (TypeError, ValueError, AttributeError, OverflowError):  # rows of different lengths, or no rows
        cells = np.empty(0)
    if cells.dtype != np.bool_:
        raise ValueError("The impossible cells are no table of truth values; it must have one for each cell.")
    if cells.shape != prior.shape:
        raise ValueError(f"The impossible cells have the shape {cells.shape}; it must be {prior.shape}.")
    if (prior[cells] > 0.0).any():
        s, u = (int(i) for i in np.argwhere(cells & (prior > 0.0))[0])
        raise ValueError(
            f"Cell (s, u) = ({s}, {u}) is declared impossible, but has the share {prior[s, u]:.6g} of the"
            " estimate; it must have none."
        )
    return cells


def _longest_paths(low: FloatArray, impossible: NDArray[np.bool_] | None) -> FloatArray:
    """Return the least odds ratios that are implied by all of them together, rounded down.

    Logarithms of odds ratios are differences, over u for fixed s and t, and over s for fixed u and w: what
    ends imply is a longest path. Every step is valid, so that it may end before nothing changes. Ratios of
    impossible cells (`_decided_by_impossible`) imply nothing. ValueError if no distribution has all of them.
    """
    if max(low.shape) < 3:
        return low
    with np.errstate(divide="ignore"):
        given = np.log(low)
    if impossible is not None:
        given = np.where(_contrasts(impossible.astype(float), (1, 1, 1, 1)) > 0.0, -math.inf, given)
    logs = given.copy()
    for _ in range(10):  # closed over u and over s, which nearly always takes two passes
        before = logs.copy()
        _lengthen(logs)
        _lengthen(logs.transpose(2, 3, 0, 1))
        if (logs == before).all():
            break
    loops = max(np.diagonal(logs, axis1=i, axis2=i + 1).max() for i in (0, 2))
    if loops > SETTINGS.odds_rounding:
        raise ValueError(
            "No distribution has all of its odds ratios in these intervals: around some values of U, or of S,"
            " the least ones multiply to more than 1."
        )
    return np.where(logs > given, np.exp(logs), low)


def _lengthen(logs: FloatArray) -> None:
    """Replace the lengths of edges between the last two axes by those of longest paths, in place.

    Every edge of a path costs more than its rounding, so that a cycle of rounding errors does not grow.
    """
    with np.errstate(invalid="ignore"):
        for x in range(logs.shape[-1]):
            via = logs[..., :, x, None] + logs[..., None, x, :] - SETTINGS.odds_rounding
            # What is infinite on the way is no number, and implies nothing.
            np.maximum(logs, np.where(np.isfinite(via), via, -math.inf), out=logs)


def _decided_by_impossible(low: FloatArray, impossible: NDArray[np.bool_]) -> FloatArray:
    """Return least odds ratios, 0, 1 or infinite where impossible cells decide them (`OddsRatios`)."""
    su, sw = impossible[:, None, :, None], impossible[:, None, None, :]
    tu, tw = impossible[None, :, :, None], impossible[None, :, None, :]
    none = (su & sw) | (tu & tw) | (su & tu) | (sw & tw)
    ratios = np.where(su | tw, math.inf, np.where(tu | sw, 0.0, low))
    return np.where(none, 1.0, ratios)


def _at(low: FloatArray, where: NDArray[np.bool_]) -> str:
    """Return the value and the indices of the first entry that a mask marks, as text."""
    s, t, u, w = (int(i) for i in np.argwhere(where)[0])
    return f"{low[s, t, u, w]:.6g} at (s, t, u, w) = ({s}, {t}, {u}, {w})"


def association_epsilon(channel: Channel, odds: OddsRatios) -> float:
    r"""Compute the smallest level at which S is private for acquaintances, in nats.

    The largest log P(y|s,z) / P(y|t,z) over outputs, s != t, all Z with Z - U - S, and all distributions
    whose odds ratios are in the intervals; 0/0 = 1, x/0 = inf. Of two values u, w with weights a and b given
    s, and rho a and b given t, the ratio of means ::

        (a x_u + b x_w) / (a + b)   to   (rho a y_u + b y_w) / (rho a + b),

    with x = v_s and y = v_t, is the larger of its ends, the conditional level, or has one interior maximum,
    where a quadratic is 0. To rounding, it is between `conditional_epsilon` and `unconditional_epsilon`.

    Parameters
    ----------
    channel : Channel
        Its inputs are the pairs (s, u) in row-major order.
    odds : OddsRatios

    Raises
    ------
    ValueError
        If an argument is something else, or the channel has another number of inputs than the odds ratios.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpfrontier import Channel, OddsRatios, association_epsilon
    >>> reveals_u = Channel(np.tile(np.eye(2), (2, 1)))
    >>> joint = np.outer([0.3, 0.7], [0.5, 0.5])
    >>> association_epsilon(reveals_u, OddsRatios.known(joint))
    0.0
    """
    as_instance(channel, Channel, "The channel")
    as_instance(odds, OddsRatios, "The odds ratios")
    level = conditional_epsilon(_at_possible_cells(channel, odds), odds.shape)
    blocks = channel.matrix.reshape(*odds.shape, -1)
    compared = odds.comparisons
    step = max(1, NUMERICS.piece // channel.n_outputs)
    for first in range(0, len(compared.rho), step):
        if math.isinf(level):
            break
        s, t, u, w, rho = compared.take(slice(first, first + step))
        x_u, x_w, y_w = blocks[s, u], blocks[s, w], blocks[t, w]
        # A mean is largest at x_u and least at y_w, and few comparisons have these so far apart.
        far = x_u > math.exp(level) * (1.0 - 1e-9) * y_w
        far &= (x_u > x_w) | (rho == 0.0)[:, None]
        k = np.nonzero(far)[0]
        levels = _interior_levels(x_u[far], x_w[far], blocks[t, u][far], y_w[far], rho[k])
        level = max(level, float(levels.max(initial=0.0)))
    return level


def _at_possible_cells(channel: Channel, odds: OddsRatios) -> Channel:
    """Return the channel with what it does at impossible cells replaced by what it does at possible ones."""
    if odds.impossible is None or channel.n_inputs != odds.prior.size:
        return channel
    other = odds.impossible.argmin(axis=0)
    blocks = channel.matrix.reshape(*odds.shape, -1)
    same = blocks[other, np.arange(odds.shape[1])]
    return Channel(np.where(odds.impossible[..., None], same, blocks).reshape(channel.matrix.shape))


def _interior_levels(
    x_u: FloatArray, x_w: FloatArray, y_u: FloatArray, y_w: FloatArray, rho: FloatArray
) -> FloatArray:
    """Return the levels of comparisons, (k,), at the worst weights of both u and w; else 0.

    With r = a / b the ratio of means has the derivative of the sign of k2 r^2 + 2 k1 r + k0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # Means have no unit; products of tiny entries would be lost.
        x, y = np.maximum(x_u, x_w), np.maximum(y_u, y_w)
        (c, d), (p, q) = (rho * x_u / x, x_w / x), (rho * y_u / y, y_w / y)
        rise = (1.0 - rho) * ((x_u - x_w) / x)
        k1 = c * q - d * p
        k0, k2 = k1 + rise * q, k1 - rise * p
        root = np.hypot(k1, np.sqrt(np.maximum(k0, 0.0)) * np.sqrt(np.maximum(-k2, 0.0)))
        r = np.where(k1 > 0.0, (k1 + root) / -k2, k0 / (root - k1))
        share = r / (1.0 + r)
        shifted = rho * r / (1.0 + rho * r)
        levels = log_ratio(share * x_u + (1.0 - share) * x_w, shifted * y_u + (1.0 - shifted) * y_w)
        levels = np.where((rise > 0.0) & (k0 > 0.0) & (k2 < 0.0), levels, 0.0)
        # Limits: no weight is the worst one where w has no chance, and u has no chance given t.
        levels = np.where((x_w == 0.0) & (y_w == 0.0), log_ratio(x_u, rho * y_u), levels)
        return np.where(rho == 0.0, log_ratio(x_u, y_w), levels)
