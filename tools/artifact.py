"""For reviewers and archives: codecheck.yml, .zenodo.json and codemeta.json.

The first comes from the papers, the others from CITATION.cff and pyproject.toml. `python tools/make_docs.py`
renews all.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "src"), str(ROOT / "tools")]

from reproduction.ledger.claims import claims_of  # noqa: E402
from reproduction.planning.paper import FunctionCall, Paper, papers  # noqa: E402
from reproduction.planning.plan import plan_of  # noqa: E402

CODECHECK, ZENODO, CODEMETA = ROOT / "codecheck.yml", ROOT / ".zenodo.json", ROOT / "codemeta.json"
_SPEC = "https://codecheck.org.uk/spec/config/2.0/"


# The manifest ---------------------------------------------------------------------------------------------


def manifest() -> Iterator[dict[str, str]]:
    """Yield the files that a check makes again, each with what it shows."""
    plan = plan_of()
    claims = [claim for paper in plan.papers.values() for claim in claims_of(paper)]
    for paper in plan.papers.values():
        finished = {Path(file) for file in plan.target_files(paper, ["pdf"])}
        for name, call in paper.figures.items():
            own = ", ".join(claim.id for claim in claims if (claim.paper, claim.figure) == (paper.key, name))
            comment = f"{_shown(paper, call)}{f' ({own})' if own else ''}"
            yield _entry(Path(f"results/figures/{paper.key}/{name}.pdf"), comment, finished)
        for name, call in paper.layouts.items():
            yield _entry(Path(f"results/tables/{paper.key}/{name}.md"), _shown(paper, call), finished)
        for name in paper.published_tables:
            if own := ", ".join(claim.id for claim in claims if claim.place == f"{paper.key}/{name}"):
                comment = f"The table that decides these claims about {paper.short_name}: {own}"
                yield _entry(Path(f"results/tables/{paper.key}/{name}.csv"), comment, finished)
    yield {"file": "results/claims.csv", "comment": "Every claim of the papers with its rule and its verdict"}
    yield {"file": "results/errata.md", "comment": "Errors in the papers, and corrections"}
    yield {"file": "results/report/index.html", "comment": "The results page, which shows everything"}


def _entry(path: Path, comment: str, finished: Container[Path]) -> dict[str, str]:
    if path not in finished:
        raise ValueError(f"The workflow does not make {path}.")
    return {"file": path.as_posix(), "comment": comment}


def _shown(paper: Paper, call: FunctionCall) -> str:
    number, what = call.labels.get("figure", "-"), call.labels.get("shows", call.name)
    if not paper.authors:
        return f"{paper.title}: {what}"
    if number == "-":
        return f"Beside {paper.short_name}: {what}"
    return f"{'Figure ' if number[0].isdigit() else ''}{number} of {paper.short_name}: {what}"


def cited() -> dict[str, Any]:
    """Return CITATION.cff."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return content


def authors(citation: dict[str, Any]) -> list[str]:
    """Return the names of the authors."""
    return [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in citation["authors"]
    ]


def identifiers(citation: dict[str, Any]) -> list[str]:
    """Return the DOIs of what the project reproduces or uses, in the order of CITATION.cff."""
    found = []
    for entry in citation["references"]:
        others = (x["value"] for x in entry.get("identifiers", ()) if x["type"] == "doi")
        found.append(entry.get("doi") or next(others))
    return found


def zenodo() -> str:
    """Return .zenodo.json, the description of a deposit."""
    citation = cited()
    content = {
        "title": citation["title"],
        "description": citation["abstract"],
        "upload_type": "software",
        "version": citation["version"],
        "license": citation["license"],
        "creators": [{"name": name} for name in authors(citation)],
        "keywords": citation["keywords"],
        "related_identifiers": [
            {"identifier": doi, "relation": "references", "scheme": "doi"} for doi in identifiers(citation)
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def codemeta() -> str:
    """Return codemeta.json, the description of the software in the words of CodeMeta 3.0."""
    citation = cited()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    content = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": "ldp-frontier",
        "description": citation["abstract"],
        "version": citation["version"],
        "dateModified": str(citation["date-released"]),
        "license": f"https://spdx.org/licenses/{citation['license']}",
        "author": [{"@type": "Organization", "name": name} for name in authors(citation)],
        "keywords": citation["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": "Linux (reproduction); any (library and command)",
        "softwareRequirements": project["dependencies"],
        "buildInstructions": "README.md",
        "citation": [f"https://doi.org/{doi}" for doi in identifiers(citation)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def codecheck() -> str:
    """Return codecheck.yml as it is before a check."""
    citation = cited()
    # One URL is the reference, by version 2.0: that of the paper whose figures are the most work.
    links = {paper.key: paper.link for paper in papers().values() if paper.authors}
    content = {
        "version": _SPEC,
        "paper": {
            "title": citation["title"],
            "authors": [{"name": name} for name in authors(citation)],
            "reference": links.pop("lopuhaa2024"),
            "reference-other": list(links.values()),
        },
        "source": (
            "UCI Adult, https://doi.org/10.24432/C5XW20 (CC BY 4.0); its counts are in resources/. The rest"
            " is computed: snakemake everything makes every file of the manifest;"
            " docs/reproduction/artifact.md says how."
        ),
        "manifest": list(manifest()),
    }
    said = "Generated by tools/make_docs.py. Who checks adds codechecker, summary, certificate and report."
    return f"%YAML 1.1\n# {said}\n---\n" + yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, width=110
    )


def renew() -> None:
    """Write the three files."""
    CODECHECK.write_text(codecheck(), encoding="utf-8")
    ZENODO.write_text(zenodo(), encoding="utf-8")
    CODEMETA.write_text(codemeta(), encoding="utf-8")
