"""The reproduction report: one page that works from disk, without a network."""

from __future__ import annotations

import base64
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined

from ldpfrontier.atomic import replacing
from ldpfrontier.claims import LEDGER, VERDICTS, counts, errata_of
from ldpfrontier.files import markdown, read_metadata, read_table
from ldpfrontier.job import load
from ldpfrontier.papers import Paper
from ldpfrontier.provenance import configuration_hash
from ldpfrontier.runs import seconds
from ldpfrontier.tables import RESULTS, SKIPPED

_MIME = {".svg": "image/svg+xml", ".png": "image/png"}


class ReportError(ValueError):
    """A file that cannot be on the page; the message names it."""


@dataclass
class Figure:
    """A figure: its files by suffix, relative to the page, and the image itself as a data URI."""

    name: str
    caption: str
    image: str = ""
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class Table:
    """A table: its files, and the worst of its certificates if it has any."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    certified: int = 0
    skipped: int = 0
    gap: str = ""
    slack: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


def write(
    path: Path | str,
    *,
    papers: Sequence[Paper],
    finished: Iterable[str],
    ledger: pd.DataFrame,
    configuration: Mapping[str, Any],
    provenance: Iterable[Path | str],
    logs: Path | str,
) -> None:
    """Write the page, all or nothing.

    Parameters
    ----------
    path : path
        The page; links are relative to its directory.
    papers : sequence of Paper
        In the order of their appearance.
    finished : iterable of str
        The tables and figures: ``tables/<paper>/<name>.<suffix>``, and ``figures`` likewise.
    ledger : DataFrame
        As `ldpfrontier.claims.ledger`.
    configuration : mapping
        All of it; every key is listed.
    provenance : iterable of path
        Files that say what the counts come from, one per data set, named by their folder.
    logs : path
        Directory with the run times, as Snakemake's benchmarks write them.

    Raises
    ------
    ReportError
        If a table or a figure is an empty file.
    """
    ledger = LEDGER.conform(ledger)
    figures, tables = _collect(list(finished), Path(path).parent, {paper.key: paper for paper in papers})
    assumptions = dict(_flat(configuration))
    keys = {paper.key for paper in papers}
    entries = [
        {
            "key": paper.key,
            "title": f"{paper.authors}: {paper.title}",
            "url": paper.url,
            "figures": list(figures.get(paper.key, {}).values()),
            "tables": list(tables.get(paper.key, {}).values()),
            "claims": ledger[ledger["paper"] == paper.key].to_dict("records"),
            "errata": errata_of(paper),
            "assumptions": {k: v for k, v in assumptions.items() if k.split(".")[0] == paper.key},
        }
        for paper in papers
    ]
    everything = [table for found in tables.values() for table in found.values() if table.metadata]
    text = (
        _environment()
        .from_string(_template())
        .render(
            papers=entries,
            verdicts=VERDICTS,
            counts=counts(ledger).to_dict("records"),
            targets={
                *(f"figure-{paper}-{name}" for paper, found in figures.items() for name in found),
                *(f"table-{paper}-{name}" for paper, found in tables.items() for name in found),
            },
            common={k: v for k, v in assumptions.items() if k.split(".")[0] not in keys},
            seed=configuration.get("seed", "-"),
            configuration_hash=configuration_hash(assumptions),
            data={Path(p).parent.name: Path(p).read_text(encoding="utf-8").strip() for p in provenance},
            versions=_versions(everything),
            times=_times(Path(logs)),
        )
    )
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["slug"] = lambda text: re.sub(r"\W+", "-", str(text))
    return environment


def _template() -> str:
    return resources.files("ldpfrontier").joinpath("templates/report.html").read_text(encoding="utf-8")


def _collect(
    finished: Sequence[str], page: Path, papers: Mapping[str, Paper]
) -> tuple[dict[str, dict[str, Figure]], dict[str, dict[str, Table]]]:
    figures: dict[str, dict[str, Figure]] = {}
    tables: dict[str, dict[str, Table]] = {}
    for path in map(Path, finished):
        key, link = path.parent.name, os.path.relpath(path, page)
        if not path.stat().st_size:
            raise ReportError(
                f"{path} is empty. Delete the file and run the workflow again; it is made anew."
            )
        paper = papers[key]
        if path.parents[1].name == "figures":
            caption = paper.figures[path.stem].caption
            figure = figures.setdefault(key, {}).setdefault(path.stem, Figure(path.stem, caption))
            figure.files[path.suffix[1:]] = link
            # A browser enlarges SVG without loss; PNG is for a configuration without it.
            if path.suffix == ".svg" or (path.suffix == ".png" and not figure.image):
                data = base64.b64encode(path.read_bytes()).decode()
                figure.image = f"data:{_MIME[path.suffix]};base64,{data}"
        else:
            table = tables.setdefault(key, {}).setdefault(path.stem, Table(path.stem))
            table.files[path.suffix[1:]] = link
            if path.suffix == ".parquet":
                _certificates(table, path, paper.tables[path.stem].schema_name)
    return figures, tables


def _certificates(table: Table, path: Path, schema_name: str) -> None:
    """Enter the worst gap and the worst privacy slack: what a channel guarantees less what it must."""
    schema = load(schema_name)
    rows = read_table(path, schema)
    table.rows, table.metadata = len(rows), read_metadata(path)
    if schema is not RESULTS:
        return
    certified = rows[rows["certified"]]
    table.certified, table.skipped = len(certified), int((rows["status"] == SKIPPED).sum())
    # Relative to numbers that are zero but for rounding, a gap says nothing.
    gap = certified.loc[certified[["value", "bound"]].abs().max(axis=1) > 1e-9, "gap"].max()
    table.gap = f"{gap:.1e}" if math.isfinite(gap) else ""
    made = rows[(rows["direction"] != "-") & (rows["status"] != SKIPPED)]
    limited = made[np.isfinite(made["privacy_limit"])]
    slack = (limited["privacy"] - limited["privacy_limit"]).max()
    table.slack = f"{slack:+.1e}" if math.isfinite(slack) else ""


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every key of the configuration with its value as text; a list of mappings has a key per place."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for place, inner in enumerate(value):
            text = ", ".join(f"{name} {_text(x)}" for name, x in inner.items())
            yield f"{key}[{place}]", text
    else:
        yield key, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "none" if value is None else str(value)


def _versions(tables: Sequence[Table]) -> dict[str, str]:
    """Return what the tables say they were made with; more than one version is listed as such."""
    found: dict[str, set[str]] = {}
    for table in tables:
        found.setdefault("ldpfrontier", set()).add(_text(table.metadata.get("code_version", "unknown")))
        packages = table.metadata.get("packages", {})
        for entry in packages if isinstance(packages, list) else [packages]:
            for name, version in entry.items():
                found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(found[name])) for name in sorted(found)}


def _times(logs: Path) -> list[dict[str, Any]]:
    """Return jobs, seconds in all and the longest job, by the directory of the run times."""
    times: dict[str, list[float]] = {}
    for path in sorted(logs.glob("**/*.tsv")):
        parts = path.relative_to(logs).parts
        group = parts[0] if len(parts) < 3 else f"{parts[0]}: {parts[1]}"
        times.setdefault(group, []).extend(seconds(path))
    return [
        {"group": group, "jobs": len(spent), "total": sum(spent), "longest": max(spent, default=0.0)}
        for group, spent in times.items()
    ]


def update_readme(readme: Path | str, ledger: pd.DataFrame) -> None:
    """Replace the table of claims by paper and verdict in a README, between its two comment lines.

    Raises
    ------
    ValueError
        If the README does not have the lines ``<!-- claims -->`` and ``<!-- /claims -->``.
    """
    path = Path(readme)
    before, start, rest = path.read_text(encoding="utf-8").partition("<!-- claims -->\n")
    _, end, after = rest.partition("<!-- /claims -->")
    if not (start and end):
        raise ValueError(
            f"{path} has no lines <!-- claims --> and <!-- /claims --> to put the table between."
        )
    with replacing(path) as partial:
        partial.write_text(f"{before}{start}{markdown(counts(ledger))}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    update_readme(sys.argv[1], read_table(sys.argv[2], LEDGER))
