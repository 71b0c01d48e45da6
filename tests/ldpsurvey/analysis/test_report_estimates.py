"""Estimates in Python are those that the command writes, of files and of data frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpsurvey import privatize_frame, read_any_channel
from ldpsurvey.analysis.report_estimates import estimate_reports
from ldpsurvey.command.cli import main

RNG = np.random.default_rng(1)
PEOPLE = pd.DataFrame({
    "ill": RNG.choice(["no", "yes"], 600), "sad": RNG.choice(["no", "yes"], 600),
    "age": RNG.choice(["a", "b", "c"], 600),
    "wt": RNG.choice([1.0, 2.0, 0.5], 600), "group": RNG.choice(["x", "y"], 600),
    "town": np.arange(600) // 20,
    "r1": np.tile([0.0, 2.0], 300), "r2": np.tile([2.0, 0.0], 300),
})  # fmt: skip
DESIGNS = {
    "table": ["--sensitive", "ill", "--useful", "age"],
    "questionnaire": ["--sensitive", "ill", "sad", "age"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("analysis")
    PEOPLE.to_csv(place / "people.csv", index=False)
    for name, asked in DESIGNS.items():
        out = ["--epsilon", "3", "--out", str(place / f"{name}.json"), "--quiet"]
        assert main(["design", "--data", str(place / "people.csv"), *asked, *out]) == 0
    return place


@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"simultaneous": True, "confidence": 0.9}, ["--simultaneous", "--confidence", "0.9"]),
        ({"weight": "wt", "by": "group"}, ["--weight", "wt", "--by", "group"]),
        ({"strata": "group", "cluster": "town"}, ["--strata", "group", "--cluster", "town"]),
        (
            {"weight": "wt", "replicates": ["r1", "r2"], "replicate_method": "brr"},
            ["--weight", "wt", "--replicates", "r1", "r2", "--replicate-method", "brr"],
        ),
        ({"rates": ("ill", "sad")}, ["--rates", "ill", "sad"]),
        ({"tables": [("ill", "sad", "age")]}, ["--tables", "sad,ill,age"]),
        ({"compare_with": ["b"], "mean": ["age=1,2,3"]}, ["--compare-with", "b", "--mean", "age=1,2,3"]),
    ],
)  # fmt: skip
def test_the_command_writes_the_same_numbers(folder, kind, options, words, tmp_path, capsys):
    channel = read_any_channel(folder / f"{kind}.json")
    kept = ["wt", "group", "town", "r1", "r2"]
    reports = privatize_frame(channel, PEOPLE, keep=kept, source=np.random.default_rng(3).bytes)
    reports.to_csv(tmp_path / "reports.csv", index=False)
    call = ["estimate", "--channel", str(folder / f"{kind}.json"), "--data", str(tmp_path / "reports.csv")]
    status = main([*call, *words, "--out", str(tmp_path / "found.csv")])
    if status:  # an option of the other kind
        assert "questionnaires" in capsys.readouterr().err
        with pytest.raises(ValueError, match=r"questionnaires|one table"):
            estimate_reports(channel, reports, **options)
        return
    written = pd.read_csv(tmp_path / "found.csv", dtype={"group": str})
    for given in (reports, tmp_path / "reports.csv"):
        found = estimate_reports(channel, given, **options)
        frame = found.to_frame()
        numbers = ["estimate", "unbiased", "standard_error", "low", "high"]
        expected = written[numbers].to_numpy(dtype=float)
        assert frame[numbers].replace(np.inf, np.nan).to_numpy() == pytest.approx(
            expected, rel=1e-9, abs=1e-12, nan_ok=True
        )
        assert frame["group"].tolist() == written["group"].fillna("").tolist()
        assert found.records == 600


@pytest.mark.parametrize("kind", DESIGNS)
def test_a_frame_is_privatized_as_its_file_is(folder, kind, tmp_path):
    channel = read_any_channel(folder / f"{kind}.json")
    source = np.random.default_rng(5).bytes
    from_frame = privatize_frame(channel, PEOPLE, keep=["wt"], source=source)
    out = tmp_path / "reports.csv"
    call = ["apply", "--channel", str(folder / f"{kind}.json"), "--data", str(folder / "people.csv")]
    assert main([*call, "--keep", "wt", "--out", str(out), "--seed", "5", "--insecure", "--quiet"]) == 0
    pd.testing.assert_frame_equal(from_frame, pd.read_csv(out))
    assert Path(out).stat().st_size
