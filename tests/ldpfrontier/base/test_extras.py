"""What a library that is not installed is answered with."""

import os

import pytest

from ldpfrontier.base.extras import MissingExtra, extra


def test_a_missing_library_names_its_extra():
    says = "^no_such_library is not installed; pip install no_such_library brings it, as does the extra own "
    with pytest.raises(MissingExtra, match=says), extra("own"):
        import no_such_library  # noqa: F401


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), extra("own"):
        1 / 0  # noqa: B018
    with extra("own"):
        import json
    assert json.loads("1") == 1


@pytest.mark.parametrize(
    ("backend", "named"),
    [("module://no_such_library.backend", False), ("module://json", True), ("agg", True)],
)
def test_a_backend_that_is_not_there_is_not_named(monkeypatch, backend, named):
    """matplotlib could not be imported with that of a notebook in another environment."""
    monkeypatch.setenv("MPLBACKEND", backend)
    with extra("own"):
        assert ("MPLBACKEND" in os.environ) == named
    assert os.environ["MPLBACKEND"] == backend
