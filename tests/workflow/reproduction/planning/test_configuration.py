"""The generic part of the configuration: its schema, one sentence per problem, and grids."""

import copy
import csv
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from reproduction.planning.configuration import (
    ConfigurationError,
    check,
    grid,
    grid_contradictions,
    read_texts,
    schema_with,
    values,
)
from reproduction.planning.paper import papers

ROOT = Path(__file__).parents[4]
PAPERS = papers().values()
COMMON = json.loads((ROOT / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))
SCHEMA = schema_with(COMMON, PAPERS)
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))


def merged(base, override):
    if not (isinstance(base, dict) and isinstance(override, dict)):
        return override
    return {**base, **{key: merged(base.get(key), value) for key, value in override.items()}}


def changed(dotted, value):
    override = value
    for key in reversed(dotted.split(".")):
        override = {key: override}
    return merged(copy.deepcopy(DEFAULT), override)


def without(dotted):
    found = part = copy.deepcopy(DEFAULT)
    *way, last = dotted.split(".")
    for key in way:
        part = part[key]
    del part[last]
    return found


def problems(configuration, common=COMMON, found=PAPERS):
    with pytest.raises(ConfigurationError) as error:
        check(configuration, common, found)
    return str(error.value).splitlines()


def objects(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)


# The configurations that are shipped, and the schema ------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_configurations_are_valid(path):
    check(merged(DEFAULT, yaml.safe_load(path.read_text(encoding="utf-8"))), COMMON, PAPERS)


def test_the_schema_is_strict_and_describes_every_key():
    Draft202012Validator.check_schema(SCHEMA)
    for part in objects(SCHEMA):
        assert part["additionalProperties"] is False
        for name, key in part["properties"].items():
            assert "description" in key or "$ref" in key, name


def test_every_section_belongs_to_a_paper_or_to_all():
    assert set(SCHEMA["properties"]) == set(DEFAULT)
    assert set(DEFAULT) == set(COMMON["properties"]) | {p.key for p in PAPERS if p.configuration_schema}
    assert SCHEMA["required"] == [*COMMON["required"], *(p.key for p in PAPERS if p.configuration_schema)]
    assert not set(COMMON["properties"]) & {p.key for p in PAPERS}


def test_definitions_are_all_used():
    texts = [json.dumps(COMMON), *(json.dumps(paper.configuration_schema) for paper in PAPERS)]
    used = {name for text in texts for name in re.findall(r'"#/\$defs/(\w+)"', text)}
    assert used == set(COMMON["$defs"])


def test_editors_resolve_the_schema_to_what_the_workflow_checks():
    def from_file(uri):
        contents = json.loads(Path(unquote(urlsplit(uri).path)).read_text(encoding="utf-8"))
        return DRAFT202012.create_resource(contents)

    path = ROOT / "workflow/schemas/config.schema.json"
    whole = {"$id": path.as_uri(), **json.loads(path.read_text(encoding="utf-8"))}
    editor = Draft202012Validator(whole, registry=Registry(retrieve=from_file))
    assert not list(editor.iter_errors(DEFAULT))
    assert list(whole["properties"]) == list(SCHEMA["properties"])
    wrong = copy.deepcopy(DEFAULT)
    wrong["lopuhaa2024"]["solver"]["tolerance"] = wrong["kairouz2016"]["unknown"] = "x"
    both = [
        sorted(error.message for error in validator.iter_errors(wrong))
        for validator in (editor, Draft202012Validator(SCHEMA))
    ]
    assert both[0] == both[1]
    assert len(both[0]) == 2


