"""Reports that come over HTTP: what is taken and refused, and that what was acknowledged is there once."""

import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey import ReportStore, report_application
from ldpsurvey.answer.listening import MOST_BYTES, split_address
from ldpsurvey.answer.store import stored_reports
from ldpsurvey.command.cli import main
from ldpsurvey.questionnaire.lot_reports import draw_reports
from support.owndata import channel_of, flat, questionnaire_of, seeded, small_table

TABLE = channel_of(flat(small_table()), "grr", 1.0, "anyone")
GOOD = {"channel": TABLE.id, "report": "y2"}


@pytest.fixture
def store(tmp_path):
    made = ReportStore(tmp_path / "reports.sqlite", TABLE.id)
    yield made
    made.close()


def ask(application, method="POST", path="/report", body=b"", **more):
    """Return the status, the headers and the text of an answer."""
    told = {}
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(body))}
    environ |= {"wsgi.input": BytesIO(body), "REMOTE_ADDR": "192.0.2.1", **more}
    found = application(environ, lambda status, headers: told.update(status=status, headers=dict(headers)))
    return int(told["status"][:3]), told["headers"], b"".join(found).decode()


def sent(application, message, **more):
    return ask(application, body=json.dumps(message).encode(), **more)


def test_a_report_is_stored_and_nothing_else_of_a_request(store, tmp_path):
    assert sent(report_application(TABLE, store), GOOD)[0] == 201
    assert list(stored_reports(tmp_path / "reports.sqlite")) == [(TABLE.id, "y2")]
    store.close()
    assert b"192.0.2" not in (tmp_path / "reports.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({**GOOD, "channel": "c000000000"}, "not of the channel"),
        ({**GOOD, "report": "y9"}, "no such report"),
        ({**GOOD, "report": 2}, "no such report"),
        ({**GOOD, "time": "12:00"}, "nothing else"),
        ({"report": "y1"}, "nothing else"),
        ({**GOOD, "key": "short"}, "A key has"),
        ([GOOD], "nothing else"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(store, message, sentence):
    status, _, text = sent(report_application(TABLE, store), message)
    assert (status, len(store)) == (400, 0)
    assert sentence in text
    assert text.endswith(".\n")


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ({"body": b"no JSON"}, 400),
        ({"body": b"[" * 10_000}, 400),
        ({"body": b"\xff"}, 400),
        ({"body": b" " * (MOST_BYTES + 1)}, 413),
        ({"body": json.dumps(GOOD).encode(), "CONTENT_LENGTH": "200"}, 400),
        ({"body": json.dumps(GOOD).encode(), "CONTENT_LENGTH": "-3"}, 400),
        ({"method": "GET"}, 405),
        ({"path": "/other"}, 404),
        ({"path": "/", "method": "GET"}, 404),
    ],
)
def test_other_requests_are_refused(store, call, status):
    found, headers, text = ask(report_application(TABLE, store), **call)
    assert (found, len(store)) == (status, 0)
    assert text.endswith(".\n")
    assert ("Allow" in headers) == (status == 405)


def test_a_page_is_shown_and_one_of_another_address_may_send(store, tmp_path):
    (tmp_path / "survey.html").write_text("<p>é", encoding="utf-8")
    application = report_application(TABLE, store, tmp_path / "survey.html")
    status, headers, text = ask(application, "GET", "/")
    assert (status, text, headers["Content-Type"]) == (200, "<p>é", "text/html; charset=utf-8")
    status, headers, _ = ask(application, "OPTIONS")
    assert (status, headers["Access-Control-Allow-Origin"]) == (204, "*")


def test_a_key_tells_a_report_that_is_sent_again(store):
    application, key = report_application(TABLE, store), "k" * 16
    assert [sent(application, {**GOOD, "key": key})[0] for _ in range(2)] == [201, 201]
    assert sent(application, {**GOOD, "report": "y1", "key": key})[0] == 409
    assert len(store) == 1


def test_a_report_that_cannot_be_stored_is_not_acknowledged(store):
    application = report_application(TABLE, store)
    store.close()
    assert sent(application, GOOD)[0] == 503


