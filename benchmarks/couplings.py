"""What NR leaks by how it couples the values of U, on the fresh random tables of lopuhaa2024 (claim L-S83b).

`PYTHONPATH=src:workflow python benchmarks/couplings.py [results]` reads these tables from a finished run. NR
is not unique: given S, every output reveals one value of U for each value of S, coupled in any way, and the
utility is the same (`promises/nonrobust.py`). For each coupling it prints the 75% quantile of the level
eps* under the truth, and the range that contains this quantile for 95% of the samples of 100 tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from ldpfrontier import Channel, MutualInformation, optimal_ldp, rldp_epsilon
from ldpfrontier.base.types import FloatArray
from papers.lopuhaa2024.random_tables import tables_of
from papers.lopuhaa2024.sampling import shares
from papers.lopuhaa2024.summaries import quantile

#: A coupling of two distributions of U: which two values meet, and with which probability.
Coupling = Callable[[FloatArray, FloatArray], Iterator[tuple[int, int, float]]]

#: The lowest level of the study, nats; the quantile, and the tables of a sample.
EPSILON, LEVEL, SAMPLE = 0.075, 0.75, 100


def in_order(p: FloatArray, q: FloatArray) -> Iterator[tuple[int, int, float]]:
    """Couple values in their order."""
    first, second = np.cumsum(p), np.cumsum(q)
    cuts = np.unique(np.concatenate([first, second]))
    for low, high in zip([0.0, *cuts[:-1]], cuts, strict=True):
        middle = (low + high) / 2.0
        yield int(np.searchsorted(first, middle)), int(np.searchsorted(second, middle)), high - low


def in_opposite_orders(p: FloatArray, q: FloatArray) -> Iterator[tuple[int, int, float]]:
    """Couple the first values of one with the last values of the other."""
    for u, v, width in in_order(p, q[::-1]):
        yield u, len(q) - 1 - v, width


def independent(p: FloatArray, q: FloatArray) -> Iterator[tuple[int, int, float]]:
    """Couple every value with every other one."""
    for u, v in np.ndindex(len(p), len(q)):
        yield u, v, p[u] * q[v]


COUPLINGS: dict[str, Coupling] = {
    "in order": in_order,
    "in opposite orders": in_opposite_orders,
    "independent": independent,
}


def coupled_nr(joint: FloatArray, epsilon: float, coupling: Coupling) -> Channel:
    """Return NR of a joint distribution of a binary S and of U, shape (2, a2), with a coupling.

    A value of U that does not occur for a value of S reveals nothing of U, as in the library.
    """
    weight = joint.sum(axis=1)
    secret = optimal_ldp(MutualInformation(weight), epsilon).channel.matrix
    p, q = joint / weight[:, None]
    pieces = [(pair, width) for *pair, width in coupling(p, q) if width > 1e-12]
    share = np.zeros((*joint.shape, len(pieces)))
    for place, (pair, width) in enumerate(pieces):
        for s, (u, of) in enumerate(zip(pair, (p, q), strict=True)):
            share[s, u, place] = width / of[u]
    share[~share.any(axis=2)] = [width for _, width in pieces]
    share /= share.sum(axis=2, keepdims=True)
    return Channel(np.einsum("sy,suc->suyc", secret, share).reshape(joint.size, -1))


def leaks(tables: pd.DataFrame, coupling: Coupling) -> FloatArray:
    """Return eps* of NR on random tables of one size with a known truth, nats."""
    found = []
    for _, truth, counts in tables_of(tables, tables["instance"].unique().tolist()):
        channel = coupled_nr(counts / counts.sum(), EPSILON, coupling)
        conditionals = truth / truth.sum(axis=1, keepdims=True)
        found.append(float(rldp_epsilon(channel, conditionals)))
    return np.array(found)


def main(results: Path) -> None:
    """Print the quantiles and their ranges."""
    low, high = shares(LEVEL, SAMPLE)
    print(f"{'size':6} {'coupling':20} {'tables':>6} {'quantile':>8}  range")
    for size in ("2x5", "2x6"):
        tables = pd.read_parquet(results / f"data/populations/lopuhaa2024/fresh_tables/{size}/0.5.parquet")
        for name, coupling in COUPLINGS.items():
            found = leaks(tables, coupling)
            ends = " to ".join(f"{quantile(found, share):.3f}" for share in (low, high))
            print(f"{size:6} {name:20} {len(found):6} {quantile(found, LEVEL):8.3f}  {ends}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
