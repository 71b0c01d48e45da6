"""What a confidence set for any number of records costs."""

from __future__ import annotations

import numpy as np
import pytest

from beyond.few_records import few_records
from beyond.summaries import FEW_RECORDS
from ldpfrontier import RenyiBall, optimal_robust


def test_the_cost_of_a_set_for_any_number_of_records_is_that_of_its_optimum():
    counts = np.array([[300, 20, 5], [80, 90, 60]])
    table = few_records(counts, [1.5], instance="a, b", orders=[2], mechanisms=["polyopt", "exact"])
    FEW_RECORDS.conform(table)
    assert len(table) == 4
    for row in table.to_dict("records"):
        ball = RenyiBall.confidence(counts, order=row["order"], method=row["method"])
        envelope = "exact" if row["mechanism"] == "exact" else "simplex"
        best = optimal_robust(ball, 1.5, envelope=envelope, tolerance=1e-3)
        h = -(ball.centre * np.log(ball.centre)).sum()
        assert row["nmi"] == pytest.approx(best.value / h, rel=2e-3)
        assert row["radius"] == ball.radius
    wide = table.pivot_table("nmi", ["order", "mechanism"], "method")
    assert (wide["finite"] < wide["asymptotic"]).all()
