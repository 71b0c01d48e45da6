r"""Bounds of shares and rates if some people do not follow the rule, with confidence intervals.

A share g of the people report whatever they like, and the others as the channel Q says. With p the
distribution of the answers of those who follow the rule, the reports have the probabilities

    q = (1 - g) Q^T p + g r,

r any distribution. The distributions p that fit are exactly those with (1 - g) Q^T p <= q, since what is left
is g r. Bounds over this set are sharp: each end is attained by some r. If at most g do not follow the
rule, the set is the same, since it grows with g. Everybody has the distribution P = (1 - g) p + g t, and
nothing is known of t, the answers of those who do not follow the rule.

*Bounds* of a share c . p are linear programs, those of a rate (a . p) / (b . p) as well (Charnes and Cooper
1962). For a difference of rates, the rate that is compared with is confined to intervals, in each of which
the other rate has its bound; they are halved until the bounds are as close as `bound_tolerance`.

*Intervals.* If Q w >= c, then for every p, r and t

    (1 - g) c . p <= w . q - g min w,    c . P <= w . q - g min w + g max Q w.

An upper limit of the mean of w over the reports, as `intervals` has it, therefore gives one of c . p, and one
of c . P: the sampling error is added to the bound at each end. Each end fails with at most the probability
of its limit, whatever the people do who do not follow the rule. The weights are fixed before the reports are
seen, so that an interval covers all of the set with the confidence that it has. They are chosen at the table
of the design: for the least limit there, by linear programs that take the term g min w into account.

*Refusals.* If people who refuse are counted as well, nothing is known of their answers: everybody has the
distribution (1 - r) P + r s, r their share and s any. A refusal adds max Q w to the mean of the weights of
those who report, and the limit is that of this mean over everybody.

*One answer.* If all of these people give the same report y, whatever they are told, r is known, and of g that
it is at most so large. Then c . p <= (w . q - h w_y) / (1 - h) for their share h, which is largest at the
one or the other end of the range of h.

*The least share* that the reports need is 1 - max {sum_x z_x: Q^T z <= q, z >= 0}. If w >= 0 and Q w >= 1,
then g >= 1 - w . q. Weights that are fixed before the reports are seen give limits of it: those of each
report alone, and for each value those that show a negative share of it soonest. The level is divided among
them (Bonferroni).
"""

from __future__ import annotations

import heapq
import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.estimate.distribution import (
    FittedReports,
    Inversion,
    maximum_likelihood,
    misfit,
)
from ldpsurvey.estimate.intervals import mean_limits, upper_limits


def _least(cost: FloatArray, **program: Any) -> tuple[float, FloatArray] | None:
    """Return the value and the solution of a linear program as `linprog` takes it; None if it has none."""
    found: Any = linprog(cost, **program)
    return (float(found.fun), np.asarray(found.x)) if found.success else None


