"""Mechanisms with fewer outputs: unions of outputs, and little more error."""

import numpy as np
import pytest

from ldpfrontier import Channel, estimation_error, local_cone, optimal_estimation, randomized_response
from ldpfrontier.engines.designs.united_outputs import with_united_outputs


@pytest.mark.parametrize("lost", [0.0, 2e-3, 1.0])
def test_united_outputs_cost_no_more_than_they_may_and_are_sums(lost: float) -> None:
    counts = np.array([[60, 30, 20], [20, 40, 50]])
    p = counts / counts.sum()
    cone = local_cone(6, 1.0)
    best = optimal_estimation(p, cone).channel
    few = with_united_outputs(best, p, None, lost)
    assert estimation_error(few, p) <= estimation_error(best, p) * (1 + lost) * (1 + 1e-12)
    assert few.n_outputs < best.n_outputs or lost < 1.0
    assert few.row_sum_error < 1e-12
    assert cone.violation(few.matrix.T) <= 1e-12
    # Every output of the given channel is within one of these.
    rest = few.matrix[:, None, :] - best.matrix[:, :, None]
    assert ((rest >= -1e-15).all(axis=0)).any(axis=1).all()


def test_united_outputs_of_few_are_the_given_ones() -> None:
    two = randomized_response(2, 1.0)
    assert with_united_outputs(two, [0.3, 0.7], None, 10.0) is two
    unused = Channel(np.hstack([two.matrix, np.zeros((2, 1))]))
    assert with_united_outputs(unused, [0.3, 0.7], None, 0.0).n_outputs <= 3
