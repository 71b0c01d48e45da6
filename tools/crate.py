"""Make a research object crate (RO-Crate 1.1) of the results of a run.

`python tools/crate.py FOLDER` writes `ro-crate-metadata.json` into a folder of results (by default
`results`), which is then a crate. The file says what the folder contains and which version of this workflow
made it, in the words of schema.org.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "workflow"), str(ROOT / "src")]

from artifact import authors, cited, identifiers  # noqa: E402

from reproduction.planning.paper import Paper, papers  # noqa: E402

METADATA = "ro-crate-metadata.json"
#: Media types of what a run makes.
TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
}

Entity = dict[str, Any]


def crate(results: Path) -> Entity:
    """Return the metadata of a folder of results.

    Raises
    ------
    ValueError
        If the run has not finished there.
    """
    if not (finished := results / ".finished").is_file():
        raise ValueError(f"{results} has no finished run; allowed is a folder in which snakemake has ended.")
    citation = cited()
    made = list(_made(results))
    ended = datetime.fromtimestamp(finished.stat().st_mtime, UTC).isoformat(timespec="seconds")
    people = [
        {"@id": f"#author-{number}", "@type": "Organization", "name": name}
        for number, name in enumerate(authors(citation))
    ]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Results of ldp-frontier {citation['version']}",
        "description": citation["abstract"].strip(),
        "datePublished": ended,
        "license": {"@id": f"https://spdx.org/licenses/{citation['license']}"},
        "hasPart": [{"@id": entity["@id"]} for entity in made],
        "mentions": {"@id": "#run"},
        "author": _single([{"@id": person["@id"]} for person in people]),
        "publisher": {"@id": people[0]["@id"]},
        "citation": [{"@id": f"https://doi.org/{doi}"} for doi in identifiers(citation)],
    }
    workflow = {
        "@id": "#ldp-frontier",
        "@type": "SoftwareApplication",
        "name": "ldp-frontier",
        "version": citation["version"],
        "description": citation["title"],
        "author": _single([{"@id": person["@id"]} for person in people]),
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"snakemake, with {finished.read_text(encoding='utf-8').strip()}",
        "instrument": {"@id": workflow["@id"]},
        "endTime": ended,
        "result": {"@id": "./"},
    }
    about = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    terms = {
        "@id": root["license"]["@id"],
        "@type": "CreativeWork",
        "name": citation["license"],
        "description": f"The licence {citation['license']}.",
    }
    articles = [{**reference, "@type": "ScholarlyArticle"} for reference in root["citation"]]
    graph = [about, root, workflow, run, *people, terms, *articles, *made]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def _single(values: list[Entity]) -> Any:
    """Return one value as itself, as a crate should have it."""
    return values[0] if len(values) == 1 else values


def _made(results: Path) -> Iterator[Entity]:
    """Yield the files that a reader opens, and the folders of certificates and of data."""
    for name, about in (
        ("report/index.html", "All claims, figures, tables and errata on one page"),
        ("claims.csv", "The verdicts on the claims of the papers"),
        ("claims.parquet", "The verdicts on the claims of the papers"),
        ("claims.md", "The verdicts on the claims of the papers"),
        ("errata.md", "Errata of the papers"),
    ):
        yield from _file(results, results / name, about)
    for key, paper in papers().items():
        for kind, calls in (("figures", paper.figures), ("tables", {**paper.tables, **paper.layouts})):
            for name in calls:
                for path in sorted((results / kind / key).glob(f"{name}.*")):
                    yield from _file(results, path, _title(paper, kind, name))
    for folder, about in (
        ("certificates", "Certificates of optima, which ldp-frontier verify checks"),
        ("data", "Counts of UCI Adult, and the random populations"),
    ):
        if (results / folder).is_dir():
            yield {"@id": f"{folder}/", "@type": "Dataset", "name": about, "description": about}


def _file(results: Path, path: Path, about: str) -> Iterator[Entity]:
    if path.is_file() and path.suffix in TYPES:
        yield {
            "@id": path.relative_to(results).as_posix(),
            "@type": "File",
            "name": about,
            "contentSize": str(path.stat().st_size),
            "encodingFormat": TYPES[path.suffix],
        }


def _title(paper: Paper, kind: str, name: str) -> str:
    return f"{paper.short_name}: {'figure' if kind == 'figures' else 'table'} {name}"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results")
    try:
        text = json.dumps(crate(folder), indent=2, ensure_ascii=False) + "\n"
    except ValueError as problem:
        sys.exit(str(problem))
    (folder / METADATA).write_text(text, encoding="utf-8")
    print(f"{folder} is a research object crate; {folder / METADATA} describes it.")
