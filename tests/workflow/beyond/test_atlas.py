"""The atlas: what is computed on which pair, and which statements hold there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.patches import Rectangle

from beyond import atlas_figures, plan
from beyond.atlas import atlas
from beyond.atlas_statements import statements
from papers.lopuhaa2024 import summaries
from papers.lopuhaa2024.claims_on_orderings import _small_curves, _small_parts
from papers.lopuhaa2024.statements import OF_LARGE, OF_SMALL, STATED
from reproduction.figure_style import save
from reproduction.ledger import claims
from reproduction.planning.paper import papers
from reproduction.results.tables import RESULTS, SKIPPED, Result, select
from support.mechanisms import fig2_of

ROOT = Path(__file__).parents[3]
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
PAPER = papers()["beyond"]
LIMITS = PAPER.tables["atlas_statements"].resolve(DEFAULT)
COUNTS = np.array([[30, 0, 12], [25, 41, 60]])
EPSILONS = [0.3, 4.0]
FIVE = ("polyopt", "nr", "ir", "srr", "grr")


def invented(curves, *, instance="a, b", size="2 x 3", over=1.0):
    """Return the rows of a pair: the NMI of every mechanism by level, PolyOpt's bounds larger by a factor."""
    rows = [
        Result(
            "lopuhaa2024", "atlas", instance, name, "nmi", value, unit="1", size=size, beta=0.05, order=2.0,
            epsilon=epsilon, direction="max",
            bound=value * (over if name == "polyopt" else 2.0), status="bounded",
        )
        for name, values in curves.items()
        for epsilon, value in zip((0.1, 1.0, 5.0), values, strict=True)
    ]  # fmt: skip
    return RESULTS.table(rows)


#: Curves of which all statements hold.
AS_STATED = {
    "polyopt": [0.20, 0.40, 0.90], "nr": [0.40, 0.50, 0.92], "ir": [0.10, 0.30, 0.84],
    "srr": [0.05, 0.20, 0.85], "grr": [0.01, 0.10, 0.80],
}  # fmt: skip


def answers(table):
    return statements(table, **LIMITS).set_index("statement")["answer"].to_dict()


# What is computed


def test_the_atlas_has_the_rows_of_figure_2():
    more = {"instance": "a, b", "mechanisms": [*FIVE], "tolerance": 1e-3, "max_rounds": 30}
    table = atlas(COUNTS, EPSILONS, cells={}, **more)
    pd.testing.assert_frame_equal(table.assign(experiment="fig2"), fig2_of(COUNTS, EPSILONS, **more))


def test_dear_mechanisms_are_left_out_of_large_tables_with_a_reason():
    names = ["polyopt", "ir", "grr"]
    limits = {"ir": 6, "polyopt": 5}
    table = atlas(COUNTS, EPSILONS, instance="a, b", mechanisms=names, cells=limits)
    left = table[table["status"] == SKIPPED]
    assert set(left["mechanism"]) == {"polyopt"}
    assert len(left) == 4
    assert set(left["note"]) == {"The table has 6 cells; here this mechanism is computed on at most 5."}
    assert set(select(table, metric="nmi").dropna(subset=["value"])["mechanism"]) == {"ir", "grr"}


# Statements


def test_statements_that_all_hold():
    assert answers(invented(AS_STATED)) == {**dict.fromkeys(STATED, "yes"), "ir_clear": "no"}
    assert answers(invented(AS_STATED | {"ir": [0.10, 0.30, 0.86]}))["ir_clear"] == "yes"


@pytest.mark.parametrize(
    ("broken", "changes"),
    [
        ("polyopt_leads", {"polyopt": [0.20, 0.29, 0.90]}),
        ("polyopt_leads_more", {"ir": [0.19, 0.30, 0.80]}),
        ("ir_leads_low", {"srr": [0.11, 0.20, 0.85]}),
        ("ir_close_high", {"ir": [0.10, 0.30, 0.86]}),
        ("ir_close_high", {"ir": [0.10, 0.30, 0.75]}),
        ("nr_leads", {"nr": [0.38, 0.39, 0.92]}),
        ("nr_close_high", {"nr": [0.40, 0.50, 0.96]}),
        ("grr_last", {"grr": [0.01, 0.21, 0.80]}),
    ],
)
def test_a_statement_that_is_broken(broken, changes):
    found = answers(invented(AS_STATED | changes))
    assert found[broken] == "no"


def test_a_bound_that_leaves_an_answer_open_is_heeded():
    # The best IR is above PolyOpt as found, and below what PolyOpt may be.
    table = invented(AS_STATED | {"polyopt": [0.20, 0.29, 0.90]}, over=1.05)
    found = answers(table)
    assert found["polyopt_leads"] == "-"
    assert found["ir_leads_low"] == "yes"
    assert answers(invented(AS_STATED | {"nr": [0.40, 0.50, 0.96]}, over=1.05))["nr_close_high"] == "-"


def test_without_polyopt_there_are_answers_about_the_others_only():
    table = invented({name: values for name, values in AS_STATED.items() if name != "polyopt"})
    known = {name for name, answer in answers(table).items() if answer != "-"}
    assert known == {"ir_leads_low", "grr_last", "ir_clear"}
    found = statements(table, **LIMITS).set_index("statement")["measured"]
    assert set(found.dropna().index) == known


