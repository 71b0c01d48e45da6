"""The columns of a polyhedral cone by their extreme rays, priced all at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.model.utility import Columns, SublinearUtility
from ldpfrontier.numerics.rounding import gamma


@dataclass(eq=False)
class ListedColumns:
    """Extreme rays of a cone, (m, inputs), and the constant column: a `Family`."""

    rays: FloatArray
    utility: SublinearUtility
    efforts: int = 1

    @cached_property
    def scale(self) -> FloatArray:
        """The distribution that normalizes columns, positive at every input, shape (inputs,)."""
        prior = self.utility.prior.ravel()
        return np.asarray((prior + 1.0 / prior.size) / 2.0)

    @cached_property
    def columns(self) -> Columns:
        """All columns with scale . v = 1 and what they are worth; the constant one is the last."""
        n = self.scale.size
        rays = np.vstack([self.rays, np.ones((1, n))])
        vectors = rays / (rays @ self.scale)[:, None]
        return Columns(vectors, self.utility.homogeneous_values(vectors))

    def start(self) -> Columns:
        """Return the constant column, of which a channel can be made, and the one that is worth most.

        The latter tells how large values are, which is little at low levels.
        """
        first = [-1, int(self.columns.values.argmax())]
        return Columns(self.columns.vectors[first], self.columns.values[first])

    def price(self, duals: FloatArray, effort: int) -> tuple[float, Columns]:
        """Return the largest reduced cost of all columns, raised by its rounding, and the best columns."""
        vectors, values = self.columns.vectors, self.columns.values
        reduced = values - vectors @ duals
        error = gamma(duals.size + 8) * (np.abs(values) + vectors @ np.abs(duals))
        best = np.argsort(-reduced, kind="stable")[: 4 * GENERATION.batch]
        return float((reduced + error).max()), Columns(vectors[best], values[best])
