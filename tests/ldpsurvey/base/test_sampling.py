"""Sampling by whole numbers: what is drawn is what is stated, to the last bit."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from mpmath import log, mp, mpf
from scipy.stats import chisquare

from ldpfrontier import randomized_response
from ldpsurvey.base.sampling import (
    BITS,
    TOTAL,
    Sampler,
    check_weights,
    known_answers,
    sampled_channel,
    sampled_level,
    whole_weights,
)
from support.owndata import seeded

mp.dps = 60
RNG = np.random.default_rng(11)


def random_matrix(inputs: int, outputs: int) -> np.ndarray:
    return RNG.dirichlet(np.full(outputs, 0.3), size=inputs)


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (2, 3), (7, 5), (40, 60)])
def test_rows_of_whole_numbers_sum_to_the_total_and_are_the_nearest(inputs, outputs):
    matrix = random_matrix(inputs, outputs)
    weights = whole_weights(matrix)
    check_weights(weights)
    # A row of floating-point numbers sums to 1 within some 1e-15, which its largest entry takes.
    assert np.abs(sampled_channel(weights).matrix - matrix).max() < 1e-14
    rest = np.sort(np.abs(weights - np.ldexp(matrix, BITS)), axis=1)[:, :-1]
    assert rest.max(initial=0.0) <= 0.5


def test_the_sampled_level_is_that_of_fractions_and_above_it():
    for _ in range(20):
        weights = whole_weights(random_matrix(4, 5) + 0.01)
        ratio = max(Fraction(int(column.max()), int(column.min())) for column in weights.T)
        level = sampled_level(weights)
        assert mpf(level) >= log(mpf(ratio.numerator) / ratio.denominator)  # with 60 digits
        assert level == pytest.approx(math.log(ratio), rel=1e-13)
    weights = whole_weights(np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]))
    assert sampled_level(weights) == math.inf
    assert sampled_level(weights[:, [1, 0, 2]][:1]) == 0.0


def test_a_channel_that_rounding_makes_unequal_is_told_from_its_ideal():
    """The level of a channel as floating-point numbers may be below that of what is sampled."""
    weights = whole_weights(np.full((2, 3), 1 / 3))
    weights[0] += np.array([1, -1, 0])
    assert 0 < sampled_level(weights) < 1e-15 + 1e-14


# Outputs --------------------------------------------------------------------------------------------------


def by_hand(thresholds: list[int], data: bytes) -> int:
    """Draw as another language would: count thresholds that are not above the number."""
    number = int.from_bytes(data, "little") // 4
    return sum(threshold <= number for threshold in thresholds)


def test_outputs_change_exactly_at_the_thresholds():
    weights = whole_weights(np.array([[0.25, 0.0, 0.5, 0.25], [0.0, 1.0, 0.0, 0.0]]))
    quarter = TOTAL // 4
    cases = {0: 0, quarter - 1: 0, quarter: 2, 3 * quarter - 1: 2, 3 * quarter: 3, TOTAL - 1: 3}
    for number, output in cases.items():
        for low in range(4):  # the two bits that do not count
            data = (4 * number + low).to_bytes(8, "little")
            assert Sampler(weights, lambda _, data=data: data).draw([0]).tolist() == [output]
            assert Sampler(weights, lambda _, data=data: data).draw([1]).tolist() == [1]


def test_random_bytes_give_the_outputs_of_a_plain_loop():
    weights = whole_weights(random_matrix(6, 9))
    thresholds = np.cumsum(weights, axis=1).tolist()
    inputs = RNG.integers(6, size=500)
    data = seeded(3)(8 * 500)
    expected = [by_hand(thresholds[x], data[8 * i : 8 * i + 8]) for i, x in enumerate(inputs)]
    assert Sampler(weights, lambda size: data[:size]).draw(inputs).tolist() == expected


def test_known_answers_hold_for_a_plain_loop_and_lie_at_thresholds():
    weights = whole_weights(random_matrix(5, 4))
    thresholds = np.cumsum(weights, axis=1).tolist()
    answers = known_answers(weights)
    assert len(answers) >= 20
    for x, data, y in answers:
        assert by_hand(thresholds[x], bytes.fromhex(data)) == y
    numbers = {int.from_bytes(bytes.fromhex(data), "little") // 4 for _, data, _ in answers}
    inner = {number for row in thresholds for number in row[:-1]}
    assert numbers & inner
    assert {number + 1 for number in numbers} & inner


def p_values(weights, drawn, runs: int, records: int) -> list[float]:
    """Return the p-value of chi-squared for every run, over all inputs."""
    found = []
    matrix = sampled_channel(weights).matrix
    inputs = np.repeat(np.arange(len(matrix)), records)
    for _ in range(runs):
        outputs = drawn.draw(inputs)
        counts = np.zeros(matrix.shape)
        np.add.at(counts, (inputs, outputs), 1)
        seen, expected = counts.ravel(), (records * matrix).ravel()
        found.append(chisquare(seen, expected, ddof=len(matrix) - 1).pvalue)
    return found


def test_without_a_source_the_operating_system_is_one():
    weights = whole_weights(randomized_response(4, 1.0).matrix)
    assert Sampler(weights)._source is os.urandom
    first, second = (Sampler(weights).draw(np.zeros(200, dtype=int)).tolist() for _ in range(2))
    assert first != second
    assert min(p_values(weights, Sampler(weights), runs=3, records=5000)) > 1e-9
