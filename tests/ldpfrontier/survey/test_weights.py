"""Survey weights are no people: how sure their shares are, and that nothing else is promised of them."""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from ldpfrontier import OddsRatios
from ldpfrontier.survey import CountTable, count_records, design_channel, read_channel
from ldpfrontier.survey.attackers import population_of
from ldpfrontier.survey.channel_file import ChannelFileError, content_digest
from ldpfrontier.survey.cli import main
from ldpfrontier.survey.weights import effective_people, stated_people

CELLS = [("no", "north"), ("no", "south"), ("yes", "north"), ("yes", "south")]
TRUTH = np.array([0.45, 0.3, 0.1, 0.15])


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """400 people, who stand for 100,000, as records and as totals of their weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    answers, weights = rng.choice(4, 400, p=TRUTH), 250 * rng.lognormal(0, 0.7, 400)
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
    assert "Weighted shares of totals.csv, from an unknown number of people" in said
    assert "It contains these shares, which are public then." in " ".join(said.split())
    assert read_channel("channel.json").table.distribution.ravel() == pytest.approx(survey, abs=1e-5)
    assert main(["audit", "--channel", "channel.json"]) == 0
    assert design("--table", "totals.csv", "--weight", "perwt") == 2
    assert "the number of records is needed (--records)" in capsys.readouterr().err


def summed(cells, weights):
    """Return the weighted table of people, 2 x (cells / 2), as `count_records` makes it of their file."""
    sums, squares = np.bincount(cells, weights, cells.max() + 1), np.bincount(cells, weights**2)
    sure = effective_people(dict(enumerate(sums)), dict(enumerate(squares)))
    counts = np.rint(sums / sums.sum() * 1e6).astype(int).reshape(2, -1)
    names = [tuple((str(x),) for x in range(size)) for size in counts.shape]
    return CountTable(("s",), ("u",), *names, counts, counted=False, effective=sure)


def test_no_share_is_less_sure_than_that_of_so_many_people():
    """By the covariance matrix of all shares, from the residual of every person."""
    rng, close = np.random.default_rng(0), []
    for _ in range(20):
        cells, weights = rng.choice(6, 500), rng.lognormal(0, rng.uniform(0, 1.5), 500)
        weights *= rng.uniform(0.1, 1.0, 6)[cells]
        sure, p = summed(cells, weights).effective, np.bincount(cells, weights) / weights.sum()
        residuals = weights[:, None] * (np.eye(6)[cells] - p) / weights.sum()
        most = np.linalg.eigvals(np.linalg.pinv(np.diag(p) - np.outer(p, p)) @ residuals.T @ residuals)
        assert most.real.max() <= (1.0 + 1e-9) / sure
        assert 1.0 <= sure <= weights.sum() ** 2 / (weights**2).sum() * (1.0 + 1e-9)
        close.append(most.real.max() * sure)
    assert np.median(close) > 0.8
    assert summed(cells, np.full(500, 7.0)).effective == pytest.approx(500.0)
    assert effective_people({"a": 3.0, "b": 0.0}, {"a": 9.0, "b": 0.0}) == 1.0


@pytest.mark.parametrize("effect", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("depends", [False, True])
def test_odds_ratios_and_f_of_weighted_tables_cover(depends, effect, long):
    """With weights that depend on the cell, an overall design effect would be too small."""
    times, n, shares = 400 if long else 60, 1_000, np.array([0.30, 0.25, 0.15, 0.06, 0.09, 0.15])
    rng, known = np.random.default_rng(round(effect)), OddsRatios.known(shares.reshape(2, 3))
    # Of weights 1 and r on a share of people or on the cells of one value of S: 2 and 4 by Kish.
    q, r = {1.0: (0.5, 1.0), 2.0: (0.2, 6.0), 4.0: (0.1, 15.0)}[effect]
    mean = np.where(np.arange(6) < 3, 1.0, r if depends else 1.0)
    drawn = shares / mean / (shares / mean).sum()
    covered = np.zeros(3)
    for _ in range(times):
        cells = rng.choice(6, n, p=drawn)
        weights = mean[cells] if depends else np.where(rng.random(n) < q, r, 1.0)
        table = summed(cells, weights)
        around = population_of(table)
        kish = weights.sum() ** 2 / (weights**2).sum()
        overall = OddsRatios.confidence(table.counts, 0.05, "bonferroni", effective=kish)
        covered += (
            around.odds(table).contains(known),
            around.ball(table).contains(shares.reshape(2, 3)),
            overall.contains(known),
        )
    assert covered[:2].min() / times >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)
    assert covered[2] <= covered[0]
    if depends and effect > 1.0:
        assert covered[2] / times < 0.94


def test_a_design_rests_on_the_weights_of_people(survey, capsys):
    table = count_records("people.csv", ["ill"], ["region"], weight="perwt")
    words = (line.split(",") for line in Path("people.csv").read_text(encoding="utf-8").splitlines()[1:])
    cells, weights = zip(*((CELLS.index((s, u)), float(w)) for s, u, w in words), strict=True)
    assert table.effective == pytest.approx(summed(np.array(cells), np.array(weights)).effective)
    assert 100 < table.effective < 300
    more = ["--weight", "perwt", "--records", "900", "--for", "information", "--force", "--json", "--against"]
    for against, name, what in (
        ("acquaintance", "association", "in their normal intervals"), ("outsider", "exact", "in F"),
    ):  # fmt: skip
        assert design("--data", "people.csv", *more, against, "--mechanism", name) == 0
        promise = json.loads(capsys.readouterr().out)["promise"]
        assert what in promise
        weighted = f", by weighted shares that count for {table.effective:,.0f} people"
        assert re.search(rf"\(confidence [^()]*{weighted}\)", promise)
        private = read_channel("channel.json")
        assert private.table.effective == table.effective
        assert main(["audit", "--channel", "channel.json"]) == 0
        assert main(["verify", "channel.certificate.json"]) == 0
        capsys.readouterr()
    assert design("--data", "people.csv", *more, "outsider", "--confidence-method", "finite") == 2
    assert 'The method "finite" is for counts of samples' in capsys.readouterr().err


def test_the_design_effect_may_be_stated(survey, capsys):
    """Of totals it is all that is known; of people, clusters may make it larger than weights tell."""
    stated = ["--weight", "perwt", "--records", "900", "--people", "400", "--design-effect"]
    alone = count_records("people.csv", ["ill"], ["region"], weight="perwt").effective
    for file, effect, sure in (
        ("totals.csv", 1.6, 250.0), ("people.csv", 8, 50.0), ("people.csv", 1.0, alone),
    ):  # fmt: skip
        option = "--data" if file == "people.csv" else "--table"
        assert design(option, file, *stated, str(effect), "--force") == 0
        assert read_channel("channel.json").table.effective == pytest.approx(sure)
        assert f"count for {sure:,.0f} people of equal weights" in " ".join(capsys.readouterr().out.split())
    assert design("--table", "totals.csv", *stated[:-1]) == 2
    assert "--people and --design-effect must be given together" in capsys.readouterr().err
    for wrong in (0.5, 401.0, math.nan):
        with pytest.raises(ValueError, match="at least 1, and at most the number of people"):
            stated_people(400.0, wrong)
    with pytest.raises(SystemExit):
        design("--table", "totals.csv", "--people", "400", "--design-effect", "2")
    assert "need --weight" in capsys.readouterr().err


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
