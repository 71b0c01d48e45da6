"""Independent reporting with the best components found."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import rldp_epsilon
from ldpfrontier.reports.two_reports import budget_split
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from open_questions import independent_reports
from open_questions.independent_reports import best_components, components

COUNTS = np.array([[15, 5, 10], [10, 35, 25]])


def test_components_are_between_the_paper_and_all_mechanisms() -> None:
    skewed = np.array([[40, 10, 5, 3, 2], [200, 30, 5, 4, 1]])
    table = components(skewed, [0.5, 2.0], instance="a")
    assert (table["components"] >= table["response"]).all()
    assert (table["components"] > 1.001 * table["response"]).any()
    assert components(COUNTS, [0.0], instance="a")["components"].item() == 0.0


def test_what_is_found_is_private_over_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all pairs of reports that are looked at, at the estimate."""
    ball, seen = RenyiBall.confidence(COUNTS), []

    def watched(p: np.ndarray, channel: object) -> float:
        seen.append(channel)
        return mutual_information(p, channel)  # type: ignore[arg-type]

    monkeypatch.setattr(independent_reports, "mutual_information", watched)
    best_components(ball, 1.0)
    assert len(seen) > 5
    for channel in seen:
        assert float(rldp_epsilon(channel, ball.conditionals)) <= 1.0 + 1e-9


def test_on_binary_attributes_randomized_response_is_the_best_component() -> None:
    ball = RenyiBall.confidence(np.array([[70, 100], [260, 570]]))
    split = budget_split(ball, 1.0)
    assert best_components(ball, 1.0) == pytest.approx(split.information, rel=1e-3)
    assert split.channel.matrix == pytest.approx(
        randomized_response(2, split.epsilon_1).kron(randomized_response(2, split.delta_2)).matrix
    )
