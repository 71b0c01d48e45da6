"""A memo of reports: a person who is asked again gives the same report, or has reports left of an allowance.

Many independent reports of a person reveal everything (docs/beyond/theorems.md, statement 11 (f)). If the
channel is for one report, a report that is stored and repeated reveals nothing new, however often it is
requested; RAPPOR (Erlingsson, Pihur, Korolova, CCS 2014) calls this the permanent response. Reports are
stored by person and not by value: a person whose value has changed still gives the first report.

If the channel is for several reports of a person (`Allowance`), each of them belongs to a wave, a name that
the user gives. Within a wave a person's report is repeated, so that a run that failed may be started again;
in another wave a new one is drawn, if the channel allows one more. Reports are saved before they are
published: one that nobody has seen may count, but none is seen that does not count.
A memo that is empty and was not created by the same run is refused: nobody knows whether it was cut off.

The file is an SQLite database. It contains who gave which report with which channel and in which wave, and no
value of a record. Of several runs that find no memo, one creates it (`O_EXCL`), and the others are refused.
Only the run that created the file ever removes it: if it fails, holds the lock, and finds that nobody has
saved anything in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ldpfrontier.base.atomic import OWNER
from ldpfrontier.base.types import IntArray
from ldpsurvey.base.layout import reports_text
from ldpsurvey.base.sampling import RandomSource
from ldpsurvey.channel.channel_file import id_of
from ldpsurvey.channel.kinds import ReportingChannel
from ldpsurvey.channel.reports import checked_name
from ldpsurvey.data.outputs import check_outputs

#: Marks a database as a memo, with the version of its tables.
APPLICATION, VERSION = 0x6C647066, 3

#: How long to wait for programs that read the memo before the new reports are saved, in seconds.
PATIENCE = 5.0


def check_account(private: ReportingChannel, memo: Memo | None, no_memo: bool) -> None:
    """Refuse to draw reports without an account where a person may give several, unless that is asked for.

    Where a person may give one, there is none to be left out.
    """
    if private.certificate.allowance is not None and memo is None and not no_memo:
        raise ValueError(
            f"The channel {private.id!r} is for several reports of a person, which need an account of who has"
            " reported: --memo FILE --id COLUMN --wave NAME. With --no-memo none is kept, and whoever"
            " collects the reports has to see to it that nobody gives more than are allowed."
        )
    if private.certificate.allowance is None and no_memo:
        raise ValueError(
            f"--no-memo is for a channel that is for several reports of a person; {private.id!r} is for one,"
            " and needs no account."
        )


class Draw:
    """Draws the report of every record, each on its own."""

    #: Whether there is a memo in which nobody had a report before.
    is_new = False

    def __init__(self, private: ReportingChannel, source: RandomSource | None) -> None:
        self._draw = private.drawing(source)

    def __call__(self, ids: Sequence[str], records: IntArray) -> tuple[list[str], int]:
        """Return the reports of records, (m, fields), and how many of them are repeated ones."""
        return self._draw(records), 0

    @property
    def unmatched(self) -> int:
        """The number of people in the memo, if no record so far was of any of them; else 0."""
        return 0


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
    wave : str
        Which of several reports this is, of a channel that is for several; within it a person's report is
        repeated. Empty for a channel that is for one. As of ids, white space around it does not count, nor
        does the Unicode form of a letter.
    """

    def __init__(
        self, path: Path | str, column: str, source: RandomSource | None = None, wave: str = ""
    ) -> None:
        self.path, self.column, self._source = Path(path), column, source
        self.wave = checked_name(wave, "The wave")
        if wave and not self.wave:
            raise ValueError(f"The wave is {wave!r}; it needs a name that can be seen.")

    @contextmanager
    def drawing(self, private: ReportingChannel) -> Iterator[Draw]:
        """Provide a function that draws a report for a new person and repeats it for a known one.

        It takes ids in their normal form, and refuses a report that the person has not left. New reports are
        saved if the block succeeds, and discarded if it fails. A file that is no memo of this channel and
        wave, is in use, or is gone when the block has ended, is refused.
        """
        if (private.certificate.allowance is None) != (self.wave == ""):
            raise ValueError(
                f"The channel {private.id!r} is for several reports of a person; a wave (--wave NAME) says"
                " which of them this is."
                if self.wave == ""
                else f"The wave is {self.wave!r}, but the channel {private.id!r} is for one report of a"
                " person, which is repeated in every wave."
            )
        check_outputs([self.path], [])
        file = Path(os.path.realpath(self.path))
        first = not file.exists()
        identity = self._create(file) if first else _identity(file)
        try:
            # A file that was removed must not be created again here, and a run that comes second is refused
            # without a wait, so that of two first runs one publishes its reports.
            address = f"{file.as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=0.0)) as base:
                base.execute("BEGIN IMMEDIATE")
                base.execute(f"PRAGMA busy_timeout = {1000.0 * PATIENCE:.0f}")
                try:
                    self._check_file(file, identity)
                    if first:  # whoever ends this run from now on leaves a memo, and no empty file
                        self._begin(base, private)
                        base.execute("COMMIT")
                        base.execute("BEGIN IMMEDIATE")
                    self._open(base, private)
                    yield _Repeating(base, private, self._source, self.wave)
                    base.execute("COMMIT")
                    self._check_file(file, identity)
                except BaseException:
                    if first:
                        _withdraw(base, file, identity)
                    raise
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise ValueError(self._in_use_text()) from None
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED:
                raise ValueError(self._gone_text()) from None
            raise ValueError(f"The memo {self.path} cannot be used: {error}.") from None
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} is not a memo of ldp-frontier: {error}.") from None

    def _create(self, file: Path) -> _Identity:
        """Create the file, which must not exist, for nobody else; return its identity."""
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER)
        except FileExistsError:
            raise ValueError(self._in_use_text()) from None
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), str(self.path)) from None
        status = os.fstat(descriptor)
        os.close(descriptor)
        return status.st_dev, status.st_ino

    def _in_use_text(self) -> str:
        return (
            f"The memo {self.path} is in use by another run. Start this one again when the other one has"
            " ended; it will then repeat the reports that the other one has drawn."
        )

    def _check_file(self, file: Path, identity: _Identity | None) -> None:
        if _identity(file) != identity:
            raise ValueError(self._gone_text())

    def _gone_text(self) -> str:
        return (
            f"The memo {self.path} was removed or replaced while it was in use. No report was written,"
            " since it could not be repeated later."
        )

    def _begin(self, base: sqlite3.Connection, private: ReportingChannel) -> None:
        """Make a locked database a memo of this channel."""
        base.execute(f"PRAGMA application_id = {APPLICATION}")
        base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute("CREATE TABLE account (allows TEXT NOT NULL, id_column TEXT NOT NULL)")
        base.execute("CREATE TABLE channels (channel TEXT PRIMARY KEY NOT NULL, cost REAL NOT NULL)")
        base.execute(
            "CREATE TABLE reports (id TEXT NOT NULL, channel TEXT NOT NULL, wave TEXT NOT NULL,"
            " report TEXT NOT NULL, PRIMARY KEY (id, channel, wave)) WITHOUT ROWID"
        )
        base.execute("INSERT INTO account VALUES (?, ?)", (_allows(private), self.column))
        self._enter(base, private)

    def _open(self, base: sqlite3.Connection, private: ReportingChannel) -> None:
        """Check that a locked database is a memo of this channel."""
        if _is_empty(base):
            raise ValueError(
                f"The memo {self.path} is empty, and this run did not create it. If a first run was killed,"
                " nothing was published: remove the file, and start again. If it was cut off, restore it from"
                " a copy, or everybody in it reports once more. If another run has just begun, wait for it."
            )
        mark, version = (
            base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if (mark, version) != (APPLICATION, VERSION):
            raise ValueError(
                f"{self.path} is a database, but not a memo of version {VERSION} of ldp-frontier."
            )
        self._check_rows(base, private)
        kept, column = base.execute("SELECT allows, id_column FROM account").fetchone()
        if kept != _allows(private):
            (earlier,) = base.execute("SELECT channel FROM channels LIMIT 1").fetchone()
            raise ValueError(
                f"{self.path} contains reports of another channel, {id_of(earlier)!r}; this one is"
                f" {private.id!r}. Reports of two channels together reveal more than the level of each"
                " allows, unless both were designed for the same table, readers and budget; people must"
                " report with the channel that they used first."
            )
        if column != self.column:
            raise ValueError(
                f"{self.path} identifies people by the column {column!r}, but {self.column!r} was given; the"
                " two must be the same."
            )
        self._enter(base, private)

    def _check_rows(self, base: sqlite3.Connection, private: ReportingChannel) -> None:
        """Refuse a memo that has rows which no run has written."""
        wrong = {
            "account": "typeof(allows) <> 'text' OR typeof(id_column) <> 'text'",
            "channels": "typeof(channel) <> 'text' OR typeof(cost) <> 'real' OR NOT cost > 0",
            "reports": "typeof(id) <> 'text' OR typeof(wave) <> 'text' OR typeof(report) <> 'text'"
            " OR channel NOT IN (SELECT channel FROM channels)",
        }
        for table, condition in wrong.items():
            row = base.execute(f"SELECT * FROM {table} WHERE {condition} LIMIT 1").fetchone()
            (rows,) = base.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            if row is not None:
                raise self._damaged(table, f"the row {row!r}")
            if (table == "account" and rows != 1) or (table == "channels" and rows == 0):
                raise self._damaged(table, f"{rows} rows")
        given = base.execute("SELECT DISTINCT report FROM reports WHERE channel = ?", (private.sha256,))
        report = private.unknown_report(text for (text,) in given)
        if report is not None:
            (name,) = base.execute("SELECT min(id) FROM reports WHERE report = ?", (report,)).fetchone()
            raise self._damaged("reports", f"the report {report!r} of {name!r}")

    def _damaged(self, table: str, found: str) -> ValueError:
        return ValueError(
            f"The memo {self.path} is damaged: its table {table} has {found}, which no run has written."
            " Restore it from a copy."
        )

    def _enter(self, base: sqlite3.Connection, private: ReportingChannel) -> None:
        """Enter a channel with what a report costs; the same one may have been designed at a higher level."""
        cost, _ = _costs(private)
        base.execute(
            "INSERT INTO channels VALUES (?, ?) ON CONFLICT (channel) DO UPDATE SET cost = max(cost, ?)",
            (private.sha256, cost, cost),
        )


def _costs(private: ReportingChannel) -> tuple[float, float]:
    """Return what a report costs a person, and what all reports of a person may cost."""
    stated = private.certificate
    return (1.0, 1.0) if stated.allowance is None else stated.allowance.cost(stated.epsilon)


def _allows(private: ReportingChannel) -> str:
    """Return a hash that channels share if one person may report with them, and no others."""
    stated = private.certificate
    allowed: list[str | float] = [private.sha256]
    if stated.allowance is not None and stated.allowance.reports is None:
        allowed = [private.basis, stated.against, stated.allowance.level]
    elif stated.allowance is not None:
        allowed += [stated.allowance.level, stated.allowance.cost(stated.epsilon)[1]]
    return hashlib.sha256(json.dumps(allowed).encode()).hexdigest()


class _Repeating(Draw):
    """Repeats the report that a person has given in this wave, or draws one if the channel allows it."""

    def __init__(
        self, base: sqlite3.Connection, private: ReportingChannel, source: RandomSource | None, wave: str
    ) -> None:
        super().__init__(private, source)
        self._base, self._key, self._wave = base, private.sha256, wave
        self._allowance = private.certificate.allowance
        self._cost, self._most = _costs(private)
        self._costs = dict(base.execute("SELECT channel, cost FROM channels").fetchall())
        (self._people,) = base.execute("SELECT COUNT(DISTINCT id) FROM reports").fetchone()
        self.is_new = not self._people
        #: Who was drawn in this run, until the memo is seen to know somebody.
        self._strangers: set[str] | None = set() if self._people else None

    @property
    def unmatched(self) -> int:
        return 0 if self._strangers is None else int(self._people)

    def __call__(self, ids: Sequence[str], records: IntArray) -> tuple[list[str], int]:
        found: dict[str, str] = {}
        first: dict[str, int] = {}
        for place, name in enumerate(ids):
            if name in found or name in first:
                continue
            given = self._base.execute(
                "SELECT channel, wave, report FROM reports WHERE id = ?", (name,)
            ).fetchall()
            if given and self._strangers is not None and name not in self._strangers:
                self._strangers = None
            earlier = [report for *of, report in given if of == [self._key, self._wave]]
            if earlier:
                found[name] = earlier[0]
                continue
            self._check_left(name, [self._costs[channel] for channel, _, _ in given])
            first[name] = place
        if self._strangers is not None:
            self._strangers.update(first)
        drawn = dict(zip(first, self._draw(records[list(first.values())]), strict=True))
        kept = ((name, self._key, self._wave, report) for name, report in drawn.items())
        self._base.executemany("INSERT INTO reports VALUES (?, ?, ?, ?)", kept)
        found |= drawn
        return [found[name] for name in ids], len(ids) - len(first)

    def _check_left(self, name: str, spent: list[float]) -> None:
        """Refuse a report of a person who has none left; what is left over by rounding counts as left."""
        if math.fsum([*spent, self._cost]) > self._most * (1.0 + 1e-9):
            allowed = f"{self._most:g} reports"
            if self._allowance is None or self._allowance.reports is None:
                allowed = f"levels that add up to {self._most:g}, and this report has {self._cost:g}"
            raise ValueError(
                f"The person {name!r} has given {reports_text(len(spent))}; one more, in the wave"
                f" {self._wave!r}, would exceed what the channel allows a person: {allowed}. No report was"
                " written. Take the records of people who have no report left out of the file."
            )


#: The device and the inode of a file: whether a path still leads to it.
_Identity = tuple[int, int]


def _identity(file: Path) -> _Identity | None:
    """Return the identity of a file; None if there is none."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _is_empty(base: sqlite3.Connection) -> bool:
    (tables,) = base.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return not tables


def _has_reports(base: sqlite3.Connection) -> bool:
    return not _is_empty(base) and base.execute("SELECT * FROM reports LIMIT 1").fetchone() is not None


def _withdraw(base: sqlite3.Connection, file: Path, identity: _Identity | None) -> None:
    """Remove the file that a failed run has created, unless another run is using it or has used it."""
    with suppress(sqlite3.Error, OSError):
        if base.in_transaction:
            base.execute("ROLLBACK")  # which removes the journal: it is found by its name
        base.execute("BEGIN IMMEDIATE")
        if not _has_reports(base) and _identity(file) == identity:
            file.unlink()
