"""Types that every module shares: arrays of numbers, and the error for problems that are too large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Intractable(ValueError):
    """The instance is too large for the exact method."""
