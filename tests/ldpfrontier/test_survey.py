"""Own data moved to a package of its own; what was imported from here is found there."""

import pytest

import ldpsurvey
from ldpfrontier import survey


def test_public_names_are_those_of_the_package() -> None:
    assert all(getattr(survey, name) is getattr(ldpsurvey, name) for name in ldpsurvey.__all__)


def test_what_was_never_public_is_refused_with_the_place_to_look() -> None:
    with pytest.raises(AttributeError, match="ldpsurvey"):
        _ = survey.cli
