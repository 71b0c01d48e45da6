"""The claims ledger: every claim has an entry, and a verdict that its tables decide."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldpfrontier import claims
from ldpfrontier.claims import ANOTHER_READING, NOT_CHECKABLE, NOT_REPRODUCED, REPRODUCED
from ldpfrontier.tables import RESULTS, TableError, write_table

ROOT = Path(__file__).parents[1]
IDS = [
    "K-T2",
    "K-T5",
    "K-T6",
    "K-T7",
    "K-T8",
    "K-T12",
    "K-T13",
    "K-T14",
    "K-T18",
    "K-C9",
    "K-C10",
    "K-C15",
    "K-C16",
    "K-F3a",
    "K-F3b",
    "K-F4",
    "K-F5",
    "K-F6",
    "K-F7",
    "K-F8",
    "L-E1",
    "L-E2",
    "L-E3",
    "L-E4",
    "L-E5",
    "L-T1",
    "L-P1",
    "L-P2",
    "L-T2",
    "L-T3",
    "L-T4",
    "L-T5",
    "L-S81a",
    "L-S81b",
    "L-S81c",
    "L-S82",
    "L-S83a",
    "L-S83b",
    "L-S84",
    "L-S85",
    "Li-T1",
    "Li-T3",
    "Li-L2",
    "Li-F2a",
    "Li-F2b",
    "Li-F2c",
    "Li-F2d",
    "Li-F3",
    "Ka-T1",
    "Ka-T2",
    "Ka-T3",
    "Ka-L5",
    "Ka-L6",
    "Ka-F4",
    "Ka-F5",
    "Ka-F6",
    "Ka-F7",
]
LEDGER = {claim.id: claim for claim in claims.read_claims(ROOT / "resources/claims.yaml")}


def table(*rows, **common):
    """Build a result table: what a row leaves out has a plain value."""
    plain = {
        "paper": "kairouz2016",
        "experiment": "any",
        "instance": "k=06, 000",
        "mechanism": "any",
        "epsilon": 1.0,
        "metric": "any",
        "upper_bound": np.nan,
        "gap": np.nan,
        "status": "measured",
        "outputs": None,
        "iterations": None,
        "privacy": 0.0,
        "privacy_limit": np.inf,
        "row_sum_error": 0.0,
        "note": "",
    }
    return RESULTS.conform(pd.DataFrame([plain | common | row for row in rows]))


def verdict(claim, *tables, **more):
    name = f"{LEDGER[claim].paper}/{LEDGER[claim].table}"
    found = claims.decide(LEDGER[claim], dict(zip([name], tables, strict=False)) | more)
    assert found.verdict == REPRODUCED or found.explanation
    return found.verdict


def test_every_claim_is_there():
    assert list(LEDGER) == list(dict.fromkeys(LEDGER))
    assert set(LEDGER) == set(IDS)
    assert {claim.check for claim in LEDGER.values()} == set(claims.CHECKS)


def test_without_tables_nothing_is_checkable():
    found = claims.ledger(list(LEDGER.values()), {})
    assert set(found["verdict"]) == {NOT_CHECKABLE}
    assert found["explanation"].str.fullmatch(r"The table \w+/\w+ is missing\.").all()
    assert list(found["id"]) == list(LEDGER)
    counts = claims.counts(found).set_index("paper")
    assert counts.loc["all", NOT_CHECKABLE] == len(IDS)


def test_errata_name_tests_that_exist():
    errata = claims.read_errata(ROOT / "resources/errata.yaml")
    assert {erratum.paper for erratum in errata} == {claim.paper for claim in LEDGER.values()}
    for erratum in errata:
        file, _, function = erratum.test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), erratum.test
    assert "should be" in claims.errata_texts(errata)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- {id: A}", "entry A .* does not fit"),
        (
            "- {id: A, paper: p, where: w, statement: s, check: magic, table: t, figure: f}",
            "no such function",
        ),
        (
            2 * "- {id: A, paper: p, where: w, statement: s, check: bounds, table: t, figure: f}\n",
            "more than once",
        ),
    ],
)
def test_bad_entries_get_a_sentence(text, sentence, tmp_path):
    (tmp_path / "claims.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        claims.read_claims(tmp_path / "claims.yaml")


def test_a_finding_that_is_not_plain_needs_an_explanation():
    with pytest.raises(ValueError, match="needs an explanation"):
        claims.Finding("1", NOT_REPRODUCED)
    with pytest.raises(ValueError, match="allowed are reproduced,"):
        claims.Finding("1", "perhaps")  # type: ignore[arg-type]


def test_tables_are_read_by_name_and_checked(tmp_path):
    write_table(table({"value": 1.0}), tmp_path / "kairouz2016" / "fig3.parquet", {})
    (tmp_path / "kairouz2016" / "fig4.parquet").write_bytes(b"PAR1")
    tables = claims.ResultTables(tmp_path)
    assert list(tables) == ["kairouz2016/fig3", "kairouz2016/fig4"]
    assert len(tables["kairouz2016/fig3"]) == 1
    with pytest.raises(TableError, match="not a complete Parquet file"):
        tables["kairouz2016/fig4"]


# kairouz2016 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("worst", "expected"), [(1.2, REPRODUCED), (0.9, NOT_REPRODUCED)])
def test_bounds(worst, expected):
    rows = ({"instance": f"k=06, {i:03d}", "value": v} for i, v in enumerate([3.0, worst]))
    assert verdict("K-T13", table(*rows, experiment="theorems", metric="K-T13")) == expected


def test_rows_that_are_not_there_are_named():
    found = claims.decide(
        LEDGER["K-T6"], {"kairouz2016/theorems": table({"value": 1.0}, experiment="theorems")}
    )
    assert found.verdict == NOT_CHECKABLE
    assert "K-T6 ratio" in found.explanation


@pytest.mark.parametrize(("value", "expected"), [(4.0, REPRODUCED), (np.inf, NOT_REPRODUCED)])
def test_thresholds(value, expected):
    assert verdict("K-T14", table({"value": value}, mechanism="rr", metric="mutual_information")) == expected
    rows = table({"value": 1.0 if value == 4.0 else 0.0}, mechanism="binary", metric="all_f")
    assert verdict("K-T5", rows) == expected


def expansion(claim, order):
    rows = [
        {"mechanism": variant, "metric": f"{claim} {name}", "value": value}
        for variant in ("computed", "printed", "derived")
        for name, value in (("constant", 2.0), ("order", order if variant == "printed" else 4.0))
    ]
    return table(*rows)


@pytest.mark.parametrize(
    ("claim", "order", "expected"),
    [
        ("K-C15", 4.0, REPRODUCED),
        ("K-C15", 2.0, NOT_REPRODUCED),
        ("K-C16", 2.0, REPRODUCED),
        ("K-C16", 1.0, NOT_REPRODUCED),
    ],
)
def test_expansions(claim, order, expected):
    assert verdict(claim, expansion(claim, order)) == expected


def ratios(rr, binary, metric, sizes=(6,), instances=100):
    values = {"rr": rr, "binary": binary, "optimal": 1.0}
    return table(
        *(
            {
                "instance": f"k={k:02d}, {i:03d}",
                "mechanism": name,
                "value": max(value, 1 - i),
                "upper_bound": 1.0,
            }
            for k in sizes
            for i in range(instances)
            for name, value in values.items()
        ),
        metric=metric,
        gap=0.0,
    )


def test_minima_of_figure_3():
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl")) == REPRODUCED
    assert verdict("K-F3a", ratios(0.13, 0.17, "kl")) == ANOTHER_READING
    assert verdict("K-F3a", ratios(0.5, 0.5, "kl")) == NOT_REPRODUCED
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", instances=10)) == NOT_CHECKABLE
    assert verdict("K-F3a", ratios(0.11, 0.24, "kl", sizes=(3,))) == NOT_CHECKABLE


def test_text_and_caption_of_figure_6():
    found = claims.decide(LEDGER["K-F6"], {"kairouz2016/fig6": ratios(0.38, 0.40, "mutual_information")})
    assert found.verdict == ANOTHER_READING
    assert "the text that agrees" in found.explanation
    found = claims.decide(LEDGER["K-F6"], {"kairouz2016/fig6": ratios(0.38, 0.35, "mutual_information")})
    assert "the caption that agrees" in found.explanation


def test_better_of_two():
    assert verdict("K-F4", ratios(0.2, 0.72, "kl", sizes=(6, 12))) == REPRODUCED
    assert verdict("K-F4", ratios(0.2, 0.67, "kl", sizes=(6, 12))) == ANOTHER_READING
    assert verdict("K-F4", ratios(0.2, 0.52, "kl", sizes=(6, 12))) == NOT_REPRODUCED
    assert verdict("K-F4", ratios(0.2, 0.72, "kl")) == NOT_CHECKABLE


def test_scaling_and_geometric():
    values = {"optimal": 1.0, "printed": 1.0, "geometric": 0.5, "binary": 1.0, "rr": 0.8}
    rows = [
        {"instance": f"k=06, {i:03d}", "mechanism": name, "value": value * (1 + i), "metric": metric}
        for i in range(3)
        for name, value in values.items()
        for metric in ("kl", "normalized")
    ]
    good = table(*rows)
    bad = good.assign(value=good["value"].mask(good["mechanism"] == "geometric", 9.0))
    for claim in ("K-F5", "K-F3b"):
        assert verdict(claim, good) == REPRODUCED
        assert verdict(claim, bad) == NOT_REPRODUCED


# liao2017 -------------------------------------------------------------------------------------------------


def shares(two, any_, note="over the whole range"):
    values = {"share_of_2": two, "share_of_any": any_, "first_share_of_any": any_}
    rows = ({"metric": name, "value": value} for name, value in values.items())
    return table(*rows, paper="liao2017", mechanism="Li-F2b", instance="Pair 2", note=note)


def test_shares_of_the_optimum():
    assert verdict("Li-F2b", shares(0.97, 0.97)) == REPRODUCED
    assert verdict("Li-F2b", shares(0.97, 0.9)) == ANOTHER_READING
    assert verdict("Li-F2b", shares(0.8, 0.8)) == NOT_REPRODUCED
    assert verdict("Li-F2b", shares(0.97, 0.97, "up to 0.5% of min H")) == NOT_REPRODUCED


def test_limit_of_lemma_2():
    rows = [{"instance": f"distance 1e-{i}", "value": 10.0**-i} for i in (1, 2, 3)]
    found = table(*rows, paper="liao2017", mechanism="Li-L2")
    assert verdict("Li-L2", found) == REPRODUCED
    assert verdict("Li-L2", found.assign(value=0.1)) == NOT_REPRODUCED


# kalantari2018 --------------------------------------------------------------------------------------------


def test_class_two_as_printed():
    def checks(formula, printed):
        rows = ({"metric": "Ka-T2", "value": formula}, {"metric": "Ka-T2 printed", "value": printed})
        return table(*rows, paper="kalantari2018", instance="P6 II", mechanism="measured")

    assert verdict("Ka-T2", checks(0.0, 0.0)) == REPRODUCED
    assert verdict("Ka-T2", checks(0.0, 0.3)) == ANOTHER_READING
    assert verdict("Ka-T2", checks(0.1, 0.3)) == NOT_REPRODUCED


def test_class_three_needs_a_group():
    def checks(paper, permuted):
        rows = [
            {"instance": name, "metric": f"Ka-T3 {side}", "value": excess if side == "lower" else 0.0}
            for name, excess in (("P6 III a", paper), ("random permuted", permuted))
            for side in ("lower", "upper", "width")
        ]
        return table(*rows, paper="kalantari2018", mechanism="measured")

    assert verdict("Ka-T3", checks(0.0, 0.0)) == REPRODUCED
    assert verdict("Ka-T3", checks(0.0, 0.5)) == ANOTHER_READING
    assert verdict("Ka-T3", checks(0.5, 0.5)) == NOT_REPRODUCED


# lopuhaa2024 ----------------------------------------------------------------------------------------------


def test_worked_example():
    rows = pd.DataFrame(
        {
            "example": 5,
            "quantity": ["rad_s1 in d", "d"],
            "printed": [0.6, 1.4],
            "agrees": [True, True],
            "note": ["", ""],
        }
    )
    assert verdict("L-E5", rows) == REPRODUCED
    assert verdict("L-E5", rows.assign(agrees=[False, True], note=["repeats", ""])) == ANOTHER_READING
    assert verdict("L-E5", rows.assign(agrees=[True, False], note=["", "why"])) == NOT_REPRODUCED
    assert verdict("L-E1", rows) == NOT_CHECKABLE


def test_theorems_by_direct_optimization():
    rows = pd.DataFrame(
        {"claim": ["L-T1", "L-P2"], "instance": "2 x 2", "quantity": "q", "computed": 1.0, "relation": "="}
    ).assign(reference=1.0, holds=True)
    assert verdict("L-T1", rows) == REPRODUCED
    assert verdict("L-P2", rows) == ANOTHER_READING
    assert verdict("L-T1", rows.assign(holds=False)) == NOT_REPRODUCED


def nmi(instances, values, paper="lopuhaa2024", epsilons=(0.1, 4.0), **common):
    rows = [
        {"instance": instance, "mechanism": name, "epsilon": epsilon, "value": value}
        for instance in instances
        for name, pair in values.items()
        for epsilon, value in zip(epsilons, pair, strict=True)
    ]
    return table(*rows, paper=paper, metric="nmi", **common)


SMALL = {
    "nr": (0.5, 0.91),
    "polyopt": (0.4, 0.9),
    "ir": (0.02, 0.78),
    "srr": (0.01, 0.8),
    "grr": (0.001, 0.7),
}


def test_orderings_on_adult():
    small = nmi(["sex, race (2 x 5)"], SMALL)
    large = nmi(["occupation, education (15 x 16)"], SMALL | {"srr": (0.01, 0.5)})
    assert verdict("L-S81b", small) == REPRODUCED
    assert verdict("L-S81b", nmi(["a (2 x 5)"], SMALL | {"grr": (0.001, 0.95)})) == NOT_REPRODUCED
    assert verdict("L-S81b", large) == NOT_CHECKABLE
    assert verdict("L-S81c", large) == REPRODUCED
    assert verdict("L-S81c", nmi(["a (15 x 16)"], SMALL | {"srr": (0.03, 0.5)})) == NOT_REPRODUCED
    assert verdict("L-S81a", large) == REPRODUCED
    assert verdict("L-S81a", nmi(["occupation, education (14 x 16)"], SMALL)) == NOT_REPRODUCED
    assert verdict("L-S81a", small) == NOT_CHECKABLE


def test_outputs_of_polyopt():
    theorems = pd.DataFrame({"claim": ["L-T3"], "computed": [4.0], "reference": [4.0]})
    for outputs, expected in ((10, REPRODUCED), (11, NOT_REPRODUCED)):
        fig2 = nmi(["sex, race (2 x 5)"], SMALL, outputs=outputs)
        assert verdict("L-T3", theorems, **{"lopuhaa2024/fig2": fig2}) == expected


SYNTHETIC = "synthetic (beta 0.05, order 2)"


def test_means_of_the_synthetic_study():
    instances = [f"2 x 5, {i:03d}" for i in range(2)]
    large = SMALL | {"srr": (0.01, 0.5)}
    for srr, expected in (((0.01, 0.8), REPRODUCED), ((0.03, 0.8), NOT_REPRODUCED)):
        parts = [nmi(instances, SMALL | {"srr": srr}), nmi(["15 x 16, 000"], large)]
        assert verdict("L-S82", pd.concat(parts).assign(experiment=SYNTHETIC)) == expected


def realized(levels, instances=100, **more):
    rows = [
        {"instance": f"2 x 5, {i:03d}", "mechanism": name, "value": level} | more
        for i in range(instances)
        for name, level in levels.items()
    ]
    common = {"paper": "lopuhaa2024", "experiment": SYNTHETIC, "note": "P* lies in F"}
    return table(*rows, **{"metric": "realized_epsilon", "epsilon": 0.075} | common)


def test_realized_privacy():
    assert verdict("L-S83a", realized({"nr": 0.3897, "polyopt": 0.05})) == REPRODUCED
    assert verdict("L-S83a", realized({"nr": 0.3897, "polyopt": 0.08})) == NOT_REPRODUCED
    assert verdict("L-S83a", realized({"nr": 0.3897, "polyopt": 0.05}, 10)) == NOT_CHECKABLE
    assert verdict("L-S83b", realized({"nr": 0.3897})) == REPRODUCED
    assert verdict("L-S83b", realized({"nr": 0.37})) == ANOTHER_READING
    assert verdict("L-S83b", realized({"nr": 0.2})) == NOT_REPRODUCED
    assert verdict("L-S83b", realized({"nr": 0.2}, epsilon=1.0)) == NOT_CHECKABLE


def test_utility_difference():
    def differences(size, shift):
        rows = realized({"ir": 0.0}).assign(metric="utility_difference", epsilon=1.5)
        return rows.assign(value=[size * (-1) ** i + shift for i in range(len(rows))])

    assert verdict("L-S84", differences(0.02, 0.0)) == REPRODUCED
    assert verdict("L-S84", differences(0.04, 0.0)) == NOT_REPRODUCED
    assert verdict("L-S84", differences(0.01, 0.015)) == NOT_REPRODUCED


def test_significance_level():
    def levels(change):
        parts = [
            nmi([f"{size}, 000"], {name: (base,)}, epsilons=(1.5,)).assign(
                experiment=f"synthetic (beta {beta:g}, order 2)"
            )
            for size, factor in (("2 x 5", 2.0), ("16 x 7", 1.0))
            for name, own in (("polyopt", 0.5), ("ir", 1.0))
            for beta, base in ((0.5, 0.5), (0.005, 0.5 * (1 - change * factor * own)))
        ]
        return pd.concat(parts, ignore_index=True)

    assert verdict("L-S85", levels(0.02)) == REPRODUCED
    assert verdict("L-S85", levels(0.05)) == NOT_REPRODUCED
    assert verdict("L-S85", levels(-0.0)) == NOT_REPRODUCED


def test_what_the_paper_could_not_compute_is_another_reading():
    parts = [
        nmi([f"{size}, 000"], {name: (value,)}, epsilons=(1.5,)).assign(
            experiment=f"synthetic (beta {beta:g}, order 2)"
        )
        for beta, values in ((0.5, (0.5, 0.5, 0.5, 0.5)), (0.005, (0.495, 0.485, 0.45, 0.5)))
        for (size, name), value in zip(
            [("2 x 5", "polyopt"), ("2 x 5", "ir"), ("16 x 7", "polyopt"), ("16 x 7", "ir")],
            values,
            strict=True,
        )
    ]
    assert verdict("L-S85", pd.concat(parts, ignore_index=True)) == ANOTHER_READING

    values = SMALL | {"grr": (0.001, 0.95)}
    instances = {"2 x 5": "a (2 x 5)", "15 x 16": "b (15 x 16)"}
    means = [nmi([f"{size}, 000"], values | {"srr": (0.01, 0.5)}) for size in instances]
    adult = nmi(instances.values(), values | {"srr": (0.01, 0.5)})
    synthetic = pd.concat(means).assign(experiment=SYNTHETIC)
    assert verdict("L-S82", synthetic, **{"lopuhaa2024/fig2": adult}) == ANOTHER_READING
    other = adult.assign(value=adult["value"].mask(adult["mechanism"] == "grr", 0.0001))
    assert verdict("L-S82", synthetic, **{"lopuhaa2024/fig2": other}) == NOT_REPRODUCED
