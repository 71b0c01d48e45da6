"""The claims ledger: what the papers state about their numbers, decided from the result tables alone.

An entry of ``resources/claims.yaml`` names the check that decides it, one of the functions here with the
decorator `check`. A check reads result tables and returns a `Finding`; it sees neither configuration nor
solver, so a verdict follows from the tables, and other tables give another verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
import yaml  # type: ignore[import-untyped, unused-ignore]

from ldpfrontier.papers.lopuhaa2024 import synthetic as study
from ldpfrontier.papers.lopuhaa2024.theorems import THEOREMS
from ldpfrontier.tables import EXAMPLES, RESULTS, SKIPPED, Schema, read_table

Verdict = Literal["reproduced", "reproduced with another reading", "not reproduced", "not checkable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REPRODUCED, ANOTHER_READING, NOT_REPRODUCED, NOT_CHECKABLE = VERDICTS

#: Tables that are not in the form of `RESULTS`.
SCHEMAS: Mapping[str, Schema] = {
    "lopuhaa2024/example": EXAMPLES,
    "lopuhaa2024/theorems": THEOREMS,
    "kalantari2018/sources": EXAMPLES,
}

#: Instances that a statement about the least or a quantile of 100 random instances needs.
_INSTANCES = 100

#: What a minimum over 100 random instances may differ from the printed one, and how far other seeds differ.
_CLOSE, _SAMPLING = 0.05, 0.10

_SAMPLE = (
    "The paper does not publish its random instances, and a minimum over 100 of them is not a constant: "
    "other seeds move it by several percentage points. The number is read as that of one random sample."
)


class NotCheckable(Exception):
    """A claim that the tables at hand cannot decide; the message says what is missing."""


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Parameters
    ----------
    measured : str
        The numbers, with enough words to read them alone.
    verdict : Verdict
    explanation : str
        Why, for a reader who has the paper; required unless the claim is reproduced as it stands.
    """

    measured: str
    verdict: Verdict
    explanation: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"The verdict is {self.verdict!r}; allowed are {', '.join(VERDICTS)}.")
        if self.verdict != REPRODUCED and not self.explanation:
            raise ValueError(f"The verdict {self.verdict!r} needs an explanation.")


@dataclass(frozen=True)
class Claim:
    """An entry of the ledger: see ``resources/claims.yaml``."""

    id: str
    paper: str
    where: str
    statement: str
    check: str
    table: str
    figure: str


class ResultTables(Mapping[str, pd.DataFrame]):
    """The result tables below a directory by name, as in ``"kairouz2016/fig3"``, read when asked for."""

    def __init__(self, directory: Path | str) -> None:
        self._paths = {
            f"{path.parent.name}/{path.stem}": path for path in sorted(Path(directory).glob("*/*.parquet"))
        }
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            self._read[name] = read_table(self._paths[name], SCHEMAS.get(name, RESULTS))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


Tables = Mapping[str, pd.DataFrame]
Check = Callable[[Tables, Claim], Finding]
CHECKS: dict[str, Check] = {}

_TEXTS = ("id", "paper", "where", "statement", "measured", "verdict", "explanation", "table", "figure")

LEDGER = Schema(
    name="claims",
    columns={"order": "Int64", **dict.fromkeys(_TEXTS, "str")},
    key=("order",),
    rules=lambda table: iter([(~table["verdict"].isin(VERDICTS), "has the unknown verdict {verdict}")]),
)


def check(function: Check) -> Check:
    """Make a function known to the ledger by its name."""
    CHECKS[function.__name__] = function
    return function


def read_claims(path: Path | str) -> list[Claim]:
    """Read the ledger's entries.

    Raises
    ------
    ValueError
        If an entry lacks a key or has an unknown one, names no check, or repeats an id.
    """
    claims: list[Claim] = []
    for entry in yaml.safe_load(Path(path).read_text(encoding="utf-8")):
        try:
            claim = Claim(**entry)
        except TypeError as error:
            raise ValueError(f"The entry {entry.get('id')} of {path} does not fit: {error}.") from None
        if claim.check not in CHECKS:
            raise ValueError(f"Claim {claim.id} names the check {claim.check}; there is no such function.")
        if claim.id in {other.id for other in claims}:
            raise ValueError(f"Claim {claim.id} is in {path} more than once.")
        claims.append(claim)
    return claims


def decide(claim: Claim, tables: Tables) -> Finding:
    """Decide one claim; what the tables lack makes it not checkable."""
    try:
        return CHECKS[claim.check](tables, claim)
    except NotCheckable as missing:
        return Finding("-", NOT_CHECKABLE, str(missing))


