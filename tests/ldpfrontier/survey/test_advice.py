"""Advice for too few reports: every error that it states is that of a design that follows it."""

import itertools
import math

import numpy as np
import pytest

from ldpfrontier.survey import CountTable, count_records, design_channel
from ldpfrontier.survey.advice import _tried, advice
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


def advised(table, records, error=None):
    made = design_channel(table, 1.0, against="acquaintance", mechanisms=CLOSED, records=records)
    return advice(made, made.best(), error)


def least(table, records, epsilon=1.0):
    names = CLOSED if table.useful else ["grr", "subset"]
    against = "acquaintance" if table.useful else None
    return design_channel(table, epsilon, against=against, mechanisms=names, records=records).best()


def test_reports_and_levels_that_are_enough():
    table = votes()
    aim = 0.5 / 20
    reports, level, *_ = advised(table, 2000)
    number = int(reports.what.removesuffix(" reports").replace(",", ""))
    assert least(table, number).error <= aim < least(table, number - 1).error
    assert reports.error == pytest.approx(least(table, number).error)
    epsilon = float(level.what.removeprefix("epsilon "))
    assert level.error == pytest.approx(least(table, 2000, epsilon).error)
    assert level.error <= aim < least(table, 2000, epsilon - 0.01).error


def test_a_column_that_is_left_out():
    table = columns()
    found = {one.what: one for one in advised(table, 300) if one.what.startswith("without")}
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
    (alone,) = [one for one in advised(votes(), 300) if one.what.startswith("without")]
    flat = CountTable(("vote",), (), votes().rows, ((),), votes().counts.sum(axis=1)[:, None])
    assert (alone.what, alone.error) == ("without region", pytest.approx(least(flat, 300).error))


def test_the_mechanism_that_was_chosen_is_tried_beside_closed_forms():
    table = count_records(ROOT / "docs/example/survey.csv", ["illness"], ["region"], count="count")
    made = design_channel(table, 1.0, mechanisms=["association", "grr"], records=3000)
    one = _tried(made, made.best(), "as it is", table)
    assert (made.best().name, one.mechanism) == ("association", "association")
    assert one.error == pytest.approx(made.best().error, rel=1e-3)
    assert one.error < least(table, 3000).error


def test_enough_reports_need_no_advice():
    assert advised(votes(), 1_000_000) == []
    assert advised(votes(), 1_000_000, 1e-5) != []
    blind = design_channel(votes(), 1.0, against="anyone", mechanisms=["unconditional"], records=10)
    (only,) = blind.candidates
    assert not math.isfinite(only.error)
    assert advice(blind, only, 0.01) == []
