"""Distributions over many pairs of attributes: of the gain over PolyOpt, and of what promises cost."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from beyond import many_pairs, many_pairs_figures, plan
from beyond.attackers import PROMISES_KEPT
from beyond.people import PEOPLE
from beyond.summaries import CALIBRATED
from reproduction.figure_style import save
from reproduction.planning.paper import papers
from reproduction.results.tables import TableError

ROOT = Path(__file__).parents[3]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
LONG = yaml.safe_load((ROOT / "config/long.yaml").read_text(encoding="utf-8"))
PLACE = {"beta": 0.05, "order": 2.0, "epsilon": 1.0}
#: Gains by pair and size, the last of which is large; the third has no PolyOpt.
GAINS = {
    ("sex, race", "2 x 5"): 1.6,
    ("a, b", "2 x 8"): 1.0,
    ("b, c", "2 x 3"): math.nan,
    ("c, d", "4 x 4"): 1.2,
    ("d, e", "5 x 4"): 3.0,
}


@pytest.fixture(scope="module")
def calibrated() -> pd.DataFrame:
    rows = []
    for (instance, size), gain in GAINS.items():
        row = {**PLACE, "instance": instance, "size": size, "nmi": 0.1, "realized": 0.9, "level": 1.1}
        row |= {"realized_calibrated": 1.0, "exact": 0.6, "bound": 0.6 if size != "5 x 4" else 0.8}
        missing = {"level": math.nan, "nmi_calibrated": math.nan, "realized_calibrated": math.nan}
        rows.append({**row, "mechanism": "exact", **missing})
        if gain == gain:
            rows.append({**row, "mechanism": "polyopt", "nmi_calibrated": 0.6 / gain})
    return CALIBRATED.table(rows)


@pytest.fixture(scope="module")
def kept() -> pd.DataFrame:
    shares = {"outsiders": 1.25, "insiders": 1.0, "intervals": 0.5, "set": 0.45, "anyone": 0.2}
    levels = dict.fromkeys(
        ["over_set", "given_useful", "about_useful_known", "about_useful", "about_useful_set", "one_of_two"],
        0.5,
    )
    rows = [
        {
            **levels,
            **PLACE,
            "instance": instance,
            "size": size,
            "promise": promise,
            "nmi": 0.4 * share,
            "bound": 0.4 * share,
            "kept": share,
        }
        for instance, size in [*GAINS][:2]
        for promise, share in shares.items()
    ]
    return PROMISES_KEPT.table(rows)


# Numbers


def test_the_gain_is_over_the_pairs_that_have_one(calibrated):
    found = many_pairs.gain(calibrated, small=16).set_index(["quantity", "tables"])
    assert set(found["name"]) == {"polyopt"}
    small = found.loc[("gain", "small")]
    assert small["pairs"] == 3
    # Of 1, 1.2 and 1.6: each quartile is half way between two of them.
    expected = [1.0, 1.1, 1.2, 1.4, 1.6]
    np.testing.assert_allclose(small[["least", "lower", "median", "upper", "most"]].astype(float), expected)
    everything = found.loc[("gain", "all")]
    assert everything["pairs"] == 4
    np.testing.assert_allclose(everything[["median", "most"]].astype(float), [1.4, 3.0])
    # The bound is that of the optimum, a third above it on the large table.
    assert found.loc[("bound of the gain", "small"), "most"] == small["most"]
    assert found.loc[("bound of the gain", "all"), "most"] == pytest.approx(4.0)


def test_without_large_tables_there_is_one_distribution(calibrated):
    found = many_pairs.gain(calibrated, small=20)
    assert set(found["tables"]) == {"small"}
    assert set(found["pairs"]) == {4}


def test_shares_of_information_are_by_promise(kept):
    kept = kept.assign(kept=kept["kept"].where(kept["instance"] != "a, b", kept["kept"] / 2.0))
    found = many_pairs.information(kept, small=16).set_index("name")
    assert set(found["pairs"]) == {2}
    assert found.loc["set", ["least", "median", "most"]].tolist() == pytest.approx([0.225, 0.3375, 0.45])


def test_people_are_counted_and_compared_with_those_for_outsiders():
    people = {"least_error_set": (400.0, 1000.0), "least_error_anyone": (1200.0, 2000.0), "srr": (9.0, 9.0)}
    rows = [
        {
            **PLACE,
            "size": "2 x 2",
            "instance": instance,
            "mechanism": mechanism,
            "conditional_epsilon": k,
            "target": target,
            "determined": True,
            "error": number,
            "bound": number if mechanism != "srr" else math.nan,
            "people": number * (1.0 if target == "cells" and k > 9 else 7.0),
        }
        for mechanism, numbers in people.items()
        for instance, number in zip(("a, b", "b, a"), numbers, strict=True)
        for target in ("cells", "sensitive")
        for k in (1.0, math.inf)
    ]
    found = many_pairs.people(PEOPLE.cast(pd.DataFrame(rows)), small=16).set_index(["quantity", "name"])
    assert {name for _, name in found.index} == {"set", "anyone"}
    assert found.loc[("people", "set"), ["least", "most"]].tolist() == [400.0, 1000.0]
    assert found.loc[("times the people", "anyone"), ["least", "median", "most"]].tolist() == [2.0, 2.5, 3.0]


def test_a_median_outside_the_quartiles_is_refused(calibrated):
    wrong = many_pairs.gain(calibrated, small=16).assign(median=1.5)
    with pytest.raises(TableError, match=r"has median 1\.5 above upper 1\.4"):
        many_pairs.DISTRIBUTION.conform(wrong)


# Pages


def test_every_pair_has_a_point_and_every_level_a_box(calibrated, tmp_path):
    figure = many_pairs_figures.gain(calibrated, small=16)
    (ax,) = figure.axes
    points = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert heights(points) == pytest.approx([1.0, 1.2, 1.6, 3.0])
    hollow = [line for line in points if line.get_markerfacecolor() == "none"]
    assert heights(hollow) == pytest.approx([3.0])
    assert heights([line for line in points if line.get_marker() == "^"]) == pytest.approx([1.6])
    assert heights([line for line in ax.lines if len(line.get_xdata()) == 2]) == pytest.approx([1.4])
    assert "larger tables" in [text.get_text() for text in figure.legends[0].get_texts()]
    save(figure, tmp_path / "gain.svg")


def heights(lines):
    return sorted(float(line.get_ydata()[0]) for line in lines)


def test_promises_have_a_panel_per_level(kept, tmp_path):
    figure = many_pairs_figures.promises(pd.concat([kept, kept.assign(epsilon=2.0)]), small=16)
    assert len(figure.axes) == 2
    for ax in figure.axes:
        # Two pairs for each of the four promises that have rows, beside that to insiders.
        assert len([line for line in ax.lines if len(line.get_xdata()) == 1]) == 8
        medians = heights([line for line in ax.lines if len(line.get_xdata()) == 2])
        assert medians == pytest.approx([0.2, 0.45, 0.5, 1.25])
    save(figure, tmp_path / "promises.svg")


def test_figures_have_one_setting(calibrated):
    with pytest.raises(ValueError, match="several values of order"):
        many_pairs_figures.gain(pd.concat([calibrated, calibrated.assign(order=1.0)]), small=16)


# What is planned


def test_the_default_pairs_are_those_with_at_most_16_cells():
    counts = pd.read_csv(ROOT / "resources/adult_pair_counts.csv")
    values = pd.concat(
        [
            counts[["attribute_a", "value_a"]].set_axis(["attribute", "value"], axis=1),
            counts[["attribute_b", "value_b"]].set_axis(["attribute", "value"], axis=1),
        ]
    )
    number = values.groupby("attribute")["value"].nunique()
    assert len(number) == 9
    expected = {f"{s}, {u}" for s, u in permutations(number.index, 2) if number[s] * number[u] <= 16}
    assert {part["instance"] for part in plan.pairs_calibration(DEFAULT).values()} == expected
    for study in ("pairs_promises", "pairs_estimation"):
        pairs = LONG["beyond"][study]["pairs"]
        assert {f"{pair['sensitive']}, {pair['useful']}" for pair in pairs} == expected
    assert papers()["beyond"].tables["pairs_gain"].arguments["small"] == 16


def test_all_pairs_have_a_part_per_level():
    study = DEFAULT["beyond"]["pairs_calibrated"] | LONG["beyond"]["pairs_calibrated"]
    configuration = {**DEFAULT, "beyond": {**DEFAULT["beyond"], "pairs_calibrated": study}}
    parts = plan.pairs_calibration(configuration)
    assert len({part["instance"] for part in parts.values()}) == 72
    assert [parts[f"sex-race/{i}"]["epsilons"] for i in range(3)] == [[0.075], [0.3], [1.0]]
    assert parts["sex-race/0"]["tolerance"] == 1e-3
    # A pair of the other studies has the solver of lopuhaa2024.
    assert plan.calibration(configuration)["sex-race/0"]["tolerance"] == 1e-7


def test_promises_and_people_are_made_where_pairs_are_asked_for():
    studies = ("pairs_promises", "pairs_estimation")
    names = {*studies, "pairs_promises_kept", "pairs_information", "pairs_people", "pairs_people_needed"}
    paper = papers()["beyond"]
    assert not names & set(paper.select_calls(DEFAULT).tables)
    own = {study: DEFAULT["beyond"][study] | LONG["beyond"][study] for study in studies}
    configuration = {**DEFAULT, "beyond": {**DEFAULT["beyond"], **own}}
    assert names <= set(paper.select_calls(configuration).tables)
    assert len(plan.pairs_promises(configuration)) == len(plan.pairs_estimation(configuration)) == 3 * 14
