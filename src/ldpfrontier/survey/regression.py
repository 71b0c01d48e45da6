r"""Logistic regression with a randomized outcome or predictor, by maximum likelihood for a known channel.

A person with the covariates x has the value s with the probability pi_s(x), a (multinomial) logit, and
reports y with Q(y | s). Of a randomized outcome the likelihood of a report is sum_s Q(y | s) pi_s(x); with a
randomized predictor and an outcome z that is observed it is sum_s Q(y | s) pi_s(x) P(z | s, x), where
P(z | s, x) is the logit that is asked for, and pi that of the predictor given the other ones (Blair, Imai and
Zhou 2015, *Design and analysis of the randomized response technique*). With r_s the probability of s given
the report and x, the score is the mean of that of the complete data. Standard errors are those of the
observed information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit, logsumexp, ndtr, ndtri, softmax

from ldpfrontier.extras import extra
from ldpfrontier.survey.estimation import check_confidence
from ldpfrontier.survey.layout import columns, wrapped
from ldpfrontier.survey.reading import close_name
from ldpfrontier.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

#: Largest logit, of columns with the standard deviation 1, beyond which coefficients grow without limit.
_MOST = 30.0
_STEPS, _DIFFERENCE = 60, 1e-5


@dataclass(frozen=True, eq=False)
class RegressionResult:
    """Coefficients of a logistic regression, with the names of statsmodels.

    Attributes
    ----------
    names : tuple of str
        Of the coefficients; with more than two values of an outcome, the value is before the term.
    params, bse : ndarray, shape (coefficients,)
        Log odds ratios, and their standard errors.
    cov_params : ndarray, shape (coefficients, coefficients)
        The inverse of the observed information.
    llf : float
        Log-likelihood.
    nobs : int
    outcome : str
        What the odds are those of.
    """

    names: tuple[str, ...]
    params: FloatArray
    cov_params: FloatArray
    llf: float
    nobs: int
    outcome: str

    @property
    def bse(self) -> FloatArray:
        """Standard errors."""
        return np.asarray(np.sqrt(np.diag(self.cov_params)))

    @property
    def pvalues(self) -> FloatArray:
        """Two-sided p-values of Wald's test."""
        return np.asarray(2.0 * ndtr(-np.abs(self.params / self.bse)))

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return Wald's intervals, shape (coefficients, 2)."""
        half = -float(ndtri(0.5 * alpha)) * self.bse
        return np.column_stack([self.params - half, self.params + half])

    def summary(self, confidence: float = 0.95) -> str:
        """Return a table of the coefficients."""
        alpha = 1.0 - check_confidence(confidence)
        rows = [["", "coef", "std err", "z", "P>|z|", f"{100.0 * confidence:g}% interval"]]
        for name, b, se, p, (low, high) in zip(
            self.names, self.params, self.bse, self.pvalues, self.conf_int(alpha), strict=True
        ):
            rows.append(
                [name, f"{b:.3f}", f"{se:.3f}", f"{b / se:.2f}", f"{p:.3f}", f"{low:.3f} to {high:.3f}"]
            )
        head = f"Log odds of {self.outcome}; {self.nobs:,} people, log-likelihood {self.llf:.2f}."
        return f"{wrapped(head)}\n\n{columns(rows)}"


