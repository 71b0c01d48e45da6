"""What docs/quoted.yaml says of the pages is there; the command notices others in a run."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from reproduction.ledger.claims import claims_of
from reproduction.ledger.result_tables import CERTIFICATES
from reproduction.planning.paper import papers
from support.programs import program

QUOTED = program("tools/quoted.py")
PAGES = QUOTED.read()

each_page = pytest.mark.parametrize("name", PAGES)


@each_page
def test_every_quote_is_on_its_page_and_of_a_table(name):
    known = papers()
    for quoted in PAGES[name]["quotes"]:
        for number in quoted.numbers():
            paper, _, table = number.quote.table.rpartition("/")
            assert table in [*known[paper or quoted.paper].published_tables, CERTIFICATES]


@each_page
def test_every_bound_is_a_limit(name):
    for number in (number for quoted in PAGES[name]["quotes"] for number in quoted.numbers()):
        counted = number.quote.column == "pairs"
        if number.quote.column == "bound" or (
            not counted and re.search(r"\bbound o[fn]\b", number.quote.rows)
        ):
            assert number.limit in ("up", "down")


@pytest.mark.parametrize("page", [name for name, page in PAGES.items() if page.get("claims")])
def test_a_page_of_results_states_the_numbers_of_the_claims(page):
    claims = {claim.id: claim for claim in claims_of(papers()[PAGES[page]["paper"]])}
    for name in PAGES[page]["claims"]:
        quoted = QUOTED.of_claim(QUOTED.DOCS / f"{page}.md", name)
        assert [number.text for number in quoted.numbers()] == [
            number.said for number in claims[name].stated().values()
        ]


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("beyond/numbers", "## Main results", "## The optimum over F"),
        ("../README", "- **More information", "Bounds on some of these optima"),
    ],
)
def test_every_number_of_the_main_results_is_that_of_a_claim_or_a_table(name, first, last):
    text = (QUOTED.DOCS / f"{name}.md").read_text(encoding="utf-8")
    start, end = text.index(first), text.index(last)
    spans = [place.span() for quoted in PAGES[name]["quotes"] for place in quoted.places]
    left = [
        found[0]
        for found in QUOTED.NUMBER.finditer(
            re.sub(r"\([\w./]+#[^)]*\)", lambda m: " " * len(m[0]), text), start, end
        )
        if not any(begins <= found.start() < ends for begins, ends in spans)
    ]
    assert left == ["3"]  # Theorem 3 of Kalantari et al.


@pytest.fixture
def page(tmp_path):
    page = tmp_path / "page.md"
    rows = "| 0.1 | b | 2.0 |\n| 0.2 | b | 4.0 |\n| 0.2 | b | 8.0 | 1 |\n"
    page.write_text(f"At level 2 it is 12.5% here,\nand 3e-9 there.\n\n{rows}")
    return page


def texts(quoted, tables):
    return [(number.text, number.renewed(tables[number.quote.table])) for number in quoted.numbers()]


def changes(quoted, tables):
    return [(quoted, number, number.renewed(tables[number.quote.table])) for number in quoted.numbers()]


def test_another_number_is_noticed_and_renewed(page):
    quoted = QUOTED.Quoted(page, "p", "t", "it is {max value | gap < 1} here, and {other: gap} there")
    tables = {"t": pd.DataFrame({"value": [0.1, 0.125, 7], "gap": [0, 0, 2]})}
    same = tables | {"other": pd.DataFrame({"gap": [3e-9, 3e-9]})}
    other = tables | {"other": pd.DataFrame({"gap": [2e-10]})}
    assert texts(quoted, same) == [("12.5%", "12.5%"), ("3e-9", "3e-9")]
    assert texts(quoted, other)[1] == ("3e-9", "2e-10")
    QUOTED.renew(changes(quoted, other))
    assert page.read_text().startswith("At level 2 it is 12.5% here,\nand 2e-10 there.\n")


@pytest.mark.parametrize(
    ("text", "value", "renewed"),
    [
        # A last digit of the page, as another machine may round it.
        ("12.5%", 0.125501, "12.5%"),
        ("12.5%", 0.12556, "12.6%"),
        ("12.6%", 0.125, "12.5%"),
        ("0.6715", 0.67151, "0.6715"),
        ("12,692", 12692.0, "12,692"),
        ("7", 8.0, "8"),
        ("3e-9", 3.6e-9, "4e-9"),
        ("5.5e-7", 5.6e-7, "5.6e-7"),
    ],
)
def test_a_number_that_was_changed_is_noticed_and_a_last_digit_that_is_rounded_otherwise_is_not(
    page, text, value, renewed
):
    page.write_text(f"It is {text} here.\n")
    quoted = QUOTED.Quoted(page, "p", "t", "It is {value} here.")
    assert texts(quoted, {"t": pd.DataFrame({"value": [value]})}) == [(text, renewed)]


@pytest.mark.parametrize(
    ("text", "value", "renewed"),
    [
        # The distance that one machine, another one and exact arithmetic have.
        ("1e-12", 1.5e-14, "1e-12"),
        ("1e-12", 9e-13, "1e-12"),
        ("1e-12", 0.0, "1e-15"),
        ("1e-12", 1.1e-12, "1e-11"),
        ("1e-6", 1.5e-14, "1e-13"),
        ("0.01%", 5.6e-4, "1%"),
    ],
)
def test_a_bound_that_does_not_hold_or_is_loose_is_noticed(page, text, value, renewed):
    page.write_text(f"It is exact to {text} here.\n")
    quoted = QUOTED.Quoted(page, "p", "t", "exact to {at most max value} here")
    tables = {"t": pd.DataFrame({"value": [0.0, value]})}
    assert texts(quoted, tables) == [(text, renewed)]
    QUOTED.renew(changes(quoted, tables))
    assert texts(quoted, tables) == [(renewed, renewed)]


@pytest.mark.parametrize(
    ("limit", "text", "value", "renewed"),
    [
        ("up", "0.6715", 0.67155, "0.6716"),
        ("up", "0.6716", 0.67151, "0.6716"),
        ("up", "1.4%", 0.01402, "1.4%"),  # as another machine may have it
        ("up", "1.4%", 0.0141, "1.5%"),
        ("up", "1.4%", 0.0129, "1.3%"),
        ("down", "1.04", 1.0361, "1.03"),
        ("down", "1.03", 1.0399, "1.03"),
    ],
)
def test_a_limit_is_rounded_so_that_it_holds(page, limit, text, value, renewed):
    page.write_text(f"It is {text} here.\n")
    quoted = QUOTED.Quoted(page, "p", "t", f"It is {{{limit} value}} here.")
    assert texts(quoted, {"t": pd.DataFrame({"value": [value]})}) == [(text, renewed)]


@pytest.mark.parametrize("by_entry", [False, True])
@pytest.mark.parametrize(("configuration", "expected"), [("config", ["12.5%"]), ("long", ["12.5%", "3e-9"])])
def test_what_a_run_has_is_compared_with_the_page(
    page, tmp_path, monkeypatch, configuration, expected, by_entry
):
    """Of a page or an entry that quotes a larger run, a default run has some rows."""
    table = pd.DataFrame({"value": [0.375, 2e-9], "size": ["2 x 5", "16 x 7"]})
    table = table if configuration == "long" else table[:1]
    monkeypatch.setattr(QUOTED, "tables_of", lambda results: {"lopuhaa2024": {"drift": table}})
    quoted = [
        QUOTED.Quoted(page, "lopuhaa2024", name, text)
        for name, text in (
            ("drift", "it is {min value | size == '2 x 5'} here"),
            ("drift", "and {min value | size == '16 x 7'} there"),
            ("missing", "it is {value} here"),
        )
    ]
    larger = {"configuration": "config/long.yaml"}
    quoted = [replace(x, **larger) for x in quoted] if by_entry else quoted
    pages = {"page": {"quotes": quoted, **({} if by_entry else larger)}}
    wrong = list(QUOTED.stale(tmp_path, pages, configuration))
    assert [number.text for _, number, _ in wrong] == expected
    QUOTED.renew(wrong)
    assert not list(QUOTED.stale(tmp_path, pages, configuration))
    assert not list(QUOTED.stale(tmp_path, pages, "smoke"))


def test_the_page_names_the_rows(page):
    table = pd.DataFrame({"at": [0.1, 0.1, 0.2, 0.2], "kind": ["x", "y"] * 2, "value": [1.0, 2.0, 3.0, 4.04]})
    quoted = QUOTED.Quoted(
        page, "p", "t", "| {at=} | {=} | {value} |", labels={"a": "kind == 'x'", "b": "kind == 'y'"}
    )
    assert texts(quoted, {"t": table}) == [("2.0", "2.0"), ("4.0", "4.0")]


def test_a_text_that_is_gone_or_there_twice_is_refused(page):
    quoted = QUOTED.Quoted(page, "p", "t", "it is {value} here")
    for text, times in (("nothing", 0), (2 * page.read_text(), 2)):
        page.write_text(text)
        with pytest.raises(ValueError, match=rf"page\.md has {times} times, not once: it is"):
            list(quoted.numbers())
