"""The restricted master of column generation: channels whose rows sum to 1."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.engines.column_generation.smoothed import Master, RowSumError
from ldpfrontier.numerics.settings import SETTINGS as NUMERICS


def test_columns_of_tiny_weight_stay_where_rows_need_them() -> None:
    """A weight below the tolerance of linear programs counts if the entries of its column are large."""
    tiny, large = 0.5 * NUMERICS.lp_tolerance, 2000.0
    master = Master(2, vectors=[np.array([1.0, 1.0 - tiny * large]), np.array([0.0, large])])
    channel = master.channel(np.array([1.0, tiny]))
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1.0, atol=1e-12)
    assert channel.matrix.shape == (2, 2)


def test_columns_of_tiny_weight_that_rows_can_do_without_are_left_out() -> None:
    tiny = 0.5 * NUMERICS.lp_tolerance
    master = Master(2, vectors=[np.ones(2), np.array([0.0, 1.0])])
    assert master.channel(np.array([1.0, tiny])).matrix.shape == (2, 1)


def test_columns_without_weight_make_up_for_rows_that_are_met_in_the_program_alone() -> None:
    """Where a row is off by more than rounding, and no column in use can change it without the others."""
    master = Master(2, vectors=[np.array([1.0, 1.0 - 5e-9]), np.array([0.0, 1.0]), np.array([2.0, 0.0])])
    channel = master.channel(np.array([1.0, 0.0, -1e-16]))
    np.testing.assert_allclose(channel.matrix, [[1.0, 0.0], [1.0 - 5e-9, 5e-9]], rtol=0, atol=1e-15)


def test_columns_that_cannot_make_up_for_a_row_are_an_error_of_their_own() -> None:
    """PolyOpt has another mechanism then, and none for any other refusal."""
    master = Master(2, vectors=[np.array([1.0, 0.5])])
    with pytest.raises(RowSumError, match="sums to"):
        master.channel(np.array([1.0]))
