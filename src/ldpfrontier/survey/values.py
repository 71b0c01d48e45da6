"""Values of columns that may not be what they seem: missing ones, totals, and several that look alike."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase

from ldpfrontier.survey.names import close_name
from ldpfrontier.survey.reading import Label, as_number
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.verify import visible

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


def missing_name(missing: str | None) -> str | None:
    """Return what becomes of missing values, if it is no name of a missing value itself."""
    if missing is not None and may_be_missing(missing):
        raise ValueError(
            f"The name of missing values is {missing!r}, which itself means a missing value; it must be a"
            " name such as 'unknown'."
        )
    return missing


def declared_codes(words: Iterable[str], columns: Sequence[str]) -> dict[str, set[float | str]]:
    """Return the codes for missing values that are declared, by column: ``99``, or ``age=99`` in one column.

    A code that is a number stands for all ways to write it. A `ValueError` if there is no such column.
    """
    found: dict[str, set[float | str]] = {}
    for word in words:
        column, equals, code = word.partition("=")
        one = bool(equals) and bool(column)
        if one and column not in columns:
            raise ValueError(
                f"--missing-codes has {word!r}, but {column!r} is none of the columns {', '.join(columns)}."
                f"{close_name(column, columns)} A code that has '=' in it follows its column, as in"
                f" {columns[0]}={word}."
            )
        for name in [column] if one else columns:
            found.setdefault(name, set()).add(as_code(code if one else word))
    return found


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
    source: str, columns: Sequence[str], found: Mapping[Label, float], missing: str | None
) -> tuple[dict[Label, float], str]:
    """Return counts of labels without missing values, and a sentence on records that were left out.

    `missing` is ``drop``, which leaves labels with missing values out, ``keep``, which leaves them as they
    are if they are neither empty nor nan, or a text that takes their place; with None they are refused.
    """
    asked = is_missing if missing == KEEP else may_be_missing
    times: dict[tuple[str, str], float] = {}
    for label, number in found.items():
        for name, value in zip(columns, label, strict=True):
            if asked(value):
                times[name, value] = times.get((name, value), 0) + number
    if not times:
        return dict(found), ""
    if missing in (None, KEEP):
        kept = ", and texts that are answers kept (--missing keep)"
        raise ValueError(
            f"{_told(source, times)}; missing values must be given a name (--missing unknown) or left out"
            f" (--missing drop){'' if missing else kept}."
        )
    if missing == DROP:
        left = {label: number for label, number in found.items() if not any(map(asked, label))}
        if not left:
            raise ValueError(f"Every record of {source} has a missing value; nothing is left to count.")
        gone = sum(found.values()) - sum(left.values())
        return left, f"{_told(source, times)}; {_many(gone)} {'was' if gone == 1 else 'were'} left out."
    named: dict[Label, float] = {}
    for label, number in found.items():
        label = tuple(str(missing) if asked(value) else value for value in label)
        named[label] = named.get(label, 0) + number
    return named, ""


def _many(number: float) -> str:
    """Return a number of records; that of weights is rounded."""
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
