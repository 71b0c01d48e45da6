"""Files of SPSS, Stata and SAS, read by pyreadstat: value labels are the answers, in the order of codes.

What a file declares to be missing is missing: SPSS's user-missing values, Stata's ``.a`` to ``.z``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from ldpfrontier.base.extras import extra

with extra("survey"):
    import pandas as pd

#: What files begin with, and the function of pyreadstat that reads them.
_BEGINNINGS = {
    **dict.fromkeys((b"$FL2", b"$FL3"), "read_sav"),
    b"<stata_dta>": "read_dta",
    # Before Stata 13: the version, the order of bytes, and a 1.
    **{bytes((version, order, 1)): "read_dta" for version in range(104, 116) for order in (1, 2)},
    b"HEADER RECORD*******LIB": "read_xport",
}
#: What a portable file of SPSS has among its first bytes.
_PORTABLE = b"SPSS PORT FILE"


def reader_of(start: bytes) -> str | None:
    """Return the name of the function of pyreadstat that reads a file which begins so; None if none does."""
    if _PORTABLE in start[:200]:
        return "read_por"
    return next((name for beginning, name in _BEGINNINGS.items() if start.startswith(beginning)), None)


def column_names(path: Path | str, reader: str) -> list[str]:
    """Return the names of all columns of a file, by the function that `reader_of` names."""
    return list(_read(path, reader, metadataonly=True)[1].column_names)


def read_answers(path: Path | str, reader: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the texts of some columns, which the file has: a row per record, and '' for what is missing.

    A column with value labels is an ordered categorical one. Its categories are the labels, and the codes
    that have none, in the order of the codes; a label of several codes is followed by its code.
    """
    frame, about = _read(path, reader, usecols=list(columns))
    return pd.DataFrame({name: _texts(frame[name], _labels(about, name)) for name in columns})


def _labels(about: Any, name: str) -> dict[Hashable, str]:
    """Return the labels of the codes of a column, without those of missing values."""
    missing = about.missing_ranges.get(name, ())
    # Where codes are numbers, Stata's missing values are letters among them.
    is_text = about.readstat_variable_types[name] == "string"
    return {
        code: label
        for code, label in about.variable_value_labels.get(name, {}).items()
        if isinstance(code, str) == is_text and not any(r["lo"] <= code <= r["hi"] for r in missing)
    }


def _read(path: Path | str, reader: str, **options: Any) -> tuple[pd.DataFrame, Any]:
    with extra("statistics"):
        import pyreadstat
    try:
        found: tuple[pd.DataFrame, Any] = getattr(pyreadstat, reader)(str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no file of SPSS, Stata or SAS that can be read: {error}.") from None
    return found


def _texts(values: pd.Series[Any], labels: dict[Hashable, str]) -> pd.Series[Any]:
    """Return the answers that the values of a column are."""
    places, found = pd.factorize(values)  # -1 is a missing value
    answers = {code: labels.get(code) or _text(code) for code in found}
    if labels:
        answers = {code: labels.get(code) or _text(code) for code in sorted({*found, *labels})}
        often = Counter(answers.values())
        answers = {code: text + f" ({_text(code)})" * (often[text] > 1) for code, text in answers.items()}
    texts = [answers[found[place]] if place >= 0 else "" for place in places.tolist()]
    kind = pd.CategoricalDtype([*answers.values(), ""], ordered=True) if labels else object
    return pd.Series(texts, dtype=kind)


def _text(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
