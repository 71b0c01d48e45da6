"""What a ``paper.yaml`` may say, and that those of the papers say it."""

import copy
import inspect
import json
import re
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from reproduction.job import load
from reproduction.planning.configuration import check
from reproduction.planning.paper import PaperError, Parts, Table, papers, read
from reproduction.planning.plan import Plan, PlanError, plan_of
from reproduction.results.tables import Schema

ROOT = Path(__file__).parents[4]
PAPERS = papers()

SMALL = {
    "title": "Small",
    "authors": "A",
    "year": 2000,
    "tables": {
        "sweep": {
            "parts": "sweeps",
            "arguments": {"utility": "kl"},
            "publish": False,
            "schema": "summaries:WIDE",
        },
        "fig1": {
            "function": "of",
            "tables": ["sweep"],
            "settings": {"size": "small2000.size", "seed": "seed"},
        },
        "fig2": {"function": "more:scaling", "settings": "scaling", "brief": True, "memory": 9000},
    },
    "figures": {"fig1": {"tables": ["fig1"], "caption": "One\n  line. ", "labels": {"figure": "1"}}},
    "layouts": {"table1": {"function": "wide", "tables": ["fig2", "fig1"]}},
}
PLAN = """
def sweeps(configuration, utility):
    return {f"{size}/0": {"size": size, "of": utility} for size in configuration["small2000"]["sizes"]}

def scaling(configuration):
    return {"points": 2 * configuration["small2000"]["size"]}
"""
CONFIGURATION = {"seed": 1, "small2000": {"size": 3, "sizes": [4, 5]}}


@pytest.fixture
def small(shelve, tmp_path):
    """Return a function that writes the small paper, changed, and reads it."""

    def small(**changes):
        folder = tmp_path / "small2000"
        folder.mkdir(exist_ok=True)
        (folder / "paper.yaml").write_text(yaml.safe_dump({**SMALL, **changes}, sort_keys=False))
        (folder / "plan.py").write_text(PLAN)
        return shelve(tmp_path)["small2000"]

    return small


# Reading --------------------------------------------------------------------------------------------------


def test_what_is_called_and_how_it_is_imported(small):
    paper = small()
    folder = "papers.small2000"
    # A function has the name of its entry, and its module the one of its kind, unless they are given.
    assert paper.tables["sweep"].function_name == f"{folder}.experiments:sweep"
    assert paper.tables["fig1"].function_name == f"{folder}.experiments:of"
    assert paper.tables["fig2"].function_name == f"{folder}.more:scaling"
    assert paper.figures["fig1"].function_name == f"{folder}.figures:fig1"
    assert paper.layouts["table1"].function_name == f"{folder}.summaries:wide"
    assert paper.tables["fig1"].schema_name == "reproduction.results.tables:RESULTS"
    assert paper.tables["sweep"].schema_name == f"{folder}.summaries:WIDE"


def test_papers_are_found_by_looking_the_oldest_first(tmp_path):
    for key, year in (("b2001", 2001), ("a2001", 2001), ("c1999", 1999)):
        (tmp_path / key).mkdir()
        (tmp_path / key / "paper.yaml").write_text(f"{{title: T, authors: A, year: {year}}}")
    (tmp_path / "no paper").mkdir()
    assert list(papers(tmp_path)) == ["c1999", "a2001", "b2001"]
    assert papers(tmp_path / "no paper") == {}


