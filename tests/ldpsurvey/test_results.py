"""Results as tables: frames with the numbers of the rows, short reprs, HTML, and standard errors."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from ldpsurvey import (
    audit_channel,
    count_records,
    design_channel,
    estimate_bounds,
    estimate_distribution,
    estimate_rates,
)
from ldpsurvey.base.tabular import Tabular
from ldpsurvey.estimate.distribution import FittedReports
from ldpsurvey.estimate.scores import estimate_scores

ANSWERS = {"ill": ["no"] * 7 + ["<b>yes</b>"] * 3, "age": ["1", "2", "3", "1", "2", "3", "1", "2", "3", "1"]}
TABLE = count_records(pd.DataFrame(ANSWERS), ["ill"], ["age"])
DESIGN = design_channel(TABLE, 1.5)
CHANNEL = DESIGN.private(DESIGN.best())
COUNTS = np.rint(1e5 * TABLE.expected.ravel() @ CHANNEL.channel.matrix).astype(int)
DISTRIBUTION, RATES = estimate_distribution(CHANNEL, COUNTS), estimate_rates(CHANNEL, COUNTS)
RESULTS: list[Tabular] = [
    TABLE, DESIGN, CHANNEL, DISTRIBUTION, RATES, audit_channel(CHANNEL), estimate_bounds(CHANNEL, COUNTS, 0.1)
]  # fmt: skip


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_is_short_to_print_and_its_labels_are_text_in_a_notebook(result: Tabular) -> None:
    assert len(repr(result)) < 160
    assert len(result.to_frame())
    html = result._repr_html_()
    assert "<table" in html
    assert "<b>" not in html


def test_frames_have_the_numbers_of_their_rows() -> None:
    frame = RATES.to_frame()
    for name, field in {
        "estimate": "estimate",
        "low": "low",
        "high": "high",
        "standard_error": "error",
    }.items():
        assert frame[name].tolist() == [getattr(row, field) for row in RATES.rows]
    assert frame["given"].tolist() == [", ".join(row.given) for row in RATES.rows]
    assert CHANNEL.to_frame()[list(CHANNEL.outputs)].to_numpy() == pytest.approx(CHANNEL.channel.matrix)
    assert TABLE.to_frame()["count"].tolist() == TABLE.counts.ravel().tolist()


def test_standard_errors_are_those_of_the_multinomial_distribution_by_derivatives() -> None:
    """Estimates are functions of the frequencies of reports; of rates, quotients of unbiased shares."""
    fit = FittedReports(CHANNEL, COUNTS)
    shares = {(q.attributes, q.value): w for q, w in zip(fit.asked, fit.linear.weights, strict=True)}
    n, reports = fit.records, fit.frequencies

    def error(function) -> float:
        steps = 1e-6 * np.eye(len(reports))
        slope = np.array([function(reports + h) - function(reports - h) for h in steps]) / 2e-6
        return math.sqrt((slope**2 @ reports - (slope @ reports) ** 2) / n)

    def rate(value, given):
        both, alone = shares["ill", "age", value, given], shares["age", given]
        return lambda x: (both @ x) / (alone @ x)

    shares = {(*names, *value): w for (names, value), w in shares.items()}
    for row in RATES.rows:
        value, given, other = row.quantity.value[0], row.given[0], RATES.compared_with[0]
        one, two = rate(value, given), rate(value, other)
        of = {
            "rate": one,
            "difference": lambda x, one=one, two=two: one(x) - two(x),
            "ratio": lambda x, one=one, two=two: one(x) / two(x),
        }
        assert row.error == pytest.approx(error(of[row.measure]), rel=1e-5)
    mean = sum(float(age) * shares["age", age] for age in "123")
    up_to = {"1": shares["age", "1"], "2": shares["age", "1"] + shares["age", "2"]}
    for row in estimate_scores(fit, ["age"], ["age=1,2,3"]):
        weights = mean if row.measure == "mean" else up_to[row.quantity.value[0]]
        assert row.error == pytest.approx(error(lambda x, w=weights: w @ x), rel=1e-6)
