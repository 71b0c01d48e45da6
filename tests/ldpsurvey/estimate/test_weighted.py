"""Estimates of weighted and stratified samples: their identities, coverage and the command."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import t

from ldpsurvey.command.cli import main
from ldpsurvey.data.tables import CountTable
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import classical_matrix, known_channel
from ldpsurvey.estimate.distribution import inversion
from ldpsurvey.estimate.weighted import Sample, replicate_factor, weighted_estimates
from support.owndata import channel_of

FORCED = known_channel(
    table_of_values({"ill": ["no", "yes"]}, ["ill"]),
    *classical_matrix("forced", {"yes": 1 / 6, "no": 1 / 6}, 2),
)


def sample_of(outputs, weights=None, strata=None, groups=None, replicates=None, factor=1.0):
    n = len(outputs)
    return Sample(
        np.asarray(outputs),
        np.ones(n) if weights is None else np.asarray(weights, dtype=float),
        np.zeros(n, dtype=int) if strata is None else np.asarray(strata),
        [""] * n if groups is None else list(groups),
        replicates,
        factor,
    )


def yes(found):
    (row,) = [row for row in found if row.quantity.value == ("yes",) and not row.given]
    return row


def test_equal_weights_have_the_unbiased_estimate_and_its_error():
    outputs = np.random.default_rng(0).integers(0, 2, 400)
    row = yes(weighted_estimates(FORCED, sample_of(outputs)))
    linear = inversion(FORCED.channel.matrix, FORCED.table)
    frequencies = np.bincount(outputs, minlength=2) / 400
    assert row.estimate == pytest.approx(linear.estimate(frequencies)[1])
    # n - 1 in the place of n.
    assert row.error == pytest.approx(linear.error(frequencies, 399)[1])
    # Weights of any scale are the same, and whole ones count people again.
    scaled = yes(weighted_estimates(FORCED, sample_of(outputs, np.full(400, 7.0))))
    assert (scaled.estimate, scaled.error) == pytest.approx((row.estimate, row.error))
    twice = yes(weighted_estimates(FORCED, sample_of(outputs, 1.0 + (np.arange(400) < 100))))
    repeated = yes(weighted_estimates(FORCED, sample_of(np.concatenate([outputs, outputs[:100]]))))
    assert twice.estimate == pytest.approx(repeated.estimate)


@pytest.mark.parametrize("effect", [1.0, 2.0, 4.0])
def test_intervals_cover_weighted_shares(effect, long):
    """People of one half of the population are drawn more often, which weights undo."""
    rng, times, n = np.random.default_rng(round(effect)), 400 if long else 100, 1_500
    # With a share q of people of the weight r, and 1 of the others, it is (1 - q + q r^2) / (1 - q + q r)^2.
    q, r = {1.0: (0.5, 1.0), 2.0: (0.2, 6.0), 4.0: (0.1, 15.0)}[effect]
    shares, population = np.array([0.15, 0.35]), np.array([1 - q, q * r]) / (1 - q + q * r)
    truth, covered = float(population @ shares), 0
    for _ in range(times):
        heavy = (rng.random(n) < q).astype(int)
        ill = (rng.random(n) < shares[heavy]).astype(int)
        outputs = (rng.random(n) < FORCED.channel.matrix[ill, 1]).astype(int)
        sample = sample_of(outputs, np.where(heavy, r, 1.0))
        row = yes(weighted_estimates(FORCED, sample))
        covered += row.low <= truth <= row.high
    assert n / sample.effective == pytest.approx(effect, rel=0.25)
    assert covered / times >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


def test_strata_take_their_differences_out_of_the_error():
    """And the interval still covers; without strata it is wider."""
    rng, times, covered, narrower = np.random.default_rng(0), 100, 0, 0
    sizes, shares, parts = np.array([300, 900]), np.array([0.05, 0.9]), np.array([0.6, 0.4])
    strata = np.repeat([0, 1], sizes)
    weights = (parts / sizes)[strata]
    for _ in range(times):
        ill = (rng.random(1_200) < shares[strata]).astype(int)
        outputs = (rng.random(1_200) < FORCED.channel.matrix[ill, 1]).astype(int)
        row = yes(weighted_estimates(FORCED, sample_of(outputs, weights, strata)))
        alone = yes(weighted_estimates(FORCED, sample_of(outputs, weights)))
        covered += row.low <= parts @ shares <= row.high
        narrower += row.error < alone.error
    assert narrower == times
    assert covered / times >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


def test_clusters_are_what_was_drawn():
    """Their sums are the estimates: an interval covers, that of people does not, and names are of strata."""
    rng, times, covered = np.random.default_rng(3), 200, np.zeros(2)
    clusters, strata = np.repeat(np.arange(60), 15), np.repeat([0, 1], 450)
    for _ in range(times):
        ill = rng.random(900) < rng.beta(0.6, 1.4, 60)[clusters]
        outputs = (rng.random(900) < FORCED.channel.matrix[ill.astype(int), 1]).astype(int)
        drawn = replace(sample_of(outputs), clusters=clusters)
        rows = [yes(weighted_estimates(FORCED, sample)) for sample in (drawn, sample_of(outputs))]
        covered += [row.low <= 0.3 <= row.high for row in rows]
    assert covered[0] / times >= 0.94 - 2.0 * math.sqrt(0.06 / times)
    assert covered[1] / times < 0.85
    # The variance of the means of clusters of one size; a name in two strata is that of two.
    each = np.array([-0.25, 1.25])[outputs].reshape(60, 15).mean(axis=1)
    assert rows[0].error == pytest.approx(each.std(ddof=1) / math.sqrt(60))
    of_strata = [
        replace(sample_of(outputs, strata=strata), clusters=names) for names in (clusters, clusters % 30)
    ]
    one, other = (yes(weighted_estimates(FORCED, sample)) for sample in of_strata)
    assert one == other
    assert one.error == pytest.approx(
        math.hypot(*(half.std(ddof=1) for half in (each[:30], each[30:]))) / 2 / 30**0.5
    )


def test_groups_are_estimated_from_their_people():
    rng = np.random.default_rng(0)
    outputs, groups = rng.integers(0, 2, 300), rng.choice(["a", "b"], 300)
    sample = sample_of(outputs, groups=groups)
    assert [name for name, _ in sample.by_group()] == ["a", "b"]
    for name, who in sample.by_group():
        own = yes(weighted_estimates(FORCED, sample_of(outputs[groups == name])))
        row = yes(weighted_estimates(FORCED, sample, among=who))
        assert row.estimate == pytest.approx(own.estimate)
        assert row.error == pytest.approx(own.error, rel=0.02)


@pytest.mark.parametrize("people", [2, 5, 20])
def test_intervals_of_small_groups_cover(people, long):
    """Of 1,000 repetitions with --long; they are never single points, and never say more than they know."""
    rng, times, covered, truth = np.random.default_rng(people), 1_000 if long else 150, 0, 0.3
    inside = np.arange(200) < people
    for _ in range(times):
        ill = (rng.random(200) < truth).astype(int)
        outputs = (rng.random(200) < FORCED.channel.matrix[ill, 1]).astype(int)
        row = yes(weighted_estimates(FORCED, sample_of(outputs), among=inside))
        covered += row.low <= truth <= row.high
        assert row.low < row.high
        assert row.estimable == (row.high - row.low < 0.9)
    assert covered / times >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


def test_the_interval_of_a_group_counts_its_people_and_two_more_reports():
    outputs, inside = np.arange(80) % 5 % 2, np.arange(80) < 40
    each = np.array([-0.25, 1.25])  # what a report stands for
    share = each[outputs[:40]].mean()
    jackknife = sample_of(outputs, replicates=1.0 - np.eye(80), factor=79 / 80)
    for sample in (sample_of(outputs), jackknife):
        row = yes(weighted_estimates(FORCED, sample, among=inside))
        variance = row.error**2 + ((each - share) ** 2).sum() / 40**2
        half = t.ppf(0.975, 39) * math.sqrt(variance)
        assert (row.low, row.high) == pytest.approx((share - half, share + half))
        alone = yes(weighted_estimates(FORCED, sample, among=np.arange(80) == 0))
        assert not alone.estimable
        assert math.isnan(alone.estimate)


def test_a_rate_needs_people_whom_it_is_among():
    """A third of the reports say m, as some do without anybody: among 12 there may be nobody."""
    values = [(("no",), ("yes",)), (("f",), ("m",))]
    table = CountTable(("ill",), ("sex",), *values, np.full((2, 2), 100))
    private, outputs = channel_of(table, "grr", 2.0, "anyone"), np.array([0, 0, 1, 2, 2, 3])
    for times, known in ((2, False), (200, True)):
        found = weighted_estimates(private, sample_of(np.tile(outputs, times)))
        rates = [row for row in found if row.given == ("m",)]
        assert [row.estimable for row in rates] == [known, known]
        assert [math.isfinite(row.estimate) for row in rates] == [known, known]
        (share,) = [row for row in found if row.quantity.value == ("m",)]
        assert (share.low > 0) == known
        assert share.estimate > 0.2


def test_a_jackknife_is_that_of_estimates_without_each_person():
    rng = np.random.default_rng(0)
    outputs, weights, groups = rng.integers(0, 2, 60), rng.uniform(1, 5, 60), np.arange(60) % 3 == 0
    without = np.where(np.eye(60, dtype=bool), 0.0, weights)
    sample = sample_of(outputs, weights, replicates=without, factor=replicate_factor("jackknife", 60))
    for who in (None, groups):
        row = yes(weighted_estimates(FORCED, sample, among=who))
        kept = np.full(60, True) if who is None else who
        each = [
            yes(weighted_estimates(FORCED, sample_of(outputs[left], weights[left]))).estimate
            for left in (kept & (np.arange(60) != person) for person in range(60))
        ]
        squares = sum((one - row.estimate) ** 2 for one in each)
        assert row.error == pytest.approx(math.sqrt(59 / 60 * squares))
        # And nearly the error by linearisation.
        alone = yes(weighted_estimates(FORCED, sample_of(outputs, weights), among=who))
        assert row.estimate == alone.estimate
        assert row.error == pytest.approx(alone.error, rel=0.1)


@pytest.mark.parametrize("method", ["brr", "fay:0.5", "bootstrap"])
def test_replicates_have_the_error_by_linearisation(method):
    """Of two people from each of 127 strata, whose half samples a Hadamard matrix balances."""
    rng, strata = np.random.default_rng(1), np.repeat(np.arange(127), 2)
    weights = rng.uniform(1.0, 3.0, 127)[strata]
    outputs = (rng.random(254) < np.linspace(0.1, 0.9, 127)[strata]).astype(int)
    sign = hadamard(128)[:, 1:]
    if method == "bootstrap":  # one person of each stratum, twice: as of Rao and Wu (1988)
        sign = rng.choice([-1, 1], (400, 127))
    share = 0.5 if method == "fay:0.5" else 1.0
    replicates = weights * (1.0 + share * np.stack([sign, -sign], axis=2).reshape(len(sign), 254))
    factor = replicate_factor(method, len(sign))
    row = yes(weighted_estimates(FORCED, sample_of(outputs, weights, replicates=replicates, factor=factor)))
    linear = yes(weighted_estimates(FORCED, sample_of(outputs, weights, strata)))
    assert row.estimate == linear.estimate
    assert row.error == pytest.approx(linear.error, rel=0.1 if method == "bootstrap" else 1e-9)


def test_factors_of_replicates():
    assert replicate_factor("fay:0.5", 80) == pytest.approx(4 / 80)  # the American Community Survey
    assert replicate_factor("0.05", 80) == 0.05
    for wrong in ("fay", "fay:1", "fay:-0.1", "jacknife", "0", "-1", "", "brr:0.5"):
        with pytest.raises(ValueError, match="it must be brr, fay:RHO"):
            replicate_factor(wrong, 80)


@pytest.fixture
def reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = [["ill", "sex", "region", "w", "stratum", "alone", "r1", "r2", "r3", "zero", "empty", "village"]]
    for person in range(2_000):
        sex = rng.choice(["f", "m"])
        ill = "yes" if rng.random() < (0.2 if sex == "f" else 0.4) else "no"
        w, thirds = round(rng.uniform(1, 3), 2), [0.0 if person % 3 == place else 1.5 for place in range(3)]
        known = [sex, rng.choice(["n", "s"]), w, rng.integers(0, 4), person == 0, *(w * r for r in thirds)]
        rows.append([ill, *known, 0, "", person // 20])
    with open("people.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    design = ["design", "--data", "people.csv", "--sensitive", "ill", "--useful", "sex", "--epsilon", "2"]
    assert main([*design, "--against", "anyone", "--mechanism", "srr", "--quiet"]) == 0
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]
    assert main([*apply, "--keep", *rows[0][2:]]) == 0
    return ["estimate", "--channel", "channel.json", "--data", "r.csv"]


def test_the_command_estimates_weights_strata_and_groups(reports, capsys):
    assert main([*reports, "--weight", "w", "--strata", "stratum", "--by", "region", "--out", "e.csv"]) == 0
    said = capsys.readouterr().out
    assert "2,000 reports, which tell as much as 1,8" in said
    assert "region = n." in said
    assert "yes given m" in said
    assert max(map(len, said.splitlines())) <= 90
    # The reports differ each time.
    assert main([*reports, "--weight", "w", "--confidence", "0.99999", "--json"]) == 0
    (whole,) = json.loads(capsys.readouterr().out)["groups"]
    rates = [
        row for row in whole["estimates"] if row["given"] == ["m"] and row["quantity"]["value"] == ["yes"]
    ]
    assert rates[0]["low"] < 0.4 < rates[0]["high"]
    with open("e.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["group"] for row in rows} == {"", "n", "s"}


def test_samples_have_one_report_of_each_person_and_reports_of_the_channel(tmp_path, monkeypatch, capsys):
    """As files without weights; and people without a group are a group of their own."""
    monkeypatch.chdir(tmp_path)
    FORCED.write("channel.json")
    rng = np.random.default_rng(0)
    people = [
        f"{i},{FORCED.outputs[int(y)]},{rng.choice(['n', ''])},{i % 4 + 1},{i % 7 + 1}"
        for i, y in enumerate(rng.random(300) < 0.4)
    ]
    estimate = ["estimate", "--channel", "channel.json", "--by", "g", "--weight", "w", "--data"]
    for name, rows in (("once", people), ("often", [row for row in people for _ in range(10)])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,report,g,w,r1", *rows]) + "\n", encoding="utf-8")
        assert main([*estimate, f"{name}.csv", "--id", "id", "--out", f"{name}.out", "--quiet"]) == 0
    assert (tmp_path / "once.out").read_text() == (tmp_path / "often.out").read_text()
    assert main([*estimate, "often.csv"]) == 2
    assert "2,700 of them repeat a value of its column 'id'" in capsys.readouterr().err
    with open("once.out", encoding="utf-8", newline="") as stream:
        assert {row["group"] for row in csv.DictReader(stream)} == {"", "n", "(empty)"}
    # The first record that is wrong is named.
    assert main([*estimate[:-2], "g", "--data", "once.csv", "--id", "id"]) == 2
    assert "Record 1 of once.csv has" in capsys.readouterr().err
    # Ids are no replicate weights.
    replicates = ["--replicates", "*", "--replicate-method", "brr"]
    assert main([*estimate, "once.csv", *replicates]) == 2
    assert "1 columns of once.csv are replicate weights" in capsys.readouterr().err
    same = [f"{i},{FORCED.outputs[1]},n,1,1" for i in range(1_000)]
    (tmp_path / "same.csv").write_text("\n".join(["id,report,g,w,r1", *same]) + "\n", encoding="utf-8")
    assert main([*estimate, "same.csv"]) == 2
    assert "do not fit the channel" in capsys.readouterr().err
    assert main([*estimate, "same.csv", "--despite-misfit", "--json"]) == 0
    said = capsys.readouterr()
    assert "do not fit the channel" in said.err
    rows = json.loads(said.out)["groups"][0]["estimates"]
    assert all(row["low"] < row["high"] for row in rows)


def test_the_command_takes_replicate_weights(reports, capsys):
    """Of three, which leave a third of the people out each."""
    assert main([*reports, "--weight", "w", "--json"]) == 0
    (linear,) = json.loads(capsys.readouterr().out)["groups"]
    more = ["--replicates", "r?", "r1", "--replicate-method", "jackknife", "--json"]
    assert main([*reports, "--weight", "w", *more]) == 0
    (found,) = json.loads(capsys.readouterr().out)["groups"]
    with open("r.csv", encoding="utf-8", newline="") as stream:
        records = list(csv.DictReader(stream))
    squares = np.zeros(len(found["estimates"]))
    for place in range(3):
        with open("third.csv", "w", encoding="utf-8", newline="") as stream:
            left = csv.DictWriter(stream, records[0])
            left.writeheader()
            left.writerows(row for row in records if float(row[f"r{place + 1}"]) > 0)
        assert main([*reports[:-1], "third.csv", "--weight", "w", "--json"]) == 0
        (third,) = json.loads(capsys.readouterr().out)["groups"]
        squares += [
            (one["estimate"] - row["estimate"]) ** 2
            for one, row in zip(third["estimates"], found["estimates"], strict=True)
        ]
    for row, other, square in zip(found["estimates"], linear["estimates"], squares, strict=True):
        assert row["estimate"] == pytest.approx(other["estimate"])
        assert row["error"] == pytest.approx(math.sqrt(2 / 3 * square))


def test_a_group_that_a_replicate_lacks_is_named(reports, capsys):
    more = ["--weight", "w", "--replicates", "r?", "--replicate-method", "jackknife", "--by", "alone"]
    assert main([*reports, *more]) == 0
    assert "alone = True has no weight in 1 of the replicates" in " ".join(capsys.readouterr().err.split())


REPLICATES = ["--weight", "w", "--replicate-method", "brr", "--replicates"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--weight", "region"], "weights are numbers above 0"),
        (["--weight", "nothing"], "'nothing' is not in r.csv"),
        (["--strata", "alone"], "each needs at least two"),
        (["--weight", "w", "--plot", "p.png"], "--plot does not go with --weight"),
        (["--by", "region", "--simultaneous"], "does not go with --weight"),
        (["--weight", "w", "--replicates", "r?"], "must be given together"),
        (["--replicates", "r?", "--replicate-method", "brr"], "must be given together"),
        ([*REPLICATES, "r?", "--strata", "stratum"], "without --strata"),
        ([*REPLICATES, "r1", "r9"], "No column of r.csv is called 'r9'"),
        ([*REPLICATES, "r1", "w"], "1 columns of r.csv are replicate weights"),
        ([*REPLICATES, "r?", "al*"], "has 'True' in the column 'alone'"),
        ([*REPLICATES, "r?", "zero"], "The replicate weights in the column 'zero' of r.csv add up to 0"),
        ([*REPLICATES, "r?", "--cluster", "village"], "without --strata or --cluster"),
        (["--cluster", "zero"], "The sample has one cluster"),
        (["--cluster", "empty"], "Row 1 of r.csv has nothing in the column 'empty'"),
    ],
)
def test_what_does_not_fit_is_refused(reports, capsys, more, words):
    assert main([*reports, *more]) == 2
    assert words in capsys.readouterr().err
