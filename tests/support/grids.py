"""Grids of parameters of which an ordinary run of the tests takes a few."""

from collections.abc import Iterable

import pytest


def few(usual: Iterable[object], more: Iterable[object]) -> list[object]:
    """Return the parameters of a test: the usual ones, and more for --long. A tuple has several."""
    rows = (row if isinstance(row, tuple) else (row,) for row in more)
    return [*usual, *(pytest.param(*row, marks=pytest.mark.long) for row in rows)]
