"""Logistic regression with randomized variables, against statsmodels, simulation and the likelihood."""

import csv
import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from ldpsurvey.command.cli import main
from ldpsurvey.estimate.regression import covariates, randomized_logit
from support.grids import few

ILL = [("no",), ("yes",)]
FORCED = np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]])


def drawn(n, rng, coefficients=(-0.5, 0.8, -0.4)):
    """Return covariates, values of a logit, and reports of a forced response."""
    data = pd.DataFrame({"age": rng.normal(45, 15, n), "region": rng.choice(["north", "south"], n)})
    eta = coefficients[0] + coefficients[1] * (data["age"] - 45) / 15
    eta += coefficients[2] * (data["region"] == "south")
    truth = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return data, truth, (rng.random(n) < FORCED[truth, 1]).astype(int)


def test_without_randomization_it_is_the_logit_of_statsmodels():
    data, truth, _ = drawn(800, np.random.default_rng(0))
    found = randomized_logit("ill ~ age + region", data, truth, np.eye(2), ["ill"], ILL)
    x = sm.add_constant(pd.get_dummies(data, drop_first=True, dtype=float))
    other = sm.Logit(truth, x).fit(disp=0)
    assert found.names == ("Intercept", "age", "region[T.south]")
    assert found.params == pytest.approx(other.params.to_numpy(), rel=1e-6)
    assert found.bse == pytest.approx(other.bse.to_numpy(), rel=1e-5)
    assert found.pvalues == pytest.approx(other.pvalues.to_numpy(), rel=1e-4)
    assert found.conf_int() == pytest.approx(other.conf_int().to_numpy(), rel=1e-5)
    assert found.llf == pytest.approx(other.llf)


def test_without_randomization_several_values_are_those_of_statsmodels():
    rng = np.random.default_rng(1)
    data, truth, _ = drawn(900, rng)
    values = np.where(rng.random(900) < 0.3, 2, truth)
    found = randomized_logit("vote ~ age", data, values, np.eye(3), ["vote"], [("a",), ("b",), ("c",)])
    other = sm.MNLogit(values, sm.add_constant(data[["age"]])).fit(disp=0)
    assert found.names == ("b: Intercept", "b: age", "c: Intercept", "c: age")
    assert found.params == pytest.approx(other.params.to_numpy().T.ravel(), rel=1e-5, abs=1e-6)
    assert found.bse == pytest.approx(other.bse.to_numpy().T.ravel(), rel=1e-4)


def test_without_randomization_a_predictor_is_one_of_statsmodels():
    rng = np.random.default_rng(2)
    data, truth, _ = drawn(900, rng)
    data["votes"] = np.where(rng.random(900) < 1 / (1 + np.exp(0.4 - 0.9 * truth)), "yes", "no")
    found = randomized_logit("votes ~ ill * age", data, truth, np.eye(2), ["ill"], ILL)
    x = np.column_stack([np.ones(900), truth, data["age"], truth * data["age"]])
    other = sm.Logit((data["votes"] == "yes").astype(int).to_numpy(), x).fit(disp=0)
    assert found.names == ("Intercept", "ill[T.yes]", "age", "ill[T.yes]:age")
    assert found.params == pytest.approx(other.params, rel=1e-5)
    assert found.bse == pytest.approx(other.bse, rel=1e-4)


def test_the_score_is_the_slope_of_the_likelihood_and_is_0_at_the_maximum():
    from ldpsurvey.estimate.regression import _LikelihoodFit

    rng = np.random.default_rng(3)
    data, _, reports = drawn(300, rng)
    x = np.column_stack([np.ones(300), data["age"]])
    z = (rng.random(300) < 0.5).astype(float)
    designs = [np.column_stack([x, np.full(300, float(s))]) for s in (0, 1)]
    chances = FORCED[:, reports].T
    observed = chances[:, :, None] * np.column_stack([1 - z, z])[:, None, :]
    for fit in (_LikelihoodFit(x, chances[:, None, :], [x]), _LikelihoodFit(x, observed, designs)):
        theta = rng.normal(0, 0.5, fit.size)
        slope = fit.score(theta)[1]
        for place, step in enumerate(1e-6 * np.eye(len(theta))):
            difference = (fit.score(theta + step)[0] - fit.score(theta - step)[0]) / 2e-6
            assert slope[place] == pytest.approx(difference, rel=1e-4, abs=1e-4)
    assert np.abs(fit.score(fit._maximum())[1]).max() < 1e-4


