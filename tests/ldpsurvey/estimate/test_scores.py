"""Means and cumulative shares: what they are of, and how often their intervals cover."""

import csv
import json

import numpy as np
import pytest

from ldpsurvey import CountTable, estimate_distribution
from ldpsurvey.base.layout import Remark
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.distribution import FittedReports
from ldpsurvey.estimate.scores import estimate_scores
from support.owndata import channel_of

#: Marks from 1 to 4 in two schools.
TABLE = CountTable(
    ("mark",), ("school",), tuple((mark,) for mark in "1234"), (("a",), ("b",)),
    np.array([[40, 10], [30, 30], [20, 40], [10, 20]]),
)  # fmt: skip
MARKS = np.repeat(np.arange(1.0, 5.0), 2)


@pytest.fixture(scope="module")
def channel():
    return channel_of(TABLE, "grr")


def test_without_noise_means_and_shares_are_those_of_the_table(channel):
    fit = FittedReports(channel, np.rint(1e9 * TABLE.distribution.ravel() @ channel.channel.matrix))
    mean, scored, *shares, school = estimate_scores(fit, ["mark", "mark=0,-1.5,2,10"], ["mark", "school"])
    truth = TABLE.distribution
    assert mean.estimate == pytest.approx(truth.ravel() @ MARKS, abs=1e-6)
    assert mean.unbiased == pytest.approx(mean.estimate, abs=1e-6)
    assert scored.estimate == pytest.approx(truth.sum(axis=1) @ [0.0, -1.5, 2.0, 10.0], abs=1e-5)
    assert [row.quantity.value for row in shares] == [("1",), ("2",), ("3",)]
    assert [row.estimate for row in shares] == pytest.approx(np.cumsum(truth.sum(axis=1))[:3], abs=1e-6)
    assert school.quantity.attributes == ("school",)
    assert school.estimate == pytest.approx(truth[:, 0].sum(), abs=1e-6)


def test_an_alphabetical_order_is_named_and_another_one_can_be_given():
    values = [("good",), ("poor",), ("very good",), ("very poor",)]
    table = CountTable(("health",), (), values, ((),), [[40], [20], [10], [30]])
    channel = channel_of(table, "grr")
    fit = FittedReports(channel, np.rint(1e9 * table.distribution.ravel() @ channel.channel.matrix))
    order = ["health=very poor,poor,good,very good"]
    assert [row.estimate for row in estimate_scores(fit, (), order)] == pytest.approx(
        [0.3, 0.5, 0.9], abs=1e-6
    )
    for asked in ([(), ["health"]], [["health=1,2,3,4"], ()]):
        with pytest.warns(Remark, match="order of health is alphabetical: good, poor, very good, very poor"):
            estimate_scores(fit, *asked)


def test_the_first_cumulative_share_is_a_frequency_and_the_mean_of_two_values_as_well(channel):
    counts = np.random.default_rng(1).multinomial(300, TABLE.distribution.ravel() @ channel.channel.matrix)
    fit = FittedReports(channel, counts)
    (one, *_), school = estimate_scores(fit, (), ["mark"]), estimate_scores(fit, ["school=0,10"])[0]
    known = estimate_distribution(channel, counts)
    (mark, *_), (_, other) = known.of(("mark",)), known.of(("school",))
    for name in ("estimate", "unbiased", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(mark, name))
        assert getattr(school, name) == pytest.approx(10.0 * getattr(other, name))


def test_intervals_cover_and_those_of_all_together_are_wider(channel):
    """95% are promised; 88% of 100 are 3.2 standard errors below."""
    rng, truth = np.random.default_rng(7), TABLE.distribution
    expected = [truth.ravel() @ MARKS, *np.cumsum(truth.sum(axis=1))[:3]]
    reports = truth.ravel() @ channel.channel.matrix
    covered = np.zeros(4)
    for _ in range(100):
        fit = FittedReports(channel, rng.multinomial(2000, reports))
        found = estimate_scores(fit, ["mark"], ["mark"])
        covered += [row.low <= value <= row.high for row, value in zip(found, expected, strict=True)]
    assert covered.min() >= 0.88 * 100
    together = estimate_scores(fit, ["mark"], ["mark"], simultaneous=True)
    for wide, narrow in zip(together, found, strict=True):
        assert wide.low <= narrow.low < narrow.high <= wide.high
        assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize(
    ("means", "cumulative", "sentence"),
    [
        (["school"], [], "--mean school=1,2,... gives one to each of its values in their order: a, b"),
        (["mark=1,2,3"], [], "needs 4 numbers that are not all equal"),
        (["mark=1,2,x,4"], [], "needs 4 numbers"),
        (["mark=2,2,2,2"], [], "not all equal"),
        (["Mark"], [], "'Mark' is not in the channel, .* Did you mean 'mark'"),
        ([], ["marks"], "Did you mean 'mark'"),
        ([], ["mark=4,3,2"], "must have each of its values once, .*: 1, 2, 3, 4"),
    ],
)
def test_what_has_no_mean_or_order_gets_a_sentence(channel, means, cumulative, sentence):
    fit = FittedReports(channel, np.full(channel.channel.n_outputs, 100))
    with pytest.raises(ValueError, match=sentence):
        estimate_scores(fit, means, cumulative)


def test_the_command_prints_and_writes_them(channel, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    channel.write("c.json")
    reports = [name for name in channel.outputs for _ in range(100)]
    (tmp_path / "r.csv").write_text("report\n" + "\n".join(reports) + "\n", encoding="utf-8")
    words = ["estimate", "--channel", "c.json", "--data", "r.csv", "--mean", "mark", "--cumulative", "mark"]
    assert main([*words, "--out", "e.csv"]) == 0
    printed = capsys.readouterr().out
    for label in ("\nmean ", "\nmark, up to ", "\n3 "):
        assert label in printed
    with open(tmp_path / "e.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))[-4:]
    assert [row["measure"] for row in rows] == ["mean", *["cumulative"] * 3]
    assert [row["value"] for row in rows] == ["[]", '["1"]', '["2"]', '["3"]']
    assert float(rows[0]["low"]) < float(rows[0]["estimate"]) < float(rows[0]["high"])
    assert main([*words, "--json"]) == 0
    assert [row["measure"] for row in json.loads(capsys.readouterr().out)["scores"]] == [
        "mean",
        *["cumulative"] * 3,
    ]
    assert main([*words, "--by", "school"]) == 2
    assert "--mean does not go with --weight, --strata, --cluster and --by" in capsys.readouterr().err
