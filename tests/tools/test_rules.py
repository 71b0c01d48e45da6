"""The page of the rules is as the workflow is."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rules():
    spec = importlib.util.spec_from_file_location("rules", ROOT / "tools/rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(rules):
    return rules.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_as_the_workflow_is(rules, text):
    assert text.partition("## A dry run")[0] == rules.tables(), (
        "python tools/make_docs.py renews docs/rules.md"
    )


def test_every_link_leads_to_a_definition(text):
    links = re.findall(r"\]\(\.\./([^)#]*)(?:#:~:text=def%20(\w+))?\)", text)
    assert len(links) > 100
    for path, function in set(links):
        assert (ROOT / path).exists(), path
        assert not function or re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE), path


@pytest.mark.workflow
def test_the_rules_and_the_dry_run_are_those_of_snakemake(rules, text, tmp_path):
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--directory", str(tmp_path)]
    listed = subprocess.run([*command, "--list-rules"], capture_output=True, text=True, check=True).stdout
    assert {*rules.names(text)} == {*re.findall(r"^\w+$", listed, re.MULTILINE)}
    assert text.endswith(rules.dry_run())
