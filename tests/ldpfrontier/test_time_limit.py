"""Every optimizer keeps `max_seconds`: what is returned is private, bounded, and says what ended it.

The clock of these tests counts how often it is asked, and time is up after a number of times: then every
place that asks is tried, on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import ldpfrontier as l
from ldpfrontier.engines import registry
from ldpfrontier.engines.products import product_optimum
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.hamming.dp_leakage import hamming_leakages
from ldpfrontier.model.privacy import least_delta
from ldpfrontier.numerics import deadline
from ldpfrontier.promises import robust

END = 1e12


class Clock:
    """A clock on which time is up after it was asked a number of times."""

    def __init__(self, left: float) -> None:
        self.left, self.asked = left, 0

    def __call__(self) -> float:
        self.asked += 1
        return 0.0 if self.asked <= self.left else END


class Case(NamedTuple):
    """A call, the level of a channel, what it may be, and limits of sizes that decide which engine runs."""

    call: Callable[..., Any]
    level: Callable[[l.Channel], float]
    most: float
    sizes: dict[str, int] = {}  # noqa: RUF012


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(np.prod(shape))).reshape(shape)


def ball_of(*shape: int) -> l.RenyiBall:
    return l.RenyiBall.confidence(np.random.default_rng(0).integers(5, 50, shape))


def ldp(utility: Any, epsilon: float) -> Case:
    return Case(lambda **k: l.optimal_ldp(utility, epsilon, **k), l.ldp_epsilon, epsilon)


def over(ball: l.RenyiBall, sizes: dict[str, int] | None = None, **options: Any) -> Case:
    def level(channel: l.Channel) -> float:
        k = options.get("conditional_epsilon", np.inf)
        beyond = l.conditional_epsilon(channel, ball.centre.shape) > k * (1.0 + 1e-9) + 1e-9
        return np.inf if beyond else ball.worst_case_epsilon(channel)

    return Case(lambda **k: l.optimal_robust(ball, 1.0, **options, **k), level, 1.0, sizes or {})


def unconditional(prior: np.ndarray, sizes: dict[str, int] | None = None) -> Case:
    return Case(
        lambda **k: l.optimal_unconditional(prior, 1.0, **k),
        lambda channel: l.unconditional_epsilon(channel, prior.shape),
        1.0,
        sizes or {},
    )


def inside(cone: l.PolyhedralCone, call: Callable[..., Any]) -> Case:
    """Take the largest violation of an inequality for a level."""
    return Case(call, lambda channel: float((cone.inequalities @ channel.matrix).max()), 0.0)


def told_apart(hypotheses: np.ndarray, leakage: float, **options: Any) -> Case:
    return Case(
        lambda **k: l.optimal_leakage(hypotheses, leakage, **options, **k),
        lambda channel: max(l.mutual_information(p, channel, bits=True) for p in hypotheses),
        leakage,
    )


def distorted(solve: Callable[..., Any], sources: l.SourceSet) -> Case:
    return Case(lambda **k: solve(sources, 0.3, **k), sources.distortion, 0.3)


def association(counts: Any, sizes: dict[str, int] | None = None) -> Case:
    odds = l.OddsRatios.confidence(counts)
    return Case(
        lambda **k: l.optimal_association(odds, 1.0, max_rounds=2, **k),
        lambda channel: l.association_epsilon(channel, odds),
        1.0,
        sizes or {},
    )


def mechanism(cone: Any, prior: np.ndarray, **options: Any) -> Callable[..., Any]:
    return lambda **k: l.optimal_mechanism(l.MutualInformation(prior), cone, **options, **k)


def calibration(ball: l.RenyiBall) -> Case:
    shape = ball.centre.shape
    return Case(
        lambda **k: l.calibrated(lambda x: l.secret_randomized_response(*shape, x), ball, 1.0, **k),
        ball.worst_case_epsilon,
        1.0,
    )


SEARCHED = {"max_joint_cells": 5}
SMALL_BALL = l.RenyiBall.confidence([[30, 10], [10, 30]])
BALL, WIDE = l.RenyiBall.confidence([[30, 10, 5], [10, 30, 9]]), ball_of(3, 4)
HYPOTHESES = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
SOURCES = l.SourceSet(np.random.default_rng(0).dirichlet(np.ones(6), 4))
LINE = np.abs(np.arange(6)[:, None] - np.arange(6))
SIX, RAYS = l.local_cone(6, 1.0), l.unconditional_cone((2, 3), 1.0)

SMALL = {
    "LDP, listed": ldp(l.MutualInformation(drawn(9)), 1.0),
    "LDP, with a delta": Case(
        lambda **k: l.optimal_ldp(l.MutualInformation(drawn(4)), 1.0, 0.1, **k),
        lambda channel: least_delta(channel, 1.0),
        0.1,
    ),
    "LDP, packing": ldp(l.MutualInformation(drawn(22)), 2.0),
    "NR": Case(
        lambda **k: l.optimal_nonrobust(drawn(7, 5), 1.0, **k),
        lambda channel: l.rldp_epsilon(channel, drawn(7, 5) / drawn(7, 5).sum(axis=1, keepdims=True)),
        1.0,
    ),
    "unconditional, listed": unconditional(drawn(3, 3)),
    "unconditional, PolyOpt": unconditional(ball_of(3, 4).centre, {"max_listed_inputs": 4}),
    "PolyOpt": over(WIDE),
    "PolyOpt, coupled": over(WIDE, {"max_exact_vertices": 0}),
    "PolyOpt, coupled without a program": over(WIDE, {"max_master_cells": 5}),
    "F, joint": over(BALL, envelope="exact", max_nodes=10),
    "F, products": over(SMALL_BALL, {"max_joint_cells": 3}, envelope="exact", max_nodes=10),
    "a cone, rays": inside(SIX, mechanism(SIX, np.full(6, 1 / 6))),
    "a cone, cuts": Case(
        mechanism(l.robust_cone(BALL, 1.0), BALL.centre, max_nodes=50), BALL.worst_case_epsilon, 1.0
    ),
    "association": association([[30, 20], [10, 40]]),
    "association, a search": association(np.random.default_rng(0).integers(5, 50, (3, 3)), SEARCHED),
    "estimation, staircases": inside(SIX, lambda **k: l.optimal_estimation(drawn(6), SIX, **k)),
    "estimation, rays": inside(RAYS, lambda **k: l.optimal_estimation(BALL.centre, RAYS, **k)),
    "leakage": told_apart(HYPOTHESES, 0.1),
    "leakage, two outputs": told_apart(np.array([[0.5, 0.5], [0.2, 0.8]]), 0.1, outputs=2),
    "DP leakage": distorted(l.hamming_leakage, SOURCES),
    "DP leakages": distorted(lambda s, D, **k: hamming_leakages(s, [0.5, D], **k)[1], SOURCES),
    "any distortion": Case(lambda **k: l.least_distortion(SOURCES, LINE, 1.0, **k), l.ldp_epsilon, 1.0),
    "leakage at any distortion": Case(
        lambda **k: l.distortion_leakage(SOURCES, LINE, 1.0, **k),
        lambda channel: float((SOURCES.distributions @ (LINE * channel.matrix).sum(axis=1)).max()),
        1.0,
    ),
    "MI leakage": distorted(l.information_leakage, SOURCES),
    "calibration": calibration(BALL),
}

TOLD = "as the time limit ended the computation"


def check(found: Any, case: Case) -> None:
    """Check what holds of every result: it keeps the level and its bound, and is optimal or says why not."""
    assert case.level(found.channel) <= case.most * (1.0 + 1e-9) + 1e-9
    if (status := getattr(found, "status", "bounded")) == "bounded":
        assert TOLD in str(found.method)
    if hasattr(found, "bound"):
        assert found.lower_bound <= found.upper_bound
        assert status in ("optimal", "bounded")


def content(found: Any) -> list[object]:
    """Return all that is said of a result but for how it was found."""
    values = {name: value for name, value in vars(found).items() if name not in ("channel", "method")}
    return [found.channel.matrix.tobytes(), *(np.asarray(value).tobytes() for value in values.values())]


@pytest.fixture
def clock(monkeypatch):
    """Return a function that gives the optimizers a clock to be asked so many times."""

    def start(left: float) -> Clock:
        own = Clock(left)
        monkeypatch.setattr(deadline, "clock", own)
        return own

    return start


@pytest.mark.parametrize("name", SMALL)
def test_whenever_the_time_is_up_the_answer_holds(name, clock, monkeypatch, long) -> None:
    case = SMALL[name]
    for module in (registry, robust, product_optimum):
        monkeypatch.setattr(module, "LIMITS", replace(LIMITS, **case.sizes), raising=False)
    clock(np.inf)
    case.call(max_seconds=1e6)  # what is compiled asks for the time as well, once
    never = clock(np.inf)
    full = case.call(max_seconds=1e6)
    last = never.asked - 1
    assert last >= 1, "nothing asks for the time"
    for left in sorted({1, last // 2 or 1, last} | ({min(3, last)} if long else set())):
        clock(left)
        found = case.call(max_seconds=1e6)
        check(found, case)
        if hasattr(full, "bound"):
            assert left > 1 or found.status == "bounded"
            # Each bounds the other.
            assert found.lower_bound <= full.upper_bound * (1.0 + 1e-9)
            assert full.lower_bound <= found.upper_bound * (1.0 + 1e-9)
    # Without a limit, and after all of these, it is the same.
    assert content(case.call()) == content(full)


def test_no_time_at_all() -> None:
    """Of a real clock nothing is left at once."""
    found = (case := SMALL["LDP, packing"]).call(max_seconds=0)
    check(found, case)
    assert "within 0 s" in str(found.method)