def test_a_paper_may_read_tables_of_those_that_it_builds_on(shelve, tmp_path):
    def written(builds_on, table):
        for key, more in (("a2001", "builds_on: []"), ("b2002", f"builds_on: [{builds_on}]")):
            (tmp_path / key).mkdir(exist_ok=True)
            tables = "tables: {t: {}}" if key == "a2001" else f"tables: {{u: {{tables: [{table}]}}}}"
            (tmp_path / key / "paper.yaml").write_text(f"title: T\nyear: {key[1:]}\n{more}\n{tables}\n")
        return shelve(tmp_path)

    found = written("a2001", "a2001/t")
    plan = Plan(found, {})
    assert plan.input_files(found["b2002"].tables["u"]) == [["results/tables/a2001/t.parquet"]]
    assert found["b2002"].short_name == "T"
    for builds_on, table, sentence in (
        ("", "a2001/t", "reads a table of a2001, on which the paper does not build."),
        ("a2001", "a2001/v", "has u, which reads the table v of a2001, which is not there."),
        ("c2000", "c2000/t", "builds on 'c2000'; allowed are a2001."),
    ):
        with pytest.raises(PaperError) as error:
            written(builds_on, table)
        assert str(error.value).endswith(sentence)


def test_a_claim_is_about_tables_that_are_there(shelve, tmp_path):
    for key, claimed in (("a2001", ""), ("b2002", "claims: [{id: B-1, tables: [a2001/t, a2001/v]}]")):
        (tmp_path / key).mkdir()
        text = f"title: T\nyear: {key[1:]}\ntables: {{t: {{}}}}\n{claimed}\n"
        (tmp_path / key / "paper.yaml").write_text(text)
    with pytest.raises(PaperError, match="the claim B-1 about the table a2001/v, which is not there"):
        shelve(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "{path} is None; it must be a mapping with title, year, authors,"),
        ("title: T\nauthors: A\n", "{path} lacks year."),
        ("title: T\nyear: [", "Line 2 of {path} is not YAML: "),
    ],
)
def test_a_file_that_is_no_paper_gets_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "paper.yaml"
    path.write_text(text)
    with pytest.raises(PaperError) as error:
        read(path)
    assert sentence.format(path=path) in str(error.value)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tabels": {}}, "{path} has the unknown key 'tabels'; did you mean 'tables'?"),
        ({"year": "2000"}, "year of {path} is '2000'; it must be a whole number."),
        ({"tables": ["fig1"]}, "tables of {path} is ['fig1']; it must be a mapping."),
        ({"claims": {"id": "S-1"}}, "claims of {path} is {{'id': 'S-1'}}; it must be a list."),
        ({"figures": {"f": {"tabels": []}}}, "f in {path} has the unknown key 'tabels'; did you mean"),
        ({"figures": {"f": {"tables": ["x"]}}}, "f in {path} reads the table x, which is not there."),
        ({"tables": {"t": {"parts": "x", "settings": "y"}}}, "t in {path} has parts and settings; allowed"),
        ({"tables": {"t": {"publish": False}}}, "t in {path} is not published and has no parts"),
    ],
)
def test_an_entry_that_does_not_fit_gets_a_sentence(small, tmp_path, changes, sentence):
    with pytest.raises(PaperError) as error:
        small(
            **{
                "tables": {"fig1": None, "fig2": None, **SMALL["tables"]},
                "figures": {},
                "layouts": {},
                **changes,
            }
        )
    assert sentence.format(path=tmp_path / "small2000/paper.yaml") in str(error.value)


# Arguments ------------------------------------------------------------------------------------------------


def test_arguments_come_from_the_entry_the_configuration_and_the_plan(small):
    paper = small()
    assert paper.tables["fig1"].resolve(CONFIGURATION) == {"size": 3, "seed": 1}
    assert paper.tables["fig2"].resolve(CONFIGURATION) == {"points": 6}
    assert paper.figures["fig1"].resolve(CONFIGURATION) == {}
    assert paper.tables["sweep"].part_arguments(CONFIGURATION) == {
        "4/0": {"utility": "kl", "size": 4, "of": "kl"},
        "5/0": {"utility": "kl", "size": 5, "of": "kl"},
    }


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"settings": {"x": "small2000.sise"}}, "asks for small2000.sise, which the configuration does not"),
        ({"settings": "shapes"}, "asks for shapes of plan.py, which is not there."),
    ],
)
def test_arguments_that_are_not_there_get_a_sentence(small, entry, sentence):
    table = small(tables={"t": entry}, figures={}, layouts={}).tables["t"]
    with pytest.raises(PaperError, match=re.escape(f"t of small2000 {sentence}")):
        table.part_arguments(CONFIGURATION) if table.parts else table.resolve(CONFIGURATION)


