"""Values of columns that may not be what they seem: missing ones, totals, and several that look alike."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from ldpfrontier.verify import visible
from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.data.reading import Label, as_number

if TYPE_CHECKING:
    import pandas as pd

#: What `--missing` accepts beside a name: leave these records out, or take texts such as NA for answers.
DROP, KEEP = "drop", "keep"

_MISSING = {"", "nan"}

#: Texts with which programs (R, pandas, SQL, Excel, SPSS, Stata's .a to .z) and people mark missing values,
#: and which may be answers as well.
_DOUBTFUL = {
    *("na", "n/a", "#n/a", "<na>", "nat", "null", "#null!", "\\n", "none", "?", "-", "\u2013", "\u2014", "."),
    *("#div/0!", "#name?", "#num!", "#ref!", "#value!", *(f".{letter}" for letter in ascii_lowercase)),
}

#: Names of a row or a column with sums over the values of another.
_TOTALS = {"total", "totals", "all", "sum", "overall", "grand total", "subtotal", "(all)", "margin"}


def is_missing(value: str) -> bool:
    """Return whether a text stands for a missing value, and for nothing else."""
    return value.strip().lower() in _MISSING


def may_be_missing(value: str) -> bool:
    """Return whether a text stands for a missing value, or may do so, such as NA, None, ? and -."""
    return is_missing(value) or value.strip().lower() in _DOUBTFUL


@dataclass(frozen=True)
class Missing:
    """Which values of a column are missing, and what becomes of them.

    `codes` are declared ones, as of `as_code`; with `keep`, texts such as NA are answers. `becomes` is
    ``drop``, a name that takes their place, or None if they are refused.
    """

    codes: frozenset[float | str] = frozenset()
    keep: bool = False
    becomes: str | None = None

    def __call__(self, value: str) -> bool:
        """Return whether a value is missing."""
        if self.codes and as_code(value) in self.codes:
            return True
        return is_missing(value) if self.keep else may_be_missing(value)


def stored_rules(rules: Mapping[str, Missing]) -> dict[str, Any]:
    """Return rules as a file of JSON has them."""
    return {
        name: {"codes": sorted(rule.codes, key=str), "keep": rule.keep, "becomes": rule.becomes}
        for name, rule in rules.items()
    }


def read_rules(stored: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Missing]:
    """Return the rules that a file has for some columns; refuse what are none."""
    rules = {}
    for name, entry in stored.items():
        codes, keep, becomes = entry["codes"], entry["keep"], entry["becomes"]
        real = isinstance(codes, list) and all(type(code) in (str, int, float) for code in codes)
        if name not in columns or not real or type(keep) is not bool or not isinstance(becomes, str | None):
            raise ValueError(f"what it says of missing values is {name!r}: {entry!r}.")
        rules[name] = Missing(frozenset(codes), keep, missing_name(becomes))
    return rules


def missing_rules(
    missing: str | Sequence[str] | Mapping[str, str] | None,
    codes: Sequence[str],
    columns: Sequence[str],
    known: Mapping[str, Missing] | None = None,
) -> dict[str, Missing]:
    """Return what is missing in each column, and what becomes of it.

    Each of the texts `missing` is ``drop``, ``keep`` or a name, for all columns that have none of their own,
    or ``COLUMN=drop`` and so on for one; a mapping has one for each of its columns. ``keep,drop`` keeps texts
    such as NA and leaves out what is missing still: empty fields and `codes`, which are ``99``, or ``age=99``
    in one column. Rules that are `known` hold where no text says otherwise, and their codes stay.
    """
    own, usual = dict[str, str](), list[str]()
    if isinstance(missing, Mapping):
        missing = [f"{column}={text}" for column, text in missing.items()]
    for word in [missing] if isinstance(missing, str) else (missing or ()):
        column, text = split_column(word, columns)
        if text is None:
            usual.append(word)
        elif column not in columns or column in own:
            wrong = "is there twice" if column in own else f"is none of {', '.join(columns)}"
            raise ValueError(
                f"--missing has {word!r}, but the column {column!r} {wrong}.{close_name(column, columns)}"
            )
        else:
            own[column] = text or str(missing_name(text))  # which refuses an empty one
    if len(usual) > 1 or (usual and len(own) == len(columns)):
        raise ValueError(
            f"--missing has {usual[-1]!r}, and what becomes of missing values is said for all columns"
            " already; COLUMN=drop, COLUMN=keep or COLUMN=NAME is for one column."
        )
    declared, before = declared_codes(codes, columns), known or {}
    found = {}
    for column in columns:
        rule = before.get(column, Missing())
        if text := own.get(column, usual[0] if usual else ""):
            keep, _, rest = text.partition(",") if text.startswith(f"{KEEP},") else (text, "", "")
            becomes = (rest or None) if keep == KEEP else missing_name(text)
            rule = replace(rule, keep=keep == KEEP, becomes=missing_name(becomes))
        found[column] = replace(rule, codes=rule.codes | declared.get(column, frozenset()))
    for word in codes:
        names, code = _code_of(word, columns)
        if all(found[name].becomes is None for name in names):
            raise ValueError(
                f"--missing-codes says that {code!r} is missing, and needs --missing, which says what becomes"
                f" of it: {names[0]}=drop, {names[0]}=NAME or, if texts such as NA are answers there,"
                f" {names[0]}=keep,drop or {names[0]}=keep,NAME."
            )
    return found


def missing_name(missing: str | None) -> str | None:
    """Return what becomes of missing values, if it is no name of a missing value itself."""
    if missing is not None and may_be_missing(missing):
        raise ValueError(
            f"The name of missing values is {missing!r}, which itself means a missing value; it must be a"
            " name such as 'unknown'."
        )
    return missing


def declared_codes(words: Iterable[str], columns: Sequence[str]) -> dict[str, frozenset[float | str]]:
    """Return the codes for missing values that are declared, by column: ``99``, or ``age=99`` in one column.

    A code that is a number stands for all ways to write it. A `ValueError` if there is no such column.
    """
    found: dict[str, frozenset[float | str]] = {}
    for word in words:
        names, code = _code_of(word, columns)
        for name in names:
            found[name] = found.get(name, frozenset()) | {as_code(code)}
    return found


def _code_of(word: str, columns: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the columns that a declared code is for, and the code."""
    column, code = split_column(word, columns)
    if code is None or not column:
        return columns, word
    if column not in columns:
        raise ValueError(
            f"--missing-codes has {word!r}, but {column!r} is none of the columns {', '.join(columns)}."
            f"{close_name(column, columns)} A code that has '=' in it follows its column, as in"
            f" {columns[0]}={word}."
        )
    return [column], code


