"""Audits: a good channel is never accused, a broken one is found."""

import csv
import math
import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binom

from ldpfrontier import MutualInformation, conditional_cone, optimal_mechanism, robust_cone
from ldpsurvey import PrivateChannel, audit_channel, count_pairs, privatize, privatize_file
from ldpsurvey.base.sampling import TOTAL, Sampler, whole_weights
from ldpsurvey.estimate.auditing import goodness, level_from_below
from support.owndata import channel_of, flat, records_of, seeded, small_table, write_records


@pytest.fixture(autouse=True)
def same_distributions(monkeypatch):
    """Which distributions an audit draws decides how much it finds: here they are always the same."""
    drawing = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=7: drawing(seed))


def weaker(private: PrivateChannel, epsilon: float) -> Sampler:
    """Return a sampler of the same mechanism at another level: an error in a formula, say."""
    certificate = private.certificate
    other = channel_of(private.table, certificate.mechanism, epsilon, certificate.against)
    return Sampler(other.weights, seeded(1))


def stating(private: PrivateChannel, **levels: float) -> PrivateChannel:
    """Return the channel with other levels in its certificate."""
    certificate = private.certificate
    return replace(private, certificate=replace(certificate, levels=replace(certificate.levels, **levels)))


# From below -----------------------------------------------------------------------------------------------


def test_limits_are_those_of_clopper_and_pearson():
    counts = np.array([[900, 100], [400, 600], [0, 0]])
    error = 0.05 / 2 / 4
    low = beta.ppf(error, 900, 101)
    high = beta.ppf(1 - error, 401, 600)
    other = math.log(beta.ppf(error, 600, 401)) - math.log(beta.ppf(1 - error, 101, 900))
    assert level_from_below(counts, 0.95) == pytest.approx(max(math.log(low / high), other), rel=1e-9)


def test_the_lower_bound_is_rarely_above_the_level():
    """At most in the share of audits that the confidence leaves."""
    weights = whole_weights(np.array([[0.7, 0.3], [0.3, 0.7]]))
    sampler, level = Sampler(weights, seeded(2)), math.log(7 / 3)
    above = 0
    for _ in range(300):
        counts = np.array([np.bincount(sampler.draw(np.full(400, x)), minlength=2) for x in (0, 1)])
        above += level_from_below(counts, 0.9) > level
    assert above <= 30
    counts = np.array([np.bincount(sampler.draw(np.full(10**6, x)), minlength=2) for x in (0, 1)])
    assert level_from_below(counts, 0.9) > 0.98 * level


# Good channels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["exact", "polyopt", "srr", "grr", "ir"])
def test_a_good_channel_is_not_accused(table, mechanism):
    private = channel_of(table, mechanism)
    for seed in range(2):
        found = audit_channel(private, samples=20_000, sampler=Sampler(private.weights, seeded(seed)))
        assert found.problems == ()
        assert found.lower <= found.level == found.stated <= 1.0
        assert found.samples == 20_000
        assert found.fit > 1e-4


@pytest.mark.parametrize(
    ("mechanism", "against", "least"),
    [
        # Its reports that tell most are rare: with other distributions 0.19 to 0.42.
        ("association", "acquaintance", 0.25),
        ("srr", "anyone", 0.8),
        ("ldp", "anyone", 0.8),
    ],
)
def test_what_protects_from_more_attackers_is_audited_for_them(table, mechanism, against, least):
    private = channel_of(table, mechanism, 1.0, against)
    found = audit_channel(private, samples=200_000, sampler=Sampler(private.weights, seeded(7)))
    assert found.problems == ()
    assert found.samples == 200_000
    assert least < found.lower <= found.level == found.stated <= 1.0
    # Samples of a channel for outsiders tell insiders more.
    leaky = channel_of(table, "exact")
    shaped = np.zeros((6, private.weights.shape[1]))
    shaped[:, : leaky.weights.shape[1]] = leaky.channel.matrix[:, : shaped.shape[1]]
    shaped[:, -1] += 1.0 - shaped.sum(axis=1)
    told = audit_channel(private, samples=100_000, sampler=Sampler(whole_weights(shaped), seeded(8)))
    assert any("the level of the samples is at least" in problem for problem in told.problems)


