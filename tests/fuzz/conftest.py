"""How many instances are drawn."""

import pytest


@pytest.fixture(scope="session")
def count(request):
    """Return the number of instances per function that was asked for, or None."""
    return request.config.getoption("--fuzz")
