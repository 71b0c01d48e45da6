"""What a configuration means for the project's own results: parts and their arguments, and contradictions."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import yaml

from beyond import plan
from papers.lopuhaa2024.plan import solutions
from reproduction.planning.paper import Parts

ROOT = Path(__file__).parents[3]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def changed(pairs=None, **keys):
    """Return the default configuration with keys of beyond replaced, and the pairs of lopuhaa2024."""
    configuration = copy.deepcopy(DEFAULT)
    configuration["beyond"].update(keys)
    if pairs is not None:
        configuration["lopuhaa2024"]["pairs"] = pairs
    return configuration


def test_a_pair_may_have_its_own_mechanisms_to_calibrate():
    own = {"sensitive": "sex", "useful": "race", "calibrated": {"mechanisms": ["srr"]}}
    configuration = changed(pairs=[own, {"sensitive": "income", "useful": "race"}])
    configuration["beyond"]["calibrated"]["chunks"] = 100
    calibration, common = plan.calibration(configuration), DEFAULT["beyond"]["calibrated"]
    assert calibration["sex-race/0"]["mechanisms"] == ["srr"]
    assert calibration["income-race/3"]["mechanisms"] == common["mechanisms"]
    assert calibration["income-race/3"]["accuracy"] == common["accuracy"]


def test_promises_and_calibration_share_their_own_levels_out():
    for study, planned in (("promises", plan.promises), ("calibrated", plan.calibration)):
        parts = planned(changed(**{study: {**DEFAULT["beyond"][study], "pairs": 4}}))
        levels = DEFAULT["beyond"][study]["epsilon"]
        for pair in ("sex-race", "education-marital-status"):
            found = [part["epsilons"] for name, part in parts.items() if name.startswith(f"{pair}/")]
            assert sorted(level for part in found for level in part) == sorted(levels)
        fewer = changed(**{study: {**DEFAULT["beyond"][study], "pairs": 2}})
        names = {name.split("/")[0] for name in planned(fewer)}
        assert names == {"sex-race", "income-relationship"}
        # The levels of a table are in as many parts as it has chunks, or the study.
        most = max(len(part["epsilons"]) for part in parts.values())
        assert most == math.ceil(len(levels) / 2)


def test_optima_are_found_and_measured_from_the_solutions_of_their_pair():
    configuration = changed(optima={"pairs": 4, "chunks": 3})
    solved, found = solutions(configuration), plan.optima(configuration)
    of_pair = Parts(("occupation-education/0", "occupation-education/1"))
    assert {*of_pair.names} <= {*solved}
    for name, part in found.items():
        assert part["solutions"].names[0].startswith(name.rpartition("/")[0])
    assert found["occupation-education/1"]["solutions"] == of_pair
    assert [*plan.documents(configuration)] == [*found]
    measured = plan.mechanisms(configuration)
    assert measured["occupation-education"]["solutions"] == of_pair
    assert measured["sex-race"]["optima"] == Parts(tuple(f"sex-race/{i}" for i in range(3)))
    assert len(measured["sex-race"]["epsilons"]) == 24


def test_least_errors_are_shared_out_by_level():
    designs = {"set": [2.0, 0.5], "anyone": [1.0, 0.5], "ldp": []}
    study = {**DEFAULT["beyond"]["estimation"], "designs": designs, "chunks": 2, "pairs": 1}
    parts = plan.estimation(changed(estimation=study))
    assert list(parts) == ["sex-race/0", "sex-race/1"]
    assert parts["sex-race/0"]["designs"] == {"set": [0.5, 2.0], "anyone": [0.5]}
    assert parts["sex-race/0"]["epsilons"] == [0.5, 2.0]
    # The least error of S is there at all levels of Figure 2 as well, once.
    assert {0.075, 0.5, 1.0, 2.0, 5.0} < set(parts["sex-race/0"]["of_sensitive"])
    assert parts["sex-race/1"]["of_sensitive"] == []
    assert parts["sex-race/1"]["designs"] == {"anyone": [1.0]}
    assert (parts["sex-race/1"]["tolerance"], parts["sex-race/1"]["max_rounds"]) == (1e-4, 200)
    default = plan.estimation(DEFAULT)
    assert {name.split("/")[0] for name in default} == {"sex-race", "income-relationship"}
    for name, levels in DEFAULT["beyond"]["estimation"]["designs"].items():
        found = [level for part in default.values() for level in part["designs"].get(name, [])]
        assert sorted(found) == sorted(2 * levels)
