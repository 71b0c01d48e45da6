import math
import re

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Method
from reproduction.results.tables import (
    CHECKS,
    HEURISTIC,
    MEASURED,
    OPTIMAL,
    PRINTED,
    RESULTS,
    Check,
    Printed,
    Result,
    Schema,
    TableError,
    relative_gap,
    select,
)


def row(**changes):
    """Return the row of an optimum, as plain values, with the gap of its value and bound."""
    plain = {
        "paper": "p",
        "experiment": "e",
        "size": "2 x 5",
        "instance": "sex, race",
        "beta": 0.05,
        "order": 2.0,
        "distortion": math.nan,
        "mechanism": "polyopt",
        "epsilon": 0.5,
        "metric": "nmi",
        "value": 0.25,
        "unit": "1",
        "direction": "max",
        "bound": 0.5,
        "certified": True,
        "status": "optimal",
        "outputs": 4,
        "iterations": 3,
        "privacy": 0.5,
        "privacy_limit": 0.5,
        "epsilon_unit": "nats",
        "conditional_epsilon": math.inf,
        "conditional_privacy": 7.0,
        "row_sum_error": 1e-16,
        "method": "a class: an engine (a size)",
        "note": "",
        **changes,
    }
    return {"gap": relative_gap(plain["value"], plain["bound"]), **plain}


NUMBERS = ("value", "bound", "gap", "privacy", "privacy_limit", "row_sum_error")
LEFT_OUT = {
    "mechanism": "unconditional",
    "status": "skipped",
    "certified": False,
    "note": "Too large.",
    "outputs": None,
    "iterations": None,
    **dict.fromkeys(NUMBERS, math.nan),
}
OBSERVED = {
    "metric": "worst_case_epsilon",
    "status": "measured",
    "certified": False,
    "direction": "-",
    "value": 7.0,
    "bound": math.nan,
    "gap": math.nan,
}
LEAST = {"direction": "min", "value": 0.5, "bound": 0.25}


def table(*changes):
    return pd.DataFrame([row(**change) for change in changes])


# Schemas --------------------------------------------------------------------------------------------------


def test_conforming_sorts_and_keeps_types_missing_values_and_infinities():
    frame = table({"epsilon": 2.0}, {"beta": math.nan}, {}, LEFT_OUT, {**OBSERVED, "value": math.inf})
    found = RESULTS.conform(frame)
    assert list(found) == list(RESULTS.columns)
    assert found.dtypes.astype("str").to_dict() == dict(RESULTS.columns)
    # Missing keys come last.
    assert list(found["epsilon"]) == [0.5, 0.5, 2.0, 0.5, 0.5]
    assert math.isnan(found["beta"].iloc[-1])
    assert found["outputs"].isna().sum() == 1
    assert math.isinf(found["value"].max())
    pd.testing.assert_frame_equal(RESULTS.conform(found), found)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"value": 0.6}, "has value 0.6 beyond its bound 0.5"),
        ({**LEAST, "bound": 0.75}, "has value 0.5 beyond its bound 0.75"),
        ({"value": math.nan}, "has no value; only skipped rows may lack one"),
        ({"bound": math.nan}, "has no bound"),
        ({**LEAST, "bound": -math.inf}, "has no bound"),
        ({"gap": -1e-9}, "has the gap -1e-09"),
        ({"value": 0.2499, "gap": 0.5}, "has the gap 0.5; between 0.2499 and 0.5 it is another"),
        ({"privacy": 0.5 + 2e-9}, "has the privacy level"),
        ({"conditional_privacy": -0.1}, "has the level -0.1 given U; a level is 0 or more"),
        ({"conditional_epsilon": 0.5, "conditional_privacy": 0.5 + 2e-9}, "given U; its limit is 0.5"),
        ({"row_sum_error": 2e-9}, "has row sums that are off by 2e-09"),
        ({"status": "best"}, "has the unknown status best"),
        ({"unit": "bit"}, "has the unknown unit bit"),
        ({"epsilon_unit": ""}, "has the unknown unit  of epsilon"),
        ({"direction": "up"}, "has the unknown direction up"),
        ({"status": "skipped", "certified": False}, "is skipped but has the value 0.25"),
        ({**LEFT_OUT, "note": ""}, "is skipped without a reason"),
        ({"certified": False}, "is optimal, which certified contradicts"),
        ({"direction": "-"}, "is certified without a direction"),
        ({**OBSERVED, "bound": 8.0}, "has the bound 8.0 and no direction"),
        ({"value": 0.2497}, "has the value 0.2497, less than a smaller level has"),
    ],
)
def test_a_certificate_that_fails_is_an_error_naming_the_row(change, sentence):
    with pytest.raises(TableError, match=re.escape("instance=sex, race")) as error:
        RESULTS.conform(table({"epsilon": 0.1, "privacy_limit": 0.6}, change))
    assert sentence in str(error.value)
    assert "epsilon=0.5" in str(error.value)
    assert "distortion" not in str(error.value)
    assert str(error.value).endswith(".")


