"""Headless Chromium for the tests of the page for those who answer, and what it sent."""

import importlib.util
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
HAS_SELENIUM = importlib.util.find_spec("selenium") is not None

#: Why there is no browser; nothing if there is one.
MISSING = ", ".join(
    name
    for name, there in (("chromium", CHROMIUM), ("chromedriver", DRIVER), ("selenium", HAS_SELENIUM))
    if not there
)

BLOCKED = {"profile.default_content_setting_values.cookies": 2}
WITHOUT_SCRIPTS = {"profile.managed_default_content_settings.javascript": 2}


@contextmanager
def chromium(preferences: dict[str, int] | None = None, *arguments: str) -> Iterator[Any]:
    """Provide a driver of a browser that nobody has used."""
    from selenium import webdriver

    os.environ["SE_OFFLINE"] = "true"
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", *arguments):
        options.add_argument(argument)
    options.binary_location = CHROMIUM or ""
    options.add_experimental_option("prefs", preferences or {})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def requests(driver: Any) -> list[dict[str, Any]]:
    """Return the requests of a browser since this was asked last, but for files that it was told to open."""
    logged = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    found = [one["params"]["request"] for one in logged if one["method"] == "Network.requestWillBeSent"]
    return [one for one in found if not one["url"].startswith(("data:", "blob:", "file:"))]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(application: Any) -> Iterator[str]:
    """Provide the address of a server of a WSGI application."""
    server = make_server("127.0.0.1", 0, application, _Server, _Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def axe_script() -> str | None:
    """Return the program of axe, which finds barriers of pages, if it is installed."""
    if path := os.environ.get("AXE_SCRIPT"):
        return Path(path).read_text(encoding="utf-8")
    if importlib.util.find_spec("axe_core_python") is None:
        return None
    from axe_core_python.base import AXE_SCRIPT

    return str(AXE_SCRIPT)