@pytest.mark.parametrize("n", few([500], more=[5_000]))
def test_intervals_cover_coefficients_of_a_randomized_outcome(n, long):
    """Of 400 repetitions with --long, else fewer; .94, less 3 standard errors."""
    rng, times, covered = np.random.default_rng(n), 400 if long else 10, []
    true = np.array([-0.5 - 0.8 * 45 / 15, 0.8 / 15, -0.4])
    for _ in range(times):
        data, _, reports = drawn(n, rng)
        found = randomized_logit("ill ~ age + region", data, reports, FORCED, ["ill"], ILL)
        low, high = found.conf_int().T
        covered.append((low <= true) & (true <= high))
    assert np.mean(covered) >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


def test_intervals_cover_the_coefficient_of_a_randomized_predictor(long):
    rng, times, covered = np.random.default_rng(0), 400 if long else 5, []
    for _ in range(times):
        data, truth, reports = drawn(2_000, rng)
        data["votes"] = (rng.random(2_000) < 1 / (1 + np.exp(0.3 - 1.0 * truth))).astype(int)
        found = randomized_logit("votes ~ ill + age + region", data, reports, FORCED, ["ill"], ILL)
        low, high = found.conf_int()[found.names.index("ill[T.yes]")]
        covered.append(low <= 1.0 <= high)
    assert np.mean(covered) >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / times)


@pytest.mark.parametrize("name", ["cov.age", "the age", "größe", "q=2", "class", "a~b"])
def test_columns_may_have_any_name(name):
    """In backticks, and with dots as R has them without."""
    data, _, reports = drawn(200, np.random.default_rng(0))
    plain = randomized_logit("ill ~ age + I(age**2)", data, reports, FORCED, ["ill"], ILL)
    other = data.rename(columns={"age": name})
    ways = [f"`{name}`", *([name] if name in ("cov.age", "größe") else [])]
    for way in ways:
        found = randomized_logit(f"ill ~ {way} + I({way}**2)", other, reports, FORCED, ["ill"], ILL)
        assert found.params == pytest.approx(plain.params, rel=1e-6)
        assert found.names[1] == name
    with pytest.raises(ValueError, match=r"'cov\.agee' of the formula is not in the data"):
        randomized_logit("ill ~ cov.agee", other, reports, FORCED, ["ill"], ILL)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("ill", "must be like"),
        ("ill ~ agge", "did you mean|'agge' of the formula is not in the data"),
        ("votes ~ age", "The outcome 'votes' is not in the data"),
        ("region ~ age", "does not name 'ill'"),
        ("age ~ ill", "it must have two"),
        ("ill ~ age +", "cannot be used"),
        ("ill ~ 0", "'0' has no terms"),
        ("ill ~ age | region", "has no terms of one model"),
        ("ill ~ age + I(2 * age)", r"is flat: .* of 'age' and 'I\(2 \* age\)'\."),
    ],
)
def test_what_cannot_be_fitted_is_refused(formula, words):
    data, _, reports = drawn(200, np.random.default_rng(0))
    with pytest.raises(ValueError, match=words):
        randomized_logit(formula, data, reports, FORCED, ["ill"], ILL)


