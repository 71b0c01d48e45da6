"""The parts of a channel file, each checked for its type; an unexpected type is refused in a sentence."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ldpfrontier.numerics.arguments import as_count, excerpt
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.records import Label, check_columns
from ldpfrontier.types import IntArray


def plain_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file without NaN, infinities and keys that occur twice.

    Raises
    ------
    ValueError
        If it has none; the sentence names the file.
    """
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"),
            parse_constant=_refuse,
            parse_int=_whole,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as error:
        if not error.doc.lstrip().startswith(("{", "\ufeff{")):
            raise ValueError(
                f"{path} is not a channel file: that is the JSON file which ldp-frontier design writes, such"
                " as channel.json, and this is no JSON."
            ) from None
        raise ValueError(f"{path} is not a channel file: {error}.") from None
    except (UnicodeDecodeError, _NotPlain) as error:
        raise ValueError(f"{path} is not a channel file: {error}.") from None
    except RecursionError:
        raise ValueError(f"{path} is not a channel file: it is nested too deeply.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is a JSON file, but not a channel of ldp-frontier.")
    return content


class _NotPlain(ValueError):
    """A channel file that is not strict JSON: it has NaN, an infinity, or a key twice."""


def _refuse(name: str) -> float:
    raise _NotPlain(f"it has the number {name}")


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads no more than some thousand digits
        raise _NotPlain(f"it has a number of {len(digits):,} digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise _NotPlain(f"it has the key {twice[0]!r} twice")
    return dict(pairs)


def members(value: Any, name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return an object of JSON as a new dict, if it has just these members.

    Raises
    ------
    ValueError
    """
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {excerpt(value)}; it must be an object.")
    if different := sorted(set(names) ^ set(value)):
        said = "lacks" if different[0] in names else "has the unknown member"
        raise ValueError(f"{name} {said} {excerpt(different[0])}; its members must be {', '.join(names)}.")
    return dict(value)


def text(value: Any, name: str) -> str:
    """Return a text.

    Raises
    ------
    ValueError
    """
    if not isinstance(value, str):
        raise ValueError(f"{name} is {excerpt(value)}; it must be a text.")
    return value


def texts(value: Any, name: str) -> Label:
    """Return a list of texts.

    Raises
    ------
    ValueError
    """
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is {excerpt(value)}; it must be a list of texts.")
    return tuple(value)


def labels(value: Any, name: str, parts: int) -> tuple[Label, ...]:
    """Return the values of some columns: lists of a text per column, no two alike.

    Raises
    ------
    ValueError
    """
    if not isinstance(value, list):
        raise ValueError(f"{name} is {excerpt(value)}; it must be a list of values.")
    found = tuple(texts(entry, f"A value of {name}") for entry in value)
    if wrong := [label for label in found if len(label) != parts]:
        raise ValueError(f"{name} has the value {excerpt(list(wrong[0]))}; it must have {parts} texts.")
    if len(set(found)) < len(found):
        twice = next(label for label in found if found.count(label) > 1)
        raise ValueError(f"{name} contains {excerpt(list(twice))} twice; every value must occur once.")
    return found


def counts(value: Any) -> IntArray:
    """Return a table of counts: rows of whole numbers, equally long.

    Raises
    ------
    ValueError
    """
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise ValueError(f"counts is {excerpt(value)}; it must be a list of rows.")
    if len({len(row) for row in value}) > 1:
        raise ValueError("counts has rows of different lengths; they must be equally long.")
    allowed = "a whole number, 0 to 2^53"
    return np.array([[as_count(n, "A count", allowed, most=2**53) for n in row] for row in value])


def table(value: Any) -> CountTable:
    """Return the table that a channel was designed from; without counts, nothing was counted.

    Shares by weights, if there are any, are in the place of counts.

    Raises
    ------
    ValueError
    """
    names = ("source", "sha256", "sensitive", "useful", "rows", "columns", "counts")
    shares = value.get("shares") if isinstance(value, dict) else None
    design = members(value, "The design", names if shares is None else (*names, "shares"))
    sensitive, useful = (texts(design[name], name) for name in ("sensitive", "useful"))
    check_columns(sensitive, useful, None)
    rows = labels(design["rows"], "rows", len(sensitive))
    columns = labels(design["columns"], "columns", len(useful))
    counted = design["counts"] is not None
    if counted and shares is not None:
        raise ValueError("The design has counts and shares; it must have one of the two.")
    found = counts(design["counts"] if counted else shares or [[1] * len(columns)] * len(rows))
    source, sha256 = (text(design[name], name) for name in ("source", "sha256"))
    return CountTable(sensitive, useful, rows, columns, found, source, sha256, counted)


def weights(value: Any) -> IntArray:
    """Return the weights of a channel: a text per row, of whole numbers.

    Raises
    ------
    ValueError
    """
    rows = [row.split() for row in texts(value, "weights")]
    if len(set(map(len, rows))) > 1:
        raise ValueError("weights has rows of different lengths; they must be equally long.")
    # Of 19 digits at most, as 2^62 is.
    if wrong := [n for row in rows for n in row if not (n.isascii() and n.isdigit() and len(n) <= 19)]:
        raise ValueError(f"weights contains {excerpt(wrong[0])}; allowed are whole numbers from 0 to 2^62.")
    if any(int(n) >= 2**63 for row in rows for n in row):
        raise ValueError("A weight is out of range; allowed are whole numbers from 0 to 2^62.")
    return np.array([list(map(int, row)) for row in rows], dtype=np.int64)
