"""Mechanisms and papers of the user's own: found, named, told to jobs, and refused with a sentence."""

import copy
import shutil
import sys
from pathlib import Path

import pytest
import yaml

import papers as package
from reproduction.job import load
from reproduction.ledger.claims import claims_of
from reproduction.planning import imports
from reproduction.planning.configuration import ConfigurationError
from reproduction.planning.outside import folders_of, locate_files, locate_mechanisms
from reproduction.planning.own_mechanisms import own_contradictions
from reproduction.planning.paper import PaperError, Table, claim_entries, papers
from reproduction.planning.plan import Plan

ROOT = Path(__file__).parents[4]
MODULE = "from helpers.constants import HALF\nother = 3\n\n\ndef mechanism(ball, epsilon):\n    return HALF\n"
MINE = {"name": "mine", "function": "my_module:mechanism"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a module and what it imports, and work in another one."""
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers/__init__.py").touch()
    (tmp_path / "helpers/constants.py").write_text("HALF = [[0.5, 0.5]] * 10\n")
    (tmp_path / "my_module.py").write_text(MODULE)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def configuration():
    chosen = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    chosen["lopuhaa2024"]["mechanisms"] = ["polyopt", "srr", dict(MINE)]
    chosen["lopuhaa2024"]["pairs"] = [
        {"sensitive": "sex", "useful": "race"},
        {"sensitive": "race", "useful": "sex", "mechanisms": ["ir"]},
    ]
    return chosen


def test_the_module_is_beside_the_configuration_or_where_one_works(folder, configuration):
    locate_mechanisms(configuration, folders_of([folder / "my.yaml"]))
    assert configuration["lopuhaa2024"]["mechanisms"][2] == {**MINE, "file": "../my_module.py"}
    (folder / "work/my_module.py").write_text(MODULE)
    locate_mechanisms(configuration, folders_of([]))
    assert configuration["lopuhaa2024"]["mechanisms"][2]["file"] == "my_module.py"
    assert folders_of(["a/x.yaml", "b/y.yaml", "a/z.yaml"]) == [Path("a"), Path("b"), Path()]


@pytest.mark.parametrize(
    ("function", "text", "sentence"),
    [
        ("nowhere:mechanism", MODULE, "there is no file nowhere.py beside the configuration or in the"),
        ("my_module:other_one", MODULE, "has no other_one; allowed is a function that it defines."),
        ("my_module:mechanism", "def mechanism(:\n", "my_module.py is not Python: invalid syntax"),
    ],
)
def test_what_is_not_there_is_refused(folder, configuration, function, text, sentence):
    (folder / "my_module.py").write_text(text)
    configuration["lopuhaa2024"]["mechanisms"][2]["function"] = function
    with pytest.raises(ConfigurationError) as refused:
        locate_mechanisms(configuration, [folder])
    assert str(refused.value).startswith(f"lopuhaa2024.mechanisms: the function of mine is {function!r}; ")
    assert sentence in str(refused.value)


def planned(configuration):
    """Return what every job is told, by its table or its figure and its part."""
    chosen = {key: paper.select_calls(configuration) for key, paper in papers().items()}
    plan = Plan(chosen, configuration)
    return {
        (paper.key, type(call).__name__, call.name, part): plan.job_description(call, part)
        for paper in chosen.values()
        for call in (*paper.tables.values(), *paper.figures.values(), *paper.layouts.values())
        for part in (plan.parts(call) if isinstance(call, Table) and call.parts else [None])
    }


def test_an_edit_of_the_module_makes_what_calls_it_again(folder, configuration):
    configuration["kairouz2016"]["mechanisms"].append({**MINE, "name": "other"})
    locate_mechanisms(configuration, [folder])
    before = planned(configuration)
    (folder / "helpers/constants.py").write_text("HALF = [[0.25, 0.75]] * 10\n")
    for function in (imports._content, imports._file, imports._imports):
        function.cache_clear()
    after = planned(configuration)
    found = {key for key in before if before[key] != after[key]}
    names = {(paper, name) for paper, _, name, _ in found}
    assert {("lopuhaa2024", name) for name in ("solutions", "synthetic", "beta")} <= names
    assert ("beyond", "calibration") in names
    assert {("kairouz2016", name) for name in ("kl", "mutual_information")} <= names
    assert {part for paper, _, _, part in found if paper == "kairouz2016"} == {"6/0"}
    assert not {paper for paper, _ in names} - {"lopuhaa2024", "beyond", "kairouz2016"}
    # Of what is made from tables, Snakemake knows; and only the largest block of every size has them.
    assert {kind for _, kind, _, _ in found} == {"Table"}
    unaffected = {"random_tables", "theorems", "fig2", "fig3", "example", "documents"}
    assert not {("lopuhaa2024", name) for name in unaffected} & names
    assert not {("beyond", name) for name in ("bounds", "second_level", "people")} & names
    assert ("lopuhaa2024", "Table", "synthetic", "2x5/0") in found
    assert ("lopuhaa2024", "Table", "synthetic", "16x7-polyopt/0") not in found
    assert ("lopuhaa2024", "Table", "solutions", "race-sex/0") in found


def test_files_of_data_are_beside_the_configuration_or_where_one_works(folder):
    (folder / "here.csv").touch()
    for name in ("here.csv", "there.csv"):
        (folder / "work" / name).touch()
    names = ("here.csv", "there.csv", "nowhere.csv", str(folder / "here.csv"))
    chosen = {
        "data": {f"t{i}": {"file": name} for i, name in enumerate(names)},
        "adult": {"file": "here.csv"},
    }
    locate_files(chosen, folders_of([folder / "my.yaml"]))
    assert [entry["file"] for entry in chosen["data"].values()] == [
        "../here.csv", "there.csv", "nowhere.csv", str(folder / "here.csv"),
    ]  # fmt: skip
    assert chosen["adult"] == {"file": "../here.csv"}
    # What the schema refuses is left to it.
    for wrong in ({"data": 3}, {"data": {"t": None, "u": {"file": 3}}}, {"adult": []}, {}):
        before = copy.deepcopy(wrong)
        locate_files(wrong, [folder])
        assert wrong == before


@pytest.fixture
def beside(folder):
    """Return a folder beside a copy of the toy, and forget afterwards that it was imported."""
    shutil.copytree(ROOT / "tests/toy2026", folder / "toy2026", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    package.__path__ = [path for path in package.__path__ if path != str(folder)]
    for name in [name for name in sys.modules if name.startswith("papers.toy2026")]:
        del sys.modules[name]
    vars(package).pop("toy2026", None)


def test_a_paper_outside_is_one_of_the_papers(beside):
    found = papers(outside=[beside / "toy2026"])
    assert {*found} == {*papers(), "toy2026"}
    toy = found["toy2026"]
    assert toy.is_outside
    assert not found["kairouz2016"].is_outside
    assert [claim.id for claim in claims_of(toy)] == ["T-1", "T-2"]
    assert claim_entries("toy2026", ["T-2"])[0]["printed"] == "90%"
    assert Path(load("papers.toy2026.experiments:rates").__code__.co_filename).is_relative_to(beside)
    assert imports.imported_modules("papers.toy2026.claims")["papers.toy2026.claims"].is_relative_to(beside)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", "has no paper.yaml; allowed is the folder of a paper."),
        ("kairouz2016", "has the name of another paper; allowed is a name of its own."),
        ("My-Paper", "its name must be of lower-case letters, digits and _."),
    ],
)
def test_what_is_no_paper_is_refused(beside, name, sentence):
    (beside / name).mkdir()
    if name != "nothing":
        shutil.copy(beside / "toy2026/paper.yaml", beside / name)
    with pytest.raises(PaperError) as refused:
        papers(outside=[beside / name])
    assert str(refused.value).startswith(f"{beside / name} ")
    assert sentence in str(refused.value)


def test_names_must_differ():
    section = {"mechanisms": ["ir", MINE, {**MINE, "function": "a:b"}, {**MINE, "name": "ir"}]}
    assert [*own_contradictions("lopuhaa2024", section, ["ir", "srr"])] == [
        "lopuhaa2024.mechanisms has more than one mechanism 'mine'; allowed is a name of its own.",
        "lopuhaa2024.mechanisms has more than one mechanism 'ir'; allowed is a name of its own.",
    ]
    assert not [*own_contradictions("lopuhaa2024", {"mechanisms": ["ir", MINE]}, ["ir", "srr"])]