def ledger(claims: Sequence[Claim], tables: Tables) -> pd.DataFrame:
    """Decide every claim.

    Returns
    -------
    DataFrame
        As `LEDGER`, in the order of the entries; table and figure as ``paper/name``, ``-`` for no figure.
    """
    rows = [
        {
            "order": order,
            "id": claim.id,
            "paper": claim.paper,
            "where": claim.where,
            "statement": claim.statement,
            **vars(decide(claim, tables)),
            "table": f"{claim.paper}/{claim.table}",
            "figure": "-" if claim.figure == "-" else f"{claim.paper}/{claim.figure}",
        }
        for order, claim in enumerate(claims, start=1)
    ]
    return LEDGER.conform(pd.DataFrame(rows, columns=list(LEDGER.columns)))


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count the claims of a ledger: a row per paper and one for all, a column per verdict."""
    wide = pd.crosstab(table["paper"], table["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    wide.loc["all"] = wide.sum()
    return wide.rename_axis(index="paper", columns=None).reset_index()


def texts(table: pd.DataFrame) -> pd.DataFrame:
    """Lay a ledger out as a table of texts to read."""
    shown = table[["id", "paper", "where", "statement", "verdict", "measured", "explanation"]]
    return shown.map(lambda text: text.replace("|", r"\|"))


@dataclass(frozen=True)
class Erratum:
    """An entry of ``resources/errata.yaml``; `test` is ``file::function``."""

    paper: str
    where: str
    printed: str
    correct: str
    shown: str
    test: str


def read_errata(path: Path | str) -> list[Erratum]:
    """Read the errata.

    Raises
    ------
    ValueError
        If an entry lacks a key or has an unknown one.
    """
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    try:
        return [Erratum(**entry) for entry in entries]
    except TypeError as error:
        raise ValueError(f"An entry of {path} does not fit: {error}.") from None


def errata_texts(errata: Sequence[Erratum]) -> pd.DataFrame:
    """Lay the errata out as a table of texts to read."""
    headings = {"correct": "should be", "shown": "how it is shown"}
    frame = pd.DataFrame([vars(erratum) for erratum in errata]).rename(columns=headings)
    return frame.map(lambda text: text.replace("|", r"\|"))


# Helpers --------------------------------------------------------------------------------------------------


def _table(tables: Tables, claim: Claim, name: str = "") -> pd.DataFrame:
    key = f"{claim.paper}/{name or claim.table}"
    if key not in tables:
        raise NotCheckable(f"The table {key} is missing.")
    return tables[key]


def _some(rows: pd.DataFrame, what: str) -> pd.DataFrame:
    if rows.empty:
        raise NotCheckable(f"The table has no rows of {what}; the configuration leaves them out.")
    return rows


def _enough(found: int, what: str = "instances") -> None:
    if found < _INSTANCES:
        raise NotCheckable(f"The statement is about {_INSTANCES} random {what}; the tables have {found}.")


def _decide(measured: str, holds: bool, otherwise: str, reading: str = "") -> Finding:
    if not holds:
        return Finding(measured, NOT_REPRODUCED, otherwise)
    return Finding(measured, ANOTHER_READING if reading else REPRODUCED, reading)


def _parts(parts: Mapping[str, bool], numbers: str, remark: str) -> Finding:
    """Decide a statement of several parts: reproduced if all hold."""
    held = [part for part, holds in parts.items() if holds]
    failed = [part for part, holds in parts.items() if not holds]
    measured = f"{len(held)} of {len(parts)} parts hold. {numbers}"
    kept = f" Holds: {'; '.join(held)}." if held else ""
    return _decide(measured, not failed, f"Does not hold: {'; '.join(failed)}.{kept} {remark}".strip())


def _range(values: pd.Series[float]) -> str:
    return f"{values.min():.3g} / {values.median():.3g} / {values.max():.3g}"


# Statements that are bounds on a measured quantity --------------------------------------------------------

#: Per claim: a column and what its values start with, then per metric the relation, the limit and what it is.
_BOUNDS: Mapping[str, tuple[tuple[str, str], Mapping[str, tuple[str, float, str]]]] = {
    "K-T2": (
        ("experiment", "theorems"),
        {
            "K-T2 outputs": ("<=", 1.0, "outputs over k"),
            "K-T2 ratios": ("<=", 1e-6, "relative distance of the ratios from 1 or e^ε"),
        },
    ),
    "K-T6": (
        ("experiment", "theorems"),
        {
            "K-T6 ratio": (">=", 1 - 1e-9, "binary over the optimum's upper bound"),
            "K-T6 formula": ("<=", 1e-9, "distance from the formula"),
        },
    ),
    "K-T7": (("experiment", "theorems"), {"K-T7": (">=", 1.0, "binary over the bound")}),
    "K-T13": (("experiment", "theorems"), {"K-T13": (">=", 1.0, "binary over the bound")}),
    "K-T18": (
        ("experiment", "quaternary"),
        {
            "containment": (">=", -1e-9, "distance of error regions inside the quaternary one"),
            "tightness": ("<=", 1e-9, "distance of the quaternary region from Figure 9b"),
            **{
                f"excess {utility}": ("<=", 1e-9, f"excess over the quaternary mechanism in {words}")
                for utility, words in {
                    "kl": "KL",
                    "tv": "total variation",
                    "chi2": "χ²",
                    "hellinger": "Hellinger",
                    "mutual_information": "mutual information",
                }.items()
            },
        },
    ),
    "Li-T1": (
        ("mechanism", "Li-T1"),
        {
            "sdp": ("<=", 1e-5, "relative distance from the SDP"),
            "solver": ("<=", 1e-4, "relative distance from the direct program"),
            "rank": ("<=", 1.0, "rank"),
        },
    ),
    "Li-T3": (
        ("mechanism", "Li-T3"),
        {
            "construction": ("<=", 1e-6, "relative distance of the construction's value from the SDP's"),
            "excess": ("<=", 1e-6, "relative leakage above the limit"),
            "orthogonal": ("<=", 1e-9, "|A sqrt(w_0)|"),
            "outputs": ("<=", 1.0, "outputs over M + 1"),
            "negative": ("<=", 0.0, "minus the least entry of the channel"),
        },
    ),
    "Ka-T1": (("mechanism", "measured"), {"Ka-T1": ("<=", 1e-9, "distance from the exact optimum, nats")}),
    "Ka-L5": (("mechanism", "measured"), {"Ka-L5": ("<=", 1e-8, "distance from the exact optimum, nats")}),
    "Ka-L6": (
        ("mechanism", "measured"),
        {
            "Ka-L6 zero": ("<=", 1e-8, "MI leakage at D ≥ D^(M-1)"),
            "Ka-L6 positive": (">=", 1e-6, "MI leakage below it"),
        },
    ),
    **{
        name: (
            ("mechanism", "measured"),
            {
                f"{name} same": (">=", 1e-9, "largest D without a gain over Class I"),
                f"{name} gain": (">=", 0.1, "largest gain over Class I, nats"),
                f"{name} order": (">=", -1e-9, "increase of leakage to the next set, nats"),
            },
        )
        for name in ("Ka-F4", "Ka-F5")
    },
    **{
        name: (
            ("mechanism", "measured"),
            {
                f"{name} gap": (">=", 1e-9, "DP minus MI leakage where DP is positive"),
                f"{name} equal": ("<=", 1e-8, "their distance where DP is zero"),
                f"{name} mi convex": (">=", -1e-6, "second difference of MI leakage"),
                f"{name} dp convex": ("<=", -1e-6, "second difference of DP leakage"),
            },
        )
        for name in ("Ka-F6", "Ka-F7")
    },
}


@check
def bounds(tables: Tables, claim: Claim) -> Finding:
    """Compare measured quantities with their limits, in the worst case over all rows."""
    (column, start), metrics = _BOUNDS[claim.id]
    table = _table(tables, claim)
    table = table[table[column].str.startswith(start)]
    measured, broken, instances = [], [], set[str]()
    for metric, (relation, limit, words) in metrics.items():
        rows = _some(table[table["metric"] == metric], metric)
        least = relation == ">="
        values = rows["value"].to_numpy()
        worst = rows.iloc[int(values.argmin() if least else values.argmax())]
        instances |= set(rows["instance"])
        measured.append(f"{words}: {'at least' if least else 'at most'} {worst['value']:.4g}")
        if not (worst["value"] >= limit if least else worst["value"] <= limit):
            broken.append(f"{words} is {worst['value']:.4g} in {worst['instance']}, the limit {limit:.4g}")
    otherwise = f"The statement fails: {'; '.join(broken)}."
    return _decide(f"{'; '.join(measured)} (over {len(instances)} instances).", not broken, otherwise)


# kairouz2016 ----------------------------------------------------------------------------------------------

#: Per claim the mechanism, and the utilities whose threshold it is about.
_THRESHOLDS = {
    "K-T5": ("binary", ("all_f", "kl", "chi2", "hellinger")),
    "K-T8": ("rr", ("kl",)),
    "K-T12": ("binary", ("mutual_information",)),
    "K-T14": ("rr", ("mutual_information",)),
}


@check
def thresholds(tables: Tables, claim: Claim) -> Finding:
    """Binary is optimal up to a positive ε*, randomized response from a finite ε*."""
    mechanism, utilities = _THRESHOLDS[claim.id]
    table = _table(tables, claim)
    rows = table[(table["mechanism"] == mechanism) & table["metric"].isin(utilities)]
    # "At once" is what the theorem says; the others only describe it.
    _some(rows[rows["metric"] == utilities[0]], f"{mechanism}, {utilities[0]}")
    exists = rows["value"] > 0 if mechanism == "binary" else np.isfinite(rows["value"])
    names = {"all_f": "every f-divergence at once", "mutual_information": "mutual information", "chi2": "χ²"}
    ranges = [
        f"{names.get(utility, utility)} {_range(rows.loc[rows['metric'] == utility, 'value'])}"
        for utility in utilities
        if (rows["metric"] == utility).any()
    ]
    measured = f"ε* least / median / largest: {'; '.join(ranges)} ({rows['instance'].nunique()} instances)."
    lacking = rows.loc[~exists, "instance"].unique()
    return _decide(measured, len(lacking) == 0, f"No such ε* was found for {', '.join(lacking)}.")


def _orders(rows: pd.DataFrame, claim: Claim) -> dict[str, pd.Series[float]]:
    part = rows[rows["metric"].str.startswith(f"{claim.id} ")]
    _some(part, claim.id)
    names = part["mechanism"] + part["metric"].str.removeprefix(claim.id)
    return {str(name): values.set_index("instance")["value"] for name, values in part.groupby(names)}


@check
def small_expansion(tables: Tables, claim: Claim) -> Finding:
    """Corollaries 9 and 15: the constant of ε², and the order of what is left."""
    found = _orders(_table(tables, claim), claim)
    ratio = found["computed constant"] / found["printed constant"]
    order = found["printed order"]
    measured = (
        f"Computed over printed constant {ratio.min():.4f} to {ratio.max():.4f}; what is left is of order "
        f"{order.median():.2f} in ε (printed), {found['derived order'].median():.2f} (derived)."
    )
    holds = bool((np.abs(ratio - 1) < 0.05).all() and (order > 2.8).all())
    if "printed symmetrized" in found:
        both = found["printed symmetrized"]
        measured += f" Symmetrized sum over its bound: {both.min():.4f} to {both.max():.4f}."
        holds = holds and bool((np.abs(both - 1) < 0.05).all())
    otherwise = "The constant, or the order of what the expansion leaves, is not the printed one."
    return _decide(measured, holds, otherwise)


@check
def large_expansion(tables: Tables, claim: Claim) -> Finding:
    """Corollaries 10 and 16: the constant of e^-ε, and the order of what is left."""
    found = _orders(_table(tables, claim), claim)
    constant = {name: found[f"{name} constant"].median() for name in ("computed", "printed", "derived")}
    printed, derived = found["printed order"].median(), found["derived order"].median()
    measured = (
        f"Constant, median: computed {constant['computed']:.4g}, printed {constant['printed']:.4g}, derived "
        f"{constant['derived']:.4g}. What is left is of order {printed:.2f} in e^-ε (printed), {derived:.2f} "
        "(derived)."
    )
    otherwise = (
        f"The printed expansion lacks terms of order e^-ε, so its error is of order {printed:.2f} in e^-ε "
        "and not 2. With the terms that the errata derive, the constant is the computed one and the order "
        f"{derived:.2f}."
    )
    return _decide(measured, bool((found["printed order"] > 1.6).all()), otherwise)


def _ratios(tables: Tables, claim: Claim, size: int, *, complete: bool = True) -> pd.DataFrame:
    """Return value over the optimum's bound per mechanism, for one alphabet size, at positive ε."""
    table = _table(tables, claim)
    rows = table[table["metric"].isin(["kl", "mutual_information"]) & table["epsilon"].between(1e-12, 1e6)]
    rows = _some(rows[rows["instance"].str.startswith(f"k={size:02d}, ")], f"k = {size}")
    if complete:
        _enough(rows["instance"].nunique())
    ratio = rows.assign(ratio=rows["value"] / rows["upper_bound"])
    return ratio.pivot_table(index=["instance", "epsilon"], columns="mechanism", values="ratio")


