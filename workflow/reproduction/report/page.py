"""The reproduction report: one HTML page that works from disk, without a network.

Everything on it is read from the files of the results: verdicts from the ledger, certificates and
provenance from the tables, captions and errata from the papers' ``paper.yaml``. Formulas are LaTeX there
and MathML here.
"""

from __future__ import annotations

import base64
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from latex2mathml.converter import convert
from markupsafe import Markup, escape

from ldpfrontier.base.atomic import replacing
from reproduction.job import load
from reproduction.ledger.claims import LEDGER, NOT_REPRODUCED, VERDICTS, count_verdicts, errata_of
from reproduction.ledger.quotes import highlights_of
from reproduction.planning.paper import FunctionCall, Paper
from reproduction.results.certificates import count_certificates
from reproduction.results.files import read_metadata, read_table, require_csv
from reproduction.results.tables import RESULTS, SKIPPED

_MIME = {".svg": "image/svg+xml", ".png": "image/png"}
#: A larger SVG, in bytes, gives way to its PNG if that is smaller: the page is to stay below 6 MB.
_LARGE = 400_000
_TEMPLATES = Path(__file__).with_name("templates")
#: The one glossary of all pages; what is installed without the documentation has none.
_GLOSSARY = Path(__file__).resolve().parents[3] / "docs/glossary.md"
#: A formula, and what must not begin the next line after it.
_FORMULA = re.compile(r"\$([^$]+)\$([.,;:)\]%]+|-[a-z]+)?")


#: What stands between asterisks.
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*]*)(?<=\w)\*(?![\w*])")


class ReportError(ValueError):
    """A file that cannot be on the page; the message names it."""


@dataclass
class Figure:
    """A figure: its files by suffix, relative to the page, the image itself as a data URI, and its claims.

    `place` is its number in the paper, in words, nothing if it is in none, and `shows` says in a line what it
    shows; `lead` is the caption for a reader who knows none of the papers, if the figure opens the page.
    """

    paper: str
    name: str
    caption: str
    place: str = ""
    shows: str = ""
    lead: str = ""
    image: str = ""
    files: dict[str, str] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The place and what it shows."""
        return f"{self.place}: {self.shows}" if self.place else self.shows


@dataclass
class ShownTable:
    """A table: its files, the worst of its certificates if it has any, and what made it.

    `methods` counts the optima by what they were found with, the most frequent first.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    source: Path | None = None
    rows: int = 0
    certified: int = 0
    skipped: int = 0
    gap: str = ""
    slack: str = ""
    methods: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


