"""The claims ledger: findings, entries, tables, verdicts; and that every paper's entries are sound."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from reproduction.job import load
from reproduction.ledger import claims
from reproduction.ledger.claims import (
    ANOTHER_READING,
    LEDGER,
    NOT_CHECKABLE,
    NOT_COMPUTED,
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Erratum,
    Finding,
    NotCheckable,
)
from reproduction.ledger.result_tables import ResultTables
from reproduction.planning.paper import PaperError, module_name, papers
from reproduction.results.tables import CHECKS, RESULTS, Check, Result, TableError

ROOT = Path(__file__).parents[4]
PAPERS = papers()

CLAIM = Claim(
    "p",
    "P-1",
    "Theorem 1",
    "It holds.",
    "Holds if it does.",
    "every_check_holds",
    ("checks",),
    "none",
    "by hand",
)


def checks(*rows):
    """Return a table of checks of P-1: what a row leaves out has a plain value."""
    plain = {
        "paper": "p",
        "claim": "P-1",
        "instance": "000",
        "quantity": "outputs",
        "measured": 1.0,
        "relation": "<=",
        "limit": 2.0,
    }
    return CHECKS.table(Check(**plain | row) for row in rows)


def decided(*rows, **arguments):
    return claims.every_check_holds(
        {"checks": checks(*rows)}, Claim(**vars(CLAIM) | {"arguments": arguments})
    )


# Findings -------------------------------------------------------------------------------------------------


def test_a_finding_that_is_not_plain_needs_an_explanation():
    for verdict in (ANOTHER_READING, NOT_REPRODUCED, NOT_CHECKABLE):
        with pytest.raises(ValueError, match=f"The verdict '{verdict}' needs an explanation"):
            Finding("1", verdict)
        assert Finding("1", verdict, "Because.").explanation == "Because."
    assert Finding("1", REPRODUCED).explanation == ""
    with pytest.raises(ValueError, match="The verdict is 'perhaps'; allowed are reproduced, reproduced with"):
        Finding("1", "perhaps")  # type: ignore[arg-type]


def test_verdict():
    assert claims.finding("1", True, "Why.") == Finding("1", REPRODUCED)
    assert claims.finding("1", True, "Why.", "So read.") == Finding("1", ANOTHER_READING, "So read.")
    assert claims.finding("1", False, "Why.", "So read.") == Finding("1", NOT_REPRODUCED, "Why.")
    assert claims.finding("1", True, "Why.", computed="10%", n=3) == Finding("1", REPRODUCED, "", "10%", 3)


def test_parts_verdict():
    assert claims.finding_of_parts({"a": True, "b": True}, "Numbers.", "Remark.") == Finding(
        "2 of 2 parts hold. Numbers.", REPRODUCED, "", "2 of 2 parts of the statement hold"
    )
    assert claims.finding_of_parts({"a": True, "b": False, "c": False}, "Numbers.", "Remark.") == Finding(
        "1 of 3 parts hold. Numbers.",
        NOT_REPRODUCED,
        "Does not hold: b; c. Holds: a. Remark.",
        "1 of 3 parts of the statement hold",
    )
    assert claims.finding_of_parts({"a": True}, "Numbers.", "", "So read.").verdict == ANOTHER_READING
    assert claims.finding_of_parts({"a": False}, "Numbers.", "").explanation == "Does not hold: a."


# Entries --------------------------------------------------------------------------------------------------


def test_the_claims_of_a_paper(toy):
    first, second = claims.claims_of(toy)
    assert (first.id, first.paper, first.tables, first.figure) == ("T-1", "toy2026", ("checks",), "fig1")
    assert (second.figure, second.arguments) == ("", {"limit": 0.9})
    assert (first.printed, second.printed, second.tolerance) == ("-", "90%", "none")
    # The paper's own check, and one that serves every paper.
    assert claims.check_of(second).__module__ == "papers.toy2026.claims"
    assert claims.check_of(first) is claims.every_check_holds


def test_the_errata_of_a_paper(toy):
    (erratum,) = claims.errata_of(toy)
    assert isinstance(erratum, Erratum)
    assert (erratum.paper, erratum.kind, erratum.printed, erratum.correct) == ("toy2026", "wrong", "1", "2")
    texts = claims.errata_texts([erratum])
    assert list(texts) == ["paper", "where", "kind", "printed", "should be", "how it is shown", "test"]
    assert list(claims.errata_texts([])) == list(texts)


def changed(paper, **entries):
    """Return a paper with other claims or errata."""
    return type(paper)(**vars(paper) | entries)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rule": None}, "rule of Claim T-1 of toy2026 is None; it must be a text."),
        ({"colour": "red"}, "Claim T-1 of toy2026 has the unknown key 'colour'; allowed are id, where,"),
        ({"check": "magic"}, "Claim T-1 names the check magic; there is no such function of tables and"),
        # What a module only has to do its work decides nothing.
        ({"check": "some"}, "Claim T-1 names the check some; there is no such function"),
        ({"tables": ["none"]}, "Claim T-1 names the table none; toy2026 has rates, checks."),
        ({"tables": "checks"}, "tables of Claim T-1 of toy2026 is 'checks'; it must be a list of texts."),
        ({"figure": "fig9"}, "Claim T-1 names the figure fig9; toy2026 has fig1."),
    ],
)
def test_a_claim_that_does_not_fit_gets_a_sentence(toy, change, sentence):
    with pytest.raises(PaperError, match=re.escape(sentence)):
        claims.claims_of(changed(toy, claims=[{**toy.claims[0], **change}]))


def test_a_claim_is_there_once(toy):
    with pytest.raises(PaperError, match="Claim T-1 is in toy2026 more than once"):
        claims.claims_of(changed(toy, claims=[toy.claims[0], toy.claims[0]]))


def test_an_erratum_is_of_a_known_kind(toy):
    with pytest.raises(
        PaperError, match="Erratum 1 of toy2026 is of the kind 'bad'; allowed are wrong, not tight,"
    ):
        claims.errata_of(changed(toy, errata=[{**toy.errata[0], "kind": "bad"}]))


# Numbers --------------------------------------------------------------------------------------------------


def stating(toy, statement, **number):
    entry = {**toy.claims[1], "statement": statement, "numbers": {"rate": {"column": "value", **number}}}
    (claim,) = claims.claims_of(changed(toy, claims=[entry]))
    return claim


def test_a_statement_has_its_numbers(toy):
    claim = stating(toy, "$e^{2}$ and {rate} of it", said="80%", rows="epsilon == 1")
    assert claim.statement == "$e^{2}$ and 80% of it"
    assert claim.printed == "80%"
    number = replace(claim, arguments={"rows": "value < 2"}).stated()["rate"]
    assert (number.table, number.rows) == ("rates", "(value < 2) and (epsilon == 1)")


def test_a_number_that_is_not_in_the_statement_or_unsound_is_refused(toy):
    with pytest.raises(PaperError, match="has the number rate, which its statement does not name"):
        stating(toy, "of it", said="80%")
    with pytest.raises(PaperError, match="rate of claim T-2 has the unknown key 'says'"):
        stating(toy, "{rate}", says="80%")


def test_a_claim_may_be_about_the_table_of_another_paper(toy):
    (claim,) = claims.claims_of(changed(toy, claims=[{**toy.claims[1], "tables": ["other/rates"]}]))
    assert claims.ledger([(claim, {"other/rates": rates(0.8)})])["table"].tolist() == ["other/rates"]


# The ledger -----------------------------------------------------------------------------------------------


def rates(value):
    row = Result("toy2026", "fig1", "1", "rr", "truth", value, unit="1", epsilon=1.0)
    return RESULTS.table([row])


def test_a_verdict_follows_from_the_tables(toy):
    first, second = claims.claims_of(toy)
    table = checks({"paper": "toy2026", "claim": "T-1"})
    assert claims.decide(second, {"rates": rates(0.8)}) == Finding("0.800", REPRODUCED)
    assert claims.decide(second, {"rates": rates(0.95)}).verdict == NOT_REPRODUCED
    assert claims.decide(first, {"checks": table}).verdict == REPRODUCED
    found = claims.ledger([(first, {"checks": table}), (second, {"rates": rates(0.95)})])
    assert list(found) == list(LEDGER.columns)
    assert found["order"].tolist() == [1, 2]
    assert found["id"].tolist() == ["T-1", "T-2"]
    assert found["verdict"].tolist() == [REPRODUCED, NOT_REPRODUCED]
    assert found["table"].tolist() == ["toy2026/checks", "toy2026/rates"]
    assert found["figure"].tolist() == ["toy2026/fig1", "-"]
    assert found["rule"].tolist() == [first.rule, second.rule]
    assert found["explanation"].tolist() == ["", "It is more at large epsilon."]
    assert found["printed"].tolist() == ["-", "90%"]
    assert found["computed"].tolist() == ["1 of 1 checks hold", "-"]
    assert found["n"].tolist() == [1, pd.NA]
    assert found["origin"].tolist() == [first.origin, second.origin]
    assert list(claims.ledger_texts(found)) == [
        "id", "paper", "where", "statement", "rule", "printed", "computed", "tolerance", "origin", "measured",
        "verdict", "explanation", "n",
    ]  # fmt: skip


def test_a_table_or_rows_that_are_missing_decide_nothing(toy, tmp_path):
    claim = claims.claims_of(toy)[0]
    assert claims.decide(claim, ResultTables(tmp_path, {"checks": CHECKS})) == Finding(
        "-", NOT_COMPUTED, "The table checks is missing."
    )
    found = claims.decide(claim, {"checks": checks({})})
    assert found.explanation == "The table has no rows of T-1; the configuration leaves them out."


# The check that serves every paper ------------------------------------------------------------------------


def test_checks_that_hold():
    found = decided(
        {}, {"instance": "001", "measured": 1.5}, {"quantity": "ratio", "relation": ">=", "limit": 0.5}
    )
    text = "outputs: at most 1.5; ratio: at least 1 (over 2 instances)."
    assert found == Finding(text, REPRODUCED, "", "3 of 3 checks hold", 2)
    assert decided({}).measured == "outputs: at most 1 (over 1 instance)."
    assert decided({}, {"order": 2.0}, {"size": "3"}).measured.endswith("(over 3 instances).")


def test_checks_that_fail_name_the_worst():
    rows = [{"instance": f"{i:03d}", "measured": measured} for i, measured in enumerate([1.0, 3.0, 5.0, 2.5])]
    found = decided(*rows, {"quantity": "ratio"})
    assert found.verdict == NOT_REPRODUCED
    assert found.measured == "outputs: at most 5; ratio: at most 1 (over 4 instances)."
    assert found.explanation == "The statement fails: outputs is 5 in 002, the limit 2."
    found = decided({"measured": 3.0, "size": "2 x 5", "order": 0.5}, {"quantity": "ratio", "measured": 9.0})
    assert found.explanation == (
        "The statement fails: ratio is 9 in 000, the limit 2;"
        " outputs is 3 in 2 x 5, 000, order 0.5, the limit 2."
    )
    assert "outputs is 3, the limit 2" in decided({"measured": 3.0, "instance": ""}).explanation


def test_a_tolerance_excuses_its_own_row_only():
    rows = [{"instance": "000", "measured": 9.0, "tolerance": 8.0}, {"instance": "001", "measured": 3.0}]
    assert decided(rows[0]).verdict == REPRODUCED
    found = decided(*rows)
    assert found.explanation == "The statement fails: outputs is 3 in 001, the limit 2."


def test_equalities_tell_how_far_they_are_off():
    rows = [
        {"instance": "000", "relation": "=", "measured": 2.0},
        {"instance": "001", "relation": "=", "measured": 1.75, "tolerance": 0.5},
        {"instance": "002", "relation": "=", "measured": float("inf"), "limit": float("inf")},
    ]
    assert decided(*rows).measured == "outputs: off by at most 0.25 (over 3 instances)."
    assert decided(*rows).verdict == REPRODUCED
    found = decided(*rows, {"instance": "003", "relation": "=", "measured": 2.1})
    assert found.explanation == "The statement fails: outputs is 2.1 in 003, the limit 2."


def test_limits_that_differ_are_told_with_the_row_that_is_nearest():
    rows = [
        {"instance": "000", "measured": 1.0, "limit": 9.0},
        {"instance": "001", "measured": 0.5, "limit": 0.625},
    ]
    assert decided(*rows).measured == "outputs: nearest to its limit with 0.5 for 0.625 (over 2 instances)."
    rows = [row | {"relation": ">="} for row in rows]
    found = decided(*rows)
    assert found.measured == "outputs: furthest beyond its limit with 1 for 9 (over 2 instances)."
    assert found.explanation == "The statement fails: outputs is 1 in 000, the limit 9."


def test_rows_of_other_claims_do_not_count():
    rows = [{}, {"claim": "P-2", "measured": 3.0}]
    assert decided(*rows).verdict == REPRODUCED
    assert decided(*rows, claims=["P-1", "P-2"]).verdict == NOT_REPRODUCED
    with pytest.raises(NotCheckable, match="The table has no rows of P-1"):
        decided({"claim": "P-2"})


def test_half_a_statement_is_not_decided():
    both = ["outputs", "value"]
    assert decided({}, {"quantity": "value"}, quantities=both).verdict == REPRODUCED
    with pytest.raises(NotCheckable, match="The table has no rows of P-1, value;"):
        decided({}, quantities=both)


def test_only_tables_of_checks_will_do():
    with pytest.raises(TableError, match="p/checks is no table of checks; P-1 needs one"):
        claims.every_check_holds({"checks": rates(0.5)}, CLAIM)


# The papers themselves ------------------------------------------------------------------------------------

each_paper = pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.key)


def test_ids_are_unique_over_all_papers():
    ids = [claim.id for paper in PAPERS.values() for claim in claims.claims_of(paper)]
    assert len(ids) == len(set(ids))


@each_paper
def test_without_tables_nothing_is_computed(paper, tmp_path):
    tables = ResultTables(tmp_path, {name: load(table.schema_name) for name, table in paper.tables.items()})
    entries = claims.claims_of(paper)
    found = claims.ledger((claim, tables) for claim in entries)
    assert set(found["verdict"]) == {NOT_COMPUTED}
    assert found["explanation"].str.fullmatch(r"The table [\w/]+ is missing\.").all()
    assert found["id"].tolist() == [claim.id for claim in entries]
    assert claims.count_verdicts(found).set_index("paper").loc["all", NOT_COMPUTED] == len(entries)


@each_paper
def test_every_function_of_a_claims_module_serves_a_claim(paper):
    entries = claims.claims_of(paper)
    own = {claims.check_of(claim) for claim in entries}
    module = load(f"{module_name(paper.key, 'claims')}:__dict__")
    checks = {
        name
        for name, found in module.items()
        if getattr(found, "__module__", None) == module["__name__"] and not name.startswith("_")
    }
    assert checks == {check.__name__ for check in own if check.__module__ == module["__name__"]}


@each_paper
def test_errata_name_tests_that_exist(paper):
    errata = claims.errata_of(paper)
    assert bool(errata) == bool(paper.authors)
    for erratum in errata:
        file, _, function = erratum.test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), erratum.test
        assert all(vars(erratum).values()), erratum.where