@check
def lows(tables: Tables, claim: Claim) -> Finding:
    """Figures 3 and 6: how far randomized response and binary fall below the optimum."""
    least = _ratios(tables, claim, 6)[["rr", "binary"]].min()
    measured = (
        f"Least share of the optimum: randomized response {least['rr']:.1%}, binary {least['binary']:.1%}."
    )
    if claim.id == "K-F3a":
        said, reading = {"rr": 0.10, "binary": 0.25}, ""
    else:
        text = abs(least["binary"] - 0.40) <= abs(least["binary"] - 0.35)
        said = {"rr": 0.35, "binary": 0.40 if text else 0.35}
        reading = (
            f"Text and caption name different minima for binary; it is the {'text' if text else 'caption'} "
            "that agrees with what is computed."
        )
    off = max(abs(least[name] - share) for name, share in said.items())
    if off > _CLOSE:
        reading = _SAMPLE
    return _decide(measured, off <= _SAMPLING, f"The minima are {off:.1%} off. {_SAMPLE}", reading)


@check
def beats_geometric(tables: Tables, claim: Claim) -> Finding:
    """Figure 3: binary and randomized response are above the geometric mechanism on average."""
    table = _table(tables, claim)
    rows = table[(table["metric"] == "normalized") & (table["epsilon"] > 0)]
    rows = _some(rows[rows["instance"].str.startswith("k=06, ")], "k = 6")
    mean = rows.pivot_table(index="epsilon", columns="mechanism", values="value")
    least = {name: (mean[name] / mean["geometric"]).min() for name in ("binary", "rr")}
    measured = (
        f"Mean over that of geometric, least over ε: binary {least['binary']:.3f}, RR {least['rr']:.3f}."
    )
    return _decide(measured, min(least.values()) >= 1, "One of the two falls below the geometric mechanism.")


