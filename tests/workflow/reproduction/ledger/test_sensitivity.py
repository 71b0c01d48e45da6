"""Verdicts by other tables: what hangs on what the papers leave open."""

import pandas as pd
import pytest

from papers.kairouz2016 import sensitivity as kairouz2016
from papers.kairouz2016.populations import POPULATIONS
from papers.lopuhaa2024 import plan as lopuhaa2024_plan
from papers.lopuhaa2024 import sensitivity as lopuhaa2024
from papers.lopuhaa2024 import summaries as lopuhaa2024_tables
from papers.lopuhaa2024.sampling import QUANTILES
from reproduction.ledger import claims
from reproduction.ledger.claims import ANOTHER_READING, NOT_REPRODUCED, REPRODUCED, SENSITIVITY
from reproduction.planning.paper import PaperError, claim_entries, papers
from reproduction.results.tables import CHECKS, RESULTS, Check, Result, TableError


def verdicts(table):
    return {(row.claim, row.choice, row.setting): row.verdict for row in table.itertuples()}


def entry(**arguments):
    texts = dict.fromkeys(("where", "statement", "rule", "tolerance", "origin"), "x")
    return {"id": "P-1", "check": "every_check_holds", "tables": ["checks"], "arguments": arguments, **texts}


def checks(measured):
    return CHECKS.table([Check("liao2017", "P-1", "a", "q", measured, "<=", 1.0)])


def test_a_claim_is_decided_by_every_variant_that_decides_it():
    tables = [("grid", "fine", {"checks": checks(0.5)}), ("grid", "coarse", {"checks": checks(2.0)})]
    other = ("grid", "none", {"checks": checks(0.5)[:0]}), ("grid", "lacking", {})
    found = claims.sensitivity("liao2017", [entry()], [*tables, *other])
    assert verdicts(found) == {("P-1", "grid", "fine"): REPRODUCED, ("P-1", "grid", "coarse"): NOT_REPRODUCED}
    assert list(claims.sensitivity("liao2017", [], tables)) == list(SENSITIVITY.columns)
    # Arguments are changed where a claim has them.
    changed = claims.sensitivity("liao2017", [entry(claims=["P-1"])], tables, {"claims": ["P-2"], "new": 1})
    assert changed.empty
    with pytest.raises(PaperError, match="Claim P-1 of liao2017 lacks rule"):
        claims.sensitivity("liao2017", [{k: v for k, v in entry().items() if k != "rule"}], tables)
    with pytest.raises(TableError, match="has the unknown verdict x"):
        SENSITIVITY.table([dict.fromkeys(SENSITIVITY.columns, "x")])


def test_the_entries_are_those_of_the_paper():
    entries = claim_entries("kairouz2016", ["K-F7", "K-F4"])
    assert [found["id"] for found in entries] == ["K-F7", "K-F4"]
    own = {claim.id: claim for claim in claims.claims_of(papers()["kairouz2016"])}
    assert entries[0]["arguments"] == own["K-F7"].arguments


def test_minima_with_other_priors_and_levels():
    def population(concentration, levels, drawn, rr, binary):
        for number in range(1, 40):
            for statistic, least in (("rr", rr), ("binary", binary)):
                plain = {
                    "paper": "kairouz2016",
                    "utility": "kl",
                    "size": "6",
                    "instances": 100,
                    "epsilon": 1.0,
                }
                yield plain | {
                    "concentration": concentration, "range": levels, "drawn": drawn, "statistic": statistic,
                    "population": number, "least": least, "certified": least, "instance": str(number),
                }  # fmt: skip

    populations = POPULATIONS.table(
        [
            *population(1.0, "0.1 to 10", True, 0.11, 0.25),
            *population(2.0, "0.1 to 10", False, 0.3, 0.25),
            *population(1.0, "1 to 2", False, 0.11, 0.5),
        ]
    )
    fig3 = RESULTS.table(
        Result(
            "kairouz2016", "kl", f"{i:03d}", name, "kl", 0.5, unit="nats", size="6", epsilon=1.0,
            direction="max", bound=1.0, status="closed form",
        )
        for i in range(100)
        for name in ("rr", "binary")
    )  # fmt: skip
    found = kairouz2016.sensitivity(
        fig3,
        fig3[:0],
        fig3[:0],
        fig3[:0],
        populations,
        claims=claim_entries("kairouz2016", ["K-F3a", "K-F4"]),
    )
    assert verdicts(found) == {
        ("K-F3a", "prior", "Dirichlet(1), as computed"): REPRODUCED,
        ("K-F3a", "prior", "Dirichlet(2)"): NOT_REPRODUCED,
        ("K-F3a", "privacy levels", "ε from 0.1 to 10, as computed"): REPRODUCED,
        ("K-F3a", "privacy levels", "ε from 1 to 2"): NOT_REPRODUCED,
    }


def test_orderings_of_single_pairs_and_shorter_grids():
    levels = (0.1, 1.5, 4.0)
    good = {
        "nr": (0.5, 0.8, 0.97),
        "polyopt": (0.4, 0.79, 0.95),
        "ir": (0.02, 0.3, 0.78),
        "srr": (0.01, 0.31, 0.8),
        "grr": (0.001, 0.2, 0.7),
    }
    late = good | {"grr": (0.001, 0.2, 0.79)}

    def nmi(values, instance):
        return RESULTS.table(
            Result(
                "lopuhaa2024", "any", instance, name, "nmi", value, unit="1", size="2 x 5", beta=0.05,
                order=2.0, epsilon=epsilon,
            )
            for name, curve in values.items()
            for epsilon, value in zip(levels, curve, strict=True)
        )  # fmt: skip

    orderings = lopuhaa2024_tables.orderings(pd.concat([nmi(good, "a, b"), nmi(late, "c, d")]))
    plain = {
        "size": "2 x 5", "beta": 0.05, "order": 2.0, "mechanism": "nr", "epsilon": 0.075, "level": 0.75,
        "tables": 1000, "quantile": 0.3,
    }  # fmt: skip
    quantiles = QUANTILES.table(
        plain | {"concentration": c, "drawn": c == 0.5, "sample": n, "low": low, "high": high}
        for c, n, low, high in ((0.5, 50, 0.2, 0.5), (0.5, 100, 0.3, 0.4), (1.0, 100, 0.1, 0.2))
    )
    arguments = lopuhaa2024_plan.sensitivity({})
    found = verdicts(lopuhaa2024.sensitivity(orderings, orderings[:0], quantiles, **arguments))
    grids = {end: found.pop(("L-S81b", "end of the grid", f"ε up to {end:g}")) for end in arguments["ends"]}
    assert {end for end, verdict in grids.items() if verdict == REPRODUCED} == {1.5, 2, 2.5, 3}
    assert found == {
        ("L-S81b", "pairs", "a, b (2 x 5)"): REPRODUCED,
        ("L-S81b", "pairs", "c, d (2 x 5)"): ANOTHER_READING,
        ("L-S83b", "prior of P*", "Dirichlet(0.5), as computed"): ANOTHER_READING,
        ("L-S83b", "prior of P*", "Dirichlet(1)"): NOT_REPRODUCED,
        ("L-S83b", "repetitions", "50 tables"): ANOTHER_READING,
        ("L-S83b", "repetitions", "100 tables, as computed"): ANOTHER_READING,
    }
