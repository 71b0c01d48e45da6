"""Rates of sensitive values given useful values: special cases, the inversion of tests, and coverage."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

from ldpsurvey import CountTable, estimate_rates
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.distribution import FittedReports
from ldpsurvey.estimate.estimates import estimates_csv
from ldpsurvey.estimate.intervals import upper_limits
from ldpsurvey.estimate.rates import last_accepted
from support.grids import few
from support.interval_coverage import TAIL, rate_coverage
from support.owndata import channel_of
from support.realtables import real_table


@pytest.fixture(scope="module")
def subset(table):
    """Return a mechanism that shows all frequencies of the small table."""
    return channel_of(table, "subset", 2.0)


def drawn(private, n, seed=1):
    """Return counts of n reports of people with the distribution of the table."""
    truth = private.table.distribution.ravel()
    return np.random.default_rng(seed).multinomial(n, truth @ private.channel.matrix)


def by_key(found):
    return {(row.measure, row.quantity.value, row.given): row for row in found.rows}


# Special cases --------------------------------------------------------------------------------------------


def test_without_noise_the_interval_of_a_rate_is_about_that_of_clopper_and_pearson():
    """At level 20 a report tells the record: a rate is a share of the people with the useful value."""
    table = real_table("Titanic 2x4")
    private = channel_of(table, "grr", 20.0)
    counts = np.zeros(private.weights.shape[1])
    # The output of randomized response that a record has most often is its own.
    counts[private.channel.matrix.argmax(axis=1)] = table.counts.ravel()
    found = by_key(estimate_rates(private, counts))
    for s, value in enumerate(table.rows):
        for u, given in enumerate(table.columns):
            hits, people = table.counts[s, u], table.counts[:, u].sum()
            row = found["rate", value, given]
            assert row.estimate == pytest.approx(hits / people, abs=1e-6)
            assert row.high == pytest.approx(beta.isf(TAIL, hits + 1, people - hits), abs=4e-3)
            assert row.low == pytest.approx(beta.ppf(TAIL, hits, people - hits + 1), abs=4e-3)


def test_with_many_reports_differences_and_ratios_have_their_normal_limits():
    """The delta method at the table: within 4%, half of which the interval of the other rate costs."""
    table = real_table("UCBAdmissions 2x2")
    private = channel_of(table, "subset", 2.0)
    n, truth = 10**9, table.distribution.ravel()
    found = estimate_rates(private, np.round(n * truth @ private.channel.matrix))
    base = table.columns.index(found.compared_with)
    fit = FittedReports(private, np.round(n * truth @ private.channel.matrix))
    weights = fit.linear.weights[:4].reshape(2, 2, -1)
    rates, sums = table.distribution / table.distribution.sum(axis=0), table.distribution.sum(axis=0)
    influence = (weights - rates[:, :, None] * weights.sum(axis=0)) / sums[:, None]
    m = truth @ private.channel.matrix
    for measure in ("difference", "ratio"):
        for row in found.of(measure):
            s, u = table.rows.index(row.quantity.value), table.columns.index(row.given)
            if measure == "difference":
                change = influence[s, u] - influence[s, base]
            else:
                change = influence[s, u] - rates[s, u] / rates[s, base] * influence[s, base]
                change = change / rates[s, base]
            expected = 2 * 1.959964 * math.sqrt(change**2 @ m / n)
            assert expected < row.high - row.low < 1.04 * expected


# The inversion of tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "n"),
    few(
        [("subset", 30), ("exact", 1000)], more=[("subset", 1000), ("srr", 30), ("srr", 1000), ("exact", 30)]
    ),
)
def test_a_rate_is_in_the_interval_if_and_only_if_the_test_accepts_it(table, mechanism, n):
    """Another path: the weights of P(s, u) - r P(u) for every r of a grid."""
    private = channel_of(table, mechanism, 1.5)
    counts = drawn(private, n)
    fit, found = FittedReports(private, counts), by_key(estimate_rates(private, counts))
    down, up = fit.weights(TAIL)
    for s, value in enumerate(table.rows):
        for u, given in enumerate(table.columns):
            cell, total = 3 * s + u, 6 + 2 + u
            for r in np.linspace(0.0, 1.0, 41):
                ends = [up[cell] + r * down[total], down[cell] + r * up[total]]
                accepted = (upper_limits(np.array(ends), fit.counts, fit.fitted, TAIL) >= 0).all()
                row = found["rate", value, given]
                assert accepted == (row.low <= r <= row.high)


def test_the_interval_of_a_difference_has_all_pairs_of_rates_that_the_tests_accept():
    """Where the rates of few people may be 0 or 1, the extreme difference is at no end of the other rate."""
    table = CountTable(("s",), ("u",), (("a",), ("b",)), (("u",), ("v",)), np.array([[197, 405], [387, 11]]))
    private = channel_of(table, "grr", 8.0)
    counts = np.array([16, 8, 3, 3])[np.argsort(private.channel.matrix.argmax(axis=1))]
    fit = FittedReports(private, counts)
    found = by_key(estimate_rates(private, counts, compare_with=["u"]))["difference", ("a",), ("v",)]
    down, up = fit.weights(TAIL)
    scale = 1.0 / table.distribution.sum(axis=0)

    def accepted(weights, tail):
        return (upper_limits(np.array(weights), fit.counts, fit.fitted, tail) >= 0).all()

    seen = []
    for base in np.linspace(0.0, 1.0, 41):
        if not accepted([up[0] + base * down[6], down[0] + base * up[6]], 0.1 * TAIL):
            continue
        for rate in np.linspace(0.0, 1.0, 41):
            high = scale[1] * (up[1] + rate * down[7]) + scale[0] * (down[0] + base * up[6])
            low = scale[1] * (down[1] + rate * up[7]) + scale[0] * (up[0] + base * down[6])
            if accepted([high, low], 0.9 * TAIL):
                seen.append(rate - base)
    assert found.low - 1e-6 <= min(seen) < found.low + 0.1
    assert found.high - 0.1 < max(seen) <= found.high + 1e-6


def test_where_functions_fall_below_0_is_found():
    slopes = np.array([1.0, 7.0, 0.1, 3.0])

    def limit(t, rows):
        return 0.5 - slopes[rows] * t + 0.1 * t**2

    found = last_accepted(limit, np.zeros(4), np.ones(4))
    expected = [(slope - math.sqrt(slope**2 - 0.2)) / 0.2 if slope > 0.9 else 1.0 for slope in slopes]
    assert found == pytest.approx(expected, abs=2e-7)
    # Just outside: an interval never lacks what the test accepts.
    assert (limit(found, np.arange(4))[[0, 1, 3]] <= 0).all()
    assert last_accepted(limit, np.full(4, 0.9), np.ones(4))[1] == 0.9


# Coverage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mechanism", "n"),
    [
        ("UCBAdmissions 2x2", "subset", 600),
        pytest.param("PreSex 2x2", "srr", 5000, marks=pytest.mark.long),
        pytest.param("Titanic 2x4", "ldp", 20_000, marks=pytest.mark.long),
    ],
)
def test_intervals_of_rates_differences_and_ratios_cover(name, mechanism, n, long):
    """400 repetitions: at least 93% for each, and 94% on average for each kind; of 25: 80% and 90%."""
    table = real_table(name)
    repetitions, least, average = (400, 0.93, 0.94) if long else (25, 0.8, 0.9)
    covered = rate_coverage(channel_of(table, mechanism, 2.0), n, repetitions)
    assert set(covered) == {"cell", "marginal", "rate", "difference", "ratio"}
    for kind, shares in covered.items():
        assert shares.min() >= least, kind
        assert shares.mean() >= average, kind


def test_they_cover_if_the_table_of_the_design_is_far_from_the_truth(long):
    truth = np.array([[0.1, 0.4], [0.2, 0.3]])
    private = channel_of(real_table("UCBAdmissions 2x2"), "subset", 2.0)
    covered = rate_coverage(private, 1000, 100 if long else 10, truth=truth)
    assert min(shares.min() for shares in covered.values()) >= 0.9


# What cannot be estimated ---------------------------------------------------------------------------------


def test_a_rate_that_the_channel_does_not_show_cannot_be_estimated(table):
    private = channel_of(table, "ir", 0.3)
    found = estimate_rates(private, drawn(private, 100_000))
    assert not any(row.estimable for row in found.rows)
    assert all(math.isnan(row.estimate) for row in found.rows)


def test_a_rate_among_people_who_may_not_exist_cannot_be_estimated(subset):
    """No report of the value that is compared with: neither its rate nor a difference or a ratio."""
    table = subset.table
    people = np.array([0.5, 0.0, 0.2, 0.2, 0.0, 0.1])
    counts = np.round(3000 * people @ subset.channel.matrix)
    found = estimate_rates(subset, counts, compare_with=("north", "young"))
    told = {(row.measure, row.given): row.estimable for row in found.rows}
    assert not told["rate", ("north", "young")]
    assert told["rate", ("north", "old")]
    assert not any(row.estimable for row in found.rows if row.measure != "rate")
    assert found.compared_with in table.columns


def test_a_ratio_to_a_rate_that_may_be_0_has_no_end(subset):
    people = np.array([0.3, 0.3, 0.2, 0.0, 0.1, 0.1])
    counts = np.round(3000 * people @ subset.channel.matrix)
    found = estimate_rates(subset, counts, compare_with=("north", "old"))
    row = by_key(found)["ratio", ("yes",), ("north", "young")]
    assert row.high == math.inf
    assert not row.estimable
    assert by_key(found)["difference", ("yes",), ("north", "young")].estimable
    lines = list(csv.DictReader(estimates_csv(("", row) for row in found.rows).splitlines()))
    (line,) = (
        line
        for line in lines
        if (line["measure"], line["value"], line["given"]) == ("ratio", '["yes"]', '["north","young"]')
    )
    assert (line["high"], line["estimable"], line["compared_with"]) == ("", "no", '["north","old"]')


# Arguments ------------------------------------------------------------------------------------------------


def test_rates_are_compared_with_the_most_frequent_value_or_with_that_asked_for(subset):
    counts = drawn(subset, 3000)
    assert estimate_rates(subset, counts).compared_with == ("south", "old")
    found = by_key(estimate_rates(subset, counts, compare_with=("north", "young")))
    base = found["rate", ("yes",), ("north", "young")].estimate
    row = found["difference", ("yes",), ("south", "old")]
    assert row.compared_with == ("north", "young")
    assert row.estimate == pytest.approx(found["rate", ("yes",), ("south", "old")].estimate - base)
    assert found["ratio", ("yes",), ("south", "old")].estimate == pytest.approx(row.estimate / base + 1.0)


@pytest.mark.parametrize("n", [50, 3000])
def test_a_comparison_the_other_way_round_has_the_same_interval(subset, n):
    counts = drawn(subset, n)
    young, old = ("north", "young"), ("south", "old")
    one, other = (by_key(estimate_rates(subset, counts, compare_with=value)) for value in (young, old))
    for value in subset.table.rows:
        d, minus_d = one["difference", value, old], other["difference", value, young]
        assert (d.low, d.high) == pytest.approx((-minus_d.high, -minus_d.low))
        q, inverse = one["ratio", value, old], other["ratio", value, young]
        with np.errstate(divide="ignore"):
            assert (q.low, q.high) == pytest.approx(tuple(1.0 / np.array([inverse.high, inverse.low])))


# The command ----------------------------------------------------------------------------------------------


@pytest.fixture
def reports(subset, tmp_path, monkeypatch):
    """Return a folder with a channel and 3,000 reports."""
    monkeypatch.chdir(tmp_path)
    subset.write("channel.json")
    names = np.repeat(subset.outputs, drawn(subset, 3000))
    Path("reports.csv").write_text("\n".join(["report", *names]) + "\n", encoding="utf-8")
    return ["estimate", "--channel", "channel.json", "--data", "reports.csv"]


def test_the_command_gives_rates_within_80_columns(reports, subset, capsys):
    assert main([*reports, "--out", "e.csv", "--compare-with", "north", "old"]) == 0
    said = capsys.readouterr().out
    tables = said.partition("The promise")[0].splitlines()
    assert max(map(len, tables)) <= 80
    assert any(line.startswith("illness given region, age  most likely  95% interval") for line in tables)
    assert any(line.startswith("compared with north, old  ") for line in tables)
    with open("e.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    expected = estimate_rates(subset, drawn(subset, 3000), compare_with=("north", "old"))
    assert [row["measure"] for row in rows].count("frequency") == 11 + 4
    for row, rate in zip(rows[15:], expected.rows, strict=True):
        assert (row["measure"], json.loads(row["given"])) == (rate.measure, list(rate.given))
        assert float(row["low"]) == pytest.approx(rate.low)
        assert row["estimable"] == ("yes" if rate.estimable else "no")
