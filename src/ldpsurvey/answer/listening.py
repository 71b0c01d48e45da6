"""A small web application that takes reports of one channel, for trials and interviews in a local network."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpfrontier.base.extras import extra
from ldpsurvey.answer.store import ReportStore
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

#: Bytes of a message, far more than a report of a channel has.
MOST_BYTES = 1 << 14

#: The path that reports are sent to.
PATH = "/report"

#: What a message may have in it: the last one is optional.
FIELDS = ("channel", "report", "key")

#: A key, which only tells a message from others, and is too short to hold a sentence.
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")

#: A page opened from a file, which has no address of its own, may send reports as well.
_ANY_ORIGIN = [("Access-Control-Allow-Origin", "*")]

_STATUS = {
    200: "OK", 201: "Created", 204: "No Content", 400: "Bad Request", 404: "Not Found",
    405: "Method Not Allowed", 409: "Conflict", 413: "Content Too Large", 503: "Service Unavailable",
}  # fmt: skip


class _Refusal(Exception):
    """A message that is not taken: the status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def report_application(
    channel: AnyChannel, store: ReportStore, page: Path | str | None = None
) -> WSGIApplication:
    """Return a WSGI application that stores the reports sent to ``/report``, and nothing else of a request.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
        Reports of any other one are refused.
    store : ReportStore
    page : path, optional
        A page of HTML, which is returned for ``/``.
    """
    shown = None if page is None else Path(page).read_bytes()

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO") or "/"
        more = list[tuple[str, str]]()
        kind, body, status = "text/plain; charset=utf-8", b"", 200
        try:
            if path == "/" and shown is not None:
                _check_method(method, ("GET", "HEAD"), more)
                kind, body = "text/html; charset=utf-8", shown
            elif path == PATH:
                more += _ANY_ORIGIN
                _check_method(method, ("POST", "OPTIONS"), more)
                if method == "OPTIONS":  # asked by a browser before a page of another address may send
                    status = 204
                    more += [("Access-Control-Allow-Methods", "POST")]
                    more += [("Access-Control-Allow-Headers", "Content-Type")]
                else:
                    _store(channel, store, _body(environ))
                    status, body = 201, b"The report is stored.\n"
            else:
                raise _Refusal(404, f"Reports are sent to {PATH}.")
        except _Refusal as refusal:
            status, body = refusal.status, f"{refusal}\n".encode()
        length = [("Content-Type", kind), ("Content-Length", str(len(body)))] if status != 204 else []
        safe = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        start_response(f"{status} {_STATUS[status]}", [*length, *safe, *more])
        return [] if method == "HEAD" else [body]

    return application


def _check_method(method: str, allowed: tuple[str, ...], headers: list[tuple[str, str]]) -> None:
    if method not in allowed:
        headers.append(("Allow", ", ".join(allowed)))
        raise _Refusal(405, f"The method is {method}; allowed here are {' and '.join(allowed)}.")


def _body(environ: WSGIEnvironment) -> bytes:
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal():
        raise _Refusal(400, "The length of the message is no number.")
    body: bytes = environ["wsgi.input"].read(min(int(length), MOST_BYTES + 1))
    if len(body) > MOST_BYTES:
        raise _Refusal(413, f"A message has at most {MOST_BYTES} bytes.")
    if len(body) < int(length):
        raise _Refusal(400, "The message ends before it is complete.")
    return body


def _store(channel: AnyChannel, store: ReportStore, body: bytes) -> None:
    """Store the report in a message, or refuse it."""
    try:
        found: Any = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _Refusal(400, "The message is no JSON.") from None
    if not isinstance(found, dict) or not {"channel", "report"} <= found.keys() <= set(FIELDS):
        raise _Refusal(400, 'A message is {"channel": "...", "report": "..."}, and has nothing else in it.')
    id_, report, key = (found.get(name) for name in FIELDS)
    if id_ != channel.id:
        raise _Refusal(400, f"The report is not of the channel {channel.id}, whose reports are taken here.")
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        raise _Refusal(400, "A key has 16 to 64 letters, digits, hyphens and underscores.")
    if not isinstance(report, str) or channel.unknown_report([report]) is not None:
        raise _Refusal(400, "The channel gives no such report.")
    try:
        if not store.add(report, key):
            raise _Refusal(409, "Another report came with this key.")
    except sqlite3.Error:
        raise _Refusal(503, "The report could not be stored; send it again later.") from None


def listen(
    address: str, application: WSGIApplication, started: Callable[[str], None] = lambda address: None
) -> None:
    """Serve an application at an address such as ``127.0.0.1:8000`` until it is interrupted.

    `started` is called with the address of the page. Addresses of those who send are not logged.
    """
    host, port = split_address(address)
    with extra("collect"):
        from waitress import create_server
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that some wait a moment is no news
    try:
        server = create_server(
            application, host=host, port=port, threads=8, ident=None, connection_limit=500,
            channel_timeout=30, max_request_header_size=MOST_BYTES, max_request_body_size=MOST_BYTES + 1,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ValueError(f"Nothing can listen at {address}: {error}.") from None
    name = f"[{host}]" if ":" in host else host
    try:
        with suppress(KeyboardInterrupt):
            started(f"http://{name}:{server.effective_port}/")
            server.run()
    finally:
        server.close()


def split_address(address: str) -> tuple[str, int]:
    """Return the host and the port of an address."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 1 << 16):
        raise ValueError(f"The address is {address!r}; it must be a host and a port, such as 127.0.0.1:8000.")
    return host, int(port)
