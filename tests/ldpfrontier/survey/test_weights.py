"""Survey weights are no people: no confidence is drawn from them."""

import numpy as np
import pytest

from ldpfrontier.survey import count_records, design_channel, read_channel
from ldpfrontier.survey.cli import main
from ldpfrontier.uncertainty.odds_ratios import OddsRatios

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
    assert design("--table", "totals.csv") == 2
    assert "Did you mean 'perwt', as in --weight perwt?" in capsys.readouterr().err
    for against in ("outsider", "acquaintance"):
        more = ["--weight", "perwt", "--records", "900", "--against", against]
        assert design("--table", "totals.csv", *more) == 2
        assert "or with weights, only protection against anyone or" in capsys.readouterr().err


def test_weights_give_the_shares_alone(survey, capsys):
    for table in (
        count_records("people.csv", ["ill"], ["region"], weight="perwt"),
        count_records("totals.csv", ["ill"], ["region"], weight="perwt"),
    ):
        assert not table.counted
        assert table.distribution.ravel() == pytest.approx(survey, abs=1e-5)
        made = design_channel(table, 1.0, mechanisms=["grr"], records=900)
        assert (made.against, made.population) == ("anyone", None)
    assert design("--data", "people.csv", "--weight", "perwt", "--records", "900", "--details") == 0
    said = capsys.readouterr().out
    assert "Weighted shares of people.csv, from an unknown number of people" in said
    assert "The shares of people.csv are treated as public" in " ".join(said.split())
    assert read_channel("channel.json").table.distribution.ravel() == pytest.approx(survey, abs=1e-5)
    assert main(["audit", "--channel", "channel.json"]) == 0
    assert design("--data", "people.csv", "--weight", "perwt") == 2
    assert "the number of records is needed (--records)" in capsys.readouterr().err


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
    path.write_text("s,count\na,1819313085\nb,1819313086\n")
    said = []
    count_records(path, ["s"], remark=said.append, count="count")
    assert len(said) == 1
    assert "3,638,626,171 people" in said[0]
    assert "--weight" in said[0]