@check
def better_of_two(tables: Tables, claim: Claim) -> Finding:
    """Figures 4 and 7: the better of binary and randomized response against the optimum."""
    said = {6: 0.70, 12: 0.55} if claim.id == "K-F4" else {6: 0.75, 12: 0.65}
    least = {k: _ratios(tables, claim, k)[["rr", "binary"]].max(axis=1).min() for k in said}
    measured = "; ".join(f"k = {k}: at least {x:.1%} (stated {said[k]:.0%})" for k, x in least.items()) + "."
    short = max(said[k] - x for k, x in least.items())
    return _decide(
        measured, short <= _CLOSE, f"It falls {short:.1%} short. {_SAMPLE}", _SAMPLE if short > 0 else ""
    )


@check
def scaling(tables: Tables, claim: Claim) -> Finding:
    """Figures 5 and 8: the optimum against the printed expansion and the geometric mechanism."""
    table = _table(tables, claim)
    rows = table[table["metric"].isin(["kl", "mutual_information"]) & np.isfinite(table["epsilon"])]
    rows = _some(rows[rows["instance"].str.startswith("k=06, ")], "k = 6")
    measured, holds = [], True
    for epsilon, part in rows.groupby("epsilon"):
        wide = part.pivot_table(index="instance", columns="mechanism", values="value")
        correlation = float(wide["optimal"].corr(wide["printed"]))
        ratio = float((wide["optimal"] / wide["geometric"]).min())
        measured.append(
            f"ε = {epsilon:g}: correlation with the printed expansion {correlation:.5f}, "
            f"optimum over geometric at least {ratio:.2f}"
        )
        holds = holds and correlation >= 0.99 and ratio > 1
    otherwise = "The optimum does not follow the expansion, or does not beat the geometric mechanism."
    return _decide("; ".join(measured) + ".", holds, otherwise)


# liao2017 -------------------------------------------------------------------------------------------------

#: The least share of the optimum that counts as equal, and as almost equal.
_EQUAL, _ALMOST = 0.99, 0.95


