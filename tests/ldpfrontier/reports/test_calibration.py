"""Families of mechanisms at equal realized privacy: closed forms, dense scans, samples of F, and Adult."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.privacy import conditional_epsilon, rldp_epsilon
from ldpfrontier.reports.calibration import calibrated
from ldpfrontier.reports.two_reports import independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.grids import few

TABLE = RenyiBall.confidence([[15, 5, 10], [10, 35, 25]])
#: The best split of the budget jumps: this table leaks 0.4 at the nominal level 0.4, and 0.28 at 0.45.
FALLING = RenyiBall.confidence([[86, 48, 5, 8], [46, 7, 145, 155]])
#: This one leaks 0.82 just below the nominal level 2.37, and all of it above.
JUMPING = RenyiBall.confidence([[159, 118], [41, 34], [52, 96]])
#: With an empty cell and an empty group.
SPARSE = RenyiBall.confidence([[9, 0, 4], [8, 30, 2], [0, 0, 0]], order=1.0)

FAMILIES = {
    "GRR": lambda ball: lambda level: randomized_response(ball.centre.size, level),
    "SRR": lambda ball: lambda level: secret_randomized_response(*ball.centre.shape, level),
    "IR": lambda ball: lambda level: independent_reporting(ball, level),
}


def random_ball(seed: int) -> RenyiBall:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, size=2))
    p = rng.dirichlet(np.full(math.prod(shape), 2.0))
    return RenyiBall.confidence(rng.multinomial(300, p).reshape(shape))


def sampled_epsilon(ball: RenyiBall, channel: Channel) -> float:
    P = ball.sample(np.random.default_rng(5), 3000)
    sums = P.sum(axis=-1, keepdims=True)
    return float(rldp_epsilon(channel, np.divide(P, sums, out=np.zeros_like(P), where=sums > 0)).max())


# The level ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ball", "epsilon"),
    few(
        [(TABLE, 1e-2), (FALLING, 1.0), (JUMPING, 12.0)],
        more=[
            *((TABLE, epsilon) for epsilon in (0.1, 1.0, 5.0, 12.0)),
            *((FALLING, epsilon) for epsilon in (1e-2, 0.1, 5.0, 12.0)),
            *((JUMPING, epsilon) for epsilon in (1e-2, 0.1, 1.0, 5.0)),
        ],
    ),
)
def test_randomized_response_in_closed_form(ball: RenyiBall, epsilon: float) -> None:
    """A report (s, u) leaks log(1 + (e^nominal - 1) m), m the largest probability of u given s over F.

    For order 2 a group of probability p has e^(B_s / 2) = 1 + (e^(B / 2) - 1) / p (lopuhaa2024, Theorem 1),
    and r^2 / m + (1 - r)^2 / (1 - m) = e^(B_s) gives the m of a cell r.
    """
    p = ball.centre.sum(axis=1, keepdims=True)
    r, b = ball.centre / p, (1 + math.expm1(ball.radius / 2) / p) ** 2
    m = float(((b + 2 * r - 1 + np.sqrt((b + 2 * r - 1) ** 2 - 4 * b * r**2)) / (2 * b)).max())
    found = calibrated(FAMILIES["GRR"](ball), ball, epsilon)
    exact = math.log1p(math.expm1(epsilon) / m)
    # Below by no more than the tolerance and the 1e-10 of the safe side.
    assert exact * (1 - 1.1e-6) - 2e-10 / m <= found.nominal <= exact + 1e-12


def test_the_last_crossing_of_a_level_that_falls_again() -> None:
    """With U uniform on 3 values the report of secret randomized response leaks |log (x + 2 / x) / 3|.

    x = e^nominal: it grows to 0.06 at x = sqrt 2, is 0 at x = 2, and passes 0.05 for the last time at the
    larger root of x + 2 / x = 3 e^0.05.
    """
    ball = RenyiBall(np.full((2, 3), 1 / 6), 0.0)
    family = FAMILIES["SRR"](ball)
    found = calibrated(family, ball, 0.05)
    largest = 1.5 * math.exp(0.05) + math.sqrt(2.25 * math.exp(0.1) - 2)
    assert found.nominal == pytest.approx(math.log(largest), rel=1e-6)
    assert ball.worst_case_epsilon(family(math.log(2) / 2)) > 0.058
    assert ball.worst_case_epsilon(family(math.log(2))) < 1e-12


@pytest.mark.parametrize(
    ("ball", "epsilon"), few([(FALLING, 0.3), (JUMPING, 1.0)], more=[(FALLING, 2.0), (JUMPING, 3.0)])
)
def test_independent_reporting_against_a_dense_scan(ball: RenyiBall, epsilon: float) -> None:
    family = FAMILIES["IR"](ball)
    found = calibrated(family, ball, epsilon, tol=1e-3)
    levels = np.linspace(0.0, 3 * epsilon, 61)
    feasible = np.array([ball.worst_case_epsilon(family(float(level))) <= epsilon for level in levels])
    last = float(levels[feasible].max())
    assert last - 2e-3 * epsilon <= found.nominal <= last + levels[1]


@pytest.mark.parametrize(
    ("ball", "name"),
    few(
        [(TABLE, "GRR"), (SPARSE, "SRR"), (SPARSE, "IR")],
        more=[(TABLE, "SRR"), (TABLE, "IR"), (SPARSE, "GRR")],
    ),
)
def test_no_member_of_the_set_leaks_more_and_the_next_level_does(ball: RenyiBall, name: str) -> None:
    family = FAMILIES[name](ball)
    found = calibrated(family, ball, 0.8, tol=1e-4)
    np.testing.assert_array_equal(found.channel.matrix, family(found.nominal).matrix)
    assert sampled_epsilon(ball, found.channel) <= found.realized <= 0.8
    assert found.realized - ball.worst_case_epsilon(found.channel) == pytest.approx(1e-10 * 0.8, rel=1e-3)
    assert ball.worst_case_epsilon(family(found.nominal * (1 + 1.1e-4))) > 0.8 - 1e-10


@pytest.mark.parametrize(("seed", "epsilon", "name"), [(0, 0.05, "GRR"), (1, 5.0, "IR"), (2, 1.0, "IR")])
def test_no_less_private_and_no_less_informative(seed: int, epsilon: float, name: str) -> None:
    """Both families keep their guarantee, and grow more informative with the level."""
    ball = random_ball(seed)
    family = FAMILIES[name](ball)
    found = calibrated(family, ball, epsilon, tol=1e-3)
    assert found.realized <= epsilon
    assert sampled_epsilon(ball, found.channel) <= epsilon
    # Less than what is promised at epsilon only by the tolerance, where the guarantee is tight.
    assert found.nominal >= epsilon * (1 - 1.1e-3)
    plain = mutual_information(ball.centre, family(epsilon * (1 - 1.1e-3)))
    assert mutual_information(ball.centre, found.channel) >= plain * (1 - 1e-9)


def test_a_family_that_leaks_more_than_it_says_is_held_back() -> None:
    honest = calibrated(FAMILIES["GRR"](TABLE), TABLE, 1.0)
    found = calibrated(lambda level: randomized_response(6, 50 * level), TABLE, 1.0)
    assert found.nominal == pytest.approx(honest.nominal / 50, rel=1e-4)
    assert found.realized <= 1.0


# Ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("most", [0.0, 0.5, 7.0])
def test_a_family_that_is_always_private_gets_the_largest_level(epsilon: float, most: float) -> None:
    found = calibrated(lambda level: Channel(np.ones((6, 1))), TABLE, epsilon, most=most)
    assert (found.nominal, found.realized) == (most, 0.0)


# The level given U ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("conditional", few([0.25, 4.0], more=[1.0]))
def test_the_smaller_of_two_levels_binds(conditional: float) -> None:
    """Randomized response at level l, like the report of S in independent reporting, has it given U."""
    family = FAMILIES["GRR"](TABLE)
    free = calibrated(family, TABLE, 1.0)
    found = calibrated(family, TABLE, 1.0, conditional_epsilon=conditional)
    assert free.conditional == pytest.approx(free.nominal, rel=1e-9)
    assert found.nominal == pytest.approx(min(conditional, free.nominal), rel=1.1e-6, abs=1.1e-6)
    assert found.conditional == pytest.approx(found.nominal, rel=1e-9)
    assert found.conditional <= conditional
    assert found.realized <= 1.0


@pytest.mark.parametrize(
    ("ball", "name"),
    few(
        [(TABLE, "SRR"), (FALLING, "SRR"), (JUMPING, "IR")],
        more=[(TABLE, "IR"), (FALLING, "IR"), (JUMPING, "SRR")],
    ),
)
def test_both_levels_are_kept_and_hardly_more(ball: RenyiBall, name: str) -> None:
    family = FAMILIES[name](ball)
    free = calibrated(family, ball, 1.0, tol=1e-4)
    limit = 0.6 * free.conditional
    found = calibrated(family, ball, 1.0, tol=1e-4, conditional_epsilon=limit)
    blocks = found.channel.matrix.reshape(*ball.centre.shape, -1)
    ratios = [blocks[s, u] / blocks[t, u] for u in range(blocks.shape[1]) for s, t in np.ndindex(2, 2)]
    assert math.log(max(float(ratio.max()) for ratio in ratios)) <= found.conditional + 1e-12 <= limit + 1e-12
    assert found.realized <= 1.0
    if free.conditional == 0.0:  # all of the level is spent on U: there is no more to ask for
        assert found.nominal == free.nominal
        return
    assert found.nominal < free.nominal
    after = family(found.nominal * (1 + 1.1e-4))
    assert (
        max(conditional_epsilon(after, ball.centre.shape) / limit, ball.worst_case_epsilon(after)) > 1 - 1e-9
    )


def test_at_level_zero_given_u_nothing_is_told_of_s_but_by_u() -> None:
    found = calibrated(FAMILIES["GRR"](TABLE), TABLE, 1.0, conditional_epsilon=0.0)
    assert (found.nominal, found.conditional) == (0.0, 0.0)

    def public(level: float) -> Channel:
        return Channel(np.tile(randomized_response(3, level).matrix, (2, 1)))

    found = calibrated(public, TABLE, 0.4, conditional_epsilon=0.0)
    assert found.conditional == 0.0
    assert found.nominal > 0.4
    assert found.realized == pytest.approx(0.4, rel=1e-5)


def test_a_family_that_gives_s_away_to_those_who_know_u_is_refused() -> None:
    """Whether s = u tells nothing of S alone where U is uniform, and all of it to those who know U."""
    ball = RenyiBall(np.full((2, 2), 0.25), 0.0)

    def same(level: float) -> Channel:
        return Channel(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))

    assert calibrated(same, ball, 1.0).conditional == math.inf
    with pytest.raises(ValueError, match="leaks inf nats to those who know the useful value at the nominal"):
        calibrated(same, ball, 1.0, conditional_epsilon=5.0)


# Arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_a_family_that_always_leaks_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="The family leaks inf nats at the nominal level 0, and more than"):
        calibrated(lambda level: Channel(np.eye(6)), TABLE, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_one_sensitive_value_has_no_secret(epsilon: float) -> None:
    ball = RenyiBall.confidence([[3, 5, 9]])
    found = calibrated(lambda level: Channel(np.eye(3)), ball, epsilon)
    assert (found.nominal, found.realized) == (20.0, 0.0)
