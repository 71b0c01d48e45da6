"""The pictures of the pages are figures of the papers; the command notices others in a run."""

import importlib.util
import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reproduction.drawn_data import drawn_data
from reproduction.figure_style import save, style
from reproduction.planning.paper import papers
from reproduction.results.files import write_table
from reproduction.results.tables import Schema

ROOT = Path(__file__).parents[2]


def loaded():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools/pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES = loaded()


def test_every_picture_of_a_paper_is_a_figure_of_it():
    shown = list(PICTURES.shown())
    assert shown
    for path, key, figure in shown:
        assert figure in papers()[key].figures, path.name


def test_every_picture_is_on_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = set(re.findall(r"img/([\w.]+)", "".join(page.read_text(encoding="utf-8") for page in pages)))
    assert named == {path.name for path in PICTURES.PICTURES.iterdir()}


def drawn(path, curve, carries=True):
    with style():
        figure = Figure(figsize=(3, 2))
        figure.subplots().plot([1, 2, 3], curve, label="optimum")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path, comment=drawn_data(figure) if carries else "")


def run_of(results, paper, figure, curve):
    """Make what the comparison reads of a run at full scale: a figure, and the tables that it is from."""
    plan = PICTURES.PLANS[0]
    for table in plan.papers[paper].figures[figure].tables:
        metadata = {"configuration_hash": plan.configuration_of(plan.papers[paper].tables[table])}
        path = results / f"tables/{paper}/{table}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table([], path, metadata, RATES)
    drawn(results / f"figures/{paper}/{figure}.png", curve)


RATES = Schema(name="rates", columns={"value": "float64"}, key=("value",))


@pytest.mark.parametrize(
    ("curve", "carries", "said"),
    [
        ([0.1, 0.5, 0.7], True, ""),
        # As another machine computes it.
        ([0.1 + 1e-9, 0.5, 0.7 - 1e-9], True, ""),
        ([0.1, 0.51, 0.7], True, "0 Line2D optimum of axes 1, by 0.015 of the axes"),
        ([0.1, 0.5, 0.8], True, "the limits of axes 1"),
        ([0.1, 0.5, 0.7], False, "it does not carry the data that it shows"),
    ],
)
def test_a_curve_that_was_changed_is_noticed(tmp_path, monkeypatch, curve, carries, said):
    pictures, results = tmp_path / "img", tmp_path / "results"
    run_of(results, "lopuhaa2024", "steps", [0.1, 0.5, 0.7])
    drawn(pictures / "lopuhaa2024_steps.png", curve, carries)
    monkeypatch.setattr(PICTURES, "PICTURES", pictures)
    ((path, source),) = PICTURES.compared(results)
    assert PICTURES.seen_difference(path, source) == said


def test_a_figure_of_a_smaller_run_is_not_compared(tmp_path, monkeypatch):
    run_of(tmp_path, "lopuhaa2024", "steps", [1, 2, 3])
    table = tmp_path / "tables/lopuhaa2024/steps.parquet"
    write_table([], table, {"configuration_hash": "another"}, RATES)
    assert list(PICTURES.compared(tmp_path)) == []
