"""Tables of the project's own results to read: its tables laid out as texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from papers.frontier.several_tables import INSIDERS
from papers.lopuhaa2024.catalogue import (
    CELLS,
    DRIFTS,
    LABELS,
    MECHANISMS,
    PROMISES,
    SENSITIVE,
    SET_METHODS,
    STATED,
    UNCONDITIONAL,
)
from papers.lopuhaa2024.summaries import ANSWERS, NO
from papers.lopuhaa2024.texts import level_texts, name_columns, number_texts, sorted_rows
from reproduction.results.tables import select


def calibrated(table: pd.DataFrame) -> pd.DataFrame:
    """Lay mechanisms at equal realized privacy out: a row per pair, level and mechanism, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `summaries.CALIBRATED`.
    """
    table = sorted_rows(table, "size", "instance", "epsilon", "mechanism")
    texts = name_columns(table) | {
        "mechanism": [MECHANISMS[name].label for name in table["mechanism"]],
        "NMI": number_texts(table["nmi"], ".4f"),
        "level over F": number_texts(table["realized"], ".4f"),
        "asked for": number_texts(table["level"], ".4f"),
        "then over F": number_texts(table["realized_calibrated"], ".4f"),
        "NMI then": number_texts(table["nmi_calibrated"], ".4f"),
        "share of the optimum": number_texts(table["nmi_calibrated"] / table["exact"], ".1%"),
    }
    return pd.DataFrame(texts, dtype="str")


def two_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Lay optima with a second level out: a row per pair, privacy level and level k, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `attackers.TWO_LEVELS`.
    """
    table = sorted_rows(table, "size", "instance", "epsilon", "conditional_epsilon")
    texts = name_columns(table) | {
        "k": level_texts(table["conditional_epsilon"], ".4g"),
        "NMI": number_texts(table["nmi"], ".4f"),
        "Bound": number_texts(table["bound"], ".4f"),
        "share of k = ∞": number_texts(table["kept"], ".1%"),
        "level given U": level_texts(table["realized"], ".4f"),
        "PolyOpt": number_texts(table["polyopt"], ".4f"),
        "every distribution": number_texts(table["unconditional"], ".4f"),
    }
    return pd.DataFrame(texts, dtype="str")


def promises(table: pd.DataFrame) -> pd.DataFrame:
    """Lay six promises out: a row per pair, privacy level and promise, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `attackers.PROMISES_KEPT`.
    """
    table = sorted_rows(table, "size", "instance", "epsilon", "promise")
    texts = name_columns(table) | {
        "protects from": [PROMISES[name].label for name in table["promise"]],
        "NMI": number_texts(table["nmi"], ".4f"),
        "Bound": number_texts(table["bound"], ".4f"),
        "of both levels": [f"{share:.0%}" for share in table["kept"]],
        "outsiders, over F": level_texts(table["over_set"], ".3f"),
        "insiders": level_texts(table["given_useful"], ".3f"),
        "one of two": level_texts(table["one_of_two"], ".3f"),
        "acquaintances, known": level_texts(table["about_useful_known"], ".3f"),
        "acquaintances, in intervals": level_texts(table["about_useful"], ".3f"),
        "acquaintances, of F": level_texts(table["about_useful_set"], ".3f"),
    }
    return pd.DataFrame(texts, dtype="str")


def attackers(table: pd.DataFrame) -> pd.DataFrame:
    """Lay levels for different attackers out: a row per pair, level and mechanism, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `attackers.ATTACKERS`. Of its privacy levels those nearest to 0.3, 1 and 3 nats are shown.
    """
    table = _few_levels(table)
    table = sorted_rows(table, "size", "instance", "epsilon", "mechanism")
    texts = name_columns(table) | {
        "mechanism": [MECHANISMS[name].label for name in table["mechanism"]],
        "over F": level_texts(table["over_set"], ".4f"),
        "given U": level_texts(table["given_useful"], ".4f"),
        "about U, known": level_texts(table["about_useful_known"], ".4f"),
        "about U, in intervals": level_texts(table["about_useful"], ".4f"),
        "every distribution": level_texts(table["everywhere"], ".4f"),
        "of (S, U)": level_texts(table["any_inputs"], ".4f"),
    }
    return pd.DataFrame(texts, dtype="str")


