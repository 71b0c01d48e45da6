"""Approximate privacy at random instances."""

from __future__ import annotations

import pytest

from open_questions.kairouz2016 import approximate
from open_questions.summaries import APPROXIMATE
from reproduction.results.tables import TableError


def test_the_mixture_is_optimal_for_total_variation_and_not_always_otherwise() -> None:
    table = approximate(letters=3, instances=12, seed=1)
    APPROXIMATE.conform(table)
    assert len(table) == 4 * 12
    loss = 1.0 - table["mixture"] / table["value"]
    assert loss[table["utility"] == "tv"].abs().max() < 1e-9
    assert 1e-5 < loss.max() < 0.05
    assert loss.min() > -1e-9
    assert (table["value"] <= table["bound"] * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("column", ["value", "mixture"])
def test_what_is_above_the_bound_is_refused(column: str) -> None:
    table = approximate(letters=2, instances=1, seed=1)
    table.loc[0, column] = 1.001 * table.loc[0, "bound"]
    with pytest.raises(TableError, match=f"has a {column}"):
        APPROXIMATE.conform(table)