# The plan -------------------------------------------------------------------------------------------------


def test_what_the_configuration_makes_of_a_paper(small):
    paper = small()
    plan = Plan({paper.key: paper}, CONFIGURATION)
    sweep, fig1 = paper.tables["sweep"], paper.tables["fig1"]
    chunks = [f"results/chunks/small2000/sweep/{size}/0.parquet" for size in (4, 5)]
    assert plan.table_files(sweep) == plan.part_files(sweep) == chunks
    assert plan.input_files(fig1) == [chunks]
    assert plan.table_files(fig1) == ["results/tables/small2000/fig1.parquet"]
    assert plan.arguments(sweep, "5/0") == {"utility": "kl", "size": 5, "of": "kl"}
    with pytest.raises(
        PlanError, match=r"Table sweep of small2000 has no part 9; the configuration makes 4/0, 5/0\."
    ):
        plan.arguments(sweep, "9")
    assert plan.job_description(fig1) == {
        "function": "papers.small2000.experiments:of",
        "arguments": {"size": 3, "seed": 1},
        "counts": [],
        "tables": [["papers.small2000.summaries:WIDE", 2]],
        "batches": False,
        "own": {},
    }
    assert plan.data_sets(paper) == []
    assert plan.target_files(paper, ["svg", "pdf"]) == [
        "results/tables/small2000/fig1.parquet",
        "results/tables/small2000/fig1.csv",
        "results/tables/small2000/fig2.parquet",
        "results/tables/small2000/fig2.csv",
        "results/figures/small2000/fig1.svg",
        "results/figures/small2000/fig1.pdf",
        "results/tables/small2000/table1.md",
    ]


def drawn_and_read(shelve, root):
    """Return a paper that draws ten instances to a file, and reads them in jobs of `step`."""
    (root / "read2002").mkdir()
    tables = {
        "drawn": {"parts": "drawn", "population": True},
        "read": {"parts": "read", "tables": ["drawn"]},
        "all": {"tables": ["drawn"], "settings": "some"},
    }
    text = yaml.safe_dump({"title": "T", "authors": "A", "year": 2002, "tables": tables})
    (root / "read2002/paper.yaml").write_text(text)
    (root / "read2002/plan.py").write_text(
        "from reproduction.planning.paper import Parts\n"
        "def drawn(configuration):\n"
        "    files = range(-(-configuration['total'] // 10))\n"
        "    return {str(i): {'numbers': list(range(10 * i, 10 * i + 10)), 'seed': configuration['seed']}"
        " for i in files}\n"
        "def read(configuration):\n"
        "    total, step = configuration['total'], configuration['step']\n"
        "    cut = [list(range(i, min(i + step, total))) for i in range(0, total, step)]\n"
        "    return {str(i): "
        "{'drawn': Parts(tuple(sorted({str(n // 10) for n in numbers}))), 'numbers': numbers}"
        " for i, numbers in enumerate(cut)}\n"
        "def some(configuration):\n"
        "    return {'drawn': Parts(('0',))}\n"
    )
    return shelve(root)["read2002"]