@check
def renyi_limit(tables: Tables, claim: Claim) -> Finding:
    """Lemma 2: the ratio of the divergences tends to its limit."""
    table = _table(tables, claim)
    rows = _some(table[table["mechanism"] == claim.id], claim.id)
    steps = rows.assign(distance=[float(name.split()[-1]) for name in rows["instance"]])
    steps = steps.sort_values("distance", ascending=False)
    measured = "Relative distance from the limit: " + "; ".join(
        f"{value:.2g} at {distance:g}"
        for distance, value in zip(steps["distance"], steps["value"], strict=True)
    )
    holds = bool(steps["value"].is_monotonic_decreasing and steps["value"].iloc[-1] < 0.02)
    return _decide(f"{measured} from a constant channel.", holds, "The ratio does not tend to the limit.")


@check
def approximation(tables: Tables, claim: Claim) -> Finding:
    """Figures 2 and 3: the share of the optimum that W' has where the text says they are equal."""
    table = _table(tables, claim)
    rows = _some(table[table["mechanism"] == claim.id], claim.id)
    wide = rows.pivot_table(index="instance", columns="metric", values="value")
    where = rows[rows["metric"] == "share_of_2"].set_index("instance")["note"]
    need = np.array([_ALMOST if "whole" in text else _EQUAL for text in where.reindex(wide.index)])
    measured = "; ".join(
        f"{name}, {where[str(name)]}: at least {part['share_of_2']:.1%} of the optimum with 2 outputs, "
        f"{part['share_of_any']:.1%} of that with any outputs"
        for name, part in wide.iterrows()
    )
    far = list(map(str, wide.index[wide["share_of_2"].to_numpy() < need]))
    any_far = wide["share_of_any"].to_numpy() < need
    near = ", ".join(f"{x:.1%}" for x in wide["first_share_of_any"].reindex(far))
    otherwise = (
        f"For {', '.join(far)} another 2 x 2 channel of the same leakage has more utility. The curves meet "
        f"in absolute terms, because both go to 0, but the share does not go to 1: it is {near} at the least "
        "leakage computed. The optimum uses a rare output, W' two equally likely ones."
        f"{_other_start(tables, claim, far)}"
    )
    reading = (
        "It holds against the optimum with two outputs; more outputs have more utility."
        if any_far.any()
        else ""
    )
    return _decide(f"{measured}.", not far, otherwise, reading)


def _other_start(tables: Tables, claim: Claim, instances: Sequence[str]) -> str:
    """Say what W' has around its best nominal row instead of (1/2, 1/2)."""
    if f"{claim.paper}/comparison" not in tables:
        return ""
    table = _table(tables, claim, "comparison")
    rows = table[table["instance"].isin(instances) & (table["metric"] == "relative_entropy")]
    wide = rows.pivot_table(index=["instance", "epsilon"], columns="mechanism", values="value")
    if not {"eit_w0", "optimal"} <= set(wide.columns):
        return ""
    share = (wide["eit_w0"] / wide["optimal"]).groupby("instance").first().min()
    return f" With the best w_0 instead of (1/2, 1/2) W' has {share:.1%} there."


# kalantari2018 --------------------------------------------------------------------------------------------


def _extremes(tables: Tables, claim: Claim, metric: str) -> pd.Series[float]:
    table = _table(tables, claim)
    return _some(table[table["metric"] == metric], metric).set_index("instance")["value"]


@check
def class_two(tables: Tables, claim: Claim) -> Finding:
    """Theorem 2, with the constraint that (11) does not print."""
    constrained = _extremes(tables, claim, "Ka-T2").max()
    short = _extremes(tables, claim, "Ka-T2 printed")
    measured = (
        f"Distance from the exact optimum: at most {constrained:.2g} nats with D_1 ≤ D_i; (11) as printed is "
        f"up to {short.max():.3f} nats too small ({short.idxmax()})."
    )
    reading = (
        "(11) lacks the constraint D_1 ≤ D_i, which its proof uses. With it the formula is exact; as printed "
        f"it is up to {short.max():.3f} nats below what any channel can have."
    )
    otherwise = "The formula differs from the exact optimum even with the constraint D_1 ≤ D_i."
    return _decide(measured, constrained <= 1e-9, otherwise, reading if short.max() > 1e-9 else "")


@check
def class_three(tables: Tables, claim: Claim) -> Finding:
    """Theorem 3: the bounds hold, and agree where the folded sets do; a group of permutations is needed."""
    excess = _extremes(tables, claim, "Ka-T3 lower")
    slack = _extremes(tables, claim, "Ka-T3 upper")
    width = _extremes(tables, claim, "Ka-T3 width")
    # Sets whose folding permutations are, in general, no group; the others are the paper's or have a group.
    loose = excess.index.isin(["bounds cycle", "random permuted"])
    one = width[~width.index.isin(["bounds wide", "random group"])]
    elsewhere = f"{excess[loose].max():.3g}" if loose.any() else "not computed"
    measured = (
        f"Lower bound minus optimum: at most {excess[~loose].max():.2g} nats on the paper's sets and groups, "
        f"{elsewhere} on others; upper bound minus optimum: at least {slack.min():.2g}; width where the "
        f"folded sets agree: at most {one.max():.2g}."
    )
    holds = excess[~loose].max() <= 1e-9 and slack.min() >= -1e-9 and one.max() <= 1e-9
    reading = (
        "The lower bound needs the folding permutations to form a group, because the proof uses invariance "
        "under them. "
        f"Without one it exceeds the optimum by up to {excess.max():.3f} nats ({excess.idxmax()})."
    )
    otherwise = "A bound fails, or is not tight, also where the folding permutations form a group."
    return _decide(measured, bool(holds), otherwise, reading if excess.max() > 1e-9 else "")


