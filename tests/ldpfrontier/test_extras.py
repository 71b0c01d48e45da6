"""What a library that is not installed is answered with."""

import pytest

from ldpfrontier.extras import MissingExtra, extra


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
