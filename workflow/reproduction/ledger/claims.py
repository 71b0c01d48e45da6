"""The claims ledger: what the papers state about their numbers, decided from the result tables alone.

A claim in a ``paper.yaml`` has an ``id``, says ``where`` the paper states what (``statement``), and the
``rule`` by which it is decided, in words; its ``tolerance``, and the ``origin`` of that (printed digits,
sampling, a word of the text, accuracy). ``printed`` has the paper's numbers, if there are any. ``check``
names the function that decides: one of the paper's ``claims.py``, or one of this module. It is given the
``tables`` that the claim names (``paper/table`` of another paper) and its ``arguments`` (limits, stated
numbers), and returns a `Finding`; it sees neither configuration nor solver, so a verdict follows from the
tables, and other tables give another verdict. A statement may have ``{names}`` in place of its numbers;
``numbers`` then says by name what they are, and what they are in the tables (`quotes.Stated`).
docs/glossary.md says what each verdict means. An erratum is of a ``kind`` (`ERRATUM_KINDS`) and says
what is ``printed``, what is ``correct``, how that is ``shown``, and which ``test`` pins it
(``file::function``).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from reproduction.base.entries import from_entry
from reproduction.ledger.quotes import Stated, fill_names
from reproduction.planning.paper import Paper, PaperError, module_name, table_place
from reproduction.results.tables import Schema, TableError, which_hold

Verdict = Literal[
    "reproduced", "reproduced with another reading", "not reproduced", "not checkable", "not computed"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REPRODUCED, ANOTHER_READING, NOT_REPRODUCED, NOT_CHECKABLE, NOT_COMPUTED = VERDICTS

#: The attribute of a table that says how many rows were read from its file.
ROWS = "rows"

#: Of an erratum: what is printed is false; it is true but more can be said; or it can be read in two ways.
ERRATUM_KINDS = ("wrong", "not tight", "unclear")


class NotCheckable(Exception):
    """A claim that the tables at hand cannot decide; the message says what is missing."""


class NotComputed(Exception):
    """A claim about a table that is missing, or rows or numbers of it that are; the message says which."""


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    `measured` has the numbers, with enough words to read them alone, and `computed` in short, to stand beside
    those that the paper prints. The explanation says why, for a reader who has the paper, and is required
    unless the claim is reproduced as it stands. So many cases `n` decided it: instances, tables, printed
    numbers.
    """

    measured: str
    verdict: Verdict
    explanation: str = ""
    computed: str = "-"
    n: int | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"The verdict is {self.verdict!r}; allowed are {', '.join(VERDICTS)}.")
        if self.verdict != REPRODUCED and not self.explanation:
            raise ValueError(f"The verdict {self.verdict!r} needs an explanation.")