# lopuhaa2024 ----------------------------------------------------------------------------------------------


@check
def example(tables: Tables, claim: Claim) -> Finding:
    """Compare every printed number of a worked example at its printed digits."""
    table = _table(tables, claim)
    printed = table[(table["example"] == int(claim.id[-1])) & table["printed"].notna()]
    differs = _some(printed, claim.where)[~printed["agrees"]]
    measured = f"{len(printed) - len(differs)} of {len(printed)} printed numbers agree at the printed digits."
    notes = "; ".join(
        f"{', '.join(part['quantity'])} ({note})" for note, part in differs.groupby("note", sort=False)
    )
    # Example 5 repeats numbers of Example 2 that its own results do not use.
    repeated = len(differs) > 0 and bool(differs["quantity"].str.endswith(" in d").all())
    reading = f"Everything the example derives agrees; what differs is repeated from Example 2: {notes}."
    return _decide(measured, differs.empty or repeated, f"Different: {notes}.", reading if repeated else "")


@check
def theorem(tables: Tables, claim: Claim) -> Finding:
    """Compare a theorem with direct optimization over the uncertainty set."""
    table = _table(tables, claim)
    rows = _some(table[table["claim"] == claim.id], claim.id)
    kept = int(rows["holds"].sum())
    cases = rows["instance"].nunique()
    measured = f"{kept} of {len(rows)} comparisons with direct optimization hold, in {cases} cases."
    broken = rows[~rows["holds"]].head(3)
    otherwise = "Broken: " + "; ".join(
        f"{row.quantity} of {row.instance}: {row.computed:.6g} must be {row.relation} {row.reference:.6g}"
        for row in broken.itertuples()
    )
    reading = (
        "The condition is read as e^B_s - 1 ≥ (1 - 2 p)² with the smallest conditional probability p, as the "
        "proof has it; printed is (1 - p)²."
    )
    return _decide(measured, kept == len(rows), f"{otherwise}.", reading if claim.id == "L-P2" else "")


def _shape(instances: pd.Series[str]) -> pd.DataFrame:
    return instances.str.extract(r"(\d+) x (\d+)").astype(int)


@check
def few_outputs(tables: Tables, claim: Claim) -> Finding:
    """Theorem 3: outputs of every PolyOpt that was computed, against the number of inputs."""
    checked = _table(tables, claim)
    rows = _some(checked[checked["claim"] == claim.id], claim.id)
    shares, solves = [(rows["computed"] / rows["reference"]).max()], len(rows)
    for name in ("fig2", "synthetic", "beta"):
        if f"{claim.paper}/{name}" not in tables:
            continue
        table = _table(tables, claim, name)
        part = table[
            (table["mechanism"] == "polyopt") & (table["metric"] == "nmi") & table["outputs"].notna()
        ]
        if len(part):
            shares.append((part["outputs"].astype(float) / _shape(part["instance"]).prod(axis=1)).max())
            solves += len(part)
    measured = f"Outputs over the number of values of X: at most {max(shares):.3g}, over {solves} solves."
    return _decide(measured, max(shares) <= 1, "A PolyOpt has more outputs than X has values.")


@check
def cone_size(tables: Tables, claim: Claim) -> Finding:
    """Section 8.1: dimensions a and inequalities a² + a of the cone."""
    instances = _table(tables, claim)["instance"].drop_duplicates()
    found = instances[instances.str.startswith("occupation, education")]
    if found.empty:
        raise NotCheckable("The configuration leaves out the pair occupation, education.")
    cells = int(_shape(found).prod(axis=1).iloc[0])
    inequalities = cells**2 + cells
    measured = f"{found.iloc[0]}: {cells} dimensions, {inequalities:,} inequalities."
    return _decide(
        measured, (cells, inequalities) == (240, 57840), "The numbers of values differ from print."
    )


#: Tables up to this many cells are small: those on which the paper could run PolyOpt.
_SMALL = 12

_PAIRS = "The paper does not name its small pairs; ours are in the configuration."


def _nmi(tables: Tables, claim: Claim, *, small: bool) -> dict[str, pd.DataFrame]:
    """Return NMI by epsilon and mechanism, per table of counts, or on average per size."""
    table = _table(tables, claim)
    rows = table[(table["metric"] == "nmi") & (table["status"] != SKIPPED)]
    if claim.table == "synthetic":
        # Means compare mechanisms on the instances that all of them have.
        rows = rows.assign(size=rows["instance"].str.rpartition(", ")[0])
        made = rows.groupby("instance")["mechanism"].nunique()
        most = rows.groupby("size")["mechanism"].nunique()
        rows = rows[rows["instance"].map(made) == rows["size"].map(most)]
        rows = rows.assign(instance=rows["size"])
    rows = rows[(_shape(rows["instance"]).prod(axis=1) <= _SMALL) == small]
    return {
        str(name): part.pivot_table(index="epsilon", columns="mechanism", values="value")
        for name, part in rows.groupby("instance")
        if {"ir", "srr"} <= set(part["mechanism"])
    }


