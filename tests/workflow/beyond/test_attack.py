"""What attackers believe before and after one report."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from beyond import promises_figures
from beyond.attack import attack, knowledge, odds_after_reports
from beyond.attack_tables import ATTACK, ONE_OF_TWO, PROXY, USEFUL
from beyond.attackers import attacked
from beyond.catalogue import PROMISES
from beyond.several_tables import INSIDERS
from ldpfrontier import Channel, RenyiBall, optimal_robust
from ldpfrontier.model.privacy import rldp_epsilon
from reproduction.figure_style import save
from reproduction.results.tables import TableError, select

COUNTS = pd.DataFrame([[90, 30, 4], [3, 20, 70]], index=["low", "high"], columns=["p", "q", "r"])
PROXIES = pd.DataFrame([[60, 0], [10, 30], [5, 15]], index=["r", "q", "p"], columns=["m", "w"])
GIVEN = {"instance": "s, u", "names": ["u", "a"], "value": "high", "epsilon": 0.8}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return attack(COUNTS, PROXIES, **GIVEN)


def test_knowledge_weighs_the_values_of_u():
    found = {
        words: (kind, weights.tolist()) for kind, words, weights in knowledge([*"pqr"], PROXIES, ["u", "a"])
    }
    assert found["nothing"][1] == [1, 1, 1]
    assert found["u is p or r"] == (ONE_OF_TWO, [1, 0, 1])
    assert found["a is w"] == (PROXY, [0.75, 0.75, 0.0])
    assert found["u is q"] == (USEFUL, [0, 1, 0])
    assert len(found) == 1 + 3 + 2 + 3


def test_the_chance_after_a_report_is_that_of_bayes_theorem_for_every_person():
    rng = np.random.default_rng(3)
    channel, known = Channel(rng.dirichlet(np.ones(4), size=6)), rng.uniform(size=(3, 2))
    known[1, 0] = 0.0
    found = odds_after_reports(channel, known, row=2).set_index("report")
    for y in range(4):
        people = {(s, u): known[s, u] * channel.matrix[2 * s + u, y] for s in range(3) for u in range(2)}
        right = people[2, 0] + people[2, 1]
        assert found.loc[y, "after"] == pytest.approx(right / sum(people.values()))
        assert found.loc[y, "probability"] == pytest.approx(sum(people.values()) / known.sum())
        before = known[2].sum() / (known[0].sum() + known[1].sum())
        assert math.exp(found.loc[y, "change"]) * before == pytest.approx(
            right / (sum(people.values()) - right)
        )


def test_reports_that_decide_the_value_and_reports_that_are_never_given():
    found = odds_after_reports(Channel([[1, 0, 0], [0, 1, 0]]), np.array([[0.3], [0.7]]), row=1)
    assert found["report"].tolist() == [0, 1]
    assert found["change"].tolist() == [-math.inf, math.inf]
    assert found["after"].tolist() == [0.0, 1.0]


def test_the_largest_change_is_the_level_for_such_attackers(table):
    """Of two sensitive values, for which the level is that of the library."""
    ball = RenyiBall.confidence(COUNTS.to_numpy())
    channel = optimal_robust(ball, 0.8, tolerance=1e-3).channel
    summary = select(attacked(table), mechanism="polyopt").set_index("knowledge")
    weights = {words: weights for _, words, weights in knowledge([*"pqr"], PROXIES, ["u", "a"])}
    assert set(summary.index) == set(weights)
    for words, row in summary.iterrows():
        known = ball.centre * weights[words]
        level = rldp_epsilon(channel, known / known.sum(axis=1, keepdims=True))
        assert row["change"] == pytest.approx(level, rel=1e-6)
        assert row["people"] == pytest.approx(known.sum())
        assert row["before"] == pytest.approx(known[1].sum() / known.sum())


def test_the_summary_counts_the_reports_beyond_the_level(table):
    summary = attacked(table)
    for row in summary.to_dict("records"):
        reports = select(table, mechanism=row["mechanism"], knowledge=row["knowledge"])
        shown = reports[reports["change"].abs() > 0.8001]
        assert row["beyond"] == pytest.approx(shown["probability"].sum())
        assert (row["least"], row["most"]) == (reports["after"].min(), reports["after"].max())
    assert (select(summary, mechanism=INSIDERS, knows=ONE_OF_TWO)["beyond"] > 0).any()
    assert (select(summary, mechanism=PROMISES["set"].name)["beyond"] == 0).all()


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("after", lambda x: 0.9 * x, "whose mean is not that before"),
        ("probability", lambda x: x + 1.0, "which is no chance"),
        ("change", lambda x: x + 1.7, "from whom the mechanism protects"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(table, column, change, words):
    with pytest.raises(TableError, match=words):
        ATTACK.conform(table.assign(**{column: change(table[column])}))


def test_the_figure_shows_every_report_and_the_share_beyond_the_level(table, tmp_path):
    summary = attacked(table)
    figure = promises_figures.attack(table, summary)
    assert len(figure.axes) == 4
    for ax in figure.axes:
        known = ax.get_title(loc="left")[4:].replace("knows nothing", "nothing")
        for place, (name, circles) in enumerate(zip(promises_figures._REPORTED, ax.collections, strict=True)):
            reports = select(table, knowledge=known, mechanism=name)
            reports = reports[reports["probability"] >= 1e-3]
            np.testing.assert_array_equal(circles.get_offsets()[:, 0], reports["after"])
            share = select(summary, knowledge=known, mechanism=name)["beyond"].iloc[0]
            assert ax.texts[place].get_text() == f"{share:.0%}"
    save(figure, tmp_path / "attack.png")