def test_a_job_reads_the_parts_of_a_population_that_it_names(shelve, tmp_path):
    paper = drawn_and_read(shelve, tmp_path)
    drawn, read, first = (paper.tables[name] for name in ("drawn", "read", "all"))
    assert {*paper.published_tables} == {"read", "all"}

    def plan(**keys):
        chosen = {"total": 15, "step": 5, "seed": 1, **keys}
        return Plan({"read2002": paper}, chosen)

    usual = plan()
    files = [f"results/data/populations/read2002/drawn/{i}.parquet" for i in (0, 1)]
    assert usual.table_files(drawn) == files
    assert [usual.input_files(read, part) for part in "012"] == [[files[:1]], [files[:1]], [files[1:]]]
    assert usual.input_files(first) == [files[:1]]
    assert usual.job_description(read, "2")["arguments"] == {"numbers": [10, 11, 12, 13, 14]}
    # More instances only add files and jobs; another seed concerns all.
    more = plan(total=25)
    assert [*more.parts(read)] == ["0", "1", "2", "3", "4"]
    for table in (drawn, read):
        for part in usual.parts(table):
            assert more.job_description(table, part) == usual.job_description(table, part)
            assert more.input_files(table, part) == usual.input_files(table, part)
    assert plan(seed=2).job_description(drawn, "0") != usual.job_description(drawn, "0")


# The papers themselves ------------------------------------------------------------------------------------

each_paper = pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.key)


@pytest.mark.parametrize("names", [(), ("smoke",), ("long",)])
def test_the_plan_of_files_is_that_of_snakemake(names):
    chosen = {}
    for name in ("config", *names):
        update_config(chosen, yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()))
    plan = plan_of(*names)
    assert plan.configuration == chosen
    assert {key: paper.tables.keys() for key, paper in plan.papers.items()} == {
        key: paper.select_calls(chosen).tables.keys() for key, paper in PAPERS.items()
    }


def calls(paper):
    return [*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()]


@each_paper
@pytest.mark.parametrize("names", [(), ("smoke",), ("long",)])
def test_every_call_has_arguments_that_are_plain_values(paper, names):
    plan = plan_of(*names)
    common = json.loads((ROOT / "workflow/schemas/common.schema.json").read_text())
    check(plan.configuration, common, PAPERS.values())
    before = copy.deepcopy(plan.configuration)
    for call in calls(plan.papers[paper.key]):
        parts = plan.parts(call) if isinstance(call, Table) and call.parts else [None]
        assert parts, call.name
        for part in parts:
            told = plan.job_description(call, part)
            # What Snakemake compares is what JSON holds.
            assert json.loads(json.dumps(told)) == told, (call.name, part)
            assert part is None or re.fullmatch(r"[\w.-]+(/[\w.-]+)*", part), part
            assert isinstance(call, Table) or not told["counts"], f"{call.name}: counts are for tables"
    assert plan.configuration == before


@each_paper
def test_every_call_fits_its_function(paper):
    plan = Plan(PAPERS, plan_of().configuration)
    for call in calls(paper):
        parts = (
            plan.parts(call).values() if isinstance(call, Table) and call.parts else [plan.arguments(call)]
        )
        signature = inspect.signature(load(call.function_name))
        for arguments in parts:
            signature.bind(*call.tables, **{n: v for n, v in arguments.items() if not isinstance(v, Parts)})
        if isinstance(call, Table):
            assert isinstance(load(call.schema_name), Schema), call.name


@each_paper
def test_every_figure_and_layout_is_described(paper):
    assert paper.figures
    for call in (*paper.figures.values(), *paper.layouts.values()):
        assert re.fullmatch(r"[A-Z].*\.", call.caption), call.name
        assert call.labels, call.name
        assert all(isinstance(text, str) for text in call.labels.values()), call.name


@each_paper
def test_every_table_is_read_or_published(paper):
    read_by_others = {name for call in calls(paper) for name in call.tables}
    own = {name for name, table in paper.tables.items() if not table.certificates}
    assert not own - {*read_by_others, *paper.published_tables}


def test_parts_of_a_table_without_parts(small):
    with pytest.raises(PaperError, match="Table fig1 of small2000 has no parts"):
        small().tables["fig1"].part_arguments(CONFIGURATION)