def test_every_key_of_the_default_has_a_comment_and_the_schema_is_named():
    lines = (ROOT / "config/config.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# yaml-language-server: $schema=../workflow/schemas/config.schema.json"
    grouped = {"adult:", "figures:", "solver:", "start:", "stop:", "points:"} | {f"{p.key}:" for p in PAPERS}
    for before, line in pairwise(lines):
        key = line.strip().split(" ")[0]
        if key.endswith(":") and key not in grouped:
            assert before.strip().startswith("#"), line


# One sentence per problem ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dotted", "value", "sentence"),
    [
        ("lopuhaa2024.betta", 0.1, "Unknown key lopuhaa2024.betta; did you mean 'beta'?"),
        ("lopuhaa2024.drift", {}, "Unknown key lopuhaa2024.drift; did you mean beyond.drift?"),
        ("lopuhaa2024.beta", 1.5, "lopuhaa2024.beta is 1.5; allowed is a number greater than 0 and less"),
        ("lopuhaa2024.solver.tolerance", "1e-7", 'is "1e-7" (YAML reads it as text; write 1.0e-7, not 1e-7)'),
        ("lopuhaa2024.pairs", [], "lopuhaa2024.pairs is []; allowed is a list with at least 1 entries."),
        ("lopuhaa2024.pairs", [{"sensitive": "sex"}], "The key lopuhaa2024.pairs[0].useful is missing."),
        ("lopuhaa2024.mechanisms", ["grr", "grr"], "lopuhaa2024.mechanisms has an entry twice"),
        ("lopuhaa2024.epsilon.values", [-1.0], "lopuhaa2024.epsilon.values[0] is -1.0; allowed is a number"),
        ("adult.source", "internet", 'adult.source is "internet"; allowed is one of auto, uci, file,'),
        ("zzz", 1, "Unknown key zzz; allowed are seed, adult, figures, papers, data, kairouz2016,"),
        ("adult.source", "file", "adult.source is 'file' but adult.file is null; it must name the raw"),
        (
            "data",
            {"a b": dict.fromkeys(["file", "sensitive", "useful"], "x")},
            'data is "a b"; allowed is a text that matches ^[A-Za-z0-9_-]+$.',
        ),
        ("seed", math.nan, "seed is nan; allowed is a finite number."),
    ],
)
def test_a_bad_value_gets_a_sentence(dotted, value, sentence):
    (problem,) = problems(changed(dotted, value))
    assert sentence in problem


SEX = {"sensitive": "sex", "useful": "race"}
BLOCK = {"name": "2x5", "sensitive": 2, "useful": 5, "repetitions": 3, "mechanisms": ["srr"]}


@pytest.mark.parametrize(
    ("dotted", "value", "sentence"),
    [
        (
            "kairouz2016.epsilon.spacing",
            "geometric",
            "epsilon.start is 0; allowed is a number greater than 0",
        ),
        ("kairouz2016.expansions.large", [3, 2], " is [3, 2]; allowed is the smaller number first."),
        ("kairouz2016.drawings.p0", [0.3, 0.3, 0.3, 0, 0, 0], " sums to 0.9; allowed is a distribution,"),
        ("kairouz2016.drawings.p1", [0.5, 0.5], " has 2 entries; allowed are as many as p0 has, 6."),
        ("kairouz2016.mechanisms", ["binary", "rr"], " names binary, rr; allowed are binary, rr, geometric,"),
        ("kairouz2016.populations.concentrations", [1], " has 1, which is that of the figures; allowed"),
        ("kairouz2016.populations.ends", [[2, 1]], "[0] is [2, 1]; allowed is the smaller number first."),
        ("kalantari2018.distortion.stop", 0.001, " is 0.001; allowed is a number greater than"),
        ("liao2017.shares", {"start": 0.2, "stop": 0.1}, ".stop is 0.1; allowed is a number greater than"),
        ("liao2017.searches", [50], " is [50]; it must have 100, which Figures 2 and 3 draw."),
        ("liao2017.tolerance", {"x": 0.01}, " has the key 'x'; allowed are numbers of letters, 2 to 5."),
        ("liao2017.w0", [0.5, 0.4], " sums to 0.9; allowed is a distribution, which sums to 1."),
        (
            "liao2017.fig1.w0",
            [0.5, 0.5],
            " has 2 entries; allowed are 3, as Figure 1 is drawn in a triangle.",
        ),
        ("liao2017.fig1.hypotheses", [[0.5, 0.5], [0.2, 0.3, 0.5]], "[1] has 3 entries; allowed are as many"),
        (
            "lopuhaa2024.pairs",
            [SEX | {"useful": "rase"}],
            '[0].useful is "rase"; allowed is one of workclass,',
        ),
        ("lopuhaa2024.pairs", [SEX | {"useful": "sex"}], "[0] has 'sex' twice; allowed are two different"),
        (
            "lopuhaa2024.pairs",
            [SEX, SEX | {"chunks": 3}],
            "[1] repeats sex, race; allowed is each pair once.",
        ),
        ("lopuhaa2024.epsilon.stop", 0.05, " is 0.05; allowed is a number greater than lopuhaa2024.epsilon."),
        ("lopuhaa2024.mechanisms", ["gr"], '[0] is "gr"; allowed is one of nr, polyopt,'),
        ("lopuhaa2024.mechanisms", ["exact"], '[0] is "exact"; allowed is one of nr, polyopt,'),
        (
            "beyond.synthetic.blocks",
            [BLOCK | {"mechanisms": ["exact"], "repetitions": 1000}],
            "[0].repetitions is 1000; allowed are at most as many tables as",
        ),
        ("lopuhaa2024.synthetic.reference", 0.7, " is 0.7; allowed is one of lopuhaa2024.synthetic.epsilon."),
        (
            "lopuhaa2024.synthetic.blocks",
            [BLOCK, BLOCK | {"useful": 6}],
            "[1].name repeats '2x5'; allowed is",
        ),
        (
            "lopuhaa2024.synthetic.blocks",
            [BLOCK, BLOCK | {"name": "x"}],
            "[1].mechanisms repeats srr for 2 x",
        ),
        ("lopuhaa2024.synthetic.table2.blocks", [BLOCK, BLOCK | {"name": "x"}], "[1].mechanisms repeats srr"),
        (
            "beyond.estimation.designs",
            {"polyopt": [1.0]},
            " has 'polyopt'; allowed is one of set, simplices,",
        ),
        (
            "beyond.calibrated.mechanisms",
            ["srr", "nr"],
            '[1] is "nr"; allowed are robust mechanisms, which',
        ),
        ("beyond.attack.pair.sensitive", "age", ' is "age"; allowed is one of workclass,'),
        ("beyond.attack.proxy", "income", ' is "income"; allowed is one of workclass, education,'),
        ("beyond.drift.mechanisms", ["olh"], '[0] is "olh"; allowed is one of nr, exact, polyopt,'),
        ("beyond.atlas.cells", {"rappor": 3}, " has 'rappor'; allowed is one of nr, exact, polyopt,"),
        (
            "beyond.atlas.pairs",
            [SEX | {"useful": "age"}],
            '[0].useful is "age"; allowed is one of workclass,',
        ),
        (
            "beyond.pairs_promises.pairs",
            [SEX | {"useful": "age"}],
            '[0].useful is "age"; allowed is one of',
        ),
    ],
)
def test_what_contradicts_something_gets_a_sentence(dotted, value, sentence):
    (problem,) = problems(changed(dotted, value))
    assert problem.startswith(dotted.rpartition(".")[0])
    assert sentence in problem


