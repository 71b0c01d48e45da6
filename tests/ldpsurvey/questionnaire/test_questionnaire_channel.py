"""Channels for questionnaires keep their level, and their reports and estimates are what the file says."""

import itertools
import json
import math
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier import Lot, Questionnaire, QuestionnaireMechanism, optimal_questionnaire, verify
from ldpsurvey.channel.allowance import Allowance
from ldpsurvey.channel.channel_file import ChannelFileError, content_digest, id_of
from ldpsurvey.questionnaire.lot_reports import draw_reports, read_reports
from ldpsurvey.questionnaire.questionnaire_channel import (
    QuestionnaireChannel,
    level_of,
    read_questionnaire,
    sampled,
)
from ldpsurvey.questionnaire.table_estimates import estimate_questionnaire
from support.questionnaires import marginal, records, report_chances

NODE = shutil.which("node")
NAMES, LETTERS = tuple("abcdefghijklmnopqrstuvwxyz"), "tuvwxyz"


def channel_of(sizes, epsilon, order=2):
    found = optimal_questionnaire(sizes, epsilon, min(order, len(sizes)))
    return sampled(found, NAMES[: len(sizes)], tuple(tuple(LETTERS[:size]) for size in sizes))


def spread(table, sizes):
    """Return a distribution of records as a dict."""
    return dict(zip(records(sizes), table.tolist(), strict=True))


SMALL = st.tuples(
    st.sampled_from([(2,), (4,), (2, 2), (3, 2), (3, 3), (2, 2, 2), (3, 2, 2), (2, 2, 2, 2)]),
    st.floats(0.05, 5.0),
    st.integers(1, 2),
)


@settings(max_examples=50)
@given(SMALL)
def test_no_attacker_learns_more_than_the_promise(instance):
    """All reports and all pairs of records, in exact arithmetic, from the JSON alone."""
    sizes, epsilon, order = instance
    channel = channel_of(sizes, epsilon, order)
    chances = report_chances(channel.text())
    for record in records(sizes):
        assert sum(chance[record] for chance in chances.values()) == 1
    worst = max(max(chance.values()) / min(chance.values()) for chance in chances.values())
    assert math.log(worst) <= channel.level <= epsilon
    assert channel.level >= epsilon - 1e-9
    proof = channel.proof()
    assert verify.check(proof)
    proof["claims"][0]["epsilon"] = f"{channel.level * (1.0 - 1e-12):.30f}"
    with pytest.raises(verify.Unproved):
        verify.check(proof)


@settings(max_examples=25)
@given(SMALL, st.integers(0, 2**32 - 1))
def test_estimates_of_all_tables_are_unbiased_whatever_the_population_is(instance, seed):
    """As many reports as are expected give the truth: an identity, from the chances in the file."""
    sizes, epsilon, order = instance
    channel, rng = channel_of(sizes, epsilon, order), np.random.default_rng(seed)
    population = spread(rng.dirichlet(np.full(math.prod(sizes), 0.3)), sizes)
    chances = report_chances(channel.text())
    expected = {
        report: sum(population[x] * float(p) for x, p in chance.items()) for report, chance in chances.items()
    }
    scale = 1e9
    reports = read_reports(channel, {report: scale * p for report, p in expected.items()})
    found = estimate_questionnaire(channel, reports)
    for entry in found.entries:
        questions = [NAMES.index(name) for name in entry.quantity.attributes]
        answers = [LETTERS.index(answer) for answer in entry.quantity.value]
        truth = marginal(population, sizes, questions, answers)
        assert entry.unbiased == pytest.approx(truth, abs=1e-7)
        assert entry.low <= truth <= entry.high


def test_reports_are_drawn_as_often_as_the_file_says():
    sizes, n = (2, 3, 2), 120_000
    channel, rng = channel_of(sizes, 1.0), np.random.default_rng(0)
    chances = report_chances(channel.text())
    record = (1, 2, 0)
    drawn = Counter(draw_reports(channel, np.tile(record, (n, 1)), rng.bytes))
    assert set(drawn) <= set(chances)
    assert chi_squared(drawn, {report: float(p[record]) for report, p in chances.items()}, n) < 5.0


def chi_squared(drawn, stated, n):
    """Return how many standard deviations the statistic is above what is expected."""
    statistic = sum((drawn.get(report, 0) - n * p) ** 2 / (n * p) for report, p in stated.items())
    free = len(stated) - 1
    return (statistic - free) / math.sqrt(2.0 * free)


