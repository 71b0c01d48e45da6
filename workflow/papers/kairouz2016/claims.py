"""The claims of kairouz2016 that need more than a table of checks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.kairouz2016.summaries import EFFECTIVE_ORDER, EFFECTIVE_SHARE, ratios
from reproduction.ledger.claims import (
    Claim,
    Finding,
    Tables,
    finding,
    require_checks,
    require_instances,
    require_rows,
)
from reproduction.results.batches import gather
from reproduction.results.tables import select

PAPER = "kairouz2016"

# Hypothesis tests (Sections 1.3 and 3) --------------------------------------------------------------------


def effective_samples(tables: Tables, claim: Claim) -> Finding:
    """Compare the effective number of samples with ε² n, as an order and as a number."""
    rows = require_checks(select(tables[claim.tables[0]], claim=claim.id), claim.id)
    order, share = (
        require_rows(select(rows, quantity=name), name) for name in (EFFECTIVE_ORDER, EFFECTIVE_SHARE)
    )
    low, high = share["measured"].min(), share["measured"].max()
    measured = (
        f"At ε = 0.01 and 0.02 the largest divergence of reports over that of records falls like ε to the "
        f"{order['measured'].min():.3f} to {order['measured'].max():.3f}; it is {low:.2g} to {high:.2g} ε²."
    )
    reading = (
        f"Read as an order of ε. As a number the effective sample is {low:.2g} to {high:.2g} ε² n, and never "
        "more than a quarter of ε² n, by the bound of Section 3 and Pinsker's inequality."
    )
    return finding(
        measured,
        bool(order["holds"].all()),
        "The effective sample does not fall like ε².",
        "" if share["holds"].all() else reading,
        computed=f"{low:.2g} to {high:.2g} ε² n",
        n=len(order),
    )


# Thresholds (Theorems 5, 8, 12, 14) -----------------------------------------------------------------------


def thresholds(tables: Tables, claim: Claim) -> Finding:
    """Binary is optimal up to a positive ε*, randomized response from a finite ε*.

    ``arguments``: the mechanism, the utilities, the first of which must have been computed, and the ``least``
    ε* that counts as positive, or the ``most`` that counts as finite. A mechanism that is optimal nowhere has
    an infinite ε*, if it is to be optimal from there on.
    """
    mechanism, utilities = claim.arguments["mechanism"], claim.arguments["utilities"]
    rows = select(tables[claim.tables[0]], mechanism=mechanism, metric=utilities)
    # "At once" is what Theorem 5 says; the others only describe it.
    require_rows(select(rows, metric=utilities[0]), f"{mechanism}, {utilities[0]}")
    require_rows(rows, mechanism, "value", infinite="most" in claim.arguments)
    exists = rows["value"].between(claim.arguments.get("least", 0.0), claim.arguments.get("most", np.inf))
    names = {"all_f": "every f-divergence at once", "mutual_information": "mutual information", "chi2": "χ²"}
    ranges = [
        f"{names.get(utility, utility)} {_range_text(select(rows, metric=utility)['value'])}"
        for utility in utilities
        if (rows["metric"] == utility).any()
    ]
    measured = f"ε* least / median / largest: {'; '.join(ranges)} ({_count_instances(rows)} instances)."
    lacking = rows.loc[~exists, ["size", "instance"]].drop_duplicates()
    where = ", ".join(f"k = {size}, {instance}" for size, instance in lacking.itertuples(index=False))
    first = select(rows, metric=utilities[0])["value"]
    return finding(
        measured,
        lacking.empty,
        f"No such ε* was found for {where}.",
        computed=f"ε* between {first.min():.3g} and {first.max():.3g}",
        n=_count_instances(rows),
    )


def _range_text(values: pd.Series[float]) -> str:
    return f"{values.min():.3g} / {values.median():.3g} / {values.max():.3g}"


def _count_instances(rows: pd.DataFrame) -> int:
    return len(rows[["size", "instance"]].drop_duplicates())


# Expansions (Corollaries 9, 10, 15, 16) -------------------------------------------------------------------


def _variants(tables: Tables, claim: Claim) -> pd.DataFrame:
    """Return the rows of a corollary: a column per metric and variant, a row per instance.

    ``arguments`` has the corollary, and may have ``also``, a metric that not every corollary has.
    """
    corollary = claim.arguments["corollary"]
    rows = select(tables[claim.tables[0]], experiment=corollary)
    # A level from which something holds is infinite if it holds nowhere.
    finite = rows[(rows["metric"] != "level") | rows["value"].isna()]
    require_rows(finite, corollary, "value")
    if "also" in claim.arguments:
        require_rows(select(rows, metric=claim.arguments["also"]), f"{corollary}, {claim.arguments['also']}")
    wide = pd.DataFrame(rows.pivot_table("value", ["size", "instance"], ["metric", "mechanism"]))
    # Every instance has the same rows.
    return require_rows(wide, corollary, *wide.columns, infinite=True)


def small_expansion(tables: Tables, claim: Claim) -> Finding:
    """Corollaries 9 and 15: the constant of ε², and the order of what is left.

    ``arguments``: the corollary, the relative tolerance of the constant, and the least order.
    """
    wide, tolerance = _variants(tables, claim), claim.arguments["tolerance"]
    ratio = wide["constant", "computed"] / wide["constant", "printed"]
    order = wide["order", "printed"]
    measured = (
        f"Computed over printed constant {ratio.min():.4f} to {ratio.max():.4f}. The remainder is of order "
        f"$ε^{{{order.median():.2f}}}$ with the printed expansion, "
        f"$ε^{{{wide['order', 'derived'].median():.2f}}}$ with the derived one."
    )
    holds = bool(((ratio - 1).abs() < tolerance).all() and (order > claim.arguments["order"]).all())
    if "symmetrized" in wide:
        both = wide["symmetrized", "printed"]
        measured += f" Symmetrized sum over its bound: {both.min():.4f} to {both.max():.4f}."
        holds = holds and bool(((both - 1).abs() < tolerance).all())
    otherwise = "The constant, or the order of the remainder, is not the printed one."
    computed = f"{ratio.median():.3f} times the printed constant; error of order {order.median():.2f} in ε"
    return finding(measured, holds, otherwise, computed=computed, n=len(wide))


def large_expansion(tables: Tables, claim: Claim) -> Finding:
    """Corollaries 10 and 16: the constant of e^-ε, and the order of what is left.

    ``arguments``: the corollary and the least order.
    """
    wide = _variants(tables, claim)
    # An expansion without a term in e^-ε has the constant 0, up to rounding.
    constant = {
        variant: round(float(wide["constant", variant].median()), 9) + 0.0
        for variant in ("computed", "printed", "derived")
    }
    printed, derived = wide["order", "printed"].median(), wide["order", "derived"].median()
    measured = (
        f"Constant, median: computed {constant['computed']:.4g}, printed {constant['printed']:.4g}, derived "
        f"{constant['derived']:.4g}. The remainder decays as $e^{{-{printed:.2f} ε}}$ with the printed "
        f"constant, as $e^{{-{derived:.2f} ε}}$ with the derived one."
    )
    otherwise = (
        f"The printed expansion lacks terms of order $e^{{-ε}}$, so its error is of order {printed:.2f} in "
        "$e^{-ε}$ and not 2. With the terms that the errata derive, the constant is the computed one and the "
        f"order {derived:.2f}."
    )
    holds = bool((wide["order", "printed"] > claim.arguments["order"]).all())
    return finding(
        measured, holds, otherwise, computed=f"error of order {printed:.2f} in $e^{{-ε}}$", n=len(wide)
    )


def large_bound(tables: Tables, claim: Claim) -> Finding:
    """Corollary 16 as an inequality: the leading term of what randomized response loses, but for a share δ.

    ``arguments``: the corollary, δ, and the farthest that the leading term may be from the loss in the limit.
    """
    wide = _variants(tables, claim)
    level, limit = wide["level", "printed"], wide["limit", "printed"]
    delta, close = claim.arguments["delta"], claim.arguments["limit"]
    measured = (
        f"With δ = {delta:g} the bound holds from ε* = {level.median():.3g} on (median; largest "
        f"{level.max():.3g}). "
        f"At ε = 600 the loss is {limit.min():.4f} to {limit.max():.4f} of the printed term."
    )
    off = float((limit - 1).abs().max(skipna=False))
    return finding(
        measured,
        bool(np.isfinite(level).all()) and off <= close,
        "The bound fails at every ε for some prior, or its term is not the leading one.",
        computed=f"ε* at most {level.max():.3g}; at ε = 600 the loss is {off:.1%} off the printed term",
        n=len(wide),
    )


# Figures 3 to 8 -------------------------------------------------------------------------------------------


def _ratios(tables: Tables, claim: Claim, size: str) -> pd.DataFrame:
    """Return value / OPT per mechanism for one alphabet size, if there are enough instances."""
    table = tables[claim.tables[0]]
    shares = require_rows(ratios(table, claim.arguments["utility"], size=size), f"k = {size}")
    require_instances(shares.index.get_level_values("instance").nunique(), claim.arguments["instances"])
    # An optimum is positive; of an infinite bound every share would be 0.
    return require_rows(shares.where(shares > 0), f"k = {size}", "rr", "binary")


def _minima(tables: Tables, claim: Claim, size: str, statistic: str) -> pd.Series[float]:
    """Return the minima over fresh populations drawn as the figures are, if there are enough of them."""
    rows = select(
        tables["populations"], utility=claim.arguments["utility"], size=size, statistic=statistic, drawn=True
    )
    rows = require_rows(rows, f"the minima at k = {size}", "least")
    require_instances(len(rows), claim.arguments["populations"], "populations")
    return rows["least"]


def _may_be_drawn(stated: float, minima: pd.Series[float], claim: Claim) -> bool:
    """Tell whether a printed minimum, but for its rounding, may be that of a further population."""
    half = claim.arguments["rounding"]
    return bool(minima.min() - half <= stated <= minima.max() + half)


def _margin(stated: float, minima: pd.Series[float], claim: Claim) -> str:
    """Say where a printed minimum is: in the range, or how far outside, and how much of that is rounding."""
    outside = float(max(minima.min() - stated, stated - minima.max()))
    place = "inside" if outside <= 0 else f"{100 * outside:.1f} points outside"
    allowed = f", of the {100 * claim.arguments['rounding']:.1f} that its rounding allows" * (outside > 0)
    return f"printed {stated:.0%} is {place}{allowed}"


def _percents(minima: pd.Series[float]) -> str:
    return f"{minima.min():.1%} to {minima.max():.1%}"


def lows(tables: Tables, claim: Claim) -> Finding:
    """Figures 3 and 6: how far randomized response and binary fall below the optimum.

    ``arguments``: utility, size, the instances and the fresh populations needed, what is ``stated`` in the
    text (and in the ``caption``, if that differs) by mechanism, and half the step to which the paper rounds
    (``rounding``).
    """
    arguments, names = claim.arguments, {"rr": "randomized response", "binary": "binary"}
    least = _ratios(tables, claim, arguments["size"])[[*names]].min()
    minima = {name: _minima(tables, claim, arguments["size"], name) for name in names}
    measured = "; ".join(
        f"{words} {least[name]:.1%}, and {_percents(minima[name])} over {len(minima[name])} fresh "
        f"populations ({_margin(arguments['stated'][name], minima[name], claim)})"
        for name, words in names.items()
    )
    outside = {
        where: ", ".join(
            f"{names[name]} {x:.0%}" for name, x in said.items() if not _may_be_drawn(x, minima[name], claim)
        )
        for where, said in (("text", arguments["stated"]), ("caption", arguments.get("caption", {})))
    }
    reading = (
        f"Text and caption differ; read as the text. Outside the range of minima is {outside['caption']} of "
        "the caption."
    )
    return finding(
        f"Lowest share of the optimum: {measured}.",
        not outside["text"],
        f"No population of {arguments['instances']} instances has such minima ({outside['text']}).",
        reading if outside["caption"] else "",
        computed="; ".join(f"{words} {_percents(minima[name])}" for name, words in names.items()),
        n=len(minima["rr"]),
    )


def beats_geometric(tables: Tables, claim: Claim) -> Finding:
    """Figures 3 and 6: binary and randomized response are above the geometric mechanism in every regime.

    The text says so of both, and is read; the captions may be read of each in its own regime
    ("respectively"). ``arguments``: size.
    """
    size = claim.arguments["size"]
    table, columns = tables[claim.tables[0]], ["epsilon", "instance", "mechanism", "value"]
    rows = gather(table, columns, size=size, metric="normalized")
    rows = require_rows(rows[rows["epsilon"] > 0], f"k = {size}", "value", "epsilon")
    wide = rows.pivot_table("value", ["epsilon", "instance"], "mechanism")
    require_rows(wide, f"k = {size}", "binary", "rr", "geometric")
    mean = wide.groupby("epsilon").mean()
    names = {"binary": "binary", "rr": "RR"}
    over = {words: mean[name] / mean["geometric"] for name, words in names.items()}
    single = {words: wide[name] / wide["geometric"] for name, words in names.items()}
    below = {words: x.index[x <= 1] for words, x in over.items()}
    least = {words: x.min() for words, x in over.items()}
    measured = "; ".join(
        f"{words} {least[words]:.3f} of the mean (at ε = {over[words].idxmin():g}), and below it "
        "on some instance "
        + (
            f"from ε = {x.index.get_level_values('epsilon')[x < 1].min():g} on"
            if (x < 1).any()
            else "at no ε"
        )
        for words, x in single.items()
    )
    cases = "; ".join(f"{words} from ε = {x.min():g} to {x.max():g}" for words, x in below.items() if len(x))
    better = (mean[[*names]].max(axis=1) / mean["geometric"]).min()
    otherwise = (
        f"On average the geometric mechanism is at least as good: {cases}. The caption may be read of binary "
        f'at small and RR at large ε ("respectively"): at every ε the better of the two has at least '
        f"{better:.2f} times as much."
    )
    return finding(
        f"Over the geometric mechanism, least over ε: {measured}.",
        not cases,
        otherwise,
        computed="mean over that of geometric, at least: "
        + "; ".join(f"{words} {x:.2f}" for words, x in least.items()),
        n=wide.index.get_level_values("instance").nunique(),
    )


def better_of_two(tables: Tables, claim: Claim) -> Finding:
    """Figures 4 and 7: the better of binary and randomized response against the optimum.

    ``arguments``: utility, the instances and the fresh populations needed, what is ``stated`` by size, half
    the step to which the paper rounds (``rounding``), and the share of populations below which those that
    reach what is stated are ``few``.
    """
    stated = claim.arguments["stated"]
    least = {k: _ratios(tables, claim, k)[["rr", "binary"]].max(axis=1).min() for k in stated}
    minima = {k: _minima(tables, claim, k, "mixed") for k in stated}
    reached = {k: float((minima[k] >= share).mean()) for k, share in stated.items()}
    measured = "; ".join(
        f"k = {k}: {least[k]:.1%} in the figure, {_percents(minima[k])} over {len(minima[k])} fresh "
        "populations, of which "
        f"{reached[k]:.0%} reach {share:.0%}"
        for k, share in stated.items()
    )
    outside = [
        f"k = {k}: {share:.0%}" for k, share in stated.items() if not _may_be_drawn(share, minima[k], claim)
    ]
    rare = [
        f"{reached[k]:.0%} of them reach {share:.0%} at k = {k}"
        for k, share in stated.items()
        if reached[k] < claim.arguments["few"]
    ]
    reading = (
        "Read as a minimum over the paper's own instances, and not over every such population: "
        f"{'; '.join(rare)}."
    )
    return finding(
        f"Lowest share of the optimum, {measured}.",
        not outside,
        f"No population of {claim.arguments['instances']} instances has such a minimum "
        f"({'; '.join(outside)}).",
        reading if rare else "",
        computed="; ".join(f"k = {k}: {_percents(minima[k])}" for k in stated),
        n=min(map(len, minima.values())),
    )


def scaling(tables: Tables, claim: Claim) -> Finding:
    """Figures 5 and 8: the optimum against the printed expansion and the geometric mechanism.

    ``arguments``: utility, size, the levels (``epsilons``), the least correlation, and by how much the
    optimum may differ from the expansion in the median.
    """
    size, utility = claim.arguments["size"], claim.arguments["utility"]
    rows = select(tables[claim.tables[0]], size=size, metric=utility)
    measured, ratios_, holds = [], [], True
    private = select(rows, mechanism="identity").set_index("instance")["value"]
    for epsilon in claim.arguments["epsilons"]:
        part = require_rows(select(rows, epsilon=epsilon), f"k = {size}, ε = {epsilon:g}", "value")
        wide = part.pivot_table("value", "instance", "mechanism")
        require_rows(wide, f"k = {size}", "optimal", "printed", "geometric")
        correlation = float(wide["optimal"].corr(wide["printed"]))
        follows = float((wide["optimal"] / wide["printed"]).median())
        ratio = float((wide["optimal"] / wide["geometric"]).min())
        measured.append(
            f"ε = {epsilon:g}: correlation with the printed expansion {correlation:.5f}, median ratio to it "
            f"{follows:.3f}, optimum over geometric at least {ratio:.2f}"
        )
        if not private.empty and epsilon == max(claim.arguments["epsilons"]):
            later = (1 - wide["printed"] / private).abs().max()
            measured[-1] += (
                f" (the expansion differs from the utility without privacy by at most {later:.2%})"
            )
        ratios_.append(f"{ratio:.2f}")
        close = correlation >= claim.arguments["correlation"] and abs(follows - 1) <= claim.arguments["ratio"]
        holds = holds and close and ratio > 1
    otherwise = "The optimum does not follow the expansion, or does not beat the geometric mechanism."
    computed = f"at least {', '.join(ratios_)} times the geometric mechanism"
    return finding("; ".join(measured) + ".", holds, otherwise, computed=computed, n=len(wide))
