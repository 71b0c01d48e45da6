"""Types that every module shares, and the error for problems that are too large."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Whether a sensitive value is also compared with itself.
Pairs = Literal["all", "distinct"]


class Intractable(ValueError):
    """The instance is too large for the exact method."""
