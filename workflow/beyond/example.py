"""The optimum over F for the counts of Examples 1 to 5 of lopuhaa2024, which do not have it."""

from __future__ import annotations

import pandas as pd

from ldpfrontier.model.information import mutual_information
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.certificates import documents_of_example
from papers.lopuhaa2024.example import EPSILON, TRUTH, example_ball, example_polyopt
from reproduction.results.tables import PRINTED, Printed


def example() -> pd.DataFrame:
    """Return the information of the optimum over F at the level of the examples, and the bound on it."""
    ball = example_ball()
    best = _optimum(ball)
    found = {
        "I_P-hat of the optimum over F": mutual_information(ball.centre, best.channel),
        "I_P* of the optimum over F": mutual_information(TRUTH, best.channel),
        "bound on I_P-hat of every robust mechanism": best.upper_bound,
    }
    note = "the paper does not use this class"
    return PRINTED.table(
        Printed("beyond", "Example 3", place, quantity, computed, None, digits=4, note=note)
        for place, (quantity, computed) in enumerate(found.items())
    )


def documents() -> pd.DataFrame:
    """Return the document of this optimum."""
    ball = example_ball()
    return documents_of_example("beyond", ball, "exact", _optimum(ball))


def _optimum(ball: RenyiBall) -> Optimum:
    return optimal_robust(ball, EPSILON, envelope="exact", start=example_polyopt(ball).channel)
