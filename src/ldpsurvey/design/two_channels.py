r"""Shares of people who give one answer whatever they are told, from two channels drawn by lot.

Some people say "no" whatever the die shows. One channel cannot tell them from those whose answer is "no". If
it is drawn by lot who reports by which of two channels, their reports have the probabilities

    q_i = Q_i^T p + z e,    sum_x p_x + z = 1,    i = 1, 2,

z the share of these people, p_x that of those who follow the rule and have the answer x, and e the answer
that is always given (Clark and Desharnais 1998, *Honest answers to embarrassing questions: detecting cheating
in the randomized response model*, for two values). So they are one more value of one channel, whose
reports are pairs of a group and a report: all estimates and intervals are those of any channel. The chances
of the groups are their shares in the data, given which estimates are unbiased.

Nobody is in the model who does anything else. What the answers of these people are, nothing tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, xlogy

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.data.reading import said
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.estimate.distribution import (
    Estimate,
    FittedReports,
    estimate_distribution,
    maximum_likelihood,
    standard_errors,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class TwoChannels(Tabular):
    """Shares of values, and of people who always give one answer, from reports by two channels.

    Attributes
    ----------
    estimate : Estimate
        Of which the last value is that of the people who always give the answer.
    p_value : float
        Of the test that there are none of them: by the likelihood ratio, which has half the probability of a
        chi-squared variable with one degree of freedom then, for many reports.
    always : str
        The answer.
    """

    estimate: Estimate
    p_value: float
    always: str

    def to_frame(self) -> pd.DataFrame:
        """Return the shares, a row each."""
        return self.estimate.to_frame()

    def _about(self) -> str:
        return f"{self.estimate._about()}; p = {self.p_value:.2g} that nobody always gives {self.always}"


def estimate_two_channels(
    privates: tuple[PrivateChannel, PrivateChannel],
    counts: tuple[ArrayLike, ArrayLike],
    always: str,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    check_fit: bool = True,
) -> TwoChannels:
    """Estimate the shares of values, and of people who give one answer whatever they are told.

    Parameters
    ----------
    privates : tuple of PrivateChannel
        For the same values. Which of the two a person reports by was drawn by lot.
    counts : tuple of array_like of int, shape (outputs,) each
        As `count_reports` returns them for the reports by each.
    always : str
        The report that these people give.
    confidence, simultaneous, check_fit
        As in `estimate_distribution`.

    Returns
    -------
    TwoChannels

    Raises
    ------
    ValueError
        If the channels have other values, one has no such report, or no reports, or the two together do not
        show the share of these people.
    """
    one, other = (private.table for private in privates)
    if one.labels != other.labels or one.attributes != other.attributes:
        raise ValueError("The two channels have different columns or values; they must agree.")
    sizes = [float(np.sum(some)) for some in counts]
    if min(sizes) <= 0.0:
        raise ValueError("There are no reports by one of the two channels; each needs some.")
    rows = [
        np.vstack([private.channel.matrix, _unit(private, always)]) * size / sum(sizes)
        for private, size in zip(privates, sizes, strict=True)
    ]
    stacked, last = np.hstack(rows), np.eye(len(rows[0]))[-1]
    apart = stacked @ np.linalg.lstsq(stacked, last)[0] - last
    if np.linalg.norm(apart) > SETTINGS.shown_tolerance:
        raise ValueError(
            f"The two channels together do not show how many people always say {always!r}: their chances must"
            " differ, such as those of a forced answer."
        )
    name = said(one.attributes)
    values = [*map(said, one.labels), f"(always {always})"]
    joint = _joint(name, values, stacked, privates)
    found = np.concatenate([np.asarray(some, dtype=np.float64) for some in counts])
    fit = FittedReports(joint, found)
    estimate = estimate_distribution(
        joint, found, confidence=confidence, simultaneous=simultaneous, check_fit=check_fit
    )
    estimate = replace(estimate, frequencies=[
        replace(row, error=float(error))
        for row, error in zip(estimate.frequencies, _errors(fit, rows[0].shape[1]), strict=True)
    ])  # fmt: skip
    without = maximum_likelihood(joint.channel.matrix[:-1], found)[0] @ joint.channel.matrix[:-1]
    gain = 2.0 * float(xlogy(found, fit.p @ joint.channel.matrix).sum() - xlogy(found, without).sum())
    return TwoChannels(estimate, 0.5 * float(chdtrc(1.0, gain)) if gain > 1e-6 else 1.0, always)


def _errors(fit: FittedReports, first: int) -> FloatArray:
    """Return standard errors of shares, given how many people reported by the first channel; (m,)."""
    errors = []
    for own in (slice(first), slice(first, None)):
        weights, frequencies = fit.linear.weights[:, own], fit.frequencies[own]
        share = float(frequencies.sum())
        errors.append(share * standard_errors(weights, frequencies / share, round(share * fit.records)))
    return np.asarray(np.hypot(*errors))


def _unit(private: PrivateChannel, always: str) -> FloatArray:
    """Return the reports of somebody who always gives the same one, (outputs,)."""
    return np.asarray(np.eye(len(private.outputs))[report_place(always, private.outputs)])


def _joint(
    name: str, values: Sequence[str], matrix: FloatArray, privates: Sequence[PrivateChannel]
) -> PrivateChannel:
    """Return the channel of both groups, whose reports have the number of the group before them."""
    reports = tuple(
        f"{group}: {report}" for group, private in enumerate(privates, 1) for report in private.outputs
    )
    return known_channel(table_of_values({name: list(values)}, [name]), matrix, reports, "two channels")