def write(
    path: Path | str,
    *,
    papers: Sequence[Paper],
    finished: Iterable[str],
    ledger: pd.DataFrame,
    certificates: Iterable[pd.DataFrame],
    configuration: Mapping[str, Any],
    provenance: Iterable[Path | str],
) -> None:
    """Write the page, all or nothing; its links are relative to its directory.

    The papers are in the order of their appearance. Finished are the tables and figures,
    ``tables/<paper>/<name>.<suffix>``, and ``figures`` likewise, none of which may be empty. The certificates
    are what an independent program says of them, a table per paper that has any, and the provenance files say
    what the counts come from, one per data set, named by their folder.
    """
    ledger = LEDGER.conform(ledger)
    figures, tables = _collect(list(finished), Path(path).parent, {paper.key: paper for paper in papers})
    assumptions = dict(_flatten(configuration))
    papers = [paper.select_calls(configuration) for paper in papers]
    entries = [
        _paper_entry(paper, ledger, figures.get(paper.key, {}), tables.get(paper.key, {}), assumptions)
        for paper in papers
    ]
    published = [paper.key for paper in papers if paper.authors]
    of_papers = ledger["paper"].isin(published)
    keys = {paper.key for paper in papers}
    cards = [card for entry in entries for card in entry["cards"]]
    # What does not hold comes first.
    cards.sort(key=lambda card: card["claim"].get("verdict") != NOT_REPRODUCED)
    openings = [figure for found in figures.values() for figure in found.values() if figure.lead]
    checked = count_certificates(certificates).to_dict("records")
    everything = [table for found in tables.values() for table in found.values() if table.metadata]
    text = (
        _environment(papers)
        .from_string(_template("report.html"))
        .render(
            style=Markup(_template("report.css")),
            script=Markup(_template("report.js")),
            papers=entries,
            cards=cards,
            leads=[lead for entry in entries for lead in entry["leads"]],
            openings=openings,
            names={paper.key: paper.short_name for paper in papers},
            verdicts=VERDICTS,
            published=published,
            counts=_counts(ledger[of_papers], published),
            own=_counts(ledger[~of_papers], sorted(keys - {*published}))[:-1],
            certificates=checked,
            missing=_missing(entries, bool(checked)),
            titles={
                f"figure-{figure.paper}-{figure.name}": figure.title
                for found in figures.values()
                for figure in found.values()
            },
            targets={
                *(f"figure-{paper}-{name}" for paper, found in figures.items() for name in found),
                *(f"table-{paper}-{name}" for paper, found in tables.items() for name in found),
            },
            glossary=_glossary(_GLOSSARY),
            common={k: v for k, v in assumptions.items() if k.split(".")[0] not in keys},
            seed=configuration.get("seed", "-"),
            data={Path(p).parent.name: Path(p).read_text(encoding="utf-8").strip() for p in provenance},
            versions=_versions(everything),
        )
    )
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _paper_entry(
    paper: Paper,
    ledger: pd.DataFrame,
    figures: Mapping[str, Figure],
    tables: Mapping[str, ShownTable],
    assumptions: Mapping[str, str],
) -> dict[str, Any]:
    """Return what the template is told of a paper; every claim is under its figure if that is there."""
    claims = [_claim_texts(row) for row in ledger[ledger["paper"] == paper.key].to_dict("records")]
    for claim in claims:
        figure = figures.get(claim["figure"].partition("/")[2])
        claim["shown"] = figure is not None
        if figure is not None:
            figure.claims.append(claim)
    cards = _cards(paper, claims, tables)
    declared = [*paper.published_tables, *paper.layouts, *paper.figures]
    there = [name in {*tables, *figures} for name in declared]
    return {
        "paper": paper,
        "is_there": any(there),
        "is_complete": all(there),
        "leads": [card["lead"] for card in cards if card["lead"]],
        "cards": [card for card in cards if card["found"]],
        "figures": list(figures.values()),
        "tables": list(tables.values()),
        "claims": claims,
        "errata": errata_of(paper),
        "assumptions": {k: v for k, v in assumptions.items() if k.split(".")[0] == paper.key},
    }


def _missing(entries: Sequence[Mapping[str, Any]], is_checked: bool) -> list[dict[str, str]]:
    """Return what is not there, or not all of it, each with the target of Snakemake that makes it."""
    found = [
        {
            "name": entry["paper"].short_name + (" (in part)" if entry["is_there"] else ""),
            "target": entry["paper"].key,
        }
        for entry in entries
        if not entry["is_complete"]
    ]
    return found if is_checked else [*found, {"name": "certificates of optima", "target": "certificates"}]


def _cards(
    paper: Paper, claims: Sequence[Mapping[str, Any]], tables: Mapping[str, ShownTable]
) -> list[dict[str, Any]]:
    """Return what a reader should know first: every claim that is not reproduced, and the highlights."""
    highlights = highlights_of(paper)
    quoted = {quote.table for highlight in highlights for quote in highlight.quotes().values()}
    read = {
        name: read_table(table.source, load(paper.tables[name].schema_name))
        for name, table in tables.items()
        if name in quoted and table.source
    }
    failed = {claim["id"]: claim for claim in claims if claim["verdict"] == NOT_REPRODUCED}
    by_id = {claim["id"]: claim for claim in claims}
    cards = [
        {
            "paper": paper.key,
            "stated": highlight.stated or claim["statement"],
            "found": highlight.fill(highlight.found, read)
            or failed.get(highlight.claim, {}).get("explanation"),
            "matters": highlight.matters,
            "lead": highlight.fill(highlight.lead, read),
            "claim": claim,
            "figure": highlight.figure,
        }
        for highlight in highlights
        for claim in [by_id.get(highlight.claim, {})]
    ]
    told = {highlight.claim for highlight in highlights}
    others = [claim for name, claim in failed.items() if name not in told]
    more = {"paper": paper.key, "matters": "", "lead": "", "figure": ""}
    return cards + [
        {**more, "stated": claim["statement"], "found": claim["explanation"], "claim": claim}
        for claim in others
    ]