def test_tables_verdicts_and_the_atlas_decide_alike(long):
    """Also where two mechanisms are equal but for rounding; where a bound leaves nothing open."""
    ledger = {claim.id: claim for claim in claims.claims_of(papers()["lopuhaa2024"])}
    rng = np.random.default_rng(0)
    outcomes = set()
    equal = [AS_STATED | {"nr": [x * (1 + d) for x in AS_STATED["polyopt"]]} for d in (1e-10, -1e-10, -1e-8)]
    equal += [AS_STATED | {"ir": [x * (1 + d) for x in AS_STATED["srr"]]} for d in (1e-10, 1e-8)]
    drawn = (
        {name: np.sort(rng.uniform(0.95, 1.05, 3) * AS_STATED[name]).tolist() for name in FIVE}
        for _ in range(12 if long else 3)
    )
    for curves in (*equal, *drawn):
        found, claim = answers(table := invented(curves, size="2 x 3")), ledger["L-S81b"]
        ranks = summaries.orderings(table)
        for name in ("nr_leads", "grr_last"):
            assert (ranks[name] == "yes").all() == (found[name] == "yes"), (name, found)
        parts = _small_parts(_small_curves(ranks, claim), claim)
        for name, words in OF_SMALL.items():
            assert (found[name] == "yes") == parts[words], (name, found)
            outcomes.add((name, parts[words]))
        found = answers(table := invented(curves, size="5 x 6"))
        verdict = claims.decide(ledger["L-S81c"], {"orderings": summaries.orderings(table)}).verdict
        held = all(found[name] == "yes" for name in OF_LARGE)
        assert held == (verdict != claims.NOT_REPRODUCED), (found, verdict)
        outcomes.add(("L-S81c", held))
    both = ("L-S81c", "nr_leads", "ir_close_high")
    assert {(name, held) for name in both for held in (True, False)} <= outcomes


# Pages


@pytest.fixture(scope="module")
def found():
    pairs = {"a, b": "2 x 3", "b, a": "3 x 2", "b, long name": "3 x 20"}
    tables = [invented(AS_STATED, instance=instance, size=size) for instance, size in pairs.items()]
    tables[1] = tables[1][tables[1]["mechanism"] != "polyopt"]
    skipped = Result(
        "lopuhaa2024", "atlas", "b, a", "polyopt", "nmi", np.nan, unit="1", size="3 x 2", beta=0.05,
        order=2.0, epsilon=1.0, status=SKIPPED, note="Too large.",
    )  # fmt: skip
    return RESULTS.conform(pd.concat([*tables, RESULTS.table([skipped])]))


def test_maps_of_utility(found, tmp_path):
    figure = atlas_figures.utility(found)
    maps = figure.axes[:-1]
    assert len(maps) == 3 * len(FIVE)
    labels = [label.get_text() for label in maps[0].get_yticklabels()]
    assert labels == ["a (2)", "b (3)", "long name (20)"]
    # The columns are NR, PolyOpt, IR, SRR and GRR; the second row is the level 1.
    shown = maps[len(FIVE) + 2].images[0].get_array()
    assert shown[0, 1] == shown[1, 2] == AS_STATED["ir"][1]
    assert np.ma.getmaskarray(shown)[2, 0]
    polyopt = maps[len(FIVE) + 1]
    places = {(float(x), float(y)) for x, y in polyopt.collections[0].get_offsets()}
    assert places == {(0, 1), (2, 0), (0, 2), (1, 2)}
    save(figure, tmp_path / "figure.svg")


def test_maps_of_statements(found, tmp_path):
    decided = statements(found, **LIMITS)
    figure = atlas_figures.statements(decided)
    assert len(figure.axes) == len(STATED)
    titles = {" ".join(ax.get_title().split()): ax for ax in figure.axes}
    leads = titles["PolyOpt clearly above IR and SRR at every ε 2 of 2 pairs"]
    frames = [patch for patch in leads.patches if isinstance(patch, Rectangle)]
    assert {(patch.get_x(), patch.get_y()) for patch in frames} == {(0.5, -0.5), (-0.5, 0.5)}
    assert leads.images[0].get_array()[0, 1] == 0
    assert leads.images[0].get_array()[1, 0] == 2
    save(figure, tmp_path / "figure.svg")


# What is planned


def changed(**keys):
    """Return the default configuration with keys of the atlas replaced."""
    own = DEFAULT["beyond"]
    return {**DEFAULT, "beyond": {**own, "atlas": {**own["atlas"], **keys}}}


def test_the_atlas_is_made_where_pairs_are_asked_for():
    names = {name for name in PAPER.tables if name.startswith("atlas")}
    assert len(names) == 2
    assert not names & set(PAPER.select_calls(DEFAULT).tables)
    assert names <= set(PAPER.select_calls(changed(pairs="all")).tables)
    long = yaml.safe_load((ROOT / "config/long.yaml").read_text(encoding="utf-8"))
    assert long["beyond"]["atlas"]["pairs"] == "all"


def test_all_pairs_are_the_ordered_pairs_of_adult():
    configuration = changed(pairs="all")
    parts = plan.atlas(configuration)
    assert len(parts) == len({part["instance"] for part in parts.values()}) == 72
    assert {parts[name]["instance"] for name in ("sex-race", "race-sex")} == {"sex, race", "race, sex"}
    assert parts["sex-race"]["cells"] == DEFAULT["beyond"]["atlas"]["cells"]
    assert list(plan.contradictions(configuration)) == []


def test_polyopt_is_left_out_where_too_many_useful_values_occur():
    counts = np.ones((2, 21), dtype=int)
    table = atlas(counts, [1.0], instance="a, b", mechanisms=["polyopt", "grr"], cells={})
    (note,) = set(table.loc[table["status"] == SKIPPED, "note"])
    assert note.startswith("A block has 21 useful values with positive counts; at most 20 are supported")
