"""The numbers that pages quote from the tables of a run (docs/quoted.yaml says from which).

`python tools/quoted.py results` compares them with the tables of a default run, and `python tools/quoted.py
long/results long` those of pages that quote a run with `config/long.yaml`; with `renew` at the end, it
writes what the tables say into the pages. Pages are no templates: a forge shows them as they are, and some of
the runs that they quote take a night.

The tables of two machines differ in their last digits. So a number of a page may be off by half a unit of its
last digit and a little more, and what is mostly rounding or the last step of a solver, such as a gap, is
quoted as a bound.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path[:0] = [str(DOCS.parent / "workflow"), str(DOCS.parent / "src")]

from reproduction.ledger.claims import claims_of  # noqa: E402
from reproduction.ledger.quotes import HALF, Quote, fill_names, read_number  # noqa: E402
from reproduction.ledger.result_tables import ResultTables, result_tables  # noqa: E402
from reproduction.planning.paper import papers  # noqa: E402

NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:e-?\d+)?%?")

#: In braces: a limit, how the rows are taken together, the table, an expression of columns, the rows.
PLACE = re.compile(r"\{([^{}]+)\}")
LOOKED_UP = re.compile(
    r"(?P<limit>at most |up |down )?(?:(?P<take>min|median|mean|max|sum|count) (?!\|))?"
    r"(?:(?P<table>[\w/]+): )?(?P<column>.+?)(?: \| (?P<rows>.+))?",
    re.DOTALL,
)

#: What is rounded upwards or downwards, and by how much, in units of its last digit, two machines may differ.
_OUTWARDS, _SLACK = {"up": 1.0, "down": -1.0}, HALF - 0.5

#: A bound is at most so many times the number, and a number less than a rounding error counts as one.
LOOSE, ROUNDING = 1000.0, 1e-16


@dataclass(frozen=True)
class Number:
    """A number of a page: where it stands, how it is written, and what it is, or bounds, in the tables."""

    start: int
    end: int
    text: str
    quote: Quote
    limit: str = ""

    def renewed(self, table: pd.DataFrame) -> str:
        """Return the text that the page should have: its own one if that agrees with the table."""
        value, (said, unit) = self.quote.number(table), read_number(self.text)
        if self.limit in _OUTWARDS:
            sign = _OUTWARDS[self.limit]
            if -_SLACK <= sign * (said - value) / unit <= 1.0 + _SLACK:
                return self.text
            return format(sign * math.ceil(sign * value / unit - _SLACK) * unit, self.quote.form)
        if self.limit:
            if value <= said <= LOOSE * max(value, ROUNDING):
                return self.text
            percent = "%" in self.text
            bound = 10.0 ** math.ceil(math.log10(5.0 * max(value, ROUNDING)))
            return re.sub(r"e-0(?=\d$)", "e-", f"{100.0 * bound if percent else bound:g}") + "%" * percent
        return self.text if abs(value - said) <= HALF * unit else self.quote.text(table)


@dataclass(frozen=True)
class Quoted:
    """A text of a page with numbers of the tables of a paper in it.

    The text is as the page has it, but for what stands in braces. ``{max gap | epsilon > 1}`` is a number:
    the largest of the column or expression ``gap`` where epsilon is above 1. Without ``max`` there is only
    one, and ``{max fig2: gap}`` is of another table. ``{up bound}`` and ``{down bound}`` are limits, rounded
    so that they hold; ``{at most max gap}`` is a bound on what another machine computes otherwise,
    and not a loose one (`LOOSE`). ``{epsilon=}`` is a value that the page gives, ``{=}`` one of `labels`,
    names that stand for conditions on rows: the rows are those that have it, and the page may have the text
    repeatedly.

    `rows` is a condition on the rows of all the numbers, and `configuration` the file of `config/` of the run
    that is quoted, if that is not the one of the page.
    """

    page: Path
    paper: str
    table: str
    text: str
    rows: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    configuration: str = ""

    @property
    def places(self) -> list[re.Match[str]]:
        """Return where the page has the text, once unless it may be repeated; a line may end at any space."""
        pattern = "".join(
            r"\s+".join(re.escape(word) for word in re.split(r"\s+", part))
            if n % 2 == 0
            else self._group(part)
            for n, part in enumerate(PLACE.split(self.text))
        )
        pattern += (
            r"(?! *[\d.]+%? *\|)" if self.text.endswith("|") else ""
        )  # A longer row of a table is another.
        found = list(re.finditer(pattern, self.page.read_text(encoding="utf-8")))
        if len(found) != 1 and not (found and "=}" in self.text):
            raise ValueError(f"{self.page.name} has {len(found)} times, not once: {self.text}")
        return found

    def _group(self, place: str) -> str:
        """Return the pattern of what stands in braces."""
        if place == "=":
            return f"({'|'.join(map(re.escape, self.labels))})"
        return r"([^|()\n]+?)" if place.endswith("=") else r"([\d.,]*\d(?:e-?\d+)?%?)"

    def numbers(self) -> Iterator[Number]:
        """Yield the numbers of the page."""
        specified = PLACE.findall(self.text)
        for place in self.places:
            named = dict(zip(specified, place.groups(), strict=True))
            given = [self.rows]
            for spec, text in named.items():
                if spec == "=":
                    given.append(self.labels[text])
                elif spec.endswith("="):
                    given.append(f"{spec[:-1]} == {text if NUMBER.fullmatch(text) else repr(text)}")
            for n, spec in enumerate(specified, start=1):
                if not spec.endswith("="):
                    limit = (LOOKED_UP.fullmatch(spec)["limit"] or "").strip()
                    yield Number(*place.span(n), place[n], self._quote(spec, given, place[n]), limit)

    def _quote(self, spec: str, given: list[str], text: str) -> Quote:
        """Return what a number is in the tables, written as the page writes it."""
        match = LOOKED_UP.fullmatch(spec)
        assert match is not None, spec
        rows = " and ".join(f"({x})" for x in (*given, match["rows"]) if x)
        decimals = len(re.sub(r"e.*|%", "", text).partition(".")[2])
        kind = "%" if "%" in text else "e" if "e" in text else "f"
        table, take = match["table"] or self.table, match["take"] or "only"
        return Quote(table, match["column"], rows, take, f".{decimals}{kind}")


def read() -> dict[str, Any]:
    """Return quoted.yaml by page: ``quotes`` as a list of `Quoted`, and its other keys."""
    pages = yaml.safe_load((DOCS / "quoted.yaml").read_text(encoding="utf-8"))
    for name, page in pages.items():
        known, quotes = page.pop("define", {}), []
        for place, entries in page["quotes"].items():
            paper, _, table = place.rpartition("/")
            paper = paper or page.get("paper", Path(name).name)
            for entry in entries:
                given = {"text": entry} if isinstance(entry, str) else dict(entry)
                for key in {"text", "rows"} & set(given):
                    given[key] = re.sub(r"\$(\w+)", lambda m, known=known: known.get(m[1], m[0]), given[key])
                quotes.append(Quoted(DOCS / f"{name}.md", paper, table, **given))
        quotes += [of_claim(DOCS / f"{name}.md", claim) for claim in page.get("claims", ())]
        page["quotes"] = quotes
    return dict(pages)


def of_claim(page: Path, name: str) -> Quoted:
    """Return the statement of a claim of ours as a page has it, with the numbers that decide it.

    Formulas of a page are letters; in a claim they stand between dollar signs.
    """
    ((paper, entry),) = (
        (paper, entry)
        for paper in papers().values()
        if paper.is_beyond
        for entry in paper.claims
        if entry["id"] == name
    )
    (claim,) = (claim for claim in claims_of(paper) if claim.id == name)
    numbers = {}
    for key, x in claim.stated().items():
        take = {"only": ""}.get(x.take, f"{x.take} ")
        bound = "at most " if x.relation == "at most" else ""
        numbers[key] = f"{{{bound}{take}{x.table}: {x.column}{' | ' * bool(x.rows)}{x.rows}}}"
    text = fill_names(entry["statement"], numbers).replace("$", "")
    return Quoted(page, paper.key, claim.tables[0], text, configuration="config/config.yaml")


def tables_of(results: Path) -> dict[str, ResultTables]:
    """Return the tables of a run by paper."""
    known = papers()
    return {key: result_tables(results / "tables", key, known) for key in known}


def stale(
    results: Path, pages: Mapping[str, Any], configuration: str = "config"
) -> Iterator[tuple[Quoted, Number, str]]:
    """Yield the numbers that differ from the tables of a run, with what is there.

    Tables that are missing are left out. `configuration` names the file of `config/` of the run: of what
    quotes another one, what a default run has of the rows is compared.
    """
    tables = tables_of(results)
    for page in pages.values():
        for quoted in page["quotes"]:
            own = Path(quoted.configuration or page.get("configuration", "config")).stem
            if configuration not in (own, "config"):
                continue
            for number in quoted.numbers():
                if number.quote.table not in tables[quoted.paper]:
                    continue
                try:
                    found = number.renewed(tables[quoted.paper][number.quote.table])
                except ValueError:
                    if own == configuration:
                        raise
                    continue  # These rows are not in the default configuration.
                if found != number.text:
                    yield quoted, number, found


def renew(wrong: Collection[tuple[Quoted, Number, str]]) -> None:
    """Write what the tables have into the pages, as `stale` yields it."""
    for path in {quoted.page for quoted, *_ in wrong}:
        page = path.read_text(encoding="utf-8")
        here = {number.start: (number.end, found) for quoted, number, found in wrong if quoted.page == path}
        for start, (end, found) in sorted(here.items(), reverse=True):
            page = page[:start] + found + page[end:]
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "renew"]
    wrong = list(stale(Path(given[0]), read(), *given[1:]))
    for quoted, number, found in wrong:
        line = quoted.page.read_text(encoding="utf-8")[: number.start].count("\n") + 1
        print(f"{quoted.page.name}:{line}: {number.text}, the tables have {found}")
    if renewing := "renew" in sys.argv:
        renew(wrong)
    sys.exit(bool(wrong) and not renewing)
