"""What the toy computes."""

import math

import pandas as pd

from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.privacy import ldp_epsilon
from reproduction.results.tables import CHECKS, CLOSED_FORM, RESULTS, Check, Result


def rates(*, points: int, seed: int) -> pd.DataFrame:
    """Compute the probability of a true answer over a grid of privacy levels."""
    rows = []
    for epsilon in range(1, points + 1):
        channel = randomized_response(2, epsilon)
        rows.append(
            Result(
                "toy2026", "fig1", f"{seed}", "rr", "truth", channel.matrix[0, 0], unit="1", size="2",
                epsilon=epsilon, direction="max", bound=1.0 / (1.0 + math.exp(-epsilon)), status=CLOSED_FORM,
                channel=channel, privacy=ldp_epsilon(channel),
            )
        )  # fmt: skip
    return RESULTS.table(rows)


def checks(table: pd.DataFrame) -> pd.DataFrame:
    """Check the statement of Figure 1."""
    least = float(table["value"].min())
    return CHECKS.table([Check("toy2026", "T-1", "grid", "truth", least, ">=", 0.5)])
