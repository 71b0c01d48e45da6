"""The atlas: every mechanism of lopuhaa2024 on many pairs of attributes, at a few privacy levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from beyond.measured import rows_of
from beyond.solutions import solve
from ldpfrontier.model.information import entropy
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import Solution, place_of
from reproduction.results.tables import RESULTS, SKIPPED, Row


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def atlas(
    counts: ArrayLike | pd.DataFrame,
    epsilons: Sequence[float],
    *,
    instance: str,
    mechanisms: Sequence[str],
    cells: Mapping[str, int],
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-3,
    max_rounds: int = 60,
) -> pd.DataFrame:
    """Compute the mechanisms on one table of counts, the expensive ones on small tables only.

    Rows, arguments and errors are as of `optima.mechanisms`. `cells` has, by mechanism, the most
    cells of a table that it is computed on; on a larger one it is skipped, and its note says why.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    place, size = place_of("atlas", instance, beta, ball), ball.centre.size
    large = [name for name in mechanisms if size > cells.get(name, size)]
    computed = [name for name in mechanisms if name not in large]

    def rows() -> Iterator[Row]:
        h = entropy(ball.centre)
        for epsilon in epsilons:
            solutions = solve(ball, [epsilon], computed, tolerance=tolerance, max_rounds=max_rounds)
            yield from rows_of(ball, place, solutions)
            for name in large:
                note = (
                    f"The table has {size} cells; here this mechanism is computed on at most {cells[name]}."
                )
                yield from Solution(name, epsilon, None, SKIPPED, note=note).certified(place, h)

    return RESULTS.table(rows())