def _small_parts(tables: Tables, claim: Claim) -> tuple[dict[str, bool], str]:
    found = _nmi(tables, claim, small=True)
    needed = {"polyopt", "nr", "ir", "srr", "grr"}
    found = {name: wide for name, wide in found.items() if needed <= set(wide.columns)}
    if not found:
        raise NotCheckable(f"No table of at most {_SMALL} cells has all of {', '.join(sorted(needed))}.")
    lead = {name: wide["polyopt"] / wide[["ir", "srr"]].max(axis=1) for name, wide in found.items()}
    share = {name: wide["ir"] / wide["srr"] for name, wide in found.items()}
    open_ = {name: 1 - wide["polyopt"] / wide["nr"] for name, wide in found.items()}
    worst = {
        name: wide.index[(wide[["polyopt", "nr", "ir", "srr"]].min(axis=1) > wide["grr"])]
        for name, wide in found.items()
    }
    parts = {
        "PolyOpt above IR and SRR at every ε": all(x.min() > 1 for x in lead.values()),
        "most so at low ε": all(x.iloc[0] > x.iloc[-1] for x in lead.values()),
        "IR above SRR at the lowest ε": all(x.iloc[0] > 1 for x in share.values()),
        "IR slightly (within 10%) below SRR at the highest ε": all(
            0.9 <= x.iloc[-1] < 1 for x in share.values()
        ),
        "NR not below PolyOpt": all(x.min() >= -1e-9 for x in open_.values()),
        "NR within 5% of PolyOpt at the highest ε": all(x.iloc[-1] <= 0.05 for x in open_.values()),
        "GRR worst at every ε": all(len(worst[name]) == len(wide) for name, wide in found.items()),
    }
    numbers = "; ".join(
        f"{name}: PolyOpt over the better of IR and SRR {lead[name].iloc[0]:.3g} at the lowest ε, "
        f"{lead[name].iloc[-1]:.3g} at the highest, IR over SRR {share[name].iloc[0]:.3g} and "
        f"{share[name].iloc[-1]:.3g}, GRR worst at {len(worst[name])} of {len(found[name])} values of ε"
        for name in found
    )
    return parts, f"{numbers}."


def _large_parts(tables: Tables, claim: Claim) -> tuple[dict[str, bool], str]:
    found = _nmi(tables, claim, small=False)
    if not found:
        raise NotCheckable(f"No table of more than {_SMALL} cells has IR and SRR.")
    share = {name: wide["ir"] / wide["srr"] for name, wide in found.items()}
    parts = {
        "IR above SRR on large tables at every ε, by 10% or more in the median": all(
            x.min() > 1 and x.median() > 1.1 for x in share.values()
        )
    }
    return parts, "; ".join(
        f"{n}: IR over SRR {x.min():.3g} to {x.max():.3g}" for n, x in share.items()
    ) + "."


@check
def small_tables(tables: Tables, claim: Claim) -> Finding:
    """Section 8.1, small tables: the orderings of the mechanisms."""
    parts, numbers = _small_parts(tables, claim)
    return _parts(parts, numbers, _PAIRS)


@check
def large_tables(tables: Tables, claim: Claim) -> Finding:
    """Section 8.1, large tables: independent against secret randomized response."""
    parts, numbers = _large_parts(tables, claim)
    return _parts(parts, numbers, "")


@check
def synthetic_means(tables: Tables, claim: Claim) -> Finding:
    """Section 8.2: the same orderings, of means over the instances."""
    small, numbers = _small_parts(tables, claim)
    large, more = _large_parts(tables, claim)
    found = _parts(small | large, f"{numbers} {more}", _PAIRS)
    if found.verdict == REPRODUCED or f"{claim.paper}/fig2" not in tables:
        return found
    adult = replace(claim, table="fig2")
    if small | large == _small_parts(tables, adult)[0] | _large_parts(tables, adult)[0]:
        reading = "The means are ordered as what is computed on Adult, also where section 8.1 says otherwise."
        return replace(found, verdict=ANOTHER_READING, explanation=f"{reading} {found.explanation}")
    return found


def _usual(summary: pd.DataFrame) -> pd.DataFrame:
    return _some(
        summary[(summary["beta"] == 0.05) & (summary["order"] == 2)], "the setting β = 0.05, order 2"
    )


@check
def realized_privacy(tables: Tables, claim: Claim) -> Finding:
    """Section 8.3: quartiles of the realized ε* of NR and PolyOpt."""
    summary = _usual(study.privacy_summary(_table(tables, claim)))
    nr, robust = (_some(summary[summary["mechanism"] == name], name) for name in ("nr", "polyopt"))
    _enough(int(nr["instances"].max()))
    over = nr[nr["low"] <= nr["epsilon"]]
    under = robust[robust["high"] >= robust["epsilon"]]
    measured = (
        f"NR's 25% quantile over ε: at least {(nr['low'] / nr['epsilon']).min():.3g}; PolyOpt's 75% quantile "
        f"over ε: at most {(robust['high'] / robust['epsilon']).max():.3g} ({nr['size'].nunique()} sizes)."
    )
    cases = [
        f"{label} at ε = {epsilon:g} on {size}"
        for label, part in (("NR", over), ("PolyOpt", under))
        for epsilon, size in zip(part["epsilon"], part["size"], strict=True)
    ]
    otherwise = (
        f"The middle half reaches across ε for {', '.join(cases[:8])}{' and more' if len(cases) > 8 else ''}."
    )
    return _decide(measured, not cases, otherwise)