def test_the_command_regresses_on_what_apply_wrote(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, truth, _ = drawn(3_000, np.random.default_rng(5))
    with open("people.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["ill", "age", "region"])
        writer.writerows(zip(np.where(truth, "yes", "no"), data["age"].round(2), data["region"], strict=True))
    assert main(["channel", "--values", "ill=no,yes", "--design", "warner", "--p", "4/5", "--quiet"]) == 0
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]
    assert main([*apply, "--keep", "age", "region", "--seed", "1", "--insecure"]) == 0
    capsys.readouterr()
    regress = ["regress", "--channel", "channel.json", "--data", "r.csv", "--formula", "ill ~ age + region"]
    assert main([*regress, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["Intercept", "age", "region[T.south]"]
    assert found["low"][1] <= 0.8 / 15 <= found["high"][1]
    assert main(regress) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    assert main([*regress[:-1], "ill ~ nothing"]) == 2
    assert "'nothing' of the formula is not in the data" in capsys.readouterr().err


@pytest.fixture
def reported(tmp_path, monkeypatch, capsys):
    """Return a call of the command, and a function that writes the records of its data."""
    monkeypatch.chdir(tmp_path)
    more = ["--reports", "None", "null", "--quiet"]
    assert main(["channel", "--values", "ill=no,yes", "--design", "warner", "--p", "4/5", *more]) == 0

    def write(times=1, change=lambda record: record):
        data, truth, _ = drawn(300, np.random.default_rng(6))
        rows = []
        for place, (age, region) in enumerate(zip(data["age"].round(2), data["region"], strict=True)):
            yes = (place % 5 > 0) == truth[place]  # as with the probability 4/5
            record = {"id": f"p{place}", "report": ["None", "null"][int(yes)], "age": age, "region": region}
            rows += [change({**record, "vote": ["a", "b"][place % 2]})] * times
        pd.DataFrame(rows).to_csv("r.csv", index=False)

    write()
    return ["regress", "--channel", "channel.json", "--data", "r.csv", "--json", "--formula"], write


def test_reports_may_have_names_that_pandas_takes_for_missing(reported, capsys):
    words, write = reported
    assert main([*words, "ill ~ age"]) == 0
    assert json.loads(capsys.readouterr().out)["nobs"] == 300
    write(change=lambda record: {**record, "report": "" if record["id"] == "p7" else record["report"]})
    assert main([*words, "ill ~ age"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["nobs"] == 299
    assert "1 of 300 records of r.csv have no report, and were left out" in said.err


def test_a_regression_counts_each_person_once(reported, capsys):
    words, write = reported
    assert main([*words, "ill ~ age"]) == 0
    once = json.loads(capsys.readouterr().out)
    write(times=5)
    assert main([*words, "ill ~ age"]) == 2
    assert "1,200 of them repeat a value of its column 'id'" in capsys.readouterr().err
    assert main([*words, "ill ~ age", "--id", "id"]) == 0
    assert json.loads(capsys.readouterr().out) == once


@pytest.mark.parametrize(
    ("formula", "changes", "more", "words"),
    [
        ("ill ~ age", {}, ["--confidence", "95"], "must lie strictly between 0 and 1"),
        ("vote ~ ill", {"vote": ""}, [], "The column 'vote' has '', which may stand for a missing value"),
        ("ill ~ region", {"region": "NA"}, [], "The column 'region' has 'NA', which may"),
        ("ill ~ np.log(age)", {"age": 0.0}, [], "The term 'np.log(age)' of the formula is no finite number"),
        ("ill ~ age +", {}, [], "The formula 'age +' cannot be used"),
        ("vote ~ ill +", {}, [], "The formula 'ill +' cannot be used"),
    ],
)
def test_what_the_command_cannot_fit_is_refused(reported, capsys, formula, changes, more, words):
    call, write = reported
    write(change=lambda record: {**record, **(changes if record["id"] == "p7" else {})})
    assert main([*call, formula, *more]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "x1b" not in said.err
    assert "\x1b" not in said.err


def test_missing_values_of_an_outcome_are_refused():
    data, _, reports = drawn(200, np.random.default_rng(0))
    data["votes"] = ["a", "b", *[None] * 198]
    with pytest.raises(ValueError, match="'votes' has missing values"):
        randomized_logit("votes ~ ill", data, reports, FORCED, ["ill"], ILL)


def test_the_order_of_categories_is_kept():
    texts = pd.DataFrame({
        "age": pd.Categorical(["old", "young", "old"], categories=["young", "middle", "old"], ordered=True),
        "plain": ["b", "a", "b"], "y": ["0", "1", "0"],
    })  # fmt: skip
    found = covariates("y ~ age + plain", texts, [])
    assert list(found["age"].cat.categories) == ["young", "old"]
    assert list(found["plain"].cat.categories) == ["a", "b"]
