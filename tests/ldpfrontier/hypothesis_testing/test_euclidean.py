"""The E-IT approximation: closed forms against the SDP and its construction, and where W' ends."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.hypothesis_testing.euclidean import (
    Perturbation,
    euclidean_bernoulli,
    euclidean_binary,
    euclidean_sdp,
)
from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.model.information import BITS

PAIR = np.array([[0.55, 0.45], [0.95, 0.05]])


def random_case(seed: int, m: int, M: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(M, rng.choice([0.5, 1.0, 5.0])), m)
    return p, rng.uniform(0.01, 0.1, m) * rng.choice([0.05, 1.0, 20.0], m)


def approximate(p: np.ndarray, A: np.ndarray) -> tuple[float, np.ndarray]:
    """Proposition 1 by its formulas, in bits."""
    utility = np.square((p[1:] - p[0]) @ A).sum(axis=1).min() / 2 * BITS
    return float(utility), p @ np.square(A).sum(axis=1) / 2 * BITS


@pytest.mark.parametrize("M", [2, 3, 8])
@pytest.mark.parametrize("seed", range(2))
def test_closed_form_equals_the_sdp(M: int, seed: int) -> None:
    p, limits = random_case(seed, 2, M)
    closed, sdp = euclidean_binary(p, limits), euclidean_sdp(p, limits)
    assert closed.value == pytest.approx(sdp.value, rel=1e-6)
    assert closed.rank == sdp.rank == 1  # Theorem 1
    assert (closed.leakages <= limits * (1 + 1e-12)).all()


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_bernoulli_closed_form_equals_the_sdp(m: int, seed: int) -> None:
    p, limits = random_case(seed, m, 2)
    closed = euclidean_bernoulli(p, limits)
    assert closed.value == pytest.approx(euclidean_sdp(p, limits).value, rel=1e-6)
    if m == 2:
        assert closed.value == pytest.approx(euclidean_binary(p, limits).value, rel=1e-10)


@pytest.mark.parametrize(
    ("limits", "active"), [((0.01, 1.0), (1,)), ((1.0, 0.01), (2,)), ((0.01, 0.011), (1, 2))]
)
def test_the_three_cases_of_theorem_2(limits: tuple[float, float], active: tuple[int, ...]) -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    found = euclidean_binary(p, limits)
    assert found.active == active
    difference, a = p[1] - p[0], found.factor[:, 0]
    if len(active) == 1:
        row = p[active[0] - 1]
        ratio, limit = (difference**2 / row).sum(), limits[active[0] - 1]
        printed = math.sqrt(2 * limit / BITS / ratio) * difference / row  # (21), (23)
        np.testing.assert_allclose(a, printed, atol=1e-12)
    else:
        eta = np.linalg.lstsq((p * a).T, difference / 2, rcond=None)[0]  # (24)
        np.testing.assert_allclose(eta @ (p * a), difference / 2, atol=1e-10)
        assert (eta > 0).all()


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("M", [2, 5])
def test_construction_of_theorem_3(m: int, M: int) -> None:
    p, limits = random_case(100 * m + M, m, M)
    found = euclidean_sdp(p, 1e-3 * limits)
    assert found.rank <= M
    rng = np.random.default_rng(m)
    for size in (found.rank + 1, found.rank + 3):
        w0 = 0.5 * rng.dirichlet(np.ones(size)) + 0.5 / size
        A = (found.matrix(w0) - w0) / np.sqrt(w0)
        np.testing.assert_allclose(A @ np.sqrt(w0), 0.0, atol=1e-12)
        np.testing.assert_allclose(A @ A.T, found.factor @ found.factor.T, atol=1e-12)
        utility, leakages = approximate(p, A)
        assert utility == pytest.approx(found.value, rel=1e-10)
        assert (leakages <= 1e-3 * limits * (1 + 1e-9)).all()
        small = found.scaled(min(1.0, 0.5 * found.reach(w0)))
        np.testing.assert_allclose(small.channel(w0).matrix.sum(axis=1), 1.0, atol=1e-12)


def test_third_orders_vanish_but_the_mean_does_not() -> None:
    """D follows Proposition 1. I lacks a term of second order: it has the spread around p_k A (erratum)."""
    p = np.array([[0.95, 0.05], [0.05, 0.95]])
    found = euclidean_binary(p, 1e-6)
    channel, tested = found.channel([0.5, 0.5]), Hypotheses(p)
    assert tested.utility(channel) == pytest.approx(found.value, rel=1e-3)
    assert tested.leakage(channel).max() == pytest.approx(0.19e-6, rel=1e-3)
    mean = p @ found.factor
    spread = found.leakages - np.square(mean).sum(axis=1) / 2 * BITS
    np.testing.assert_allclose(tested.leakage(channel), spread, rtol=1e-3)


def test_where_the_perturbation_stops_being_a_channel() -> None:
    found = euclidean_binary(PAIR, 0.05)
    reach = found.reach([0.5, 0.5])
    edge = found.scaled(reach * (1 - 1e-12)).channel([0.5, 0.5])
    assert edge.matrix.min() == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match=r"is not a channel; with this w_0 the leakage may be 0\.9"):
        found.scaled(reach * 1.02).channel([0.5, 0.5])
    assert found.scaled(2.0).value == pytest.approx(euclidean_binary(PAIR, 0.1).value)
    with pytest.raises(ValueError, match="has rank 1 and needs 2"):
        found.matrix([1.0])
    with pytest.raises(ValueError, match="positive entries"):
        found.matrix([1.0, 0.0])


@pytest.mark.parametrize("solver", [euclidean_binary, euclidean_bernoulli, euclidean_sdp])
def test_degenerate_hypotheses(solver: object) -> None:
    solve = solver
    assert callable(solve)

    def value(p: object, limits: object) -> Perturbation:
        result = solve(np.array(p), limits)
        assert isinstance(result, Perturbation)
        return result

    assert value([[0.3, 0.7], [0.3, 0.7]], 0.1).value == 0
    assert value([[0.3, 0.7], [0.6, 0.4]], 0.0).value == 0
    # p_2 has no first letter: only the other limit and letter two restrain a_1.
    zero = value([[0.5, 0.5], [0.0, 1.0]], 0.01)
    assert (zero.leakages <= 0.01 + 1e-12).all()
    assert zero.value == pytest.approx(euclidean_sdp([[0.5, 0.5], [0.0, 1.0]], 0.01).value, rel=1e-6)
    # The second letter must not be revealed, the first never occurs under p_1.
    alone = value([[0.0, 1.0], [0.5, 0.5]], [0.0, 0.01])
    np.testing.assert_allclose(alone.factor @ alone.factor.T, [[0.04 / BITS, 0.0], [0.0, 0.0]], atol=1e-9)
    assert alone.value == pytest.approx(0.25 * 0.02, rel=1e-6)


def test_closed_forms_do_not_load_the_solver() -> None:
    program = (
        "import sys, ldpfrontier; from ldpfrontier.hypothesis_testing.euclidean import euclidean;"
        "euclidean([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], 0.01); sys.exit('cvxpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), M=st.integers(2, 6))
def test_no_feasible_perturbation_is_better(seed: int, M: int) -> None:
    rng = np.random.default_rng(seed)
    p, limits = random_case(seed, 2, M)
    best = euclidean_binary(p, limits)
    for _ in range(5):
        A = rng.normal(size=(M, 3)) + 3 * best.factor * rng.normal(size=3) / np.abs(best.factor).max()
        utility, leakages = approximate(p, A)
        assert utility * (limits / leakages).min() <= best.value * (1 + 1e-9)