class DeviatingReports(FittedReports):
    """Counts of reports of people of whom a share may report anything: limits and bounds of this module.

    `p` is a distribution of those who follow the rule, and `fitted` are expected counts with it, which are
    the reports themselves if the share is large enough for them.
    """

    def __init__(
        self,
        private: PrivateChannel,
        counts: ArrayLike,
        deviating: float,
        *,
        everybody: bool = False,
        always: str | None = None,
        refusals: int = 0,
        like: DeviatingReports | None = None,
    ) -> None:
        if refusals < 0:
            raise ValueError(f"The number of refusals is {refusals}; it must be 0 or more.")
        if not 0.0 <= deviating < 1.0:
            raise ValueError(
                f"The share of people who do not follow the rule is {deviating:g}; it must be 0 or more and"
                " below 1."
            )
        values = len(private.channel.matrix)
        if values > SETTINGS.max_bounded_values:
            raise ValueError(
                f"The channel has {values:,} values; bounds for people who do not follow the rule are"
                f" computed for up to {SETTINGS.max_bounded_values}."
            )
        super().__init__(private, counts, like)
        # Of everybody alone: those who report are the same without them.
        self.refusals = refusals if everybody else 0
        self.deviating, self.everybody, self.always = float(deviating), everybody, always
        self._answer: FloatArray | None = None  # the report that is always given, (outputs,)
        if always is not None:
            possible = [private.outputs[y] for y in np.flatnonzero(self._possible)]
            self._answer = np.eye(len(possible))[report_place(always, possible)]
        frequencies = self.counts / self.records
        explaining = _least(-np.ones(values), A_ub=self._matrix.T, b_ub=frequencies)
        found = np.zeros(values) if explaining is None else explaining[1]
        total = float(found.sum())
        self.needed = min(max(1.0 - total, 0.0), 1.0)
        if self.needed > SETTINGS.rounding or (self.p @ self._matrix > frequencies / (1.0 - deviating)).any():
            self.p = found / total if total > 0.0 else np.full(values, 1.0 / values)
        explained = total * (self.p @ self._matrix)
        rest = np.maximum(frequencies - explained, 0.0)
        if self.needed > deviating:
            rest = deviating * rest / rest.sum() + (1.0 - deviating - total) * (self.p @ self._matrix)
            self.fitted = self.records * (explained + rest)
        else:
            self.fitted = self.counts
        if self._answer is not None:
            self._fit_answer(self._answer)

    def _fit_answer(self, answer: FloatArray) -> None:
        """Fit reports of people of whom some always give one answer, and at most the share that may."""
        rows = np.vstack([self._matrix, answer])
        found, _ = maximum_likelihood(rows, self.counts)
        if found[-1] > self.deviating:
            rows = (1.0 - self.deviating) * self._matrix + self.deviating * answer
            found, _ = maximum_likelihood(rows, self.counts)
            self.p = found
        else:
            self.p = found[:-1] / found[:-1].sum()
        self.fitted = self.records * (found @ rows)

    @property
    def doubt(self) -> str:
        """Say that more people have not followed the rule; empty if that may be chance."""
        least = self.at_least(SETTINGS.misfit)
        if least <= self.deviating:
            if self._answer is None or self._is_explained():
                return ""
            return (
                f"The {self.records:,} reports do not show that at most {100.0 * self.deviating:.3g}% of the"
                f" people always report {self.always!r}, and the others follow the rule: such reports would"
                f" have the probability {SETTINGS.misfit:g} at most"
            )
        return (
            f"The {self.records:,} reports show that more than {100.0 * self.deviating:.3g}% of the people"
            f" have not followed the rule: at least {100.0 * least:.3g}% (such reports would have the"
            f" probability {SETTINGS.misfit:g} at most)"
        )

    def _is_explained(self) -> bool:
        """Tell whether reports of people of whom some always give one answer may be these."""
        return misfit(self.counts, self.fitted) >= SETTINGS.misfit

    # Limits ------------------------------------------------------------------------------------------------

    def _shift(self, weights: FloatArray) -> FloatArray:
        """Return weights with a constant added for those who do not follow the rule."""
        added = -weights.min(axis=1)
        if self.everybody:
            added = added + (weights @ self._matrix.T).max(axis=1)
        return np.asarray(weights + self.deviating * added[:, None])

    def limits(self, weights: FloatArray, tail: float) -> FloatArray:
        """Return upper limits, (m,), of c . P, or of (1 - g) c . p; with one answer of c . p."""
        if self._answer is not None:
            found, told = self._limits_with_refusals(weights, weights, tail), weights @ self._answer
            if self.everybody:
                added = self.deviating * ((weights @ self._matrix.T).max(axis=1) - told)
                more = self._limits_with_refusals(weights + added[:, None], weights, tail)
            else:
                more = (found - self.deviating * told) / (1.0 - self.deviating)
            return np.asarray(np.maximum(found, more))
        return self._limits_with_refusals(self._shift(weights), weights, tail)

    def _limits_with_refusals(self, shifted: FloatArray, weights: FloatArray, tail: float) -> FloatArray:
        """Return upper limits of means over everybody, to which refusals add the largest entry of Q w."""
        if not self.refusals:
            return self._limits_of_means(shifted, tail)
        most = (weights @ self._matrix.T).max(axis=1)
        counts, fitted = np.append(self.counts, self.refusals), np.append(self.fitted, self.refusals)
        return upper_limits(np.column_stack([shifted, most]), counts, fitted, tail)

    def intervals(self, weights: tuple[FloatArray, FloatArray], tail: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals within 0 and 1, (m,) each, which fail with `tail` each."""
        part = 1.0 if self.everybody or self._answer is not None else 1.0 - self.deviating
        low, high = (self.limits(some, tail) / part for some in weights)
        return np.clip(-low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _limit_weights(
        self, linear: Inversion, vectors: FloatArray, tail: float
    ) -> tuple[FloatArray, FloatArray]:
        down, up = super()._limit_weights(linear, vectors, tail)
        if self._answer is not None:
            return down, up
        return self._robust(-vectors, down, tail), self._robust(vectors, up, tail)

    def _robust(self, vectors: FloatArray, usual: FloatArray, tail: float) -> FloatArray:
        """Return weights w with Q w >= c whose limits are low at the table of the design.

        The usual ones, those of the least bound, and mixtures of the two are compared; others than the usual
        ones have to be better by the share `limit_gain` of what the limit is above c . p there.
        """
        prior = self.table.expected.ravel()
        counts = self.records * (prior @ self._matrix)
        robust = np.array([self._least_bound(c, w) for c, w in zip(vectors, usual, strict=True)])
        best, truth = usual, (1.0 - self.deviating * (not self.everybody)) * (vectors @ prior)
        excess = (1.0 - SETTINGS.limit_gain) * (mean_limits(self._shift(usual), counts, tail) - truth)
        for share in (0.5, 1.0):
            mixed = (1.0 - share) * usual + share * robust
            found = mean_limits(self._shift(mixed), counts, tail) - truth
            best = np.where((found < excess)[:, None], mixed, best)
            excess = np.minimum(excess, found)
        return best

    def _least_bound(self, c: FloatArray, usual: FloatArray) -> FloatArray:
        """Return the weights w with Q w >= c of the least bound at the table of the design, (outputs,).

        Where Q w = c can be, it is asked for: the weights are then good wherever the people are.
        """
        inputs, outputs = self._matrix.shape
        mean, g, all_people = self.table.expected.ravel() @ self._matrix, self.deviating, self.everybody
        exact = bool(np.abs(self._matrix @ usual - c).max() <= SETTINGS.shown_tolerance)
        # Variables: w, its minimum, and the maximum of Q w.
        cost = np.concatenate([mean, [-g, g * all_people]])
        above = np.hstack([-self._matrix, np.zeros((inputs, 2))])
        over = np.hstack([self._matrix, np.zeros((inputs, 1)), -np.ones((inputs, 1))])
        under = np.hstack([-np.eye(outputs), np.ones((outputs, 1)), np.zeros((outputs, 1))])
        rows, right = [over, under], [np.zeros(inputs), np.zeros(outputs)]
        if not exact:
            rows, right = [above, *rows], [-c, *right]
        found = _least(
            cost, A_ub=np.vstack(rows), b_ub=np.concatenate(right), bounds=(None, None),
            A_eq=-above if exact else None, b_eq=c if exact else None,
        )  # fmt: skip
        if found is None:  # nothing is lost but the width of an interval
            return usual
        w = found[1][:outputs]
        return np.asarray(w + max(float((c - self._matrix @ w).max()), 0.0))

    # Bounds ------------------------------------------------------------------------------------------------

    @cached_property
    def _program(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return A, b, C, d of the set {z >= 0: A z <= b, C z = d} of (1 - g) p, and g t of everybody."""
        inputs, r = len(self._matrix), self.refusals / (self.records + self.refusals)
        g, right = (1.0 - r) * self.deviating, (1.0 - r) * self.fitted / self.records
        ones, zeros = np.ones(inputs), np.zeros(inputs)
        if self._answer is not None:
            others = np.ones(inputs if self.everybody else 1)
            upper = np.concatenate([zeros, others])[None, :]
            equal = np.hstack([self._matrix.T, np.outer(self._answer, others)])
            if not self.refusals:
                return upper, np.array([g]), equal, right
            # And the answers of those who refuse.
            upper = np.concatenate([zeros, others, zeros])[None, :]
            equal = np.vstack([
                np.hstack([equal, np.zeros((len(right), inputs))]), [*zeros, *zeros, *ones]
            ])  # fmt: skip
            return upper, np.array([g]), equal, np.append(right, r)
        if not self.everybody:
            return self._matrix.T, right, ones[None, :], np.array([1.0 - g])
        upper = np.hstack([self._matrix.T, np.zeros(self._matrix.T.shape)])
        masses = np.array([[*ones, *zeros], [*zeros, *ones]])
        return upper, right, masses, np.array([1.0 - r - g, r + g])

    def _of(self, c: FloatArray) -> FloatArray:
        """Return a function of p as one of the variables of the program, up to the factor 1 - g."""
        if self.everybody:
            parts = 3 if self.refusals and self._answer is not None else 2
            return np.tile(c, parts)
        return c if self._answer is None else np.append(c, 0.0)

    def bounds(self, c: FloatArray) -> tuple[float, float]:
        """Return the least and the largest value of c . p, or of c . P, that fits the reports."""
        if self._answer is not None and not self.everybody:
            return self.rate_bounds(c, np.ones(len(c)))
        a, b, e, d = self._program
        part = 1.0 if self.everybody else 1.0 - self.deviating
        ends = [0.0, 1.0]
        for place, sign in enumerate((1.0, -1.0)):
            found = _least(sign * self._of(c), A_ub=a, b_ub=b, A_eq=e, b_eq=d)
            if found is not None:  # rounding alone can empty the set
                ends[place] = sign * found[0] / part
        return max(ends[0], 0.0), min(ends[1], 1.0)

    def _most_rate(
        self, above: FloatArray, below: FloatArray, more: FloatArray | None = None
    ) -> tuple[float, FloatArray] | None:
        """Return the largest value of (a . z) / (b . z), and z b-normalized, if more . z <= 0 for each row.

        None if b . z is 0 for all of them, or there are none.
        """
        a, b, e, d = self._program
        size = a.shape[1]
        rows = [np.hstack([a, -b[:, None]])]
        if more is not None:
            rows.append(np.hstack([more, np.zeros((len(more), 1))]))
        upper = np.vstack(rows)
        equal = np.vstack([np.hstack([e, -d[:, None]]), np.append(below, 0.0)])
        found = _least(
            -np.append(above, 0.0), A_ub=upper, b_ub=np.zeros(len(upper)), A_eq=equal,
            b_eq=np.append(np.zeros(len(e)), 1.0),
        )  # fmt: skip
        return None if found is None else (-found[0], found[1][:size])

    def rate_bounds(self, above: FloatArray, below: FloatArray) -> tuple[float, float]:
        """Return the least and the largest rate (a . p) / (b . p) that fits the reports, a within b."""
        most = self._most_rate(self._of(above), self._of(below))
        least = self._most_rate(self._of(below - above), self._of(below))
        if most is None or least is None:  # nobody need have the useful value, or rounding empties the set
            some = float(below @ self.p)
            return (float(above @ self.p) / some,) * 2 if some > SETTINGS.shown_tolerance else (0.0, 1.0)
        return max(1.0 - least[0], 0.0), min(most[0], 1.0)

    def most_difference(
        self, above: FloatArray, below: FloatArray, other: FloatArray, other_below: FloatArray
    ) -> float:
        """Return the largest difference of two rates that fits the reports, to `bound_tolerance` above."""
        a, b, c, d = map(self._of, (above, below, other, other_below))

        def part(low: float, high: float) -> tuple[float, float, float]:
            """Return the negative of a bound with the other rate between low and high, and a value there."""
            found = self._most_rate(a, b, np.array([c - high * d, low * d - c]))
            if found is None:
                return math.inf, low, high
            value, z = found
            reached.append(value - float(c @ z) / max(float(d @ z), 1e-300) if d @ z > 0.0 else -1.0)
            return -(value - low), low, high

        reached = [-1.0]
        heap = [part(*self.rate_bounds(other, other_below))]
        for _ in range(SETTINGS.bound_rounds):
            bound, low, high = heap[0]
            if -bound - max(reached) <= SETTINGS.bound_tolerance:
                break
            middle = 0.5 * (low + high)
            halves = [part(low, middle), part(middle, high)]
            if min(halves)[0] == math.inf:  # rounding empties both
                break
            heapq.heapreplace(heap, halves[0])
            heapq.heappush(heap, halves[1])
        if heap[0][0] < math.inf:
            return min(-heap[0][0], 1.0)
        some, others = float(below @ self.p), float(other_below @ self.p)
        known = min(some, others) > SETTINGS.shown_tolerance
        return float(above @ self.p) / some - float(other @ self.p) / others if known else 1.0

    # The least share ---------------------------------------------------------------------------------------

    @cached_property
    def _detectors(self) -> FloatArray:
        """Return weights w >= 0 with Q w >= 1, (m, outputs), which show people who do not follow the rule."""
        matrix, prior = self._matrix, self.table.expected.ravel()
        if len(matrix) < 2:
            return np.ones((1, matrix.shape[1]))
        least = matrix.min(axis=0)
        alone = np.diag(1.0 / least[least > 0.0]) @ np.eye(len(least))[least > 0.0]
        found = [w / w.max() for w in alone]
        for x in range(len(matrix)):
            # The others alone, and half of the negative share of x with which reports are possible at all.
            others = np.where(np.arange(len(matrix)) == x, 0.0, prior) / (1.0 - prior[x]) @ matrix
            beyond = matrix[x] - others
            with np.errstate(divide="ignore", invalid="ignore"):
                most = float(np.where(beyond > 0.0, others / beyond, np.inf).min())
            moved = others - 0.5 * min(most, 2.0) * beyond
            program = _least(moved, A_ub=-matrix, b_ub=-np.ones(len(matrix)))
            if program is not None:
                found.append(program[1] / program[1].max())
        kept = np.unique(np.round(found, 9), axis=0)
        return np.asarray(kept / (kept @ matrix.T).min(axis=1, keepdims=True))

    def at_least(self, error: float) -> float:
        """Return a lower limit of the share of people who do not follow the rule, wrong with `error` at most.

        It tests the rule: that at most a share g deviates is rejected if the limit is above g.
        """
        weights = self._detectors
        tail = min(error / len(weights), 0.49)
        return min(max(1.0 - float(self._limits_without_fit(weights, tail).min()), 0.0), 1.0)

    def _limits_without_fit(self, weights: FloatArray, tail: float) -> FloatArray:
        """Return upper limits of the means of weights, (m,), whatever counts are fitted."""
        return mean_limits(weights, self.counts, tail)
