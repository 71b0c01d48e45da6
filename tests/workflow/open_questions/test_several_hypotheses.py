"""The tables of several hypotheses, robust tests and two people, at few instances."""

from __future__ import annotations

import pandas as pd
import pytest

from open_questions import figures
from open_questions.several_hypotheses import distributed, hypotheses, robust
from open_questions.summaries import DISTRIBUTED, HYPOTHESES, ROBUST
from reproduction.results.tables import Schema, TableError, select


def test_the_least_pair_bounds_the_least_of_all() -> None:
    table = hypotheses(letters=None, count=3, instances=1, epsilons=[1.0], seed=1)
    HYPOTHESES.conform(table)
    assert (table["value"] <= table["single"] * (1.0 + 1e-9)).all()
    two = table[table["letters"] == 2]  # one mechanism dominates all
    for column in ("average", "response", "single"):
        assert two[column].to_numpy() == pytest.approx(two["value"].to_numpy(), rel=1e-9)
    drawn = hypotheses(letters=3, count=3, instances=3, epsilons=[1.0], seed=1)
    assert (drawn["average"] < 0.9 * drawn["value"]).any()


def test_the_mechanism_of_the_centres_is_best_for_total_variation_alone() -> None:
    arguments = {"letters": 3, "instances": 1, "radii": [0.05], "epsilons": [1.0, 3.0], "seed": 1}
    table = robust(members="total variation", **arguments)
    ROBUST.conform(table)
    share = table["centres"] / table["value"]
    assert share[table["kind"] == "tv"].to_numpy() == pytest.approx(1.0, abs=1e-4)
    named = select(table, instance="named", kind="kl", epsilon=3.0)
    assert (named["centres"] / named["value"]).item() == pytest.approx(0.025616 / 0.027795, abs=1e-3)


def test_two_people_do_better_together() -> None:
    table = distributed(letters=3, alike=None, instances=4, epsilons=[2.0], seed=1)
    DISTRIBUTED.conform(table)
    assert table["alone"].min() < 0.99 * table["value"].max()
    independence = distributed(letters=3, alike=0.6, instances=1, epsilons=[0.5, 2.0], seed=1)
    assert independence["response"].iloc[0] < 0.9 * independence["value"].iloc[0]
    figure = figures.distributed(pd.concat([table, independence]))
    assert len(figure.axes) == 2


@pytest.mark.parametrize(
    ("schema", "column"), [(HYPOTHESES, "average"), (ROBUST, "centres"), (DISTRIBUTED, "alone")]
)
def test_what_is_above_the_bound_is_refused(schema: Schema, column: str) -> None:
    if schema is HYPOTHESES:
        table = hypotheses(letters=2, count=2, instances=1, epsilons=[1.0], seed=1)
    elif schema is ROBUST:
        table = robust(members="chi-squared", letters=2, instances=0, radii=[0.001], epsilons=[1.0], seed=1)
    else:
        table = distributed(letters=2, alike=None, instances=1, epsilons=[1.0], seed=1)
    table.loc[0, column] = 1.001 * table.loc[0, "bound"]
    with pytest.raises(TableError, match=f"has a {column}"):
        schema.conform(table)
