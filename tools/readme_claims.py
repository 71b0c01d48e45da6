"""Renew the table of claims in the README: `tools/readme_claims.py README.md results/claims.parquet`.

It has the claims of the papers, without those about the project's own results.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from reproduction.ledger.claims import LEDGER, count_verdicts  # noqa: E402
from reproduction.planning.paper import papers  # noqa: E402
from reproduction.results.files import markdown, read_table  # noqa: E402


def with_table(readme: str, table: str) -> str:
    """Return a page with another table between the lines ``<!-- claims -->`` and ``<!-- /claims -->``."""
    before, start, rest = readme.partition("<!-- claims -->\n")
    _, end, after = rest.partition("<!-- /claims -->")
    if not (start and end):
        sys.exit("The page has no lines <!-- claims --> and <!-- /claims --> to put the table between.")
    return before + start + table + end + after


if __name__ == "__main__":
    page, ledger = map(Path, sys.argv[1:])
    table = read_table(ledger, LEDGER)
    published = [key for key, paper in papers().items() if paper.authors]
    counted = markdown(count_verdicts(table[table["paper"].isin(published)]))
    page.write_text(with_table(page.read_text(encoding="utf-8"), counted), encoding="utf-8")
