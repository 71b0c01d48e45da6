"""What is promised is kept up to its limit, and one millionth beyond it is refused or said to be less."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import Channel, levels_of_reports, secret_randomized_response
from ldpsurvey import design_channel
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel import allowance, together
from ldpsurvey.channel.allowance import Allowance, check_allowance, level_of_reports
from ldpsurvey.channel.attackers import Levels, levels_of, population_of
from ldpsurvey.channel.promises import kept_by_all, kept_by_one, kept_by_two, promise_of_channel
from ldpsurvey.channel.together import levels_together
from ldpsurvey.design import least_level, methods
from ldpsurvey.design.least_level import design_for_reports
from support.owndata import channel_of, flat

SEVERAL = ("insider-only", "acquaintance", "anyone")
BESIDE = (1.0 + 1e-6, 1.0 - 1e-6)


@pytest.fixture(scope="module")
def channel():
    return Channel(np.random.default_rng(0).dirichlet(np.full(4, 9.0), size=6))


def lacking(channels, shape, **about):
    """Levels of several reports by searches that lack what they may."""
    found = levels_of_reports(channels, shape, **about)
    given = {name: value for name, value in vars(found).items() if name != "exact" and value is not None}
    return replace(found, **{name: value - SETTINGS.level_error for name, value in given.items()})


@pytest.mark.parametrize("against", SEVERAL)
def test_several_reports_have_at_most_the_level_of_all(table, channel, against, monkeypatch):
    """The level of two is that of the channel of all pairs of reports, whatever searches may lack."""
    columns, population = channel.matrix, population_of(table)
    both = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
    level = levels_of(both, table, replace(population)).against(against) - 2.0 * SETTINGS.level_error
    monkeypatch.setattr(allowance, "levels_of_reports", lacking)
    found = level_of_reports(channel, 2, table, population, against)
    assert level <= found
    if against != "acquaintance":
        assert found <= level + 1e-9
        assert levels_of(both, table, None).against(against) <= found + 1e-14
    for factor in BESIDE:
        with nullcontext() if factor > 1.0 else pytest.raises(ValueError, match="The level of 2 reports"):
            check_allowance(Allowance(factor * found, 2), against, 0.3 * found, lambda _: found, population)


def test_levels_of_different_reports_are_raised_by_what_searches_may_lack(table, monkeypatch):
    privates = [channel_of(table, "srr"), channel_of(table, "grr")]
    real = levels_of_reports([private.channel for private in privates], table.counts.shape)
    monkeypatch.setattr(together, "levels_of_reports", lacking)
    found = {one.against: one.level for one in levels_together(privates)}
    assert found["anyone"] >= real.anyone
    assert found["insider-only"] >= real.insiders


def test_a_budget_is_no_less_than_one_report_and_widens_intervals(table):
    for factor in BESIDE:
        with nullcontext() if factor > 1.0 else pytest.raises(ValueError, match="at least that of one"):
            check_allowance(Allowance(factor * 0.5), "anyone", 0.5, float)
        population = replace(population_of(table), widened=factor * 2.0 * (2.0 - 0.5))
        with nullcontext() if factor > 1.0 else pytest.raises(ValueError, match="intervals are widened by"):
            check_allowance(Allowance(2.0), "acquaintance", 0.5, float, population)


def test_a_promise_for_the_whole_record_is_made_up_to_its_level(table):
    """By one report, by two, by three, and beside other channels of a budget."""
    private = channel_of(table, "srr", 1.0, "anyone")
    stated = private.certificate
    record = stated.levels.record
    assert stated.levels.anyone < 0.999 * record

    def stating(epsilon, allowed=None):
        return replace(private, certificate=replace(stated, epsilon=epsilon, allowance=allowed))

    for factor in BESIDE:
        secret = table.attributes if factor > 1.0 else table.sensitive
        assert kept_by_one(stating(factor * record)).secret == secret
        assert kept_by_two(stating(factor * record)).secret == secret
        three = kept_by_all(stating(record, Allowance(factor * 3.0 * record, 3)))
        assert three.secret == secret
        mixed = kept_by_all(stating(factor * record, Allowance(9.0)))
        assert ("as this one does" in mixed.condition) == (factor > 1.0)


@pytest.mark.parametrize("against", ["insider-only", "anyone"])
def test_two_reports_of_a_channel_for_one_have_at_most_what_is_said(table, against):
    """The level of two is that of the channel of all pairs of reports, for whoever one protects from."""
    private = channel_of(table, {"insider-only": "label", "anyone": "unconditional"}[against], 1.0, against)
    columns, kept = private.channel.matrix, kept_by_two(private)
    both = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
    level = levels_of(both, table, None).against(against)
    assert level <= kept.level + 1e-12
    assert kept.level <= 2.0 * level + 1e-9


def test_whoever_knows_the_useful_value_is_named_unless_the_level_holds_for_him(table):
    private = channel_of(table, "srr")
    levels = Levels(outsider=0.2, insider=0.5, acquaintance=0.9, anyone=1.0, record=2.0)
    for factor in BESIDE:
        stated = replace(private.certificate, epsilon=factor * levels.insider, levels=levels)
        words = promise_of_channel(replace(private, certificate=stated))
        assert ("knows something about" in words) == (factor > 1.0)


def test_a_mechanism_of_a_design_is_private_up_to_the_level(table, monkeypatch):
    for factor in BESIDE:

        def response(a1, a2, epsilon, factor=factor):
            return secret_randomized_response(a1, a2, factor * epsilon)

        monkeypatch.setattr(methods, "secret_randomized_response", response)
        made = design_channel(table, 1.0, against="anyone", mechanisms=["srr", "grr"])
        assert [one.private for one in made.candidates if one.name == "srr"] == [factor < 1.0]


def test_reports_whose_level_together_is_above_are_not_designed(table, monkeypatch):
    """One millionth above it at every level of one report there is no design, below it the first one is."""
    for factor in BESIDE:
        monkeypatch.setattr(least_level, "level_of_reports", lambda *_, factor=factor: factor)
        refused = pytest.raises(ValueError, match="No level of one report was found")
        with refused if factor > 1.0 else nullcontext():
            made = design_for_reports(flat(table), 1.0, 3, mechanisms=["grr"])
            assert made.allowance == Allowance(1.0, 3)
