"""Channels of surveys that were taken already: their matrices, levels, estimates and files."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey.channel.channel_file import read_channel
from ldpsurvey.command.cli import main
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import DESIGNS, classical_matrix, known_channel
from ldpsurvey.estimate.distribution import estimate_distribution

#: Parameters, and the matrix (values no and yes in the rows) that the authors state.
CLASSICAL = {
    "warner": ({"p": 0.8}, [[0.8, 0.2], [0.2, 0.8]]),
    "forced": ({"yes": 1 / 6, "no": 1 / 6}, [[5 / 6, 1 / 6], [1 / 6, 5 / 6]]),
    "unrelated": (
        {"p": 0.7, "q": 0.25},
        [[0.925, 0.075], [0.225, 0.775]],
    ),
    "crosswise": ({"p": 0.25}, [[0.25, 0.75], [0.75, 0.25]]),
    "triangular": ({"p": 0.25}, [[0.75, 0.25], [0.0, 1.0]]),
    "kuk": ({"p": 0.8, "q": 0.2, "cards": 2}, [[0.64, 0.32, 0.04], [0.04, 0.32, 0.64]]),
    "pram": ({"p": 0.5}, [[0.75, 0.25], [0.25, 0.75]]),
}


def channel_of(design):
    table = table_of_values({"trait": ["no", "yes"]}, ["trait"])
    matrix, reports = classical_matrix(design, CLASSICAL[design][0], 2)
    return known_channel(table, matrix, reports, design)


def test_all_designs_are_tried():
    assert set(CLASSICAL) == set(DESIGNS)


@pytest.mark.parametrize("design", CLASSICAL)
def test_matrices_are_those_of_the_authors(design):
    private = channel_of(design)
    assert private.channel.matrix == pytest.approx(np.array(CLASSICAL[design][1]), abs=1e-15)
    with np.errstate(divide="ignore"):
        ratios = np.log(private.channel.matrix[0] / private.channel.matrix[1])
    level = np.abs(ratios).max()
    assert private.certificate.levels.record == pytest.approx(level)
    assert private.promise().startswith("Nothing is promised") == math.isinf(level)


@pytest.mark.parametrize(
    ("design", "parameters"),
    [
        ("warner", {"p": 0.5}),
        ("forced", {"yes": 0.3, "no": 0.7}),
        ("unrelated", {"p": 0.0, "q": 0.4}),
        ("crosswise", {"p": 0.5}),
        ("triangular", {"p": 1.0}),
        ("kuk", {"p": 0.3, "q": 0.3, "cards": 3}),
        ("pram", {"p": 0.0}),
    ],
)
def test_a_design_that_shows_nothing_is_refused(design, parameters):
    table = table_of_values({"trait": ["no", "yes"]}, ["trait"])
    with pytest.raises(ValueError, match=rf"of this kind \({design}\) shows nothing"):
        known_channel(table, *classical_matrix(design, parameters, 2), design)


def test_values_that_reports_do_not_tell_apart_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text("drug,a,b\nno,0.9,0.1\nold,0.2,0.8\nnew,0.2,0.8\n", encoding="utf-8")
    assert main(["channel", "--values", "drug=no,old,new", "--matrix", "m.csv"]) == 0
    assert "do not show the shares of old; new, however many" in capsys.readouterr().err


@pytest.mark.parametrize("design", CLASSICAL)
def test_intervals_cover_the_share(design, long):
    """Of 400 repetitions with --long, else fewer; .94, less 3 standard errors."""
    private, rng = channel_of(design), np.random.default_rng(0)
    times, share, n, covered = 400 if long else 30, 0.2, 400, 0
    p = np.array([1 - share, share]) @ private.channel.matrix
    for _ in range(times):
        found = estimate_distribution(private, rng.multinomial(n, p))
        (yes,) = [row for row in found.frequencies if row.quantity.value == ("yes",)]
        covered += yes.low <= share <= yes.high
    assert covered / times >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


def test_reports_keep_the_names_that_the_data_have(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["channel", "--values", "trait=no,yes", "--design", "forced", "--yes", "1/6", "--no", "1/6"]
    assert main([*words, "--reports", "0", "1"]) == 0
    assert "level of a report was measured: 1.60944" in " ".join(capsys.readouterr().out.split())
    private = read_channel("channel.json").verified()
    assert private.outputs == ("0", "1")
    assert private.id != channel_of("forced").id
    with open("r.csv", "w", encoding="utf-8") as stream:
        stream.write("answer\n" + "1\n" * 30 + "0\n" * 70)
    assert main(["estimate", "--channel", "channel.json", "--data", "r.csv", "--column", "answer"]) == 0
    assert f"{(0.3 - 1 / 6) / (2 / 3):.2f}" in capsys.readouterr().out
    # The matrix that is written is read again.
    assert (
        main(["channel", "--values", "trait=no,yes", "--matrix", "channel.matrix.csv", "--out", "b.json"])
        == 0
    )
    assert read_channel("b.json").outputs == ("0", "1")
    assert read_channel("b.json").channel.matrix == pytest.approx(private.channel.matrix, abs=1e-15)


def test_a_design_without_a_level_is_estimated_and_promises_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["channel", "--values", "trait=no,yes", "--design", "triangular", "--p", "1/4"]) == 0
    assert "the channel has no level" in " ".join(capsys.readouterr().out.split())
    with open("r.csv", "w", encoding="utf-8") as stream:
        stream.write("report\n" + "some\n" * 40 + "neither\n" * 60)
    assert main(["estimate", "--channel", "channel.json", "--data", "r.csv"]) == 0
    said = capsys.readouterr().out
    assert "yes    0.2" in said
    assert "Nothing is promised" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--design", "warner"], "has the parameters --p"),
        (["--design", "warner", "--p", "1.5"], "must be a probability from 0 to 1"),
        (["--design", "warner", "--p", "x"], "no number and no fraction"),
        (["--design", "warner", "--p", "0.5", "--q", "0.1"], "has the parameters --p"),
        (["--design", "forced", "--yes", "0.7", "--no", "0.7"], "together they are at most 1"),
        (["--design", "kuk", "--p", "0.5", "--q", "0.2", "--cards", "1.5"], "a whole number from 1 to 100"),
        (["--design", "crosswise", "--p", "0.2", "--reports", "a", "a"], "each needs one of its own"),
        (["--design", "crosswise", "--p", "0.2", "--reports", "a"], "each needs one of its own"),
        (["--matrix", "m.csv", "--p", "1"], "does not go with --matrix"),
        (["--matrix", "m.csv"], "row sums from"),
        (["--matrix", "short.csv"], "has no row for the value 'yes'"),
        (["--matrix", "other.csv"], "Record 2 of other.csv is of the value 'Yes', which is none of those"),
        (["--matrix", "words.csv"], "In the column 'r2' of record 1 of words.csv, 'half' is no number"),
    ],
)
def test_what_is_no_channel_is_refused(tmp_path, monkeypatch, capsys, words, why):
    monkeypatch.chdir(tmp_path)
    for name, rows in (
        ("m.csv", [["no", "0.5", "0.4"], ["yes", "0.1", "0.9"]]),
        ("short.csv", [["no", "1", "0"]]),
        ("other.csv", [["no", "1", "0"], ["Yes", "1", "0"]]),
        ("words.csv", [["no", "1", "half"]]),
    ):
        with open(name, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["trait", "r1", "r2"], *rows])
    assert main(["channel", "--values", "trait=no,yes", *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "channel.json").exists()


def test_a_classical_design_of_three_values_is_refused_but_pram():
    with pytest.raises(ValueError, match="is for two values"):
        classical_matrix("warner", {"p": 0.8}, 3)
    matrix, _ = classical_matrix("pram", {"p": 0.4}, 3)
    assert matrix == pytest.approx(0.4 * np.eye(3) + 0.2)
