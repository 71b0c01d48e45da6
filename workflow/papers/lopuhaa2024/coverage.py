"""How often the uncertainty set F of lopuhaa2024 contains the truth (its section 3).

The radius of F is that of large samples. Where cells are rare, the set may contain the truth less often than
it says; the radius for any number of samples (`uncertainty.confidence_radius`) is larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.uncertainty.divergence import renyi_divergences
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import SET_METHODS
from papers.lopuhaa2024.summaries import COVERAGE

#: Samples of a truth that are drawn at once.
_BATCH = 1000


def coverage(
    counts: ArrayLike | pd.DataFrame,
    *,
    instance: str,
    orders: Sequence[float],
    shares: Sequence[float],
    added: float,
    rare: Sequence[float],
    samples: int,
    beta: float = 0.05,
    seed: int,
) -> pd.DataFrame:
    """Simulate how often confidence sets of the level 1 - beta contain the truth that records are drawn from.

    Of every truth so many samples are drawn, of so many records as each of `shares` says of those of the
    table. The orders are up to 2; `added` and `rare` are as of `truths`.
    """
    table = np.asarray(counts, dtype=float)
    rows = []
    for share in shares:
        records = max(int(np.rint(table.sum() * share)), 1)
        for truth, p in truths(table, added, rare, records):
            rng = generator(seed, f"lopuhaa2024 coverage {truth} {share:g}", table.size, 0)
            divergences = _sampled_divergences(rng, p, records, samples, orders)
            for order, method in ((order, method) for order in orders for method in SET_METHODS):
                # The radius depends on the number of records and of cells alone.
                any_counts = np.zeros(table.shape)
                any_counts[0, 0] = records
                radius = RenyiBall.confidence(any_counts, beta, order, method=method).radius
                rows.append(
                    {
                        "size": " x ".join(map(str, table.shape)),
                        "instance": instance,
                        "beta": beta,
                        "order": order,
                        "method": method,
                        "truth": truth,
                        "records": records,
                        "radius": radius,
                        "covered": float((divergences[order] <= radius).mean()),
                        "samples": samples,
                    }
                )
    return COVERAGE.table(rows)


def truths(
    table: FloatArray, added: float, rare: Sequence[float], records: int
) -> Iterator[tuple[str, FloatArray]]:
    """Yield distributions of the cells of a table by name: those like the table, and those with rare cells.

    The first is that of the counts, whose empty cells cannot occur. For the second, `added` records are added
    to every cell. Of each of the last ones, `rare` says how many of the `records` of a sample are expected in
    all cells but one together; these cells are equally likely.
    """
    yield "like the table", (table / table.sum()).ravel()
    more = table.ravel() + added
    yield f"like the table, {added:g} more per cell", more / more.sum()
    for expected in rare:
        p = np.full(table.size, min(expected / records, 0.5) / (table.size - 1))
        p[0] = 1.0 - p[1:].sum()
        yield f"rare cells, {expected:g} expected in all", p


def _sampled_divergences(
    rng: np.random.Generator, p: FloatArray, records: int, samples: int, orders: Sequence[float]
) -> dict[float, NDArray[np.float64]]:
    """Return by order the divergences of samples from their truth, each of shape (samples,)."""
    found: dict[float, list[FloatArray]] = {order: [] for order in orders}
    possible = p[p > 0]
    for first in range(0, samples, _BATCH):
        drawn = rng.multinomial(records, possible, size=min(_BATCH, samples - first)) / records
        for order, parts in found.items():
            parts.append(renyi_divergences(drawn, possible[None], order))
    return {order: np.concatenate(parts) for order, parts in found.items()}
