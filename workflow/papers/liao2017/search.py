"""The exhaustive search over 2 x 2 channels of liao2017 (section VI), whose step the paper does not state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.hypothesis_testing.hypotheses import Hypotheses
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import BITS
from reproduction.results.tables import HEURISTIC, RESULTS, Result, Row, TableError, select

PAPER = "liao2017"


class Search:
    """The best 2 x 2 channels with entries k / steps by their leakage, for hypotheses on two letters."""

    def __init__(self, tested: Hypotheses, steps: int) -> None:
        if tested.letters != 2 or steps < 1:
            raise ValueError(
                f"The search is over {tested.letters} letters in {steps} steps; allowed are 2 letters and at "
                "least one step."
            )
        grid = np.linspace(0.0, 1.0, steps + 1)
        # The other half of the channels has the outputs exchanged.
        a, b = (x[np.tri(steps + 1, dtype=bool)] for x in np.meshgrid(grid, grid, indexing="ij"))
        ones = np.stack([a, b], axis=-1)
        columns = np.stack([ones, 1.0 - ones], axis=-2)
        leakages = (tested.costs(columns).sum(axis=1) * BITS).max(axis=1)
        order = np.argsort(leakages, kind="stable")
        gains = tested.gains(columns).sum(axis=1).min(axis=1)[order]
        better = gains > np.concatenate([[-1.0], np.maximum.accumulate(gains)[:-1]])
        self._leakages = leakages[order][better]
        self._columns = columns[order][better]

    def __call__(self, epsilon: float) -> Channel:
        """Return the best channel of leakage at most `epsilon` (bits, at least 0)."""
        return Channel(self._columns[int(np.searchsorted(self._leakages, epsilon, side="right")) - 1].T)


def grid(
    sweeps: pd.DataFrame,
    comparison: pd.DataFrame,
    instances: Sequence[Mapping[str, Any]],
    steps: Sequence[int],
) -> pd.DataFrame:
    """Search the 2 x 2 channels at every leakage at which W' is compared with the optima.

    Those of `plan.read_instances` on two letters count. Each of `steps` is a search among channels with
    entries that are multiples of 1 / steps, the mechanisms ``grid_100`` etc.; the bounds are those of the
    optimum with any outputs.
    """
    rows: list[Row] = []
    for entry in instances:
        distributions = np.array(entry["hypotheses"], dtype=np.float64)
        if distributions.shape[1] != 2:
            continue
        own = select(pd.concat([sweeps, comparison]), instance=entry["name"])
        if own.empty:
            raise TableError(f"There are no results of {entry['name']}; a search is compared with them.")
        size = "{} x {}".format(*distributions.shape)
        row = partial(Result, PAPER, "grid", entry["name"], size=size, epsilon_unit="bits", status=HEURISTIC)
        best = select(own, mechanism="optimal").drop_duplicates(["metric", "epsilon"])
        for metric in ("relative_entropy", "renyi"):
            part = select(best, metric=metric)
            if part.empty:
                continue
            order = float(part["order"].iloc[0])
            tested = Hypotheses(distributions, 1.0 if math.isnan(order) else order)
            full = float(tested.divergences.min()) * BITS
            for number in steps:
                search = Search(tested, number)
                for epsilon, bound in zip(part["epsilon"], part["bound"], strict=True):
                    channel = search(epsilon)
                    value = tested.utility(channel)
                    for name, unit, scale in ((metric, "bits", 1.0), (f"normalized_{metric}", "1", full)):
                        rows.append(
                            row(
                                f"grid_{number}", name, value / scale, unit=unit, order=order,
                                epsilon=epsilon, direction="max", bound=bound / scale, channel=channel,
                                privacy=float(tested.leakage(channel).max()),
                                note=f"exhaustive search in steps of 1/{number}",
                            )
                        )  # fmt: skip
    return RESULTS.table(rows)
