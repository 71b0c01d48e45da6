"""What docs/quoted.yaml says of the pages is there; the command notices others in a run."""

import importlib.util
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from reproduction.planning.paper import papers
from reproduction.planning.plan import plan_of
from reproduction.results.files import write_table
from reproduction.results.tables import Schema

ROOT = Path(__file__).parents[2]


def loaded():
    spec = importlib.util.spec_from_file_location("quoted", ROOT / "tools/quoted.py")
    module = sys.modules["quoted"] = importlib.util.module_from_spec(spec)  # As dataclasses need it.
    spec.loader.exec_module(module)
    return module


QUOTED = loaded()
PAGES = QUOTED.read()

each_page = pytest.mark.parametrize("name", PAGES)


@each_page
def test_every_quote_is_on_its_page_and_of_a_table(name):
    known = papers()
    for quoted in PAGES[name]["quotes"]:
        assert {number.quote.table for number in quoted.numbers()} <= set(
            known[quoted.paper].published_tables
        )


@each_page
def test_what_another_machine_computes_otherwise_is_quoted_as_a_bound(name):
    """Rounding errors, and how far from its bound a solver happened to stop."""
    for quoted in PAGES[name]["quotes"]:
        for number in quoted.numbers():
            tiny = float(number.text.replace(",", "").rstrip("%")) < 1e-5 and "e" in number.text
            assert number.is_bound or not (tiny or re.search(r"\bgap\b", number.quote.column)), number


def numbers(said):
    """Return the numbers in what a YAML file has or a page says, keys and all, written in one way."""
    if isinstance(said, dict):
        said = [*said, *said.values()]
    if isinstance(said, list):
        return set().union(*map(numbers, said))
    text = f"{said:.15g}" if isinstance(said, float) else str(said)
    return {plain(number) for number in QUOTED.NUMBER.findall(text)}


def plain(number):
    return re.sub(r"e-0(?=\d)", "e-", number.replace(",", ""))


def given(paper, configuration):
    """Return what is not computed: the paper's configuration, and what it says as its claims have it."""
    entry = yaml.safe_load((ROOT / f"workflow/papers/{paper}/paper.yaml").read_text(encoding="utf-8"))
    words = ("where", "statement", "printed", "tolerance", "origin", "rule", "arguments")
    told = [claim.get(word) for claim in (*entry["claims"], *entry["errata"]) for word in words]
    drawn = [part.get("arguments") for kind in ("tables", "figures") for part in entry[kind].values()]
    return numbers([configuration[paper], told, drawn])


def test_every_paper_has_a_page():
    assert set(papers()) <= set(PAGES)


