import copy
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from ldpfrontier.configuration import ConfigurationError, check, grid, load_schema, pairs, population, studies
from ldpfrontier.data.adult import ATTRIBUTES
from ldpfrontier.optimal.staircase import MAX_INPUTS
from ldpfrontier.papers.kairouz2016 import experiments as kairouz2016
from ldpfrontier.papers.lopuhaa2024.experiments import MECHANISMS

ROOT = Path(__file__).parents[1]
SCHEMA = load_schema(ROOT / "workflow/schemas/config.schema.json")
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def merged(base, override):
    if not (isinstance(base, dict) and isinstance(override, dict)):
        return override
    return {**base, **{key: merged(base.get(key), value) for key, value in override.items()}}


def changed(dotted, value):
    override = value
    for key in reversed(dotted.split(".")):
        override = {key: override}
    return merged(copy.deepcopy(DEFAULT), override)


def objects(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)


@pytest.mark.parametrize("name", ["config", "smoke"])
def test_shipped_configurations_are_valid(name):
    override = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    check(merged(DEFAULT, override), SCHEMA)


def test_the_schema_is_strict_and_describes_every_key():
    Draft202012Validator.check_schema(SCHEMA)
    for part in objects(SCHEMA):
        assert part["additionalProperties"] is False
        for name, key in part["properties"].items():
            assert "description" in key or "$ref" in key, name


def test_the_schema_knows_what_the_package_knows():
    assert tuple(SCHEMA["$defs"]["attribute"]["enum"]) == ATTRIBUTES
    assert tuple(SCHEMA["$defs"]["mechanisms"]["items"]["enum"]) == MECHANISMS
    paper = SCHEMA["properties"]["kairouz2016"]["properties"]
    assert set(paper["thresholds"]["items"]["enum"]) == set(kairouz2016.UTILITIES) - {"tv"}
    assert SCHEMA["$defs"]["size"]["maximum"] == MAX_INPUTS
    assert tuple(DEFAULT["kairouz2016"]["sizes"]) == kairouz2016.SIZES


def test_every_key_of_the_default_has_a_comment_and_the_schema_is_named():
    lines = (ROOT / "config/config.yaml").read_text().splitlines()
    assert lines[0] == "# yaml-language-server: $schema=../workflow/schemas/config.schema.json"
    papers = {"lopuhaa2024:", "kairouz2016:", "kalantari2018:", "liao2017:"}
    grouped = {"adult:", "figures:", "solver:", "start:", "stop:", "points:"} | papers
    for before, line in pairwise(lines):
        key = line.strip().split(" ")[0]
        if key.endswith(":") and key not in grouped:
            assert before.strip().startswith("#"), line


@pytest.mark.parametrize(
    ("dotted", "value", "sentence"),
    [
        ("lopuhaa2024.betta", 0.1, "Unknown key lopuhaa2024.betta; did you mean 'beta'?"),
        (
            "zzz",
            1,
            "Unknown key zzz; allowed are seed, adult, figures, lopuhaa2024, kairouz2016,",
        ),
        (
            "lopuhaa2024.beta",
            1.5,
            "lopuhaa2024.beta is 1.5; allowed is a number greater than 0 and less than 1.",
        ),
        (
            "lopuhaa2024.chunks",
            0,
            "lopuhaa2024.chunks is 0; allowed is a whole number at least 1 and at most 1000.",
        ),
        ("lopuhaa2024.chunks", 1.5, "lopuhaa2024.chunks is 1.5; allowed is a whole number at least 1"),
        ("lopuhaa2024.beta", None, "lopuhaa2024.beta is null; allowed is a number"),
        ("lopuhaa2024.solver.tolerance", "1e-7", 'is "1e-7" (YAML reads it as text; write 1.0e-7, not 1e-7)'),
        ("lopuhaa2024.pairs", [], "lopuhaa2024.pairs is []; allowed is a list with at least 1 entries."),
        ("lopuhaa2024.pairs", [{"sensitive": "sex"}], "The key lopuhaa2024.pairs[0].public is missing."),
        (
            "lopuhaa2024.pairs",
            [{"sensitive": "sex", "public": "rase"}],
            'lopuhaa2024.pairs[0].public is "rase"; allowed is one of workclass, education,',
        ),
        (
            "lopuhaa2024.pairs",
            [{"sensitive": "sex", "public": "sex"}],
            "lopuhaa2024.pairs[0] has 'sex' twice; allowed are two different attributes.",
        ),
        (
            "lopuhaa2024.pairs",
            [{"sensitive": "sex", "public": "race"}, {"sensitive": "sex", "public": "race", "chunks": 3}],
            "lopuhaa2024.pairs[1] repeats sex, race; allowed is each pair once.",
        ),
        ("lopuhaa2024.mechanisms", ["grr", "grr"], "lopuhaa2024.mechanisms has an entry twice"),
        ("lopuhaa2024.epsilon.values", [-1.0], "lopuhaa2024.epsilon.values[0] is -1.0; allowed is a number"),
        (
            "lopuhaa2024.epsilon.stop",
            0.05,
            "lopuhaa2024.epsilon.stop is 0.05; allowed is a number greater than",
        ),
        (
            "adult.source",
            "internet",
            'adult.source is "internet"; allowed is one of auto, uci, file, bundled.',
        ),
        ("adult.source", "file", "adult.source is 'file' but adult.file is null"),
        ("adult", 3, "adult is 3; allowed is a mapping."),
        ("figures.formats", ["gif"], 'figures.formats[0] is "gif"; allowed is one of pdf, svg, png.'),
        (
            "kairouz2016.epsilon.spacing",
            "geometric",
            "kairouz2016.epsilon.start is 0; allowed is a number greater than 0 when",
        ),
        ("kairouz2016.sizes", [3, 40], "kairouz2016.sizes[1] is 40; allowed is a whole number at least 2"),
        (
            "kairouz2016.concentration",
            0,
            "kairouz2016.concentration is 0; allowed is a number greater than 0",
        ),
        ("kairouz2016.scaling", [10, 0.1], "kairouz2016.scaling is [10, 0.1]; allowed is the smaller number"),
        (
            "kairouz2016.scaling",
            [0.1],
            "kairouz2016.scaling is [0.1]; allowed is a list with at least 2 entries",
        ),
        (
            "kairouz2016.expansions.large",
            [3, 2],
            "kairouz2016.expansions.large is [3, 2]; allowed is the smaller",
        ),
        ("kairouz2016.thresholds", ["tv"], 'kairouz2016.thresholds[0] is "tv"; allowed is one of kl, chi2,'),
        (
            "kairouz2016.drawings.p0",
            [0.5, 0.1, 0.1, 0.1, 0.1, 0.0],
            "kairouz2016.drawings.p0 sums to 0.9; allowed is a distribution, which sums to 1.",
        ),
        (
            "kairouz2016.drawings.p1",
            [0.5, 0.5],
            "kairouz2016.drawings.p1 has 2 entries; allowed are as many as p0 has, 6.",
        ),
        (
            "lopuhaa2024.synthetic.reference",
            0.7,
            "lopuhaa2024.synthetic.reference is 0.7; allowed is one of lopuhaa2024.synthetic.epsilon.",
        ),
        (
            "kalantari2018.distortion.stop",
            0.001,
            "kalantari2018.distortion.stop is 0.001; allowed is a number",
        ),
        ("seed", True, "seed is true; allowed is a whole number at least 0."),
    ],
)
def test_a_bad_value_gets_a_sentence(dotted, value, sentence):
    with pytest.raises(ConfigurationError) as error:
        check(changed(dotted, value), SCHEMA)
    assert sentence in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_every_problem_is_named():
    bad = merged(DEFAULT, {"seed": -1, "figures": {"dpi": 1}})
    with pytest.raises(ConfigurationError) as error:
        check(bad, SCHEMA)
    assert [line.split(" ")[0] for line in str(error.value).splitlines()] == ["figures.dpi", "seed"]


