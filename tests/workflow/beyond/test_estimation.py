"""The least errors by promise, how many people estimates need, and what reports are about."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from beyond import estimation as study
from beyond import figures
from beyond.catalogue import ABOUT_SENSITIVE, ABOUT_USEFUL, DESIGNS, FOR_SENSITIVE, designed
from beyond.estimation import Setting, estimation, promise
from beyond.people import DISCLOSURE, PEOPLE, disclosure, people
from beyond.promises import promises
from beyond.reported import measures
from ldpfrontier import (
    Channel,
    OddsRatios,
    RenyiBall,
    association_epsilon,
    conditional_epsilon,
    entropy,
    estimation_error,
    mutual_information,
    optimal_estimation,
    polyopt_cone,
    randomized_response,
    secret_randomized_response,
    unconditional_cone,
)
from ldpfrontier.base.types import Intractable
from reproduction.figure_style import save
from reproduction.results.tables import RESULTS, SKIPPED, TableError, select
from support.mechanisms import measured as measured_of

COUNTS = np.array([[90, 30, 4], [3, 20, 70]])
PRIOR = COUNTS / COUNTS.sum()
LEVELS = {name: [1.5] if name == "acquaintances" else [0.5, 1.5] for name in DESIGNS}


@pytest.fixture(scope="module")
def rows(long) -> pd.DataFrame:
    fine = {name: levels for name, levels in LEVELS.items() if name != "set"}
    parts = [
        estimation(COUNTS, [], instance="a, b", designs=fine, of_sensitive=[0.5, 1.0, 1.5]),
        # A search, whose bounds are compared with others that are far away.
        estimation(
            COUNTS, [], instance="a, b", designs={"set": LEVELS["set"]}, tolerance=0.01 if long else 0.2
        ),
    ]
    return RESULTS.conform(pd.concat(parts))


@pytest.fixture(scope="module")
def measured() -> tuple[pd.DataFrame, pd.DataFrame]:
    mechanisms = ["polyopt", "exact", "srr", "nr"]
    of_fig2 = measured_of(COUNTS, [0.5, 1.0], instance="a, b", mechanisms=mechanisms, tolerance=1e-3)
    return of_fig2, promises(COUNTS, [0.5, 1.5], instance="a, b", max_nodes=500)


@pytest.fixture(scope="module")
def needed(rows, measured) -> pd.DataFrame:
    return people(*measured, rows)


@pytest.fixture(scope="module")
def disclosed(measured) -> pd.DataFrame:
    return disclosure(*measured)


def least(rows, name, epsilon=1.5, k=math.inf, metric="error_cells"):
    return select(rows, mechanism=designed(name), epsilon=epsilon, conditional_epsilon=k, metric=metric).iloc[
        0
    ]


# Least errors


def test_least_errors_are_those_of_the_library(rows):
    ball = RenyiBall.confidence(COUNTS)
    for name, cone in (
        ("simplices", polyopt_cone(ball.lower_bounds, 1.5, pairs="distinct")),
        ("anyone", unconditional_cone((2, 3), 1.5)),
    ):
        best = optimal_estimation(PRIOR, cone)
        row = least(rows, name)
        assert (row["value"], row["bound"], row["status"]) == (best.value, best.bound, best.status)
        assert row["method"] == str(best.method)
    assert (rows["privacy"] <= rows["epsilon"] + 1e-9).all()
    # There is a row for every promise and level, with both levels where the promise has them.
    assert set(rows["mechanism"]) == {FOR_SENSITIVE, *map(designed, DESIGNS)}
    both = rows[np.isfinite(rows["conditional_epsilon"])]
    assert set(both["mechanism"]) == {designed("set"), designed("simplices")}
    assert (both["conditional_privacy"] <= both["epsilon"] + 1e-9).all()


def test_a_stronger_promise_needs_more_people(rows):
    for weaker, stronger in (
        ("set", "simplices"), ("set", "acquaintances"),
        ("simplices", "anyone"), ("acquaintances", "anyone"), ("anyone", "ldp"),
    ):  # fmt: skip
        assert least(rows, weaker)["bound"] <= least(rows, stronger)["value"]
    assert least(rows, "anyone")["value"] > 1.2 * least(rows, "simplices")["value"]
    for name in ("set", "simplices"):
        assert least(rows, name, k=1.5)["value"] > least(rows, name)["bound"]


def test_s_alone_costs_the_same_under_every_promise(rows):
    """Of a larger promise there is no mechanism with less error, and the bounds of searches say so, too."""
    p = PRIOR.sum(axis=1)
    for epsilon in (0.5, 1.5):
        row = least(rows, "sensitive", epsilon, metric="error_sensitive")
        assert row["value"] == pytest.approx(estimation_error(randomized_response(2, epsilon), p), rel=1e-4)
        assert row["status"] == "optimal"
        others = select(rows, epsilon=epsilon, metric="error_sensitive")
        assert (others["value"] >= row["bound"] * (1 - 1e-9)).all()
        for design in ("simplices", "anyone", "ldp"):
            cone, _ = promise(
                design, Setting(RenyiBall.confidence(COUNTS), OddsRatios.confidence(COUNTS)), epsilon
            )
            best = optimal_estimation(PRIOR, cone, "sensitive", tolerance=1e-3)
            assert best.value == pytest.approx(row["value"], rel=2e-3)
            assert best.bound <= row["value"] * (1 + 1e-9)


def test_what_is_out_of_reach_is_skipped_with_the_reason(monkeypatch, measured):
    def refused(*arguments, **options):
        raise Intractable("The cone has 240 inputs.")

    solve = study.optimal_estimation
    monkeypatch.setattr(
        study,
        "optimal_estimation",
        lambda p, *rest, **options: (refused if np.size(p) > 2 else solve)(p, *rest, **options),
    )
    found = estimation(COUNTS, [], instance="a, b", designs={"set": [0.5]}, of_sensitive=[0.5])
    skipped = select(found, status=SKIPPED)
    assert len(skipped) == 2
    assert (skipped["note"] == "The cone has 240 inputs.").all()
    kept = people(*measured, found)
    assert designed("set") not in set(kept["mechanism"])
    assert FOR_SENSITIVE in set(kept["mechanism"])


# What reports tell


def test_measures_are_those_of_the_definitions():
    rng = np.random.default_rng(3)
    prior, channel = rng.dirichlet(np.ones(6)).reshape(2, 3), Channel(rng.dirichlet(np.ones(8), size=6))
    found = {measure.metric: measure.value for measure in measures(channel, prior)}
    joint = prior[:, :, None] * channel.matrix.reshape(2, 3, 8)
    for metric, axis in ((ABOUT_SENSITIVE, 1), (ABOUT_USEFUL, 0)):
        pair = joint.sum(axis=axis)
        expected = entropy(pair.sum(axis=1)) + entropy(pair.sum(axis=0)) - entropy(pair)
        assert found[metric] == pytest.approx(expected, rel=1e-9)
    assert found["error_cells"] == estimation_error(channel, prior)
    assert found["error_sensitive"] == estimation_error(channel, prior, "sensitive")


@pytest.mark.parametrize("shape", [(2, 3), (3, 5)])
def test_srr_determines_no_table_at_one_level(shape):
    """Where the exponential of the level is the number of useful values less one."""
    prior = np.random.default_rng(5).dirichlet(np.ones(math.prod(shape))).reshape(shape)
    level = math.log(shape[1] - 1)
    assert estimation_error(secret_randomized_response(*shape, level), prior) == math.inf
    assert estimation_error(secret_randomized_response(*shape, level + 0.1), prior) < math.inf


# People needed


def test_people_are_counted_for_one_percentage_point(needed, rows):
    srr = secret_randomized_response(2, 3, 1.0)
    for target, numbers in (("cells", 6), ("sensitive", 2)):
        row = select(needed, mechanism="srr", epsilon=1.0, target=target).iloc[0]
        error = estimation_error(srr, PRIOR, None if target == "cells" else target)
        assert row["error"] == pytest.approx(error, rel=1e-12)
        # So many people leave a mean square error of 0.01 squared.
        assert math.sqrt(error / row["people"] / numbers) == pytest.approx(0.01)
        assert math.isnan(row["bound"])
    best = select(
        needed, mechanism=designed("simplices"), epsilon=0.5, target="cells", conditional_epsilon=0.5
    )
    assert best["bound"].iloc[0] == least(rows, "simplices", 0.5, 0.5)["bound"]


def test_made_for_information_is_not_made_for_estimates(needed):
    polyopt = select(needed, mechanism="polyopt", epsilon=0.5, target="cells").iloc[0]
    assert not polyopt["determined"]
    assert polyopt["error"] == polyopt["people"] == math.inf
    for name, k in (("exact", math.inf), ("exact", 0.5)):
        made = select(needed, mechanism=name, epsilon=0.5, conditional_epsilon=k, target="cells")[
            "error"
        ].iloc[0]
        best = select(needed, mechanism=designed("set"), epsilon=0.5, conditional_epsilon=k, target="cells")[
            "error"
        ].iloc[0]
        assert made > 1.1 * best


@pytest.mark.parametrize(
    ("mechanism", "target", "changed", "words"),
    [
        (designed("simplices"), "cells", {"error": 0.5}, "below its bound"),
        ("srr", "cells", {"error": 1e-3}, "below the bound of all mechanisms, that of least_error_set"),
        ("nr", "sensitive", {"error": 1e-3, "determined": True}, "that of least_error_sensitive"),
        ("srr", "cells", {"determined": False}, "contradicts itself"),
    ],
)
def test_people_that_contradict_the_bounds_are_refused(needed, mechanism, target, changed, words):
    damaged = needed.copy()
    at = (damaged["mechanism"] == mechanism) & (damaged["target"] == target) & (damaged["epsilon"] == 0.5)
    damaged.loc[at, [*changed]] = [*changed.values()]
    with pytest.raises(TableError, match=words):
        PEOPLE.conform(damaged)


def test_figure_shows_what_is_determined(needed, tmp_path):
    figure = figures.people(needed)
    (cells,) = figure.axes
    of_cells = select(needed, target="cells")
    for name, both in (("set", False), ("set", True), ("anyone", False), ("ldp", False)):
        best = select(of_cells, mechanism=designed(name))
        best = best[np.isfinite(best["conditional_epsilon"]) == both].sort_values("epsilon")
        assert len(best)
        assert any(np.array_equal(line.get_ydata(), best["people"]) for line in cells.lines)
    assert cells.get_yscale() == "log"
    assert all(np.isfinite(line.get_ydata()).all() for line in cells.lines)
    # The optimum for information is single points, where the table is determined.
    lost = of_cells.assign(determined=of_cells["determined"] & (of_cells["mechanism"] != "exact"))
    (other,) = figures.people(lost).axes
    (points,) = [line for line in cells.lines if line.get_linestyle() == "None"]
    assert set(points.get_xdata()) <= set(select(of_cells, mechanism=designed("set"))["epsilon"])
    assert not [line for line in other.lines if line.get_linestyle() == "None"]
    save(figure, tmp_path / "people.png")


# What reports are about


def test_disclosure_splits_the_information(disclosed, measured):
    ball = RenyiBall.confidence(COUNTS)
    row = select(disclosed, mechanism="srr", epsilon=1.0).iloc[0]
    srr = secret_randomized_response(2, 3, 1.0)
    assert row["information"] == pytest.approx(mutual_information(PRIOR, srr), rel=1e-12)
    assert row["nmi"] == pytest.approx(row["information"] / entropy(PRIOR))
    for first, second in (("sensitive", "useful_given"), ("useful", "sensitive_given")):
        total = disclosed[first] + disclosed[second]
        assert total.to_numpy() == pytest.approx(disclosed["information"].to_numpy(), abs=1e-12)
    # Both levels bound what somebody who knows U learns.
    both = select(disclosed, mechanism="exact", epsilon=0.5, conditional_epsilon=0.5).iloc[0]
    alone = select(disclosed, mechanism="exact", epsilon=0.5, conditional_epsilon=math.inf).iloc[0]
    assert both["sensitive_given"] < 0.5 * alone["sensitive_given"]
    assert conditional_epsilon(srr, ball.centre.shape) <= 1.0 + 1e-9
    assert association_epsilon(srr, OddsRatios.confidence(COUNTS)) <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sensitive": -0.1}, "below 0"),
        ({"useful": 9.0}, "more than all that it tells"),
        ({"sensitive": 0.6, "information": 9.0}, "more than its level allows"),
    ],
)
def test_disclosure_that_contradicts_itself_is_refused(disclosed, changed, words):
    damaged = disclosed.copy()
    damaged.loc[damaged["epsilon"] == 0.5, [*changed]] = [*changed.values()]
    with pytest.raises(TableError, match=words):
        DISCLOSURE.conform(damaged)
