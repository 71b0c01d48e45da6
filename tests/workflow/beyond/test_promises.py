"""Six promises side by side: whom they protect, what they cost, and what their optima tell acquaintances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from beyond import promises as study
from beyond import promises_figures
from beyond.attackers import PROMISES_KEPT, promises_kept
from beyond.catalogue import PROMISES
from beyond.measured import acquaintance_level, odds_of
from beyond.promises import one_of_two_epsilon, promises
from ldpfrontier import Channel, OddsRatios, RenyiBall, association_epsilon, optimal_association, rldp_epsilon
from ldpfrontier.base.types import Intractable
from ldpfrontier.model.information import entropy
from reproduction.figure_style import save
from reproduction.results.tables import SKIPPED, TableError, select

COUNTS = np.array([[90, 30, 4], [3, 20, 70]])
EPSILONS = [0.5, 1.5]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return promises(COUNTS, EPSILONS, instance="a, b", max_nodes=20_000)


@pytest.fixture(scope="module")
def kept(rows) -> pd.DataFrame:
    return promises_kept(rows)


def test_the_optima_against_acquaintances_are_those_of_the_library(kept):
    prior = COUNTS / COUNTS.sum()
    for promise, odds in (
        ("known", OddsRatios.known(prior)),
        ("intervals", OddsRatios.confidence(COUNTS)),
        ("set", OddsRatios.over(RenyiBall.confidence(COUNTS))),
    ):
        best = optimal_association(odds, 1.5)
        row = select(kept, promise=promise, epsilon=1.5).iloc[0]
        assert row["nmi"] == pytest.approx(best.value / entropy(prior), rel=2e-3)
        assert row["nmi"] <= row["bound"] <= row["nmi"] * 1.002


def test_two_levels_leave_a_hole_and_the_promise_to_acquaintances_closes_it(kept):
    assert set(kept["promise"]) == set(PROMISES)
    insiders = select(kept, promise="insiders")
    assert (insiders["given_useful"] <= insiders["epsilon"] + 1e-9).all()
    # Somebody who knows that U is one of two learns more than the level, and others still more.
    assert (insiders["one_of_two"] > insiders["epsilon"] + 0.5).all()
    assert (insiders["about_useful_known"] >= insiders["one_of_two"] - 1e-9).all()
    assert (insiders["about_useful"] > insiders["about_useful_known"]).all()
    for promise, level in (
        ("known", "about_useful_known"),
        ("intervals", "about_useful"),
        ("set", "about_useful_set"),
    ):
        closed = select(kept, promise=promise)
        assert (closed[level] <= closed["epsilon"] + 1e-9).all()
        assert (closed["one_of_two"] <= closed["epsilon"] + 1e-9).all()
    wide = kept.pivot_table("nmi", "epsilon", "promise")
    for between in ("intervals", "set"):
        for weaker, stronger in itertools.pairwise(["outsiders", "insiders", "known", between, "anyone"]):
            assert (wide[weaker] >= wide[stronger] - 1e-3).all()
        assert (wide[between] > 1.1 * wide["anyone"]).all()


def test_the_promise_for_all_odds_ratios_of_f_implies_the_guarantee_over_f(kept):
    for promise in ("outsiders", "insiders", "set", "anyone"):
        rows = select(kept, promise=promise)
        assert (rows["over_set"] <= rows["epsilon"] + 1e-6).all()
    of_both = select(kept, promise="insiders").set_index("epsilon")["nmi"]
    rows = select(kept, promise="set").set_index("epsilon")
    assert rows["kept"].to_dict() == pytest.approx((rows["nmi"] / of_both).to_dict())


def test_one_of_two_is_the_worst_pair_and_at_most_the_level_for_acquaintances():
    rng = np.random.default_rng(1)
    channel = Channel(rng.dirichlet(np.ones(4), size=6))
    prior = rng.dirichlet(np.ones(6)).reshape(2, 3)
    pairs = []
    for pair in ([0, 1], [0, 2], [1, 2]):
        known = np.zeros((2, 3))
        known[:, pair] = prior[:, pair]
        pairs.append(float(rldp_epsilon(channel, known / known.sum(axis=1, keepdims=True))))
    found = one_of_two_epsilon(channel, prior)
    assert found == pytest.approx(max(pairs))
    assert found <= association_epsilon(channel, OddsRatios.known(prior)) + 1e-12
    assert one_of_two_epsilon(
        Channel([[0.75, 0.25], [0.25, 0.75]]), np.array([[0.5], [0.5]])
    ) == pytest.approx(math.log(3))
    # Where one sensitive value has neither of two useful ones, there is nothing to compare.
    assert one_of_two_epsilon(Channel(np.eye(4)), np.array([[0.5, 0.0], [0.0, 0.5]])) == math.inf
    assert one_of_two_epsilon(Channel(np.eye(4)), np.array([[0.5, 0.5], [0.0, 0.0]])) == 0.0


def test_tables_out_of_reach_are_skipped_with_the_reason(monkeypatch):
    """The limit is that of the library: where it is raised, nothing here has to change."""

    def refused(*arguments, **options):
        raise Intractable("The table has 2 x 3 cells; at most 5 are supported.")

    monkeypatch.setattr(study, "optimal_association", refused)
    table = promises(COUNTS, [1.0], instance="a, b")
    skipped = select(table, status=SKIPPED)
    assert set(skipped["mechanism"]) == {"association_known", "association", "association_set"}
    assert skipped["note"].str.contains("2 x 3 cells; at most 5 are supported").all()
    found = promises_kept(table)
    assert set(found["promise"]) == {"outsiders", "insiders", "anyone"}
    figure = promises_figures.promises(found)
    assert len(figure.axes) == 2


@pytest.mark.parametrize(
    ("promise", "changed", "words"),
    [
        ("known", {"nmi": 1.0}, "above its bound"),
        ("intervals", {"about_useful": 9.0}, "above that of its promise"),
        ("set", {"over_set": 9.0}, "above that for acquaintances of all of it"),
        ("anyone", {"nmi": 0.9, "bound": 0.95}, "above that of a weaker promise"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(kept, promise, changed, words):
    damaged = kept.copy()
    damaged.loc[damaged["promise"] == promise, [*changed]] = [*changed.values()]
    with pytest.raises(TableError, match=words):
        PROMISES_KEPT.conform(damaged)


def test_figure_of_promises_shows_the_table(kept, tmp_path):
    figure = promises_figures.promises(kept)
    information, leakage = figure.axes
    for promise in PROMISES:
        curve = select(kept, promise=promise)
        assert any(np.array_equal(line.get_ydata(), curve["nmi"]) for line in information.lines)
        told = np.minimum(curve["one_of_two"], leakage.get_ylim()[1])
        assert any(np.array_equal(line.get_ydata(), told) for line in leakage.lines)
    assert leakage.get_yticklabels()[-1].get_text() == "2.4 or more"
    save(figure, tmp_path / "promises.png")


def test_the_level_for_acquaintances_is_that_of_the_library():
    rng = np.random.default_rng(2)
    channel = Channel(rng.dirichlet(np.ones(4), size=6))
    for odds in odds_of(COUNTS, 0.05).values():
        assert acquaintance_level(channel, odds) == association_epsilon(channel, odds)
    reveals = Channel(np.repeat(np.eye(2), 3, axis=0))
    assert acquaintance_level(reveals, odds_of(COUNTS, 0.05)["association_epsilon"]) == math.inf
