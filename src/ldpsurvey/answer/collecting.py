"""Files of reports made of what came in: messages, downloads, typed codes, columns of form tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldpfrontier.base.atomic import OWNER, USUAL, replacing
from ldpsurvey.answer.codes import report_of_code
from ldpsurvey.answer.store import SQLITE, stored_reports
from ldpsurvey.base.layout import counted, csv_text, remark, reports_text
from ldpsurvey.channel.privatizing import report_heads
from ldpsurvey.channel.reports import REPORT, channel_column, checked_name
from ldpsurvey.data.outputs import check_outputs, check_unwritten
from ldpsurvey.data.reading import digest_of, is_standard_input, read_chunks, shown
from ldpsurvey.data.values import is_missing
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel

#: Places of refused reports that are named.
NAMED = 5

# Why something is refused; a number of reports precedes it.
_OTHER_CHANNEL = "of another channel"
_NO_REPORT = "not a report of this channel"
_MISTYPED = "a code that is mistyped or of another channel"
_NO_MESSAGE = "not a JSON object with a channel and a report"
_SAME_KEY = "sent again, with a key that was there"
_SAME_ID = "of a person whose id was there"
_NO_ID = "without an id"
_SAME_FILE = "a file that was read already"


@dataclass(frozen=True)
class Collected:
    """What was made of the reports that came in.

    `refused` has, by the reason, the places where something was refused; `empty` are records without one;
    `people` says whether ids told repeated reports of a person.
    """

    reports: int
    sources: int
    empty: int
    refused: dict[str, list[str]]
    people: bool

    def text(self) -> str:
        """Return what was collected and refused, and what cannot be known."""
        lines = [f"{reports_text(self.reports)} collected from {counted(self.sources, 'file')}."]
        if self.empty:
            lines.append(f"{self.empty:,} without a report.")
        for reason, places in self.refused.items():
            more = ", ..." if len(places) > NAMED else ""
            lines.append(f"Refused: {len(places):,} {reason} ({', '.join(places[:NAMED])}{more}).")
        lines.append(
            "Each person counts once, by the id."
            if self.people
            else "A report that a person sent twice cannot be told from equal reports of two people."
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class _Entry:
    """Something that came in: where, and its report or code, channel and key, with further columns."""

    place: str
    report: str
    channel: str | None = ""
    key: str | None = None
    is_code: bool = False
    more: dict[str, str] = field(default_factory=dict)


def collect_reports(
    channel: AnyChannel,
    sources: Sequence[Path | str],
    target: Path | str,
    *,
    column: str = REPORT,
    codes: str | None = None,
    person: str | None = None,
    keep: Sequence[str] = (),
    spreadsheet: bool = False,
    force: bool = False,
) -> Collected:
    """Write the reports that came in to a file, as `privatize_file` does for records.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    sources : sequence of path
        Files, or folders of them: JSON objects with a `channel` and a `report`, one in a file or one on a
        line; what `collect --listen` has stored; and tables as of `read_chunks`. ``-`` is the standard input.
    target : path
        A CSV file; it is there in full, or as it was before.
    column : str
        Of reports in tables, as texts or as such JSON objects.
    codes : str, optional
        The column of codes in tables (`report_code`), instead.
    person : str, optional
        A column of tables, or a field of the objects, that identifies people, whose first reports count.
    keep : sequence of str
        Columns or fields that are copied.
    spreadsheet, force : bool
        As in `privatize_file`.

    Returns
    -------
    Collected

    Raises
    ------
    ValueError
        If nothing is a report of the channel, a file cannot be read, or the target is there.
    """
    target, paths = Path(target), [Path(source) for source in sources]
    check_outputs([target], paths)
    if inside := [path for path in paths if path.is_dir() and path.resolve() in target.resolve().parents]:
        raise ValueError(
            f"{target} would lie in {inside[0]}, which is read: the next time, its reports would count again."
        )
    check_unwritten(target, force)
    heads = report_heads(keep, REPORT)
    asked = list(dict.fromkeys([*keep, *([] if person is None else [person])]))
    inbox = _Inbox(column, codes, asked)
    rows, refused, keys, people = list[list[str]](), inbox.refused, set[str](), set[str]()
    for entry in inbox.entries(paths):
        reason, report = _checked(channel, entry)
        name = None if person is None else checked_name(entry.more[person], f"The id of {entry.place}")
        if not reason and entry.key is not None and entry.key in keys:
            reason = _SAME_KEY
        if not reason and name is not None:
            reason = _NO_ID if is_missing(name) else _SAME_ID if name in people else ""
        if reason:
            refused.setdefault(reason, []).append(entry.place)
            continue
        keys.update([] if entry.key is None else [entry.key])
        people.update([] if name is None else [name])
        rows.append([*(entry.more[name] for name in keep), report, channel.id])
    done = Collected(len(rows), inbox.files, inbox.empty, refused, person is not None)
    if not rows:
        raise ValueError(f"Nothing that came in is a report of the channel {channel.id}. {done.text()}")
    with replacing(target, OWNER if keep else USUAL) as partial:
        written = csv_text(heads, rows, spreadsheet=spreadsheet)
        partial.write_text(written, encoding="utf-8", newline="")
    return done


def _checked(channel: AnyChannel, entry: _Entry) -> tuple[str, str]:
    """Return why something that came in is refused, or nothing and its report."""
    if entry.channel is None:
        return _NO_MESSAGE, ""
    if entry.channel not in (channel.id, ""):
        return _OTHER_CHANNEL, ""
    if not entry.is_code:
        unknown = channel.unknown_report([entry.report]) is not None
        return (_NO_REPORT, "") if unknown else ("", entry.report)
    try:
        return "", report_of_code(channel, entry.report)
    except ValueError:
        return _MISTYPED, ""


class _Inbox:
    """Reads what came in; notes files that are there twice."""

    def __init__(self, column: str, codes: str | None, asked: Sequence[str]) -> None:
        self._column, self._codes, self._asked = column, codes, asked
        self.refused, self.files, self.empty = dict[str, list[str]](), 0, 0
        self._seen, self._contents = set[tuple[int, int]](), dict[str, Path]()

    def entries(self, paths: Sequence[Path]) -> Iterator[_Entry]:
        """Yield what is in files, and in the files of folders, in the order of their names."""
        for path in paths:
            if not path.is_dir():
                yield from self._of_file(path)
                continue
            inside = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name[0] != "."]
            for file in inside:
                yield from self._of_file(file)

    def _of_file(self, path: Path) -> Iterator[_Entry]:
        piped = is_standard_input(path)
        if not piped:
            about = path.stat()
            if (about.st_dev, about.st_ino) in self._seen:
                self.refused.setdefault(_SAME_FILE, []).append(str(path))
                return
            self._seen.add((about.st_dev, about.st_ino))
        self.files += 1
        start = _start(path)
        if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            text = sys.stdin.buffer.read() if piped else path.read_bytes()
            found = self._of_messages(path, _text(path, text))
        elif start.startswith(SQLITE):
            if self._asked:
                raise ValueError(f"{path} has reports and nothing else, and no {self._asked[0]!r}.")
            stored = enumerate(stored_reports(path), 1)
            found = (_Entry(f"row {row} of {path}", report, id_) for row, (id_, report) in stored)
        else:
            found = self._of_table(path)
        several = -1
        for entry in found:
            several += 1
            yield entry
        # Two people may have sent one file each with the same report in it.
        if several > 0 and (digest := digest_of(path)):
            if other := self._contents.get(digest):
                remark(f"{path} is a copy of {other}, letter by letter; people in both count twice.")
            self._contents[digest] = path

    def _of_messages(self, path: Path, text: str) -> Iterator[_Entry]:
        """Yield JSON objects: one that is all of a file, those of a list, or one on each line."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            for number, line in enumerate(text.split("\n"), 1):
                if line.strip():
                    yield self._of_message(f"line {number} of {shown(path)}", line)
        else:
            for number, one in enumerate(found if isinstance(found, list) else [found], 1):
                place = f"object {number} of {shown(path)}" if isinstance(found, list) else shown(path)
                yield self._of_object(place, one)

    def _of_message(self, place: str, text: str, more: dict[str, str] | None = None) -> _Entry:
        try:
            return self._of_object(place, json.loads(text), more)
        except (ValueError, RecursionError):
            return _Entry(place, text, None, more=more or dict.fromkeys(self._asked, ""))

    def _of_object(self, place: str, found: Any, more: dict[str, str] | None = None) -> _Entry:
        one: dict[str, Any] = found if isinstance(found, dict) else {}
        texts = [one.get(name) for name in ("report", "channel")]
        key = one.get("key")
        good = all(isinstance(text, str) for text in texts) and isinstance(key, str | None)
        if more is None:
            texts_of = {name: "" if one.get(name) is None else str(one[name]) for name in self._asked}
            # JSON may have halves of letters, which no file can have.
            more = {name: text.encode("utf-8", "replace").decode() for name, text in texts_of.items()}
        if not good or not one["channel"]:
            return _Entry(place, repr(found), None, more=more)
        return _Entry(place, one["report"], one["channel"], key, more=more)

    def _of_table(self, path: Path) -> Iterator[_Entry]:
        column = self._codes or self._column
        marks = channel_column(column)
        for chunk in read_chunks(path, list(dict.fromkeys([column, *self._asked])), optional=[marks]):
            texts = zip(chunk.index.tolist(), chunk[column], chunk[marks], strict=True)
            others = zip(*(chunk[name] for name in self._asked), strict=True) if self._asked else None
            for row, text, mark in texts:
                more = dict(zip(self._asked, next(others), strict=True)) if others else {}
                place = f"record {row} of {shown(path)}"
                if not text.strip():
                    self.empty += 1
                    continue
                if self._codes is None and text.lstrip().startswith("{"):
                    yield self._of_message(place, text, more)
                else:
                    yield _Entry(place, text.strip(), mark, None, self._codes is not None, more)


def _start(path: Path) -> bytes:
    """Return the first bytes of a file; those of the standard input are not taken from it."""
    if is_standard_input(path):
        piped: Any = sys.stdin
        return bytes(piped.buffer.peek(64)) if piped else b""
    with open(path, "rb") as stream:
        return stream.read(64)


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{shown(path)} is no text in UTF-8: byte {error.start} is none of it.") from None
