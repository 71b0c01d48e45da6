"""Tables of lopuhaa2024 to read: its tables laid out as texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

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
from papers.lopuhaa2024.summaries import (
    ANSWERS,
    NO,
    STATEMENTS,
    YES,
    best_first,
    require_one,
    small_first,
)
from reproduction.results.tables import select


def orderings(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the orderings of Figure 2 out: a row per pair of attributes and privacy level, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `summaries.ORDERINGS`.
    """
    table = _sorted(table, "size")
    ranked = (best_first(values) for _, values in table[list(MECHANISMS)].iterrows())
    texts = _name_columns(table) | {
        "best first": [" > ".join(MECHANISMS[name].label for name in names) for names in ranked],
    }
    return pd.DataFrame(texts | {words: table[name] for name, words in STATEMENTS.items()}, dtype="str")


def calibrated(table: pd.DataFrame) -> pd.DataFrame:
    """Lay mechanisms at equal realized privacy out: a row per pair, level and mechanism, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `beyond.CALIBRATED`.
    """
    table = _sorted(table, "size", "instance", "epsilon", "mechanism")
    texts = _name_columns(table) | {
        "mechanism": [MECHANISMS[name].label for name in table["mechanism"]],
        "NMI": _number_texts(table["nmi"], ".4f"),
        "level over F": _number_texts(table["realized"], ".4f"),
        "asked for": _number_texts(table["level"], ".4f"),
        "then over F": _number_texts(table["realized_calibrated"], ".4f"),
        "NMI then": _number_texts(table["nmi_calibrated"], ".4f"),
        "share of the optimum": _number_texts(table["nmi_calibrated"] / table["exact"], ".1%"),
    }
    return pd.DataFrame(texts, dtype="str")