def disclosure(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what reports are about: a row per pair, level and mechanism, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `people.DISCLOSURE`; privacy levels as of `attackers`, of those of the promises and of the others.
    """
    of_promises = table["epsilon"].isin(table.loc[table["mechanism"] == UNCONDITIONAL, "epsilon"])
    table = pd.concat([_few_levels(rows) for rows in (table[of_promises], table[~of_promises]) if len(rows)])
    table = sorted_rows(table, "size", "instance", "epsilon", "mechanism", "conditional_epsilon")
    names = {
        "NMI": "nmi",
        "I(X;Y)": "information",
        "I(S;Y)": "sensitive",
        "I(U;Y given S)": "useful_given",
        "I(U;Y)": "useful",
        "I(S;Y given U)": "sensitive_given",
    }
    texts = name_columns(table) | _mechanism_columns(table)
    texts |= {name: number_texts(table[column], ".4f") for name, column in names.items()}
    return pd.DataFrame(texts, dtype="str")


def attacked(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what attackers believe: a row per mechanism and knowledge, both as the table has them.

    Parameters
    ----------
    table : DataFrame
        As `attack_tables.ATTACKED`.
    """
    labels = {**LABELS, INSIDERS: f"Optimum, {PROMISES['insiders'].label}"}
    texts = name_columns(table) | {
        "mechanism": table["mechanism"].map(labels),
        "attacker knows": table["knowledge"],
        "chance of": table["value"],
        "before": number_texts(table["before"], ".1%"),
        "least after": number_texts(table["least"], ".1%"),
        "largest after": number_texts(table["most"], ".1%"),
        "reports beyond the level": number_texts(table["beyond"], ".1%"),
    }
    return pd.DataFrame(texts, dtype="str")


def people(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out how many people are needed: a row per pair, level and mechanism, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `people.PEOPLE`; the privacy levels of each pair are those that have a least error of
        all cells.
    """
    place = ["size", "instance", "beta", "order", "epsilon"]
    least = table[table["bound"].notna() & (table["target"] == CELLS)]
    table = table.merge(least[place].drop_duplicates())
    key = [*place, "mechanism", "conditional_epsilon"]
    cells, sensitive = (
        table[table["target"] == target].set_index(key)[["people", "error", "bound"]]
        for target in (CELLS, SENSITIVE)
    )
    wide = cells.join(sensitive.add_suffix(" of S"), how="outer").reset_index()
    wide = sorted_rows(wide, "size", "instance", "epsilon", "mechanism", "conditional_epsilon")
    names = {"people": "all cells", "people of S": "S alone"}
    texts = name_columns(wide) | _mechanism_columns(wide)
    texts |= {
        name: number_texts(wide[column], ",.0f").replace("inf", "cannot be estimated")
        for column, name in names.items()
    }
    for column, name in (("error", "n MSE, all cells"), ("bound", "Bound")):
        texts[name] = level_texts(wide[column], ".5g")
    return pd.DataFrame(texts, dtype="str")


def drift(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what is survived: a row per pair, level, mechanism and factor, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `summaries.DRIFT`. The columns of what moves have the shares of every spread, the smallest first.
    """
    key = ["size", "instance", "beta", "order", "epsilon", "mechanism", "factor", "nmi"]
    shares = table.sort_values("records", ascending=False, kind="stable")
    shares = shares.assign(text=[f"{x:.0%}" for x in shares["survived"]])
    wide = shares.pivot_table("text", key, "drift", aggfunc=" / ".join).reset_index()
    wide = sorted_rows(wide, "size", "instance", "epsilon", "mechanism", "factor")
    spreads = " / ".join(f"{x:,.0f}" for x in sorted(set(table["records"]), reverse=True))
    texts = name_columns(wide) | {
        "mechanism": [LABELS[name] for name in wide["mechanism"]],
        "radius": [f"×{factor:g}" for factor in wide["factor"]],
        "NMI": number_texts(wide["nmi"], ".4f"),
    }
    texts |= {f"{kind} ({spreads} records)": wide[kind] for kind in DRIFTS if kind in wide}
    return pd.DataFrame(texts, dtype="str")


def few_records(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what a set for any number of records costs: a row per pair, level, mechanism and order.

    Parameters
    ----------
    table : DataFrame
        As `summaries.FEW_RECORDS`.
    """
    keys = ["size", "instance", "epsilon", "mechanism", "order"]
    sets = [
        select(table, method=method).set_index(keys)[["radius", "nmi"]].add_suffix(f" {method}")
        for method in SET_METHODS
    ]
    wide = sorted_rows(
        sets[0].join(sets[1]).reset_index(), "size", "instance", "epsilon", "mechanism", "order"
    )
    many, any_number = (wide[f"nmi {method}"] for method in SET_METHODS)
    texts = name_columns(wide) | {
        "mechanism": [MECHANISMS[name].label for name in wide["mechanism"]],
        "order": wide["order"].map("{:g}".format),
        "factor of the radius": number_texts(wide["radius finite"] / wide["radius asymptotic"], ".3g"),
        "NMI, many records": number_texts(many, ".4f"),
        "NMI, any number": number_texts(any_number, ".4f"),
        "cost": number_texts(1.0 - any_number / many, ".1%"),
    }
    return pd.DataFrame(texts, dtype="str")


def atlas_statements(table: pd.DataFrame) -> pd.DataFrame:
    """Count on how many pairs of attributes each statement of section 8.1 holds.

    Parameters
    ----------
    table : DataFrame
        As `atlas_statements.ATLAS`.
    """
    rows = []
    for name, words in STATED.items():
        row = {"statement": words}
        part = table[table["statement"] == name]
        for size, chosen in (("small", part["small"]), ("large", ~part["small"])):
            found = part.loc[chosen, "answer"].value_counts()
            row |= {f"{size}: {answer}": str(found.get(answer, 0)) for answer in ANSWERS}
        against = part.loc[part["small"] & (part["answer"] == NO), "instance"]
        rows.append(row | {"small tables against it": "; ".join(against) or "-"})
    return pd.DataFrame(rows, dtype="str")


def atlas_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the statements of section 8.1 out: a row per pair of attributes, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `atlas_statements.ATLAS`.
    """
    wide = table.pivot_table("answer", ["size", "instance"], "statement", aggfunc="first").reset_index()
    wide = sorted_rows(wide, "size")
    texts = {"sensitive, useful": wide["instance"], "size": wide["size"]}
    return pd.DataFrame(texts | {words: wide[name] for name, words in STATED.items()}, dtype="str")


def _few_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with those privacy levels that are nearest to 0.3, 1 and 3 nats."""
    epsilons = table["epsilon"].unique()
    shown = {epsilons[np.abs(epsilons - level).argmin()] for level in (0.3, 1.0, 3.0)}
    return table[table["epsilon"].isin(shown)]


def _mechanism_columns(table: pd.DataFrame) -> dict[str, Any]:
    """Return the label of the mechanism of a row and the level that is asked for given U."""
    return {
        "mechanism": [LABELS[name] for name in table["mechanism"]],
        "k": ["-" if math.isinf(k) else f"{k:g}" for k in table["conditional_epsilon"]],
    }