def test_a_store_is_for_one_channel_and_a_file_of_its_own(store, tmp_path):
    store.add("y1")
    with pytest.raises(ValueError, match="has reports of the channel"):
        ReportStore(tmp_path / "reports.sqlite", "c000000000")
    (tmp_path / "other.txt").write_text("not a database, and longer than a header of one" * 9)
    with pytest.raises(ValueError, match="cannot be used"):
        ReportStore(tmp_path / "other.txt", TABLE.id)


@pytest.mark.parametrize("address", ["", "8000", ":8000", "localhost:", "localhost:99999", "a:b"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(ValueError, match="must be a host and a port"):
        split_address(address)
    assert split_address("[::1]:80") == ("::1", 80)


def test_the_application_of_the_page_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[3] / "docs/survey/collecting.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    TABLE.write("channel.json")
    Path("survey.html").write_text("page", encoding="utf-8")
    names: dict[str, object] = {}
    exec(code, names)
    assert sent(names["application"], GOOD)[0] == 201
    assert ask(names["application"], "GET", "/")[2] == "page"
    names["store"].close()


# A server that is killed ------------------------------------------------------------------------------------


def serve(folder, port):
    """Start a server; return the process and its port when it listens."""
    words = ["collect", "--channel", "c.json", "--listen", f"127.0.0.1:{port}", "--store", "r.sqlite"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ldpsurvey", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    return process, int(process.stdout.readline().split("/")[2].rpartition(":")[2])


def client(port, messages, answers):
    """Send messages one after the other; those with a key again and again until they are acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    for message in messages:
        while True:
            try:
                connection.connect()
            except OSError:  # nothing was sent yet, so that it can be sent again
                time.sleep(0.02)
                continue
            try:
                connection.request("POST", "/report", json.dumps(message))
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                status = 0
            else:
                status = answer.status
            connection.close()
            if status == 201 or "key" not in message:
                answers[message["report"]] = status
                break


def stormed(folder, posts, clients, kills):
    """Send different reports to a server that is killed; return answers, who had a key, and what is there."""
    channel = questionnaire_of((5, 6, 5, 6))
    channel.write(folder / "c.json")
    drawn = list(dict.fromkeys(draw_reports(channel, np.zeros((posts, 4), dtype=np.int64), seeded(1))))
    messages = [
        {"channel": channel.id, "report": report, **({"key": f"{place:016d}"} if place % 2 else {})}
        for place, report in enumerate(drawn)
    ]
    process, port = serve(folder, 0)
    answers = dict[str, int]()
    threads = [
        threading.Thread(target=client, args=(port, messages[i::clients], answers), daemon=True)
        for i in range(clients)
    ]
    for thread in threads:
        thread.start()
    for number in range(1, kills + 1):
        while len(answers) < number * len(messages) // (kills + 1):
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        process, _ = serve(folder, port)
    for thread in threads:
        thread.join(60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    keyed = {message["report"] for message in messages if "key" in message}
    return answers, keyed, Counter(report for _, report in stored_reports(folder / "r.sqlite"))


@pytest.mark.skipif(os.name != "posix", reason="Windows has no kill -9")
def test_what_was_acknowledged_is_there_once_although_the_server_was_killed(tmp_path):
    """Those with a key are sent until they are acknowledged; others once."""
    pytest.importorskip("waitress")
    answers, keyed, there = stormed(tmp_path, 400, 8, 1)
    assert {answers[report] for report in keyed} == {201}
    assert len(answers) == 400
    for report, status in answers.items():
        assert there[report] == 1 if status == 201 else there[report] <= 1
    with sqlite3.connect(tmp_path / "r.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_without_the_server_its_extra_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.write("c.json")
    for name in [name for name in sys.modules if name.partition(".")[0] == "waitress"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "waitress", None)
    assert main(["collect", "--channel", "c.json", "--listen", "127.0.0.1:0", "--store", "r.sqlite"]) == 2
    assert "pip install waitress brings it, as does the extra collect" in capsys.readouterr().err
