"""Privacy metrics beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information
from open_questions.liao2017 import metrics, worst_information
from open_questions.summaries import INFORMATION, LOCAL, METRICS
from reproduction.results.tables import TableError

PAIR = {"name": "pair", "hypotheses": [[0.95, 0.05], [0.05, 0.95]]}
TRIPLE = {"name": "triple", "hypotheses": [[0.15, 0.85], [0.1, 0.9], [0.2, 0.8]]}


def test_a_mechanism_is_best_by_its_own_metric_and_no_better_than_the_best_by_another() -> None:
    table = metrics(instances=[PAIR, TRIPLE], shares=[0.05], epsilons=[1.0], distortions=[0.3])
    assert len(table) == 8
    own = {INFORMATION: "best_information", LOCAL: "best_local"}
    for metric, best in own.items():
        rows = table[table["metric"] == metric]
        assert (rows["utility"] >= 0.999 * rows[best]).all()
    # A mixture of these hypotheses is much less certain than they are.
    assert (table["worst_information"] >= table["information"] - 1e-9).all()
    pair = table[table["instance"] == "pair"]
    assert (pair["worst_information"] > 3.0 * pair["information"]).all()
    table.loc[0, "utility"] = 2.0 * table.loc[0, "best_local"]
    with pytest.raises(TableError, match="has a utility"):
        METRICS.conform(table)


@pytest.mark.parametrize("seed", range(3))
def test_no_mixture_has_more_than_the_worst_information(seed: int) -> None:
    rng = np.random.default_rng(seed)
    P, channel = rng.dirichlet(np.ones(4), 3), Channel(rng.dirichlet(np.ones(5), 4))
    worst = worst_information(P, channel)
    found = max(mutual_information(w @ P, channel) for w in rng.dirichlet(np.full(3, 0.7), 1000))
    assert found <= worst <= 1.01 * found