SURVEY = str(ROOT / "docs/survey/example/survey.csv")
TOWN = {"file": SURVEY, "sensitive": "illness", "useful": "region"}


def test_tables_of_ones_own_are_allowed():
    check(changed("data", {"town": TOWN, "people": {**TOWN, "count": None}}), COMMON, PAPERS)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"adult": TOWN}, "data.adult has the name of another data set or section; allowed is"),
        ({"seed": TOWN}, "data.seed has the name of another data set or section; allowed is"),
        ({"town": {**TOWN, "file": "none.csv"}}, "data.town.file is 'none.csv'; there is no such file"),
        (
            {"town": {**TOWN, "useful": "city"}},
            f"data.town: The column 'city' is not in {SURVEY}; its columns are region, age, illness, count.",
        ),
        ({"town": {**TOWN, "useful": "illness"}}, "data.town: The sensitive and the useful attribute are"),
        ({"town": {**TOWN, "mechanisms": ["magic"]}}, 'data.town.mechanisms[0] is "magic"; allowed is one'),
    ],
)
def test_a_bad_table_of_ones_own_gets_a_sentence(data, sentence):
    (problem,) = problems(changed("data", data))
    assert problem.startswith(sentence)


@pytest.mark.parametrize("place", ["sensitive", "useful"])
@pytest.mark.parametrize(
    "name", ["a/b", "a{b}", "{", "x<y>", ">", ".", "..", "a\nb", "a\x1bb", "a\u202eb", "é" * 51]
)
def test_a_column_that_names_no_file_is_refused(tmp_path, place, name):
    """Although the column is there: Snakemake fails with these in the names of files, or writes elsewhere."""
    other = {"sensitive": "useful", "useful": "sensitive"}[place]
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([[name, other, "count"], ["a", "x", 3], ["b", "y", 4]])
    town = {"file": str(tmp_path / "t.csv"), place: name, other: other}
    (problem,) = problems(changed("data", {"town": town}))
    assert problem.startswith(
        f"data.town.{place} is {name!r}; it becomes a part of the names of files, so that"
    )
    assert problem.isprintable()


@pytest.mark.parametrize("name", ["a b", "x'y", "50%", "*", "...", "-", "病気", "a.csv", "é" * 50])
def test_a_column_may_have_any_other_name(tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},u,count\na,x,3\nb,y,4\n", encoding="utf-8")
    town = {"file": str(tmp_path / "t.csv"), "sensitive": name, "useful": "u"}
    check(changed("data", {"town": town}), COMMON, PAPERS)


@pytest.mark.parametrize("dotted", ["seed", "adult.source", "lopuhaa2024", "lopuhaa2024.solver.rounds"])
def test_a_key_that_is_missing_gets_a_sentence(dotted):
    assert problems(without(dotted)) == [f"The key {dotted} is missing."]


