"""The change between two waves of a survey, and how often its interval has the truth."""

import json

import numpy as np
import pytest

from ldpsurvey import estimate_change
from ldpsurvey.base.sampling import Sampler
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.distribution import inversion, quantities
from support.grids import few
from support.malformed import refused
from support.owndata import channel_of, seeded

REPETITIONS, PEOPLE = 400, 800

#: People of the second wave who were in the first one, and the share of these whose answers changed.
WAVES = {
    "panel": (1.0, 0.0),
    "a fifth changed": (1.0, 0.2),
    "half are new": (0.5, 0.2),
    "samples": (0.0, 0.0),
}


@pytest.mark.parametrize("wave", few(["a fifth changed", "half are new"], more=["panel", "samples"]))
def test_intervals_of_a_change_have_the_truth(table, wave):
    stay, changed = WAVES[wave]
    private, rng = channel_of(table, "srr", 2.0, "anyone"), np.random.default_rng(list(WAVES).index(wave))
    sampler, (asked, vectors) = Sampler(private.weights, seeded(100)), quantities(table)
    start, other = table.distribution.ravel(), np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    end = (1.0 - changed) * start + changed * other if stay else other
    truth = vectors @ (end - start)
    covered, widths = np.zeros(len(asked)), np.zeros(len(asked))
    for _ in range(REPETITIONS):
        first = rng.choice(6, PEOPLE, p=start)
        second = np.where(rng.random(PEOPLE) < changed, rng.choice(6, PEOPLE, p=other), first)
        new = np.arange(PEOPLE) >= stay * PEOPLE
        second[new] = rng.choice(6, int(new.sum()), p=end)
        names = [f"p{i + PEOPLE * is_new}" for i, is_new in enumerate(new.tolist())]
        waves = (
            dict(zip([f"p{i}" for i in range(PEOPLE)], sampler.draw(first).tolist(), strict=True)),
            dict(zip(names, sampler.draw(second).tolist(), strict=True)),
        )
        found = estimate_change((private, private), waves)
        assert found.both == stay * PEOPLE
        low, high = (np.array([getattr(row, end) for row in found.rows]) for end in ("low", "high"))
        covered += (low <= truth) & (truth <= high)
        widths += high - low
    # Less the error of 400 repetitions, for the one of 15 intervals that covers least, and for all together.
    assert covered.min() / REPETITIONS >= 0.95 - 3.5 * (0.95 * 0.05 / REPETITIONS) ** 0.5
    assert covered.mean() / REPETITIONS >= 0.935
    assert widths.max() / REPETITIONS < 0.6


@pytest.mark.parametrize("turn", [0, 3])
def test_the_interval_of_a_panel_is_that_of_paired_differences(table, turn):
    """Whether people answer as before, or all of them something else: their answers depend on each other."""
    private = channel_of(table, "subset", 4.0, "anyone")
    inputs = np.random.default_rng(0).choice(6, 2000, p=table.distribution.ravel())
    sampler = Sampler(private.weights, seeded(1))
    outputs = sampler.draw(inputs), sampler.draw((inputs + turn) % 6)
    first, second = ({f"p{place}": output for place, output in enumerate(some.tolist())} for some in outputs)
    panel = estimate_change((private, private), (first, second))
    others = {f"q{name}": output for name, output in second.items()}
    samples = estimate_change((private, private), (first, others))
    weights = inversion(private.channel.matrix, table).weights
    differences = weights[:, outputs[1]] - weights[:, outputs[0]]
    widths = 2 * 1.961 * differences.std(axis=1) / 2000**0.5
    for row, other, width in zip(panel.rows, samples.rows, widths, strict=True):
        assert row.change == pytest.approx(other.change)
        assert row.high - row.low == pytest.approx(width, rel=0.02)
        if turn == 0:
            assert row.high - row.low < 0.8 * (other.high - other.low)


def test_the_command_compares_two_waves(here, capsys, table):
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv"]
    assert main([*apply, "--out", "second.csv"]) == 0
    capsys.readouterr()
    words = ["change", "--channel", "channel.json", "--data", "reports.csv", "second.csv"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("1,340 reports, then 1,340 reports; people in both: 0\n")
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 6 + 2 + 3 + 4
    assert all(row["low"] < row["change"] < row["high"] for row in rows)
    # Another channel in the second wave, and ids in both files.
    channel_of(table, "grr").write("grr.json")
    for name, out in (("channel.json", "a.csv"), ("grr.json", "b.csv")):
        text = (here / "people.csv").read_text().splitlines()
        lines = [text[0] + ",id", *(f"{line},p{place}" for place, line in enumerate(text[1:]))]
        (here / "ids.csv").write_text("\n".join(lines) + "\n")
        assert main(["apply", "--channel", name, "--data", "ids.csv", "--out", out, "--keep", "id"]) == 0
    words = ["change", "--channel", "channel.json", "grr.json", "--data", "a.csv", "b.csv"]
    capsys.readouterr()
    assert main([*words, "--id", "id"]) == 0
    assert "people in both: 1,340" in capsys.readouterr().out
    refused(here, capsys, words, "1,340 values of the column 'id' are in both files.")
    refused(here, capsys, [*words[:-1], "a.csv"], "a.csv is given for both waves")
    refused(here, capsys, [*words[:3], *words[4:]], "is a report of the channel")
    refused(here, capsys, [*words[:3], "grr.json", "grr.json", *words[3:]], "There are 4 channels for two")


def test_reports_that_a_memo_repeats_are_no_change(here, capsys, table):
    """The answers of all people have changed, but the memo of a channel for one report repeats theirs."""
    channel_of(table, "srr", 2.0, "anyone").write("one.json")
    for name, answer in (("first", "no"), ("second", "yes")):
        people = "illness,region,age,id\n" + "".join(f"{answer},north,old,p{i}\n" for i in range(40))
        (here / "people.csv").write_text(people)
        apply = ["apply", "--channel", "one.json", "--data", "people.csv", "--out", f"{name}.csv"]
        assert main([*apply, "--keep", "id", "--memo", "m.memo", "--id", "id"]) == 0
    words = ["change", "--channel", "one.json", "--id", "id", "--data", "first.csv", "second.csv"]
    refused(here, capsys, words, "40 of the 40 people in both waves have the same report in both")
    # A few who are equal by chance are none.
    private = channel_of(table, "srr", 2.0, "anyone")
    few = {f"p{place}": place % 6 for place in range(3)}
    assert estimate_change((private, private), (few, few)).both == 3


def test_reports_that_do_not_fit_name_no_option_that_change_does_not_have(here, capsys, table):
    same = "report\n" + "y1\n" * 2000
    for name in ("a.csv", "b.csv"):
        (here / name).write_text(same)
    last = refused(
        here, capsys, ["change", "--channel", "channel.json", "--data", "a.csv", "b.csv"], "do not fit"
    )
    assert "check of the fit" not in last
