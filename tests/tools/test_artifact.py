"""What reviewers are given: the appendix and the manifest say what the workflow makes, and nothing else."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

import ldpfrontier

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def artifact():
    spec = importlib.util.spec_from_file_location("artifact", ROOT / "tools/artifact.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def manifest():
    return yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))


def test_both_are_as_the_workflow_is(artifact):
    text = artifact.ARTIFACT.read_text(encoding="utf-8")
    assert text == artifact.appendix(text), "python tools/make_docs.py renews docs/artifact.md"
    assert artifact.CODECHECK.read_text(encoding="utf-8") == artifact.codecheck(), (
        "python tools/make_docs.py renews it"
    )


def test_what_archives_read_is_as_the_citation_is(artifact):
    renewed = "python tools/make_docs.py renews it"
    assert artifact.ZENODO.read_text(encoding="utf-8") == artifact.zenodo(), renewed
    assert artifact.CODEMETA.read_text(encoding="utf-8") == artifact.codemeta(), renewed
    deposit, description = json.loads(artifact.zenodo()), json.loads(artifact.codemeta())
    assert {entry["identifier"] for entry in deposit["related_identifiers"]} >= {
        paper.link.removeprefix("https://doi.org/") for paper in artifact.plan_of().papers.values()
    }
    assert deposit["version"] == description["version"] == ldpfrontier.__version__


def test_every_claim_is_listed_with_what_decides_it(artifact):
    text = artifact.ARTIFACT.read_text(encoding="utf-8")
    (rule,) = re.findall(
        r'"(results/claims/\{claim\}\.md)"', (ROOT / "workflow/rules/report.smk").read_text()
    )
    assert f"`snakemake {rule.format(claim='K-F4')}`" in text
    plan = artifact.plan_of()
    papers = plan.papers
    files = {file for paper in papers.values() for file in plan.target_files(paper, ["pdf"])}
    claims = [claim for paper in papers.values() for claim in artifact.claims_of(paper)]
    assert claims
    for claim in claims:
        (line,) = re.findall(rf"(?m)^\| (?:.*, )?{claim.id}(?:,.*)? \| .*$", text)
        for kind, name in re.findall(r"(table|figure) `([^`]*)`", line):
            assert f"results/{kind}s/{name}.{'csv' if kind == 'table' else 'pdf'}" in files


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
            assert f"results/tables/{paper.key}/{claim.tables[0]}.csv" in files


def test_what_a_run_took_is_read_from_it(artifact, tmp_path):
    head = "s\th:m:s\tmax_rss\n"
    for name, line in (
        ("liao2017/fig1", "2.4\t0:00:02\t99.6"),
        ("liao2017/sweeps/pair_1", "7.0\t0:00:07\t200"),
    ):
        path = tmp_path / f"logs/{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + line + "\n")
    (tmp_path / "logs/liao2017/sweeps.tsv").write_text(f"{head}0.4\t0:00:00\t-\n")
    for name in (
        "tables/liao2017/fig1.csv",
        "chunks/liao2017/sweeps/pair_1.parquet",
        "tables/liao2017/sweeps.csv",
    ):
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(500_000))
    found = artifact.measure(tmp_path).set_index("name")
    assert found.loc["liao2017/fig1"].to_list() == [1, 2, 100, 0.5]
    assert found.loc["liao2017/sweeps"].to_list() == [2, 7, 200, 1.0]
    assert len(found) == 2


def test_the_cost_of_a_claim_is_that_of_all_it_needs(artifact):
    papers = artifact.plan_of().papers
    paper = papers["kairouz2016"]
    claim = artifact.claims_of(paper)[0]
    one, two = (replace(claim, tables=(name,)) for name in ("thresholds", "fig4"))
    rows = pd.DataFrame(
        [
            {"name": "kairouz2016/thresholds", "jobs": 1, "seconds": 54, "memory": 200, "disk": 0.5},
            {"name": "kairouz2016/fig4", "jobs": 1, "seconds": 1, "memory": 200, "disk": 0.5},
            {"name": "kairouz2016/kl", "jobs": 4, "seconds": 581, "memory": 300, "disk": 1.5},
            {"name": "kairouz2016/instances", "jobs": 1, "seconds": 1, "memory": 100, "disk": 0.1},
        ]
    )
    assert artifact.cost(paper, one, rows) == ("64 s", "200 MB", "0.6 MB")
    assert artifact.cost(paper, one, rows[1:]) == ("7 s + ?", "150 MB + ?", "0.1 MB + ?")
    # A table made from others needs these too.
    assert artifact.cost(paper, two, rows) == ("10 min", "300 MB", "2.1 MB")