def unused_codes(source: str, words: Iterable[str], values: Mapping[str, Collection[str]]) -> list[str]:
    """Return a sentence for every declared code that no value is: the real one may be an answer then."""
    sentences = []
    for word in words:
        names, code = _code_of(word, list(values))
        there = sorted({value for name in names for value in values[name]})
        if as_code(code) not in map(as_code, there):
            where = f" in the column {names[0]}" if len(names) == 1 else ""
            sentences.append(
                f"the code {code!r} of --missing-codes does not occur in {source}{where}; nothing is missing"
                f" by it.{close_name(code, there)}"
            )
    return sentences


def as_code(text: str) -> float | str:
    """Return what the ways to write a code have in common."""
    number = as_number(text)
    return text.strip().casefold() if number is None else number


def check_totals(source: str, columns: Sequence[str], found: Mapping[Label, float]) -> None:
    """Refuse a value that is called a total and has as many records as all others of its column together."""
    for place, name in enumerate(columns):
        sums: dict[str, float] = {}
        for label, number in found.items():
            sums[label[place]] = sums.get(label[place], 0) + number
        for value, number in sums.items():
            called = value.strip().casefold() in _TOTALS
            if called and len(sums) > 2 and math.isclose(2 * number, sum(sums.values()), rel_tol=1e-9):
                raise ValueError(
                    f"{source} has {value!r} as {name}, as often as all others together: it is a total, and"
                    " not an answer. Leave its rows out (or give it another name if it is one)."
                )


