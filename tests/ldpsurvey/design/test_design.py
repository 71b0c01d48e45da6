"""Designs: what is offered keeps its level and its bound, and the least level is the least."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ldpfrontier import (
    MutualInformation,
    OddsRatios,
    RenyiBall,
    association_cone,
    association_epsilon,
    conditional_epsilon,
    entropy,
    estimation_error,
    hadamard_response,
    ldp_epsilon,
    mutual_information,
    optimal_estimation,
    optimal_ldp,
    optimal_robust,
    subset_selection,
    unconditional_epsilon,
)
from ldpfrontier.numerics import deadline
from ldpsurvey import CountTable, design_channel, least_epsilon
from ldpsurvey.base.layout import Remark
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import ATTACKERS
from ldpsurvey.command.texts import design_text
from ldpsurvey.design import design as designs
from ldpsurvey.design.design import LONGEST
from ldpsurvey.design.methods import LDP_METHODS, ROBUST_METHODS
from ldpsurvey.estimate.distribution import column_quantities
from support.grids import few
from support.owndata import adult_table, flat


@pytest.fixture(scope="module")
def designed(table):
    """Return a function that gives the design of the small table at level 1 against an attacker."""
    return cache(lambda against: design_channel(table, 1.0, against=against))


@pytest.fixture(scope="module")
def for_frequencies(table):
    """Return a function that gives the design of the small table at level 1 that makes something precise."""
    asked = {"purpose": "frequencies", "mechanisms": ["frequencies", "closed", "subset"]}
    return cache(lambda precise: design_channel(table, 1.0, precise=precise, **asked))


def by_name(design):
    return {candidate.name: candidate for candidate in design.candidates}


# What is offered ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", ATTACKERS)
def test_every_mechanism_keeps_its_levels_and_stays_below_the_bound(table, designed, against):
    made = designed(against)
    ball, odds = RenyiBall.confidence(table.counts), OddsRatios.confidence(table.counts)
    assert list(by_name(made)) == list(ROBUST_METHODS[against])
    for candidate in made.candidates:
        channel, levels = candidate.channel, candidate.levels
        assert levels.outsider == pytest.approx(ball.worst_case_epsilon(channel))
        assert levels.insider == pytest.approx(conditional_epsilon(channel, (2, 3)))
        assert levels.acquaintance == pytest.approx(association_epsilon(channel, odds), abs=1e-9)
        assert levels.anyone == pytest.approx(unconditional_epsilon(channel, (2, 3)))
        assert levels.record == pytest.approx(ldp_epsilon(channel))
        nmi = mutual_information(table.distribution, channel) / entropy(table.distribution)
        assert candidate.nmi == pytest.approx(nmi)
        assert len(candidate.errors) == 3
        if candidate.private:
            assert levels.against(against) <= 1.0 + 1e-9
            assert nmi <= made.bound
    if "nr" in by_name(made):
        assert not by_name(made)["nr"].private
        assert by_name(made)["nr"].levels.outsider > 1.0
    assert ("nr" in by_name(made)) == (against != "insider-only")


def test_the_best_against_outsiders_gives_s_away_to_insiders(table, designed):
    made = designed("outsider")
    best = made.best("information")
    assert best.name == "exact"
    assert best.nmi >= by_name(made)["polyopt"].nmi
    assert best.nmi >= 0.99 * made.bound
    assert best.levels.insider > 10.0
    insider = best.guesses[1]
    assert insider.after > insider.before + 0.05
    found = optimal_robust(RenyiBall.confidence(table.counts), 1.0, envelope="exact")
    assert made.bound * entropy(table.distribution) >= found.value
    only = design_channel(table, 1.0, mechanisms=["nr"])
    with pytest.raises(ValueError, match=r"No mechanism is left .*nr: its level is inf against acquaintance"):
        only.best()


@pytest.fixture
def few_cells(monkeypatch):
    """Let tables of more than 5 cells be large."""
    monkeypatch.setattr(designs, "SETTINGS", replace(SETTINGS, max_quick_cells=5))


def test_without_a_word_acquaintances_are_meant(table):
    made = design_channel(table, 1.0, mechanisms=["srr"])
    assert (made.against, made.population.intervals) == ("acquaintance", "exact")
    assert design_channel(flat(table), 1.0, mechanisms=["grr"]).population is None
    large = adult_table("occupation", "education")  # 15 x 16
    assert design_channel(large, 1.0, mechanisms=["srr"]).against == "acquaintance"


def test_guesses_are_those_of_bayes(table):
    made = design_channel(table, 2.0, against="outsider", mechanisms=["grr", "exact"])
    for candidate in made.candidates:
        joint = table.distribution[:, :, None] * candidate.channel.matrix.reshape(2, 3, -1)
        outsider, insider = candidate.guesses
        assert outsider.before == pytest.approx(max(table.distribution.sum(axis=1)))
        after = sum(max(joint[s, :, y].sum() for s in range(2)) for y in range(joint.shape[2]))
        assert outsider.after == pytest.approx(after)
        after = sum(max(joint[:, u, y]) for u in range(3) for y in range(joint.shape[2]))
        assert insider.after == pytest.approx(after)
        assert outsider.before <= insider.before <= insider.after + 1e-12


def test_the_bound_holds_for_the_best_that_is_known(table):
    made = design_channel(flat(table), 1.0)
    assert list(by_name(made)) == list(LDP_METHODS)
    assert made.against == "anyone"
    best = optimal_ldp(MutualInformation(table.distribution), 1.0)
    assert made.bound * entropy(table.distribution) == pytest.approx(best.bound)
    assert made.best("information").name == "ldp"
    assert made.best("information").nmi * entropy(table.distribution) == pytest.approx(best.value)
    assert all(len(candidate.errors) == 1 for candidate in made.candidates)


def test_frequencies_count_unless_information_does(table):
    made = design_channel(table, 0.4, against="outsider", mechanisms=["ir", "srr", "grr", "subset", "ldp"])
    best = made.best()
    assert math.isfinite(best.error)
    assert best.rank == 6
    assert best.error == min(c.error for c in made.candidates if math.isfinite(c.error))
    assert made.best("information").nmi == max(c.nmi for c in made.candidates)
    blind = design_channel(table, 0.4, against="outsider", mechanisms=["ir"])
    with pytest.raises(ValueError, match=r"No mechanism is left .*ir: it has rank 3 for 6 values"):
        blind.best("frequencies")


def test_reports_for_an_error_are_enough(table):
    made = design_channel(table, 1.0, against="outsider", mechanisms=["grr", "ir"], records=500)
    grr = by_name(made)["grr"]
    needed = made.reports_for(grr, 0.02)
    again = design_channel(table, 1.0, mechanisms=["grr"], records=int(needed)).candidates[0]
    assert 0.0199 < again.error <= 0.02
    assert made.reports_for(by_name(made)["ir"], 0.02) == math.inf


def test_what_is_out_of_reach_says_why():
    columns = tuple((str(i),) for i in range(21))
    wide = CountTable(("s",), ("u",), (("a",), ("b",)), columns, np.arange(1, 43).reshape(2, 21))
    made = design_channel(wide, 0.5, against="outsider", mechanisms=["polyopt", "srr"])
    polyopt = by_name(made)["polyopt"]
    assert polyopt.channel is None
    assert "at most 20 are supported" in polyopt.note
    assert made.best("information").name == "srr"
    with pytest.raises(ValueError, match=r"There is no channel for polyopt\. A block has 21 useful values"):
        made.private(polyopt)


def check_slow(made, most, cells):
    exact = by_name(made)["exact"]
    assert exact.channel is None
    assert (
        f"not computed, since it may take minutes on tables of more than {most} cells; this table has {cells}"
        in exact.note
    )
    assert made.best().name != "exact"


def test_slow_mechanisms_are_solved_on_large_tables_only_if_asked_for(table, few_cells):
    check_slow(design_channel(table, 1.0, against="outsider"), 5, 6)
    asked = design_channel(table, 1.0, against="outsider", mechanisms=["exact"])
    assert by_name(asked)["exact"].private


# What is made for frequencies -----------------------------------------------------------------------------

#: Votes (N, U, Y) by regions of Chile, in the R package carData, of which half of one is a sixth.
CHILE = np.array([[210, 18, 102, 214, 345, 105], [141, 23, 46, 148, 230, 70], [174, 38, 135, 275, 246, 87]])


@pytest.mark.parametrize("against", few(["acquaintance", None], more=["insider-only", "outsider", "anyone"]))
def test_on_many_cells_no_textbook_mechanism_has_less_error(against, long):
    counts = CHILE if long else CHILE[:, :3]
    labels = [
        tuple((f"{letter}{i}",) for i in range(size)) for letter, size in zip("vr", counts.shape, strict=True)
    ]
    shares, records, cells = counts / counts.sum(), counts.sum(), counts.size
    table = CountTable(("vote",), ("region",), *labels, counts)
    whom = against or "anyone"
    made = design_channel(table if against else flat(table), 1.0, against=against, purpose="frequencies")
    best, private = made.best(), made.private(made.best())
    assert best.levels.against(whom) <= 1.0 + 1e-9
    assert private.certificate.levels.against(whom) <= 1.0
    for rival in (hadamard_response(cells, 1.0), subset_selection(cells, 1.0, cells // 6)):
        if against is None:
            assert best.error < math.sqrt(estimation_error(rival, shares) / cells / records)
            continue
        for target, error, values in zip((None, "sensitive"), best.errors, (cells, 3), strict=False):
            assert error < math.sqrt(estimation_error(rival, shares, target) / values / records)
    # What protects from fewer people estimates better.
    if against in ("outsider", "acquaintance"):
        closed = by_name(made)["closed"]
        assert best.name == "frequencies"
        assert best.error < 0.9 * closed.error


def test_a_small_design_has_as_few_outputs_as_inputs_at_the_certified_error(table, for_frequencies):
    best = for_frequencies("cells").best()
    odds = OddsRatios.confidence(table.counts)
    found = optimal_estimation(table.distribution, association_cone(odds, 1.0), tolerance=1e-2)
    assert best.channel.n_outputs <= 8 < found.channel.n_outputs
    least = math.sqrt(found.bound / 6 / table.records)
    assert least * (1 - 1e-2) <= best.error <= least * (1 + 2e-2)


def test_of_nearly_equal_errors_the_one_with_less_error_of_the_sensitive_value_is_chosen(table):
    made = design_channel(table, 1.0, mechanisms=["subset", "grr"])
    first, second = made.candidates
    close = [replace(first, errors=(0.1, 0.3, 0.1)), replace(second, errors=(0.101, 0.2, 0.1))]
    assert replace(made, candidates=close).best() is close[1]
    far = [close[0], replace(second, errors=(0.11, 0.2, 0.1))]
    assert replace(made, candidates=far).best() is far[0]


def test_what_has_to_be_precise_is_what_the_design_makes_precise(table, for_frequencies):
    made = {precise: for_frequencies(precise) for precise in ("cells", "S", "U", "rates")}
    cells = made["cells"].best()
    for precise, design in made.items():
        best = design.best()
        assert design.error_of(best) <= made[precise].error_of(cells) * 1.02
        needed = design.reports_for(best, 0.01)
        assert needed == pytest.approx(table.records * (design.error_of(best) / 0.01) ** 2, abs=1)
    assert made["S"].best().errors[1] < 0.9 * cells.errors[1]
    everything = flat(table)
    with pytest.raises(ValueError, match="precise is 'rates'; it must be one of"):
        design_channel(everything, 1.0, precise="rates")


# What is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0; it must be a number from 0.001 to 20"),
        ({"epsilon": 1.0, "mechanisms": ["binary"]}, "The mechanism is 'binary'; allowed against"),
        ({"epsilon": 1.0, "against": "all"}, "against is 'all'; allowed are insider-only, outsider,"),
        ({"epsilon": 1.0, "beta": 0.0}, "beta is 0.0; a significance level lies"),
        ({"epsilon": 1.0, "order": -1.0}, "The order of the ball is -1.0"),
        ({"epsilon": 1.0, "records": 0}, "The number of records is 0; it must be a whole number, at least 1"),
    ],
)
def test_arguments_out_of_range_get_a_sentence(table, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        design_channel(table, **arguments)


# The least level ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("utility", "mechanism"), [(0.5, "polyopt"), (0.3, "grr"), (0.02, "srr"), (0.9, "ir")]
)
def test_the_least_level_reaches_the_utility_and_the_one_below_does_not(table, utility, mechanism):
    epsilon = least_epsilon(table, utility, against="outsider", mechanism=mechanism)
    reached, missed = (
        design_channel(table, level, against="outsider", mechanisms=[mechanism]).candidates[0].nmi
        for level in (epsilon, epsilon - 0.001)
    )
    assert missed < utility <= reached
    assert epsilon * 1000 == pytest.approx(round(epsilon * 1000))


@pytest.mark.parametrize(
    ("useful", "against"), [(True, "anyone"), (False, None), pytest.param(True, None, marks=pytest.mark.long)]
)
def test_the_least_level_for_an_error(table, useful, against):
    counted = table if useful else flat(table)
    epsilon = least_epsilon(counted, error=0.03, records=4000, against=against)
    errors = [
        design_channel(counted, level, records=4000, against=against).best().error
        for level in (epsilon - 0.002, epsilon)
    ]
    assert errors[0] > 0.03 * (1 - 1e-2)
    assert errors[1] <= 0.03
    with pytest.raises(ValueError, match="Either a utility or an error is needed"):
        least_epsilon(table, 0.3, error=0.03)


def test_a_utility_that_is_out_of_reach_gets_a_sentence(table):
    with pytest.raises(ValueError, match=r"A utility of 0\.9999999 is not reached at any level up to 16"):
        least_epsilon(table, 0.9999999, mechanism="grr")


# A time limit ---------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Return a function after which time is up when the clock was asked so many times."""

    def start(left):
        times = iter([0.0] * left)
        monkeypatch.setattr(deadline, "clock", lambda: next(times, 1e12))

    return start


