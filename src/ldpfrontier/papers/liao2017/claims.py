"""How the claims of liao2017 are decided."""

from __future__ import annotations

import pandas as pd

from ldpfrontier.claims import Claim, Finding, Tables, some, verdict
from ldpfrontier.papers.liao2017.summaries import OF_ANY, OF_TWO
from ldpfrontier.tables import select


def renyi_limit(tables: Tables, claim: Claim) -> Finding:
    """Lemma 2: the ratio of the divergences tends to its limit."""
    rows = some(select(tables["theorems"], claim=claim.id), claim.id).sort_values("at", ascending=False)
    steps = "; ".join(f"{v:.2g} at {at:g}" for at, v in zip(rows["at"], rows["measured"], strict=True))
    measured = f"Relative distance from the limit: {steps} from a constant channel."
    return verdict(measured, bool(rows["holds"].all()), "The ratio does not tend to the limit.")


def approximation(tables: Tables, claim: Claim) -> Finding:
    """Figures 2 and 3: the share of the optimum that W' has where the text says they are equal."""
    rows = some(select(tables["statements"], claim=claim.id), claim.id)
    two, any_ = (select(rows, quantity=name).set_index("instance") for name in (OF_TWO, OF_ANY))
    measured = "; ".join(
        f"{name}, {two['note'][name]}: at least {two['measured'][name]:.1%} of the optimum with 2 outputs, "
        f"{any_['measured'][name]:.1%} of that with any outputs"
        for name in two.index
    )
    far = [str(name) for name in two.index[~two["holds"]]]
    first = tables["high_privacy"].set_index("instance")["share_of_any"]
    near = ", ".join(f"{x:.1%}" for x in first.reindex(far))
    otherwise = (
        f"For {', '.join(far)} another 2 x 2 channel of the same leakage has more utility. The curves meet "
        f"in absolute terms, because both go to 0, but the share does not go to 1: it is {near} at the least "
        "leakage computed. The optimum uses a rare output, W' two equally likely ones."
        f"{_other_start(tables['shares'], far)}"
    )
    reading = "It holds against the optimum with two outputs; more outputs have more utility."
    return verdict(f"{measured}.", not far, otherwise, "" if any_["holds"].all() else reading)


def _other_start(shares: pd.DataFrame, instances: list[str]) -> str:
    """Say what W' has around its best nominal row instead of (1/2, 1/2), at the least leakage compared."""
    rows = select(shares, instance=instances).sort_values("leakage")
    share = (rows["eit_w0"] / rows["optimal"]).groupby(rows["instance"]).first().min()
    return "" if pd.isna(share) else f" With the best w_0 instead of (1/2, 1/2) W' has {share:.1%} there."
