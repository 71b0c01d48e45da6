r"""Logistic regression with randomized variables, by maximum likelihood for a known channel.

A report y tells of a value v with Q(y | v); v has randomized predictors w, maybe none, and the outcome o,
unless the outcome is observed, which is another factor 0 or 1. The likelihood of a person with the covariates
x is sum_{w, o} Q(y | w, o) P(w | x) P(o | w, x), where P(o | w, x) is the (multinomial) logit that is asked
for, and P(w | x) that of the predictors given the other ones (Blair, Imai and Zhou 2015, *Design and analysis
of the randomized response technique*). The score is the mean of that of the complete data, given the report.
Standard errors are those of the observed information.

Of a weighted, stratified or clustered sample, the log-likelihood of each person is multiplied by the weight,
scaled to a mean of 1 (pseudo maximum likelihood). The covariance is the sandwich of the inverse information
and the variance of the sum of the weighted scores, of clusters or people within strata (Binder 1983, *On the
variances of asymptotically normal estimators from complex surveys*); intervals are Student's.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtr, ndtri, stdtr, stdtrit

from ldpfrontier.base.extras import extra
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.layout import columns, counted, remark, wrapped
from ldpsurvey.base.names import close_name
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.data.reading import Label, as_number, said
from ldpsurvey.data.values import may_be_missing
from ldpsurvey.estimate.distribution import check_confidence
from ldpsurvey.estimate.weighted import Sample, check_sizes

if TYPE_CHECKING:
    import pandas as pd

#: Largest logit, of columns with the standard deviation 1, beyond which coefficients grow without limit.
_MOST = 30.0
_STEPS, _DIFFERENCE = 60, 1e-5

#: Parts of a formula: a name in backticks, a text, a number, a name that may have dots, any other letter.
_TOKEN = re.compile(r"`([^`]*)`|\"[^\"]*\"|'[^']*'|[0-9][\w.]*|(\.?[^\W\d][\w.]*)|.", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResult(Tabular):
    """Coefficients of a logistic regression, with the names of statsmodels.

    `params` are log odds ratios, `bse` their standard errors, and `cov_params` is the inverse of the observed
    information, or the sandwich covariance of a weighted, stratified or clustered sample, with the degrees of
    `freedom`. With more than two values of an outcome, a name begins with the value. The odds are those of
    `outcome`. The log-likelihood may be `relative` to that of reports that tell nothing.
    """

    names: tuple[str, ...]
    params: FloatArray
    cov_params: FloatArray
    llf: float
    nobs: int
    outcome: str
    freedom: float = math.inf
    relative: bool = False

    @property
    def bse(self) -> FloatArray:
        """Standard errors."""
        return np.asarray(np.sqrt(np.diag(self.cov_params)))

    @property
    def pvalues(self) -> FloatArray:
        """Two-sided p-values of Wald's test."""
        z = -np.abs(self.params / self.bse)
        return np.asarray(2.0 * (ndtr(z) if self.freedom == math.inf else stdtr(self.freedom, z)))

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return Wald's intervals, shape (coefficients, 2)."""
        known = self.freedom < math.inf
        half = -float(stdtrit(self.freedom, 0.5 * alpha) if known else ndtri(0.5 * alpha)) * self.bse
        return np.column_stack([self.params - half, self.params + half])

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the coefficients, a row each, with Wald's intervals."""
        low, high = self.conf_int(1.0 - check_confidence(confidence)).T
        rows = zip(self.names, self.params, self.bse, self.pvalues, low, high, strict=True)
        head = ("term", "estimate", "standard_error", "p_value", "low", "high")
        return frame_of(dict(zip(head, row, strict=True)) for row in rows)

    def _about(self) -> str:
        return f"log odds of {self.outcome}, {counted(len(self.names), 'coefficient')}, {self.nobs:,} people"

    def summary(self, confidence: float = 0.95) -> str:
        """Return a table of the coefficients."""
        alpha = 1.0 - check_confidence(confidence)
        sampled = self.freedom < math.inf
        z = "t" if sampled else "z"
        rows = [["", "coef", "std err", z, f"P>|{z}|", f"{100.0 * confidence:g}% interval"]]
        for name, b, se, p, (low, high) in zip(
            self.names, self.params, self.bse, self.pvalues, self.conf_int(alpha), strict=True
        ):
            rows.append(
                [name, f"{b:.3f}", f"{se:.3f}", f"{b / se:.2f}", f"{p:.3f}", f"{low:.3f} to {high:.3f}"]
            )
        head = f"Log odds of {self.outcome}; {self.nobs:,} people, {'pseudo-' * sampled}log-likelihood"
        head += f" {self.llf:.2f}{' relative to that of reports that tell nothing' * self.relative}"
        head += f"; {self.freedom:,.0f} degrees of freedom." if sampled else "."
        return f"{wrapped(head)}\n\n{columns(rows)}"