def test_every_problem_is_named():
    bad = merged(DEFAULT, {"seed": -1, "figures": {"dpi": 1, "zoom": 2}, "adult": {"source": "file"}})
    assert [line.split(" ")[0:3] for line in problems(bad)] == [
        ["Unknown", "key", "figures.zoom;"],
        ["figures.dpi", "is", "1;"],
        ["seed", "is", "-1;"],
    ]
    assert problems({}) == [f"The key {key} is missing." for key in sorted(SCHEMA["required"])]


# Papers that are not those of the package -----------------------------------------------------------------


@pytest.fixture
def found(shelve, tmp_path):
    """Return a paper with a section and a plan, and one without either."""
    for key in ("one2001", "two2002"):
        (tmp_path / key).mkdir()
        (tmp_path / key / "paper.yaml").write_text(f"{{title: T, authors: A, year: {key[-4:]}}}")
    section = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    (tmp_path / "one2001/config.schema.json").write_text(
        json.dumps(section | {"additionalProperties": False})
    )
    (tmp_path / "one2001/plan.py").write_text(
        "def contradictions(configuration):\n"
        "    if configuration['one2001']['size'] > configuration['seed']:\n"
        "        yield 'one2001.size is too large.'\n"
    )
    return list(shelve(tmp_path).values())


def test_papers_bring_their_sections(found):
    own = {key: DEFAULT[key] for key in COMMON["required"]}
    assert list(schema_with(COMMON, found)["properties"]) == [*COMMON["properties"], "one2001"]
    check({**own, "one2001": {"size": 3}}, COMMON, iter(found))
    assert problems(own, found=found) == ["The key one2001 is missing."]
    assert problems({**own, "one2001": {"size": "3"}}, found=found) == [
        'one2001.size is "3" (YAML reads it as text; write 1.0e-7, not 1e-7); allowed is a whole number.'
    ]
    assert problems({**own, "one2001": {"size": 3}, "two2002": {}}, found=found) == [
        "Unknown key two2002; allowed are seed, adult, figures, papers, data, one2001."
    ]


def test_papers_say_what_contradicts_what(found):
    own = {**{key: DEFAULT[key] for key in COMMON["required"]}, "seed": 2, "one2001": {"size": 3}}
    assert problems(own, found=found) == ["one2001.size is too large."]
    # Only of keys that are sound each for itself.
    assert problems({**own, "seed": -1}, found=found) == [
        "seed is -1; allowed is a whole number at least 0 and at most 9223372036854775807."
    ]


# Grids ----------------------------------------------------------------------------------------------------


def test_grids():
    assert grid(0.075, 5.0, 3) == [0.075, 2.5375, 5.0]
    assert grid(1.0, 4.0, 3, "quadratic") == [1.0, 2.25, 4.0]
    assert grid(1.0, 4.0, 3, "geometric") == [1.0, 2.0, 4.0]
    assert grid(0, 1, 2) == [0.0, 1.0]
    # Numbers as they are written, not as floating point adds them up.
    assert grid(0.0, 1.0, 11)[3] == 0.3
    with pytest.raises(ValueError, match="The spacing is 'cubic'; allowed are linear, quadratic, geometric"):
        grid(1.0, 4.0, 3, "cubic")


def test_values_of_a_grid():
    axis = {"start": 1.0, "stop": 4.0, "points": 3}
    assert values(axis) == values({**axis, "spacing": "linear", "values": None}) == [1.0, 2.5, 4.0]
    assert values({**axis, "spacing": "geometric"}) == [1.0, 2.0, 4.0]
    assert values({**axis, "values": [3, 1]}) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ({"start": 1.0, "stop": 4.0}, []),
        ({"start": 4.0, "stop": 1.0}, ["p.x.stop is 1.0; allowed is a number greater than p.x.start, 4.0."]),
        (
            {"start": 0, "stop": 1.0, "spacing": "geometric"},
            ["p.x.start is 0; allowed is a number greater than 0 when p.x.spacing is geometric."],
        ),
    ],
)
def test_contradictions_of_a_grid(axis, expected):
    assert list(grid_contradictions("p.x", axis)) == expected


def test_numbers_inside_braces_of_the_command_line_are_numbers():
    """As Snakemake reads `--config 'figures={dpi: 100, formats: [svg]}' adult=x`."""
    given = {
        "figures": {"dpi": "100", "formats": ["svg"], "a": {"b": ["1.5", "true", "[1", "null"]}},
        "adult": "7",
    }
    assert read_texts(given) == {
        "figures": {"dpi": 100, "formats": ["svg"], "a": {"b": [1.5, True, "[1", None]}},
        "adult": "7",
    }