def test_grids():
    assert grid(0.075, 5.0, 3) == [0.075, 2.5375, 5.0]
    assert grid(1.0, 4.0, 3, "quadratic") == [1.0, 2.25, 4.0]
    assert grid(1.0, 4.0, 3, "geometric") == [1.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="spacing"):
        grid(1.0, 4.0, 3, "cubic")


def test_the_default_grid_has_the_lowest_epsilon_of_the_paper():
    (pair, *others) = pairs(DEFAULT).values()
    assert (pair.epsilons[0], pair.epsilons[-1], len(pair.epsilons)) == (0.075, 5.0, 24)
    assert len(others) == 3


def test_chunks_partition_the_grid_and_pairs_override_the_defaults():
    own = {"sensitive": "income", "public": "relationship", "chunks": 100, "mechanisms": ["grr"]}
    values = [3.0, 1.0, 2.0, 0.5, 4.0]
    configuration = merged(
        DEFAULT,
        {
            "lopuhaa2024": {
                "pairs": [{"sensitive": "sex", "public": "race"}, own],
                "epsilon": {"values": values},
                "chunks": 2,
            }
        },
    )
    check(configuration, SCHEMA)
    first, second = pairs(configuration).values()
    assert first.chunk(0)["epsilons"] == [0.5, 2.0, 4.0]
    assert first.chunk(1)["epsilons"] == [1.0, 3.0]
    assert second.mechanisms == ("grr",)
    # Never an empty job.
    assert second.chunks == 5
    assert sorted(e for i in range(5) for e in second.chunk(i)["epsilons"]) == sorted(values)
    assert "chunks" not in first.settings()


def test_the_instances_of_kairouz2016_are_cut_into_jobs_that_more_instances_leave_alone():
    few = population(merged(DEFAULT, {"kairouz2016": {"instances": 25, "chunk": 10}}))
    more = population(merged(DEFAULT, {"kairouz2016": {"instances": 30, "chunk": 10}}))
    assert [few.numbers(i) for i in few.chunks] == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]
    assert few.sweep(1) == more.sweep(1)
    assert more.sweep()["instances"] == [*range(30)]
    assert "chunk" not in more.sweep()


def test_the_default_grid_of_kairouz2016():
    drawn = population(DEFAULT)
    assert (drawn.epsilons[0], drawn.epsilons[1], drawn.epsilons[-1]) == (0.0, 0.1, 10.0)
    assert (drawn.instances, drawn.sizes, drawn.size) == (100, (3, 4, 6, 12), 6)


def test_blocks_of_the_synthetic_study():
    resolved = studies(DEFAULT)
    block = resolved["synthetic"]["16x7"]
    assert (block.shape, block.repetitions, block.betas, block.seed) == (
        (16, 7),
        100,
        (0.05,),
        DEFAULT["seed"],
    )
    assert [n for i in block.chunks for n in block.chunk(i)["instances"]] == [*range(100)]
    assert resolved["beta"]["2x5"].epsilons == (1.5,)
    twice = [*DEFAULT["lopuhaa2024"]["synthetic"]["blocks"]] * 2
    with pytest.raises(
        ConfigurationError, match=r"blocks\[7\].name repeats '2x5'; allowed is each name once"
    ):
        check(merged(DEFAULT, {"lopuhaa2024": {"synthetic": {"blocks": twice}}}), SCHEMA)