def test_what_acquaintances_learn_is_seen_in_samples():
    """A sampler that keeps both levels, and tells too much to those who know that U is one of two values."""
    counts = np.array([[900, 300, 40], [30, 200, 700]])
    table = replace(small_table(), counts=counts)
    private = channel_of(table, "association", 1.0, "acquaintance")
    ball = private.certificate.population.ball(table)
    both = robust_cone(ball, 1.0) & conditional_cone(counts.shape, 1.0)
    found = optimal_mechanism(MutualInformation(table.distribution), both)
    shaped = replace(private, weights=whole_weights(found.channel.matrix))
    assert shaped.levels().acquaintance > 2.0
    told = audit_channel(shaped, samples=400_000, sampler=Sampler(shaped.weights, seeded(1)))
    assert told.lower > 1.0  # with other distributions 0.95 to 3
    assert any("the level of the samples is at least" in problem for problem in told.problems)
    assert "The level of the channel is" in told.problems[0]


# Broken channels ------------------------------------------------------------------------------------------


def test_a_certificate_that_says_too_little_is_found(private):
    (problem,) = audit_channel(stating(private, outsider=0.7)).problems
    assert problem == "The level of the matrix is 1.000000; its certificate states 0.700000."
    # What it says of those that it does not protect from is checked, too.
    (problem,) = audit_channel(stating(private, insider=0.7)).problems
    assert re.fullmatch(
        r"The level of the matrix for insider is \d+\.\d+; its certificate states 0.700000.", problem
    )


@pytest.mark.parametrize("which", ["private", "response"])
def test_a_sampler_that_tells_more_is_found(request, which):
    private = request.getfixturevalue(which)
    found = audit_channel(private, samples=100_000, sampler=weaker(private, 3.0))
    assert found.lower > 1.5
    assert any("the level of the samples is at least" in problem for problem in found.problems)
    assert any("do not come from the stored matrix" in problem for problem in found.problems)


def test_a_sampler_that_reveals_one_record_in_twenty_is_found(response):
    honest = Sampler(response.weights, seeded(5))

    class Leaky(Sampler):
        def draw(self, inputs):
            outputs = honest.draw(inputs)
            outputs[::20] = inputs[::20]
            return outputs

    assert audit_channel(response, samples=200_000, sampler=Leaky(response.weights)).problems


def test_rows_in_another_order_are_found(table):
    private = channel_of(table, "exact")
    found = audit_channel(private, samples=50_000, sampler=Sampler(private.weights[::-1].copy(), seeded(6)))
    assert any("do not come from the stored matrix" in problem for problem in found.problems)


def test_an_output_that_is_impossible_is_found():
    assert goodness(np.array([[1.0, 0.0]]), np.array([[10**6, 1]])) == 0.0
    assert goodness(np.array([[0.5, 0.5]]), np.array([[2, 1]])) == 1.0


@pytest.mark.parametrize("expected", [5, 8, 15, 30])
def test_a_rare_output_is_no_false_alarm(expected):
    """By the binomial probabilities of all counts of an output of which few are expected."""
    n = 5000
    x = np.arange(20 * expected)
    chance = binom.pmf(x, n, expected / n)
    fits = [goodness(np.array([[expected / n, 1 - expected / n]]), np.array([[k, n - k]])) for k in x]
    for level in (1e-4, 1e-6):
        assert chance[np.array(fits) < level].sum() <= 5 * level


