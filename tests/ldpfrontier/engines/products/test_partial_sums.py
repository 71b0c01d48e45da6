"""Dynamic programming over partial sums, against numpy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpfrontier.engines.products.partial_sums import PartialSumTable, discard_by_tangent


def test_kernels_of_a_band_round_as_they_say() -> None:
    rng = np.random.default_rng(3)
    first = np.array([0, 7, 8, 20])
    z = np.concatenate([np.sort(rng.gamma(1.0, size=n)) for n in (7, 1, 12)])
    f = rng.normal(size=20)
    U, kept, losses, starts = discard_by_tangent(z, f, first, 1.3)
    tilted = f - (1.0 + math.log(1.3)) * z
    tops = np.array([tilted[a:b].max() for a, b in itertools.pairwise(first)])
    assert pytest.approx(1.3 + tops.sum()) == U
    expected = tilted - np.repeat(tops, np.diff(first))
    assert kept.tolist() == np.flatnonzero(expected >= -U).tolist()
    assert losses == pytest.approx(expected[kept])
    assert starts.tolist() == np.searchsorted(kept, first).tolist()
    for cells in (3, 10, 500):
        grid = PartialSumTable(z, expected, first, 0.0, float(z[first[1:] - 1].sum()), cells)
        marginals, choices = grid.search(np.zeros(grid.sums.size), 20)
        assert marginals == pytest.approx(expected)  # each with the best of the others, which lose nothing
        for choice in choices:
            Z = z[choice].sum()
            nearest = grid.sums[np.abs(grid.sums - Z).argmin()]
            assert abs(nearest - Z) <= grid.error + 1e-12
