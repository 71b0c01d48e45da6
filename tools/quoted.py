"""The numbers that the pages beside this file quote, against the tables of a run (quoted.yaml says which).

`python tools/quoted.py` compares them with the tables in `results/`; `python tools/quoted.py renew` writes
what the tables say into the pages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path[:0] = [str(DOCS.parent / "workflow"), str(DOCS.parent / "src")]

from reproduction.job import load  # noqa: E402
from reproduction.ledger.claims import NotCheckable, ResultTables  # noqa: E402
from reproduction.ledger.quotes import Quote  # noqa: E402
from reproduction.planning.paper import papers  # noqa: E402

NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:e-?\d+)?%?")


@dataclass(frozen=True)
class Quoted:
    """A place of a page with its numbers."""

    page: Path
    paper: str
    text: str
    quotes: Mapping[str, Quote]

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the page has, with a group for every number; a line may end at any space."""
        parts = re.split(r"\{(\w+)\}", self.text)
        words = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in parts[::2]]
        groups = [rf"(?P<{name}>[\d.,]*\d(?:e-?\d+)?%?)" for name in parts[1::2]]
        return re.compile("".join(x for pair in zip(words, [*groups, ""], strict=True) for x in pair))

    def said(self) -> dict[str, str]:
        """Return the numbers of the page by name.

        Raises
        ------
        ValueError
            If the page does not have the text exactly once.
        """
        return self._place().groupdict()

    def found(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
        """Return the numbers of the tables by name, as the page is to write them."""
        return {name: quote.text(tables[quote.table]) for name, quote in self.quotes.items()}

    def renew(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Write the numbers of the tables into the page."""
        place, page, found = self._place(), self.page.read_text(encoding="utf-8"), self.found(tables)
        for name in sorted(found, key=place.start, reverse=True):
            page = page[: place.start(name)] + found[name] + page[place.end(name) :]
        self.page.write_text(page, encoding="utf-8")

    def _place(self) -> re.Match[str]:
        places = list(self.pattern.finditer(self.page.read_text(encoding="utf-8")))
        if len(places) != 1:
            raise ValueError(f"{self.page.name} has {len(places)} times, not once: {self.text}")
        return places[0]

    def span(self) -> tuple[int, int]:
        """Return where in the page it is."""
        return self._place().span()


def read() -> dict[str, dict[str, Any]]:
    """Return quoted.yaml by page: ``quotes`` as `Quoted`, and its other keys."""
    pages = yaml.safe_load((DOCS / "quoted.yaml").read_text(encoding="utf-8"))
    for name, page in pages.items():
        paper = page.get("paper", name)
        page["quotes"] = [
            Quoted(
                DOCS / f"{name}.md",
                paper,
                entry["text"],
                {
                    key: Quote(table, column, rows, take, form)
                    for key, (table, column, rows, take, form) in entry["numbers"].items()
                },
            )
            for entry in page["quotes"]
        ]
    return dict(pages)


def tables_of(results: Path) -> dict[str, ResultTables]:
    """Return the tables of a run by paper."""
    return {
        key: ResultTables(
            results / "tables" / key, {name: load(table.schema_name) for name, table in paper.tables.items()}
        )
        for key, paper in papers().items()
    }


def stale(results: Path) -> Iterator[tuple[Quoted, dict[str, str], dict[str, str]]]:
    """Yield the quotes that say something else than the tables, with what they say and what is there."""
    tables = tables_of(results)
    for page in read().values():
        for quoted in page["quotes"]:
            try:
                found = quoted.found(tables[quoted.paper])
            except NotCheckable:
                continue
            except ValueError:
                if "configuration" not in page:  # A run of the default configuration has fewer rows.
                    raise
                continue
            if found != quoted.said():
                yield quoted, quoted.said(), found


if __name__ == "__main__":
    wrong = list(stale(DOCS.parent / "results"))
    for quoted, said, found in wrong:
        differ = [
            f"{name}: {said[name]}, the tables have {found[name]}"
            for name in found
            if said[name] != found[name]
        ]
        print(f"{quoted.page.name}: {quoted.text.splitlines()[0]}: {'; '.join(differ)}")
        if sys.argv[1:] == ["renew"]:
            quoted.renew(tables_of(DOCS.parent / "results")[quoted.paper])
    sys.exit(bool(wrong) and sys.argv[1:] != ["renew"])
