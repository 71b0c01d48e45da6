"""A memo of reports, so that a person who has reported before gives the same report again.

Two independent reports of a person reveal up to twice as much as one report, and many reports reveal
everything. A report that is stored and repeated reveals nothing new, however often it is requested; RAPPOR
(Erlingsson, Pihur, Korolova, CCS 2014) calls this the permanent response. Reports are stored by person and
not by value: a person whose value has changed still gives the first report. The level of the channel thus
holds for all releases together, and the estimates refer to the values at the first report.

The file is an SQLite database. It contains who gave which report, and no value of a record.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from ldpfrontier.numerics.arguments import check_callable
from ldpfrontier.practice.channel_file import PrivateChannel
from ldpfrontier.practice.outputs import check_outputs
from ldpfrontier.practice.records import as_path, as_text
from ldpfrontier.practice.sampling import Sampler, Source
from ldpfrontier.types import IntArray

#: Marks a database as a memo, with the version of its tables.
APPLICATION, VERSION = 0x6C647066, 1

#: How long to wait for another run that uses the memo, in seconds.
PATIENCE = 5.0

#: Takes the ids and the inputs of records; returns their outputs and how many of them were kept ones.
Draw = Callable[[Sequence[str], IntArray], tuple[IntArray, int]]


class Memo:
    """A file that stores the report of every person.

    Parameters
    ----------
    path : path
        The file is created if it does not exist.
    column : str
        The column of the records that identifies people.
    source : callable, optional
        A source of random bytes, as in `privatize_file`.

    Raises
    ------
    ValueError
        If the path or the column is not a text.
    """

    def __init__(self, path: Path | str, column: str, source: Source | None = None) -> None:
        self.path, self.column = as_path(path), as_text(column, "The column of the ids")
        if source is not None:
            check_callable(source, "The source of random bytes")
        self._source = source

    @contextmanager
    def drawing(self, private: PrivateChannel) -> Iterator[Draw]:
        """Provide a function that draws a report for a new person and repeats it for a known one.

        New reports are saved if the block succeeds, and discarded if it fails.

        Raises
        ------
        ValueError
            If the file is no memo, belongs to another channel, or is in use.
        """
        check_outputs([self.path], [])
        new = not self.path.exists()
        if new:  # reports with names are for nobody else
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        done = False
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=PATIENCE)) as base:
                base.execute("BEGIN IMMEDIATE")
                self._open(base, private)
                yield _drawing(base, private, self._source)
                base.execute("COMMIT")
                done = True
        except sqlite3.OperationalError as error:
            raise ValueError(f"The memo {self.path} cannot be used: {error}.") from None
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} is not a memo of ldp-frontier: {error}.") from None
        finally:
            if new and not done:
                self.path.unlink(missing_ok=True)

    def _open(self, base: sqlite3.Connection, private: PrivateChannel) -> None:
        digest = _digest(private)
        (tables,) = base.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if not tables:
            base.execute(f"PRAGMA application_id = {APPLICATION}")
            base.execute(f"PRAGMA user_version = {VERSION}")
            base.execute("CREATE TABLE channel (sha256 TEXT NOT NULL, id_column TEXT NOT NULL)")
            base.execute("INSERT INTO channel VALUES (?, ?)", (digest, self.column))
            base.execute(
                "CREATE TABLE reports (id TEXT PRIMARY KEY NOT NULL, report TEXT NOT NULL) WITHOUT ROWID"
            )
            return
        marks = [base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if marks != [APPLICATION, VERSION]:
            raise ValueError(
                f"{self.path} is a database, but not a memo of version {VERSION} of ldp-frontier."
            )
        kept, column = base.execute("SELECT sha256, id_column FROM channel").fetchone()
        if kept != digest:
            raise ValueError(
                f"{self.path} contains reports of another channel. Reports of two channels together reveal"
                " more than the level of each allows; people must report with the channel that they used"
                " first."
            )
        if column != self.column:
            raise ValueError(
                f"{self.path} identifies people by the column {column!r}, but {self.column!r} was given; the"
                " two must be the same."
            )


def _drawing(base: sqlite3.Connection, private: PrivateChannel, source: Source | None) -> Draw:
    sampler = Sampler(private.weights, source) if source else Sampler(private.weights)
    places = {report: place for place, report in enumerate(private.outputs)}

    def drawn(ids: Sequence[str], inputs: IntArray) -> tuple[IntArray, int]:
        found: dict[str, int] = {}
        first: dict[str, int] = {}
        for place, name in enumerate(ids):
            if name in found or name in first:
                continue
            row = base.execute("SELECT report FROM reports WHERE id = ?", (name,)).fetchone()
            if row is None:
                first[name] = place
            else:
                found[name] = places[row[0]]
        outputs = sampler.draw(inputs[list(first.values())]).tolist()
        found.update(zip(first, outputs, strict=True))
        kept = ((name, private.outputs[output]) for name, output in zip(first, outputs, strict=True))
        base.executemany("INSERT INTO reports VALUES (?, ?)", kept)
        return np.array([found[name] for name in ids], dtype=np.int64), len(ids) - len(first)

    return drawn


def _digest(private: PrivateChannel) -> str:
    """Return a hash of what a channel does: its labels and its weights."""
    labels = json.dumps([private.table.attributes, private.table.labels])
    weights = np.ascontiguousarray(private.weights, dtype="<i8").tobytes()
    return hashlib.sha256(labels.encode() + weights).hexdigest()
