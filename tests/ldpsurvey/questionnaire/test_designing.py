"""Several reports of a person by questionnaires: from the files alone, none tell more than is printed."""

import csv
import json
import math
import re
import sqlite3
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey.command.cli import main
from support.grids import few
from support.questionnaires import records, report_chances


def design(rng, name, sizes, epsilon, more):
    values = [f"q{j}={','.join('abcd'[:size])}" for j, size in enumerate(sizes)]
    precise = rng.choice(["shares", "pairs"])
    words = ["--values", *values, "--sensitive", *(f"q{j}" for j in range(len(sizes)))]
    words += ["--precise", precise, "--epsilon", f"{epsilon}", "--out", name, "--quiet", *more]
    assert main(["design", *words]) == 0


def worst_ratio(chances, reports):
    """The largest ratio of the chances of some reports together: of one record, or of a new one each time."""
    same, anew, first = Fraction(1), Fraction(1), chances[reports[0][0]][reports[0][1]]
    for x in first:
        for y in first:
            ratio = Fraction(1)
            for channel, report in reports:
                ratio *= chances[channel][report][x] / chances[channel][report][y]
            same = max(same, ratio)
    for channel, report in reports:
        given = chances[channel][report].values()
        anew *= max(given) / min(given)
    return same, anew


def is_at_most(ratio, level):
    """Tell whether a ratio of whole numbers is at most e^level, where a float may be just above it."""
    return math.log(ratio) <= level * (1.0 + 1e-12)


@pytest.mark.parametrize("seed", few(range(4), more=range(4, 100)))
def test_no_reports_of_three_waves_tell_more_than_is_printed(seed, tmp_path, monkeypatch, capsys):
    """By the memo and the published reports, with all chances by enumeration from the JSON, as fractions."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(seed)
    sizes = [(2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 2, 3), (4, 2)][rng.integers(6)]
    epsilon, people = round(float(rng.uniform(0.05, 2.0)), 3), 8
    columns = [f"q{j}" for j in range(len(sizes))]
    if seed % 2:
        design(rng, "a.json", sizes, 3.0 * epsilon, ["--reports", "3"])
        asked = ["a.json"] * 3
    else:  # two channels of a budget that is enough for two of the reports, or for three
        budget = round(epsilon * float(rng.uniform(2.0, 3.5)), 3)
        other = round(epsilon * float(rng.uniform(0.5, 1.0)), 3)
        design(rng, "a.json", sizes, epsilon, ["--budget", f"{budget}"])
        design(rng, "b.json", sizes, other, ["--budget", f"{budget}"])
        asked = ["a.json", "b.json", "a.json"]
    for wave, channel in enumerate(asked):
        with open("people.csv", "w", encoding="utf-8", newline="") as stream:  # answers change
            rows = [[f"p{p}", *("abcd"[rng.integers(size)] for size in sizes)] for p in range(people)]
            csv.writer(stream).writerows([["id", *columns], *rows])
        words = ["apply", "--channel", channel, "--data", "people.csv", "--out", f"{wave}.csv"]
        words += ["--keep", "id", "--memo", "memo", "--id", "id", "--wave", str(wave), "--quiet"]
        capsys.readouterr()
        if main(words):
            assert "exceed what the channel allows" in capsys.readouterr().err
            assert wave == 2
            assert seed % 2 == 0
        else:
            assert main([*words, "--force"]) == 0  # a second run repeats
    with closing(sqlite3.connect("memo")) as base:
        given = base.execute("SELECT id, wave, report FROM reports").fetchall()
    published = Counter()
    for wave in range(len(asked)):
        if Path(f"{wave}.csv").exists():
            with open(f"{wave}.csv", encoding="utf-8", newline="") as stream:
                published.update((row["id"], str(wave), row["report"]) for row in csv.DictReader(stream))
    assert published == Counter(given)
    chances = {name: report_chances(Path(name).read_text(encoding="utf-8")) for name in set(asked)}
    for name in set(asked):
        assert [sum(p[x] for p in chances[name].values()) for x in records(sizes)] == [1] * math.prod(sizes)
    capsys.readouterr()
    assert main(["audit", "--channel", "a.json"]) == 0
    promised = re.search(r"at most the level ([\d.]+) for", " ".join(capsys.readouterr().out.split()))
    waves = sorted({int(wave) for _, wave, _ in given})
    assert main(["level", *(asked[wave] for wave in waves), "--json"]) == 0
    (level,) = json.loads(capsys.readouterr().out)["levels"]
    for person in {name for name, _, _ in given}:
        own = [(asked[int(wave)], report) for name, wave, report in given if name == person]
        assert len(own) == len(waves)
        same, anew = worst_ratio(chances, own)
        assert same <= anew
        assert is_at_most(anew, float(promised[1]))
        assert is_at_most(anew, level["level"])
    # Exact is what some reports reach: by each channel any report may be given.
    if level["exact"]:
        shape = records(sizes)
        found = max(
            math.prod(max(p[x] / p[y] for p in chances[asked[wave]].values()) for wave in waves)
            for x in shape
            for y in shape
        )
        assert math.log(found) == pytest.approx(level["level"], abs=1e-9)
