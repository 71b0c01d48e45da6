"""How many people a questionnaire needs: against all reports by enumeration, and simulated surveys."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from ldpsurvey.command.cli import main
from ldpsurvey.estimate.people import Aim
from ldpsurvey.questionnaire.designing import design_questionnaire
from ldpsurvey.questionnaire.lot_reports import draw_reports, read_reports
from ldpsurvey.questionnaire.planning import expected_shares, questionnaire_people
from ldpsurvey.questionnaire.questions import questions_of_values
from ldpsurvey.questionnaire.table_estimates import estimate_questionnaire
from support.questionnaires import records, report_chances

NAMES = ("a", "b", "c")
EXPECTED = ["a=t=0.9", "b=u=0.05"]


def channel_of(sizes, epsilon=1.5, order=2):
    values = {name: tuple("tuvw"[:size]) for name, size in zip(NAMES, sizes, strict=True)}
    return design_questionnaire(questions_of_values(values, NAMES), epsilon, order)


@pytest.mark.parametrize("sizes", [(2, 3, 3), (2, 2, 2)])
def test_deviations_are_those_of_the_estimates_of_all_reports(sizes):
    """By the standard errors of estimates from as many of each report as are expected, in the population."""
    channel = channel_of(sizes)
    texts = [*EXPECTED, f"c={'tuv'[sizes[2] - 1]}=0.6"]
    shares = expected_shares(channel, texts)
    population = {x: math.prod(shares[j][a] for j, a in enumerate(x)) for x in records(sizes)}
    n, chances = 1e9, report_chances(channel.text())
    expected = {
        report: n * sum(population[x] * float(p) for x, p in given.items())
        for report, given in chances.items()
    }
    entries = estimate_questionnaire(channel, read_reports(channel, expected)).entries
    found = [*questionnaire_people(channel, "shares", Aim(error=0.01), texts)]
    found += questionnaire_people(channel, None, Aim(error=0.01), texts)
    for one, entry in zip(found, entries, strict=True):
        assert one.name == " = ".join(map(", ".join, (entry.quantity.attributes, entry.quantity.value)))
        assert one.expected == pytest.approx(entry.unbiased, abs=1e-9)
        assert one.deviation == pytest.approx(math.sqrt(n) * entry.error)
        assert one.people == math.ceil(one.deviation**2 / 0.01**2)


@pytest.mark.parametrize("aim", [Aim(width=0.2, probability=0.8), Aim(power=0.8, value=0.5)])
def test_surveys_of_so_many_people_reach_the_aim(aim, long):
    """As often as they should, in surveys that are drawn and estimated."""
    channel, times = channel_of((2, 2, 2)), 400 if long else 20
    (need, _) = questionnaire_people(channel, "a", aim, ["a=t=0.7"])
    rng, reached, n = np.random.default_rng(1), 0, int(need.people)
    for _ in range(times):
        rows = (rng.random((n, 3)) >= [0.7, 0.5, 0.5]).astype(np.int64)
        drawn = Counter(draw_reports(channel, rows, rng.bytes))
        (one, *_) = estimate_questionnaire(channel, read_reports(channel, drawn)).of(["a"])
        reached += one.high - one.low <= 0.2 if aim.width else one.low > 0.5
    assert abs(reached / times - 0.8) < 4.0 * math.sqrt(0.8 * 0.2 / times)


def test_equal_shares_need_the_people_of_the_design():
    """The sum of variances over a table's entries is the error that the design says."""
    channel = channel_of((2, 3, 3))
    found = questionnaire_people(channel, None, Aim(error=0.01))
    assert sum(one.deviation**2 for one in found) == pytest.approx(channel.mechanism.error)
    tables = [f"{a}, {b}" for a, b in itertools.combinations("abc", 2)]
    assert [one for some in tables for one in questionnaire_people(channel, some, Aim(error=0.01))] == found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--precise", "rates", "--error", "0.1"], "it must be shares, pairs, triples, or some of"),
        (["--precise", "triples", "--error", "0.1"], "does not show the table of a and b and c"),
        (["--precise", "a,a", "--error", "0.1"], "it must have 1 to 4 different ones"),
        (["--error", "0.1", "--expect", "t=0.1"], "QUESTION=ANSWER=SHARE with one of the questions a, b, c"),
        (["--error", "0.1", "--expect", "a=x=0.1"], "of the answers t, u"),
        (["--error", "0.1", "--expect", "a=t=0.7", "a=u=0.7"], "sum to 1.4"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(tmp_path)
    channel_of((2, 3, 3)).write("c.json")
    assert main(["people", "--channel", "c.json", *words]) == 2
    assert says in capsys.readouterr().err