def without_missing(
    source: str,
    found: Mapping[Label, float],
    missing: Mapping[str, Missing],
    rows: Mapping[Label, int] | None = None,
    records: Mapping[Label, int] | None = None,
) -> tuple[dict[Label, float], str]:
    """Return counts of labels without missing values, and a sentence on records that were left out.

    Labels have the columns of `missing`, in that order. `rows` has a row of the file for each, and `records`
    the number of records if the counts are weights, for sentences.
    """
    times: dict[tuple[str, str], float] = {}
    left: dict[Label, float] = {}
    gone_records = 0.0
    first: dict[str, int] = {}
    for label, number in found.items():
        gone = [
            (name, value) for (name, rule), value in zip(missing.items(), label, strict=True) if rule(value)
        ]
        many = number if records is None else records[label]
        for name, value in gone:
            times[name, value] = times.get((name, value), 0) + many
            first.setdefault(name, (rows or {}).get(label, 0))
        if all(missing[name].becomes != DROP for name, _ in gone):
            named = dict(gone)
            made = tuple(
                str(missing[name].becomes) if name in named else value
                for name, value in zip(missing, label, strict=True)
            )
            left[made] = left.get(made, 0) + number
        else:
            gone_records += many
    for name, rule in missing.items():
        if some := {key: number for key, number in times.items() if key[0] == name and rule.becomes is None}:
            kept = "" if rule.keep else f", and texts that are answers kept ({name}=keep)"
            row = f" (row {first[name]})" if first[name] else ""
            raise ValueError(
                f"{_told(source, some)}{row}; missing values must be given a name (--missing {name}=unknown,"
                f" or unknown for all columns) or left out ({name}=drop){kept}."
            )
    dropped = {key: number for key, number in times.items() if missing[key[0]].becomes == DROP}
    if not dropped:
        return left, ""
    if not left:
        raise ValueError(f"Every record of {source} has a missing value; nothing is left to count.")
    was = "was" if gone_records == 1 else "were"
    return left, f"{_told(source, dropped)}; {_many(gone_records)} {was} left out."


def first_rows(chunk: pd.DataFrame, labels: Sequence[Label], known: Mapping[Label, int]) -> dict[Label, int]:
    """Return the first row of each label of some records that is not known yet."""
    return {label: int(chunk.index[labels.index(label)]) for label in set(labels).difference(known)}


def _many(number: float) -> str:
    """Return a number of records as a text."""
    return f"{number:,.0f} record{'' if number == 1 else 's'}"


def _told(source: str, times: Mapping[tuple[str, str], float]) -> str:
    """Return how many records have which missing values."""
    most = SETTINGS.named_values
    ordered = sorted(times.items(), key=lambda item: -item[1])
    parts = [f"{value!r} as {name} in {_many(number)}" for (name, value), number in ordered[:most]]
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return f"{source} has {', '.join(parts)}{more}"


def look_alikes(columns: Sequence[str], labels: Iterable[Label]) -> list[str]:
    """Return a sentence for every column with values that look alike.

    They do if they differ in upper and lower case, in spaces and letters that cannot be seen, in the Unicode
    form of their letters, or in how a number is written, as 1 and 1.0 do.
    """
    sentences = []
    for name, values in zip(columns, zip(*labels, strict=True), strict=True):
        groups: dict[str, list[str]] = {}
        for value in dict.fromkeys(values):
            groups.setdefault(_look(value), []).append(value)
        alike = [group for group in groups.values() if len(group) > 1]
        if alike:
            most = SETTINGS.named_values
            some = "; ".join(" and ".join(map(_quoted, group)) for group in alike[:most])
            more = f", and {len(alike) - most} more" if len(alike) > most else ""
            sentences.append(
                f"values of {name} look alike, and are counted as different answers: {some}{more}. If they"
                " are the same answer, write them in one way."
            )
    return sentences


def _look(value: str) -> str:
    """Return what values that look alike have in common."""
    plain = unicodedata.normalize("NFKC", value).casefold()
    seen = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    text = unicodedata.normalize("NFC", " ".join(seen.split()))
    number = as_number(text)
    return text if number is None else repr(number)


def _quoted(value: str) -> str:
    """Return a value in quotation marks, with what only a program can tell apart written out."""
    return repr(value) if unicodedata.normalize("NFC", value) == value else ascii(value)


def listed_values(columns: Sequence[str], labels: Sequence[Label], width: int) -> list[str]:
    """Return a line of at most so many letters for every column, with its values as far as they fit."""
    lines = []
    for name, texts in zip(columns, zip(*labels, strict=True), strict=True):
        # In quotation marks where it is hard to tell where a value begins and ends.
        plain = [repr(v) if v != v.strip() or ", " in v or not v else v for v in dict.fromkeys(texts)]
        lines.append(shortened(visible(f"{name}: {', '.join(plain)}"), width))
    return lines


def shortened(text: str, most: int) -> str:
    """Return a text with three points at its end if it has more letters than allowed."""
    return text if len(text) <= most else text[: most - 3] + "..."
