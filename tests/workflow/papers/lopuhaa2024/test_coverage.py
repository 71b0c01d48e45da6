"""How often confidence sets contain the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import multinomial

from ldpfrontier import RenyiBall
from papers.lopuhaa2024.coverage import coverage, truths
from papers.lopuhaa2024.plan import coverage as coverage_parts
from reproduction.results.tables import select
from support.adult import adult_counts

ROOT = Path(__file__).resolve().parents[4]
COUNTS = np.array([[6, 2], [0, 4]])
OPTIONS = {"instance": "a, b", "orders": [1, 2], "shares": [1], "added": 0.05, "seed": 5}


def test_truths_are_like_the_table_or_have_rare_cells():
    found = dict(truths(COUNTS, 0.05, [0.2, 100.0], 50))
    assert [*found] == [
        "like the table",
        "like the table, 0.05 more per cell",
        "rare cells, 0.2 expected in all",
        "rare cells, 100 expected in all",
    ]
    for p in found.values():
        assert p.sum() == pytest.approx(1.0)
    assert found["like the table"][2] == 0.0
    assert found["like the table, 0.05 more per cell"][2] == pytest.approx(0.05 / 12.2)
    assert 50 * found["rare cells, 0.2 expected in all"][1:].sum() == pytest.approx(0.2)
    # As many as there are at most.
    assert found["rare cells, 100 expected in all"][0] == 0.5


def test_the_set_may_miss_rare_cells():
    """Where 0.2 of a record is expected, a sample that has one is too far from the truth for the radius."""
    table = coverage(COUNTS * 20, rare=[0.2], samples=20_000, **OPTIONS)
    row = select(table, order=2.0, method="asymptotic", truth="rare cells, 0.2 expected in all")
    assert row["covered"].item() < 0.9


def test_simulated_coverage_is_that_of_an_enumeration():
    table = coverage(COUNTS, rare=[0.02, 0.5], samples=20_000, **OPTIONS)
    assert len(table) == 4 * 2 * 2
    n = int(COUNTS.sum())
    samples = np.array([
        [i, j, k, n - i - j - k]
        for i in range(n + 1) for j in range(n + 1 - i) for k in range(n + 1 - i - j)
    ])  # fmt: skip
    for truth, p in truths(COUNTS, 0.05, [0.02, 0.5], n):
        chances = multinomial.pmf(samples, n, p)
        for row in select(table, truth=truth).to_dict("records"):
            balls = [
                RenyiBall.confidence(sample.reshape(2, 2), order=row["order"], method=row["method"])
                for sample in samples[chances > 0]
            ]
            assert {ball.radius for ball in balls} == {row["radius"]}
            inside = np.array([bool(ball.contains(p.reshape(2, 2), 0.0)) for ball in balls])
            assert row["covered"] == pytest.approx(float(chances[chances > 0] @ inside), abs=0.008)


def test_sets_for_any_number_of_records_contain_the_truth_and_others_may_not():
    tables = [
        coverage(
            adult_counts(*names),
            **OPTIONS | {"shares": [1, 0.01], "instance": " ".join(names)},
            rare=[0.045, 0.2, 1, 5],
            samples=4000,
        )
        for names in (("sex", "race"), ("income", "relationship"))
    ]
    for table in tables:
        assert len(select(table, method="finite", order=2)) == 12
        # At the first of the rare truths the bound of order 2 is attained, but for the chance of 1%.
        finite = select(table, method="finite")
        assert (finite["covered"] >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 4000)).all()
        assert finite["covered"].min() < 0.97
        assert select(table, method="asymptotic", order=2)["covered"].min() < 0.85
        assert select(table, method="asymptotic", order=1)["covered"].min() > 0.93


def test_ten_truths_at_least_are_tried_by_default():
    parts = coverage_parts(yaml.safe_load((ROOT / "config/config.yaml").read_text()))
    tried = sum(len(part["shares"]) * (2 + len(part["rare"])) for part in parts.values())
    assert len(parts) == 4
    assert tried >= 10