def randomized_logit(
    formula: str,
    data: pd.DataFrame,
    reports: Sequence[int] | IntArray,
    matrix: FloatArray,
    randomized: Sequence[str],
    labels: Sequence[Label],
    sample: Sample | None = None,
) -> RegressionResult:
    """Fit a logistic regression in which variables are known through randomized reports.

    The formula (Wilkinson's, as of formulaic) names all that is randomized: ``illness ~ age + C(region)`` if
    the outcome is, ``voted ~ illness + age`` if a predictor is, or both are. `data` has what is observed of
    each person, `reports` the number of each person's report, and `matrix`, (labels, outputs), the channel.

    The variables `randomized` are known through a report together; `labels` are their values, every
    combination once. A predictor whose values are numbers is a number in the formula, and the first value of
    an outcome is the reference. A likelihood without a maximum is refused. The `sample` says how these people
    were drawn, if not with equal weights and independently.
    """
    import pandas as pd

    outcome, terms = outcome_and_terms(formula)
    chances = np.asarray(matrix, dtype=np.float64)[:, np.asarray(reports)].T
    if len(chances) != len(data) or chances.shape[1] != len(labels):
        raise ValueError(
            f"There are {len(chances)} reports of {chances.shape[1]} values for {len(data)} rows of data and"
            f" {len(labels)} values; they must agree."
        )
    predictors = [name for name in randomized if name != outcome]
    values = dict(
        zip(randomized, (list(dict.fromkeys(one)) for one in zip(*labels, strict=True)), strict=True)
    )
    if math.prod(map(len, values.values())) != len(labels):
        raise ValueError(
            f"Some combinations of {said(tuple(randomized))} are no values of the channel; a regression needs"
            " all of them."
        )
    combinations = list(itertools.product(*(values[name] for name in predictors)))
    places = {label: place for place, label in enumerate(combinations)}
    kinds = values.get(outcome, ["", ""])
    joint = np.zeros((len(data), len(combinations), len(kinds)))
    z = None if outcome in values else _observed(outcome, data)
    for column, label in enumerate(labels):
        named = dict(zip(randomized, label, strict=True))
        place = places[tuple(named[name] for name in predictors)]
        if z is None:
            joint[:, place, kinds.index(named[outcome])] = chances[:, column]
        else:
            joint[:, place, :] = chances[:, column, None] * np.column_stack([1.0 - z, z])
    every = [*map(str, data), *predictors]
    if unused := [name for name in predictors if not _is_used(name, terms, every)]:
        raise ValueError(f"The formula does not name {unused[0]!r}, which the reports are of.")
    # All values at once, so that C(x) knows them.
    stacked = pd.concat(
        [data.drop(columns=predictors, errors="ignore")] * len(combinations), ignore_index=True
    )
    for place, name in enumerate(predictors):
        stacked[name] = numbers_or_categories(
            [label[place] for label in combinations for _ in range(len(data))], values[name]
        )
    made, names = design_matrix(terms, stacked)
    rest = [name for name in data if name not in (outcome, *predictors) and _is_used(str(name), terms, every)]
    x, covariate_names = design_matrix(" + ".join(f"`{name}`" for name in rest) or "1", data)
    found = [str(kind) for kind in kinds[1:]]
    fit = _LikelihoodFit(x, joint, np.split(made, len(combinations)), sample)
    of_outcome = names if len(kinds) == 2 else [f"{kind}: {name}" for kind in found for name in names]
    of_predictors = [f"{said(label)} given {name}" for label in combinations[1:] for name in covariate_names]
    return fit.result(
        [*of_predictors, *of_outcome],
        f"{outcome} = {found[0]}" if z is None and len(kinds) == 2 else outcome,
    )


