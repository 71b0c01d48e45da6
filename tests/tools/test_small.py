"""The scripts that renew what is shipped: the schema, the counts of Adult, the README's table of claims."""

import os
from pathlib import Path

import pytest

from support.programs import program

ROOT = Path(__file__).parents[2]
RAW = Path(os.environ.get("ADULT_DATA", ROOT.parent / "shared/data/adult/adult.data"))


def script(name):
    return program(f"tools/{name}.py")


def test_the_schema_for_editors_is_that_of_the_papers():
    shipped = (ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8")
    assert script("schema").text() == shipped, "python tools/schema.py renews it"


@pytest.mark.skipif(not RAW.is_file(), reason="no raw adult.data; set ADULT_DATA to its path")
def test_the_counts_that_are_shipped_are_those_of_the_raw_file(tmp_path):
    script("adult_counts").main(RAW, tmp_path / "new/counts.csv")
    made = (tmp_path / "new/counts.csv").read_bytes()
    assert made == (ROOT / "resources/adult_pair_counts.csv").read_bytes()


def test_other_data_are_not_counted(tmp_path):
    with pytest.raises(SystemExit, match=r"is not a file; the raw 'adult\.data'"):
        script("adult_counts").main(tmp_path / "adult.data", tmp_path / "counts.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_the_readme_is_replaced():
    with_table = script("readme_claims").with_table
    readme = "a\n<!-- claims -->\nold\n<!-- /claims -->\nb\n"
    assert with_table(readme, "| new |\n") == "a\n<!-- claims -->\n| new |\n<!-- /claims -->\nb\n"
    with pytest.raises(SystemExit, match="has no lines <!-- claims --> and <!-- /claims -->"):
        with_table("nothing", "")
    shipped = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- claims -->\n| paper |" in shipped
    assert with_table(shipped, "| new |\n") != shipped
