"""Random tables: samples, rows and their certificates, degenerate tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import secret_randomized_response
from ldpfrontier.reports.two_reports import independent_reporting
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024 import synthetic
from papers.lopuhaa2024.catalogue import COMPUTED, COVERED
from papers.lopuhaa2024.random_tables import random_tables, tables_around, tables_of
from papers.lopuhaa2024.solutions import SOLVERS
from papers.lopuhaa2024.summaries import cells, fig4
from reproduction.results.tables import RESULTS, TableError
from support.instances import sample_table, study, study_of

SEED = 7
EPSILONS = [0.3, 1.5]
INSTANCES = 2
#: Of the optima: what holds for them holds also for coarse ones.
TOLERANCE = 0.05

STUDIED = list(COMPUTED)


@pytest.fixture(scope="module")
def usual() -> pd.DataFrame:
    """Two sizes."""
    settings = {"mechanisms": STUDIED, "tolerance": TOLERANCE, "seed": SEED}
    parts = [study(shape, range(INSTANCES), EPSILONS, **settings) for shape in ((2, 3), (3, 2))]
    return RESULTS.conform(pd.concat(parts))


# Samples and rows


def test_a_population_has_its_tables_by_number():
    drawn = random_tables(2, 3, range(4), seed=SEED)
    assert [table.number for table in tables_of(drawn, [3, 1])] == [1, 3]
    (third,) = tables_of(drawn, [3])
    truth, counts = sample_table((2, 3), 3, seed=SEED)
    assert np.array_equal(third.truth, truth)
    assert np.array_equal(third.counts, counts)
    with pytest.raises(ValueError, match="The population lacks the table 7"):
        list(tables_of(drawn, [1, 7]))


def test_samples_depend_on_shape_number_and_seed_only():
    truth, counts = sample_table((2, 5), 3, seed=SEED)
    assert counts.sum() == 32561
    assert truth.sum() == pytest.approx(1.0)
    assert np.array_equal(sample_table((2, 5), 3, seed=SEED)[1], counts)
    for shape, number, seed in (((5, 2), 3, SEED), ((2, 5), 4, SEED), ((2, 5), 3, SEED + 1)):
        assert not np.array_equal(sample_table(shape, number, seed=seed)[1].ravel(), counts.ravel())
    # Means of the Jeffreys prior: 1/a, with variance (a - 1) / (a^2 (a/2 + 1)).
    drawn = random_tables(2, 2, range(400), seed=SEED)
    sampled = np.array([table.truth.ravel() for table in tables_of(drawn, range(400))])
    np.testing.assert_allclose(sampled.mean(axis=0), 0.25, atol=0.05)
    np.testing.assert_allclose(sampled.var(axis=0), 3 / 16 / 3, atol=0.015)


def test_results_do_not_depend_on_chunks():
    settings = {"mechanisms": ["polyopt", "nr", "ir"], "seed": SEED}
    whole = study((2, 3), range(3), EPSILONS, **settings)
    parts = [study((2, 3), [i], [epsilon], **settings) for i in (2, 0, 1) for epsilon in EPSILONS[::-1]]
    pd.testing.assert_frame_equal(RESULTS.conform(pd.concat(parts)), whole)


def test_realized_values_against_their_definitions(usual):
    truth, counts = sample_table((2, 3), 1, seed=SEED)
    ball = RenyiBall.confidence(counts)
    channel = independent_reporting(ball, 1.5)
    rows = usual[
        (usual["size"] == "2 x 3")
        & (usual["instance"] == "001")
        & (usual["mechanism"] == "ir")
        & (usual["epsilon"] == 1.5)
    ].set_index("metric")
    Q = channel.matrix.reshape(2, 3, -1)
    seen = np.einsum("su,suy->sy", truth / truth.sum(axis=1, keepdims=True), Q)
    leak = np.abs(np.log(seen[0]) - np.log(seen[1])).max()
    assert rows.loc["realized_epsilon", "value"] == pytest.approx(leak, rel=1e-12)
    value, true = mutual_information(ball.centre, channel), mutual_information(truth, channel)
    assert rows.loc["utility_difference", "value"] == pytest.approx((value - true) / value, rel=1e-9)
    note = synthetic.COVERED if ball.contains(truth) else synthetic.MISSED
    assert rows.loc["realized_epsilon", "note"] == note


def test_a_leak_of_a_covered_truth_is_an_error(monkeypatch):
    monkeypatch.setattr(synthetic, "rldp_epsilon", lambda *_: 0.4)
    monkeypatch.setattr(RenyiBall, "contains", lambda *_, **__: True)
    with pytest.raises(TableError, match=r"srr leaks 0\.4 under P\* in 2 x 3, 000.*limit is 0\.3"):
        study((2, 3), [0], [0.3], mechanisms=["srr"], seed=SEED)


def test_a_failing_solve_names_its_instance(monkeypatch):
    def fail(_):
        raise ArithmeticError("The certificate fails.")

    monkeypatch.setitem(SOLVERS, "polyopt", fail)
    with pytest.raises(ArithmeticError) as caught:
        study((2, 3), [4], [0.3], mechanisms=["polyopt"], seed=SEED)
    assert caught.value.__notes__ == ["In polyopt at epsilon 0.3.", "In 2 x 3, 004, beta 0.05, with seed 7."]


# Degenerate tables


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_one_value_of_a_kind(shape):
    found = study(shape, [0], [0.5, 4.0], seed=SEED)
    nmi = found[found["metric"] == "nmi"].set_index(["mechanism", "epsilon"])["value"]
    if shape[0] == 1 and shape[1] > 1:
        # Nothing to hide: everything is told.
        assert nmi["nr", 0.5] == pytest.approx(1.0)
        assert nmi["ir_tight", 0.5] == pytest.approx(1.0)
    if shape == (4, 1):
        # RLDP is LDP, whatever F is.
        assert nmi["polyopt", 4.0] == pytest.approx(nmi["nr", 4.0], rel=1e-6)
    if shape == (1, 1):
        assert (nmi == 0).all()
        assert (found.loc[found["metric"] != "nmi", "value"] == 0).all()


def test_an_output_that_is_impossible_for_one_group_leaks_without_limit():
    """NR reveals a u that P-hat gives to one s with certainty; P* may never give it to the other s."""
    truth, counts = [[0.5, 0.0], [0.25, 0.25]], [[50, 3], [20, 27]]
    found = study_of(truth, counts, [0, 1], [0.5], mechanisms=["nr", "srr"])
    leaks = found[found["metric"] == "realized_epsilon"].set_index(["mechanism", "instance"])["value"]
    assert np.isinf(leaks["nr"]).all()
    assert np.isfinite(leaks["srr"]).all()
    summary = fig4(found).set_index("mechanism")
    assert summary.loc["nr", ["low", "median", "high", "largest"]].tolist() == [np.inf] * 4
    assert (summary.loc["nr", "infinite"], summary.loc["srr", "kept"]) == (2, 2)


LONG = [pytest.param(order, STUDIED, marks=pytest.mark.long) for order in (0.5, 1.0, 2.0)]


@pytest.mark.parametrize(("order", "mechanisms"), [(0.5, STUDIED), (5.0, STUDIED), *LONG])
def test_too_few_records_for_the_ball(order, mechanisms, long):
    """With one record F is nearly everything, at order 1/2 everything; what is left is private throughout."""
    settings = {"order": order, "mechanisms": list(mechanisms), "seed": SEED}
    found = study((2, 2), [0, 1] if long else [0], [1.0], records=1, **settings)
    certified = found[found["metric"] == "nmi"]
    # One record: P-hat sits on one cell, and H(X) is 0.
    assert (certified["value"] == 0).all()
    few = study((2, 2), [0], [1.0], records=4, tolerance=TOLERANCE, **settings)
    few = few[(few["metric"] == "realized_epsilon") & (few["mechanism"] != "nr")]
    assert few["value"].notna().all()


# Around a table -------------------------------------------------------------------------------------------


def around(counts, numbers, epsilons, *, name, mechanisms):
    drawn = tables_around(counts, numbers, name=name, seed=SEED)
    return synthetic.study(drawn, numbers, epsilons, mechanisms=mechanisms)


def test_tables_around_a_table():
    counts = np.array([[70, 30, 100], [260, 310, 570]])
    many = around(counts, range(6), EPSILONS, name="town", mechanisms=["nr", "polyopt", "srr"])
    assert set(many["size"]) == {"2 x 3 (town)"}
    assert set(many["instance"]) == {f"{i:03d}" for i in range(6)}
    assert cells("2 x 3 (town)") == cells("2 x 3") == 6
    realized = many[many["metric"] == "realized_epsilon"]
    robust = realized[(realized["mechanism"] != "nr") & (realized["note"] == COVERED)]
    assert len(robust) > 0
    assert (robust["value"] <= robust["epsilon"] + 1e-9).all()
    # An instance depends on its number, and on the table.
    one = around(counts, [3], EPSILONS, name="town", mechanisms=["srr"])
    same = many[(many["instance"] == "003") & (many["mechanism"] == "srr")]
    assert one["value"].tolist() == same["value"].tolist()
    other = around(counts, [3], EPSILONS, name="land", mechanisms=["srr"])
    assert one["value"].tolist() != other["value"].tolist()
    # With many records there is one plausible truth, that of the table.
    sure = around(counts * 10**9, [0], [1.0], name="town", mechanisms=["srr"])
    exact = mutual_information(counts / counts.sum(), secret_randomized_response(2, 3, 1.0))
    assert sure[sure["metric"] == "mutual_information"]["value"].item() == pytest.approx(exact, rel=1e-3)
