"""The optimum over F beside Figure 2 of lopuhaa2024, and certificates, from solutions that were kept."""

from __future__ import annotations

import numpy as np
import pandas as pd

from beyond.certificates import documents as own_documents
from beyond.optima import mechanisms, optima
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.certificates import documents
from papers.lopuhaa2024.experiments import solutions
from papers.lopuhaa2024.solution import SOLUTIONS
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
