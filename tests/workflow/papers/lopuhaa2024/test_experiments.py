"""The experiments of lopuhaa2024 on tables of counts, the worked example, and the catalogue of mechanisms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import beyond.solutions
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024 import summaries
from papers.lopuhaa2024.catalogue import COMPUTED, MECHANISMS
from papers.lopuhaa2024.example import worked_example
from papers.lopuhaa2024.solutions import SOLVERS
from reproduction.results.tables import MEASURED, SKIPPED, TableError
from support.mechanisms import fig2_of

COUNTS = np.array([[30, 0, 12], [25, 41, 60]])
#: Of the optima: what holds for them holds also for coarse ones.
TOLERANCE = 0.05


@pytest.fixture(scope="module")
def sweep() -> pd.DataFrame:
    return fig2_of(COUNTS, [1.0, 2.0], instance="a, b", tolerance=TOLERANCE)


# Mechanisms


def test_every_mechanism_of_the_catalogue_has_a_solver_and_a_look_of_its_own():
    assert set(SOLVERS) == set(COMPUTED)
    assert set(beyond.solutions.SOLVERS) == set(MECHANISMS)
    looks = MECHANISMS.values()
    assert len({look.label for look in looks}) == len(looks)
    assert len({look.colour for look in looks}) == len(looks)
    # They can be told apart without colour too.
    assert len({(look.marker, look.filled) for look in looks}) == len(looks)


# Tables of counts


def test_figure_2_has_two_metrics_per_mechanism_and_the_level_of_what_is_not_robust(sweep):
    assert len(sweep) == 2 * (2 * len(COMPUTED) + 1)
    certificates = sweep[sweep["status"] != MEASURED]
    assert (certificates["value"] <= certificates["bound"]).all()
    assert (certificates["direction"] == "max").all()
    assert (certificates["privacy"] <= certificates["epsilon"] + 1e-9).all()
    assert set(sweep.loc[sweep["certified"], "mechanism"]) == {"polyopt", "nr"}
    leaks = sweep[sweep["metric"] == "worst_case_epsilon"]
    # NR is private under P-hat only.
    assert leaks["mechanism"].unique().tolist() == ["nr"]
    assert (leaks["value"] > leaks["epsilon"] + 1e-9).all()
    assert (leaks["status"] == MEASURED).all()


def test_intractable_cases_are_rows_with_the_reason():
    table = fig2_of(np.ones((2, 21)) * 50, [1.0], instance="big", mechanisms=["polyopt"])
    assert (table["status"] == SKIPPED).all()
    assert table["note"].str.contains("at most 20 are supported").all()
    assert table[["value", "bound", "privacy", "privacy_limit"]].isna().all(axis=None)
    assert table["unit"].tolist() == ["nats", "1"]
    assert (table["direction"] == "max").all()


def test_a_failing_certificate_is_an_error(monkeypatch):
    monkeypatch.setattr(RenyiBall, "projected_epsilon", lambda *_: 1.5)
    with pytest.raises(TableError, match=r"mechanism=srr.*privacy level 1\.5"):
        fig2_of(COUNTS, [1.0], instance="test", mechanisms=["srr"])


# The worked example


def test_every_printed_number_of_the_examples_agrees_or_says_why():
    table = worked_example()
    assert len(summaries.example_texts(table)) == len(table)
    differing = table[~table["agrees"] & table["printed"].notna()]
    assert (differing["note"] != "").all()
    # What differs is Example 2's B_s with what follows from it, one I under P*, and Example 5's expression.
    assert differing.groupby("where").size().to_dict() == {"Example 2": 12, "Example 3": 1, "Example 5": 2}
    assert set(differing[differing["where"] == "Example 3"]["quantity"]) == {"I_P* of PolyOpt"}
    assert table["agrees"].sum() > 150
