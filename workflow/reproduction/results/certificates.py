"""Certificates of optima: documents that a program of its own checks, `ldpfrontier.verify`.

A job that solves optima writes their documents as a table. They become files that anyone can check, or take
a channel from; what the checker says of each is a table, too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ldpfrontier import verify
from ldpfrontier.base.atomic import write_text
from reproduction.results.tables import Row, Schema, TableError

#: The columns of `OptimumPlace`, as in `tables.RESULTS`.
_PLACE = {
    "paper": "str",
    "experiment": "str",
    "size": "str",
    "instance": "str",
    "mechanism": "str",
    "epsilon": "float64",
}

#: Of a document. A claim that fails is a finding; what is no document is an error.
PROVED, FAILED = "proved", "failed"

#: By how much a bound that is proved may be above the one that was computed to count as close, relative.
CLOSE_EXCESS = 5e-3

#: Files that one process of the checker is given.
_FILES_AT_ONCE = 100


def _document_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield ~(table["value"] <= table["bound"]), "has the value {value} beyond its bound {bound}"


#: Documents, with the value and the bound that were computed, in the unit of the utility.
DOCUMENTS = Schema(
    name="certificate",
    columns={**_PLACE, "value": "float64", "bound": "float64", "document": "str"},
    key=tuple(_PLACE),
    rules=_document_rules,
)


def _verified_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield ~table["outcome"].isin([PROVED, FAILED]), "has the unknown outcome {outcome}"
    broken = (table["outcome"] == PROVED) & (table["proved_bound"] < table["value"])
    yield broken, "has the value {value} beyond its bound {proved_bound}, which is proved"


#: What the checker says of every document; numbers are those of the document, as far as it has them.
VERIFIED = Schema(
    name="verified certificate",
    columns={
        **_PLACE,
        "outcome": "str",
        "claims": "str",  # kinds of the claims
        "value": "float64",  # computed
        "bound": "float64",  # computed
        "proved_value": "float64",  # at least that of the mechanism
        "proved_bound": "float64",  # of its class or a larger one; missing: none is in the document
        "excess": "float64",  # of the bound proved over that computed, relative
        "bytes": "Int64",
        "file": "str",
        "sentence": "str",
    },
    key=tuple(_PLACE),
    rules=_verified_rules,
)


class OptimumPlace(NamedTuple):
    """Which optimum a document is about."""

    paper: str
    experiment: str
    size: str
    instance: str
    mechanism: str
    epsilon: float


def document_row(place: OptimumPlace, value: float, bound: float, document: Mapping[str, Any]) -> Row:
    """Return a row of `DOCUMENTS`; a bound that is passed by rounding becomes the value."""
    return {
        **place._asdict(),
        "epsilon": float(place.epsilon),
        "value": float(value),
        "bound": max(float(bound), float(value)),
        "document": json.dumps(document, separators=(",", ":")),
    }


def write_documents(documents: pd.DataFrame, folder: Path | str) -> list[Path]:
    """Write every document to a file of its own, named by what it is about, and return the files."""
    paths = []
    for row in documents.to_dict("records"):
        place = [re.sub(r"[^\w.-]+", "_", str(row[name])) for name in ("experiment", "size", "instance")]
        name = f"{row['mechanism']}-{row['epsilon']:g}.json"
        path = Path(folder, *filter(None, place), name)
        write_text(str(row["document"]) + "\n", path)
        paths.append(path)
    if len({*paths}) < len(paths):
        raise TableError("Two certificates have one file name; levels must differ in six digits.")
    return paths


def run_checker(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Check files by the checker as a program, and yield the outcome of each and what is said of it.

    A file that is no certificate is an error.
    """
    for first in range(0, len(paths), _FILES_AT_ONCE):
        some = paths[first : first + _FILES_AT_ONCE]
        command = [sys.executable, str(verify.__file__), *map(str, some)]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = said.stdout.splitlines()
        if said.returncode not in (0, 1) or len(lines) != len(some):
            told = [line.removeprefix(f"{path}: ") for path, line in zip(some, lines, strict=False)]
            wrong = [sentence for sentence in told if not sentence.startswith(("proved", "NOT PROVED"))]
            raise TableError(f"The checker of certificates failed: {(wrong or [said.stderr])[0]}")
        for path, line in zip(some, lines, strict=True):
            sentence = line.removeprefix(f"{path}: ")
            yield (PROVED if sentence.startswith("proved") else FAILED), sentence


def verified(documents: pd.DataFrame, folder: Path | str) -> pd.DataFrame:
    """Write documents to files, check these, and return what was found, as `VERIFIED`."""
    paths = write_documents(documents, folder)
    rows = []
    for row, path, (outcome, sentence) in zip(
        documents.to_dict("records"), paths, run_checker(paths), strict=True
    ):
        claims = json.loads(str(row["document"]))["claims"]
        bound, value = _number(claims, "bound"), _number(claims, "at least")
        rows.append(
            {
                **{str(name): x for name, x in row.items() if name != "document"},
                "outcome": outcome,
                "claims": ", ".join(dict.fromkeys(claim["kind"] for claim in claims)),
                "proved_value": value,
                "proved_bound": bound,
                "excess": bound / row["bound"] - 1.0 if row["bound"] > 0 else bound,
                "bytes": path.stat().st_size,
                "file": path.relative_to(folder).as_posix(),
                "sentence": sentence,
            }
        )
    return VERIFIED.table(rows)


def _number(claims: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return the number of this name in the first claim that has one; nan if none has."""
    return next((float(Decimal(claim[name])) for claim in claims if name in claim), float("nan"))


def count_certificates(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Count the documents of every paper by what the checker proved of them, a row per table.

    The columns are the paper; ``bound proved to 0.5%``, where the level and the utility of the mechanism are
    proved, and a bound that is at most `CLOSE_EXCESS` above that computed; ``farther bound proved``, where a
    bound, if any, is farther above; ``failed``; and ``largest excess``, relative, of the bounds proved to
    0.5%.
    """
    rows = []
    for table in tables:
        proved, close = table["outcome"] == PROVED, table["excess"] <= CLOSE_EXCESS
        excess = table.loc[proved & close, "excess"].max()
        rows.append(
            {
                "paper": table["paper"].iloc[0],
                f"bound proved to {CLOSE_EXCESS:.1%}": int((proved & close).sum()),
                "farther bound proved": int((proved & ~close).sum()),
                "failed": int((~proved).sum()),
                "largest excess": "-" if pd.isna(excess) else f"{max(excess, 0.0):.1e}",
            }
        )
    return pd.DataFrame(rows)
