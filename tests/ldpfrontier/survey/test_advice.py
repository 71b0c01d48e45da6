"""Advice for too few reports: every error that it states is that of a design that follows it."""

import itertools
import math

import numpy as np
import pytest

from ldpfrontier.survey import CountTable, count_records, design_channel
from ldpfrontier.survey.advice import advice, too_few
from support.owndata import ROOT

CLOSED = ["grr", "srr", "subset"]


def votes() -> CountTable:
    rng = np.random.default_rng(5)
    counts = rng.integers(20, 400, size=(4, 5))
    rows = tuple((vote,) for vote in "ANUY")
    return CountTable(("vote",), ("region",), rows, tuple((f"r{place}",) for place in range(5)), counts)


def columns() -> CountTable:
    """Return a table with two useful columns, one of them groups of numbers."""
    rng = np.random.default_rng(6)
    labels = tuple(itertools.product(("x", "y", "z"), ("(-inf,18)", "[18,40)", "[40,inf)")))
    return CountTable(
        ("s",), ("u", "age"), (("a",), ("b",)), labels, rng.integers(30, 300, size=(2, len(labels)))
    )


def few_of(table, records, error=None, mechanisms=CLOSED, epsilon=1.0, against="acquaintance"):
    made = design_channel(table, epsilon, against=against, mechanisms=mechanisms, records=records)
    return too_few(made, made.best(), error)


def least(table, records, epsilon=1.0):
    names = CLOSED if table.useful else ["grr", "subset"]
    against = "acquaintance" if table.useful else None
    return design_channel(table, epsilon, against=against, mechanisms=names, records=records).best()


def joined(table, place, pair):
    """Return the counts of a table in which two rows (place 0) or columns (1) are added up."""
    counts = np.swapaxes(table.counts, 0, place)
    rest = [value for value in range(len(counts)) if value not in pair]
    together = np.vstack([counts[list(pair)].sum(axis=0), counts[rest]])
    labels = tuple((str(value),) for value in range(len(together)))
    names = [table.rows, table.columns]
    names[place] = labels
    return CountTable(("s",), ("u",), *names, np.swapaxes(together, 0, place))


def test_reports_and_levels_that_are_enough():
    table = votes()
    few = few_of(table, 2000)
    assert few.aim == 0.5 / 20
    reports, level, *_ = advice(few)
    number = int(reports.what.removesuffix(" reports").replace(",", ""))
    assert least(table, number).error <= few.aim < least(table, number - 1).error
    assert reports.error == pytest.approx(least(table, number).error)
    epsilon = float(level.what.removeprefix("epsilon "))
    assert level.error == pytest.approx(least(table, 2000, epsilon).error)
    assert level.error <= few.aim < least(table, 2000, epsilon - 0.01).error


def test_a_column_that_is_left_out():
    table = columns()
    found = {one.what: one for one in advice(few_of(table, 300)) if one.what.startswith("without")}
    assert list(found) == ["without age", "without u"] or list(found) == ["without u", "without age"]
    blocks = table.counts.reshape(2, 3, 3)
    for name, axis in (("u", 1), ("age", 2)):
        labels = tuple((value,) for value in "123")
        other = CountTable(("s",), ("v",), table.rows, labels, blocks.sum(axis=axis))
        one = found[f"without {name}"]
        best = least(other, 300)
        assert (one.error, one.cells) == (pytest.approx(best.error, rel=1e-9), 6)
        assert one.share < 18 * least(table, 300).error
    # The only useful column may be left out, too, and the only sensitive one may not.
    (alone,) = [one for one in advice(few_of(votes(), 300)) if one.what.startswith("without")]
    flat = CountTable(("vote",), (), votes().rows, ((),), votes().counts.sum(axis=1)[:, None])
    assert (alone.what, alone.error) == ("without region", pytest.approx(least(flat, 300).error))


@pytest.mark.parametrize("error", [None, 0.001])
def test_the_pair_of_values_lowers_the_error_most(error):
    """Among all pairs of rows and of columns none has an error more than a percent lower."""
    table = votes()
    found = advice(few_of(table, 500, error))[-1]
    errors = {}
    for place, size in enumerate(table.counts.shape):
        for pair in itertools.combinations(range(size), 2):
            best = least(joined(table, place, pair), 500)
            names = [table.rows, table.columns][place]
            first, second = sorted(names[value][0] for value in pair)
            cells = 15 if place == 0 else 16
            errors[first, second] = best.error * (cells if error is None else 1), best.error, cells
    stated = {
        (a, b): value for (a, b), value in errors.items() if f"{a!r}" in found.what and f"{b!r}" in found.what
    }
    ((size, absolute, cells),) = stated.values()
    assert (found.error, found.cells) == (pytest.approx(absolute, rel=1e-9), cells)
    assert size <= 1.02 * min(value for value, *_ in errors.values())


def test_optima_are_tried_if_one_was_chosen():
    table = count_records(ROOT / "docs/example/survey.csv", ["illness"], ["region"], count="count")
    few = few_of(table, 3000, 0.015, mechanisms=["association", "grr"], against="acquaintance")
    assert few.best.name == "association"
    found = advice(few)
    level = next(one for one in found if one.what.startswith("epsilon"))
    assert level.mechanism == "association"
    closed = few_of(table, 3000, 0.015)
    slower = next(one for one in advice(closed) if one.what.startswith("epsilon"))
    assert float(level.what.split()[1]) < float(slower.what.split()[1])


def test_enough_reports_need_no_advice():
    assert few_of(votes(), 1_000_000) is None
    assert few_of(votes(), 1_000_000, 1e-5) is not None
    blind = design_channel(votes(), 1.0, against="anyone", mechanisms=["unconditional"], records=10)
    (only,) = blind.candidates
    assert not math.isfinite(only.error)
    assert too_few(blind, only, 0.01) is None
