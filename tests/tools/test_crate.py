"""The research object crate of a run: every file that it names is there, and every name is described."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded():
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("crate", ROOT / "tools/crate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CRATE = loaded()


@pytest.fixture
def results(tmp_path):
    for name in (
        "report/index.html",
        "figures/lopuhaa2024/fig2.png",
        "figures/lopuhaa2024/fig2.pdf",
        "figures/lopuhaa2024/unknown.png",
        "tables/lopuhaa2024/fig2.parquet",
        "tables/lopuhaa2024/table2.md",
        "certificates/lopuhaa2024/fig2/one.json",
        "claims.csv",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("content", encoding="utf-8")
    (tmp_path / ".finished").write_text("the default configuration\n", encoding="utf-8")
    return tmp_path


def test_a_crate_has_what_the_run_made(results):
    graph = {entity["@id"]: entity for entity in CRATE.crate(results)["@graph"]}
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert parts == {
        "report/index.html",
        "figures/lopuhaa2024/fig2.png",
        "figures/lopuhaa2024/fig2.pdf",
        "tables/lopuhaa2024/fig2.parquet",
        "tables/lopuhaa2024/table2.md",
        "certificates/",
        "claims.csv",
    }
    assert graph["claims.csv"]["contentSize"] == "7"
    assert graph["figures/lopuhaa2024/fig2.png"]["encodingFormat"] == "image/png"
    assert graph["#run"]["name"] == "snakemake, with the default configuration"


def test_everything_that_is_referred_to_is_described(results):
    graph = CRATE.crate(results)["@graph"]
    known = [entity["@id"] for entity in graph]
    assert len(known) == len(set(known))
    referred = set()

    def visit(value):
        if isinstance(value, dict):
            referred.update([value["@id"]] if set(value) == {"@id"} else [])
            for inside in value.values():
                visit(inside)
        elif isinstance(value, list):
            for inside in value:
                visit(inside)

    visit(graph)
    assert referred - set(known) == {"https://w3id.org/ro/crate/1.1"}
    json.dumps(graph)


def test_a_run_that_has_not_finished_is_refused(results):
    (results / ".finished").unlink()
    with pytest.raises(ValueError, match="has no finished run; allowed is"):
        CRATE.crate(results)
