"""Mechanisms for large alphabets: levels, designs, errors against their closed form and the lower bound."""

import itertools
import math

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    block_design_response,
    estimation_error,
    hadamard_response,
    ldp_epsilon,
    projective_geometry_response,
    subset_selection,
)
from ldpfrontier.model.block_designs import LARGE_ALPHABETS
from ldpfrontier.model.mechanisms import uniform_error


def error(channel: Channel) -> float:
    return estimation_error(channel, np.full(channel.n_inputs, 1 / channel.n_inputs))


@pytest.mark.parametrize("k", [2, 3, 7, 12, 25, 64])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("name", LARGE_ALPHABETS)
def test_every_mechanism_has_its_level_and_no_less_error_than_the_lower_bound(name, epsilon, k) -> None:
    channel = LARGE_ALPHABETS[name](k, epsilon)
    assert channel.n_inputs == k
    assert ldp_epsilon(channel) == pytest.approx(epsilon, abs=1e-12)
    least = uniform_error(k, epsilon)
    assert error(channel) >= least * (1 - 1e-9)
    # Hadamard response, whose sizes are powers of two, needs up to 2.5 times as many people.
    assert error(channel) <= 2.5 * least or name == "subset selection"


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("k", [3, 6, 9])
def test_the_closed_form_is_the_error_of_subset_selection(k: int, epsilon: float) -> None:
    for d in range(1, k):
        assert error(subset_selection(k, epsilon, d)) == pytest.approx(uniform_error(k, epsilon, d), rel=1e-9)
    sizes = [uniform_error(k, epsilon, d) for d in range(1, k)]
    assert uniform_error(k, epsilon) == min(sizes)
    assert error(subset_selection(k, epsilon)) == pytest.approx(min(sizes), rel=1e-9)


@pytest.mark.parametrize("k", [5, 8, 9, 16, 27, 32, 64])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_where_the_inputs_are_a_field_designs_reach_the_lower_bound(k: int, epsilon: float) -> None:
    channel = block_design_response(k, epsilon)
    assert error(channel) == pytest.approx(uniform_error(k, epsilon), rel=1e-9)
    assert channel.n_outputs <= k * (k - 1)
    # A balanced design: every two inputs are together in equally many blocks.
    inside = channel.matrix > channel.matrix.min(axis=0) * (1 + epsilon / 2)
    weights = channel.matrix.min(axis=0) / channel.matrix.min()
    together = (inside * weights) @ inside.T
    assert np.ptp(together[~np.eye(k, dtype=bool)]) < 1e-9


@pytest.mark.parametrize("k", [11, 22, 50, 88, 210])
def test_designs_with_inputs_left_out_are_nearly_as_good(k: int) -> None:
    for epsilon in (0.5, 1.0, 2.0):
        assert error(block_design_response(k, epsilon)) <= 1.03 * uniform_error(k, epsilon)


def test_hyperplanes_of_the_projective_plane_over_four_elements() -> None:
    """21 points and lines, with 5 points on each: a design at the size for epsilon = log 3."""
    channel = projective_geometry_response(21, math.log(3.0))
    inside = channel.matrix > 1.5 * channel.matrix.min()
    assert channel.n_outputs == 21
    assert (inside.sum(axis=0) == 5).all()
    assert (inside.sum(axis=1) == 5).all()
    assert all((inside[x] & inside[y]).sum() == 1 for x, y in itertools.combinations(range(21), 2))
    assert error(channel) == pytest.approx(uniform_error(21, math.log(3.0)), rel=1e-9)


def test_hadamard_response_has_halves_of_each_group() -> None:
    channel = hadamard_response(14, 1.0)  # e > 2: two groups of 8 outputs
    inside = channel.matrix > 1.5 * channel.matrix.min()
    assert channel.n_outputs == 16
    assert (inside.sum(axis=1) == 4).all()
    common = {int((inside[x] & inside[y]).sum()) for x, y in itertools.combinations(range(14), 2)}
    assert common == {0, 2}  # in different groups, and in one


@pytest.mark.parametrize("name", LARGE_ALPHABETS)
def test_one_input_no_level_and_two_inputs(name: str) -> None:
    make = LARGE_ALPHABETS[name]
    assert make(1, 1.0).matrix.tolist() == [[1.0]]
    assert ldp_epsilon(make(9, 0.0)) == 0.0
    assert math.isfinite(error(make(2, 1e-3)))
    assert ldp_epsilon(make(40, 300.0)) == pytest.approx(300.0)
