"""What the estimates have to be precise for: frequencies, rates, their differences, or coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from ldpfrontier import logit_coefficients, logit_target, rate_target
from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.names import close_name
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.routing import TABLES
from ldpsurvey.data.reading import Label, as_number, said
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.distribution import column_quantities, quantities
from ldpsurvey.estimate.estimates import Quantity
from ldpsurvey.estimate.regression import design_matrix, numbers_or_categories, outcome_and_terms

if TYPE_CHECKING:
    import pandas as pd

#: What has to be precise, by a name; else a formula of a logistic regression, or "term in formula".
NAMES = ("cells", "S", "U", "rates", "differences", *TABLES)

#: Those that need useful columns.
NEED_USEFUL = ("S", "U", "rates", "differences")


@dataclass(frozen=True, eq=False)
class Target:
    """What has to be precise, at the distribution that is expected of a table, with names and values, (k,).

    The rows, (k, inputs), are gradients with respect to the distribution of the inputs. Errors are compared
    in units of the scales: 1 of shares and rates, of a coefficient that of one standard deviation of its
    term.
    """

    names: tuple[str, ...]
    values: FloatArray
    rows: FloatArray
    scales: FloatArray


def is_formula(precise: str) -> bool:
    """Tell whether coefficients have to be precise."""
    return "~" in precise


def check_precise(table: CountTable, precise: str) -> None:
    """Refuse what cannot be precise of a table, as it has no such name, columns or formula."""
    if is_formula(precise):
        target_of(table, precise)
        return
    allowed = [name for name in NAMES if table.useful or name not in NEED_USEFUL]
    if precise not in allowed:
        without, formula = "", ", or a formula such as 'illness ~ age'"
        if not table.useful:
            without, formula = " without useful columns (--useful)", ""
        raise ValueError(f"precise is {precise!r}; it must be one of {', '.join(allowed)}{formula}{without}.")


def target_of(table: CountTable, precise: str) -> Target:
    """Return what has to be precise, as of `design_channel`.

    Differences are those of the rates given a useful value from those given the most frequent one. Of a
    formula it is the coefficients of all terms but the intercept, or of the one that is named before "in", as
    in "age in illness ~ age + region".
    """
    p, (a1, a2) = table.expected, table.counts.shape
    if is_formula(precise):
        return _coefficients(table, precise)
    if precise in ("rates", "differences"):
        rates, rows = p / p.sum(axis=0), rate_target(p).reshape(a1, a2, -1)
        names = [f"{said(s)} given {said(u)}" for s in table.rows for u in table.columns]
        if precise == "rates":
            return _plain(names, rates.ravel(), rows.reshape(a1 * a2, -1))
        base = [table.most_frequent]
        others = [place for place in range(a2) if place not in base]
        first = said(table.columns[base[0]])
        names = [f"{said(s)}: {said(table.columns[u])} - {first}" for s in table.rows for u in others]
        values = (rates[:, others] - rates[:, base]).ravel()
        return _plain(names, values, (rows[:, others] - rows[:, base]).reshape(len(names), -1))
    asked, vectors = frequencies(table, precise)
    of_columns = precise in TABLES
    names = [
        f"{said(one.attributes)} = {said(one.value)}" if of_columns else said(one.value) for one in asked
    ]
    return _plain(names, vectors @ p.ravel(), vectors)


def frequencies(table: CountTable, precise: str) -> tuple[list[Quantity], FloatArray]:
    """Return the frequencies that are precise, as `quantities` does: of cells, S, U, or tables of columns."""
    if precise in TABLES:
        return column_quantities(table, TABLES.index(precise) + 1)
    group = {"cells": table.attributes, "S": table.sensitive, "U": table.useful}[precise]
    asked, vectors = quantities(table)
    places = [place for place, quantity in enumerate(asked) if quantity.attributes == group]
    return [asked[place] for place in places], vectors[places]


def _plain(names: Sequence[str], values: FloatArray, rows: FloatArray) -> Target:
    return Target(tuple(names), values, rows, np.ones(len(names)))


def _coefficients(table: CountTable, precise: str) -> Target:
    """Return the coefficients of a logistic regression of the sensitive column on useful ones."""
    x, names, kept = _asked_coefficients(table.sensitive, table.useful, table.rows, table.columns, precise)
    p, kinds = table.expected, len(table.rows) - 1
    shares = p.sum(axis=0)
    spread = np.tile(np.sqrt(shares @ (x - shares @ x) ** 2), kinds)[kept]
    return Target(
        tuple(names[place] for place in kept),
        logit_coefficients(p, x).ravel()[kept],
        logit_target(p, x)[kept],
        1.0 / spread,
    )


def likelihood_target(table: CountTable, precise: str, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows of maximum likelihood, (k, inputs), for a formula, and its distribution, (inputs,).

    If a formula holds, estimates of maximum likelihood use that it does. With J the slopes of the
    distribution in the coefficients and the shares of useful values, M = Q diag(1 / q) Q' for the channel Q,
    and C what is asked for, their variance is C (J' M J)^-1 C', that of the rows C (J' M J)^-1 J' M.
    """
    x, _, kept = _asked_coefficients(table.sensitive, table.useful, table.rows, table.columns, precise)
    shares, a1 = table.expected.sum(axis=0), len(table.rows)
    logits = np.vstack([np.zeros(len(x)), logit_coefficients(table.expected, x) @ x.T])
    chances = softmax(logits, axis=0)
    p = (chances * shares).ravel()
    of_shares = (chances[:, :, None] * np.eye(len(x))).reshape(p.size, -1)
    of_shares = of_shares[:, 1:] - of_shares[:, :1]
    residuals = np.eye(a1)[:, 1:, None] - chances[None, 1:, :]  # s, r, u
    of_logits = np.einsum("su,sru,uk->surk", p.reshape(a1, -1), residuals, x).reshape(p.size, -1)
    slopes = np.hstack([of_logits, of_shares])
    q = p @ matrix
    info = (matrix[:, q > 0] / q[q > 0]) @ matrix[:, q > 0].T
    asked = np.eye(slopes.shape[1])[kept]
    return np.asarray(asked @ np.linalg.pinv(slopes.T @ info @ slopes, hermitian=True) @ slopes.T @ info), p


