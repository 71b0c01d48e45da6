"""What reviewers are given: the appendix and the manifest say what the workflow makes, and nothing else."""

import json
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


def test_the_manifest_has_every_figure_and_what_decides_claims(artifact, manifest):
    files = {entry["file"] for entry in manifest["manifest"]}
    papers = artifact.plan_of().papers
    for paper in papers.values():
        assert {f"results/figures/{paper.key}/{name}.pdf" for name in paper.figures} <= files
        for claim in artifact.claims_of(paper):
            assert f"results/tables/{claim.place}.csv" in files
