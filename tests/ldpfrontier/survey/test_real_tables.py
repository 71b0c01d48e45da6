"""Designs on real tables: they end, independent methods find the same levels, and estimates come near."""

import csv
import math
import re
from dataclasses import asdict
from functools import cache
from itertools import permutations

import highspy
import numpy as np
import pytest
from scipy.stats import chi2

from ldpfrontier import RenyiBall
from ldpfrontier.survey import CountTable, Design, design_channel, estimate_distribution
from ldpfrontier.survey.channel_file import read_channel
from ldpfrontier.survey.cli import main
from ldpfrontier.survey.estimation import inversion, quantities
from ldpfrontier.survey.sampling import Sampler
from oracles.conic import barrier_epsilons, conic_epsilon
from support.owndata import seeded
from support.realtables import NAMES, real_table

#: Tables that are designed for within seconds, against outsiders; the others are for --long.
QUICK = ("UCBAdmissions 2x2", "PreSex 2x2", "Titanic 2x4")

#: Most linear programs of a design for one of them; two to three times as many as were seen.
MOST_PROGRAMS = 200

#: Most comparisons of two sensitive values at an output that the barrier method has the time for.
MOST_COMPARISONS = 4_000

#: What is chosen against outsiders at level 1: for frequencies, and for information.
CHOSEN = {
    "UCBAdmissions 2x2": ("frequencies", "exact"),
    "PreSex 2x2": ("frequencies", "exact"),
    "Titanic 2x4": ("frequencies", "exact"),
    "UCBAdmissions 2x6": ("frequencies", "exact"),
    "anes96 2x7": ("frequencies", "exact"),
    "DanishWelfare 3x4": ("frequencies", "exact"),
    "HairEyeColor 4x4": ("frequencies", "exact"),
    "fair 5x4": ("frequencies", "exact"),
    "anes96 7x7": ("frequencies", "exact"),
    "random 10x12": ("closed", "exact"),
}

each_table = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in NAMES]
)


@cache
def counted_design(name: str) -> tuple[Design, int]:
    """Return a design at level 1, and how many linear programs it took."""
    programs = 0
    run = highspy.Highs.run

    def counted(lp):
        nonlocal programs
        programs += 1
        return run(lp)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(highspy.Highs, "run", counted)
        made = design_channel(real_table(name), 1.0, against="outsider")
    return made, programs


def solved(name):
    made, _ = counted_design(name)
    return [candidate for candidate in made.candidates if candidate.channel is not None]


# They end, and say what they chose ------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_a_design_takes_few_linear_programs(name):
    made, programs = counted_design(name)
    assert 0 < programs <= MOST_PROGRAMS
    assert all(candidate.channel is not None for candidate in made.candidates)


@each_table
def test_the_choice_is_the_best_for_its_purpose(name):
    made, _ = counted_design(name)
    frequencies, information = CHOSEN[name]
    # Where two are nearly as good, as on two tables, another optimum may change the choice.
    assert next(c.error for c in made.candidates if c.name == frequencies) <= 1.05 * made.best().error
    assert made.best("information").name == information
    usable = [c for c in solved(name) if c.private]
    for candidate in usable:
        assert candidate.nmi <= made.best("information").nmi <= made.bound
        assert not candidate.error < made.best().error
    assert {c.name for c in solved(name)} - {c.name for c in usable} == {"nr"}