class _Coefficients(NamedTuple):
    """The coefficients of a formula, and which of them are asked for."""

    x: FloatArray  # (useful values, terms): the covariates
    names: list[str]  # of all coefficients: those of all terms for the second sensitive value, then the third
    asked: list[int]  # their places


@lru_cache(maxsize=8)
def _asked_coefficients(
    sensitive: Label, useful: Label, rows: tuple[Label, ...], columns: tuple[Label, ...], precise: str
) -> _Coefficients:
    """Return the coefficients of a formula, or of "term in formula", for a table with these labels."""
    before, of, after = precise.partition(" in ")
    named, formula = (before, after) if of else (None, precise)
    outcome, right = outcome_and_terms(formula)
    if sensitive != (outcome,) or not useful:
        raise ValueError(
            f"The outcome of the formula is {outcome!r}, and the sensitive columns are"
            f" {said(sensitive)}; the outcome must be the only sensitive column, with useful ones as"
            " predictors."
        )
    x, terms = design_matrix(right, _covariates(useful, columns))
    varies = np.ptp(x, axis=0) > 0
    asked = [bool(some) and named in (None, term) for some, term in zip(varies, terms, strict=True)]
    if not any(asked):
        raise ValueError(
            f"The formula {formula!r} has the terms {', '.join(terms)}; one that varies is needed, with its"
            f" name as here.{'' if named is None else close_name(named, terms)}"
        )
    kinds = [""] if len(rows) == 2 else [f"{said(value)}: " for value in rows[1:]]
    names = [kind + term for kind in kinds for term in terms]
    return _Coefficients(x, names, np.flatnonzero(asked * len(kinds)).tolist())


def _covariates(useful: Label, columns: Sequence[Label]) -> pd.DataFrame:
    """Return the useful values as a data frame, of numbers where they all are some, with a row for each."""
    import pandas as pd

    texts = dict(zip(useful, zip(*columns, strict=True), strict=True))
    return pd.DataFrame(
        {name: numbers_or_categories(some, list(dict.fromkeys(some))) for name, some in texts.items()}
    )


def with_expected(table: CountTable, texts: Sequence[str]) -> CountTable:
    """Return a table of which another distribution is expected, at which errors are computed.

    Each text is VALUE=NUMBER: with useful columns the rate of the second of two sensitive values given a
    useful value, else the share of a value. What is not named keeps its rate, or its part of what is left.
    """
    if not texts:
        return table
    labels = table.columns if table.useful else table.rows
    named = _expected_numbers(texts, [said(label) for label in labels])
    p = table.distribution.copy()
    if table.useful:
        if len(table.rows) != 2:
            raise ValueError(
                f"{said(table.sensitive)} has {len(table.rows)} values; with useful columns, --expect gives"
                " rates of the second of two values."
            )
        for place, rate in named.items():
            p[:, place] = table.expected.sum(axis=0)[place] * np.array([1.0 - rate, rate])
        return replace(table, assumed=p / p.sum())
    total = sum(named.values())
    rest = [place for place in range(len(labels)) if place not in named]
    left = float(p[rest].sum())
    if total > 1.0 or (not rest and abs(total - 1.0) > SETTINGS.rounding) or (rest and left == 0.0):
        raise ValueError(f"The shares of --expect sum to {total:g}; all shares together must sum to 1.")
    p[rest] *= (1.0 - total) / left if rest else 1.0
    for place, share in named.items():
        p[place] = share
    return replace(table, assumed=p / p.sum())


def _expected_numbers(texts: Sequence[str], allowed: Sequence[str]) -> Mapping[int, float]:
    """Return numbers from 0 to 1 by the place of a value."""
    found = dict[int, float]()
    for text in texts:
        value, _, part = text.rpartition("=")
        number = as_number(part)
        if value not in allowed:
            raise ValueError(
                f"--expect has {text!r}; it must be VALUE=NUMBER with one of the values"
                f" {', '.join(allowed)}.{close_name(value, allowed)}"
            )
        if number is None or not 0 <= number <= 1:
            raise ValueError(f"--expect has {part!r} for {value!r}; it must be a number from 0 to 1.")
        found[allowed.index(value)] = float(number)
    return found
