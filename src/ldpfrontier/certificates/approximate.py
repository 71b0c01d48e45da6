"""Claims about approximately private mechanisms, whose bound has prices of entries and of excesses."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray
from ldpfrontier.certificates.document import JsonClaim, bound_level
from ldpfrontier.certificates.numbers import WholeRows, level_text, ratio_texts, text_above
from ldpfrontier.engines.listed.approximate import ApproximateColumns, solve_approximate
from ldpfrontier.model.utility import MutualInformation


def approximate_level(epsilon: float, delta: float) -> Callable[[WholeRows], list[JsonClaim]]:
    """Return what claims the level and the delta of a channel, which needs no proof of its own."""
    claim = {"epsilon": level_text(epsilon), "delta": level_text(delta), "t": ratio_texts(epsilon)[0]}
    return lambda _: [{"kind": "approximate privacy", **claim}]


def excess_prices(
    utility: MutualInformation, epsilon: float, delta: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the prices of entries and, by pairs of inputs, of excesses, and what raises the first ones."""
    n, most = len(utility.prior), 1000
    solved = solve_approximate(utility, epsilon, delta, tolerance=1e-10, max_rounds=most)
    excesses = np.zeros((n, n))
    excesses[~np.eye(n, dtype=bool)] = solved.duals[n:]
    # Where nothing is to be told, the logarithms of the checker are above 0 by their rounding.
    raised = max(solved.bound, 1e-15) * ApproximateColumns(utility, epsilon).scale
    return solved.duals[:n], excesses, raised


def approximate_bound(
    prices: tuple[FloatArray, FloatArray, FloatArray], epsilon: float, delta: float, slack: float
) -> JsonClaim:
    """Return the claim of a bound by some prices, raised by a share of the bound."""
    entries, excesses, raised = prices
    costs = [text_above(x) for x in entries + slack * raised]
    rows = [[text_above(x) for x in row] for row in excesses]
    with localcontext(verify.EXACT):
        of_excess = sum((Decimal(x) for row in rows for x in row), Decimal(0))
        bound = sum(map(Decimal, costs), Decimal(level_text(delta)) * of_excess)
        return {
            "kind": "approximate bound",
            **bound_level(epsilon),
            "delta": level_text(delta),
            "bound": text_above(bound),
            "prices": costs,
            "excess prices": rows,
        }
