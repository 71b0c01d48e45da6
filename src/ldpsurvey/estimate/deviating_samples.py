"""Bounds if some people do not follow the rule, from a weighted, stratified or clustered sample, or a group.

The bounds are those of `deviating` for the weighted frequencies of reports, and the share of people who
deviate is that of their weights. Limits of means are those of `weighted`: Student's, for many reports.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from ldpfrontier.base.types import FloatArray
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.estimate.additions import Addition
from ldpsurvey.estimate.deviating import DeviatingReports
from ldpsurvey.estimate.estimates import Quantity
from ldpsurvey.estimate.weighted import RatioErrors, Sample


class DeviatingSample(DeviatingReports):
    """Reports of a sample of people, or of the group `among`, (n,), of whom a share may report anything."""

    def __init__(
        self,
        private: PrivateChannel,
        sample: Sample,
        deviating: float,
        *,
        among: np.ndarray | None = None,
        everybody: bool = False,
        always: str | None = None,
    ) -> None:
        inside = slice(None) if among is None else among
        outputs, weights = sample.outputs[inside], sample.weights[inside]
        number = len(private.outputs)
        self._errors = RatioErrors(sample, among)
        if self._errors.number < 2:
            raise ValueError("A group has one person, or one cluster; bounds need at least two in each.")
        counts = np.bincount(outputs, weights, minlength=number) * (len(outputs) / weights.sum())
        super().__init__(private, counts, deviating, everybody=everybody, always=always)
        self._states = np.cumsum(self._possible) - 1

    def _check_counts(self, counts: FloatArray, outputs: int) -> None:
        """Take weighted counts, which sum to the number of people."""

    def _is_explained(self) -> bool:
        """Return True: the check of the fit is for reports that are drawn independently."""
        return True

    def _half_widths(self, weights: FloatArray, tail: float) -> FloatArray:
        quantile = float(stdtrit(self._errors.freedom, 1.0 - tail))
        total, ones = float(self._errors.sums.all[0]), np.ones(weights.shape[1])
        found = []
        for row, mean in zip(weights, weights @ self.counts / self.records, strict=True):
            one = Addition(Quantity((), ()), None, self._states, row)
            error = self._errors.error(one, float(mean), total, ones)
            found.append(quantile * self._errors.with_one_more(error, row - mean, total))
        return np.array(found)

    def _limits_without_fit(self, weights: FloatArray, tail: float) -> FloatArray:
        return np.asarray(weights @ self.counts / self.records + self._half_widths(weights, tail))

    def _limits_of_means(self, weights: FloatArray, tail: float) -> FloatArray:
        half = self._half_widths(weights, tail)
        seen, fitted = (weights @ some / some.sum() for some in (self.counts, self.fitted))
        return np.asarray(np.maximum(seen + half, fitted + 0.5 * half))