def randomized_logit(
    formula: str,
    data: pd.DataFrame,
    reports: Sequence[int] | IntArray,
    matrix: FloatArray,
    column: str,
    values: Sequence[str],
) -> RegressionResult:
    """Fit a logistic regression in which one variable is known through randomized reports.

    Parameters
    ----------
    formula : str
        As of formulaic (Wilkinson's): ``illness ~ age + C(region)`` if the outcome is randomized, or
        ``voted ~ illness + age`` if a predictor is.
    data : DataFrame
        What is observed of each person, without missing values.
    reports : array_like of int, shape (n,)
        The number of each person's report, a column of the channel.
    matrix : ndarray, shape (values, outputs)
        The channel.
    column : str
        The randomized variable in the formula; no column of the data.
    values : sequence of str
        Its values. The first one is the reference, also as a predictor.

    Returns
    -------
    RegressionResult
        With a randomized predictor, the coefficients of the outcome alone.

    Raises
    ------
    ValueError
        If the formula does not name the column, on one side, the data do not fit, or the likelihood has no
        maximum.
    MissingExtra
        If formulaic is not installed.
    """
    outcome, tilde, terms = (part.strip() for part in formula.partition("~"))
    if not tilde or not terms:
        raise ValueError(f"The formula is {formula!r}; it must be like 'outcome ~ age + region'.")
    chances = np.asarray(matrix, dtype=np.float64)[:, np.asarray(reports)].T
    if len(chances) != len(data) or chances.shape[1] != len(values):
        raise ValueError(
            f"There are {len(chances)} reports of {chances.shape[1]} values for {len(data)} rows of data and"
            f" {len(values)} values; they must agree."
        )
    if outcome == column:
        x, names = _design(terms, data)
        fit = _Fit(x, chances, None, [])
        labels = names if len(values) == 2 else [f"{value}: {n}" for value in values[1:] for n in names]
        return fit.result(labels, f"{column} = {values[1]}" if len(values) == 2 else column, len(data))
    z = _observed(outcome, data)
    designs = _designs(terms, data, column, values)
    rest = [name for name in data if name != outcome and _is_used(str(name), terms)]
    x, _ = _design(" + ".join(f"`{name}`" for name in rest) or "1", data)
    fit = _Fit(x, chances, z, [design for design, _ in designs])
    return fit.result(designs[0][1], outcome, len(data))


def _is_used(name: str, terms: str) -> bool:
    """Tell whether a formula names a column."""
    from formulaic import Formula

    return name in {str(variable) for variable in Formula(terms).required_variables}


def _design(terms: str, data: pd.DataFrame) -> tuple[FloatArray, list[str]]:
    """Return the matrix of the terms of a formula, (n, terms), and their names."""
    return _designs(terms, data, None, [""])[0]


def _designs(
    terms: str, data: pd.DataFrame, column: str | None, values: Sequence[str]
) -> list[tuple[FloatArray, list[str]]]:
    """Return the matrices with each value of a column for everybody, and the names of the terms."""
    import pandas as pd

    with extra("regression"):
        from formulaic import Formula, model_matrix
        from formulaic.errors import FormulaicError
    try:
        used = {str(name) for name in Formula(terms).required_variables}
        for name in used - {column}:
            if name not in data:
                raise ValueError(
                    f"The column {name!r} of the formula is not in the data; their columns are"
                    f" {', '.join(map(str, data))}.{close_name(name, map(str, data))}"
                )
        if column is not None and column not in used:
            raise ValueError(f"The formula does not name {column!r}, which the reports are of.")
        gone = [name for name in used - {column} if data[name].isna().any()]
        if gone:
            raise ValueError(f"The column {gone[0]!r} has missing values; leave these people out.")
        made = []
        for value in values:
            some = data
            if column is not None:
                levels = pd.Categorical([value] * len(data), categories=list(values))
                some = data.assign(**{column: levels})
            matrix = model_matrix(terms, some)
            made.append((np.asarray(matrix, dtype=np.float64), list(map(str, matrix.columns))))
    except FormulaicError as problem:
        raise ValueError(f"The formula {terms!r} cannot be used: {problem}") from None
    return made


def _observed(outcome: str, data: pd.DataFrame) -> FloatArray:
    """Return an outcome that is observed, as 0 and 1: the second one in order is 1."""
    if outcome not in data:
        raise ValueError(
            f"The outcome {outcome!r} is not in the data; their columns are {', '.join(map(str, data))}."
            f"{close_name(outcome, map(str, data))}"
        )
    found = sorted(set(data[outcome]))
    if len(found) != 2:
        raise ValueError(f"The outcome {outcome!r} has {len(found)} values; it must have two.")
    return np.asarray(data[outcome] == found[1], dtype=np.float64)


