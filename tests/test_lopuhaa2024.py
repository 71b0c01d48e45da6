"""The experiments of lopuhaa2024: the worked example and the sweep behind Figure 2."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.papers.lopuhaa2024.experiments import (
    MECHANISMS,
    adult_sweep,
    distinct_gain,
    example_texts,
    instance_name,
    orderings,
    worked_example,
)
from ldpfrontier.tables import MEASURED, SKIPPED, TableError

COUNTS = np.array([[30, 0, 12], [25, 41, 60]])


@pytest.fixture(scope="module")
def sweep() -> pd.DataFrame:
    lines: list[str] = []
    table = adult_sweep(COUNTS, [0.2, 1.0], instance="test (2 x 3)", progress=lines.append)
    assert len(lines) == 2 * len(MECHANISMS)
    return table


def test_every_printed_number_of_the_examples_agrees_or_says_why() -> None:
    table = worked_example()
    differing = table[~table["agrees"] & table["printed"].notna()]
    assert (differing["note"] != "").all()
    # What differs is Example 2's B_s with what follows from it, one I under P*, and Example 5's expression.
    assert differing.groupby("example").size().to_dict() == {2: 12, 3: 1, 5: 2}
    assert set(differing[differing["example"] == 3]["quantity"]) == {"I_P* of PolyOpt"}
    assert table["agrees"].sum() > 150
    texts = example_texts(table)
    assert len(texts) == len(table)


def test_sweep_has_two_metrics_per_mechanism_and_what_nr_leaks(sweep: pd.DataFrame) -> None:
    assert len(sweep) == 2 * (2 * len(MECHANISMS) + 1)
    certified = sweep[sweep["status"] != MEASURED]
    assert (certified["value"] <= certified["upper_bound"]).all()
    assert (certified["privacy"] <= certified["epsilon"] + 1e-9).all()
    leaks = sweep[sweep["metric"] == "worst_case_epsilon"]
    assert (leaks["mechanism"] == "nr").all()
    assert (leaks["value"] > leaks["epsilon"]).all()  # NR is private under P-hat only


def test_closed_forms_carry_the_bound_of_nr(sweep: pd.DataFrame) -> None:
    at = sweep[(sweep["metric"] == "mutual_information") & (sweep["epsilon"] == 1.0)].set_index("mechanism")
    for mechanism in ("ir", "srr", "grr"):
        assert at.loc[mechanism, "upper_bound"] == at.loc["nr", "upper_bound"]
    assert at.loc["polyopt", "value"] <= at.loc["polyopt_distinct", "value"] <= at.loc["nr", "upper_bound"]


def test_gain_of_distinct_pairs(sweep: pd.DataFrame) -> None:
    gain = distinct_gain(sweep)
    assert len(gain) == sweep["epsilon"].nunique()
    assert (gain["at_least"] <= gain["gain"] + 1e-12).all()
    assert (gain["gain"] <= gain["at_most"] + 1e-12).all()
    assert (gain["gain"] >= -1e-9).all()
    assert gain["gain"].max() > 0.01
    assert (gain["privacy"] <= gain["epsilon"] + 1e-9).all()
    expected = gain["polyopt"] + gain["closed"] * (gain["nr"] - gain["polyopt"])
    np.testing.assert_allclose(expected, gain["polyopt_distinct"], rtol=1e-12)
    assert distinct_gain(sweep[sweep["mechanism"] != "polyopt_distinct"]).empty


def test_intractable_cases_are_rows_with_the_reason() -> None:
    table = adult_sweep(np.ones((2, 21)) * 50, [1.0], instance="big", mechanisms=["polyopt_distinct"])
    assert (table["status"] == SKIPPED).all()
    assert table["note"].str.contains("at most 20 are supported").all()
    assert table["value"].isna().all()


def test_a_failing_certificate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpfrontier.uncertainty.RenyiBall.projected_epsilon", lambda *_: 1.5)
    with pytest.raises(TableError, match=r"mechanism=srr.*privacy level 1\.5"):
        adult_sweep(COUNTS, [1.0], instance="test", mechanisms=["srr"])


def test_unknown_mechanism() -> None:
    with pytest.raises(ValueError, match="'rappor'; allowed are polyopt"):
        adult_sweep(COUNTS, [1.0], instance="test", mechanisms=["rappor"])


def test_orderings(sweep: pd.DataFrame) -> None:
    ranks = orderings(sweep)
    assert list(ranks["epsilon"]) == [0.2, 1.0]
    nmi = sweep[(sweep["metric"] == "nmi") & (sweep["epsilon"] == 1.0)].set_index("mechanism")["value"]
    assert ranks.loc[1, "order"].split(" > ") == list(nmi.sort_values(ascending=False).index)
    assert ranks.loc[1, "ir_above_srr"] == (nmi["ir"] > nmi["srr"])
    assert ranks["nr_leads"].all()
    # Without PolyOpt its statement is missing, not false.
    fewer = orderings(sweep[sweep["mechanism"] != "polyopt"])
    assert fewer["polyopt_leads"].isna().all()
    assert fewer["ir_above_srr"].notna().all()


def test_instance_name() -> None:
    assert instance_name("sex", "race", (2, 5)) == "sex, race (2 x 5)"
