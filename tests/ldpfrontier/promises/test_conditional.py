"""Mechanisms that protect from insiders, against the general engine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ldpfrontier.engines.designs.error import estimation_error
from ldpfrontier.engines.designs.targets import rate_target
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import conditional_cone
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import conditional_epsilon
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises import conditional
from ldpfrontier.promises.conditional import optimal_conditional, optimal_conditional_estimation, with_useful
from ldpfrontier.promises.estimation import optimal_estimation
from ldpfrontier.promises.mechanism import optimal_mechanism

PRIOR = np.array([[0.05, 0.2, 0.1], [0.3, 0.15, 0.2]])


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_most_informative_one_is_that_of_the_cone(epsilon: float) -> None:
    found = optimal_conditional(PRIOR, epsilon, tolerance=1e-9)
    other = optimal_mechanism(MutualInformation(PRIOR), conditional_cone((2, 3), epsilon))
    assert found.value == pytest.approx(other.value, rel=1e-9)
    assert found.status == "optimal"
    assert conditional_epsilon(found.channel, (2, 3)) == pytest.approx(epsilon)


@pytest.mark.parametrize("target", [None, "sensitive", "useful", rate_target(PRIOR), [[1.0, 0, 0, -1, 0, 2]]])
def test_the_least_error_is_that_of_the_cone(target: ArrayLike | None) -> None:
    found = optimal_conditional_estimation(PRIOR, 0.7, target, tolerance=1e-4, max_rounds=300)
    other = optimal_estimation(PRIOR, conditional_cone((2, 3), 0.7), target, tolerance=1e-4)
    assert found.value == pytest.approx(other.value, rel=1e-4)
    assert found.value == pytest.approx(estimation_error(found.channel, PRIOR, target))
    assert other.bound <= found.value
    assert found.bound <= other.value
    assert found.status == "optimal"
    assert conditional_epsilon(found.channel, (2, 3)) <= 0.7 + 1e-12


def test_a_useful_value_of_nobody_has_a_mechanism_of_the_level() -> None:
    found = optimal_conditional(np.array([[0.5, 0.0], [0.5, 0.0]]), 1.0, tolerance=1e-9)
    assert found.value == pytest.approx(MutualInformation([0.5, 0.5])(randomized_response(2, 1.0)))
    assert conditional_epsilon(found.channel, (2, 2)) == pytest.approx(1.0)


def test_the_useful_value_is_told_as_it_is() -> None:
    flip = Channel(np.array([[0.25, 0.75], [0.75, 0.25]]))
    joint = with_useful([flip, Channel(np.ones((2, 1)))]).matrix
    np.testing.assert_array_equal(
        joint, [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0], [0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]
    )


def test_the_least_error_is_optimal_up_to_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    rough = optimal_conditional_estimation(PRIOR, 0.7, tolerance=0.0, max_rounds=2)
    gap = (rough.value - rough.bound) / rough.value
    parts = partial(optimal_estimation, max_rounds=2, tolerance=0.0)
    monkeypatch.setattr(
        conditional, "optimal_estimation", lambda p, cone, wanted, **_: parts(p, cone, wanted)
    )
    for factor, status in ((1.0 + 1e-6, "optimal"), (1.0 - 1e-6, "bounded")):
        found = optimal_conditional_estimation(PRIOR, 0.7, tolerance=factor * gap, max_rounds=2)
        assert (found.value, found.bound, found.status) == (rough.value, rough.bound, status)
