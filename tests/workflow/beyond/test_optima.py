"""The optimum over F beside Figure 2 of lopuhaa2024, and certificates, from solutions that were kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from beyond import solutions as own
from beyond.certificates import documents as own_documents
from beyond.optima import mechanisms, optima
from ldpfrontier import RenyiBall, optimal_nonrobust, optimal_polyopt
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.certificates import documents
from papers.lopuhaa2024.experiments import solutions
from papers.lopuhaa2024.solution import SOLUTIONS
from papers.lopuhaa2024.solutions import Problem
from reproduction.results.certificates import PROVED, verified
from reproduction.results.files import read_table, write_table
from support.mechanisms import measured

COUNTS = np.array([[30, 0, 12], [25, 41, 60]])
EPSILONS = [1.0, 2.0]
OF_THE_PAPER = ["polyopt", "nr", "ir", "srr", "grr"]
PLACE = {"instance": "a, b", "tolerance": 0.05}


def through_a_file(table, folder):
    write_table(table, folder / "table.parquet", {}, SOLUTIONS)
    return read_table(folder / "table.parquet", SOLUTIONS)


def test_what_is_made_of_kept_solutions_is_what_is_made_of_solutions(tmp_path):
    of_paper = through_a_file(solutions(COUNTS, EPSILONS, mechanisms=OF_THE_PAPER, **PLACE), tmp_path)
    best = through_a_file(optima(of_paper, COUNTS, EPSILONS, **PLACE), tmp_path)
    found = mechanisms(of_paper, best, COUNTS, EPSILONS, mechanisms=OF_THE_PAPER, **PLACE)
    names = [*OF_THE_PAPER, "exact"]
    pd.testing.assert_frame_equal(found, measured(COUNTS, EPSILONS, mechanisms=names, **PLACE))
    proofs = [
        documents(of_paper, COUNTS, beta=0.05, order=2.0),
        own_documents(best, COUNTS, beta=0.05, order=2.0),
    ]
    assert [sorted(set(table["mechanism"])) for table in proofs] == [["nr", "polyopt"], ["exact"]]
    assert [set(table["paper"]) for table in proofs] == [{"lopuhaa2024"}, {"beyond"}]
    for table in proofs:
        assert (verified(table, tmp_path / table["paper"].iloc[0])["outcome"] == PROVED).all()


def test_levels_for_those_who_know_more_are_larger():
    rows = measured(COUNTS, EPSILONS, **PLACE)
    assert len(rows) == len(EPSILONS) * 11 * len(MECHANISMS)
    levels = [
        rows[rows["metric"] == metric].set_index(["mechanism", "epsilon"])["value"]
        for metric in ("association_epsilon", "association_epsilon_intervals", "unconditional_epsilon")
    ]
    assert (levels[0] <= levels[1] + 1e-9).all()
    assert (levels[1] <= levels[2] + 1e-9).all()
    leaks = rows[rows["metric"] == "worst_case_epsilon"]
    assert ((leaks["value"] > leaks["epsilon"] + 1e-9) == (leaks["mechanism"] == "nr")).all()


def test_the_optimum_over_f_starts_from_polyopt(monkeypatch):
    starts = []

    def solver(ball, epsilon, *, envelope, start, **_):
        starts.append((envelope, start))
        return optimal_polyopt(ball, epsilon, start=start)

    monkeypatch.setattr(own, "optimal_robust", solver)
    ball = RenyiBall.confidence(COUNTS)
    good, other = (optimal_polyopt(ball, level).channel for level in (0.3, 0.5))
    nonrobust = optimal_nonrobust(ball.centre, 1.0)
    own.evaluate("exact", Problem(ball, 1.0, nonrobust, 1e-7, 300, solved={"srr": other, "polyopt": good}))
    assert starts == [("exact", good)]


@pytest.mark.parametrize(
    ("counts", "order"), [(COUNTS, 0.5), (COUNTS, 2.0), (np.array([[12, 40], [30, 3], [15, 60]]), 2.0)]
)
def test_the_optimum_is_worth_at_least_as_much_as_polyopt_and_at_most_the_bound(counts, order, long):
    levels, tolerance = ([0.1, 1.0], 1e-7) if long else ([1.0], 1e-2)
    names = ["polyopt", "exact", "nr"]
    table = measured(counts, levels, instance="a, b", order=order, mechanisms=names, tolerance=tolerance)
    rows = table[table["metric"] == "nmi"]
    value, bound = (rows.pivot_table(name, "epsilon", "mechanism") for name in ("value", "bound"))
    assert (value["polyopt"] <= value["exact"] + 1e-9).all()
    assert (value["exact"] <= bound["exact"]).all()
    assert (bound["exact"] <= bound["nr"] + 1e-12).all()


def test_the_level_of_the_optimum_over_f_is_that_over_f(monkeypatch):
    monkeypatch.setattr(RenyiBall, "worst_case_epsilon", lambda *_: 0.125)
    names = ["exact", "polyopt"]
    table = measured(COUNTS, [1.0], mechanisms=names, **PLACE)
    levels = table[table["metric"] == "nmi"].groupby("mechanism")["privacy"].unique()
    assert levels["exact"].tolist() == [0.125]
    assert levels["polyopt"][0] == pytest.approx(1.0, abs=1e-6)