def written(path, table: CountTable):
    """Write a table as a file of counts."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([*table.attributes, "count"])
        rows.writerows([*label, n] for label, n in zip(table.labels, table.counts.flat, strict=True))
    return path


def lines_of(text: str, title: str) -> dict[str, list[str]]:
    """Return the cells of a printed table by mechanism: the mark of the chosen one, and its numbers."""
    rows = text.split(title)[1].split("\n\n")[0].splitlines()
    found = [re.split(r"\s{2,}", row) for row in rows if row.startswith(("    ", "->"))]
    return {name: [mark, *cells] for mark, name, *cells in found}


@each_table
def test_what_is_printed_is_what_was_found(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table, (made, _) = real_table(name), counted_design(name)
    best = made.best()
    path = written(tmp_path / "t.csv", table)
    columns = ["--sensitive", *table.sensitive, "--useful", *table.useful]
    monkeypatch.setattr("ldpfrontier.survey.design.design_channel", lambda *_, **__: made)
    assert main(["design", "--table", str(path), *columns, "--epsilon", "1", "--details"]) == 0
    text = capsys.readouterr().out
    protection, use = lines_of(text, "WHOM IT PROTECTS FROM"), lines_of(text, "HOW USEFUL IT IS")
    shown = {candidate.name for candidate in made.candidates}
    assert shown <= protection.keys()
    assert len([row for row in protection.values() if row[0] == "->"]) == 1
    for c in solved(name):
        levels = list(asdict(c.levels).values())
        numbers = ["none" if level > 20.0 else f"{level:.3f}" for level in levels]
        guesses = [f"{guess.before:.3f} > {guess.after:.3f}" for guess in c.guesses]
        mark = "->" if c is best else ""
        assert protection[c.name] == [mark, *numbers, *guesses, c.title]
        errors = ["-" if math.isnan(e) else ">1" if e > 1 else f"{e:.4f}" for e in c.errors]
        assert use[c.name][:-1] == [mark, f"{c.nmi:.4f}", *errors]
    assert f"\nThe mechanism chosen for frequencies is {best.name}, at epsilon 1.\n" in text
    said = " ".join(text.split())
    assert ("reports are too few" in said) == (best.error > 0.5 / table.counts.size)
    # The strongest promise that is kept: randomized response protects from anyone.
    whom = r"(for someone who knows nothing else|whatever anyone knows or believes)"
    promised = re.search(rf"factor of 2\.71\d+ \(level ([01](?:\.\d+)?)\), {whom}", said)
    assert float(promised[1]) <= 1.0
    assert read_channel("channel.json").verified().certificate.mechanism == best.name


# Levels ---------------------------------------------------------------------------------------------------


def listed_levels(matrix, shape) -> tuple[float, float, float]:
    """Return the levels given U, under every distribution and of all of a record, from all pairs of rows."""
    inputs = [(s, u) for s in range(shape[0]) for u in range(shape[1])]
    levels = [0.0, 0.0, 0.0]
    for (x, (s, u)), (z, (s2, u2)) in permutations(enumerate(inputs), 2):
        told = matrix[x] > 0
        with np.errstate(divide="ignore"):
            level = float(np.log(matrix[x, told] / matrix[z, told]).max())
        kinds = (s != s2 and u == u2, s != s2, True)
        levels = [max(old, level) if counts else old for old, counts in zip(levels, kinds, strict=True)]
    return tuple(levels)


def level_over_ball(table: CountTable, channel, method=barrier_epsilons) -> float:
    """Return the level over F by convex programming, F from its definition."""
    n, k = table.records, table.counts.size
    ball = RenyiBall(table.distribution, math.log1p(chi2.isf(0.05, k - 1) / n), 2.0)
    if method is conic_epsilon:
        level, unknown = conic_epsilon(ball, channel)
        assert unknown == 0
        return level
    levels, members = barrier_epsilons([ball], [channel])
    # The worst distributions that were found are in F, and the level is attained on its boundary.
    for P in members[0]:
        cells = table.distribution > 0
        divergence = math.log((table.distribution[cells] ** 2 / P[cells]).sum())
        assert divergence <= ball.radius + 1e-9
        assert P.sum() == pytest.approx(1.0)
    return float(levels[0])


@each_table
def test_all_levels_are_those_of_convex_programming_and_enumeration(name):
    table, compared = real_table(name), 0
    for c in solved(name):
        if c.channel.matrix.shape[1] * math.perm(len(table.rows), 2) <= MOST_COMPARISONS:
            compared += 1
            assert c.levels.outsider == pytest.approx(level_over_ball(table, c.channel), abs=1e-8), c.name
        found = listed_levels(c.channel.matrix, table.counts.shape)
        assert (c.levels.insider, c.levels.anyone, c.levels.record) == pytest.approx(found, abs=1e-12), c.name
    assert compared == len(solved(name)) if name in QUICK else compared >= 2


@each_table
def test_what_is_sampled_has_the_levels_that_the_file_states(name):
    """For the chosen mechanisms, after their probabilities became whole numbers."""
    table, (made, _) = real_table(name), counted_design(name)
    for candidate in {made.best(), made.best("information")}:
        private = made.private(candidate)
        few = private.weights.shape[1] * math.perm(len(table.rows), 2) <= MOST_COMPARISONS
        stated, matrix = private.certificate.levels, private.weights / 2.0**62
        found = listed_levels(matrix, table.counts.shape)
        assert (stated.insider, stated.anyone, stated.record) == pytest.approx(found, abs=1e-12)
        if few or name in QUICK:
            over_ball = level_over_ball(table, private.channel)
            assert stated.outsider == pytest.approx(over_ball, abs=1e-8)
            assert over_ball <= 1.0 + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES[:7])
def test_conic_programs_have_the_same_levels_over_the_ball(name):
    table = real_table(name)
    for c in solved(name):
        if c.channel.matrix.shape[1] <= 60:
            conic = level_over_ball(table, c.channel, conic_epsilon)
            assert c.levels.outsider == pytest.approx(conic, abs=1e-6), c.name


# Estimates ------------------------------------------------------------------------------------------------


def simulated_reports(private, table: CountTable, repetitions: int):
    """Return counts of the reports of as many records as were counted, shape (repetitions, outputs)."""
    rng = np.random.default_rng(11)
    sampler = Sampler(private.weights, seeded(12))
    records = rng.multinomial(table.records, table.distribution.ravel(), size=repetitions)
    inputs = np.arange(table.counts.size)
    reports = [sampler.draw(np.repeat(inputs, counts)) for counts in records]
    return np.array([np.bincount(drawn, minlength=private.weights.shape[1]) for drawn in reports])


@each_table
def test_estimates_err_as_the_table_predicts(name):
    """Root mean square errors of 400 simulated surveys, within four standard errors of the prediction."""
    table, (made, _) = real_table(name), counted_design(name)
    asked, vectors = quantities(table)
    truth = vectors @ table.distribution.ravel()
    groups = [
        np.array([quantity.attributes == group for quantity in asked])
        for group in (table.attributes, table.sensitive, table.useful)
    ]
    tried = 0
    for c in solved(name):
        if not c.private or c.channel.matrix.shape[1] > 300:
            continue
        private = made.private(c)
        counts = simulated_reports(private, table, 400)
        linear = inversion(private.channel.matrix, table)
        errors = (counts / table.records) @ linear.weights.T - truth
        for members, predicted in zip(groups, c.errors, strict=True):
            assert linear.shown[members].all() == math.isfinite(predicted)
            if math.isfinite(predicted):
                tried += 1
                squares = (errors[:, members] ** 2).mean(axis=1)
                doubt = 4.0 * squares.std() / math.sqrt(len(squares))
                assert squares.mean() == pytest.approx(predicted**2, abs=doubt), c.name
                assert doubt < 0.5 * predicted**2  # or nothing would have been tested
    assert tried >= 6


@each_table
def test_the_command_estimates_what_was_simulated(name):
    """The unbiased ones are those above, and the most likely distribution is not farther from the truth."""
    table, (made, _) = real_table(name), counted_design(name)
    private = made.private(made.best())
    linear, truth = inversion(private.channel.matrix, table), table.distribution.ravel()
    squares = {"likely": 0.0, "unbiased": 0.0}
    for counts in simulated_reports(private, table, 20):
        rows = estimate_distribution(private, counts).frequencies
        unbiased = linear.weights @ (counts / table.records)
        assert [row.unbiased for row in rows] == pytest.approx(unbiased, abs=1e-9)
        for kind in squares:
            squares[kind] += sum((getattr(row, kind) - p) ** 2 for row, p in zip(rows, truth, strict=False))
    assert squares["likely"] <= 1.02 * squares["unbiased"]