@pytest.mark.parametrize("left", [1, 4])
@pytest.mark.parametrize("against", ATTACKERS)
def test_when_the_time_is_up_all_mechanisms_keep_their_levels(table, against, left, clock):
    clock(left)
    told = []
    made = design_channel(table, 1.0, against=against, progress=told.append, max_seconds=60)
    assert list(by_name(made)) == list(ROBUST_METHODS[against])
    takes_time = {name: not method.closed_form for name, method in ROBUST_METHODS[against].items()}
    assert told == sorted(takes_time, key=lambda name: (name in LONGEST, takes_time[name]))
    for name, candidate in by_name(made).items():
        assert candidate.private == (name != "nr")
        assert candidate.nmi <= made.bound or not candidate.private
    if against == "insider-only":
        return  # a linear program for each useful value
    slow = by_name(made)[{"anyone": "unconditional", "acquaintance": "association"}.get(against, "exact")]
    assert "within 60 s, as the time limit ended the computation" in slow.method
    assert "time limit ended" in design_text(made, made.best(), 0.01).replace("\n", " ")


def test_more_time_never_makes_estimates_worse(table, monkeypatch):
    """From the formula to the best that is found, which comes before most of the time of the proof."""
    asked: list[int] = []
    errors, end, total = list[float](), math.inf, 0
    monkeypatch.setattr(deadline, "clock", lambda: asked.append(0) or (0.0 if len(asked) <= end else 1e12))
    for share in (1.0, 0.2, 0.05, 0.0):
        end = max(share * total, 1) if total else math.inf
        asked.clear()
        made = design_channel(table, 1.0, against="acquaintance", purpose="frequencies", max_seconds=60)
        errors.append(made.best().error)
        total = total or len(asked)
    assert errors == sorted(errors)
    assert errors[-1] == pytest.approx(by_name(made)["closed"].error)
    assert errors[-2] < 0.9 * errors[-1]


