"""Numbers of people, against textbooks, maximum likelihood at what is expected, and simulated surveys."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ldpsurvey.channel.channel_file import read_channel
from ldpsurvey.command.cli import main
from ldpsurvey.data.tables import CountTable
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.estimate.distribution import FittedReports
from ldpsurvey.estimate.people import Aim, people_needed
from ldpsurvey.estimate.rates import distances, rates_of
from ldpsurvey.estimate.regression import randomized_logit
from ldpsurvey.estimate.targets import with_expected
from support.grids import few

ILL = CountTable(
    ("ill",), ("age",), (("no",), ("yes",)), (("20",), ("40",), ("60",)), [[450, 300, 150], [30, 40, 30]]
)
P = ILL.expected


def used(table, matrix):
    """Return a channel of a table that keeps no promise."""
    values = tuple((f"{place}",) for place in range(table.counts.size))
    plain = CountTable(("cell",), (), values, ((),), np.ones((len(values), 1), dtype=int), counted=False)
    return replace(known_channel(plain, matrix), table=table)


def randomized(table, share):
    """Return the channel that keeps a share of records, and draws any value for the others."""
    size = table.counts.size
    return used(table, share * np.eye(size) + (1.0 - share) / size)


def test_without_randomization_numbers_are_those_of_textbooks():
    for one, p in zip(people_needed(used(ILL, np.eye(6)), "cells", Aim(error=0.01)), P.ravel(), strict=True):
        assert one.people == math.ceil(p * (1.0 - p) / 0.01**2)
    rates, shares = P[1] / P.sum(axis=0), P.sum(axis=0)
    found = {one.name: one for one in people_needed(used(ILL, np.eye(6)), "differences", Aim(error=0.01))}
    variance = rates[0] * (1.0 - rates[0]) / shares[0] + rates[2] * (1.0 - rates[2]) / shares[2]
    assert found["yes: 60 - 20"].people == math.ceil(variance / 0.01**2)
    assert found["yes: 60 - 20"].expected == pytest.approx(rates[2] - rates[0])
    odds = people_needed(used(ILL, np.eye(6)), "ill ~ C(age)", Aim(error=0.1))[1]
    assert odds.name == "C(age)[T.60]"
    assert odds.expected == pytest.approx(math.log(P[1, 2] * P[0, 0] / P[0, 2] / P[1, 0]))
    assert odds.people == math.ceil((1.0 / P[:, [0, 2]]).sum() / 0.1**2)


def test_warner_needs_as_many_as_his_formula_says():
    table = with_expected(table_of_values({"ill": ["no", "yes"]}, ["ill"]), ["yes=0.2"])
    design = known_channel(table, [[0.7, 0.3], [0.3, 0.7]], (), "warner")
    found = people_needed(replace(design, table=table), "cells", Aim(error=0.02))[1]
    assert found.people == pytest.approx((0.2 * 0.8 + 0.7 * 0.3 / 0.4**2) / 0.02**2, abs=1.0)


@pytest.mark.parametrize("formula", ["ill ~ age", "ill ~ C(age)", "ill ~ age + I(age**2)"])
def test_coefficients_have_the_errors_of_a_regression_on_what_is_expected(formula):
    private = randomized(ILL, 0.6)
    needed = people_needed(private, formula, Aim(error=1.0))
    # Reports that fit the formula, as many as digits are needed.
    terms = np.column_stack([np.ones(3), [20.0, 40.0, 60.0]])
    if formula == "ill ~ age":
        logit = terms @ fitted_line()
        p = np.stack([1.0 / (1.0 + np.exp(logit)), 1.0 / (1.0 + np.exp(-logit))]) * P.sum(axis=0)
    else:
        p = P
    counts = np.rint(10**5 * p.ravel() @ private.channel.matrix).astype(int)
    reports, data = np.repeat(np.arange(6), counts), pd.DataFrame(index=range(counts.sum()))
    found = randomized_logit(formula, data, reports, private.channel.matrix, ILL.attributes, ILL.labels)
    for one in needed:
        error = found.bse[found.names.index(one.name)] * math.sqrt(counts.sum())
        assert one.deviation == pytest.approx(error, rel=2e-3)


POWER, WIDTH = Aim(power=0.8), Aim(width=0.25, probability=0.9)


def fitted_line():
    """Return the coefficients of the logit of illness in age, without a library."""
    from scipy.optimize import minimize

    def worse(b):
        eta = b[0] + b[1] * np.array([2.0, 4.0, 6.0])
        return -(P[1] * eta - P.sum(axis=0) * np.logaddexp(0.0, eta)).sum()

    b = minimize(worse, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}).x
    return np.array([b[0], b[1] / 10.0])


@pytest.mark.parametrize(
    ("precise", "aim"),
    few(
        [("differences", POWER), ("ill ~ age", WIDTH), ("S", POWER), ("S", WIDTH)],
        more=[("differences", WIDTH), ("ill ~ age", POWER)],
    ),
)
def test_surveys_of_so_many_people_reach_the_aim(aim, precise, long):
    """Of 400 with --long, else 4; less 3 standard errors of the simulation."""
    times, rng = 400 if long else 4, np.random.default_rng(0)
    if precise == "ill ~ age" and aim.width is not None:
        aim = replace(aim, width=0.05)
    if precise == "S" and aim.power is not None:
        aim = replace(aim, value=0.15)
    # Rates for which the formula holds, nearly; two groups take less time.
    table = with_expected(ILL, ["20=0.1", "40=0.2", "60=0.36"])
    if precise == "differences":
        groups = replace(ILL, columns=ILL.columns[::2], counts=ILL.counts[:, ::2])
        table = with_expected(groups, ["20=0.1", "60=0.36"])
    private = randomized(table, 0.6)
    needed = people_needed(private, precise, aim)[-1]
    reached, n = [], int(needed.people)
    for _ in range(times):
        counts = rng.multinomial(n, private.table.expected.ravel() @ private.channel.matrix)
        low, high = interval(private, precise, counts, needed.name)
        reached.append(high - low <= aim.width if aim.width else not low <= aim.value <= high)
    asked = aim.power or aim.probability
    assert np.mean(reached) >= asked - 3.0 * math.sqrt(asked * (1.0 - asked) / times)
    if long:  # not many more people than needed
        assert np.mean(reached) <= asked + 3.0 * math.sqrt(asked * (1.0 - asked) / times) + 0.05


def test_small_surveys_do_not_pass_for_powerful_ones():
    """Intervals of rare answers begin at exactly 0 in small surveys; 60 surveys, less 3 standard errors."""
    rare = CountTable(("ill",), ("region",), (("no",), ("yes",)), (("n",), ("s",)), [[945, 945], [55, 55]])
    private, rng, first, missed = randomized(rare, 0.3), np.random.default_rng(1), None, []
    needed = people_needed(private, "cells", Aim(power=0.8))[-1]
    reports = rare.expected.ravel() @ private.channel.matrix
    for counts in rng.multinomial(int(needed.people), reports, size=60):
        fit = FittedReports(private, counts, first)
        first = first or fit
        missed.append(fit.distribution(0.95, simultaneous=False).of(("ill", "region"))[-1].low > 0)
    assert 0.65 <= np.mean(missed) <= 0.95


def test_distances_have_the_sign_that_intervals_say():
    private = randomized(ILL, 0.6)
    for seed in range(2):
        fit = FittedReports(private, np.random.default_rng(seed).multinomial(500, np.full(6, 1 / 6)))
        rates = rates_of(fit, 0, 0.95, simultaneous=False)
        for measure in ("rate", "difference"):
            for value in (-0.4, 0.0, 0.3, 0.6) if measure == "difference" else (0.0, 0.3, 0.6, 1.0):
                above, below = distances(fit, 0, measure, value, 0.025)
                assert [row.low > value for row in rates.of(measure)] == list(above > 0)
                assert [row.high < value for row in rates.of(measure)] == list(below > 0)


def interval(private, precise, counts, name):
    """Return an interval as the commands print it."""
    if "~" in precise:
        data = pd.DataFrame(index=range(counts.sum()))
        reports = np.repeat(np.arange(len(counts)), counts)
        matrix, table = private.channel.matrix, private.table
        found = randomized_logit(precise, data, reports, matrix, table.attributes, table.labels)
        return found.conf_int()[found.names.index(name)]
    fit = FittedReports(private, counts)
    if precise == "S":
        row = fit.distribution(0.95, simultaneous=False).of(("ill",))[1]
    else:
        rows = rates_of(fit, 0, 0.95, simultaneous=False).of("difference")
        row = next(r for r in rows if f"{r.quantity.value[0]}: {r.given[0]} - 20" == name)
    return row.low, row.high


def test_no_number_is_enough_for_what_is_not_shown_or_no_difference():
    shown = randomized(ILL, 0.6)
    hidden = replace(shown, weights=np.tile(shown.weights[:1], (6, 1)))
    assert all(math.isinf(one.people) for one in people_needed(hidden, "differences", Aim(error=0.1)))
    same = with_expected(ILL, ["20=0.1", "40=0.1", "60=0.1"])
    found = people_needed(replace(randomized(ILL, 0.6), table=same), "ill ~ age", Aim(power=0.8))
    assert all(math.isinf(one.people) for one in found)
    drawn = list[int]()
    same = replace(randomized(ILL, 0.6), table=same)
    found = people_needed(same, "differences", Aim(power=0.8), drawn.append)
    assert all(math.isinf(one.people) for one in found)
    assert not drawn


def test_values_that_no_share_has_are_refused():
    with pytest.raises(ValueError, match="never below 0 or above 1"):
        people_needed(randomized(ILL, 0.6), "cells", Aim(power=0.8, value=-0.1))


@pytest.mark.parametrize(
    ("aim", "words"),
    [
        ({}, "One of --error, --width and --power"),
        ({"error": 0.1, "width": 0.1}, "One of --error, --width and --power"),
        ({"error": 0.0}, "above 0"),
        ({"power": 1.0}, "below 1"),
        ({"width": 0.1, "probability": 0.2}, "from 0.5"),
        ({"power": 0.8, "value": math.inf}, "finite"),
        ({"error": 0.1, "confidence": 1.0}, "strictly between"),
    ],
)
def test_aims_that_are_none_are_refused(aim, words):
    with pytest.raises(ValueError, match=words):
        Aim(**aim)


def test_a_design_for_a_coefficient_goes_through_all_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{s[0]},{u[0]},{n}"
        for (s, u), n in zip([(s, u) for s in ILL.rows for u in ILL.columns], ILL.counts.ravel(), strict=True)
    ]
    (tmp_path / "t.csv").write_text("ill,age,count\n" + "\n".join(rows) + "\n", encoding="utf-8")
    people = [
        f"{s[0]},{u[0]}"
        for s in ILL.rows
        for u in ILL.columns
        for _ in range(int(ILL.counts[ILL.rows.index(s), ILL.columns.index(u)]))
    ]
    (tmp_path / "people.csv").write_text("ill,age\n" + "\n".join(people * 5) + "\n", encoding="utf-8")
    design = ["design", "--table", "t.csv", "--sensitive", "ill", "--useful", "age", "--epsilon", "2"]
    assert main([*design, "--precise", "age in ill ~ age", "--against", "anyone"]) == 0
    assert "coefficients" in capsys.readouterr().out
    needed = ["people", "--channel", "channel.json", "--precise", "ill ~ age"]
    assert main([*needed, "--error", "0.01", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["estimates"]
    assert main([*needed, "--power", "0.8"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    apply = ["apply", "--channel", "channel.json", "--data", "people.csv", "--out", "r.csv", "--quiet"]
    assert main([*apply, "--seed", "1", "--insecure"]) == 0
    capsys.readouterr()
    assert (
        main(["regress", "--channel", "channel.json", "--data", "r.csv", "--formula", "ill ~ age", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["bse"][1] == pytest.approx(one["deviation"] / math.sqrt(5_000), rel=0.25)
    assert abs(found["params"][1] - one["expected"]) < 4 * found["bse"][1]
    channel = read_channel("channel.json")
    assert main([*needed[:-1], "differences", "--power", "0.8", "--expect", "20=0.3", "80=0.1"]) == 2
    assert "'80=0.1'" in capsys.readouterr().err
    assert channel.certificate.levels.anyone <= 2.0
