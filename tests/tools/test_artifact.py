"""What reviewers are given: the appendix and the manifest say what the workflow makes, and nothing else."""

import json
import re
from pathlib import Path

import pytest
import yaml

import ldpfrontier
from support.programs import program

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def artifact():
    return program("tools/artifact.py")


@pytest.fixture(scope="module")
def manifest():
    return yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))


def test_the_manifest_is_as_the_workflow_is(artifact):
    written = artifact.CODECHECK.read_text(encoding="utf-8")
    assert written == artifact.codecheck(), "python tools/make_docs.py renews it"


def test_what_archives_read_is_as_the_citation_is(artifact):
    renewed = "python tools/make_docs.py renews it"
    assert artifact.ZENODO.read_text(encoding="utf-8") == artifact.zenodo(), renewed
    assert artifact.CODEMETA.read_text(encoding="utf-8") == artifact.codemeta(), renewed
    deposit, description = json.loads(artifact.zenodo()), json.loads(artifact.codemeta())
    assert {entry["identifier"] for entry in deposit["related_identifiers"]} >= {
        paper.link.removeprefix("https://doi.org/")
        for paper in artifact.plan_of().papers.values()
        if paper.authors
    }
    assert deposit["version"] == description["version"] == ldpfrontier.__version__


def test_the_manifest_is_one_of_codecheck(manifest):
    """The rules of version 2.0 that an author can keep; `codechecker` and the rest are the checker's."""
    text = (ROOT / "codecheck.yml").read_text(encoding="utf-8")
    assert text.startswith("%YAML 1.1\n")
    assert "\n---\n" in text
    assert manifest["version"] == "https://codecheck.org.uk/spec/config/2.0/"
    assert set(manifest) == {"version", "paper", "source", "manifest"}
    assert manifest["paper"]["title"]
    links = [manifest["paper"]["reference"], *manifest["paper"]["reference-other"]]
    assert all(re.fullmatch(r"https://doi\.org/10\.\d{4,}/\S+", link) for link in links)
    assert len(set(links)) == len(links) == 4
    assert all(author["name"] for author in manifest["paper"]["authors"])
    files = [entry["file"] for entry in manifest["manifest"]]
    assert len(files) == len(set(files))
    assert all(set(entry) == {"file", "comment"} and entry["comment"] for entry in manifest["manifest"])
    assert all(not Path(file).is_absolute() and ".." not in Path(file).parts for file in files)


def test_the_manifest_has_every_figure_and_what_decides_claims(artifact, manifest):
    files = {entry["file"] for entry in manifest["manifest"]}
    papers = artifact.plan_of().papers
    for paper in papers.values():
        assert {f"results/figures/{paper.key}/{name}.pdf" for name in paper.figures} <= files
        for claim in artifact.claims_of(paper):
            assert f"results/tables/{claim.place}.csv" in files
