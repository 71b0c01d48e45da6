"""What a configuration means for lopuhaa2024: parts and their arguments, and contradictions."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from papers.lopuhaa2024 import contradictions, plan
from reproduction.planning.paper import Counts, Parts

ROOT = Path(__file__).parents[4]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def changed(**keys):
    """Return the default configuration with keys of lopuhaa2024 replaced."""
    configuration = copy.deepcopy(DEFAULT)
    configuration["lopuhaa2024"].update(keys)
    return configuration


# Pairs of attributes


def test_the_default_grid_has_the_lowest_epsilon_of_the_paper():
    parts = plan.solutions(DEFAULT)
    epsilons = sorted(e for name, part in parts.items() if name[:8] == "sex-race" for e in part["epsilons"])
    assert (epsilons[0], epsilons[-1], len(epsilons)) == (0.075, 5.0, 24)
    assert len({part["instance"] for part in parts.values()}) == 4


def test_parts_share_the_grid_out_and_pairs_override_the_defaults():
    own = {"sensitive": "income", "useful": "relationship", "chunks": 100, "mechanisms": ["grr"]}
    epsilon = {**DEFAULT["lopuhaa2024"]["epsilon"], "values": [3.0, 1.0, 2.0, 0.5, 4.0]}
    pairs = [{"sensitive": "sex", "useful": "race", "solver": {"rounds": 5}}, own]
    parts = plan.solutions(changed(pairs=pairs, epsilon=epsilon, chunks=2))
    assert parts["sex-race/0"]["epsilons"] == [0.5, 2.0, 4.0]
    assert parts["sex-race/1"]["epsilons"] == [1.0, 3.0]
    assert (parts["sex-race/0"]["tolerance"], parts["sex-race/0"]["max_rounds"]) == (1e-7, 5)
    assert parts["sex-race/0"]["counts"] == Counts("adult", "sex", "race")
    assert parts["sex-race/0"]["instance"] == "sex, race"
    # Never an empty part.
    second = [part for name, part in parts.items() if name.startswith("income-relationship/")]
    assert sorted(part["epsilons"] for part in second) == [[0.5], [1.0], [2.0], [3.0], [4.0]]
    assert all(part["mechanisms"] == ["grr"] for part in second)
    # The number of parts is no argument of a part.
    assert "chunks" not in parts["sex-race/0"]


def test_tables_of_ones_own_have_figures_of_their_own():
    configuration = changed(chunks=2)
    entry = {"file": "t.csv", "sensitive": "tax", "useful": "city"}
    configuration["data"] = {"town": {**entry, "repetitions": 3}, "land": {**entry, "mechanisms": ["srr"]}}
    parts = plan.solutions(configuration)
    town, land = ([f"own/tables/{name}/tax-city/{i}" for i in (0, 1)] for name in ("town", "land"))
    assert plan.own_fig2(configuration) == {"solutions": Parts((*town, *land))}
    assert plan.fig2(configuration) == plan.fig2(changed(chunks=2))
    assert {*plan.documents(configuration)} == {*parts} - {*town, *land}
    assert parts[town[0]]["counts"] == Counts("town", "tax", "city")
    assert parts[town[0]]["mechanisms"] == DEFAULT["lopuhaa2024"]["mechanisms"]
    assert parts[land[1]]["mechanisms"] == ["srr"]
    study = plan.own_study(configuration)
    assert [n for name, part in study.items() if name[:4] == "town" for n in part["numbers"]] == [0, 1, 2]
    assert [n for name, part in study.items() if name[:4] == "land" for n in part["numbers"]] == [*range(20)]
    assert study["town/1"]["own_tables"] == Parts(("town/0",))
    drawn = plan.own_tables(configuration)
    assert [*drawn] == ["town/0", "land/0"]
    assert drawn["town/0"]["counts"] == Counts("town", "tax", "city")
    assert drawn["town/0"]["name"] == "town"
    assert plan.own_fig2(DEFAULT) == {"solutions": Parts(())}
    assert plan.own_study(DEFAULT) == {}


# Random tables


def test_blocks_of_the_synthetic_study():
    parts = plan.synthetic(DEFAULT)
    block = [part for name, part in parts.items() if name.startswith("16x7/")]
    assert (block[0]["random_tables"], block[0]["betas"]) == (Parts(("16x7/0",)), [0.05])
    assert [n for part in block for n in part["numbers"]] == [*range(100)]
    drawn = plan.random_tables(DEFAULT)
    assert [*drawn] == ["2x5/0", "2x6/0", "15x16/0", "16x7/0"]
    assert (drawn["16x7/0"]["useful"], drawn["16x7/0"]["seed"]) == (7, DEFAULT["seed"])
    assert len(block) == 1
    beta = plan.beta(DEFAULT)["2x5/0"]
    assert beta["epsilons"] == [1.5]
    assert beta["betas"] == [0.0005, 0.005, 0.05, 0.5]
    assert beta["numbers"] == [*range(100)]


def test_more_tables_leave_the_parts_alone():
    study = DEFAULT["lopuhaa2024"]["synthetic"]
    block = {
        "name": "2x3",
        "sensitive": 2,
        "useful": 3,
        "repetitions": 25,
        "per_job": 10,
        "mechanisms": ["srr"],
    }
    few, more = (
        plan.synthetic(changed(synthetic={**study, "blocks": [{**block, "repetitions": n}]}))
        for n in (25, 30)
    )
    assert [part["numbers"] for part in few.values()] == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]
    assert few["2x3/1"] == more["2x3/1"]
    assert more["2x3/2"]["numbers"] == [*range(20, 30)]
    many = plan.synthetic(
        changed(synthetic={**study, "blocks": [{**block, "repetitions": 250, "per_job": 75}]})
    )
    assert many["2x3/1"]["random_tables"] == Parts(("2x3/0", "2x3/1"))


# Contradictions


def test_names_that_would_share_a_file_are_refused(monkeypatch):
    monkeypatch.setattr(contradictions, "attributes", lambda *data: ("a", "b-c", "a-b", "c"))
    pairs = [{"sensitive": "a", "useful": "b-c"}, {"sensitive": "a-b", "useful": "c"}]
    (found,) = plan.contradictions(changed(pairs=pairs))
    assert found.startswith("lopuhaa2024.pairs[1] has the name of another pair, a-b-c, on disk")
