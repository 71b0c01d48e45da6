"""Numbers that texts quote from the result tables."""

from dataclasses import replace

import pandas as pd
import pytest

from reproduction.ledger.quotes import Highlight, Quote, Stated, highlights_of, read_number
from reproduction.planning.paper import PaperError, papers

TABLE = pd.DataFrame(
    {"size": ["2 x 5", "2 x 5", "2 x 6"], "value": [0.25, 0.5, 0.75], "bound": [0.5, 0.5, float("nan")]}
)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"take": "max", "form": ".0%"}, "75%"),
        ({"take": "min", "rows": "size == '2 x 5'"}, "0.25"),
        ({"take": "count", "rows": "value > 0.3"}, "2"),
        ({"column": "value / bound", "take": "min"}, "0.5"),
        ({"column": "value > 0.3", "take": "mean", "form": ".0%"}, "67%"),
    ],
)
def test_numbers_are_looked_up(entry, expected):
    assert Quote(**{"table": "t", "column": "value"} | entry).text(TABLE) == expected


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [("1.92", 1.92, 0.01), ("2,035", 2035.0, 1.0), ("37.1%", 0.371, 0.001), ("5.5e-7", 5.5e-7, 1e-8)],
)
def test_numbers_are_read_with_their_last_digit(text, number, unit):
    assert read_number(text) == pytest.approx((number, unit), rel=1e-12)


@pytest.mark.parametrize(
    ("said", "value", "more", "agrees"),
    [
        ("82%", 0.8245, {}, True),
        ("82%", 0.8265, {}, False),
        # Three standard errors, of 0.002, are added.
        ("82%", 0.8305, {"standard_error": "error"}, True),
        ("82%", 0.8325, {"standard_error": "error"}, False),
        ("1%", 0.0099, {"relation": "at most"}, True),
        ("1%", 0.0101, {"relation": "at most"}, False),
    ],
)
def test_a_number_that_is_stated_agrees_with_its_table_or_not(said, value, more, agrees):
    table = pd.DataFrame({"value": [value], "error": [0.002]})
    assert Stated("t", "value", said=said, **more).agrees(table) == agrees


def test_what_cannot_be_looked_up_gets_a_sentence():
    with pytest.raises(ValueError, match=r"has 2 numbers value where size == '2 x 5'; say which one to take"):
        Quote("t", "value", "size == '2 x 5'").number(TABLE)
    with pytest.raises(ValueError, match="The table t has no number value where value > 1"):
        Quote("t", "value", "value > 1").number(TABLE)
    with pytest.raises(ValueError, match="A quote takes 'most'; allowed are only, min"):
        Quote("t", "value", take="most")


def test_a_sentence_without_its_table_or_its_row_is_left_out():
    numbers = {"x": {"table": "t", "column": "value", "take": "max"}}
    highlight = Highlight("p", "So.", numbers=numbers)
    assert highlight.fill("It is {x}.", {"t": TABLE}) == "It is 0.75."
    assert highlight.fill("It is {x}.", {}) is None
    assert highlight.fill("It is {x}.", {"t": TABLE[:0]}) is None
    # Only what a sentence names is looked up, and other braces are those of LaTeX.
    assert highlight.fill("It is $e^{-y}$.", {}) == "It is $e^{-y}$."


def test_highlights_name_what_there_is():
    for paper in papers().values():
        ids = {claim["id"] for claim in paper.claims}
        for highlight in highlights_of(paper):
            assert highlight.claim or highlight.figure
            assert highlight.claim in {"", *ids}
            text = highlight.found + highlight.lead
            assert all(f"{{{name}}}" in text for name in highlight.numbers)
            assert highlight.matters
    paper = papers()["kairouz2016"]
    right = {"stated": "x", "found": "{x}", "matters": "x"}
    wrong = {**right, "numbers": {"x": {"table": "tea", "column": "value"}}}
    with pytest.raises(
        PaperError, match="Highlight 1 of kairouz2016 quotes the table tea; kairouz2016 has fig3"
    ):
        highlights_of(replace(paper, highlights=[wrong]))
    with pytest.raises(PaperError, match="names the figure fig99; kairouz2016 has fig2"):
        highlights_of(replace(paper, highlights=[{**right, "figure": "fig99"}]))
    with pytest.raises(PaperError, match="x of a highlight of kairouz2016 lacks column"):
        highlights_of(replace(paper, highlights=[{**right, "numbers": {"x": {"table": "fig3"}}}]))
    with pytest.raises(PaperError, match="names no claim, so it must say what is stated and what was found"):
        highlights_of(replace(paper, highlights=[{**right, "found": ""}]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"said": "1", "relation": "near"}, "The relation is 'near'; allowed are about, at most"),
        ({"said": "some"}, "could not convert string to float: 'some'"),
        ({}, "could not convert string to float: ''"),
    ],
)
def test_what_states_no_number_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Stated("t", "value", **given)
