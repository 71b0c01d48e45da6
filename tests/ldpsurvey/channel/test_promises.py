"""No attacker who knows what a sentence says he knows learns more than its number."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpfrontier import local_cone, optimal_questionnaire, optimal_unconditional
from ldpsurvey import CountTable, design_channel
from ldpsurvey.channel.promises import factor_text, several_reports_text, upwards
from ldpsurvey.design.answer import answer_text
from ldpsurvey.design.least_level import design_for_reports
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from support.grids import few
from support.owndata import small_table
from support.promise_attackers import SAME, violations
from support.questionnaires import report_chances


def response(size, epsilon):
    matrix = np.ones((size, size))
    np.fill_diagonal(matrix, math.exp(epsilon))
    return matrix / matrix.sum(axis=1, keepdims=True)


def telling(share):
    """A mechanism that spends so much of the level on the useful value, and the rest on the sensitive one."""

    def mechanism(ball, epsilon):
        sensitive, useful = ball.centre.shape
        epsilon *= 1.0 - 1e-6  # so that rounding does not leave one report above
        return np.kron(response(sensitive, (1.0 - share) * epsilon), response(useful, share * epsilon))

    return {"own:mechanism": mechanism}


def half(ball, epsilon):
    """A mechanism of half the level for anyone, and of nearly the whole one for the whole record."""
    return optimal_unconditional(ball.centre, 0.49 * epsilon, tolerance=1e-2, max_rounds=30)


def cone_of(share):
    return {"own:cone": lambda ball, epsilon: local_cone(ball.centre.size, share * epsilon)}


def table_of(rng, most):
    counts = rng.integers(5, 400, rng.integers(2, most + 1, 2))
    rows, columns = ([(f"{n}{i}",) for i in range(k)] for n, k in zip("su", counts.shape, strict=True))
    return CountTable(("secret",), ("useful",), tuple(rows), tuple(columns), counts)


def check(made, rng, several=None):
    """Attack what is said of the best mechanism of a design, and return its promise."""
    best = made.best("information")
    private = made.private(best)
    around = private.certificate.population
    low = None if around is None else replace(around, widened=0.0).odds(private.table).low
    answer = " ".join(answer_text(made, best, private, 0.01, "c.json").split())
    for words, limit, found in violations(private, answer, rng, low, several):
        assert found <= limit * (1.0 + 1e-8), words
    return private.promise()


@pytest.mark.parametrize("seed", few([0], more=range(1, 20)))
@pytest.mark.parametrize(
    ("against", "choice"),
    [
        ("acquaintance", {"own": telling(0.9), "mechanisms": []}),
        ("anyone", {"own": telling(0.5), "mechanisms": []}),
        ("insider-only", {"own": telling(0.9), "mechanisms": []}),
        ("anyone", {"own": {"own:half": lambda *given: half(*given).channel}, "mechanisms": []}),
        ("anyone", {"cones": cone_of(1.5), "mechanisms": [], "purpose": "information"}),
        ("acquaintance", {"mechanisms": ["srr"]}),
        ("acquaintance", {"unasked": True, "precise": "U", "mechanisms": ["unasked"]}),
        ("anyone", {"mechanisms": ["unconditional"]}),
    ],
)
def test_nobody_learns_more_from_several_reports_than_is_said(against, choice, seed):
    rng = np.random.default_rng(seed)
    table = table_of(rng, 2 if "cones" in choice else 3)
    made = design_for_reports(table, 1.0, 3, "information", against=against, **choice)
    check(made, rng)


def test_a_mechanism_that_tells_the_useful_value_does_not_protect_changing_answers():
    """The useful value alternates if and only if the person is ill: five reports at 1 have the level 1.9."""
    own = {"own": telling(0.9), "mechanisms": []}
    made = design_for_reports(small_table(), 1.0, 5, "information", against="acquaintance", **own)
    assert SAME in check(made, np.random.default_rng(0))
    # One report protects the whole record, and five do not.
    levels = made.private(made.candidates[0]).certificate.levels
    assert levels.record <= made.epsilon < 1.0 < 5 * levels.record
    # Five that do protect it need no condition.
    whole = design_for_reports(small_table(), 1.0, 5, "information", mechanisms=["grr"])
    assert SAME not in check(whole, np.random.default_rng(0))


def test_channels_of_a_budget_may_be_mixed():
    """The channel that protects the whole record may be used beside one that does not."""
    table = small_table()
    choice = [{"mechanisms": ["grr"]}, {"own": telling(0.9), "mechanisms": []}]
    mades = [design_channel(table, 0.5, budget=1.0, against="acquaintance", **some) for some in choice]
    matrices = [made.candidates[0].channel.matrix.reshape(*table.counts.shape, -1) for made in mades]
    for made in mades:
        assert SAME in check(made, np.random.default_rng(0), matrices)


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 3), 1.0), ((2, 2, 2), 0.3)])
def test_two_reports_of_a_questionnaire_have_at_most_what_is_said(sizes, epsilon):
    """Answers may change: each report has its own two records, in exact arithmetic."""
    names, answers = tuple("abc"[: len(sizes)]), tuple(tuple("tuv"[:size]) for size in sizes)
    channel = sampled(optimal_questionnaire(sizes, epsilon, 2), names, answers)
    chances = report_chances(channel.text())
    worst = max(max(chance.values()) / min(chance.values()) for chance in chances.values())
    said = float(re.search(r"a level of at most ([\d.]+) for", several_reports_text(channel)[0])[1])
    assert 2.0 * math.log(worst) <= said
    factor, level = re.search(r"at most a factor of ([\d.]+) \(level ([\d.]+)\)", channel.promise()).groups()
    assert worst <= Fraction(factor)
    assert math.log(worst) <= float(level)


@given(st.floats(1e-6, 19.0))
def test_printed_limits_are_above_and_agree(level):
    factor, printed = factor_text(level).rstrip(")").split(" (level ")
    assert level * (1.0 - 1e-8) <= float(printed) <= max(level + 0.001, 1.1 * level)
    assert math.exp(level) * (1.0 - 1e-8) <= float(factor)
    # One rounding: the factor is the one of the level beside it, with four digits.
    assert math.exp(float(printed)) * (1.0 - 1e-6) <= float(factor) <= math.exp(float(printed)) * 1.001
    assert level * (1.0 - 1e-8) <= upwards(level) <= max(level + 0.01, 1.1 * level)
