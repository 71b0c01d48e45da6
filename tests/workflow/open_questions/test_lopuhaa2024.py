"""A secret that is not asked, the least information over F, and privacy within blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

from open_questions import plan
from open_questions.lopuhaa2024 import blocks, least, merges, unasked
from open_questions.summaries import BLOCKS, LEAST, UNASKED
from reproduction.results.tables import TableError
from support.adult import ROOT, adult_counts


def test_a_secret_that_is_not_asked() -> None:
    pairs = {name: pd.DataFrame(adult_counts("sex", name)) for name in ("race", "relationship")}
    table = unasked(
        sensitive="sex",
        useful=list(pairs),
        epsilons=[1.0],
        letters=5,
        cells=10,
        beta=0.05,
        order=2.0,
        **pairs,
    )
    UNASKED.conform(table)
    assert table["useful"].tolist() == ["race"]
    row = table.iloc[0]
    assert row["simplex"] / row["entropy"] == pytest.approx(0.939, abs=5e-4)
    assert row["local"] < row["simplex"] < row["exact"] <= row["exact_bound"]
    assert row["information"] <= row["known"]
    table.loc[0, "merged"] = 2.0 * row["known_bound"]
    with pytest.raises(TableError, match="above what a known distribution allows"):
        UNASKED.conform(table)


def test_merges_are_all_partitions() -> None:
    joint = np.array([[0.1, 0.2, 0.1, 0.1], [0.2, 0.1, 0.1, 0.1]])
    found = merges(joint)
    assert len(found) == 15
    assert found[0] == (pytest.approx(0.0), pytest.approx(0.0))
    assert max(value for value, level in found if level < 1e-9) == pytest.approx(
        -0.6 * np.log(0.6) - 0.4 * np.log(0.2)
    )


def test_the_least_information_is_no_less_than_that_of_polyopt() -> None:
    some = {"records": [100], "epsilons": [2.0], "seed": 1}
    drawn = least(shape=[2, 2], instances=1, names=[], **some)
    given = least(
        shape=None, instances=0, names=["example"], example=pd.DataFrame([[7, 10], [26, 57]]), **some
    )
    LEAST.conform(pd.concat([drawn, given]))
    row = given.iloc[0]
    assert (row["records"], row["value"]) == (100, pytest.approx(0.632372, rel=1e-4))
    assert row["published"] == pytest.approx(0.597738, rel=1e-4)
    assert drawn["value"].iloc[0] >= drawn["published"].iloc[0] * (1 - 2e-4)


def test_blocks_have_a_closed_form() -> None:
    """The block is told, and the best mechanism of each follows."""
    table = blocks(sizes=[2, 3], instances=2, epsilons=[0.5, 2.0], seed=1)
    BLOCKS.conform(table)
    assert table["value"].to_numpy() == pytest.approx(table["optimum"].to_numpy(), rel=1e-7)
    assert (table["local"] < table["value"]).all()


def test_parts_read_the_tables_of_the_pairs() -> None:
    configuration = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    parts = plan.unasked(configuration)
    assert len(parts) == len(configuration["open_questions"]["unasked"]["attributes"])
    assert parts["sex"]["sex_race"].useful == "race"
    assert set(plan.least(configuration)) == {"2-2", "2-3", "adult"}
