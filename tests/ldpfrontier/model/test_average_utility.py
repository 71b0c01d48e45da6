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
