r"""How sure weighted shares are, as a number of people of equal weights.

With W_k and Q_k the sums of the weights, and of their squares, of the people in cell k, and p_k = W_k / W the
shares, linearisation gives a contrast sum c_k log p_k (sum c_k = 0) the variance sum c_k^2 Q_k / W_k^2, and a
mean of v over the cells sum (v_k - v-bar)^2 Q_k / W^2. Neither is above that of n simple random people,
sum c_k^2 / (n p_k) and sum (v_k - v-bar)^2 p_k / n, if ::

    n = W / max_k (Q_k / W_k).

So the intervals of odds ratios and the chi-squared radius of F are right, or too wide, for n people: the
number of people divided by n is the largest generalized design effect (Rao and Scott 1981, *The analysis of
categorical data from complex sample surveys*, JASA 76) or more. The overall design effect of weights, N sum
w^2 / W^2 (Kish), is a mean of those of the cells, and too small where weights depend on them. Strata make
variances smaller, which is not used. Clusters make them larger, and weights do not show them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from ldpfrontier.survey.reading import Records, as_number, shown

Cell = TypeVar("Cell", bound=Hashable)


def weight_of(path: Records, column: str, row: int, text: str, decimal: str) -> float:
    """Return the weight of a row of a file, a number of 0 or more."""
    weight = as_number(text, decimal)
    if weight is None or weight < 0:
        raise ValueError(
            f"Row {row} of {shown(path)} has the weight {text!r} in the column {column!r}; weights must be"
            " numbers, 0 or more, without separators of thousands (with decimal commas, --decimal ,)."
        )
    return weight


def effective_people(sums: Mapping[Cell, float], squares: Mapping[Cell, float]) -> float:
    """Return how many people of equal weights the weighted shares of cells count for, 1 or more."""
    largest = max(squares[cell] / total for cell, total in sums.items() if total > 0)
    return max(sum(sums.values()) / largest, 1.0)  # below 1 by rounding alone


def stated_people(people: float | None, design_effect: float | None) -> float | None:
    """Return the number of people divided by the design effect; None if neither is stated."""
    if people is None and design_effect is None:
        return None
    if people is None or design_effect is None:
        raise ValueError(
            "--people and --design-effect must be given together: neither the number of people who were asked"
            " nor the design effect alone tells how sure weighted shares are."
        )
    if not (1.0 <= design_effect <= people < float("inf")):
        raise ValueError(
            f"The design effect is {design_effect:g} for {people:g} people; it must be at least 1, and at"
            " most the number of people."
        )
    return people / design_effect
