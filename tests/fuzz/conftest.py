"""How many instances are drawn."""

import pytest


@pytest.fixture(scope="session")
def times(request):
    """Return how many times as many instances as usual are asked for."""
    return request.config.getoption("--fuzz")
