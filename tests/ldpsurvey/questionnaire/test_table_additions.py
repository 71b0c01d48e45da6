"""A questionnaire is a channel like a table's: from the matrix of all its reports come the same estimates."""

import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ldpfrontier import optimal_questionnaire
from ldpsurvey.command.cli import main
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.estimate.change import estimate_change
from ldpsurvey.estimate.regression import covariates, randomized_logit
from ldpsurvey.estimate.weighted import Sample, weighted_estimates
from ldpsurvey.questionnaire.lot_reports import ReportNumbers, draw_reports, read_reports
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from ldpsurvey.questionnaire.table_changes import estimate_questionnaire_change
from ldpsurvey.questionnaire.table_estimates import estimate_questionnaire
from ldpsurvey.questionnaire.table_regression import questionnaire_logit
from support.questionnaires import report_chances

ANSWERS = (("no", "yes"), ("t", "u", "v"))
CHANNEL = sampled(optimal_questionnaire((2, 3), 1.5, 2), ("a", "b"), ANSWERS)


def listed():
    """Return the channel of the table of all combinations, whose outputs are the reports, and their texts."""
    chances = report_chances(CHANNEL.text())
    matrix = np.array([[float(p) for p in chance.values()] for chance in chances.values()]).T
    table = table_of_values(dict(zip(CHANNEL.names, ANSWERS, strict=True)), CHANNEL.names)
    return known_channel(table, matrix, tuple(chances), "listed"), list(chances)


LISTED, TEXTS = listed()


def drawn(seed, n=400):
    """Return records, the numbers of their reports among all of the channel, and a sample of the people."""
    rng = np.random.default_rng(seed)
    records = np.column_stack([rng.integers(0, 2, n), rng.choice(3, n, p=[0.2, 0.3, 0.5])])
    reports = draw_reports(CHANNEL, records, rng.bytes)
    outputs = np.array([TEXTS.index(report) for report in reports])
    weights, strata = rng.uniform(0.5, 3.0, n), rng.integers(0, 2, n)
    groups = list(rng.choice(["n", "s"], n))
    sample = Sample(outputs, weights, strata, groups)
    return reports, sample, rng


@pytest.mark.parametrize("kind", ["weights", "clusters", "replicates", "group"])
def test_weighted_estimates_are_those_of_the_table_of_all_reports(kind):
    """Estimates and standard errors agree to rounding, and intervals where no entry is below 0."""
    reports, sample, rng = drawn(0)
    n, who = len(reports), None
    if kind == "clusters":
        sample = replace(sample, clusters=rng.integers(0, 30, n))
    if kind == "replicates":
        sample = replace(sample, replicates=rng.uniform(0.0, 3.0, (20, n)), factor=0.05)
    if kind == "group":
        who = np.array(sample.groups) == "s"
    numbers = ReportNumbers()
    own = replace(sample, outputs=numbers(reports))
    some = read_reports(CHANNEL, dict.fromkeys(numbers.texts, 1))
    found = estimate_questionnaire(CHANNEL, some, rates=("a", "b"), sample=own, among=who)
    assert found.reports == n
    of_table = {row.quantity: row for row in weighted_estimates(LISTED, sample, 0.95, who)}
    assert min(row.unbiased for row in of_table.values()) > 0.0
    for row in found.entries:
        other = of_table[row.quantity]
        for name in ("estimate", "error", "low", "high"):
            assert getattr(row, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12)
    # Rates are what the shares are, and their errors those of a sum that is linear in the reports.
    shares = {row.quantity.value: row.unbiased for row in found.entries}
    assert [row.estimable for row in found.rates].count(True) > 1
    for row in (row for row in found.rates if row.estimable):
        (a,), (b,) = row.quantity.value, row.given
        assert row.unbiased == pytest.approx(shares[a, b] / shares[b,])
        assert row.low < row.estimate < row.high
    assert len(found.rates) == 6


