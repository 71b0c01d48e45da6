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

from ldpfrontier.claims import LEDGER, SCHEMAS, VERDICTS, Erratum, counts
from ldpfrontier.provenance import configuration_hash
from ldpfrontier.tables import MEASURED, RESULTS, SKIPPED, markdown, read_metadata, read_table, replacing

#: In the order of their appearance on the page.
PAPERS: Mapping[str, str] = {
    "kairouz2016": "Kairouz, Oh, Viswanath: Extremal Mechanisms for Local Differential Privacy",
    "liao2017": "Liao, Sankar, Tan, Calmon: Hypothesis Testing under Mutual Information Privacy "
    "Constraints in the High Privacy Regime",
    "kalantari2018": "Kalantari, Sankar, Sarwate: Robust Privacy-Utility Tradeoffs under Differential "
    "Privacy and Hamming Distortion",
    "lopuhaa2024": "Lopuhaä-Zwakenberg, Goseling: Mechanisms for Robust Local Differential Privacy",
}

_MIME = {".svg": "image/svg+xml", ".png": "image/png"}


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
    finished: Iterable[str],
    ledger: pd.DataFrame,
    errata: Sequence[Erratum],
    configuration: Mapping[str, Any],
    captions: Iterable[Path | str],
    provenance: Path | str,
    logs: Path | str,
) -> None:
    """Write the page, all or nothing.

    Parameters
    ----------
    path : path
        The page; links are relative to its directory.
    finished : iterable of str
        The tables and figures: ``tables/<paper>/<name>.<suffix>``, and ``figures`` likewise.
    ledger : DataFrame
        As `ldpfrontier.claims.ledger`.
    errata : sequence of Erratum
    configuration : mapping
        All of it; every key is listed.
    captions : iterable of path
        The captions, ``<paper>_<figure>.rst``.
    provenance : path
        What the Adult counts come from.
    logs : path
        Directory with the run times, as Snakemake's benchmarks write them.
    """
    ledger = LEDGER.conform(ledger)
    texts = {Path(caption).stem: _caption(Path(caption)) for caption in captions}
    figures, tables = _collect(list(finished), Path(path).parent, texts)
    assumptions = dict(_flat(configuration))
    papers = [
        {
            "key": paper,
            "title": title,
            "figures": list(figures.get(paper, {}).values()),
            "tables": list(tables.get(paper, {}).values()),
            "claims": ledger[ledger["paper"] == paper].to_dict("records"),
            "errata": [erratum for erratum in errata if erratum.paper == paper],
            "assumptions": {k: v for k, v in assumptions.items() if k.split(".")[0] == paper},
        }
        for paper, title in PAPERS.items()
    ]
    everything = [table for found in tables.values() for table in found.values() if table.metadata]
    text = (
        _environment()
        .from_string(_template())
        .render(
            papers=papers,
            verdicts=VERDICTS,
            counts=counts(ledger).to_dict("records"),
            targets={
                *(f"figure-{paper}-{name}" for paper, found in figures.items() for name in found),
                *(f"table-{paper}-{name}" for paper, found in tables.items() for name in found),
            },
            common={k: v for k, v in assumptions.items() if k.split(".")[0] not in PAPERS},
            seed=configuration.get("seed", "-"),
            configuration_hash=configuration_hash(assumptions),
            adult=Path(provenance).read_text(encoding="utf-8").strip(),
            versions=_versions(everything),
            times=_times(Path(logs)),
        )
    )
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def summary(results: Path | str) -> str:
    """Return a few lines on finished results: figures and tables made, claims by verdict."""
    results = Path(results)
    made = {
        kind: len({path.with_suffix("") for path in results.glob(f"{kind}/*/*.*")})
        for kind in ("figures", "tables")
    }
    lines = [f"{made['figures']} figures and {made['tables']} tables in {results}/."]
    if (results / "claims.parquet").exists():
        verdicts = read_table(results / "claims.parquet", LEDGER)["verdict"].value_counts()
        found = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdict in verdicts)
        lines.append(f"{verdicts.sum()} claims: {found}.")
    if (results / "report/index.html").exists():
        lines.append(f"All of it on one page: {results}/report/index.html")
    return "\n".join(lines)