def outcome_and_terms(formula: str) -> tuple[str, str]:
    """Return the outcome of a formula, and its terms."""
    tilde = next((found for found in _TOKEN.finditer(formula) if found[0] == "~"), None)
    cut = len(formula) if tilde is None else tilde.start()
    outcome, terms = formula[:cut].strip().strip("`"), formula[cut + 1 :].strip()
    if not tilde or not terms or not outcome:
        raise ValueError(f"The formula is {formula!r}; it must be like 'outcome ~ age + region'.")
    return outcome, terms


def plain_names(terms: str, columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return terms with names that the formula library takes, and what the new ones stand for.

    In backticks any name is one, and without them one that a column has, with dots as R writes it.
    """
    found = dict[str, str]()

    def made(match: re.Match[str]) -> str:
        token, name = match[0], match[1] or match[0]
        dotted = "." in name and match[2] is not None and name.partition(".")[0] not in (*columns, "np")
        is_name = match[1] is not None or (
            (name in columns or dotted) and not terms[match.end() :].lstrip().startswith("(")
        )
        plain = name.isascii() and name.isidentifier() and not iskeyword(name)
        return token if plain or not is_name else found.setdefault(name, f"column_{len(found)}_")

    text = _TOKEN.sub(made, terms)
    return text, {new: name for name, new in found.items()}


def _with_own_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names that `plain_names` has replaced."""
    return re.sub(r"\bcolumn_[0-9]+_", lambda match: names.get(match[0], match[0]), text)


def _is_used(name: str, terms: str, columns: Sequence[str]) -> bool:
    """Tell whether a formula names a column."""
    return name in formula_variables(terms, columns)


def formula_variables(terms: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that a formula names."""
    with extra("regression"):
        from formulaic import Formula
    plain, names = plain_names(terms, columns)
    with _with_plain_errors(terms):
        return sorted(names.get(str(name), str(name)) for name in Formula(plain).required_variables)


@contextmanager
def _with_plain_errors(terms: str) -> Iterator[None]:
    """Turn what the formula library raises into a `ValueError`, without codes for colours."""
    from formulaic.errors import FormulaicError

    try:
        yield
    except FormulaicError as problem:
        why = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).split())
        raise ValueError(f"The formula {terms!r} cannot be used: {why}") from None


def design_matrix(terms: str, data: pd.DataFrame) -> tuple[FloatArray, list[str]]:
    """Return the matrix of the terms of a formula, (n, terms), and their names."""
    columns = list(map(str, data))
    for name in formula_variables(terms, columns):
        if name not in data:
            raise ValueError(
                f"The column {name!r} of the formula is not in the data; their columns are"
                f" {', '.join(map(str, data))}.{close_name(name, map(str, data))}"
            )
        _check_complete(name, data)
    from formulaic import model_matrix

    with _with_plain_errors(terms), np.errstate(all="ignore"):
        plain, own = plain_names(terms, columns)
        renamed = data.rename(columns={name: new for new, name in own.items()})
        matrix = model_matrix(plain, renamed, na_action="ignore")
    if not len(getattr(matrix, "columns", ())):  # 0, or a formula in several parts
        raise ValueError(f"The formula {terms!r} has no terms of one model; it must be like 'age + region'.")
    found = np.asarray(matrix, dtype=np.float64)
    names = [_with_own_names(str(name), own) for name in matrix.columns]
    if wrong := [name for name, column in zip(names, found.T, strict=True) if not np.isfinite(column).all()]:
        raise ValueError(f"The term {wrong[0]!r} of the formula is no finite number for some people.")
    return found, names


def _check_complete(name: str, data: pd.DataFrame) -> None:
    """Refuse missing values in a column that a formula names."""
    if data[name].isna().any():
        raise ValueError(f"The column {name!r} has missing values; leave these people out.")


def covariates(formula: str, texts: pd.DataFrame, randomized: Sequence[str]) -> pd.DataFrame:
    """Return columns of texts, those of a formula as numbers if all that they have are.

    Texts that may stand for missing values are refused in these, but not in randomized ones, which the
    reports are of.
    """
    import pandas as pd

    outcome, terms = outcome_and_terms(formula)
    found: dict[str, Any] = {str(name): texts[name] for name in texts}
    for name in sorted({outcome, *formula_variables(terms, list(found))}.intersection(found) - {*randomized}):
        kind, values = texts[name].dtype, sorted(set(texts[name]))
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            values = [value for value in kind.categories if value in {*values}]
        if doubtful := [value for value in values if may_be_missing(value)]:
            raise ValueError(
                f"The column {name!r} has {doubtful[0]!r}, which may stand for a missing value; leave these"
                " people out, or write it in another way if it is an answer."
            )
        found[name] = numbers_or_categories(texts[name].tolist(), values)
    return pd.DataFrame(found, index=texts.index)


def numbers_or_categories(column: Sequence[str], values: Sequence[str]) -> list[float] | pd.Categorical[Any]:
    """Return a column as numbers if all that it may have are numbers, else as categories in their order."""
    import pandas as pd

    numbers = [as_number(value) for value in values]
    known = {value: number for value, number in zip(values, numbers, strict=True) if number is not None}
    if len(known) < len(values):
        return pd.Categorical(list(column), categories=list(values))
    whole = all(number.is_integer() for number in known.values())
    return [int(known[value]) if whole else known[value] for value in column]


def _observed(outcome: str, data: pd.DataFrame) -> FloatArray:
    """Return an outcome that is observed, as 0 and 1: the second one in order is 1."""
    if outcome not in data:
        raise ValueError(
            f"The outcome {outcome!r} is not in the data; their columns are {', '.join(map(str, data))}."
            f"{close_name(outcome, map(str, data))}"
        )
    _check_complete(outcome, data)
    found = sorted(set(data[outcome]))
    if len(found) != 2:
        raise ValueError(f"The outcome {outcome!r} has {len(found)} values; it must have two.")
    return np.asarray(data[outcome] == found[1], dtype=np.float64)


class _LikelihoodFit:
    """The maximum of the likelihood.

    `x`, (n, p), are the covariates of the randomized predictors; `chances`, (n, k, m), those of each person's
    report, and of the outcome if it is observed, given each value of the predictors and each outcome;
    `designs`, (n, q) each, the covariates of the outcome with each value of the predictors.
    """

    def __init__(
        self,
        x: FloatArray,
        chances: FloatArray,
        designs: Sequence[FloatArray],
        sample: Sample | None = None,
    ) -> None:
        self.nobs, self.k, self.m = chances.shape
        rows = np.column_stack([chances.reshape(self.nobs, -1), x, *designs])
        _, first, inverse, self.counts = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self.sample, self.rows = sample, inverse.reshape(-1)
        if sample is not None:
            self.weights = sample.weights / sample.weights.mean()
            self.counts = np.bincount(self.rows, self.weights)
        self.scale_x = _scales(x)
        self.scale_d = _scales(np.concatenate(designs))
        self.x = x[first] / self.scale_x
        with np.errstate(divide="ignore"):
            self.log_chances = np.log(chances[first])
        self.designs = np.stack([design[first] / self.scale_d for design in designs])
        self.alpha = (self.k - 1) * x.shape[1]
        self.size = self.alpha + (self.m - 1) * self.designs.shape[2]

    def score(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient."""
        total, excess, rest = self._parts(theta, self.counts)
        slope = np.einsum("nwo,wnq->oq", rest, self.designs)
        return float(self.counts @ total), np.concatenate([(excess.T @ self.x).ravel(), slope.ravel()])

    def _parts(
        self, theta: FloatArray, times: FloatArray | IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood of each row, and its slopes by logits, the latter so many times."""
        alpha = theta[: self.alpha].reshape(self.k - 1, self.x.shape[1])
        gamma = theta[self.alpha :].reshape(self.m - 1, self.designs.shape[2])
        of_w = log_softmax(np.column_stack([np.zeros(len(self.x)), self.x @ alpha.T]), axis=1)
        eta = np.einsum("wnq,oq->nwo", self.designs, gamma)
        of_o = log_softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2), axis=2)
        log_joint = self.log_chances + of_w[:, :, None] + of_o
        total = logsumexp(log_joint, axis=(1, 2))
        r = np.exp(log_joint - total[:, None, None]) * times[:, None, None]
        r_w = r.sum(axis=2)
        excess = r_w - times[:, None] * np.exp(of_w)
        rest = r - r_w[:, :, None] * np.exp(of_o)
        return total, excess[:, 1:], rest[:, :, 1:]

    def _covariance(self, theta: FloatArray, inverse: FloatArray, sample: Sample) -> tuple[FloatArray, int]:
        """Return the sandwich covariance of a sample, and its degrees of freedom."""
        _, excess, rest = self._parts(theta, np.ones(len(self.x)))
        of_rows = np.concatenate([
            np.einsum("nk,np->nkp", excess, self.x).reshape(len(self.x), -1),
            np.einsum("nwo,wnq->noq", rest, self.designs).reshape(len(self.x), -1),
        ], axis=1)  # fmt: skip
        units, strata = sample.units
        sizes = np.bincount(strata)
        check_sizes(sizes, sample)
        scores = np.zeros((len(strata), len(theta)))
        np.add.at(scores, units, self.weights[:, None] * of_rows[self.rows])
        centres = np.zeros((len(sizes), len(theta)))
        np.add.at(centres, strata, scores)
        scores -= (centres / sizes[:, None])[strata]
        scores *= np.sqrt(sizes / (sizes - 1.0))[strata, None]
        freedom = len(strata) - len(sizes)
        if freedom < len(theta):
            remark(
                f"the sample has {counted(freedom, 'degree')} of freedom for {len(theta):,} coefficients, so"
                " that standard errors may be far too small."
            )
        return inverse @ (scores.T @ scores) @ inverse, freedom

    def information(self, theta: FloatArray) -> FloatArray:
        """Return the observed information, by central differences of the score."""
        steps = _DIFFERENCE * np.eye(len(theta))
        rows = [(self.score(theta - h)[1] - self.score(theta + h)[1]) / (2.0 * _DIFFERENCE) for h in steps]
        found = np.array(rows)
        return np.asarray(0.5 * (found + found.T))

    def result(self, names: Sequence[str], outcome: str) -> RegressionResult:
        """Return the coefficients that are asked for, in the units of the data.

        The names are those of all, the ones of randomized predictors first.
        """
        theta = self._maximum()
        information = self.information(theta)
        values, vectors = np.linalg.eigh(information)
        if (large := np.abs(theta) > _MOST).any():
            grow = "grows" if large.sum() == 1 else "grow"
            raise ValueError(
                f"The likelihood has no maximum: {_coefficients_text(names, large)} {grow} without limit."
                " Use fewer terms, or more reports."
            )
        if not values[0] > 1e-9 * values[-1]:
            least = np.abs(vectors[:, 0])
            raise ValueError(
                "The likelihood is flat: it does not tell"
                f" {_coefficients_text(names, least > 0.5 * least.max())}. Use fewer terms, or more reports."
            )
        covariance, freedom = (vectors / values) @ vectors.T, math.inf
        if self.sample is not None:
            covariance, freedom = self._covariance(theta, covariance, self.sample)
        asked, scale = slice(self.alpha, None), np.tile(self.scale_d, self.m - 1)
        return RegressionResult(
            tuple(names[self.alpha :]),
            theta[asked] / scale,
            covariance[asked, asked] / np.outer(scale, scale),
            self.score(theta)[0],
            self.nobs,
            outcome,
            freedom,
        )

    def _maximum(self) -> FloatArray:
        """Return the best of the maxima that are found from several starts."""
        from scipy.optimize import minimize

        starts = [np.zeros(self.size)]
        if self.alpha:  # the likelihood may have several maxima
            rng = np.random.default_rng(0)
            starts += [rng.normal(0.0, 0.5, self.size) for _ in range(3)]

        def worse(theta: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.score(theta)
            return -value / self.nobs, -slope / self.nobs

        ends = [minimize(worse, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x for start in starts]
        theta: FloatArray = max(ends, key=lambda end: self.score(end)[0])
        for _ in range(_STEPS):  # Newton's steps: the last digits
            value, slope = self.score(theta)
            step = np.linalg.lstsq(self.information(theta), slope, rcond=None)[0]
            if not self.score(theta + step)[0] > value or np.abs(step).max() < _DIFFERENCE**2:
                break
            theta = theta + step
        return theta


def _coefficients_text(names: Sequence[str], which: np.ndarray) -> str:
    """Return some of the coefficients with these names, as in a sentence."""
    some = [repr(name) for name, one in zip(names, which, strict=True) if one]
    return f"the coefficient{'s' * (len(some) > 1)} of {' and '.join(some)}"


def _scales(x: FloatArray) -> FloatArray:
    """Return units of columns: roots of their mean squares, 1 of a column of zeros."""
    sizes = np.sqrt((x**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)