@check
def nr_quantile(tables: Tables, claim: Claim) -> Finding:
    """Section 8.3: the printed quantile of NR at the lowest ε."""
    said = 0.3897
    summary = _usual(study.privacy_summary(_table(tables, claim)))
    rows = summary[(summary["mechanism"] == "nr") & np.isclose(summary["epsilon"], 0.075)]
    rows = _some(rows, "NR at ε = 0.075")
    _enough(int(rows["instances"].min()))
    high = rows.set_index("size")["high"]
    measured = "75% quantile: " + "; ".join(f"{size} {value:.4f}" for size, value in high.items()) + "."
    off = float((high / said - 1).abs().min())
    between = high.min() <= said <= high.max()
    otherwise = "No size is within 10% of it. The paper names neither the size nor its draws" + (
        ", and the value lies between those of our sizes." if between else "."
    )
    reading = (
        "The paper does not name the size; it is read as "
        f"{(high / said - 1).abs().idxmin()}, and as one random sample of 100 tables, {off:.1%} off."
    )
    return _decide(measured, off <= 0.10, otherwise, reading if off > 0.001 else "")


@check
def utility_difference(tables: Tables, claim: Claim) -> Finding:
    """Section 8.4: utility under the estimate and under the truth."""
    summary = _usual(study.difference_summary(_table(tables, claim), 1.5))
    full = summary[summary["instances"] >= _INSTANCES]
    _enough(int(summary["instances"].max()))
    # Three standard deviations of a share of fair coin tosses.
    uneven = (full["positive"] - 0.5).abs() > 1.5 / np.sqrt(full["instances"]) + 1e-9
    # The paper has neither PolyOpt nor NR on large tables.
    own = (_shape(full["size"]).prod(axis=1) <= _SMALL) | full["mechanism"].isin(["ir", "srr", "grr"])
    wide = summary[summary["extreme"] >= 0.03]
    measured = (
        f"Largest relative difference {summary['extreme'].max():.2%}; share of positive ones "
        f"{full.loc[own, 'positive'].min():.2f} to {full.loc[own, 'positive'].max():.2f}."
    )
    cases = [f"{m} on {s}: {x:.1%} at the extreme" for m, s, x in _cases(wide, "extreme")]
    cases += [f"{m} on {s}: {x:.0%} positive" for m, s, x in _cases(full[uneven & own], "positive")]
    beyond = [f"{m} on {s}: {x:.0%} positive" for m, s, x in _cases(full[uneven & ~own], "positive")]
    reading = (
        "Read for the mechanisms that the paper computes on each size. Beyond them it is not symmetric: "
        f"{'; '.join(beyond)}."
    )
    otherwise = f"Beyond 3%, or not symmetric: {'; '.join(cases)}."
    return _decide(measured, not cases, otherwise, reading if beyond else "")


def _cases(rows: pd.DataFrame, name: str) -> Iterator[tuple[str, str, float]]:
    return zip(rows["mechanism"], rows["size"], rows[name], strict=True)


@check
def significance(tables: Tables, claim: Claim) -> Finding:
    """Section 8.5: how NMI changes with the significance level."""
    summary = study.beta_summary(_table(tables, claim), 1.5)
    change: dict[str, dict[str, float]] = {}
    for (size, mechanism), part in summary.groupby(["size", "mechanism"]):
        nmi = part.set_index("beta")["nmi"].sort_index()
        pairs = [(x, y) for x in nmi.index for y in nmi.index if math.isclose(y / x, 100.0, rel_tol=1e-6)]
        if pairs and mechanism in ("polyopt", "ir"):
            largest = max(abs(float(nmi[x]) / float(nmi[y]) - 1) for x, y in pairs)
            change.setdefault(str(size), {})[str(mechanism)] = largest
    cells = {size: math.prod(map(int, re.findall(r"\d+", size))) for size in change}
    ordered = sorted(cells, key=lambda size: cells[size])
    ir = [change[size]["ir"] for size in ordered if "ir" in change[size]]
    both = [size for size in change if {"polyopt", "ir"} <= set(change[size])]
    # The paper has no PolyOpt on large tables.
    small = [size for size in both if cells[size] <= _SMALL]
    if len(ir) < 2 or not small:
        raise NotCheckable(
            "The statement compares PolyOpt with IR on small tables, and sizes with each other, over a "
            f"factor of 100 in β; the table has {len(small)} and {len(ir)} such sizes."
        )
    parts = {
        "at most about 4%": max(*ir, *(change[size]["polyopt"] for size in small)) <= 0.045,
        "less for PolyOpt than for IR": all(change[size]["polyopt"] < change[size]["ir"] for size in small),
        "less for larger X": ir[-1] < ir[0],
    }
    numbers = "; ".join(
        f"{size}: " + ", ".join(f"{name} {value:.2%}" for name, value in sorted(own.items()))
        for size, own in sorted(change.items(), key=lambda item: cells[item[0]])
    )
    remark = "The values of β of Table 2 are not in the paper's text; it speaks of a factor of 100."
    found = _parts(parts, f"Change by a factor of 100 in β: {numbers}.", remark)
    beyond = max((change[size]["polyopt"] for size in both if cells[size] > _SMALL), default=0.0)
    if found.verdict == REPRODUCED and beyond > 0.045:
        reading = (
            "Read for the tables on which the paper could compute PolyOpt. On the larger ones PolyOpt "
            f"depends more on β than IR: by up to {beyond:.1%}."
        )
        return replace(found, verdict=ANOTHER_READING, explanation=reading)
    return found