CHECK = """
import { readFileSync } from "node:fs";
import { reporter } from "./channel.mjs";
const report = await reporter(readFileSync("channel.json"));
const { record, draws, first } = JSON.parse(readFileSync(0, "utf8"));
const drawn = {};
for (let i = 0; i < draws; i++) {
  const lot = first ? report.draw() : undefined;
  const names = Object.keys(record);
  const asked = first ? Object.fromEntries(lot.asked.map((j) => [names[j], record[names[j]]])) : record;
  const name = report(asked, lot);
  drawn[name] = (drawn[name] ?? 0) + 1;
}
let said = "";
try { report({ ...record, a: "no such answer" }); } catch (error) { said = error.message; }
console.log(JSON.stringify({ drawn, said, channel: report.channel }));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("first", [False, True])
def test_the_sampler_of_browsers_draws_as_often_as_the_file_says(tmp_path, first):
    """Whether the lot is drawn first, and its questions alone are answered, or all are."""
    sizes, n = (2, 3, 2), 40_000
    channel = channel_of(sizes, 1.0)
    channel.write(tmp_path / "channel.json")
    (tmp_path / "check.mjs").write_text(CHECK, encoding="utf-8")
    record = {"a": "u", "b": "v", "c": "t"}
    done = subprocess.run(
        [NODE, "check.mjs"], cwd=tmp_path, input=json.dumps({"record": record, "draws": n, "first": first}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["channel"] == channel.id
    assert found["said"] == 'The field "a" of the record is "no such answer"; allowed are "t", "u".'
    stated = {name: float(p[1, 2, 0]) for name, p in report_chances(channel.text()).items()}
    assert set(found["drawn"]) <= set(stated)
    assert chi_squared(found["drawn"], stated, n) < 5.0


@pytest.mark.parametrize("population", ["uniform", "skewed", "far"])
def test_intervals_cover_shares_pairs_and_rates(population, long):
    """Of 400 repetitions with --long, else fewer; a share of .94, less 3 standard errors."""
    sizes, n, times = (2, 3, 2, 4), 1_000, 400 if long else 6
    rng = np.random.default_rng(7)
    cells = math.prod(sizes)
    p = {
        "uniform": np.full(cells, 1.0 / cells),
        "skewed": rng.dirichlet(np.ones(cells)),
        # Nearly all people give one answer to everything, and the others another one.
        "far": np.where(np.arange(cells) == 5, 0.9, 0.0) + np.where(np.arange(cells) == 40, 0.1, 0.0),
    }[population]
    channel, truth = channel_of(sizes, 1.0), spread(p, sizes)
    covered = [[], [], []]
    for _ in range(times):
        rows = np.array(np.unravel_index(rng.choice(cells, n, p=p), sizes)).T
        reports = read_reports(channel, Counter(draw_reports(channel, rows, rng.bytes)))
        found = estimate_questionnaire(channel, reports, rates=("a", "b"))
        for entry in found.entries:
            questions = [NAMES.index(name) for name in entry.quantity.attributes]
            answers = [LETTERS.index(answer) for answer in entry.quantity.value]
            share = marginal(truth, sizes, questions, answers)
            covered[len(questions) - 1].append(entry.low <= share <= entry.high)
        for rate in found.rates:
            answer, given = LETTERS.index(rate.quantity.value[0]), LETTERS.index(rate.given[0])
            if (among := marginal(truth, sizes, [1], [given])) > 1e-6:
                own = marginal(truth, sizes, [0, 1], [answer, given]) / among
                covered[2].append(rate.low - 1e-9 <= own <= rate.high + 1e-9)
    for kind in covered:
        # Intervals of one repetition depend on each other: as if each kind had five of them.
        assert np.mean(kind) >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / (5 * times))


def test_consistent_tables_agree_and_have_no_entry_below_0():
    sizes, rng = (2, 3, 2), np.random.default_rng(3)
    channel = channel_of(sizes, 0.7)
    rows = np.zeros((400, 3), dtype=np.int64)
    reports = read_reports(channel, Counter(draw_reports(channel, rows, rng.bytes)))
    found = estimate_questionnaire(channel, reports)
    assert min(entry.unbiased for entry in found.entries) < 0.0
    values = {(e.quantity.attributes, e.quantity.value): e.estimate for e in found.entries}
    assert min(values.values()) >= 0.0
    for (questions, answers), share in values.items():
        if len(questions) == 1:
            for pair in itertools.combinations(NAMES[:3], 2):
                if questions[0] in pair:
                    place = pair.index(questions[0])
                    own = [v for (q, a), v in values.items() if q == pair and a[place] == answers[0]]
                    assert sum(own) == pytest.approx(share, abs=1e-6)
    # Unbiased estimates of a question agree between its tables as well.
    for question in range(3):
        for pair in (p for p in itertools.combinations(range(3), 2) if question in p):
            table = found.of([NAMES[j] for j in pair])
            for answer in LETTERS[: sizes[question]]:
                own = sum(e.unbiased for e in table if e.quantity.value[pair.index(question)] == answer)
                (single,) = [e.unbiased for e in found.of([NAMES[question]]) if e.quantity.value == (answer,)]
                assert own == pytest.approx(single, abs=1e-9)


def test_all_intervals_together_are_wider():
    channel, rng = channel_of((2, 2, 2), 1.0), np.random.default_rng(0)
    rows = rng.integers(0, 2, (500, 3))
    reports = read_reports(channel, Counter(draw_reports(channel, rows, rng.bytes)))
    single, together = (
        estimate_questionnaire(channel, reports, simultaneous=s, rates=("a", "b")) for s in (False, True)
    )
    for one, other in zip(single.entries + single.rates, together.entries + together.rates, strict=True):
        assert other.low <= one.low < one.high <= other.high
        assert other.high - other.low > one.high - one.low
        assert (one.unbiased, one.estimate) == (other.unbiased, other.estimate)


@pytest.mark.parametrize("tables", [[(0, 1, 2), (2, 3)], [(0, 3), (1,), (2,)]])
def test_chosen_tables_are_unbiased_and_others_are_refused_unless_they_are_shown(tmp_path, tables):
    """An identity, from the chances in the file; of tables that were not asked for some are shown as well."""
    sizes, rng = (2, 2, 3, 2), np.random.default_rng(0)
    found = optimal_questionnaire(sizes, 1.5, 2, tables)
    sampled(found, NAMES[:4], tuple(tuple(LETTERS[:size]) for size in sizes)).write(tmp_path / "c.json")
    channel = read_questionnaire(tmp_path / "c.json")
    assert channel.mechanism.questionnaire.tables == tuple(tables)
    assert channel.mechanism.error == pytest.approx(found.error)
    population = spread(rng.dirichlet(np.full(math.prod(sizes), 0.3)), sizes)
    expected = {
        report: sum(population[x] * float(p) for x, p in chance.items())
        for report, chance in report_chances(channel.text()).items()
    }
    reports = read_reports(channel, {report: 1e9 * p for report, p in expected.items()})
    triples = list(itertools.combinations(NAMES[:4], 3))
    shown = [channel.mechanism.shows([NAMES.index(name) for name in table]) for table in triples]
    asked = [table for table, there in zip(triples, shown, strict=True) if there]
    with pytest.raises(ValueError, match="does not show the table of"):
        estimate_questionnaire(channel, reports, more=[triples[shown.index(False)]])
    estimates = estimate_questionnaire(channel, reports, more=asked)
    for table in (*tables, *asked):
        assert estimates.of([NAMES[j] for j in table] if table in tables else table)
    for entry in estimates.entries:
        questions = [NAMES.index(name) for name in entry.quantity.attributes]
        answers = [LETTERS.index(answer) for answer in entry.quantity.value]
        assert entry.unbiased == pytest.approx(marginal(population, sizes, questions, answers), abs=1e-7)


# Files ----------------------------------------------------------------------------------------------------


def test_a_file_of_version_1_still_decodes_its_reports(tmp_path):
    """Its id was the hash of all that it has; nothing was missing, and one report was allowed."""
    channel = channel_of((2, 3, 2), 1.0)
    content = json.loads(channel.text()) | {"version": 1}
    for name in ("id", "content_sha256"):
        del content[name]
    del content["certificate"]["allowance"]
    content = {"id": id_of(content_digest(content)), **content}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(content | {"content_sha256": content_digest(content)}))
    found = read_questionnaire(path)
    assert found.id == content["id"] != channel.id
    assert found.sha256 == channel.sha256
    assert found.weights == channel.weights
    assert f'"{found.id}"' in found.sampler()
    path.write_text(json.dumps(content | {"id": channel.id, "content_sha256": "0"}))
    with pytest.raises(ChannelFileError, match="was changed"):
        read_questionnaire(path)


def test_a_file_is_the_channel_that_was_written(tmp_path):
    channel = channel_of((2, 3, 2, 2), 1.3)
    channel.write(tmp_path / "c.json")
    again = read_questionnaire(tmp_path / "c.json")
    assert (again.id, again.level, again.text()) == (channel.id, channel.level, channel.text())
    assert again.mechanism.error == channel.mechanism.error


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(accept=str(int(c["accept"]) // 2)),  # twice the ratio
        lambda c: c["lots"][0].update(weight="1"),
        lambda c: c["lots"][0].update(set="2" + c["lots"][0]["set"][1:]),
        lambda c: c["lots"][0].update(set=c["lots"][0]["set"] + "0"),
        lambda c: c["questions"][0].update(answers=["t", "t"]),
        lambda c: c["questions"].pop(),
        lambda c: c.update(id="c1"),
        lambda c: c.update(version=99),
        lambda c: c.update(bits=8),
        lambda c: c.update(order="2"),
    ],
)
@pytest.mark.parametrize("hashed", [False, True])
def test_a_file_that_was_changed_is_refused(tmp_path, change, hashed):
    """Also if whoever changed it made its hash again."""
    path = tmp_path / "c.json"
    channel_of((2, 3, 2), 1.0).write(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    if hashed:
        content.pop("content_sha256")
        content["content_sha256"] = content_digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ChannelFileError):
        read_questionnaire(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(questions=c["questions"] * 1000), "There are 5000 questions"),
        (lambda c: c["lots"][0].update(questions=[list(range(5))] * 5, set="01" * 16), "has 5 questions"),
    ],
)
def test_a_file_of_more_than_can_be_treated_is_refused_before_anything_is_listed(
    tmp_path, change, words, monkeypatch
):
    path = tmp_path / "c.json"
    channel_of((2,) * 5, 1.0).write(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    content.pop("content_sha256")
    content["content_sha256"] = content_digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")

    def few(values, number):
        assert len(values) <= 60
        return list_of(values, number)

    list_of = itertools.combinations
    monkeypatch.setattr(itertools, "combinations", few)
    with pytest.raises(ChannelFileError, match=words):
        read_questionnaire(path)


def test_a_channel_above_its_level_is_refused():
    channel = channel_of((2, 3, 2), 1.0)
    with pytest.raises(ValueError, match="its level is above 1"):
        replace(channel, accept=channel.accept - 2**40)
    assert replace(channel, allowance=Allowance(3.0, 3)).allowance
    with pytest.raises(ValueError, match="The level of 3 reports together is"):
        replace(channel, allowance=Allowance(3.0 - 1e-6, 3))


def test_a_question_is_told_about_if_a_set_depends_on_it():
    """Where it does not, no answer to it changes the chance of any report, though it is asked."""
    questionnaire = Questionnaire.of_order((2, 3), 1)
    lot = Lot(1.0, (0, 1), np.array([[True] * 3, [False] * 3]))
    mechanism = QuestionnaireMechanism(questionnaire, math.log(2.0), (lot,))
    channel = QuestionnaireChannel(
        ("a", "b"), (("t", "u"), ("t", "u", "v")), mechanism, (2**62,), 2**61, 0.7, 0.0
    )
    assert [field.columns for field in channel.telling] == [("a",)]
    for chances in report_chances(channel.text()).values():
        assert len({chances[0, b] for b in range(3)}) == 1


def test_few_reports_say_little_and_never_too_much():
    """One to five reports of people who all answered the same: also of questions that nobody was asked."""
    channel, rng = channel_of((2, 2, 3), 1.0), np.random.default_rng(0)
    for n in (1, 5):
        lost = []
        for _ in range(20):
            rows = np.zeros((n, 3), dtype=np.int64)
            reports = read_reports(channel, Counter(draw_reports(channel, rows, rng.bytes)))
            found = estimate_questionnaire(channel, reports, rates=("a", "c"))
            for entry in found.entries:
                true = entry.quantity.value == ("t",) * len(entry.quantity.value)
                lost.append(not entry.low <= float(true) <= entry.high)
                assert entry.low < entry.high
        assert np.mean(lost) <= 0.05


@pytest.mark.parametrize(
    "text",
    ["", "L1", "L9/q1=01", "L1/q1=01/q1=01", "L1/q1=00/q2=012", "L1/q7=01/q2=012", "x", "L1/q1=0/q2=01"],
)
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ValueError, match="no report of this channel"):
        read_reports(channel_of((2, 3, 2), 1.0), {text: 1})


@given(st.integers(1, 2**62))
def test_levels_are_rounded_upwards(accept):
    ratio = Fraction(2**62, accept)
    # e^level >= ratio, by more digits than a float has.
    from decimal import Decimal, getcontext

    getcontext().prec = 50
    assert Decimal(level_of(accept)).exp() >= Decimal(ratio.numerator) / Decimal(ratio.denominator)
