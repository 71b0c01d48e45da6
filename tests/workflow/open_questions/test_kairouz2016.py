"""Approximate privacy at random instances."""

from __future__ import annotations

import pytest

from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.ldp import optimal_ldp
from open_questions.kairouz2016 import approximate, approximate_grid, approximate_search
from open_questions.summaries import APPROXIMATE
from reproduction.results.tables import TableError

UTILITIES = ("mutual information", "kl", "tv", "chi2")


def test_the_mixture_is_optimal_for_total_variation_and_not_always_otherwise() -> None:
    table = approximate(letters=3, instances=12, utilities=UTILITIES, seed=1)
    APPROXIMATE.conform(table)
    assert len(table) == 4 * 12
    loss = 1.0 - table["mixture"] / table["value"]
    assert loss[table["utility"] == "tv"].abs().max() < 1e-9
    assert 1e-5 < loss.max() < 0.05
    assert loss.min() > -1e-9
    assert (table["value"] <= table["bound"] * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("column", ["value", "mixture"])
def test_what_is_above_the_bound_is_refused(column: str) -> None:
    table = approximate(letters=2, instances=1, utilities=UTILITIES, seed=1)
    table.loc[0, column] = 1.001 * table.loc[0, "bound"]
    with pytest.raises(TableError, match=f"has a {column}"):
        APPROXIMATE.conform(table)


def test_two_letters_and_delta_0_lose_nothing() -> None:
    """The quaternary mechanism of Theorem 18 is the mixture, at the instances of the paper, too."""
    effort = {"instances": 2, "epsilons": [0.5, 2.0], "utilities": UTILITIES, "seed": 1}
    for letters, deltas in ((2, [0.0, 0.2]), (3, [0.0])):
        table = approximate_grid(letters=letters, deltas=deltas, **effort)
        assert len(table) == 2 * 2 * len(deltas) * 4
        assert (1.0 - table["mixture"] / table["value"]).abs().max() < 1e-9


def test_a_search_loses_no_less_than_where_it_began() -> None:
    random = approximate(letters=3, instances=12, utilities=["kl"], seed=1)
    table = approximate_search(random, starts=2, steps=20, seed=1)
    began = random.set_index("instance").loc[table["instance"]]
    before = (1.0 - began["mixture"] / began["value"]).to_numpy()
    after = (1.0 - table["mixture"] / table["value"]).to_numpy()
    assert before[0] == (1.0 - random["mixture"] / random["value"]).max()
    assert (after >= before).all()
    assert after[0] > before[0]
    p, q = ([float(x) for x in table.loc[0, name].split()] for name in ("p", "q"))
    of = FDivergence(p, q, kind="kl")
    epsilon, delta = table.loc[0, "epsilon"], table.loc[0, "delta"]
    assert optimal_ldp(of, epsilon, delta).value == pytest.approx(table.loc[0, "value"], rel=1e-12)