def test_what_a_row_may_be():
    rows = [
        {},
        LEAST | {"metric": "leakage"},
        LEFT_OUT,
        OBSERVED,
        {"mechanism": "srr", "status": "closed form", "certified": False},
        {"mechanism": "ir", "status": "heuristic", "certified": False, "privacy": 0.5 + 1e-10},
        {"mechanism": "large", "status": "bounded", "value": 0.0},
        {"epsilon": 1.0, "value": 0.2499},
        {"epsilon": 1.0, "metric": "leakage", "direction": "min", "value": 0.4, "bound": 0.25},
        {"epsilon": 1.0, "mechanism": "ir", "status": "heuristic", "certified": False, "value": 0.1},
    ]
    assert len(RESULTS.conform(table(*rows))) == len(rows)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (table({}).assign(colour="red", size2=1), "The result table has the unknown columns colour, size2."),
        (table({}).drop(columns=["gap", "note"]), "The result table lacks the columns gap, note."),
        (table({}, {}), "is there more than once"),
        (table({}).assign(value="much"), "Column value of the result table has a text; it must be float64."),
        (table({}).assign(value=[[1.0]]), "Column value of the result table has object values; it must be"),
        (table({}).assign(paper=2024), "Column paper of the result table has a value that is not text."),
        (table({"outputs": 2.5}), "Column outputs of the result table has float64 values; it must be Int64."),
        (table({}).assign(certified="no"), "Column certified of the result table has a value that is not"),
    ],
)
def test_a_table_of_another_shape_is_refused(frame, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        RESULTS.conform(frame)


def test_columns_that_must_be_finite():
    schema = Schema("heights", {"name": "str", "height": "float64"}, ("name",), finite=("height",))
    assert len(schema.table([{"name": "a", "height": 1.0}])) == 1
    for height in (math.nan, math.inf, -math.inf):
        with pytest.raises(TableError, match=r"Row name=b has no finite number height\."):
            schema.table([{"name": "a", "height": 1.0}, {"name": "b", "height": height}])


# Results --------------------------------------------------------------------------------------------------

CHANNEL = Channel(np.array([[0.75, 0.25], [0.25, 0.75]]))


def test_a_row_without_a_status_is_a_measurement():
    made = Result("p", "e", "000", "rr", "tv", 0.5, unit="1")
    (found,) = RESULTS.table([made]).to_dict("records")
    assert (found["status"], found["direction"], found["certified"]) == (MEASURED, "-", False)
    assert math.isnan(found["bound"])
    assert math.isnan(found["gap"])
    assert (found["size"], found["note"], found["epsilon_unit"]) == ("", "", "nats")
    assert found["epsilon"] == found["privacy"] == found["privacy_limit"] == math.inf
    assert found["row_sum_error"] == 0.0
    assert all(math.isnan(found[name]) for name in ("beta", "order", "distortion"))


def test_a_channel_enters_its_row():
    made = Result(
        "p", "e", "000", "rr", "tv", 0.5, unit="nats", channel=CHANNEL, epsilon=2.0, privacy=1.0,
        direction="max", bound=1.0, status=OPTIMAL, iterations=7,
        method=Method("a class", "an engine", fallbacks=("another, as it failed",)),
    )  # fmt: skip
    (found,) = RESULTS.table([made]).to_dict("records")
    assert (found["outputs"], found["iterations"]) == (2, 7)
    assert found["method"] == "a class: an engine; fallback: another, as it failed"
    assert found["row_sum_error"] == 0.0
    assert (found["epsilon"], found["privacy"], found["privacy_limit"]) == (2.0, 1.0, 2.0)
    assert (found["gap"], found["certified"]) == (0.5, True)
    assert Result("p", "e", "0", "m", "x", 1.0, unit="1", channel=CHANNEL, outputs=5).outputs == 5


@pytest.mark.parametrize(
    ("direction", "bound", "kept"),
    [
        ("max", 1.0 - 1e-12, 1.0),
        ("max", 1.0 + 1e-12, 1.0 + 1e-12),
        ("min", 1.0 + 1e-12, 1.0),
        ("min", 1.0 - 1e-12, 1.0 - 1e-12),
    ],
)
def test_a_bound_that_is_passed_by_rounding_becomes_the_value(direction, bound, kept):
    made = Result("p", "e", "0", "m", "x", 1.0, unit="1", direction=direction, bound=bound, status=OPTIMAL)
    assert made.bound == kept
    assert len(RESULTS.table([made])) == 1


@pytest.mark.parametrize(("direction", "bound"), [("max", 1.0 - 1e-11), ("min", 1.0 + 1e-11)])
def test_a_bound_that_is_passed_by_more_is_an_error(direction, bound):
    made = Result("p", "e", "0", "m", "x", 1.0, unit="1", direction=direction, bound=bound, status=HEURISTIC)
    with pytest.raises(TableError, match="beyond its bound"):
        RESULTS.table([made])


# Checks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "relation", "limit", "tolerance", "holds"),
    [
        (1.0, "<=", 1.0, 0.0, True),
        (1.1, "<=", 1.0, 0.0, False),
        (1.1, "<=", 1.0, 0.2, True),
        (0.9, ">=", 1.0, 0.0, False),
        (0.9, ">=", 1.0, 0.2, True),
        (1.0, "=", 1.0, 0.0, True),
        (1.0 + 1e-9, "=", 1.0, 0.0, False),
        (1.0 - 1e-9, "=", 1.0, 1e-8, True),
        (math.inf, "=", math.inf, 0.0, True),
        (math.inf, "<=", 1.0, 1.0, False),
    ],
)
def test_whether_a_check_holds_follows_from_its_numbers(measured, relation, limit, tolerance, holds):
    made = Check("p", "P-1", "000", "outputs", measured, relation, limit, tolerance=tolerance)
    assert made.holds is holds
    (found,) = CHECKS.table([made]).to_dict("records")
    assert found["holds"] is holds
    with pytest.raises(TableError, match=f"instance=000, quantity=outputs says holds: {not holds}, which"):
        CHECKS.table([vars(made) | {"holds": not holds}])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"measured": math.nan}, "has no number to compare"),
        ({"relation": "<"}, "has the unknown relation <"),
        ({"unit": "bit"}, "has the unknown unit bit"),
        ({"tolerance": -1.0}, "has the tolerance -1.0; a tolerance is 0 or more"),
    ],
)
def test_a_check_without_sense_is_an_error_naming_the_row(change, sentence):
    sound = Check("p", "P-1", "000", "outputs", 1.0, "<=", 2.0, size="3", order=0.5)
    assert len(CHECKS.table([sound])) == 1
    with pytest.raises(TableError) as error:
        CHECKS.table([vars(sound) | change])
    assert str(error.value).startswith(
        "Row paper=p, claim=P-1, size=3, instance=000, order=0.5, quantity=outputs"
    )
    assert sentence in str(error.value)


