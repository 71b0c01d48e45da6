"""Fixtures that the tests of a user's own data share."""

import pytest

from ldpfrontier import CountTable, PrivateChannel
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
