"""A polyhedral cone of which an engine knows nothing but the cuts that columns violate."""

from dataclasses import dataclass

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.cones import BaseCone, PolyhedralCone


@dataclass(frozen=True, eq=False)
class ByCuts(BaseCone):
    """The cone of `inner`, as if its inequalities were not known."""

    inner: PolyhedralCone

    @property
    def shape(self) -> tuple[int, int]:
        return self.inner.shape

    @property
    def inequalities(self) -> FloatArray:
        return self.inner.inequalities[:0]

    @property
    def least_constant_slack(self) -> float:
        return self.inner.least_constant_slack

    def separate(self, columns: FloatArray, *, exact: bool = False) -> FloatArray:
        rows = self.inner.inequalities
        return np.broadcast_to(rows, (len(columns), *rows.shape))

    def pull(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.inner.pull(columns)[0], self.inequalities
