"""Changes, regressions and plans in Python are those of the command, for both kinds of channels."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ldpsurvey import Aim, QuestionnaireChannel, privatize_frame, read_any_channel
from ldpsurvey.analysis.any_channel import change_between, plan_people, regress
from ldpsurvey.command.cli import main

RNG = np.random.default_rng(2)
SMOKES = RNG.random(900) < 0.4
PEOPLE = pd.DataFrame({
    "id": [f"p{i}" for i in range(900)], "smokes": np.where(SMOKES, "yes", "no"),
    "drinks": np.where(RNG.random(900) < 0.3 + 0.4 * SMOKES, "yes", "no"),
    "sad": RNG.choice(["no", "yes"], 900), "age": RNG.integers(20, 60, 900),
})  # fmt: skip
DESIGNS = {"table": ["smokes", "drinks", "--precise", "cells"], "questionnaire": ["smokes", "drinks", "sad"]}


@pytest.fixture(scope="module", params=DESIGNS)
def waves(request, tmp_path_factory):
    """Return a channel, its file, and the reports of two waves, as frames and files."""
    place = tmp_path_factory.mktemp("waves")
    people, out = place / "people.csv", place / "channel.json"
    PEOPLE.to_csv(people, index=False)
    asked = ["design", "--data", str(people), "--sensitive", *DESIGNS[request.param], "--epsilon", "4"]
    assert main([*asked, "--out", str(out), "--quiet"]) == 0
    channel, source = read_any_channel(out), np.random.default_rng(4).bytes
    frames = [privatize_frame(channel, PEOPLE, keep=["id", "age"], source=source) for _ in range(2)]
    paths = [place / f"{number}.csv" for number in range(2)]
    for frame, path in zip(frames, paths, strict=True):
        frame.to_csv(path, index=False)
    return channel, str(out), frames, [str(path) for path in paths]


def stated(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_changes(waves, capsys):
    channel, out, frames, paths = waves
    found = change_between([channel], frames, person="id")
    said = stated(capsys, "change", "--channel", out, "--data", *paths, "--id", "id")
    assert said["both"] == found.both == len(PEOPLE)
    numbers = [[row["change"], row["low"], row["high"]] for row in said["rows"]]
    assert found.to_frame()[["change", "low", "high"]].to_numpy() == pytest.approx(
        np.array(numbers), rel=1e-9
    )


def test_regressions(waves, capsys):
    channel, out, frames, paths = waves
    formula = "drinks ~ smokes + age"
    found = regress(formula, channel, frames[0], person="id")
    words = ["--channel", out, "--data", paths[0], "--id", "id", "--formula", formula]
    assert stated(capsys, "regress", *words)["params"] == pytest.approx(found.params.tolist(), rel=1e-6)
    relative = "relative to that of reports that tell nothing" in " ".join(found.summary().split())
    assert relative == isinstance(channel, QuestionnaireChannel)


def test_changes_and_regressions_of_samples(waves, capsys):
    channel, out, frames, paths = waves
    sample = {"weight": "age", "cluster": "age"}
    options = ["--weight", "age", "--cluster", "age", "--channel", out, "--data"]
    found = regress("drinks ~ smokes", channel, frames[0], **sample)
    said = stated(capsys, "regress", *options, paths[0], "--formula", "drinks ~ smokes")
    assert (said["bse"], said["degrees_of_freedom"]) == (pytest.approx(found.bse.tolist(), rel=1e-6), 39)
    changes = change_between([channel], frames, person="id", **sample)
    said = stated(capsys, "change", *options, *paths, "--id", "id")
    errors = changes.to_frame()["standard_error"].tolist()
    assert [row["error"] for row in said["rows"]] == pytest.approx(errors, rel=1e-9)


def test_plans(waves, capsys):
    channel, out, *_ = waves
    found = plan_people(channel, Aim(error=0.02))
    said = stated(capsys, "people", "--channel", out, "--error", "0.02")["estimates"]
    assert [row["people"] for row in said] == found.to_frame()["people"].tolist()
