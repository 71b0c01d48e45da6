"""Tables, figures, statements and claims of kalantari2018."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from papers.kalantari2018 import figures, plan
from papers.kalantari2018.experiments import DP, MI, printed_sets, random_sets, tradeoff
from papers.kalantari2018.source_sets import source_sets
from papers.kalantari2018.summaries import (
    LOWER,
    LOWER_NO_GROUP,
    ORDERED,
    UPPER,
    WIDTH,
    checks,
)
from reproduction.figure_style import save
from reproduction.ledger.claims import NOT_REPRODUCED, REPRODUCED, claims_of, decide
from reproduction.planning.paper import papers
from reproduction.results.tables import select

ROOT = Path(__file__).parents[4]
CONFIGURATION = yaml.safe_load((ROOT / "config/config.yaml").read_text())
PAPER = papers()["kalantari2018"]
LEDGER = {claim.id: claim for claim in claims_of(PAPER)}
LIMITS: dict[str, Any] = dict(PAPER.tables["checks"].arguments)
GRID = [0.005, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.89]
SOURCES = {
    size: part["sources"] for size, part in PAPER.tables["tradeoff"].part_arguments(CONFIGURATION).items()
}
BOUNDS = PAPER.tables["bounds"].resolve(CONFIGURATION)
NONE = tradeoff({}, [])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.concat(tradeoff(sources, GRID) for sources in SOURCES.values())


@pytest.fixture(scope="module")
def bounds() -> pd.DataFrame:
    return tradeoff(**BOUNDS | {"distortions": list(np.arange(0.3, 0.7, 0.05))})


@pytest.fixture(scope="module")
def random(long: bool) -> pd.DataFrame:
    return random_sets(source_sets(seed=20240501, instances=200 if long else 50))


@pytest.fixture(scope="module")
def statements(table: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    return checks(table, bounds, NONE, **LIMITS)


def measured(table: pd.DataFrame, **values: Any) -> pd.Series[float]:
    rows = select(table, **values)
    assert len(rows), values
    return rows.set_index("instance")["measured"]


def test_printed_tables_are_the_swaps_of_the_text() -> None:
    groups = plan.printed(CONFIGURATION)["groups"]
    table = printed_sets(groups)
    assert table["agrees"].all()
    sizes = {"Table I": 6, "Table II": 20, "Table III": 18, "Table IV": 60}
    assert table.groupby("where").size().to_dict() == sizes
    wrong = copy.deepcopy(groups)
    wrong["6"]["b"][0][2] = 0.71
    (row,) = printed_sets(wrong).query("not agrees").to_dict("records")
    assert (row["quantity"], row["note"]) == ("III b, row 1: P3", "not the swap that the text gives")


def test_every_row_is_certified(table: pd.DataFrame) -> None:
    optimal = select(table, mechanism="optimal")
    assert optimal["certified"].all()
    assert set(optimal["direction"]) == {"min"}
    assert (optimal["value"] - optimal["bound"]).max() <= 1e-9
    assert len(optimal) == 2 * 10 * len(GRID)
    dp = select(optimal, metric=DP)
    assert (dp["privacy"] - dp["value"]).abs().max() <= 1e-9


def test_theorems_on_random_sets_of_each_family(random: pd.DataFrame) -> None:
    result = checks(NONE, NONE, random, **LIMITS)
    assert measured(result, claim="Ka-T1").max() <= 1e-6
    assert measured(result, quantity=ORDERED).max() <= 1e-6
    assert measured(result, quantity=UPPER).min() >= -1e-6
    lower = measured(result, quantity=LOWER)
    assert set(lower.index) == {"random copies", "random group"}
    assert lower.max() <= 1e-6
    assert measured(result, quantity=WIDTH)["random copies"] <= 1e-6
    # Without a group the lower bound of the paper is not one.
    worst = select(result, quantity=LOWER_NO_GROUP).iloc[0]
    assert worst["instance"] == "random permuted"
    assert worst["measured"] > 0.5
    # The place of the extreme is a row of the table.
    letters = worst["note"].split()[-2]
    number = worst["note"].split()[2]
    place = select(random, experiment="random permuted", size=letters, instance=number)
    assert set(place["distortion"]) == {worst["at"]}


def test_verdicts(statements: pd.DataFrame) -> None:
    verdicts = {name: decide(claim, {"checks": statements}) for name, claim in LEDGER.items()}
    other = {"Ka-T2": NOT_REPRODUCED, "Ka-T3": NOT_REPRODUCED}
    assert {name: found.verdict for name, found in verdicts.items()} == dict.fromkeys(
        LEDGER, REPRODUCED
    ) | other
    assert "(cycle, M = 3)" in verdicts["Ka-T3"].explanation


def test_plan() -> None:
    jobs = PAPER.tables["tradeoff"].part_arguments(CONFIGURATION)
    assert len(jobs["6"]["distortions"]) == 179
    # The leakage of the Class II sets jumps there.
    assert {0.3, 0.7} <= set(jobs["6"]["distortions"])
    assert list(BOUNDS["sources"]) == ["wide", "cycle"]


@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7"])
def test_figures(name: str, table: pd.DataFrame, tmp_path: Path) -> None:
    call = PAPER.figures[name]
    function = getattr(figures, call.function.partition(":")[2])
    save(function(table, **call.arguments), tmp_path / "figure.png", dpi=50)
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_figure_of_bounds(bounds: pd.DataFrame, tmp_path: Path) -> None:
    save(figures.bounds(bounds), tmp_path / "figure.png", dpi=50)
    assert set(bounds["instance"]) == {"wide", "cycle"}
    assert MI not in set(bounds["metric"])


def test_jumps_are_drawn_as_jumps() -> None:
    """From the left the curve goes on to its limit; what bends to 0 is left alone."""
    at = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    x, y, jump = figures._cut_at_jump(pd.Series([3.0, 2.5, 2.0, 0.0, 0.0], index=at))
    assert jump == pytest.approx((0.4, 1.5))
    np.testing.assert_allclose(x, [0.1, 0.2, 0.3, 0.4, np.nan, 0.4, 0.5])
    np.testing.assert_allclose(y, [3.0, 2.5, 2.0, 1.5, np.nan, 0.0, 0.0])
    for values in (
        [1.0, 0.6, 0.25, 0.0, 0.0],
        [1.0, 0.9, 0.8, 0.7, 0.6],
        [0.0] * 5,
        [1.0, 0.0, 0.0, 0.0, 0.0],
    ):
        x, y, jump = figures._cut_at_jump(pd.Series(values, index=at))
        assert jump is None
        np.testing.assert_array_equal(y, values)
