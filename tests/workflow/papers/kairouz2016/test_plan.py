"""What the configuration says about kairouz2016: jobs, arguments, contradictions; and its paper.yaml."""

import json
from pathlib import Path

import yaml

from ldpfrontier.engines.registry import LIMITS
from papers.kairouz2016 import plan
from papers.kairouz2016.instances import UTILITIES
from reproduction.planning.paper import Parts, papers

ROOT = Path(__file__).parents[4]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
PAPER = papers()["kairouz2016"]


def with_(**keys):
    return {**DEFAULT, "kairouz2016": {**DEFAULT["kairouz2016"], **keys}}


def test_more_instances_leave_the_jobs_alone():
    few, more = (PAPER.tables["kl"].part_arguments(with_(instances=n, chunk=10, sizes=[3])) for n in (25, 30))
    assert list(few) == ["3/0", "3/1", "3/2", "6/0", "6/1", "6/2"]
    numbers = [few[f"3/{i}"]["numbers"] for i in range(3)]
    assert numbers == [[*range(10)], [*range(10, 20)], [*range(20, 25)]]
    assert few["6/1"] == more["6/1"]
    assert few["6/1"]["size"] == 6
    assert few["6/1"]["utility"] == "kl"
    assert more["3/2"]["numbers"] == [*range(20, 30)]
    # Files of instances are drawn as a whole, and read by the jobs whose instances they have.
    assert few["3/1"]["instances"] == Parts(("3/0",))
    drawn = [plan.instances(with_(instances=n, sizes=[3])) for n in (25, 100, 101)]
    assert drawn[0] == drawn[1]
    assert [*drawn[1]] == ["3/0", "6/0"]
    assert [*drawn[2]] == ["3/0", "3/1", "6/0", "6/1"]


def test_thresholds_are_found_for_the_sizes_of_the_tables_only():
    jobs = PAPER.tables["thresholds"].part_arguments(with_(sizes=[4, 3], size=5, thresholds=["kl"]))
    assert list(jobs) == ["3/0", "4/0"]
    assert jobs["3/0"]["utilities"] == ["kl"]


def test_the_schema_of_the_configuration_knows_what_the_package_knows():
    keys = PAPER.configuration_schema["properties"]
    assert set(keys["thresholds"]["items"]["enum"]) == set(UTILITIES) - {"tv"}
    common = json.loads((ROOT / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))
    assert common["$defs"]["size"]["maximum"] == LIMITS.max_listed_inputs


def test_populations_are_fresh_and_vary_one_choice_at_a_time():
    jobs = PAPER.tables["populations"].part_arguments(DEFAULT)
    assert [*jobs] == [*PAPER.tables["fresh_instances"].part_arguments(DEFAULT)] == ["0.5/0", "1/0", "2/0"]
    assert all(job["numbers"] == [*range(1, 40)] for job in jobs.values())
    assert jobs["2/0"]["fresh_instances"] == Parts(("2/0",))
    studies = [study for job in jobs.values() for study in job["studies"]]
    drawn = [(s["utility"], s["size"]) for s in studies if s["drawn"]]
    assert drawn == [(u, k) for u in ("kl", "mutual_information") for k in (3, 4, 6, 12)]
    usual = next(s for s in studies if s["drawn"])
    assert (usual["concentration"], usual["ends"]) == (1.0, [0.1, 10.0])
    for other in (s for s in studies if not s["drawn"]):
        assert (other["concentration"] == 1.0) != (other["ends"] == [0.1, 10.0])
        assert other["size"] in (6, 12)
    # Without sizes whose columns can be listed there is nothing.
    (job,) = PAPER.tables["populations"].part_arguments(with_(sizes=[14], size=14)).values()
    assert job["studies"] == []
    many = with_(populations={"number": 150, "concentrations": [], "ends": []})
    assert [*PAPER.tables["populations"].part_arguments(many)] == ["1/0", "1/1"]
