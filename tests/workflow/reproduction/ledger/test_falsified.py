"""No claim of the ledger passes the opposite of what its paper states."""

import math
import re
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from falsified import changed, of_checks
from reproduction.ledger.claims import (
    ANOTHER_READING,
    NOT_CHECKABLE,
    NOT_COMPUTED,
    NOT_REPRODUCED,
    REPRODUCED,
    ROWS,
    claims_of,
    decide,
)
from reproduction.planning.paper import papers
from reproduction.results.tables import CHECKS, Check, select

PAPERS = papers()
LEDGER = {claim.id: claim for paper in PAPERS.values() for claim in claims_of(paper)}


def case(claim):
    return import_module(f"falsified.{LEDGER[claim].paper}").cases()[claim]


def test_every_claim_has_a_case():
    cases = [claim for key in PAPERS for claim in import_module(f"falsified.{key}").cases()]
    assert sorted(cases) == sorted(LEDGER)
    assert all(case(claim).instead for claim in LEDGER)


@pytest.mark.parametrize("claim", LEDGER)
def test_what_the_paper_states_is_reproduced(claim):
    """Also of the claims that a full run does not reproduce: no rule is too strict for every table."""
    found = decide(LEDGER[claim], case(claim).said)
    assert found.verdict == REPRODUCED, found.explanation


def test_another_reading():
    """One test for all: which claims have one is known when all tables are made, which takes long."""
    read = {claim: case(claim).read for claim in LEDGER if case(claim).read}
    verdicts = {claim: decide(LEDGER[claim], tables).verdict for claim, tables in read.items()}
    assert read
    assert {claim: found for claim, found in verdicts.items() if found != ANOTHER_READING} == {}


@pytest.mark.parametrize("claim", LEDGER)
def test_anything_else_is_not_reproduced(claim):
    verdicts = {words: decide(LEDGER[claim], tables).verdict for words, tables in case(claim).instead.items()}
    assert {words: found for words, found in verdicts.items() if found != NOT_REPRODUCED} == {}


@pytest.mark.parametrize(
    "claim", [claim for claim, entry in LEDGER.items() if entry.check in ("every_check_holds", "theorem")]
)
def test_every_kind_of_check_is_broken_on_its_own(claim):
    name = LEDGER[claim].tables[0]

    def broken(tables):
        return set(select(tables[name], claim=claim, holds=False)["quantity"])

    one = [broken(tables) for tables in case(claim).instead.values()]
    assert {len(quantities) for quantities in one} == {1}
    kinds = {
        without_numbers(quantity) for quantity in select(case(claim).said[name], claim=claim)["quantity"]
    }
    assert {without_numbers(quantity) for quantities in one for quantity in quantities} == kinds


def without_numbers(quantity):
    return re.sub(r"[\d.]+", "", quantity)


@pytest.mark.parametrize("claim", LEDGER)
def test_tables_without_rows_decide_nothing(claim):
    """Each table that a claim names, empty on its own; the table shown with the claim is never optional."""
    first, *others = (name for name in LEDGER[claim].tables if name in case(claim).said)
    for name in (first, *others):
        found = decide(LEDGER[claim], {**case(claim).said, name: case(claim).said[name][:0]})
        assert found.verdict == NOT_CHECKABLE or (name != first and found.verdict == REPRODUCED)


@pytest.mark.parametrize("check", dict.fromkeys(entry.check for entry in LEDGER.values()))
def test_no_verdict_becomes_better_by_what_is_no_number(check):
    """All numbers of a column are lost: the finding does not change, or it is none."""
    claim = next(entry for entry in LEDGER.values() if entry.check == check)
    first = next(iter(case(claim.id).instead.values()))
    for tables, damage in ((case(claim.id).said, math.nan), (first, math.inf)):
        before = decide(claim, tables)
        for name, table in tables.items():
            for column in table.select_dtypes("float64"):
                # What is stated to be infinite may be.
                if damage in claim.arguments.values() or not np.isfinite(table[column]).any():
                    continue
                damaged = {**tables, name: table.assign(**{column: damage})}
                found = decide(claim, damaged)
                assert found == before or found.verdict not in (REPRODUCED, ANOTHER_READING), (name, column)


def test_a_part_of_what_was_written_decides_nothing():
    claim, said = LEDGER["K-L26"], case("K-L26").said["theorems"]
    said.attrs[ROWS] = len(said)
    assert decide(claim, {"theorems": said}).verdict == REPRODUCED
    found = decide(claim, {"theorems": said[:-1]})
    assert found.verdict == NOT_COMPUTED
    assert found.explanation == f"The table theorems has {len(said) - 1} of its {len(said)} rows."


def test_every_kind_of_check_has_another_number():
    table = CHECKS.table(
        Check("p", "P-1", "", quantity, 1.0, "<=", 1.0) for quantity in ("width at 1", "width at 2", "height")
    )
    found = of_checks("P-1", "checks", table, {"width": 2.0, "height": lambda limit: limit + 2.0})
    pd.testing.assert_frame_equal(found.said["checks"], table)
    assert found.instead["height"]["checks"]["measured"].to_list() == [3.0, 1.0, 1.0]
    assert found.instead["width"]["checks"]["holds"].to_list() == [True, False, True]
    for kinds in ({"width": 2.0}, {"": 2.0, "height": 2.0}, {"width": 2.0, "height": 2.0, "depth": 2.0}):
        with pytest.raises(ValueError, match="do not divide height, width at 1, width at 2"):
            of_checks("P-1", "checks", table, kinds)
    with pytest.raises(ValueError, match="No row has"):
        changed(table, 2.0, "measured", quantity="depth")
