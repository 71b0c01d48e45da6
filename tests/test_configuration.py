import copy
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from ldpfrontier.adult import ATTRIBUTES
from ldpfrontier.configuration import ConfigurationError, check, grid, load_schema, pairs
from ldpfrontier.experiments.lopuhaa2024 import MECHANISMS

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


def test_every_key_of_the_default_has_a_comment_and_the_schema_is_named():
    lines = (ROOT / "config/config.yaml").read_text().splitlines()
    assert lines[0] == "# yaml-language-server: $schema=../workflow/schemas/config.schema.json"
    grouped = {"adult:", "figures:", "lopuhaa2024:", "solver:", "start:", "stop:", "points:"}
    for before, line in pairwise(lines):
        key = line.strip().split(" ")[0]
        if key.endswith(":") and key not in grouped:
            assert before.strip().startswith("#"), line


@pytest.mark.parametrize(
    ("dotted", "value", "sentence"),
    [
        ("lopuhaa2024.betta", 0.1, "Unknown key lopuhaa2024.betta; did you mean 'beta'?"),
        ("zzz", 1, "Unknown key zzz; allowed are seed, adult, figures, lopuhaa2024."),
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
