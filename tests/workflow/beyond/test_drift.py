"""What mechanisms survive when the population moves."""

from __future__ import annotations

import numpy as np
import pytest

from beyond.catalogue import ASSOCIATION, DRIFTS, MARGINALS, WHOLE
from beyond.drift import drift, drifted_conditionals, proportional_fit
from ldpfrontier import RenyiBall, optimal_robust, rldp_epsilon

COUNTS = np.array([[700, 100, 0], [260, 570, 300]])


def ratios(P):
    """Return the odds ratio of the first two columns."""
    return P[..., 0, 0] * P[..., 1, 1] / (P[..., 0, 1] * P[..., 1, 0])


def test_fitted_distributions_have_the_odds_ratios_of_one_and_the_marginals_of_the_other():
    first, second = np.random.default_rng(1).dirichlet(np.ones(6), (2, 20)).reshape(2, 20, 2, 3)
    found = proportional_fit(first, second)
    assert found.sum(axis=2) == pytest.approx(second.sum(axis=2), abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(second.sum(axis=1), abs=1e-9)
    assert ratios(found) == pytest.approx(ratios(first), rel=1e-9)


def test_what_moves_and_what_stays():
    P = COUNTS / COUNTS.sum()
    conditionals = P / P.sum(axis=1, keepdims=True)
    drawn = {kind: drifted_conditionals(COUNTS, kind, 0.1, 500, 7) for kind in DRIFTS}
    for R in drawn.values():
        assert R.shape == (500, 2, 3)
        assert R.sum(axis=2) == pytest.approx(1.0)
        assert (R[:, 0, 2] == 0).all()
    assert ratios(drawn[MARGINALS]) == pytest.approx(ratios(P), rel=1e-9)
    mean = np.einsum("s,nsu->nu", P.sum(axis=1), drawn[ASSOCIATION])
    assert mean == pytest.approx(np.tile(P.sum(axis=0), (500, 1)), abs=1e-8)
    # The spread is that of a sample: of a tenth of the records of the group.
    R, group = drawn[WHOLE][:, 0, 0], COUNTS[0].sum() / 10
    expected = np.sqrt(conditionals[0, 0] * (1 - conditionals[0, 0]) / group)
    assert R.std() == pytest.approx(expected, rel=0.15)
    assert R.mean() == pytest.approx(conditionals[0, 0], abs=5 * expected / np.sqrt(500))


def test_the_table_counts_the_truths_whose_level_is_at_most_epsilon():
    options = {"factors": [1, 9], "shares": [0.02], "truths": 60, "seed": 3, "instance": "a"}
    table = drift(COUNTS, [0.4], mechanisms=["polyopt", "exact"], **options)
    assert len(table) == 3 * 2 * 3
    acquaintances = table["mechanism"] == "acquaintances"
    # What is private for all odds ratios of F is so where only marginals move.
    assert (table[acquaintances & (table["drift"] == MARGINALS)]["survived"] == 1).all()
    for row in table[~acquaintances].to_dict("records"):
        ball = RenyiBall.confidence(COUNTS, factor=row["factor"])
        envelope = "exact" if row["mechanism"] == "exact" else "simplex"
        best = optimal_robust(ball, 0.4, envelope=envelope, tolerance=1e-7)
        levels = rldp_epsilon(best.channel, drifted_conditionals(COUNTS, row["drift"], 0.02, 60, 3))
        assert row["survived"] == np.mean(levels <= 0.4 * (1 + 1e-9))
        assert row["median"] == np.median(levels)
        assert row["standard_error"] == pytest.approx(np.std(levels <= 0.4 * (1 + 1e-9)) / np.sqrt(60))
    by = table.set_index(["mechanism", "factor", "drift"])
    for name in ("polyopt", "exact"):
        small, large = (by.loc[(name, factor, WHOLE)] for factor in (1.0, 9.0))
        assert large["survived"] > small["survived"]
        assert large["nmi"] < small["nmi"]
    # At one radius, the wider promise survives more.
    assert by.loc[("polyopt", 1.0, WHOLE), "survived"] > by.loc[("exact", 1.0, WHOLE), "survived"]