# Printed numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("computed", "said", "digits", "agrees"),
    [
        (1.23456, 1.2346, 4, True),
        (1.23444, 1.2346, 4, False),
        (10.4, 10, 0, True),
        (1.0, None, 4, False),
    ],
)
def test_a_number_agrees_to_the_printed_digits(computed, said, digits, agrees):
    made = Printed("p", "Example 1", 1, "B", computed, said, digits=digits, note="Because.")
    assert made.agrees is agrees
    assert made.note == ("" if agrees else "Because.")
    assert len(PRINTED.table([made])) == 1


def test_a_printed_number_that_differs_needs_a_note():
    with pytest.raises(TableError, match="where=Example 1, place=1 differs from print without a note"):
        PRINTED.table([Printed("p", "Example 1", 1, "B", 1.0, 2.0, digits=4)])
    assert len(PRINTED.table([Printed("p", "Example 1", 1, "B", 1.0, None, digits=4)])) == 1
    with pytest.raises(TableError, match="has no computed value"):
        PRINTED.table([Printed("p", "Example 1", 1, "B", math.nan, None, digits=4)])


# Selecting ------------------------------------------------------------------------------------------------


def test_select():
    frame = table({}, {"epsilon": 2.0}, {"mechanism": "ir"}, {"mechanism": "srr"})
    assert len(select(frame)) == 4
    assert select(frame, mechanism="polyopt")["epsilon"].tolist() == [0.5, 2.0]
    assert select(frame, mechanism="polyopt", epsilon=2.0)["epsilon"].tolist() == [2.0]
    assert select(frame, mechanism=["ir", "srr", "grr"])["mechanism"].tolist() == ["ir", "srr"]
    assert select(frame, mechanism="grr").empty


def test_relative_gap():
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, 2.0) == relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(0.0, 2.0) == 1.0
    assert math.isnan(relative_gap(math.nan, math.nan))
    assert math.isnan(relative_gap(0.0, math.nan))
