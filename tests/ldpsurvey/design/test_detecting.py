"""Pairs of channels that show the share of people who always give one report."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import xlogy

from ldpsurvey import estimate_two_channels, read_channel, table_of_values
from ldpsurvey.command.cli import main
from ldpsurvey.design.detecting import (
    DETECTED,
    detecting_pair,
    information,
    people_needed,
    shifted_response,
    variances,
)
from ldpsurvey.design.detecting_channels import detecting_channels
from ldpsurvey.design.known_channels import known_channel

P, EPSILON = np.array([0.6, 0.3, 0.1]), 1.2
SHARES = np.array([[*(1 - z) * P, z] for z in (0.0, DETECTED)])


@pytest.mark.parametrize(("stands_for", "shift"), [(0, 0.0), (2, 0.6), (1, -0.9)])
def test_candidates_have_the_level_and_the_information_of_the_likelihood(stands_for, shift):
    matrix = shifted_response(3, EPSILON, 1, stands_for, shift)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(3))
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(EPSILON)
    shares, h = SHARES[1], 1e-4
    rows = np.vstack([matrix, np.eye(3)[1]])

    def likelihood(free):
        """Return the expected log-likelihood at shares whose last are what the others leave."""
        return float(xlogy(shares @ rows, np.append(free, 1 - free.sum()) @ rows).sum())

    def second(i, j):
        at = [h * (a * np.eye(3)[i] + b * np.eye(3)[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
        return np.dot([1, -1, -1, 1], [likelihood(shares[:3] + step) for step in at]) / (4 * h * h)

    numeric = -np.array([[second(i, j) for j in range(3)] for i in range(3)])
    tangent = np.hstack([np.eye(3), -np.ones((3, 1))])
    assert tangent @ information(matrix, 1, shares) @ tangent.T == pytest.approx(numeric, rel=1e-4, abs=1e-4)


def test_variances_are_those_of_estimates():
    """Of 100 surveys, by the estimates of the command."""
    pair = detecting_pair(np.array([0.6, 0.4]), 2.0, 0, 0.02)
    shares = np.array([0.95 * 0.6, 0.95 * 0.4, 0.05])
    both = sum(
        lot * information(matrix, 0, shares)
        for lot, matrix in zip((pair.lot, 1 - pair.lot), pair.matrices, strict=True)
    )
    rng, people = np.random.default_rng(5), 20_000
    values = table_of_values({"vote": ["no", "yes"]}, ["vote"])
    channels = tuple(known_channel(values, matrix, ("no", "yes")) for matrix in pair.matrices)
    rows = [np.vstack([matrix, [1.0, 0.0]]) for matrix in pair.matrices]
    found = []
    for _ in range(100):
        first = rng.binomial(people, pair.lot)
        counts = tuple(
            rng.multinomial(n, shares @ some) for n, some in zip((first, people - first), rows, strict=True)
        )
        rows_found = estimate_two_channels(channels, counts, "no", check_fit=False).estimate.frequencies
        found.append([row.estimate for row in rows_found])
    assert np.std(found, axis=0) == pytest.approx(np.sqrt(variances(both, shares) / people), rel=0.25)
    assert pair.error == pytest.approx(math.sqrt(variances(both, shares)[-1]))


def test_no_pair_of_a_finer_search_needs_fewer_people():
    found = detecting_pair(P, EPSILON, 0, 0.03)
    rng, least = np.random.default_rng(1), math.inf
    for _ in range(300):
        places, shifts = rng.integers(3, size=2), rng.uniform(-0.9, 0.9, size=2)
        one, other = (
            np.array([information(shifted_response(3, EPSILON, 0, x, s), 0, some) for some in SHARES])
            for x, s in zip(places, shifts, strict=True)
        )
        needed = people_needed(one, other, float(rng.uniform(0.05, 0.95)), SHARES, 0.03)[:2]
        least = min(least, float(max(needed)))
    assert found.needed <= least
    one, other = found.matrices
    assert not np.allclose(one, other)


def test_the_command_writes_two_channels_that_estimate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "--values vote=no,yes --sensitive vote --epsilon 1 --detect no"
    call = ["design", *words.split()]
    assert main(call) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not proved" in said
    Path("people.csv").write_text("vote\n" + "no\nyes\nno\n" * 500)
    for name in ("channel", "channel-2"):
        private = read_channel(f"{name}.json")
        assert private.levels().record <= 1.0
        assert private.levels().record == pytest.approx(1.0)
        assert private.outputs == ("no", "yes")
        assert main(f"apply --channel {name}.json --data people.csv --out {name}.csv".split()) == 0
    words = "estimate --channel channel.json --data channel.csv --second channel-2.json channel-2.csv"
    assert main([*words.split(), "--always", "no"]) == 0
    assert "(always no)" in capsys.readouterr().out
    assert main(call) == 2  # both are there
    assert "channel.json is there already" in capsys.readouterr().err


def test_python_and_json_have_the_channels_that_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "design --values vote=no,yes --sensitive vote --epsilon 1 --detect no --error 0.02 --json"
    assert main(words.split()) == 0
    stated = json.loads(capsys.readouterr().out)
    found = detecting_channels(table_of_values({"vote": ("no", "yes")}, ["vote"]), 1.0, "no", 0.02)
    for private, path in zip(found.channels, ("channel.json", "channel-2.json"), strict=True):
        assert private.sha256 == read_channel(path).sha256
    assert stated["people"] == found.to_frame().to_dict("records")
    assert stated["lot"] == found.pair.lot


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--values a=1,2 b=1,2 --sensitive a --useful b", "--useful does not go with --detect"),
        ("--values a=1,2 --sensitive a --precise shares", "--precise does not go with --detect"),
        ("--values a=1,2 --sensitive a", "gives no report 'no'; it gives 1, 2"),
        (f"--values a=no,{','.join(map(str, range(20)))} --sensitive a", "up to 20"),
    ],
)
def test_what_has_no_pair_is_refused(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert main(["design", *words.split(), "--epsilon", "1", "--detect", "no"]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
