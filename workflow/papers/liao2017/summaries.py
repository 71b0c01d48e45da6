"""Tables derived from those of liao2017: statements on figures, limits at high privacy, and shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.results.tables import CHECKS, Check, Schema, TableError, select

PAPER = "liao2017"

#: What the statements on Figures 2 and 3 are about, by the optimum that W' is compared with.
OF_TWO, OF_ANY = "share of the optimum with 2 outputs", "share of the optimum with any outputs"

#: Lemma 2: how the ratio approaches its limit.
FALL, LIMIT = "factor by which the difference falls", "extrapolated distance from the limit"

HIGH_PRIVACY = Schema(
    name="high privacy",
    columns={
        "instance": "str",
        "epsilon": "float64",  # least leakage of the sweep, bits
        "leakage": "float64",  # the same over min H
        "share_of_any": "float64",  # utility of W' over that of the optimum with any outputs
        "leakage_ratio": "float64",  # leakage of W' over what the E-IT approximation takes for it
        "utility_ratio": "float64",  # the same for its utility
    },
    key=("instance",),
    finite=("leakage", "share_of_any"),
)

SHARES = Schema(
    name="shares",
    columns={
        "instance": "str",
        "leakage": "float64",  # over min H
        # Utility over that without privacy; missing where there is no such mechanism.
        **dict.fromkeys(("eit", "eit_w0", "grid", "optimal_2", "optimal"), "float64"),
        "share_of_2": "float64",  # utility of W' over that of the 2 x 2 optimum
        "share_of_any": "float64",  # the same for the optimum with any outputs
    },
    key=("instance", "leakage"),
    finite=("eit", "optimal", "share_of_any"),
)


SEARCHES = Schema(
    name="searches",
    columns={
        "claim": "str",
        "instance": "str",
        "steps": "Int64",  # of the exhaustive search
        "leakage": "float64",  # up to which W' and W* are to be equal, over min H
        "mean": "float64",  # of the shares that W' has up to the leakage, where the search finds a channel
        "least": "float64",  # of these
        "beyond": "float64",  # mean share from there to ten times the leakage
        "ratio": "float64",  # utility found over that of the 2 x 2 optimum, at the leakage
        "apart": "float64",  # of the curves of W' and the 2 x 2 optimum up to the leakage, over the axis
    },
    key=("claim", "instance", "steps"),
)


def searches(
    sweeps: pd.DataFrame,
    comparison: pd.DataFrame,
    grid: pd.DataFrame,
    *,
    stated: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """Compare W' with the best channels of exhaustive searches, where a statement has a leakage.

    A search scatters: its best channel leaks up to a step less than allowed. So the shares are averaged over
    the leakages computed. Where it finds constant channels only, there is nothing to compare.
    """
    rows = []
    for said in stated:
        if said["leakage"] is None:
            continue
        part = select(pd.concat([sweeps, comparison, grid]), instance=said["instance"])
        values = select(part, metric="relative_entropy").pivot_table(
            index="epsilon", columns="mechanism", values="value"
        )
        values = values[values["eit"].notna()]
        values.index = values.index / _min_entropy(part)
        inside = values.index <= said["leakage"] * (1.0 + 1e-9)
        after = ~inside & (values.index <= 10.0 * said["leakage"])
        apart = (values["optimal_2"] - values["eit"])[inside].max() / values["optimal_2"].max()
        for name in sorted(
            {*map(str, values)} - {"eit", "eit_w0", "grid", "optimal_2", "optimal", "identity"}
        ):
            ratio = (values["eit"] / values[name]).where(values[name] > 1e-12)
            rows.append(
                {
                    "claim": said["claim"],
                    "instance": said["instance"],
                    "steps": int(name.removeprefix("grid_")),
                    "leakage": said["leakage"],
                    "mean": ratio[inside].mean(),
                    "least": ratio[inside].min(),
                    "beyond": ratio[after].mean(),
                    "ratio": (values[name] / values["optimal_2"])[inside].iloc[-1],
                    "apart": apart,
                }
            )
    return SEARCHES.table(rows)


def statements(
    sweeps: pd.DataFrame, comparison: pd.DataFrame, *, stated: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """Measure what the text says of Figures 2 and 3: W' and W* equal up to a leakage, or everywhere.

    A statement has the ``claim``, the ``instance``, the ``leakage`` over min H up to which it is to hold
    (None: over the whole range), and the ``share`` of the optimum that counts as equal. Measured are the
    least share of the optimum that W' has, and the leakage at which that is.
    """
    rows = []
    for said in stated:
        part = select(pd.concat([sweeps, comparison]), instance=said["instance"])
        if part.empty:
            raise TableError(f"There are no results of {said['instance']}; {said['claim']} needs them.")
        values = select(part, metric="relative_entropy").pivot_table(
            index="epsilon", columns="mechanism", values="value"
        )
        values = values[values["eit"].notna()]
        limit = math.inf if said["leakage"] is None else said["leakage"]
        values = values[values.index <= limit * _min_entropy(part) * (1.0 + 1e-9)]
        for quantity, mechanism in ((OF_TWO, "optimal_2"), (OF_ANY, "optimal")):
            share = values["eit"] / values[mechanism]
            least = int(share.to_numpy().argmin())
            rows.append(
                Check(
                    PAPER, said["claim"], said["instance"], quantity,
                    share.iloc[least], ">=", said["share"],
                    size=part["size"].iloc[0], parameter="epsilon (bits)", at=share.index[least],
                    note=f"up to {limit:.1%} of min H" if limit < math.inf else "over the whole range",
                )
            )  # fmt: skip
    return CHECKS.table(rows)


def high_privacy(sweeps: pd.DataFrame) -> pd.DataFrame:
    """Compare W' with the optimum and with its approximation at the least leakage of every sweep.

    The limit of ``share_of_any`` is 1 if W' is optimal at high privacy; the limits of the ratios are 1 if
    Proposition 1 holds.
    """
    rows = []
    for instance, part in sweeps.groupby("instance"):
        own = part[np.isfinite(part["epsilon"])]
        wide = select(own, mechanism="eit").pivot_table(index="epsilon", columns="metric", values="value")
        epsilon = float(wide.index.min())
        first = wide.loc[epsilon]
        best = select(own, mechanism="optimal", metric="relative_entropy", epsilon=epsilon)["value"].iloc[0]
        rows.append(
            {
                "instance": instance,
                "epsilon": epsilon,
                "leakage": epsilon / _min_entropy(part),
                "share_of_any": first["relative_entropy"] / best,
                "leakage_ratio": epsilon / first["eit_leakage"],
                "utility_ratio": first["relative_entropy"] / first["eit_utility"],
            }
        )
    return HIGH_PRIVACY.table(rows)


def shares(comparison: pd.DataFrame) -> pd.DataFrame:
    """Lay out a comparison: a row per instance and leakage."""
    least = select(comparison, metric="min_entropy").set_index("instance")["value"]
    rows = select(comparison, metric="normalized_relative_entropy").assign(
        leakage=lambda t: (t["epsilon"] / t["instance"].map(least)).round(12)
    )
    wide = rows.pivot_table(index=["instance", "leakage"], columns="mechanism", values="value")
    wide = wide.reindex(columns=["eit", "eit_w0", "grid", "optimal_2", "optimal"])
    wide["share_of_2"] = wide["eit"] / wide["optimal_2"]
    wide["share_of_any"] = wide["eit"] / wide["optimal"]
    return SHARES.conform(wide.reset_index())


def _min_entropy(part: pd.DataFrame) -> float:
    return float(select(part, metric="min_entropy")["value"].iloc[0])


# Tables to read -------------------------------------------------------------------------------------------


def hypotheses_texts(hypotheses: pd.DataFrame) -> pd.DataFrame:
    """Lay out Tables I and II: a row per instance, with what the words "close" of Table I stand for."""
    letters = [name for name in hypotheses.columns if name.startswith("p")]
    rows = []
    for (table, instance), part in hypotheses.groupby(["table", "instance"], sort=False):
        distributions = [p.dropna() for _, p in part[letters].iterrows()]
        rows.append(
            {
                "table": table,
                "instance": instance,
                "hypotheses": " ".join(f"({', '.join(f'{x:.2f}' for x in p)})" for p in distributions),
                "distance from the first": f"{part['from_first'].iloc[1:].min():.2f}",
                "distance from uniform": ", ".join(f"{x:.2f}" for x in part["from_uniform"]),
                "min H (bits)": f"{part['entropy'].min():.4g}",
                "min D (bits)": f"{part['divergence'].iloc[1:].min():.4g}",
            }
        )
    return pd.DataFrame(rows)