def _counts(ledger: pd.DataFrame, papers: Sequence[str]) -> list[dict[str, Any]]:
    """Count the claims by verdict and in all, a row per paper in the order of the page, and one for all."""
    wide = count_verdicts(ledger).set_index("paper")
    wide["claims"] = wide.sum(axis=1)
    ordered = wide.loc[[name for name in (*papers, "all") if name in wide.index]]
    return [
        {str(name): value for name, value in row.items()} for row in ordered.reset_index().to_dict("records")
    ]


def _claim_texts(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return an entry of the ledger for the template, a number that is missing as a text."""
    return {str(name): "-" if pd.isna(value) else value for name, value in row.items()}


def _environment(papers: Sequence[Paper]) -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    names = {paper.key: paper.short_name for paper in papers if paper.authors}
    key = re.compile("|".join(map(re.escape, names)) or "(?!)")
    environment.filters["slug"] = lambda text: re.sub(r"\W+", "-", str(text))
    environment.filters["named"] = lambda text: key.sub(lambda found: names[found[0]], str(text))
    environment.filters["plain"] = lambda text: _EMPHASIS.sub(
        r"\1", environment.filters["named"](text).replace("$", "")
    )
    environment.filters["math"] = lambda text: typeset(environment.filters["named"](text))
    return environment


def typeset(text: str) -> Markup:
    """Return a text as HTML: escaped, with the LaTeX between dollar signs as MathML."""
    found, place = Markup(), 0
    for formula in _FORMULA.finditer(text):
        latex, tail = formula.groups("")
        try:
            *before, last = map(convert, _pieces(latex))
        except Exception as problem:  # Of many kinds, which have no base of their own.
            raise ReportError(f"The formula ${latex}$ is no LaTeX: {problem!r}.") from None
        if tail:
            last = f'<span class="nb">{last}{escape(tail)}</span>'
        mathml = "<wbr>".join([*before, last]).replace("<math ", f'<math alttext="{escape(latex)}" ', 1)
        found, place = found + _emphasized(text[place : formula.start()]) + Markup(mathml), formula.end()
    return found + _emphasized(text[place:])


def _emphasized(text: str) -> Markup:
    """Return a text as HTML, with what stands between asterisks emphasized; ε* is no such thing."""
    return Markup(_EMPHASIS.sub(r"<em>\1</em>", str(escape(text))))


def _pieces(latex: str) -> list[str]:
    """Return a formula in pieces between which a line may end: browsers break no line within an element."""
    pieces, depth = [""], 0
    for place, sign in enumerate(latex):
        depth += (sign in "([{") - (sign in ")]}")
        if not depth and len(pieces[-1]) > 5 and latex[place : place + 3] in (" = ", " + ", " - "):
            pieces.append("{}")  # So that the sign stands between two terms.
        pieces[-1] += sign
    return pieces


def _glossary(path: Path) -> list[tuple[str, Markup]]:
    """Return the terms of the glossary and what they mean, set as HTML; none if there is no such file."""
    if not path.is_file():
        return []
    parts = re.split(r"(?m)^#{2,3} ", path.read_text(encoding="utf-8"))[1:]
    entries = [part.strip().partition("\n") for part in parts]
    return [
        (term, typeset(_without_markup(" ".join(text.split())))) for term, _, text in entries if text.strip()
    ]


def _without_markup(text: str) -> str:
    """Return a paragraph of Markdown as plain text with formulas; links lead to pages that are not here."""
    pieces = re.split(r"(\$[^$]+\$)", text)
    pieces[::2] = [re.sub(r"\[([^]]+)\]\([^)]+\)|[*`]", r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def _template(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text(encoding="utf-8")


def _collect(
    finished: Sequence[str], page: Path, papers: Mapping[str, Paper]
) -> tuple[dict[str, dict[str, Figure]], dict[str, dict[str, ShownTable]]]:
    figures: dict[str, dict[str, Figure]] = {}
    tables: dict[str, dict[str, ShownTable]] = {}
    images: dict[tuple[str, str], dict[str, Path]] = {}
    for path in map(Path, finished):
        key, link = path.parent.name, os.path.relpath(path, page)
        if not path.stat().st_size:
            raise ReportError(
                f"{path} is empty. Delete the file and run the workflow again; it is made anew."
            )
        paper = papers[key]
        if path.parents[1].name == "figures":
            call = paper.figures[path.stem]
            figure = figures.setdefault(key, {}).setdefault(path.stem, _figure(call, paper))
            figure.files[path.suffix[1:]] = link
            if path.suffix in _MIME:
                images.setdefault((key, path.stem), {})[path.suffix] = path
        else:
            table = tables.setdefault(key, {}).setdefault(path.stem, ShownTable(path.stem))
            table.files[path.suffix[1:]] = link
            if path.suffix == ".parquet":
                _certificates(table, path, paper.tables[path.stem].schema_name)
    for table in (table for found in tables.values() for table in found.values()):
        if table.source and "csv" in table.files:
            require_csv(table.source.with_suffix(".csv"), table.source)
    for (key, name), files in images.items():
        figures[key][name].image = _image(files)
    return figures, tables


def _figure(call: FunctionCall, paper: Paper) -> Figure:
    """Return a figure without its files: an added one has no number."""
    number, shows = call.labels.get("figure", "-"), call.labels.get("shows", call.name)
    place = "Added" if number == "-" else f"Figure {number}" if number[:1].isdigit() else number
    place = place if paper.authors else ""
    return Figure(call.paper, call.name, call.caption, place, shows[:1].upper() + shows[1:], call.lead)


def _image(files: Mapping[str, Path]) -> str:
    """Return a figure as a data URI: the SVG, which a browser enlarges without loss, unless it is large."""
    sizes = {suffix: path.stat().st_size for suffix, path in files.items()}
    small = ".svg" in sizes and (sizes[".svg"] <= _LARGE or sizes[".svg"] <= sizes.get(".png", math.inf))
    if small:
        # Percent-encoded, it is smaller than in base 64.
        text = quote(files[".svg"].read_bytes(), safe=" !$'()*+,-./:;=?@[]_~|^`{}")
        return f"data:{_MIME['.svg']},{text}"
    return f"data:{_MIME['.png']};base64,{base64.b64encode(files['.png'].read_bytes()).decode()}"


def _certificates(table: ShownTable, path: Path, schema_name: str) -> None:
    """Enter the worst gap and privacy slack (what a channel guarantees less what it must), and methods."""
    schema = load(schema_name)
    table.metadata, table.source = read_metadata(path), path
    rows = read_table(path, schema)
    table.rows = len(rows)
    if schema is not RESULTS:
        return
    certified = rows[rows["certified"]]
    table.certified, table.skipped = len(certified), int((rows["status"] == SKIPPED).sum())
    methods = Counter(certified["method"][certified["method"] != ""])
    # Equal numbers in the order of the texts, so that the page does not depend on that of the rows.
    table.methods = dict(sorted(methods.items(), key=lambda entry: (-entry[1], entry[0])))
    # Relative to numbers that are zero but for rounding, a gap says nothing.
    gap = certified.loc[certified[["value", "bound"]].abs().max(axis=1) > 1e-9, "gap"].max()
    made = rows[(rows["direction"] != "-") & (rows["status"] != SKIPPED)]
    limited = made[np.isfinite(made["privacy_limit"])]
    slack = (limited["privacy"] - limited["privacy_limit"]).max()
    table.gap = f"{gap:.1e}" if math.isfinite(gap) else ""
    table.slack = f"{slack:+.1e}" if math.isfinite(slack) else ""


def _flatten(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every key of the configuration with its value as text; a list of mappings has a key per place."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for place, inner in enumerate(value):
            text = ", ".join(f"{name} {_value_text(x)}" for name, x in inner.items())
            yield f"{key}[{place}]", text
    else:
        yield key, _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    return "none" if value is None else str(value)


def _versions(tables: Sequence[ShownTable]) -> dict[str, str]:
    """Return what the tables say they were made with; more than one version is listed as such."""
    found: dict[str, set[str]] = {}
    for table in tables:
        found.setdefault("ldpfrontier", set()).add(_value_text(table.metadata.get("code_version", "unknown")))
        packages = table.metadata.get("packages", {})
        for entry in packages if isinstance(packages, list) else [packages]:
            for name, version in entry.items():
                found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(found[name])) for name in sorted(found)}