def test_consistent_tables_of_a_small_group_have_no_entry_below_0():
    reports, sample, _ = drawn(1)
    numbers = ReportNumbers()
    own = replace(sample, outputs=numbers(reports))
    some, who = read_reports(CHANNEL, dict.fromkeys(numbers.texts, 1)), np.arange(len(reports)) < 25
    found = estimate_questionnaire(CHANNEL, some, sample=own, among=who)
    assert min(row.unbiased for row in found.entries) < 0.0
    table = {row.quantity.value: row.estimate for row in found.entries}
    for a, b in itertools.product(*ANSWERS):
        assert table[a, b] >= 0.0
        assert sum(table[a, other] for other in ANSWERS[1]) == pytest.approx(table[a,], abs=1e-6)
    for row in found.entries:
        assert row.low <= row.estimate <= row.high
    # Of one person there is no interval.
    alone = estimate_questionnaire(CHANNEL, some, sample=own, among=np.arange(len(reports)) < 1)
    assert not any(row.estimable for row in alone.entries)


def test_changes_are_those_of_the_table_of_all_reports():
    """A panel in which a third of the people are new."""
    waves = [drawn(seed, 600)[:2] for seed in (3, 4)]
    names = [[f"p{i + 200 * wave}" for i in range(600)] for wave in range(2)]
    texts, outputs = [], []
    for own, (reports, sample) in zip(names, waves, strict=True):
        texts.append(dict(zip(own, reports, strict=True)))
        outputs.append(dict(zip(own, sample.outputs.tolist(), strict=True)))
    found = estimate_questionnaire_change((CHANNEL, CHANNEL), tuple(texts))
    other = {row.quantity: row for row in estimate_change((LISTED, LISTED), tuple(outputs)).rows}
    assert found.both == 400
    for row in found.rows:
        for name in ("first", "second", "change", "low", "high", "error"):
            assert getattr(row, name) == pytest.approx(getattr(other[row.quantity], name), rel=1e-9)
    # A memo that has repeated reports shows no change.
    with pytest.raises(ValueError, match="600 of the 600 people in both waves have the same report"):
        estimate_questionnaire_change((CHANNEL, CHANNEL), (texts[0], texts[0]))


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_impossible_is_0_and_the_shares_agree(weighted):
    """Whoever says v says no: in tables, rates, changes and regressions."""
    never = replace(CHANNEL, impossible=((("a", ("yes",)), ("b", ("v",))),))
    rng = np.random.default_rng(0)
    records = np.column_stack([rng.integers(0, 2, 900), rng.integers(0, 3, 900)])
    records[records[:, 1] == 2, 0] = 0
    numbers, texts = ReportNumbers(), draw_reports(never, records, rng.bytes)
    outputs, reports = numbers.counted(never, numbers(texts))
    sample = Sample(outputs, rng.uniform(1.0, 2.0, 900), np.zeros(900, dtype=int), [""] * 900)
    found = estimate_questionnaire(never, reports, rates=("a", "b"), sample=sample if weighted else None)
    table = {row.quantity.value: row for row in found.entries}
    cell = table["yes", "v"]
    assert (cell.estimate, cell.low, cell.high) == (0.0, 0.0, 0.0)
    assert cell.error > 0.0  # of what the reports say without knowing it
    assert table["no", "v"].estimate == pytest.approx(table["v",].estimate, abs=1e-6)
    rates = {(row.quantity.value, row.given): row for row in found.rates}
    assert rates[("yes",), ("v",)].high == 0.0
    assert rates[("yes",), ("u",)].high > 0.0
    waves = tuple({f"{wave}{i}": text for i, text in enumerate(texts)} for wave in "pq")
    changes = estimate_questionnaire_change((never, never), waves)
    assert len(changes.rows) == 2 + 3 + 5
    with pytest.raises(ValueError, match="Some combinations of a, b are no values of the channel"):
        questionnaire_logit("a ~ b", pd.DataFrame(index=range(900)), never, outputs, reports)


