"""Reports in a file of SQLite, each added in a transaction of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Lock

#: What files of SQLite begin with.
SQLITE = b"SQLite format 3\0"

#: Seconds to wait for another process that writes to the same file.
_PATIENCE = 30.0

_TABLE = "CREATE TABLE IF NOT EXISTS reports (channel TEXT NOT NULL, report TEXT NOT NULL, key TEXT UNIQUE)"


class ReportStore:
    """A file of SQLite that reports of one channel are added to, by any number of threads and processes.

    When `add` returns, the report is on the disk: the journal is written ahead, and synchronized before.
    There is a time, an address or an order of people in no column.
    """

    def __init__(self, path: Path | str, channel: str) -> None:
        self._channel, self._lock = channel, Lock()
        try:
            self._open(path)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} cannot be used as a file of SQLite for reports: {error}.") from None
        others = self._database.execute("SELECT channel FROM reports WHERE channel != ?", (channel,))
        if other := others.fetchone():
            self.close()
            raise ValueError(
                f"{path} has reports of the channel {other[0]!r}, and this channel is {channel!r}; take"
                " another file."
            )

    def _open(self, path: Path | str) -> None:
        # Without transactions of Python: every statement is one.
        self._database = sqlite3.connect(path, _PATIENCE, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(_TABLE)

    def add(self, report: str, key: str | None = None) -> bool:
        """Add a report; tell whether it is there, which it is not if its key came with another report.

        A report whose key is there already is the same one, sent again, and is not added.
        """
        with self._lock:
            try:
                self._database.execute("INSERT INTO reports VALUES (?, ?, ?)", (self._channel, report, key))
            except sqlite3.IntegrityError:
                found = self._database.execute("SELECT report FROM reports WHERE key = ?", (key,)).fetchone()
                return bool(found == (report,))
        return True

    def __len__(self) -> int:
        with self._lock:
            (number,) = self._database.execute("SELECT count(*) FROM reports").fetchone()
        return int(number)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def stored_reports(path: Path | str) -> Iterator[tuple[str, str]]:
    """Yield the channel of each report in a file of SQLite, and the report."""
    try:
        with closing(sqlite3.connect(path, _PATIENCE)) as database:
            yield from database.execute("SELECT channel, report FROM reports ORDER BY rowid")
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} is no file of SQLite with reports: {error}.") from None
