"""The average of several utilities, and lists of utilities that are refused."""

from itertools import permutations

import numpy as np
import pytest

from ldpfrontier import (
    AverageUtility,
    ColumnUtility,
    FDivergence,
    MutualInformation,
    optimal_ldp,
    randomized_response,
)
from ldpfrontier.model.average_utility import AverageInformation

HYPOTHESES = np.array([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]])
PAIRS = [FDivergence(p, q) for p, q in permutations(HYPOTHESES, 2)]


def test_the_average_is_that_of_the_values() -> None:
    weights, channel = [0.1, 0.2, 0.3, 0.4, 0.0, 0.0], randomized_response(3, 1.0)
    average = AverageUtility(PAIRS, weights)
    expected = np.dot(weights, [utility(channel) for utility in PAIRS])
    assert average(channel) == pytest.approx(expected, rel=1e-13)
    assert average.homogeneous_values(channel.matrix.T).sum() == pytest.approx(expected, rel=1e-12)


def test_its_optimum_is_that_of_a_function_of_ones_own() -> None:
    """Such a function is valued column by column, and not by sets of inputs."""
    average = AverageUtility(PAIRS)
    own = ColumnUtility(average.prior, lambda v: average.homogeneous_values(v), unit="nats")
    for epsilon in (0.1, 1.0, 3.0):
        best = optimal_ldp(average, epsilon)
        assert best.status == "optimal"
        assert best.value == pytest.approx(optimal_ldp(own, epsilon).value, rel=1e-9)
        assert best.value == pytest.approx(average(best.channel), rel=1e-12)


@pytest.mark.parametrize(
    ("utilities", "said"),
    [
        ([], "0 utilities"),
        ("kl", "'kl'"),
        ([PAIRS[0], 3], "int"),
        ([PAIRS[0], FDivergence([0.5, 0.5], [0.2, 0.8])], "2 to 3 inputs"),
        ([PAIRS[0], FDivergence(*HYPOTHESES[:2], kind="tv")], "1 and nats"),
        ([MutualInformation([0.5, 0.5])] * 111, "111 utilities"),
    ],
)
def test_utilities_that_are_refused(utilities: object, said: str) -> None:
    for call in (AverageUtility, lambda several: optimal_ldp(several, 1.0)):
        with pytest.raises(ValueError, match=said):
            call(utilities)


@pytest.mark.parametrize("weights", [[1.0], [0.5] * 6, "all", [2.0, -1.0, 0.0, 0.0, 0.0, 0.0]])
def test_weights_that_are_refused(weights: object) -> None:
    with pytest.raises(ValueError, match="weights"):
        AverageUtility(PAIRS, weights)


def test_bounds_of_an_average_of_informations_hold_on_boxes() -> None:
    rng = np.random.default_rng(7)
    several = [MutualInformation(p) for p in rng.dirichlet(np.ones(4), size=3)]
    average = AverageInformation(several, [0.2, 0.5, 0.3])
    lo = rng.random(4) * 0.5
    hi = lo + rng.random(4)
    slopes, constants = average.majorant(lo, hi)
    v = lo + rng.random((200, 4)) * (hi - lo)
    values = average.homogeneous_values(v)
    above = v @ slopes + constants.sum() - values
    assert above.min() >= 0.0
    gaps = np.array([average.gaps(each, lo, hi).sum() for each in v])
    assert gaps == pytest.approx(above, abs=1e-9)
    ahead = v + 1e-6 * np.eye(4)[0]
    slope = (average.homogeneous_values(ahead) - values) / 1e-6
    assert average.gradient(v)[:, 0] == pytest.approx(slope, abs=1e-4)
