"""The random hypotheses of liao2017, uniform on the simplex, on which its theorems are checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import generator
from reproduction.data.populations import rows_of, with_columns

PAPER = "liao2017"

#: The populations: m hypotheses for Theorems 1 to 3, and two distributions for Lemma 2.
THEOREMS, LEMMA = f"{PAPER}/theorems/{{}}", f"{PAPER}/lemma2"

HYPOTHESES = with_columns(limit="float64")  # of the leakage about a hypothesis, nats; missing of `LEMMA`


def random_hypotheses(
    *,
    seed: int,
    instances: int = 3,
    letters: Sequence[int] = range(2, 9),
    hypotheses: Sequence[int] = (2, 3, 4),
) -> pd.DataFrame:
    """Draw hypotheses, with a limit for each, and pairs of distributions on three letters.

    There are so many instances for every number of hypotheses m and of letters M, and for Lemma 2; the rows
    of one are its hypotheses.
    """
    drawn = []
    for m in hypotheses:
        for M in letters:
            for instance in range(instances):
                rng = generator(seed, THEOREMS.format(m), M, instance)
                p, limits = rng.dirichlet(np.ones(M), m), rng.uniform(0.2, 2.0, m) * 1e-4
                columns = {
                    "population": THEOREMS.format(m),
                    "size": str(M),
                    "concentration": 1.0,
                    "seed": seed,
                }
                limit = np.broadcast_to(limits[:, None], p.shape)
                drawn.append(rows_of([instance], [p], limit=limit, **columns))
    for instance in range(instances):
        pair = generator(seed, LEMMA, 3, instance).dirichlet(np.ones(3), 2)
        columns = {"population": LEMMA, "size": "3", "concentration": 1.0, "seed": seed}
        drawn.append(rows_of([instance], [pair], limit=math.nan, **columns))
    return HYPOTHESES.conform(pd.concat(drawn))
