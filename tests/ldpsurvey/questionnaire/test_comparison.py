"""What other mechanisms need for the tables of a questionnaire, in Python, as JSON and as a picture."""

from __future__ import annotations

import json
import math

import pytest

from ldpfrontier import questionnaire_errors
from ldpsurvey.command.cli import main
from ldpsurvey.questionnaire.comparison import compare_questionnaire
from ldpsurvey.questionnaire.questionnaire_channel import read_questionnaire

ASKED = [
    "design",
    "--values",
    "a=1,2,3",
    "b=1,2",
    "c=x,y,z",
    "--sensitive",
    "a",
    "b",
    "c",
    "--epsilon",
    "1.5",
]


def test_the_people_of_a_comparison_give_the_error_and_the_command_says_the_same(tmp_path, capsys):
    out = tmp_path / "channel.json"
    picture = tmp_path / "compared.png"
    made = [*ASKED, "--compare", "--error", "0.02", "--json", "--out", str(out), "--plot", str(picture)]
    assert main(made) == 0
    stated = json.loads(capsys.readouterr().out)["compared"]
    channel = read_questionnaire(out)
    found = compare_questionnaire(channel, 0.02)
    errors = questionnaire_errors(channel.mechanism.questionnaire, channel.mechanism.epsilon)
    assert {one.name for one in found} == {"", *errors}
    for one, said in zip(found, stated, strict=True):
        own = errors[one.name] if one.name else channel.mechanism.error
        assert said["people"] == (one.people if math.isfinite(one.people) else None)
        if math.isfinite(own):
            mean_square = own / one.people / channel.mechanism.questionnaire.entries
            assert mean_square <= 0.02**2 < mean_square * (1.0 + 1.0 / (one.people - 1.0)) + 1e-12
        assert one.times == pytest.approx(own / channel.mechanism.error)
    assert picture.read_bytes().startswith(b"\x89PNG")
