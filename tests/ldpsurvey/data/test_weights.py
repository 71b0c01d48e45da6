"""Weights are no people, and clusters no single ones: how sure shares are, and what is promised of them."""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpfrontier import OddsRatios, RenyiBall
from ldpsurvey import CountTable, count_records, design_channel, read_channel
from ldpsurvey.channel.attackers import population_of
from ldpsurvey.channel.channel_file import ChannelFileError, content_digest
from ldpsurvey.command.cli import main
from ldpsurvey.data.weights import (
    Evidence,
    clusters_of,
    effective_people,
    people_of_clusters,
    stated_people,
)

CELLS = [("no", "north"), ("no", "south"), ("yes", "north"), ("yes", "south")]
TRUTH = np.array([0.45, 0.3, 0.1, 0.15])


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """2,000 people, who stand for 500,000, as records and as totals of their weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    answers, weights = rng.choice(4, 2_000, p=TRUTH), 250 * rng.lognormal(0, 0.7, 2_000)
    rows = [f"{','.join(CELLS[x])},{w:.3f}\n" for x, w in zip(answers, weights, strict=True)]
    (tmp_path / "people.csv").write_text("ill,region,perwt\n" + "".join(rows))
    totals = np.bincount(answers, weights)
    rows = [f"{','.join(cell)},{w:.0f}\n" for cell, w in zip(CELLS, totals, strict=True)]
    (tmp_path / "totals.csv").write_text("ill,region,perwt\n" + "".join(rows))
    return totals / totals.sum()


def design(*more):
    words = "design --sensitive ill --useful region --epsilon 1 --mechanism grr"
    return main([*words.split(), *more])


def test_totals_of_weights_are_not_taken_for_people(survey, capsys):
    """What would be lost: intervals of an odds ratio from such totals, of which 95% should have the truth."""
    rng, held, known = np.random.default_rng(1), 0, OddsRatios.known(TRUTH.reshape(2, 2))
    for _ in range(40):
        answers, weights = rng.choice(4, 400, p=TRUTH), 250 * rng.lognormal(0, 0.7, 400)
        totals = np.bincount(answers, weights).round().astype(int).reshape(2, 2)
        held += OddsRatios.confidence(totals, 0.05).contains(known)
    assert held < 20

    assert design("--table", "totals.csv", "--count", "perwt") == 2
    assert "has the name of weights, which do not tell how many people were asked" in capsys.readouterr().err
    for against in ("outsider", "acquaintance"):
        more = ["--weight", "perwt", "--records", "900", "--against", against]
        assert design("--table", "totals.csv", *more) == 2
        assert "tells how sure its weighted shares are" in capsys.readouterr().err


def test_totals_give_the_shares_alone(survey, capsys):
    table = count_records("totals.csv", ["ill"], ["region"], weight="perwt", totals=True)
    assert (table.counted, table.sampled) == (False, False)
    assert table.distribution.ravel() == pytest.approx(survey, abs=1e-5)
    made = design_channel(table, 1.0, mechanisms=["grr"], records=900)
    assert (made.against, made.population) == ("anyone", None)
    assert design("--table", "totals.csv", "--weight", "perwt", "--records", "900", "--details") == 0
    said = capsys.readouterr().out
    assert "Shares of totals.csv, from an unknown number of people" in said
    assert "It contains these shares, which are public then." in " ".join(said.split())
    assert read_channel("channel.json").table.distribution.ravel() == pytest.approx(survey, abs=1e-5)
    assert main(["audit", "--channel", "channel.json"]) == 0
    assert design("--table", "totals.csv", "--weight", "perwt", "--force") == 2
    assert "--records N is needed" in capsys.readouterr().err


def sampled(cells, shape, weights=None, clusters=()):
    """Return the table of people, as `count_records` makes it of their file."""
    people = Evidence()
    given = np.ones(len(cells)) if weights is None else weights
    people.add(cells.tolist(), given.tolist(), list(clusters))
    sure = people.sureness(str, weighted=weights is not None, persons=True)
    counts = np.rint(np.bincount(cells, given, math.prod(shape)) / given.sum() * 1e6).astype(int)
    names = [tuple((str(x),) for x in range(size)) for size in shape]
    return CountTable(
        ("s",), ("u",), *names, counts.reshape(shape), counted=False,
        effective=sure.people, freedom=sure.freedom, doubt=sure.doubt,
    )  # fmt: skip


def covariance(totals):
    """Return the shares of cells, and their covariance matrix from the residual of every cluster."""
    p, m = totals.sum(axis=0) / totals.sum(), len(totals)
    residuals = [(of_cluster - p * of_cluster.sum()) / totals.sum() for of_cluster in totals]
    return p, m / (m - 1) * sum(np.outer(z, z) for z in residuals)


def most_effect(p, V):
    """Return the largest generalized design effect of a covariance matrix, for one person."""
    return np.linalg.eigvals(np.linalg.pinv(np.diag(p) - np.outer(p, p)) @ V).real.max()


def test_no_share_is_less_sure_than_that_of_so_many_people():
    """By the covariance matrix of all shares, from the residual of every person."""
    rng, close = np.random.default_rng(0), []
    for _ in range(20):
        cells, weights = rng.choice(6, 500), rng.lognormal(0, rng.uniform(0, 1.5), 500)
        weights *= rng.uniform(0.1, 1.0, 6)[cells]
        sums, squares = np.bincount(cells, weights), np.bincount(cells, weights**2)
        sure = effective_people(dict(enumerate(sums)), dict(enumerate(squares)))
        p, V = covariance(weights[:, None] * np.eye(6)[cells])
        assert most_effect(p, V) <= (1.0 + 1e-9) * 500 / 499 / sure
        assert 1.0 <= sure <= weights.sum() ** 2 / (weights**2).sum() * (1.0 + 1e-9)
        close.append(most_effect(p, V) * sure)
    assert np.median(close) > 0.8
    assert sampled(cells, (2, 3), np.full(500, 7.0)).effective == pytest.approx(500.0)
    assert effective_people({"a": 3.0, "b": 0.0}, {"a": 9.0, "b": 0.0}) == 1.0


def test_clusters_count_by_their_largest_generalized_effect():
    rng = np.random.default_rng(4)
    for m, k in ((40, 6), (200, 4), (3, 5)):
        totals = rng.poisson(2.0, (m, k)) * rng.lognormal(0, 1, (m, 1)) + np.eye(m, k)
        assert people_of_clusters(totals) == pytest.approx(max(1.0 / most_effect(*covariance(totals)), 1.0))
    # A coin per cluster of 20 decides which of two cells, of which each margin has one: an effect of 20 for
    # the odds ratio, of 7.33 for each share and of 1 for each margin.
    people = [people_of_clusters(coins(rng, 400, 20)) for _ in range(5)]
    assert 400 * 20 / np.mean(people) == pytest.approx(20.0, rel=0.1)
    assert people_of_clusters(np.ones((1, 4))) == 1.0


def coins(rng, clusters, size):
    """Return the counts of people over clusters and four cells; each cluster is in two opposite ones."""
    some, first = rng.binomial(size, 0.5, clusters), rng.random(clusters) < 0.5
    zero = np.zeros(clusters, dtype=int)
    return np.where(first, [some, zero, zero, size - some], [zero, some, size - some, zero]).T


FOUR = np.array([0.6, 0.3, 0.08, 0.02])


@pytest.mark.parametrize(
    ("share", "weight", "people"),
    [(0.05, 30.0, 1_000), (0.1, 15.0, 1_000), (0.2, 8.0, 1_000), (0.05, 30.0, 2_000)],
)
def test_a_table_in_which_a_few_weights_decide_is_refused(share, weight, people):
    """A sample that lacks the few people of large weights would lead astray, and does not show that."""
    rng, wrong = np.random.default_rng(people), 0
    truth = FOUR * np.where(np.arange(4) == 3, 1.0 + share * (weight - 1.0), 1.0)
    truth = (truth / truth.sum()).reshape(2, 2)
    for _ in range(40):
        cells = rng.choice(4, people, p=FOUR)
        weights = np.where((cells == 3) & (rng.random(people) < share), weight, 1.0)
        wrong += not held(sampled(cells, (2, 2), weights), truth)
    assert wrong <= 4


def held(table, truth):
    """Tell whether intervals and F contain a distribution, or no promise rests on the table."""
    if table.doubt:
        assert not table.sampled
        return True
    around = population_of(table)
    return around.odds(table).contains(OddsRatios.known(truth)) and bool(around.ball(table).contains(truth))


def of_weights(rng):
    cells = rng.choice(6, 2_000, p=SIX)
    return cells, rng.lognormal(0, 0.4, 2_000), ()


def of_clusters(rng):
    chances = rng.dirichlet(6.0 * SIX, 250).cumsum(axis=1)
    return (
        (rng.random((250, 8, 1)) > chances[:, None, :-1]).sum(axis=2).ravel(),
        None,
        np.repeat(np.arange(250), 8),
    )


def of_both(rng):
    cells, _, clusters = of_clusters(rng)
    return cells, rng.lognormal(0, 0.3, cells.size), clusters


SIX = np.array([0.30, 0.25, 0.15, 0.10, 0.10, 0.10])


@pytest.mark.parametrize("drawn", [of_weights, of_clusters, of_both])
def test_odds_ratios_and_f_of_weighted_and_clustered_tables_cover(drawn, long):
    times, rng = 400 if long else 40, np.random.default_rng(7)
    tables = [
        sampled(cells, (2, 3), weights, clusters)
        for cells, weights, clusters in (drawn(rng) for _ in range(times))
    ]
    assert sum(table.sampled for table in tables) > 0.9 * times
    assert np.mean([held(table, SIX.reshape(2, 3)) for table in tables]) >= 0.93 - 2.0 * math.sqrt(
        0.07 / times
    )


def test_odds_ratios_and_f_cover_where_a_coin_decides_for_a_cluster():
    """The largest design effect of a share, 7.33, would have them cover in 80% and 93%, too few."""
    rng, truth, times = np.random.default_rng(5), np.full((2, 2), 0.25), 200
    known, found = OddsRatios.known(truth), np.zeros(2)
    for _ in range(times):
        totals = coins(rng, 100, 20)
        counts = totals.sum(axis=0).reshape(2, 2)
        sure = {"effective": people_of_clusters(totals), "freedom": 45.0}
        found[0] += OddsRatios.confidence(counts, 0.05, "bonferroni", **sure).contains(known)
        found[1] += RenyiBall.confidence(counts, 0.05, **sure).contains(truth)
    assert found.min() / times >= 0.94 - 2.0 * math.sqrt(0.06 / times)


@pytest.fixture
def villages(tmp_path, monkeypatch):
    """2,000 people in 100 villages, and totals of them."""
    monkeypatch.chdir(tmp_path)
    totals = coins(np.random.default_rng(2), 100, 20)
    rows = [f"{','.join(CELLS[k])},v{c}\n" * n for c, of in enumerate(totals) for k, n in enumerate(of)]
    (tmp_path / "people.csv").write_text("ill,region,village\n" + "".join(rows))
    rows = [f"{','.join(CELLS[k])},v{c},{n}\n" for c, of in enumerate(totals) for k, n in enumerate(of)]
    (tmp_path / "counts.csv").write_text("ill,region,village,count\n" + "".join(rows))
    return totals


def test_a_design_rests_on_clusters(villages, capsys):
    sure = people_of_clusters(villages)
    more = ["--cluster", "village", "--records", "900", "--for", "information", "--force", "--details"]
    exact = ["--against", "outsider", "--mechanism", "exact"]
    for option, file, only in (("--table", "counts.csv", []), ("--data", "people.csv", exact)):
        assert design(option, file, *more, *only) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"which count for {sure:,.0f} people drawn at random" in said
        private = read_channel("channel.json")
        assert private.table.effective == pytest.approx(sure)
        assert private.table.counts.tolist() == villages.sum(axis=0).reshape(2, 2).tolist()
    assert f"as if {sure:,.0f} people had been drawn at random" in said
    assert private.levels().outsider <= 1.0
    Path("people.csv").write_text("ill,region,village\nno,north,v1\nno,south, \n", encoding="utf-8")
    assert design("--data", "people.csv", *more) == 2
    assert "Row 2 of people.csv has nothing in the column 'village'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("people", "answer", "said"),
    [
        ("south,yes,1,v{}", 49, "48 people with 'yes, south'. With one more of the largest weight, 1, they"),
        ("south,yes,1,v{}", 1, "nobody with 'yes, south'; each combination of values needs people"),
        (
            "south,yes,1,v1",
            200,
            "people with 'yes, south' in 1 cluster. With one more, as large as the largest and all of it of",
        ),
        ("south,yes,1,v{}\nsouth,,9,v0", 50, None),
    ],
)
def test_a_promise_says_why_it_cannot_rest_on_a_sample(people, answer, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{u},{s},1,v{i}" for u, s in [("north", "no"), ("south", "no"), ("north", "yes")] for i in range(200)
    ]
    rows += [people.format(i) for i in range(1, answer)]
    (tmp_path / "in.csv").write_text("region,ill,w,v\n" + "\n".join(rows) + "\n")
    more = ["--data", "in.csv", "--weight", "w", "--cluster", "v", "--missing", "drop", "--records", "900"]
    more += ["--values", "ill=no,yes", "region=north,south"]
    if said is None:
        assert design(*more) == 0
        return
    for against in ([], ["--against", "acquaintance"], ["--against", "outsider"]):
        assert design(*more, *against) == 2
        found = capsys.readouterr().err
        assert said in found
        assert "merge values into groups, or take --against anyone or insider-only" in found
    for against in ("anyone", "insider-only"):
        assert design(*more, "--against", against, "--force") == 0
        assert read_channel("channel.json").certificate.population is None


def test_a_design_rests_on_the_weights_of_people(survey, capsys):
    table = count_records("people.csv", ["ill"], ["region"], weight="perwt")
    words = (line.split(",") for line in Path("people.csv").read_text(encoding="utf-8").splitlines()[1:])
    cells, weights = zip(*((CELLS.index((s, u)), float(w)) for s, u, w in words), strict=True)
    assert table.effective == pytest.approx(sampled(np.array(cells), (2, 2), np.array(weights)).effective)
    assert 500 < table.effective < 1_500
    assert 50 < table.freedom < 200
    more = ["--weight", "perwt", "--records", "900", "--for", "information", "--force", "--json", "--against"]
    for against, name, what in (
        ("acquaintance", "association", "in their normal intervals"), ("outsider", "exact", "in F"),
    ):  # fmt: skip
        assert design("--data", "people.csv", *more, against, "--mechanism", name) == 0
        promise = json.loads(capsys.readouterr().out)["promise"]
        assert what in promise
        weighted = f", as if {table.effective:,.0f} people had been drawn at random"
        assert re.search(rf"\(confidence [^()]*{weighted}\)", promise)
        private = read_channel("channel.json")
        assert (private.table.effective, private.table.freedom) == (table.effective, table.freedom)
        assert main(["audit", "--channel", "channel.json"]) == 0
        assert main(["verify", "channel.certificate.json"]) == 0
        capsys.readouterr()
    assert design("--data", "people.csv", *more, "outsider", "--confidence-method", "finite") == 2
    assert 'The method "finite" is for counts of samples' in capsys.readouterr().err


def test_the_design_effect_may_be_stated(survey, capsys):
    """Of totals it is all that is known; of people, clusters may make it larger than weights tell."""
    stated = ["--weight", "perwt", "--records", "900", "--people", "2000", "--design-effect"]
    alone = count_records("people.csv", ["ill"], ["region"], weight="perwt").effective
    for file, effect, sure in (
        ("totals.csv", 1.6, 1250.0), ("people.csv", 8, 250.0), ("people.csv", 1.0, alone),
    ):  # fmt: skip
        option = "--data" if file == "people.csv" else "--table"
        assert design(option, file, *stated, str(effect), "--force") == 0
        assert read_channel("channel.json").table.effective == pytest.approx(sure)
        assert f"count for {sure:,.0f} people drawn at random" in " ".join(capsys.readouterr().out.split())
    assert design("--table", "totals.csv", *stated[:-1], "--force") == 2
    assert "--people and --design-effect must be given together" in capsys.readouterr().err
    for wrong in (0.5, 401.0, math.nan):
        with pytest.raises(ValueError, match="at least 1, and at most the number of people"):
            stated_people(400.0, wrong)
    with pytest.raises(SystemExit):
        design("--table", "totals.csv", "--people", "400", "--design-effect", "2")
    assert "--people has no effect without --weight" in capsys.readouterr().err


def test_a_file_with_another_number_of_people_is_refused(survey, tmp_path):
    assert design("--data", "people.csv", "--weight", "perwt", "--records", "900") == 0
    content = json.loads((tmp_path / "channel.json").read_text(encoding="utf-8"))
    del content["content_sha256"]
    for wrong in (0.5, -1.0, "300", None):
        content["design"]["effective"] = wrong
        text = json.dumps({**content, "content_sha256": content_digest(content)})
        (tmp_path / "other.json").write_text(text, encoding="utf-8")
        with pytest.raises(ChannelFileError):
            read_channel("other.json")


@pytest.mark.parametrize("weight", ["-1", "1,250", "x", ""])
def test_a_weight_is_a_number(tmp_path, weight):
    (tmp_path / "in.csv").write_text(f's,w\na,2.5\nb,"{weight}"\n')
    with pytest.raises(ValueError, match="weights must be numbers, 0 or more"):
        count_records(tmp_path / "in.csv", ["s"], weight="w")


def test_what_is_no_whole_number_and_what_is_too_much_names_the_option(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("s,count\na,2.5\nb,3\n")
    with pytest.raises(ValueError, match="name their column with --weight"):
        count_records(path, ["s"], count="count")
    for more, warned in ((0, False), (1, True)):
        path.write_text(f"s,count\na,60000\nb,{40_000 + more}\n")
        with warnings.catch_warnings(record=True) as said:
            count_records(path, ["s"], count="count")
        assert bool(said) == warned
    sentence = str(said[0].message)
    assert "the confidence is that for 100,001 people, the sum of the column 'count'." in sentence
    assert "give --weight count in the place of the counts" in sentence


@pytest.mark.parametrize("text", ["", "NA", " - "])
def test_people_whose_cluster_is_missing_are_no_cluster(text):
    texts = pd.Series(["a", text], index=[7, 8], name="village")
    with pytest.raises(ValueError, match=r"Row 8 of f.csv has .* in the column 'village'; each row needs"):
        clusters_of("f.csv", texts)
