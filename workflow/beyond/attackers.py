"""Tables about attackers whom RLDP does not consider, and what protection from them costs.

(eps, F)-RLDP bounds P(y | s) / P(y | s'): what a report tells about S to someone who knows nothing else of
the person. Someone who knows the useful value u compares Q(y | s, u) with Q(y | s', u), which the guarantee
does not bound; nor does it bound what acquaintances learn, who know something about u
(docs/beyond/theorems.md, statement 11). NMI is I(X; Y) / H(X) under the estimate P-hat.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from beyond.attack_tables import ATTACK, ATTACKED
from beyond.catalogue import (
    ANY_INPUTS,
    EVERYWHERE,
    ONE_OF_TWO,
    PROMISES,
    UNCONDITIONAL,
    WITH_INTERVALS,
    WITH_ODDS,
    WITH_SET,
)
from papers.lopuhaa2024.catalogue import OVER_SET, PLACE
from reproduction.results.tables import OPTIMUM_TOLERANCE, PRIVACY_TOLERANCE, SKIPPED, Schema, select

#: What one level may pass another by, nats: the worst level over F is the result of a search.
_LEVEL = PRIVACY_TOLERANCE

#: By how much the odds must change by more than the level to count, nats: more than optima exceed it by.
_BEYOND = 1e-6

#: What NMI may lose with a larger conditional level: rounding.
_NMI = 1e-12


def _attacker_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    for less, more, words in (
        ("given_useful", "everywhere", "given U above that under every distribution"),
        ("given_useful", "about_useful_known", "given U above that for acquaintances with known odds ratios"),
        (
            "about_useful_known",
            "about_useful",
            "for acquaintances with known odds ratios above that in intervals",
        ),
        ("about_useful", "everywhere", "for acquaintances above that under every distribution"),
        ("over_set", "everywhere", "over F above that under every distribution"),
        ("everywhere", "any_inputs", "under every distribution above that between any two people"),
    ):
        # Infinite levels are equal.
        yield table[less] > table[more] + _LEVEL, f"has the level {{{less}}} {words}, {{{more}}}"


ATTACKERS = Schema(
    name="attackers",
    columns={
        **PLACE,
        "mechanism": "str",
        "epsilon": "float64",
        # Levels in nats.
        "over_set": "float64",  # of S over F, for those who know nothing else of a person
        "given_useful": "float64",  # of S for insiders
        # of S for those who know anything about U alone: with the odds ratios of the estimate, in intervals
        "about_useful_known": "float64",
        "about_useful": "float64",
        "everywhere": "float64",  # of S under every distribution of (S, U)
        "any_inputs": "float64",  # of (S, U): local differential privacy
    },
    key=(*PLACE, "mechanism", "epsilon"),
    rules=_attacker_rules,
)


def _level_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    # The rows are sorted by level, the last column of the key.
    groups = table.groupby([*PLACE, "epsilon"], sort=False)
    yield groups["nmi"].diff() < -_NMI, "has the NMI {nmi}, below that of a smaller level given U"
    yield groups["bound"].diff() < -_NMI, "has the bound {bound}, below that of a smaller level given U"
    yield table["nmi"] > table["bound"], "has the NMI {nmi} above its bound {bound}"
    least = table["unconditional"].where(table["conditional_epsilon"] >= table["epsilon"])
    yield least > table["nmi"] + _NMI, "has less NMI than the unconditional optimum, {unconditional}"


TWO_LEVELS = Schema(
    name="two levels",
    columns={
        **PLACE,
        "epsilon": "float64",
        "conditional_epsilon": "float64",  # conditional level, nats; inf: no demand
        "nmi": "float64",  # of the optimum over F with that level
        "bound": "float64",  # NMI that no such mechanism passes
        "realized": "float64",  # conditional level that it has, nats
        "optimum": "float64",  # NMI of the optimum over F, with no demand
        "kept": "float64",  # share of that NMI
        "polyopt": "float64",  # NMI of PolyOpt, with no demand; missing if it was skipped
        "unconditional": "float64",  # of the best mechanism that is private under every distribution
    },
    key=(*PLACE, "epsilon", "conditional_epsilon"),
    rules=_level_rules,
)


def _promise_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield table["nmi"] > table["bound"], "has the NMI {nmi} above its bound {bound}"
    for promise, column in (
        ("outsiders", "over_set"),
        ("insiders", "over_set"),
        ("insiders", "given_useful"),
        ("known", "about_useful_known"),
        ("intervals", "about_useful"),
        ("set", "about_useful_set"),
        ("anyone", "about_useful"),
    ):
        broken = (table["promise"] == promise) & (table[column] > table["epsilon"] + _LEVEL)
        yield broken, f"has the level {{{column}}}, above that of its promise"
    yield (
        table["over_set"] > table["about_useful_set"] + _LEVEL,
        ("has the level {over_set} over F above that for acquaintances of all of it, {about_useful_set}"),
    )
    # A stronger promise allows no more information, to the gap of the optima. Neither of the odds ratios in
    # intervals and of those of F contain the others.
    for order in (("known", "intervals", "anyone"), ("insiders", "set", "anyone")):
        strength = {name: place for place, name in enumerate(order)}
        rows = table[table["promise"].isin(strength)]
        rows = rows.assign(strength=rows["promise"].map(strength)).sort_values("strength", kind="stable")
        before = rows.groupby([*PLACE, "epsilon"], sort=False)["nmi"].shift()
        more = rows["nmi"] > before * (1.0 + OPTIMUM_TOLERANCE)
        yield more.reindex(table.index, fill_value=False), "has the NMI {nmi}, above that of a weaker promise"


PROMISES_KEPT = Schema(
    name="promises",
    columns={
        **PLACE,
        "epsilon": "float64",
        "promise": "str",  # from whom S is protected: outsiders, insiders, known, intervals or set, anyone
        "nmi": "float64",  # of the optimum with this promise
        "bound": "float64",  # NMI that no such mechanism passes
        "kept": "float64",  # share of the NMI of the promise to insiders
        # Its levels of S for others, in nats: log ratios of chances, and no information.
        "over_set": "float64",  # outsiders, over F
        "given_useful": "float64",  # insiders
        "about_useful_known": "float64",  # acquaintances, with the odds ratios of the estimate
        "about_useful": "float64",  # acquaintances, with odds ratios in intervals
        "about_useful_set": "float64",  # acquaintances, with any odds ratios that a distribution in F has
        "one_of_two": "float64",  # those who know, under the estimate, that U is one of two values
    },
    key=(*PLACE, "epsilon", "promise"),
    rules=_promise_rules,
)


def attackers(fig2: pd.DataFrame) -> pd.DataFrame:
    """Return the levels of every mechanism of Figure 2 for attackers of different knowledge, side by side."""
    rows = fig2[fig2["status"] != SKIPPED]

    def column(metric: str, of: str = "value") -> pd.Series[float]:
        return select(rows, metric=metric).set_index([*ATTACKERS.key])[of]

    levels = {
        "over_set": column(OVER_SET),
        "given_useful": column(OVER_SET, "conditional_privacy"),
        "about_useful_known": column(WITH_ODDS),
        "about_useful": column(WITH_INTERVALS),
        "everywhere": column(EVERYWHERE),
        "any_inputs": column(ANY_INPUTS),
    }
    return ATTACKERS.conform(pd.DataFrame(levels).reset_index())


def two_levels(second_level: pd.DataFrame) -> pd.DataFrame:
    """Return the optima with a conditional level beside those without, and two others."""
    rows = select(second_level[second_level["status"] != SKIPPED], metric="nmi")
    key = [*PLACE, "epsilon"]
    optima = select(rows, mechanism="exact")
    others = {
        "optimum": select(optima, conditional_epsilon=math.inf),
        "polyopt": select(rows, mechanism="polyopt"),
        "unconditional": select(rows, mechanism=UNCONDITIONAL),
    }
    frame = optima[[*key, "conditional_epsilon", "value", "bound", "conditional_privacy"]].rename(
        columns={"value": "nmi", "conditional_privacy": "realized"}
    )
    for name, found in others.items():
        frame = frame.join(found.set_index(key)["value"].rename(name), on=key)
    return TWO_LEVELS.conform(frame.assign(kept=frame["nmi"] / frame["optimum"]))


def promises_kept(promises: pd.DataFrame) -> pd.DataFrame:
    """Return the optima of six promises side by side, with what each tells acquaintances."""
    rows = promises[promises["status"] != SKIPPED]
    key = [*PLACE, "epsilon"]
    parts = []
    for promise, mechanism in PROMISES.items():
        of = select(rows, mechanism=mechanism.name)
        second = of["conditional_epsilon"]
        of = of[second == of["epsilon"] if mechanism.second_level else second == math.inf]
        certified = select(of, metric="nmi").set_index(key)
        part = certified[["value", "bound", "conditional_privacy"]].set_axis(
            ["nmi", "bound", "given_useful"], axis=1
        )
        measured = {
            "over_set": OVER_SET,
            "about_useful_known": WITH_ODDS,
            "about_useful": WITH_INTERVALS,
            "about_useful_set": WITH_SET,
            "one_of_two": ONE_OF_TWO,
        }
        for column, metric in measured.items():
            part[column] = select(of, metric=metric).set_index(key)["value"]
        parts.append(part.reset_index().assign(promise=promise))
    found = pd.concat(parts, ignore_index=True)
    both = select(found, promise="insiders").set_index(key)["nmi"].rename("both")
    return PROMISES_KEPT.conform(found.assign(kept=found["nmi"] / found.join(both, on=key)["both"]))


def attacked(attack: pd.DataFrame) -> pd.DataFrame:
    """Return what the reports of each mechanism together do to the belief of every attacker."""
    change = attack["change"].abs()
    rows = attack.assign(
        change=change,
        beyond=attack["probability"].where(change > attack["epsilon"] + _BEYOND, 0.0),
        least=attack["after"],
        most=attack["after"],
    )
    key = [name for name in ATTACK.columns if name in ATTACKED.columns and name != "change"]
    taken = {"least": "min", "most": "max", "change": "max", "beyond": "sum"}
    return ATTACKED.conform(rows.groupby(key, as_index=False).agg(taken))