@dataclass(frozen=True)
class Claim:
    """An entry of the ledger; the first of its tables is the one it is shown with."""

    paper: str
    id: str
    where: str
    statement: str
    rule: str
    check: str
    tables: tuple[str, ...]
    tolerance: str
    origin: str
    printed: str = "-"
    figure: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The first of its tables as ``paper/table``."""
        return table_place(self.paper, self.tables[0])

    def stated(self) -> dict[str, Stated]:
        """Return the numbers of the statement by name.

        Their table is the first one if they name none, and the condition ``rows`` in ``arguments`` is added
        to their own.
        """
        found = {}
        for key, entry in self.numbers.items():
            conditions = [x for x in (self.arguments.get("rows"), entry.get("rows")) if x]
            rows = " and ".join(f"({x})" for x in conditions)
            given = {"table": self.tables[0], **entry, "rows": rows}
            found[key] = from_entry(Stated, given, f"{key} of claim {self.id}", PaperError)
        return found


@dataclass(frozen=True)
class Erratum:
    """A printed statement and its correction; `kind` is in `ERRATUM_KINDS`, `test` is ``file::function``."""

    paper: str
    where: str
    kind: str
    printed: str
    correct: str
    shown: str
    test: str


Tables = Mapping[str, pd.DataFrame]


ClaimCheck = Callable[[Tables, Claim], Finding]

_TEXTS = (
    "id",
    "paper",
    "where",
    "statement",
    "rule",
    "printed",
    "computed",
    "tolerance",
    "origin",
    "measured",
    "verdict",
    "explanation",
    "table",
    "figure",
)

LEDGER = Schema(
    name="claims",
    columns={"order": "Int64", **dict.fromkeys(_TEXTS, "str"), "n": "Int64"},
    key=("order",),
    rules=lambda table: iter([(~table["verdict"].isin(VERDICTS), "has the unknown verdict {verdict}")]),
)


SENSITIVITY = Schema(
    name="sensitivity",
    columns={
        "claim": "str",
        "choice": "str",  # what the paper leaves open
        "setting": "str",  # how it is chosen here; "as computed" is that of the ledger
        "verdict": "str",
        "computed": "str",
    },
    key=("claim", "choice", "setting"),
    rules=LEDGER.rules,
)


def claims_of(paper: Paper) -> list[Claim]:
    """Return the claims of a paper; an entry that is incomplete, unknown in part, or repeated is refused."""
    claims: list[Claim] = []
    for number, entry in enumerate(paper.claims, start=1):
        claim = from_entry(
            Claim, entry, f"Claim {_id(entry) or number} of {paper.key}", PaperError, paper=paper.key
        )
        if not claim.tables:
            raise PaperError(
                f"Claim {claim.id} names no table; {paper.key} has {', '.join(paper.published_tables)}."
            )
        for kind, names, known in (
            ("table", claim.tables, paper.published_tables),
            ("figure", (claim.figure,) if claim.figure else (), paper.figures),
        ):
            # Those of other papers are checked where all papers are read.
            if unknown := [name for name in names if name not in known and "/" not in name]:
                raise PaperError(
                    f"Claim {claim.id} names the {kind} {unknown[0]}; {paper.key} has {', '.join(known)}."
                )
        if claim.id in {other.id for other in claims}:
            raise PaperError(f"Claim {claim.id} is in {paper.key} more than once.")
        check_of(claim)
        said = {name: number.said for name, number in claim.stated().items()}
        if unnamed := [name for name in said if f"{{{name}}}" not in claim.statement]:
            raise PaperError(
                f"Claim {claim.id} has the number {unnamed[0]}, which its statement does not name."
            )
        statement = fill_names(claim.statement, said)
        claims.append(replace(claim, statement=statement, printed=", ".join(said.values()) or claim.printed))
    return claims


def _id(entry: Any) -> Any:
    return entry.get("id") if isinstance(entry, Mapping) else None


def check_of(claim: Claim) -> ClaimCheck:
    """Return the function that decides a claim: the paper's own, or one of this module."""
    own = module_name(claim.paper, "claims")
    for name in (own, __name__) if importlib.util.find_spec(own) else (__name__,):
        function: ClaimCheck | None = getattr(importlib.import_module(name), claim.check, None)
        # The helpers of a module decide nothing.
        if inspect.isfunction(function) and [*inspect.signature(function).parameters] == ["tables", "claim"]:
            return function
    raise PaperError(
        f"Claim {claim.id} names the check {claim.check}; there is no such function of tables and claim."
    )


def errata_of(paper: Paper) -> list[Erratum]:
    """Return the errata of a paper; an entry that is incomplete or of an unknown kind is refused."""
    errata = [
        from_entry(Erratum, entry, f"Erratum {number} of {paper.key}", PaperError, paper=paper.key)
        for number, entry in enumerate(paper.errata, start=1)
    ]
    for number, erratum in enumerate(errata, start=1):
        if erratum.kind not in ERRATUM_KINDS:
            raise PaperError(
                f"Erratum {number} of {paper.key} is of the kind {erratum.kind!r}; allowed are "
                f"{', '.join(ERRATUM_KINDS)}."
            )
    return errata


def decide(claim: Claim, tables: Tables) -> Finding:
    """Return the finding of the check of a claim: not checkable, if the tables lack what it needs.

    It is not computed, if a table is missing, or a number that the check reads is missing or infinite, or if
    a table has fewer rows than were read from its file.
    """
    try:
        for name in claim.tables:
            if name in tables:
                require_all_rows(tables[name], name)
        return check_of(claim)(tables, claim)
    except NotCheckable as missing:
        return Finding("-", NOT_CHECKABLE, str(missing))
    except NotComputed as missing:
        return Finding("-", NOT_COMPUTED, str(missing))


def ledger(claims: Iterable[tuple[Claim, Tables]]) -> pd.DataFrame:
    """Return every claim, decided by the tables that belong to it, in the order of the entries."""
    return LEDGER.table(
        {
            "order": order,
            "id": claim.id,
            "paper": claim.paper,
            "where": claim.where,
            "statement": claim.statement,
            **{name: getattr(claim, name) for name in ("rule", "printed", "tolerance", "origin")},
            **vars(decide(claim, tables)),
            "table": claim.place,
            "figure": f"{claim.paper}/{claim.figure}" if claim.figure else "-",
        }
        for order, (claim, tables) in enumerate(claims, start=1)
    )