def test_the_command_compares_two_waves(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    CHANNEL.write("channel.json")
    LISTED.write("listed.json")
    for wave in range(2):
        reports = drawn(wave)[0]
        rows = [f"{report},{place}" for place, report in enumerate(reports)]
        (tmp_path / f"r{wave}.csv").write_text("\n".join(["report,id", *rows]) + "\n", encoding="utf-8")
    change = ["change", "--data", "r0.csv", "r1.csv", "--id", "id", "--out", "c.csv", "--channel"]
    assert main([*change, "channel.json"]) == 0
    said = capsys.readouterr().out
    assert "people in both: 400" in said
    assert "no, t" not in said
    with open("c.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 + 3 + 6
    for row in rows:
        assert float(row["low"]) < float(row["change"]) < float(row["high"])
    assert main([*change, "channel.json", "listed.json"]) == 2
    assert "the channel of a questionnaire, and the other that of one table" in capsys.readouterr().err


def test_the_command_has_the_options_of_samples(tmp_path, monkeypatch, capsys):
    """As of tables: reports with weights, strata, clusters, groups, replicate weights and rates."""
    monkeypatch.chdir(tmp_path)
    CHANNEL.write("channel.json")
    reports, sample, rng = drawn(2)
    with open("r.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["report", "w", "stratum", "village", "g", "r1", "r2", "r3"])
        for report, weight, stratum, group in zip(
            reports, sample.weights, sample.strata, sample.groups, strict=True
        ):
            each = weight * rng.uniform(0.5, 1.5, 3)
            writer.writerow([report, weight, stratum, rng.integers(0, 20), group, *each])
    estimate = ["estimate", "--channel", "channel.json", "--data", "r.csv", "--out", "e.csv", "--weight", "w"]
    more = ["--strata", "stratum", "--cluster", "village", "--by", "g", "--rates", "a", "b"]
    assert main([*estimate, *more]) == 0
    said = capsys.readouterr().out
    assert "g = n." in said
    assert "yes given u" in said
    assert "yes, u" not in said  # tables of two questions are written alone
    with open("e.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["group"] for row in rows} == {"", "n", "s"}
    assert len(rows) == 3 * (2 + 3 + 6 + 6)
    assert main([*estimate, "--replicates", "r?", "--replicate-method", "bootstrap"]) == 0
    for wrong in (["--plot", "p.png"], ["--simultaneous"], ["--mean", "a"]):
        assert main([*estimate, *wrong]) == 2


def test_a_regression_is_that_of_the_table_of_all_reports():
    """Of two questions, with a covariate: the log-likelihoods differ by what no answer changes."""
    reports, sample, rng = drawn(5, 2_000)
    data = pd.DataFrame({"age": rng.integers(20, 60, len(reports)).astype(str)})
    numbers = ReportNumbers()
    formula = "a ~ b + age"
    found = questionnaire_logit(formula, data, CHANNEL, *numbers.counted(CHANNEL, numbers(reports)))
    other = randomized_logit(
        formula, covariates(formula, data, CHANNEL.names), sample.outputs, LISTED.channel.matrix,
        CHANNEL.names, LISTED.table.labels,
    )  # fmt: skip
    assert found.names == other.names
    assert found.params == pytest.approx(other.params, abs=1e-4)
    assert found.bse == pytest.approx(other.bse, rel=1e-4)


def test_the_command_regresses_one_question_on_another(tmp_path, monkeypatch, capsys):
    """Of four questions, of which two are in the formula; what the channel does not show is refused."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 6_000
    names, answers = ("x", "y", "u", "v"), (("no", "yes"),) * 4
    records = rng.integers(0, 2, (n, 4))
    records[:, 1] = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * records[:, 0]))
    for name, order, asked in (("pairs", 2, None), ("shares", 1, 1)):
        channel = sampled(optimal_questionnaire((2,) * 4, 3.0, order, asked=asked), names, answers)
        channel.write(f"{name}.json")
        lines = [
            "report,v,age",
            *(f"{report},{k % 7},5" for k, report in enumerate(draw_reports(channel, records, rng.bytes))),
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    regress = ["regress", "--channel", "pairs.json", "--data", "pairs.csv", "--json", "--formula"]
    assert main([*regress, "y ~ x"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["Intercept", "x[T.yes]"]
    for estimate, error, truth in zip(found["params"], found["bse"], (-1.0, 2.0), strict=True):
        assert abs(estimate - truth) < 4.0 * error < 2.0
    for channel, formula, words in (
        ("shares", "y ~ x", "does not show the table of x and y"),
        ("pairs", "age ~ age", "names none of the questions"),
    ):
        assert (
            main(
                ["regress", "--channel", f"{channel}.json", "--data", f"{channel}.csv", "--formula", formula]
            )
            == 2
        )
        assert words in capsys.readouterr().err
