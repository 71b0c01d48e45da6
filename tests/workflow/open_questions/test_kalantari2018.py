"""Other distortions than Hamming's, and sources on an interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ldpfrontier.hamming.any_distortion import least_distortion
from open_questions.kalantari2018 import bounded_support, distortions, matrix, uniform_optimum
from open_questions.summaries import BOUNDED_SUPPORT, DISTORTIONS
from reproduction.results.tables import TableError


def test_the_least_leakage_falls_with_the_limit_and_rises_with_the_set() -> None:
    sets = {"II": [[0.6, 0.3, 0.1]], "I": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}
    table = distortions(sources=sets, measure="line", limits=[0.1, 0.2, 0.5])
    known, every = (table[table["sources"] == name].set_index("limit")["value"] for name in ("II", "I"))
    for values in (known, every):
        assert (values.diff().dropna() <= 0.0).all()
        # The limits at which the leakage ends, and one just below, are in the table.
        assert ((values == 0.0) & (values.shift() > 0.0)).any()
    limits = [0.1, 0.2, 0.5]
    assert (known[limits] <= every[limits] + 1e-7).all()
    table.loc[0, "bound"] = table.loc[0, "value"] + 0.1
    with pytest.raises(TableError, match="above the leakage"):
        DISTORTIONS.conform(table)


def test_the_tree_has_two_groups() -> None:
    assert matrix("tree", 4).tolist()[0] == [0.0, 0.5, 1.0, 1.0]


def of_points(points: np.ndarray, epsilon: float) -> float:
    """Return E |X - Y| of uniform X with randomized response on which of some points is nearest, by hand."""
    x, e = (np.arange(4_000) + 0.5) / 4_000, math.exp(epsilon)
    distances = np.abs(x[:, None] - points)
    total = distances.sum(axis=1) + (e - 1.0) * distances.min(axis=1)
    return float(total.mean() / (e + len(points) - 1.0))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_closed_form_is_the_best_choice_of_points(epsilon: float) -> None:
    value, count = uniform_optimum(epsilon)
    best = []
    for m in (count - 1, count, count + 1):
        start = (np.arange(m) + 0.5) / m
        best.append(minimize(of_points, start, (epsilon,), "Nelder-Mead", options={"xatol": 1e-4}).fun)
    assert min(best) == best[1] == pytest.approx(value, abs=2e-6)


def test_bounds_enclose_each_other_and_the_closed_form() -> None:
    coarse, fine = (bounded_support(cells=[n], epsilons=[1.0]) for n in (4, 8))
    assert (coarse["lower"] <= fine["lower"]).all()
    assert (coarse["upper"] >= fine["upper"] - 1e-12).all()
    # Lipschitz distances: middles of cells lose half a cell at most.
    assert ((fine["plain"] - fine["lower"]).abs() <= 1.0 / 16).all()
    assert ((fine["plain"] - fine["upper"]).abs() <= 1.0 / 16).all()
    assert uniform_optimum(1.0) == (pytest.approx((2.0 + math.sinh(1.0)) / (4.0 + 4.0 * math.e)), 2)
    fine.loc[fine["source"] == "uniform", "closed_form"] = 0.3
    with pytest.raises(TableError, match=r"has the optimum 0\.3"):
        BOUNDED_SUPPORT.conform(fine)


def test_plain_programs_have_the_values_of_a_prototype() -> None:
    middles = (np.arange(10) + 0.5) / 10
    d = np.abs(middles[:, None] - middles)
    assert least_distortion(np.eye(10), d, 1.0).value == pytest.approx(0.284233, abs=1e-6)
    assert least_distortion(np.full(10, 0.1), d, 2.0).value == pytest.approx(0.153490, abs=1e-6)