def test_a_level_that_the_time_limit_leaves_is_one_at_which_the_utility_is_reached(table, clock):
    least = least_epsilon(table, 0.3, mechanism="unconditional")
    clock(60)
    with pytest.warns(Remark, match="may be reached below it") as said:
        level = least_epsilon(table, 0.3, mechanism="unconditional", max_seconds=60)
    assert level > least
    assert f"is reached at the level {level:g}," in str(said[0].message)
    (found,) = design_channel(table, level, mechanisms=["unconditional"]).candidates
    assert found.nmi >= 0.3


@pytest.mark.parametrize("precise", few(["pairs"], more=["shares"]))
def test_tables_of_columns_are_precise_if_they_have_to_be(precise):
    """Beside useful columns, and no less precise than by a design for whole records."""
    labels = [("no", "x"), ("no", "y"), ("yes", "x")]
    counts = np.random.default_rng(0).integers(20, 200, (3, 2))
    table = CountTable(("a", "b"), ("u",), tuple(labels), (("s",), ("t",)), counts)
    asked = {"mechanisms": ["frequencies"], "purpose": "frequencies"}
    own, cells = (design_channel(table, 1.0, precise=some, **asked) for some in (precise, "cells"))
    best, other = own.best(), cells.best()
    rows = column_quantities(table, 1 if precise == "shares" else 2)[1]
    assert rows.sum() == 3.0 * 6.0  # three tables, in each of which every record is once
    errors = [estimation_error(c.channel, table.expected, rows) for c in (best, other)]
    assert best.asked == pytest.approx(math.sqrt(errors[0] / len(rows) / table.records))
    assert own.error_of(best) == best.asked
    assert errors[0] <= errors[1] * 1.02
