"""Past PolyOpt: mechanisms at equal realized privacy, and the optimum over F with its bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from beyond import bounds, figures, summaries
from beyond.calibration import calibration
from beyond.figures import UPPER_BOUND
from ldpfrontier.engines.products.geometry import vertex_list
from ldpfrontier.model.information import entropy, mutual_information
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.panels import LOOKS
from reproduction.figure_style import save
from reproduction.results.tables import SKIPPED, select
from support.mechanisms import measured

COUNTS = np.array([[30, 0, 12], [25, 41, 60]])
EPSILONS = [0.6, 1.0]
#: Coarse, as what is tested is what becomes of the optima.
TOLERANCE = 0.05
#: Bounds of no table.
NO_BOUNDS = summaries.BOUNDS.table([])


@pytest.fixture(scope="module")
def sweep() -> pd.DataFrame:
    names = ["polyopt", "exact", "nr"]
    return measured(COUNTS, EPSILONS, instance="a, b", mechanisms=names, tolerance=TOLERANCE)


@pytest.fixture(scope="module")
def equal() -> pd.DataFrame:
    names = ["grr", "srr", "polyopt"]
    return calibration(COUNTS, EPSILONS, instance="a, b", mechanisms=names, tolerance=TOLERANCE)


# Equal realized privacy


def test_what_is_calibrated_leaks_what_is_allowed(equal):
    found = summaries.calibrated(equal)
    others, best = (found[(found["mechanism"] == "exact") == wanted] for wanted in (False, True))
    assert (others["realized_calibrated"] <= others["epsilon"] + 1e-9).all()
    np.testing.assert_allclose(others["realized_calibrated"], others["epsilon"], rtol=1e-3)
    assert (others["nmi_calibrated"] >= others["nmi"]).all()
    assert (others["nmi_calibrated"] <= others["exact"] + 1e-9).all()
    assert best[["level", "nmi_calibrated", "realized_calibrated"]].isna().all(axis=None)
    assert (best["nmi"] == best["exact"]).all()


def test_calibration_makes_no_mechanism_worse(equal):
    worse = (equal["experiment"] == "calibrated") & (equal["metric"] == "nmi")
    value = equal["value"].where(~worse, 0.5 * equal["value"])
    found = summaries.calibrated(equal.assign(value=value)).query("mechanism != 'exact'")
    assert (found["nmi_calibrated"] == found["nmi"]).all()
    assert (found["level"] == found["epsilon"]).all()
    assert (found["realized_calibrated"] == found["realized"]).all()


def test_a_calibrated_mechanism_is_the_one_of_its_level(equal):
    row = summaries.calibrated(equal).set_index(["mechanism", "epsilon"]).loc[("grr", 1.0)]
    ball, channel = RenyiBall.confidence(COUNTS), randomized_response(6, row["level"])
    assert row["nmi_calibrated"] == mutual_information(ball.centre, channel) / entropy(ball.centre)
    assert row["realized_calibrated"] == ball.worst_case_epsilon(channel)
    more = randomized_response(6, row["level"] + 2e-4)
    assert ball.worst_case_epsilon(more) > 1.0


def test_what_is_out_of_reach_is_not_calibrated(monkeypatch):
    monkeypatch.setattr(vertex_list, "SETTINGS", replace(vertex_list.SETTINGS, max_letters=2))
    table = calibration(COUNTS, [1.0], instance="a, b", mechanisms=["polyopt", "grr"])
    polyopt = select(table, mechanism="polyopt")
    assert set(polyopt["status"]) == {SKIPPED}
    assert set(polyopt["experiment"]) == {"nominal"}
    assert set(select(table, mechanism="grr")["experiment"]) == {"nominal", "calibrated"}


# Figures


def test_figure_of_equal_realized_privacy_shows_both(equal, tmp_path):
    table = summaries.calibrated(equal)
    figure = figures.calibrated(table)
    ax, linear = figure.axes
    assert (ax.get_yscale(), linear.get_yscale()) == ("log", "linear")
    row = table.set_index(["mechanism", "epsilon"]).loc[("grr", 1.0)]
    shown = [line.get_ydata()[0] for line in ax.lines if line.get_label() == LOOKS["grr"].label]
    assert shown[2:] == [row["nmi"], row["nmi_calibrated"]]
    stars = [line.get_ydata()[0] for line in ax.lines if line.get_label() == LOOKS["exact"].label]
    assert [y for y in stars if not math.isnan(y)] == select(table, mechanism="exact")["nmi"].tolist()
    factors = select(table, mechanism="polyopt").eval("exact / nmi_calibrated")
    assert [text.get_text() for text in linear.texts] == [f"×{factor:.2f}" for factor in factors]
    assert not ax.texts
    for one, other in zip(ax.lines, linear.lines, strict=True):
        np.testing.assert_array_equal(one.get_ydata(), other.get_ydata())
    save(figure, tmp_path / "calibrated.png", dpi=50)


def test_the_bound_of_the_optimum_is_a_line(sweep):
    figure = figures.optimum(select(sweep, metric="nmi"), NO_BOUNDS)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert UPPER_BOUND.label in labels
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == UPPER_BOUND.label]
    expected = select(sweep, mechanism="exact", metric="nmi")["bound"]
    np.testing.assert_array_equal(line.get_ydata(), np.minimum(expected, 1.0))
    without = figures.optimum(sweep[sweep["mechanism"] != "exact"], NO_BOUNDS)
    assert UPPER_BOUND.label not in [text.get_text() for text in without.legends[0].get_texts()]


def test_bounds_are_for_large_tables_alone():
    small = bounds.bounds([[7, 10], [26, 57]], [1.0], instance="a, b", beta=0.05, order=2.0, max_nodes=10)
    assert small.empty
    counts = np.random.default_rng(3).integers(1, 50, (9, 2))
    found = bounds.bounds(counts, [0.5, 1.0], instance="a, b", beta=0.05, order=2.0, max_nodes=0)
    assert found["size"].tolist() == ["9 x 2"] * 2
    np.testing.assert_array_equal(found["bound"], found["nr"])
    assert found["bound"].is_monotonic_increasing


def test_only_robust_mechanisms_can_be_calibrated():
    with pytest.raises(ValueError, match="'nr'; allowed are robust ones, which can be calibrated"):
        calibration(COUNTS, [1.0], instance="a, b", mechanisms=["srr", "nr"])
    with pytest.raises(ValueError, match="'rappor'; allowed are polyopt"):
        calibration(COUNTS, [1.0], instance="a, b", mechanisms=["rappor"])
