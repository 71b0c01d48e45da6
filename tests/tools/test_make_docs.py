"""What is generated in pages is what the code says today."""

from support.programs import program

MAKE = program("tools/make_docs.py")


def test_the_table_of_engines_is_up_to_date():
    text = MAKE.ENGINES.read_text(encoding="utf-8")
    assert text == MAKE.engines(text), "run python tools/make_docs.py"


def test_the_page_of_public_names_is_up_to_date():
    text = MAKE.API.read_text(encoding="utf-8")
    assert text == MAKE.api(), "run python tools/make_docs.py"


def test_the_claims_of_the_projects_own_results_are_up_to_date():
    text = MAKE.NUMBERS.read_text(encoding="utf-8")
    assert text == MAKE.ledger(text), "run python tools/make_docs.py"