@each_page
def test_every_number_of_a_section_is_accounted_for(name):
    page = PAGES[name]
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    known = given(page.get("paper", name), plan_of(*QUOTED.changes(page)).configuration) | {"0"}
    constants = page.get("constants", {})
    sourced, met = numbers(list(constants.values())), set()
    computed = {number.start for quoted in page["quotes"] for number in quoted.numbers()}
    # A text that is quoted names the rows: at D = 0.1 it is so and so.
    places = [
        (place.span(), numbers([f"{number.quote.rows} {number.quote.column}" for number in quoted.numbers()]))
        for quoted in page["quotes"]
        for place in quoted.places
    ]
    headlines = set(page.get("computed", ()))
    for section in re.finditer(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", text):
        headline = section[1] in headlines
        headlines -= {section[1]}
        if "constants" not in page and not headline:
            continue
        for number in QUOTED.NUMBER.finditer(text, *section.span(2)):
            rows = set().union(*(rows for (a, b), rows in places if a <= number.start() < b))
            as_written = set() if headline else {plain(number[0]), plain(number[0]).rstrip("%")}
            met |= as_written & sourced
            inside = number.start() in computed or plain(number[0]) in known | rows
            assert inside or as_written & sourced, text[number.start() - 40 : number.end()]
    assert met == sourced, "Constants that no section has."
    assert not headlines, "Sections that are not there."


def test_a_computed_number_is_not_given():
    configuration = {"kalantari2018": {"tolerance": 1e-9, "sizes": [1000, "5% of 2,000"]}}
    assert numbers(configuration["kalantari2018"]) == {"1e-9", "1000", "5%", "2000"}
    known = given("kalantari2018", configuration)
    assert {"1e-9", "1000", "11"} <= known  # (11) is in errata, as are 3.55535 and 0.6286, which we computed.
    assert not {"3.55535", "0.6286"} & known


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
        ("12.5%", 0.12549, "12.5%"),
        ("12.5%", 0.125501, "12.5%"),
        ("12.5%", 0.12556, "12.6%"),
        ("12.5%", 0.12444, "12.4%"),
        ("12.6%", 0.125, "12.5%"),
        ("12.4%", 0.125, "12.5%"),
        ("0.6715", 0.67151, "0.6715"),
        ("0.6716", 0.67151, "0.6715"),
        ("12,692", 12692.0, "12,692"),
        ("7", 7.0, "7"),
        ("7", 8.0, "8"),
        ("3e-9", 3.4e-9, "3e-9"),
        ("3e-9", 3.6e-9, "4e-9"),
        ("5.5e-7", 5.54e-7, "5.5e-7"),
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
        ("1e-13", 0.0, "1e-13"),
        ("1e-12", 0.0, "1e-15"),
        ("1e-12", 1.1e-12, "1e-11"),
        ("1e-6", 1.5e-14, "1e-13"),
        ("0.1%", 5.6e-4, "0.1%"),
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


def test_a_page_that_quotes_another_number_than_the_run_has_is_noticed(page, tmp_path, monkeypatch):
    plan = plan_of()
    metadata = {"configuration_hash": plan.configuration_of(plan.papers["kalantari2018"].tables["bounds"])}
    path = tmp_path / "tables/kalantari2018/bounds.parquet"
    path.parent.mkdir(parents=True)
    schema = Schema(name="any", columns={"value": "float64"}, key=("value",))
    write_table([], path, metadata, schema)
    tables = {"bounds": pd.DataFrame({"value": [0.125, 2e-9]})}
    quoted = [
        QUOTED.Quoted(page, "kalantari2018", "bounds", "it is {max value} here,\nand {min value} there")
    ]
    monkeypatch.setattr(QUOTED, "tables_of", lambda results: {"kalantari2018": tables})
    found = [(number.text, said) for _, number, said in QUOTED.stale(tmp_path, {"page": {"quotes": quoted}})]
    assert found == [("3e-9", "2e-9")]
    # A smaller run says nothing.
    write_table([], path, {"configuration_hash": "another"}, schema)
    assert not list(QUOTED.stale(tmp_path, {"page": {"quotes": quoted}}))


def test_a_page_of_a_larger_configuration_is_compared_with_what_the_default_one_has(
    page, tmp_path, monkeypatch
):
    plan = plan_of()
    metadata = {"configuration_hash": plan.configuration_of(plan.papers["lopuhaa2024"].tables["drift"])}
    path = tmp_path / "tables/lopuhaa2024/drift.parquet"
    path.parent.mkdir(parents=True)
    write_table([], path, metadata, Schema(name="any", columns={"value": "float64"}, key=("value",)))
    tables = {"drift": pd.DataFrame({"value": [0.375, 2.0], "size": ["2 x 5"] * 2})}
    monkeypatch.setattr(QUOTED, "tables_of", lambda results: {"lopuhaa2024": tables})
    quoted = [
        QUOTED.Quoted(page, "lopuhaa2024", "drift", text)
        for text in ("it is {min value | size == '2 x 5'} here", "and {min value | size == '16 x 7'} there")
    ]
    pages = {"page": {"quotes": quoted, "configuration": "config/beyond.yaml"}}
    wrong = list(QUOTED.stale(tmp_path, pages))
    assert [(number.text, said) for _, number, said in wrong] == [("12.5%", "37.5%")]
    QUOTED.renew(wrong)
    assert not list(QUOTED.stale(tmp_path, pages))


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