def drift(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what is survived: a row per pair, level, mechanism and factor, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `beyond.DRIFT`. The columns of what moves have the shares of every spread, the smallest first.
    """
    key = ["size", "instance", "beta", "order", "epsilon", "mechanism", "factor", "nmi"]
    shares = table.sort_values("records", ascending=False, kind="stable")
    shares = shares.assign(text=[f"{x:.0%}" for x in shares["survived"]])
    wide = shares.pivot_table("text", key, "drift", aggfunc=" / ".join).reset_index()
    wide = _sorted(wide, "size", "instance", "epsilon", "mechanism", "factor")
    spreads = " / ".join(f"{x:,.0f}" for x in sorted(set(table["records"]), reverse=True))
    texts = _name_columns(wide) | {
        "mechanism": [LABELS[name] for name in wide["mechanism"]],
        "radius": [f"×{factor:g}" for factor in wide["factor"]],
        "NMI": _number_texts(wide["nmi"], ".4f"),
    }
    texts |= {f"{kind} ({spreads} records)": wide[kind] for kind in DRIFTS if kind in wide}
    return pd.DataFrame(texts, dtype="str")


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out how often confidence sets contain the truth: a row per pair, truth and number of records.

    Parameters
    ----------
    table : DataFrame
        As `beyond.COVERAGE`.
    """
    keys = ["size", "instance", "records", "truth"]
    sets = [f"{method}, order {x:g}" for method, x in zip(table["method"], table["order"], strict=True)]
    wide = _sorted(table.assign(set=sets).pivot_table("covered", keys, "set").reset_index(), *keys)
    texts: dict[str, Any] = {
        "sensitive, useful": wide["instance"],
        "size": wide["size"],
        "records": [f"{records:,}" for records in wide["records"]],
        "truth": wide["truth"],
    }
    texts |= {name: _number_texts(wide[name], ".1%") for name in sorted(set(sets))}
    return pd.DataFrame(texts, dtype="str")


def few_records(table: pd.DataFrame) -> pd.DataFrame:
    """Lay out what a set for any number of records costs: a row per pair, level, mechanism and order.

    Parameters
    ----------
    table : DataFrame
        As `beyond.FEW_RECORDS`.
    """
    keys = ["size", "instance", "epsilon", "mechanism", "order"]
    sets = [
        select(table, method=method).set_index(keys)[["radius", "nmi"]].add_suffix(f" {method}")
        for method in SET_METHODS
    ]
    wide = _sorted(sets[0].join(sets[1]).reset_index(), "size", "instance", "epsilon", "mechanism", "order")
    many, any_number = (wide[f"nmi {method}"] for method in SET_METHODS)
    texts = _name_columns(wide) | {
        "mechanism": [MECHANISMS[name].label for name in wide["mechanism"]],
        "order": wide["order"].map("{:g}".format),
        "factor of the radius": _number_texts(wide["radius finite"] / wide["radius asymptotic"], ".3g"),
        "NMI, many records": _number_texts(many, ".4f"),
        "NMI, any number": _number_texts(any_number, ".4f"),
        "cost": _number_texts(1.0 - any_number / many, ".1%"),
    }
    return pd.DataFrame(texts, dtype="str")


def two_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Lay optima with a second level out: a row per pair, privacy level and level k, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `attackers.TWO_LEVELS`.
    """
    table = _sorted(table, "size", "instance", "epsilon", "conditional_epsilon")
    texts = _name_columns(table) | {
        "k": _level_texts(table["conditional_epsilon"], ".4g"),
        "NMI": _number_texts(table["nmi"], ".4f"),
        "Bound": _number_texts(table["bound"], ".4f"),
        "share of k = ∞": _number_texts(table["kept"], ".1%"),
        "level given U": _level_texts(table["realized"], ".4f"),
        "PolyOpt": _number_texts(table["polyopt"], ".4f"),
        "every distribution": _number_texts(table["unconditional"], ".4f"),
    }
    return pd.DataFrame(texts, dtype="str")


def promises(table: pd.DataFrame) -> pd.DataFrame:
    """Lay six promises out: a row per pair, privacy level and promise, small tables first.

    Parameters
    ----------
    table : DataFrame
        As `attackers.PROMISES_KEPT`.
    """
    table = _sorted(table, "size", "instance", "epsilon", "promise")
    texts = _name_columns(table) | {
        "protects from": [PROMISES[name].label for name in table["promise"]],
        "NMI": _number_texts(table["nmi"], ".4f"),
        "Bound": _number_texts(table["bound"], ".4f"),
        "of both levels": [f"{share:.0%}" for share in table["kept"]],
        "outsiders, over F": _level_texts(table["over_set"], ".3f"),
        "insiders": _level_texts(table["given_useful"], ".3f"),
        "one of two": _level_texts(table["one_of_two"], ".3f"),
        "acquaintances, known": _level_texts(table["about_useful_known"], ".3f"),
        "acquaintances, in intervals": _level_texts(table["about_useful"], ".3f"),
        "acquaintances, of F": _level_texts(table["about_useful_set"], ".3f"),
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
    table = _sorted(table, "size", "instance", "epsilon", "mechanism")
    texts = _name_columns(table) | {
        "mechanism": [MECHANISMS[name].label for name in table["mechanism"]],
        "over F": _level_texts(table["over_set"], ".4f"),
        "given U": _level_texts(table["given_useful"], ".4f"),
        "about U, known": _level_texts(table["about_useful_known"], ".4f"),
        "about U, in intervals": _level_texts(table["about_useful"], ".4f"),
        "every distribution": _level_texts(table["everywhere"], ".4f"),
        "of (S, U)": _level_texts(table["any_inputs"], ".4f"),
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
    table = _sorted(table, "size", "instance", "epsilon", "mechanism", "conditional_epsilon")
    names = {
        "NMI": "nmi",
        "I(X;Y)": "information",
        "I(S;Y)": "sensitive",
        "I(U;Y given S)": "useful_given",
        "I(U;Y)": "useful",
        "I(S;Y given U)": "sensitive_given",
    }
    texts = _name_columns(table) | _mechanism_columns(table)
    texts |= {name: _number_texts(table[column], ".4f") for name, column in names.items()}
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
    wide = _sorted(wide, "size", "instance", "epsilon", "mechanism", "conditional_epsilon")
    names = {"people": "all cells", "people of S": "S alone"}
    texts = _name_columns(wide) | _mechanism_columns(wide)
    texts |= {
        name: _number_texts(wide[column], ",.0f").replace("inf", "cannot be estimated")
        for column, name in names.items()
    }
    for column, name in (("error", "n MSE, all cells"), ("bound", "Bound")):
        texts[name] = _level_texts(wide[column], ".5g")
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
    wide = _sorted(wide, "size")
    texts = {"sensitive, useful": wide["instance"], "size": wide["size"]}
    return pd.DataFrame(texts | {words: wide[name] for name, words in STATED.items()}, dtype="str")


def _sorted(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Sort a table by columns: small sizes first, mechanisms as in legends."""
    keys: dict[Hashable, Callable[[Any], Any]] = {
        "size": small_first,
        "mechanism": [*LABELS].index,
        "promise": [*PROMISES].index,
    }
    return table.sort_values(
        list(columns),
        key=lambda column: column.map(keys[column.name]) if column.name in keys else column,
        kind="stable",
        ignore_index=True,
    )


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


def _name_columns(table: pd.DataFrame) -> dict[str, pd.Series[str]]:
    """Return the columns that name a row, as texts."""
    return {
        "sensitive, useful": table["instance"],
        "size": table["size"],
        "epsilon": table["epsilon"].map("{:.4g}".format),
    }


def _number_texts(column: pd.Series[float], form: str) -> pd.Series[str]:
    """Return numbers as texts, and what is missing as a dash."""
    return column.map(lambda x: "-" if math.isnan(x) else format(x, form))


def _level_texts(column: pd.Series[float], form: str) -> pd.Series[str]:
    """Return privacy levels as texts, an infinite one as its sign."""
    return _number_texts(column, form).replace("inf", "∞")


def table2(table: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Lay Table 2 out for print: a row per size and mechanism, a column per beta, NMI as text.

    Parameters
    ----------
    table : DataFrame
        As `summaries.TABLE2`, of one Renyi order and one privacy level.
    digits : int
        Printed decimals.

    Raises
    ------
    ValueError
        If the table has several orders or levels.
    """
    require_one(table, "order", "epsilon")
    wide = table.pivot_table("nmi", ["size", "mechanism"], "beta")
    wide = wide[sorted(wide.columns, reverse=True)]
    change = (wide.iloc[:, -1] / wide.iloc[:, 0] - 1.0).map(lambda x: f"{100 * x:+.2f}%")
    texts = wide.map(lambda x: "" if pd.isna(x) else f"{x:.{digits}f}")
    texts.columns = pd.Index([f"beta = {beta:g}" for beta in wide.columns])
    texts = _sorted(texts.assign(change=change).reset_index(), "size", "mechanism")
    return texts.assign(mechanism=[MECHANISMS[name].label for name in texts["mechanism"]])


def example(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the worked example out, with one more digit than the paper prints.

    Parameters
    ----------
    table : DataFrame
        As `tables.PRINTED`.
    """
    digits = table["digits"]
    return pd.DataFrame(
        {
            "where": table["where"],
            "quantity": table["quantity"],
            "computed": [f"{x:.{d + 1}f}" for x, d in zip(table["computed"], digits, strict=True)],
            "printed": [
                "-" if math.isnan(x) else f"{x:.{d}f}" for x, d in zip(table["printed"], digits, strict=True)
            ],
            "agrees": np.where(table["printed"].isna(), "", np.where(table["agrees"], YES, NO)),
            "note": table["note"],
        }
    )
