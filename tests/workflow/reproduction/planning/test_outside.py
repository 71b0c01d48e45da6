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
from reproduction.planning.configuration import ConfigurationError
from reproduction.planning.outside import folders_of, locate_files, locate_mechanisms, locate_papers
from reproduction.planning.own_mechanisms import own_contradictions, own_mechanisms, register, registered
from reproduction.planning.paper import PaperError, claim_entries, papers
from reproduction.planning.plan import Plan
from reproduction.planning.provenance import code_hash

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
        (
            "nowhere:mechanism",
            MODULE,
            "there is no file nowhere.py beside the configuration or in the working",
        ),
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


def test_names_must_differ():
    section = {"mechanisms": ["ir", MINE, {**MINE, "function": "a:b"}, {**MINE, "name": "ir"}]}
    assert [*own_contradictions("lopuhaa2024", section, ["ir", "srr"])] == [
        "lopuhaa2024.mechanisms has more than one mechanism 'mine'; allowed is a name of its own.",
        "lopuhaa2024.mechanisms has more than one mechanism 'ir'; allowed is a name of its own.",
    ]
    assert not [*own_contradictions("lopuhaa2024", {"mechanisms": ["ir", MINE]}, ["ir", "srr"])]


def test_jobs_are_told():
    section = {"mechanisms": ["ir", {**MINE, "label": "Mine", "file": "my_module.py"}]}
    try:
        register({"seed": 1, "lopuhaa2024": section})
        (mine,) = registered("lopuhaa2024").values()
        assert mine == own_mechanisms(section)["mine"]
        assert (mine.name, mine.label, mine.file) == ("mine", "Mine", "my_module.py")
        assert not registered("kairouz2016")
    finally:
        register({})
    assert not registered("lopuhaa2024")


def planned(configuration):
    """Return the hash of every part of every table by its place, and of every table."""
    plan = Plan(
        {k: p.select_calls(configuration) for k, p in papers().items()}, configuration, ROOT / "resources"
    )
    parts = {
        (table.paper, table.name, part): digest
        for table in plan.tables
        if table.parts
        for part, digest in zip(plan.parts(table), plan.part_configurations(table), strict=True)
    }
    return parts, {(table.paper, table.name): plan.configuration_of(table) for table in plan.tables}


def test_an_edit_of_the_module_makes_what_depends_on_it_again(folder, configuration):
    configuration["kairouz2016"]["mechanisms"].append({**MINE, "name": "other"})
    locate_mechanisms(configuration, [folder])
    parts, tables = planned(configuration)
    (folder / "helpers/constants.py").write_text("HALF = [[0.25, 0.75]] * 10\n")
    parts_after, tables_after = planned(configuration)
    found = {key for key in tables if tables[key] != tables_after[key]}
    studied = {"fig2", "orders", "calibration", "synthetic", "beta"}
    assert {name for paper, name in found if paper == "lopuhaa2024"} >= studied | {"fig3", "orderings"}
    assert {name for paper, name in found if paper == "kairouz2016"} >= {"kl", "tv", "fig3", "fig6"}
    assert not {paper for paper, _ in found} - {"lopuhaa2024", "kairouz2016"}
    unaffected = {"classes", "bounds", "second_level", "random_tables", "theorems", "quantiles", "example"}
    assert not {("lopuhaa2024", name) for name in unaffected} & found
    # Only the largest block of every size has the user's mechanisms.
    changed = {key for key in parts if parts[key] != parts_after[key]}
    assert ("lopuhaa2024", "synthetic", "2x5/0") in changed
    assert ("lopuhaa2024", "synthetic", "2x5-exact/0") not in changed
    assert ("lopuhaa2024", "fig2", "race-sex/0") in changed
    (folder / "helpers/constants.py").write_text("# A comment.\nHALF = [[0.25, 0.75]] * 10\n")
    assert planned(configuration) == (parts_after, tables_after)


def test_labels_are_what_is_made_from_tables_in_a_moment(folder, configuration):
    locate_mechanisms(configuration, [folder])
    renamed = copy.deepcopy(configuration)
    renamed["lopuhaa2024"]["mechanisms"][2]["label"] = "Another"
    assert planned(renamed) == planned(configuration)
    found = {k: p.select_calls(configuration) for k, p in papers().items()}
    before, after = (Plan(found, chosen, ROOT / "resources") for chosen in (configuration, renamed))
    paper = found["lopuhaa2024"]
    shown = [paper.figures["fig2"], paper.layouts["orderings"], paper.tables["orderings"]]
    assert all(before.looks(call) != after.looks(call) for call in shown)
    computed = [paper.tables[name] for name in ("fig2", "synthetic", "random_tables", "theorems", "bounds")]
    assert not any(before.looks(call) for call in [*computed, *found["kairouz2016"].figures.values()])


def test_papers_are_beside_the_configuration_or_where_one_works(folder):
    (folder / "mine2026").mkdir()
    (folder / "work/other2026").mkdir()
    chosen = {"papers": ["mine2026", "other2026", "nowhere"]}
    assert locate_papers(chosen, folders_of([folder / "my.yaml"])) == ["../mine2026", "other2026", "nowhere"]
    assert chosen["papers"] == ["../mine2026", "other2026", "nowhere"]
    # What the schema refuses is left to it.
    for wrong in (None, "mine2026", [1]):
        assert locate_papers({"papers": wrong}, [folder]) == []


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
    outside = {"papers.toy2026": toy.folder}
    names = ["papers.toy2026.claims", "papers.toy2026.figures"]
    before = [code_hash(name, outside=outside) for name in names]
    (beside / "toy2026/claims.py").write_text("LIMIT = 1\n")
    after = [code_hash(name, outside=outside) for name in names]
    assert before[0] != after[0]
    assert before[1] == after[1]
    with pytest.raises(ValueError, match=r"no module or script papers\.toy2026\.claims"):
        code_hash("papers.toy2026.claims")


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
