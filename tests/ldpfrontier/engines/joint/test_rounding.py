"""What rounding does to bounds of boxes of columns, and to cuts, against 60 digits."""

import numpy as np
import pytest
from mpmath import expm1, fsum, mp, mpf

from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.joint.separation import Oracle
from ldpfrontier.engines.joint.spatial_branch_and_bound import JointColumns
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.high_precision import divergence, xlogx

EPSILONS = (0.1, 1.0, 4.0, 15.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bounds_of_boxes(epsilon, long):
    """Lines above v log v, and the values of programs at exact vertices."""
    raises = []
    for seed in range(12 if long else 2):
        rng = np.random.default_rng(seed)
        ball = RenyiBall.confidence(rng.integers(5, 300, (2, 3)), order=(2.0, 1.0, 0.7)[seed % 3])
        oracle = Oracle(ball, epsilon)
        family = JointColumns(oracle, MutualInformation(oracle.prior), 100)
        n = len(family.top)
        for _ in range(30 if long else 10):
            duals = family.scale * rng.uniform(0.0, min(epsilon, 1.0), n)
            ends = np.sort(rng.random((2, n)) ** 2, axis=0) * family.top
            lo, hi = np.minimum(ends[0], 0.9), np.maximum(ends[1], 1.1)
            slopes, constants = family.utility.majorant(lo, hi)
            for p, a, b, slope, constant in zip(
                *(x.tolist() for x in (family.scale, lo, hi, slopes, constants)), strict=True
            ):
                assert all(mpf(slope) * mpf(x) + mpf(constant) >= mpf(p) * xlogx(mpf(x)) for x in (a, b))
            cost = slopes - duals
            found = family.pool.maximize(cost, lo, hi)
            if found is not None and (exact := value_at_vertex(family, cost, lo, hi, found[1])) is not None:
                assert exact <= mpf(found[0])
                raises.append(float((mpf(found[0]) - exact) / fsum(map(abs, cost * hi))))
    print(f"eps {epsilon}: {len(raises)} vertices, raises {np.quantile(raises, [0.5, 1.0])}")
    # It is an optimum, but for the violations that a program leaves.
    assert np.median(raises) < 1e-12


def value_at_vertex(family, cost, lo, hi, v):
    """The exact value at the vertex that a solution is next to; None if other inequalities cut that off."""
    n, rows, ends = len(v), [family.scale], [mpf(1)]
    for j in range(n):
        for end in (lo[j], hi[j]):
            if abs(v[j] - end) < 1e-12 * (1.0 + end):
                rows.append(np.eye(n)[j])
                ends.append(mpf(float(end)))
    order = np.argsort(np.abs(family.pool.cuts @ v), kind="stable")
    for row in family.pool.cuts[order[: 2 * n]]:
        rows.append(row)
        ends.append(mpf(0))
    chosen = []
    for i in range(len(rows)):
        if np.linalg.matrix_rank(np.array([rows[j] for j in (*chosen, i)]), tol=1e-9) > len(chosen):
            chosen.append(i)
    if len(chosen) < n:
        return None
    matrix = mp.matrix([[mpf(x) for x in rows[i].tolist()] for i in chosen[:n]])
    vertex = list(mp.lu_solve(matrix, mp.matrix([ends[i] for i in chosen[:n]])))
    tiny = mpf("1e-50")
    inside = all(
        mpf(a) - tiny <= x <= mpf(b) + tiny for x, a, b in zip(vertex, lo.tolist(), hi.tolist(), strict=True)
    )
    for cut in family.pool.cuts.tolist():
        inside = inside and fsum(mpf(a) * x for a, x in zip(cut, vertex, strict=True)) <= tiny
    return fsum(mpf(c) * x for c, x in zip(cost.tolist(), vertex, strict=True)) if inside else None


def k_of(spent, order):
    g = (mpf(order) - 1) / mpf(order)
    return spent if g == 0 else expm1(g * spent) / g


@pytest.mark.parametrize("order", [0.25, 0.5, 0.7, 1.0, 1.001, 2.0, 4.0])
@pytest.mark.parametrize("radius", [1e-14, 1e-9, 1e-4, 0.3])
def test_cuts_are_of_members_of_the_set(order, radius, long):
    """Every cut is at most R_s . v_s - e^eps R_t . v_t, entry by entry, of (R_s, R_t) within the budget."""
    rng = np.random.default_rng(3)
    centre = rng.dirichlet(np.ones(6)).reshape(2, 3)
    ball, epsilon = RenyiBall(centre, radius, order), 0.7
    oracle = Oracle(ball, epsilon)
    columns = rng.gamma(0.5, size=(60 if long else 6, 6))
    sums = [fsum(map(mpf, row)) for row in ball.centre.tolist()]
    rows = [[mpf(x) / total for x in row] for row, total in zip(ball.centre.tolist(), sums, strict=True)]
    for cuts in (oracle.worst(columns)[1], oracle.separate(columns)):
        for cut in cuts.reshape(-1, 2, 3).tolist():
            spent = mpf(0)
            for row, own, p in zip(cut, rows, sums, strict=True):
                # Rounding left the entries of the larger side, of sum 1, too low, and of the other too high.
                entries, factor = [abs(mpf(x)) for x in row], mp.e ** mpf(epsilon)
                total = fsum(entries)
                assert total <= 1 if max(row) > 0 else total >= factor
                spent += p * k_of(divergence(own, [x / total for x in entries], order), order)
            assert spent <= k_of(mpf(radius), order)


def test_cuts_of_odds_ratios_are_implied_by_exact_ones():
    """For some share x of u among those with s, and so x' among those with t, the cut is stronger."""
    rng = np.random.default_rng(4)
    prior = rng.dirichlet(np.full(6, 3.0)).reshape(2, 3)
    odds, epsilon = OddsRatios.over(RenyiBall(prior, 0.02)), 0.7
    cone, factor = AssociationCone(odds, epsilon), mp.e ** mpf(epsilon)
    cuts = cone.separate(rng.gamma(0.5, size=(40, 6)))
    assert cuts.shape[1] == len(odds.comparisons.rho)
    for k, rho in enumerate(map(mpf, odds.comparisons.rho.tolist())):

        def among_t(x, rho=rho):
            return rho * x / (1 - x + rho * x)

        for su, sw, tu, tw in cuts[:, k][:, [int(cells[k]) for cells in cone.places]].tolist():
            least, most = mpf(su), 1 - mpf(sw)
            assert 0 <= least <= most <= 1
            assert among_t(least) <= -mpf(tu) / factor
            assert among_t(most) >= 1 + mpf(tw) / factor
            assert -mpf(tu) - mpf(tw) >= factor