def sensitivity(
    paper: str,
    entries: Iterable[Mapping[str, Any]],
    variants: Iterable[tuple[str, str, Tables]],
    changes: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return the verdicts of claims by other tables: which depend on what a paper leaves open.

    The entries are those of ``paper.yaml``. A variant says what is chosen and how, and has the tables with
    it; a claim that they do not decide is left out. Where claims have the arguments in `changes`, these take
    their place.
    """
    claims = [
        from_entry(Claim, entry, f"Claim {_id(entry)} of {paper}", PaperError, paper=paper)
        for entry in entries
    ]
    rows = []
    for choice, setting, tables in variants:
        for claim in claims:
            own = {name: value for name, value in (changes or {}).items() if name in claim.arguments}
            try:
                found = decide(replace(claim, arguments={**claim.arguments, **own}), tables)
            except KeyError:
                continue
            if found.verdict == NOT_CHECKABLE:
                continue
            rows.append(
                {
                    "claim": claim.id,
                    "choice": choice,
                    "setting": setting,
                    "verdict": found.verdict,
                    "computed": found.computed,
                }
            )
    return SENSITIVITY.table(rows)


def count_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Count the claims of a ledger: a row per paper and one for all, a column per verdict."""
    wide = pd.crosstab(table["paper"], table["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    wide.loc["all"] = wide.sum()
    return wide.rename_axis(index="paper", columns=None).reset_index()


def ledger_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Lay a ledger out as a table of texts to read."""
    columns = [name for name in LEDGER.columns if name not in ("order", "table", "figure")]
    return table[columns]


def errata_texts(errata: Iterable[Erratum]) -> pd.DataFrame:
    """Lay the errata out as a table of texts to read."""
    names = {"correct": "should be", "shown": "how it is shown"}
    columns = [attribute.name for attribute in fields(Erratum)]
    return pd.DataFrame([vars(erratum) for erratum in errata], columns=columns).rename(columns=names)


# What checks are made of ----------------------------------------------------------------------------------


def require_rows(rows: pd.DataFrame, what: str, *columns: str, infinite: bool = False) -> pd.DataFrame:
    """Return the rows; raise `NotCheckable` if there are none.

    Raise `NotComputed` if a number in the columns is missing, or infinite unless that says something: a
    comparison with such a number does not fail where a number would.
    """
    if rows.empty:
        raise NotCheckable(f"The table has no rows of {what}; the configuration leaves them out.")
    for name in columns:
        require_numbers(rows[name], f"{name} of {what}", infinite=infinite)
    return rows


def require_numbers(values: Any, what: str, *, infinite: bool = False) -> FloatArray:
    """Return values as numbers; raise `NotComputed` if one is missing, or infinite unless that is allowed."""
    numbers: FloatArray = pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.isnan(numbers) if infinite else ~np.isfinite(numbers)
    if wrong.any():
        raise NotComputed(f"Of {numbers.size} numbers {what}, {wrong.sum()} are missing or infinite.")
    return numbers


def require_values(rows: pd.DataFrame, expression: str, *, infinite: bool = False) -> FloatArray:
    """Return the values of an expression of columns; `NotComputed` as of `require_numbers`, of these, too."""
    for name in rows.columns:
        if re.search(rf"\b{name}\b", expression) and rows[name].dtype.kind in "fi":
            require_numbers(rows[name], name, infinite=infinite)
    return require_numbers(rows.eval(expression, engine="python"), expression, infinite=infinite)


def require_checks(rows: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return rows of a table of checks, as `require_rows` does; only equal infinities are compared.

    Whether they hold must follow from their numbers.
    """
    require_rows(rows, what, "measured", "limit", "tolerance", infinite=True)
    sides = rows[["measured", "limit"]].to_numpy(dtype=float)
    wrong = ~np.isfinite(sides).all(axis=1) & (sides[:, 0] != sides[:, 1])
    if wrong.any() or not np.isfinite(rows["tolerance"]).all():
        raise NotComputed(f"Of {len(rows)} checks of {what}, {max(wrong.sum(), 1)} compare with infinity.")
    if not (which_hold(rows) == rows["holds"]).all():
        raise NotComputed(f"Whether the checks of {what} hold does not follow from their numbers.")
    return rows


def require_all_rows(table: pd.DataFrame, name: str) -> None:
    """Raise `NotComputed` if a table has fewer rows than were read from its file (`ResultTables`)."""
    written = table.attrs.get(ROWS, len(table))
    if len(table) != written:
        raise NotComputed(f"The table {name} has {len(table)} of its {written} rows.")


def require_instances(instances: int, needed: int, what: str = "instances") -> None:
    """Raise `NotCheckable` if there are fewer instances than a statement is about."""
    if instances < needed:
        raise NotCheckable(f"The statement is about {needed} random {what}; the tables have {instances}.")


def finding(
    measured: str,
    holds: bool,
    otherwise: str,
    reading: str = "",
    *,
    computed: str = "-",
    n: int | None = None,
) -> Finding:
    """Return a finding: not reproduced (`otherwise` says why), by another `reading`, or reproduced."""
    if not holds:
        return Finding(measured, NOT_REPRODUCED, otherwise, computed, n)
    return Finding(measured, ANOTHER_READING if reading else REPRODUCED, reading, computed, n)


def finding_of_parts(
    parts: Mapping[str, bool], numbers: str, remark: str, reading: str = "", *, n: int | None = None
) -> Finding:
    """Return the finding of a statement of several parts: reproduced if all hold."""
    held = [part for part, holds in parts.items() if holds]
    failed = [part for part, holds in parts.items() if not holds]
    measured = f"{len(held)} of {len(parts)} parts hold. {numbers}"
    kept = f" Holds: {'; '.join(held)}." if held else ""
    otherwise = f"Does not hold: {'; '.join(failed)}.{kept} {remark}".strip()
    return finding(
        measured,
        not failed,
        otherwise,
        reading,
        computed=f"{len(held)} of {len(parts)} parts of the statement hold",
        n=n,
    )


# Checks that serve every paper ----------------------------------------------------------------------------


def every_check_holds(tables: Tables, claim: Claim) -> Finding:
    """Decide by the rows of a table of checks that bear the claim's id: all must hold.

    ``arguments`` may have ``claims``, a list of ids to take instead of the claim's own, and ``quantities``,
    those that must be there for the statement to be decided.
    """
    ids = claim.arguments.get("claims", [claim.id])
    table = tables[claim.tables[0]]
    if "holds" not in table:
        raise TableError(f"{claim.paper}/{claim.tables[0]} is no table of checks; {claim.id} needs one.")
    rows = require_checks(table[table["claim"].isin(ids)], claim.id)
    for needed in claim.arguments.get("quantities", ()):
        require_rows(rows[rows["quantity"] == needed], f"{claim.id}, {needed}")
    measured, broken = [], []
    for quantity, part in rows.groupby("quantity", sort=False):
        worst, found = _worst(part)
        measured.append(f"{quantity}: {found}")
        if not worst["holds"]:
            order = "" if pd.isna(worst["order"]) else f"order {worst['order']:g}"
            where = ", ".join(filter(None, (worst["size"], worst["instance"], order)))
            number = f"{quantity} is {worst['measured']:.4g}" + (f" in {where}" if where else "")
            broken.append(f"{number}, the limit {worst['limit']:.4g}")
    cases = len(rows[["size", "instance", "order"]].drop_duplicates())
    text = f"{'; '.join(measured)} (over {cases} instance{'s' if cases > 1 else ''})."
    return finding(
        text,
        not broken,
        f"The statement fails: {'; '.join(broken)}.",
        computed=f"{int(rows['holds'].sum())} of {len(rows)} checks hold",
        n=cases,
    )


def _worst(part: pd.DataFrame) -> tuple[pd.Series[Any], str]:
    """Return the row that is nearest to its limit or furthest beyond it, and what to say of all rows."""
    apart = part["measured"] - part["limit"]
    # Infinities that are equal are not apart.
    apart = apart.mask(part["measured"] == part["limit"], 0.0)
    signed = apart * part["relation"].map({"<=": 1.0, ">=": -1.0})
    beyond = signed.where(part["relation"] != "=", apart.abs())
    # With tolerances of their own, the row furthest beyond its limit may be one that is allowed to be.
    counted = part["holds"] == part["holds"].all()
    worst = part[counted].iloc[int(beyond[counted].to_numpy().argmax())]
    relation, values = worst["relation"], part["measured"]
    if relation == "=":
        return worst, f"off by at most {apart.abs().max():.2g}"
    if (part["limit"] == worst["limit"]).all():
        extreme = values.max() if relation == "<=" else values.min()
        return worst, f"at {'most' if relation == '<=' else 'least'} {extreme:.4g}"
    place = "nearest to" if worst["holds"] else "furthest beyond"
    return worst, f"{place} its limit with {worst['measured']:.4g} for {worst['limit']:.4g}"