def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["slug"] = lambda text: re.sub(r"\W+", "-", str(text))
    return environment


def _template() -> str:
    return resources.files("ldpfrontier").joinpath("templates/report.html").read_text(encoding="utf-8")


def _collect(
    finished: Sequence[str], page: Path, captions: Mapping[str, str]
) -> tuple[dict[str, dict[str, Figure]], dict[str, dict[str, Table]]]:
    figures: dict[str, dict[str, Figure]] = {}
    tables: dict[str, dict[str, Table]] = {}
    for path in map(Path, finished):
        paper, link = path.parent.name, os.path.relpath(path, page)
        if path.parents[1].name == "figures":
            caption = captions.get(f"{paper}_{path.stem}", "")
            figure = figures.setdefault(paper, {}).setdefault(path.stem, Figure(path.stem, caption))
            figure.files[path.suffix[1:]] = link
            # A browser enlarges SVG without loss; PNG is for a configuration without it.
            if path.suffix == ".svg" or (path.suffix == ".png" and not figure.image):
                data = base64.b64encode(path.read_bytes()).decode()
                figure.image = f"data:{_MIME[path.suffix]};base64,{data}"
        else:
            table = tables.setdefault(paper, {}).setdefault(path.stem, Table(path.stem))
            table.files[path.suffix[1:]] = link
            if path.suffix == ".parquet":
                _certificates(table, path, f"{paper}/{path.stem}")
    return figures, tables


#: The TeX of captions, in the order of its replacement.
_TEX = {
    r"\\mathrm\{(\w+)\}": r"\1",
    r"\\hat\s*(\w)": "\\1\u0302",
    r"\\varepsilon": "ε",
    r"\\delta": "δ",
    r"\\alpha": "α",
    r"\\beta": "β",
    r"\\\|": "‖",
    r"\\log": "log",
    r"[{}]": "",
}


def _caption(path: Path) -> str:
    """Return a caption as plain text."""
    text = re.sub(r":\w+:`([^`]*)`|``([^`]*)``", r"\1\2", path.read_text(encoding="utf-8"))
    for tex, plain in _TEX.items():
        text = re.sub(tex, plain, text)
    return " ".join(text.split())


def _certificates(table: Table, path: Path, name: str) -> None:
    """Enter the worst gap and the worst privacy slack: what a channel guarantees less what it must."""
    schema = SCHEMAS.get(name, RESULTS)
    rows = read_table(path, schema)
    table.rows, table.metadata = len(rows), read_metadata(path)
    if schema is not RESULTS:
        return
    certified = rows[~rows["status"].isin([SKIPPED, MEASURED])]
    table.certified, table.skipped = len(certified), int((rows["status"] == SKIPPED).sum())
    # The gap of a closed form is its distance from the optimum, and proves nothing about it.
    solved = certified[certified["mechanism"].str.startswith(("optimal", "polyopt", "nr"))]
    # Relative to a bound that is zero but for rounding, a gap says nothing.
    gap = solved.loc[solved["upper_bound"] > 1e-9, "gap"].max()
    table.gap = f"{gap:.1e}" if math.isfinite(gap) else ""
    limited = certified[np.isfinite(certified["privacy_limit"])]
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
    seconds: dict[str, list[float]] = {}
    for path in sorted(logs.glob("**/*.tsv")):
        parts = path.relative_to(logs).parts
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        place = header.split("\t").index("s")
        spent = [float(line.split("\t")[place]) for line in lines if line]
        group = parts[0] if len(parts) == 2 else f"{parts[0]}: {parts[1]}"
        seconds.setdefault(group, []).extend(spent)
    return [
        {"group": group, "jobs": len(spent), "total": sum(spent), "longest": max(spent, default=0.0)}
        for group, spent in seconds.items()
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
