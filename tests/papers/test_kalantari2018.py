"""The experiments and figures of kalantari2018."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.hamming.distortion import SourceSet
from ldpfrontier.papers.kalantari2018 import figures
from ldpfrontier.papers.kalantari2018.experiments import (
    CYCLE,
    DP,
    MI,
    WIDE,
    checks,
    curves,
    draw,
    instance_name,
    printed_tables,
    random_checks,
    read_sources,
    split_instance,
    tradeoff,
)
from ldpfrontier.plotting import save

RESOURCE = Path(__file__).parents[1] / "resources" / "kalantari2018.yaml"
GRID = [0.005, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.89]


@pytest.fixture(scope="module")
def sources() -> dict[str, SourceSet]:
    return read_sources(RESOURCE)


@pytest.fixture(scope="module")
def table(sources: dict[str, SourceSet]) -> pd.DataFrame:
    return tradeoff(sources, GRID, experiment="tradeoff")


@pytest.fixture(scope="module")
def bounds() -> pd.DataFrame:
    sets = {"wide": SourceSet(np.array(WIDE)), "cycle": SourceSet(np.array(CYCLE))}
    return tradeoff(sets, np.arange(0.3, 0.7, 0.05), experiment="bounds", measures=[DP])


@pytest.fixture(scope="module")
def random() -> pd.DataFrame:
    return random_checks(range(200), seed=20240501)


def found(table: pd.DataFrame, metric: str) -> pd.Series[float]:
    return table[table["metric"] == metric].set_index("instance")["value"]


def test_sets_have_the_classes_of_the_paper(sources: dict[str, SourceSet]) -> None:
    assert len(sources) == 10
    for name, members in sources.items():
        assert members.kind == name.split()[1]
        assert members.letters == int(name.split()[0][1:])


def test_printed_tables_are_the_swaps_of_the_text() -> None:
    table = printed_tables(RESOURCE)
    assert table["agrees"].all()
    assert table.groupby("example").size().to_dict() == {1: 6, 2: 20, 3: 18, 4: 60}


def test_every_row_is_certified(table: pd.DataFrame) -> None:
    optimal = table[table["mechanism"] == "optimal"]
    assert (optimal["upper_bound"] - optimal["value"]).max() <= 1e-9
    assert len(optimal) == 2 * 10 * len(GRID)
    dp = optimal[optimal["metric"] == DP]
    assert (dp["privacy"] - dp["upper_bound"]).abs().max() <= 1e-9


def test_instances_keep_the_distortion() -> None:
    assert split_instance(instance_name("P6 III a", 0.123456)) == ("P6 III a", 0.123456)
    with pytest.raises(ValueError, match="allowed are dp_leakage, mi_leakage"):
        tradeoff({}, [0.1], experiment="x", measures=["dp"])


def test_statements_on_the_sets_of_the_paper(
    table: pd.DataFrame, bounds: pd.DataFrame, sources: dict[str, SourceSet]
) -> None:
    result = checks(pd.concat([table, bounds]), sources)
    for metric in ("Ka-T1", "Ka-T2", "Ka-L5", "Ka-L6 zero", "Ka-F6 equal", "Ka-F7 equal"):
        assert found(result, metric).abs().max() <= 1e-6, metric
    width = found(result, "Ka-T3 width")
    assert width["bounds wide"] > 0.3
    assert width.drop("bounds wide").max() <= 1e-6
    lower = found(result, "Ka-T3 lower")
    assert lower["bounds cycle"] > 0.2
    assert lower.drop("bounds cycle").max() <= 1e-6
    assert found(result, "Ka-T3 upper").min() >= -1e-6
    for figure in ("Ka-F4", "Ka-F5"):
        assert found(result, f"{figure} order").min() >= -1e-9
        assert found(result, f"{figure} gain").min() > 0.2
        assert found(result, f"{figure} same").min() >= 0.1
    for figure in ("Ka-F6", "Ka-F7"):
        assert found(result, f"{figure} mi convex").min() >= -1e-6
        assert found(result, f"{figure} dp convex").min() < 0.0
        assert found(result, f"{figure} gap").min() > 0.0
    assert found(result, "Ka-L6 positive").min() > 0.0
    assert found(result, "Ka-T2 printed").min() > 0.3


def test_theorems_on_200_random_sets_of_each_family(random: pd.DataFrame) -> None:
    result = checks(random, {})
    assert found(result, "Ka-T1").max() <= 1e-6
    assert found(result, "Ka-T2").max() <= 1e-6
    lower, upper = found(result, "Ka-T3 lower"), found(result, "Ka-T3 upper")
    assert upper.min() >= -1e-6
    assert max(lower["random copies"], lower["random group"]) <= 1e-6
    assert found(result, "Ka-T3 width")["random copies"] <= 1e-6
    # Without a group the lower bound of the paper is not one.
    assert lower["random permuted"] > 0.5


def test_random_sets_are_reproducible_and_of_their_class() -> None:
    for family, kinds in {"I": {"I"}, "II": {"II"}, "group": {"III"}}.items():
        drawn = [draw(family, i, seed=3) for i in range(20)]
        assert {s.kind for s, _ in drawn} <= kinds | {"I"}
        again = draw(family, 7, seed=3)
        np.testing.assert_array_equal(again[0].distributions, drawn[7][0].distributions)
    with pytest.raises(ValueError, match="allowed are I, II"):
        draw("IV", 0, seed=1)


@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7"])
def test_figures(name: str, table: pd.DataFrame, tmp_path: Path) -> None:
    save(getattr(figures, name)(table), tmp_path / "figure.png", dpi=50)
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_figure_of_bounds(bounds: pd.DataFrame, tmp_path: Path) -> None:
    save(figures.bounds(bounds), tmp_path / "figure.png", dpi=50)
    assert set(curves(bounds)["sources"]) == {"wide", "cycle"}
    assert MI not in set(bounds["metric"])
