"""Fixtures that the tests of a user's own data share."""

import os
import shutil
from pathlib import Path

import pytest

from ldpsurvey import CountTable, PrivateChannel
from support.malformed import fill
from support.owndata import channel_of, flat, small_table


@pytest.fixture(scope="session")
def table() -> CountTable:
    return small_table()


@pytest.fixture(scope="session")
def private(table) -> PrivateChannel:
    return channel_of(table, "exact")


@pytest.fixture(scope="session")
def response(table) -> PrivateChannel:
    """Return randomized response for a table of which all is sensitive."""
    return channel_of(flat(table), "grr")


@pytest.fixture(scope="session")
def filled(tmp_path_factory) -> Path:
    """Return a folder with what malformed calls need, which stays as it is."""
    folder, before = tmp_path_factory.mktemp("filled"), Path.cwd()
    try:
        fill(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(filled, tmp_path, monkeypatch) -> Path:
    """Return the current folder: a copy of the filled one, with links that lead nowhere."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "nowhere.csv").symlink_to("missing/file.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path