class _Fit:
    """The maximum of the likelihood.

    Parameters
    ----------
    x : ndarray, shape (n, p)
        Covariates of the randomized variable.
    chances : ndarray, shape (n, k)
        Of each person's report, given each value.
    z : ndarray, shape (n,), optional
        The outcome, if a predictor is randomized.
    designs : list of ndarray, shape (n, q)
        Covariates of the outcome, with each value of the randomized predictor.
    """

    def __init__(
        self, x: FloatArray, chances: FloatArray, z: FloatArray | None, designs: list[FloatArray]
    ) -> None:
        self.k = chances.shape[1]
        self.scale_x = _scales(x)
        self.x, self.z = x / self.scale_x, z
        with np.errstate(divide="ignore"):
            self.log_chances = np.log(chances)
        self.scale_d = _scales(np.concatenate(designs)) if designs else np.ones(0)
        self.designs = [design / self.scale_d for design in designs]
        self.alpha = (self.k - 1) * x.shape[1]

    def score(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient."""
        alpha, gamma = theta[: self.alpha].reshape(self.k - 1, -1), theta[self.alpha :]
        logits = np.column_stack([np.zeros(len(self.x)), self.x @ alpha.T])
        pi = softmax(logits, axis=1)
        log_joint = self.log_chances + logits - logsumexp(logits, axis=1)[:, None]
        if self.z is not None:
            eta = np.column_stack([design @ gamma for design in self.designs])
            log_joint = log_joint + log_expit(np.where(self.z[:, None] > 0, eta, -eta))
        total = logsumexp(log_joint, axis=1)
        r = np.exp(log_joint - total[:, None])
        parts = [((r - pi)[:, 1:].T @ self.x).ravel()]
        if self.z is not None:
            rest = r * (self.z[:, None] - expit(eta))
            parts.append(
                sum((design.T @ rest[:, s] for s, design in enumerate(self.designs)), np.zeros(len(gamma)))
            )
        return float(total.sum()), np.concatenate(parts)

    def information(self, theta: FloatArray) -> FloatArray:
        """Return the observed information, by central differences of the score."""
        steps = _DIFFERENCE * np.eye(len(theta))
        rows = [(self.score(theta - h)[1] - self.score(theta + h)[1]) / (2.0 * _DIFFERENCE) for h in steps]
        found = np.array(rows)
        return np.asarray(0.5 * (found + found.T))

    def result(self, names: Sequence[str], outcome: str, nobs: int) -> RegressionResult:
        """Return the coefficients that are asked for, in the units of the data."""
        theta = self._maximum()
        information = self.information(theta)
        values, vectors = np.linalg.eigh(information)
        if np.abs(theta).max() > _MOST or not values[0] > 1e-9 * values[-1]:
            raise ValueError(
                "The likelihood has no maximum, or a flat one: some coefficients grow without limit, or"
                " cannot be told apart. Use fewer terms, or more reports."
            )
        covariance = (vectors / values) @ vectors.T
        scale = np.concatenate([np.tile(self.scale_x, self.k - 1), self.scale_d])
        asked = slice(None, self.alpha) if self.z is None else slice(self.alpha, None)
        scale = scale[asked]
        return RegressionResult(
            tuple(names),
            theta[asked] / scale,
            covariance[asked, asked] / np.outer(scale, scale),
            self.score(theta)[0],
            nobs,
            outcome,
        )

    def _maximum(self) -> FloatArray:
        """Return the best of the maxima that are found from several starts."""
        from scipy.optimize import minimize

        size = self.alpha + len(self.scale_d)
        starts = [np.zeros(size)]
        if self.z is not None:  # the likelihood may have several maxima
            rng = np.random.default_rng(0)
            starts += [rng.normal(0.0, 0.5, size) for _ in range(3)]

        def worse(theta: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.score(theta)
            return -value / len(self.x), -slope / len(self.x)

        ends = [minimize(worse, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x for start in starts]
        theta: FloatArray = max(ends, key=lambda end: self.score(end)[0])
        for _ in range(_STEPS):  # Newton's steps: the last digits
            value, slope = self.score(theta)
            step = np.linalg.lstsq(self.information(theta), slope, rcond=None)[0]
            if not self.score(theta + step)[0] > value or np.abs(step).max() < _DIFFERENCE**2:
                break
            theta = theta + step
        return theta


def _scales(x: FloatArray) -> FloatArray:
    """Return units of columns: roots of their mean squares, 1 of a column of zeros."""
    sizes = np.sqrt((x**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)