def test_fits_are_uniform():
    rng = np.random.default_rng(8)
    matrix = rng.dirichlet(np.ones(5), size=3)
    matrix[:, 4] *= 1e-3  # an output that is rare
    matrix /= matrix.sum(axis=1, keepdims=True)
    fits = [goodness(matrix, rng.multinomial(300, matrix)) for _ in range(400)]
    assert np.mean(np.array(fits) < 0.1) == pytest.approx(0.1, abs=0.05)


# Records with their reports -------------------------------------------------------------------------------


@pytest.fixture
def pairs(table, private, tmp_path):
    write_records(tmp_path / "in.csv", table, records_of(table) * 20)
    privatize_file(
        private, tmp_path / "in.csv", tmp_path / "both.csv", keep=table.attributes, source=seeded(9)
    )
    return tmp_path / "both.csv"


def test_records_are_counted_with_their_reports(table, private, pairs):
    counts = count_pairs(private, pairs)
    assert (counts.sum(axis=1) == 20 * table.counts.ravel()).all()
    found = audit_channel(private, pairs=counts)
    assert found.problems == ()
    assert found.samples == 20 * table.records


def test_reports_that_are_the_records_are_found(table, private, pairs):
    with open(pairs, encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    report = {label: private.outputs[i] for i, label in enumerate(table.labels)}
    with open(pairs, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(head)
        writer.writerows([*row[:-2], report[tuple(row[:-2])], row[-1]] for row in rows)
    found = audit_channel(private, pairs=count_pairs(private, pairs))
    assert found.lower > private.certificate.level
    assert len(found.problems) == 2


def test_a_value_is_named_by_the_number_of_its_record_in_the_file(private, tmp_path):
    """Records without a report, which are left out, are counted."""
    report, path = private.outputs[0], tmp_path / "pairs.csv"
    rows = ["no,north,old,", f"no,north,old,{report}", f"no,west,old,{report}"]
    path.write_text("\n".join(["illness,region,age,report", *rows]) + "\n")
    with pytest.raises(ValueError, match=r"Record 3 of .+ has 'west' as its region"):
        count_pairs(private, path)


def test_a_population_outside_f_is_named(table, private):
    counts = np.zeros(private.weights.shape, dtype=np.int64)
    drawn = Sampler(private.weights, seeded(10))
    inputs = np.repeat([0, 5], 10**5)
    np.add.at(counts, (inputs, drawn.draw(inputs)), 1)
    (problem,) = audit_channel(private, pairs=counts).problems
    assert problem.endswith("; the distribution of these records is outside F.")


def test_reports_of_single_records(table, private):
    reports = privatize(private, table.labels, source=seeded(1))
    assert len(reports) == 6
    assert set(reports) <= set(private.outputs)
    assert reports == privatize(private, table.labels, source=seeded(1))
    with pytest.raises(ValueError, match="Record 1 of the records has 'x' as its illness"):
        privatize(private, [("x", "north", "old")])


def test_the_level_that_was_asked_for_is_audited(table, tmp_path):
    """As `apply` checks it, at one millionth above: the levels that the file states are not enough."""
    private = channel_of(table, "grr")
    for share, kept in ((1.0, True), (1.0 - 1e-6, False)):
        stated = replace(private.certificate, epsilon=private.certificate.level * share)
        asked = replace(private, certificate=stated)
        assert (audit_channel(asked).problems == ()) == kept
        with nullcontext() if kept else pytest.raises(ValueError, match="level of the channel is"):
            asked.verified()


def test_a_weight_that_one_row_has_alone_leaves_no_level(table):
    everything = flat(table)
    private = channel_of(everything, "grr")
    weights = private.weights.copy()
    weights[0, 0] += weights[0, 1]
    weights[0, 1] = 0
    assert weights.sum(axis=1).tolist() == [TOTAL] * 6
    broken = PrivateChannel(everything, weights, private.certificate)
    found = audit_channel(broken)
    assert found.level == math.inf
    assert found.problems == ("The level of the channel is inf; its certificate allows 1.",)
