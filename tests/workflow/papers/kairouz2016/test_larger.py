"""kairouz2016 past its sizes: thresholds without a list of the columns, its figures, and what is planned."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from ldpfrontier.engines.listed.staircase import Staircase
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.promises import thresholds
from papers.kairouz2016 import alphabets, plan
from papers.kairouz2016.styles import STAIRCASES, UTILITIES
from reproduction.figure_style import save
from reproduction.planning.paper import Parts, papers
from reproduction.results.tables import select
from support.instances import require_separation, sample, sweep
from support.instances import thresholds as found_thresholds

ROOT = Path(__file__).parents[4]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
LARGER = DEFAULT["kairouz2016"]["larger"]
PAPER = papers()["kairouz2016"]

SEED = 5
SIZES = (3, 24)
EPSILONS = (1.0, 3.0)


@pytest.fixture(scope="module")
def sweeps():
    return [
        pd.concat(
            sweep(u, k, range(3), EPSILONS, seed=SEED, mechanisms=["binary", "rr"], tolerance=1e-6)
            for k in SIZES
        )
        for u in ("kl", "mutual_information")
    ]


@pytest.fixture(scope="module")
def table():
    utilities = ["kl", "mutual_information"]
    return pd.concat(found_thresholds(k, range(2), seed=SEED, utilities=utilities) for k in SIZES)


# Thresholds


@pytest.mark.parametrize("utility", ["kl", "chi2", "hellinger", "mutual_information"])
def test_response_is_optimal_exactly_where_no_listed_column_says_otherwise(utility, monkeypatch, long):
    for size, instance in ((3, 0), (7, 1), (11, 2))[: 3 if long else 2]:
        measure = sample(utility, size, instance, seed=SEED)
        monkeypatch.setattr(thresholds, "LIMITS", replace(LIMITS, max_listed_inputs=2))
        found = thresholds.randomized_response_threshold(measure)
        assert 1.0 < found < 40.0
        listed = Staircase(measure, found * np.array([[1.0 + 1e-5], [1.0 - 1e-5]]))
        above, below = listed.reduced_costs(listed.response_duals).max(axis=1)
        assert above <= 1e-12 < below


def test_thresholds_of_many_inputs_separate_optimal_from_not(table):
    found = select(table, size="24").set_index(["mechanism", "metric", "instance"])["value"]
    assert ("binary", "mutual_information") not in {key[:2] for key in found.index}
    for utility in ("kl", "mutual_information"):
        measure = sample(utility, 24, 0, seed=SEED)
        for mechanism in ("rr", "binary")[: 2 if utility == "kl" else 1]:
            require_separation(measure, mechanism, found[mechanism, utility, "000"])


# Figures


def test_lowest_ratios_by_level_and_by_size(sweeps, tmp_path):
    figure = alphabets.lowest(*sweeps, stated={"kl": {"6": 0.7}})
    (a, b), (c, d) = figure.axes[:2], figure.axes[2:]
    for (left, right), table, utility in zip(
        ((a, b), (c, d)), sweeps, ("kl", "mutual_information"), strict=True
    ):
        rows = select(table, metric=utility).set_index(["size", "instance", "epsilon", "mechanism"])
        share = rows["value"] / rows["bound"]

        def better(size, instance, epsilon, share=share):
            return max(share[size, instance, epsilon, name] for name in ("binary", "rr"))

        names = [f"{i:03d}" for i in range(3)]
        for line, size in zip(left.lines, SIZES, strict=True):
            expected = [min(better(str(size), i, e) for i in names) for e in EPSILONS]
            np.testing.assert_allclose(line.get_ydata(), expected)
        curves = {line.get_label(): line for line in right.lines}
        lowest = curves[STAIRCASES["mixed"].label]
        assert lowest.get_xdata().tolist() == [*SIZES]
        expected = [min(better(str(k), i, e) for i in names for e in EPSILONS) for k in SIZES]
        np.testing.assert_allclose(lowest.get_ydata(), expected)
        assert right.get_xscale() == "log"
        assert [label.get_text() for label in right.get_xticklabels()] == ["3", "24"]
        assert left.get_title(loc="left").endswith("lowest of 3 instances")
    said = {line.get_label(): line.get_xdata() for line in b.lines}["lowest that the paper states"]
    assert [*said] == [6]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [text.rpartition("=")[2] for text in legend[:2]] == ["3$", "24$"]
    save(figure, tmp_path / "figure.svg")


def test_thresholds_against_the_size(table, tmp_path):
    infinite = table.assign(
        value=table["value"].mask((table["mechanism"] == "rr") & (table["size"] == "24"), math.inf)
    )
    for rows in (table, infinite):
        figure = alphabets.thresholds(rows)
        titles = [ax.get_title(loc="left") for ax in figure.axes]
        assert titles == [UTILITIES[name] for name in ("kl", "mutual_information", "all_f")]
        lines = {line.get_label(): line for line in figure.axes[0].lines}
        medians = select(rows, metric="kl", mechanism="binary").groupby("size")["value"].median()
        expected = [medians[str(size)] for size in SIZES]
        np.testing.assert_allclose(lines[STAIRCASES["binary"].label].get_ydata(), expected)
        # What is not known has no curve: binary for mutual information with 24 inputs, RR for all f at once.
        known = {line.get_label(): line.get_xdata().tolist() for line in figure.axes[1].lines}
        assert known == {STAIRCASES["binary"].label: [3], STAIRCASES["rr"].label: [3, 24]}
        assert len(figure.axes[2].lines) == 1
        assert math.isfinite(figure.axes[0].get_ylim()[1])
        assert figure.get_supxlabel().endswith("2 instances per size")
        save(figure, tmp_path / "figure.svg")


# What is planned


def changed(larger):
    """Return the default configuration with another study past the sizes of the paper."""
    return {**DEFAULT, "kairouz2016": {**DEFAULT["kairouz2016"], "larger": larger}}


def test_by_default_nothing_past_the_sizes_of_the_paper_is_made():
    names = {"larger_kl", "larger_mutual_information", "larger_thresholds"}
    usual, more = (PAPER.select_calls(changed({**LARGER, "instances": n})) for n in (0, 3))
    assert names <= set(more.tables)
    assert not names & set(usual.tables)
    assert set(more.figures) - set(usual.figures) == {"larger", "larger_thresholds"}
    assert PAPER.select_calls(DEFAULT).tables.keys() == usual.tables.keys()
    long = yaml.safe_load((ROOT / "config/long.yaml").read_text(encoding="utf-8"))
    assert long["kairouz2016"]["larger"]["instances"] > 0


def test_parts_are_a_size_and_some_instances():
    configuration = changed({**LARGER, "instances": 3, "chunk": 2, "sizes": [60, 24], "thresholds": [24]})
    parts = plan.larger(configuration, utility="kl")
    assert list(parts) == ["24/0", "24/1", "60/0", "60/1"]
    assert parts["60/1"]["numbers"] == [2]
    assert parts["60/1"]["instances"] == Parts(("60/0",))
    assert [part for part in plan.instances(configuration) if part[:2] in ("24", "60")] == ["24/0", "60/0"]
    assert parts["60/1"]["epsilons"] == sorted(LARGER["epsilon"])
    assert parts["60/1"]["tolerance"] == LARGER["tolerance"]
    levels = plan.larger_thresholds(configuration)
    assert list(levels) == ["24/0", "24/1"]
    assert levels["24/0"]["utilities"] == DEFAULT["kairouz2016"]["thresholds"]
