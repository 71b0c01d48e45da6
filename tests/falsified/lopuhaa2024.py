"""What tables of lopuhaa2024 may say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from falsified import Case, Tables, measuring, of_checks
from papers.lopuhaa2024 import summaries
from papers.lopuhaa2024.catalogue import DIMENSIONS, INEQUALITIES, LEAST, RADIUS, RADIUS_BOUND, RADIUS_PRINTED
from papers.lopuhaa2024.random_tables import theorem_tables
from papers.lopuhaa2024.sampling import QUANTILES
from papers.lopuhaa2024.theorems import check_theorems
from reproduction.ledger.claims import claims_of
from reproduction.planning.paper import papers
from reproduction.results.tables import CHECKS, PRINTED, RESULTS, Check, Printed, Result, select

LEDGER = {claim.id: claim for claim in claims_of(papers()["lopuhaa2024"])}

# Tables ---------------------------------------------------------------------------------------------------

Curves = Mapping[str, Sequence[float]]

LEVELS = (0.1, 1.5, 4.0)

SMALL: Curves = {
    "nr": (0.5, 0.8, 0.97),
    "polyopt": (0.4, 0.79, 0.95),
    "ir": (0.02, 0.3, 0.78),
    "srr": (0.01, 0.31, 0.8),
    "grr": (0.001, 0.2, 0.7),
}
LARGE: Curves = {**SMALL, "srr": (0.01, 0.2, 0.5), "grr": (0.001, 0.1, 0.4)}
#: The large pair that the paper names.
NAMED = "occupation, education"

#: Every part holds up to the highest level that the paper names, but not at the end of the grid.
LATE: Curves = {"grr": (0.001, 0.2, 0.79)}
#: Every part holds on the first three of four levels, and on no others.
FOUR = (0.1, 1.5, 2.0, 4.0)
UP_TO_2: Curves = {
    "nr": (0.5, 0.8, 0.9, 0.97),
    "polyopt": (0.4, 0.79, 0.88, 0.95),
    "ir": (0.02, 0.32, 0.5, 0.7),
    "srr": (0.01, 0.31, 0.51, 0.9),
    "grr": (0.001, 0.2, 0.3, 0.8),
}

#: One part each that is false on the whole grid, and with any end of it that the paper leaves open.
OPPOSITES: Mapping[str, Curves] = {
    "PolyOpt below IR and SRR at low ε": {"polyopt": (0.009, 0.79, 0.95)},
    "PolyOpt below SRR at moderate ε": {"polyopt": (0.4, 0.3, 0.95)},
    "PolyOpt leads by 9% at most": {
        "polyopt": (0.02198, 0.338, 0.872), "nr": (0.022, 0.34, 0.89), "ir": (0.02, 0.3, 0.79),
    },
    "PolyOpt leads more at high ε": {"polyopt": (0.021, 0.79, 2.0), "nr": (0.5, 0.8, 2.01)},
    "IR below SRR at low ε": {"ir": (0.009, 0.3, 0.78)},
    "IR above SRR at high ε": {"ir": (0.02, 0.35, 0.85)},
    "IR far below SRR at high ε": {"ir": (0.02, 0.05, 0.1), "grr": (0.001, 0.04, 0.05)},
    "IR below SRR by 26% of the lead at high ε": {"ir": (0.02, 0.185, 0.761), "grr": (0.001, 0.1, 0.7)},
    "NR below PolyOpt": {"nr": (0.39, 0.8, 0.97)},
    "NR far above PolyOpt": {"nr": (0.5, 0.95, 1.2)},
    "NR above PolyOpt by 5.5%": {"nr": (0.5, 0.836, 1.0053)},
    "GRR above SRR at low ε": {"grr": (0.03, 0.2, 0.7)},
    "GRR above all at moderate ε": {"grr": (0.001, 0.9, 0.7)},
}  # fmt: skip


def rows(
    metric: str,
    values: Curves,
    *,
    sizes: Iterable[str] = ("2 x 5",),
    instances: Iterable[str] = ("000",),
    beta: float = 0.05,
    epsilons: Sequence[float] = (0.1, 4.0),
    **more: Any,
) -> pd.DataFrame:
    """Build results from a value per epsilon of every mechanism."""
    return RESULTS.table(
        Result(
            "lopuhaa2024", "any", instance, name, metric, value, unit="1", size=size, beta=beta, order=2.0,
            epsilon=epsilon, **more,
        )
        for size in sizes
        for instance in instances
        for name, levels in values.items()
        for epsilon, value in zip(epsilons, levels, strict=True)
    )  # fmt: skip


def orderings(
    values: Curves, size: str, instance: str = "a, b", epsilons: Sequence[float] = LEVELS
) -> pd.DataFrame:
    """Build the orderings of one table of counts."""
    return summaries.orderings(rows("nmi", values, sizes=[size], instances=[instance], epsilons=epsilons))


def means(small: Curves, large: Curves = LARGE) -> pd.DataFrame:
    """Build the orderings of means over two instances of a small and of a large size."""
    numbers = ["000", "001"]
    parts = [
        rows("nmi", values, sizes=[size], instances=numbers, epsilons=LEVELS)
        for values, size in ((small, "2 x 5"), (large, "15 x 16"))
    ]
    return summaries.mean_orderings(pd.concat(parts))


def realized(levels: Mapping[str, float], instances: int = 100, epsilon: float = 0.075) -> pd.DataFrame:
    """Build the realized privacy of mechanisms, the same on every instance."""
    numbers = [f"{i:03d}" for i in range(instances)]
    values = {name: (level,) for name, level in levels.items()}
    table = rows("realized_epsilon", values, instances=numbers, epsilons=(epsilon,), note=summaries.COVERED)
    return summaries.fig4(table)


def ranges(*found: tuple[str, float, float], tables: int = 1500, **columns: Any) -> pd.DataFrame:
    """Build ranges of the 75% quantile of samples, one per size."""
    plain = {
        "beta": 0.05,
        "order": 2.0,
        "concentration": 0.5,
        "drawn": True,
        "mechanism": "nr",
        "epsilon": 0.075,
        "level": 0.75,
        "tables": tables,
        "sample": 100,
    }
    return QUANTILES.table(
        {**plain, "size": size, "quantile": (low + high) / 2, "low": low, "high": high, **columns}
        for size, low, high in found
    )


@cache
def differences(
    *methods: tuple[str, str], extreme: float = 0.02, positive: int = 50, epsilon: float = 1.5
) -> pd.DataFrame:
    """Build the differences of utility on 100 tables, some of them positive, of (mechanism, size)."""
    table = RESULTS.table(
        Result(
            "lopuhaa2024", "any", f"{i:03d}", mechanism, "utility_difference",
            extreme if i < positive else -extreme, unit="1", size=size, beta=0.05, order=2.0, epsilon=epsilon,
        )
        for mechanism, size in methods
        for i in range(100)
    )  # fmt: skip
    return summaries.fig5(table, epsilon)


def levels(values: Mapping[tuple[str, str], tuple[float, float]], epsilon: float = 1.5) -> pd.DataFrame:
    """Build Table 2 from the NMI of every size and mechanism at beta = 0.5 and 0.005."""
    parts = [
        _single(size, name, nmi, epsilon, beta)
        for (size, name), pair in values.items()
        for beta, nmi in zip((0.5, 0.005), pair, strict=True)
    ]
    return summaries.table2(pd.concat(parts), epsilon)


@cache
def _single(size: str, name: str, nmi: float, epsilon: float, beta: float) -> pd.DataFrame:
    return rows("nmi", {name: (nmi,)}, sizes=[size], epsilons=(epsilon,), beta=beta)


def falling(changes: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Build Table 2 from the relative change of the NMI of every size and mechanism."""
    return levels({key: (0.5, 0.5 * (1 - change)) for key, change in changes.items()})


# Claims ---------------------------------------------------------------------------------------------------


def _printed(where: str, numbers: Mapping[str, float], off: Callable[[str], float]) -> Tables:
    """Print numbers by quantity, and compute others that are off by something."""
    return {
        "example": PRINTED.table(
            Printed("lopuhaa2024", where, place, name, said + off(name), said, digits=4, note="x")
            for place, (name, said) in enumerate(numbers.items())
        )
    }


def _example(claim: str, quantities: Mapping[str, float]) -> Case:
    """Print what was computed, and let a number at a time be 0.6 units of the last digit off, or far off."""

    def tables(other: str = "", by: float = 0.0) -> Tables:
        return _printed(LEDGER[claim].where, quantities, lambda name: by if name == other else 0.0)

    misprints = LEDGER[claim].arguments.get("misprints", ())
    return Case(
        tables(),
        {
            f"{name} is off by {by:g}": tables(name, by)
            for name in quantities
            if name not in misprints
            for by in (-0.1, -6e-5, 6e-5, 0.1)
        },
    )


def _misprinted() -> Case:
    """Let a number differ, also one that the paper does not go on with."""

    def tables(letter: str = "", by: float = 0.0) -> Tables:
        said = {"P-hat(s1)": 0.17, "B_s1": 0.3782, "L(u1|s1)": 0.162}
        return _printed("Example 2", said, lambda name: by if name[0] == letter else 0.0)

    return Case(tables(), {f"{x} is off by {by:g}": tables(x, by) for x in "PBL" for by in (-0.1, 6e-5)})


def _theorems() -> dict[str, Case]:
    """Let every kind of comparison be off by a hundred times the accuracy of direct optimization."""
    made = check_theorems(theorem_tables([((2, 2), 60)], seed=1), (2.0,), (1.0,))

    def more(limit: float) -> float:
        return limit + 1e-4 * (1 + limit)

    def less(limit: float) -> float:
        return limit - 1e-4 * (1 + limit)

    kinds = {
        "L-T1": {"radius B_": less},
        "L-P1": {"lower bound L(": more, "l1 radius rad_": less},
        "L-T2": {f"largest eps* {how}, {name} at": more for how in _HOW for name in _OF_T2},
        "L-T4": {
            "I(X; Y) of SRR, at the": less, "I(X; Y) of SRR, at twice": less, "I(X; Y) of SRR, at half": more,
            "threshold": more,
        },
        "L-T5": {f"largest eps* {how}, {name} at": more for how in _HOW for name in _OF_T5},
        "L-T3": {
            "outputs, polyopt at": 5.0,
            "I(X; Y), polyopt at": less,
        },
    }  # fmt: skip
    found = {claim: of_checks(claim, "theorems", made, instead) for claim, instead in kinds.items()}
    found["L-P2"] = _proposition_2(select(made, claim="L-P2").reset_index(drop=True), more, less)
    # A table of 4 cells, in any of the other tables.
    said = {
        **found["L-T3"].said,
        **{name: rows("nmi", {"polyopt": (0.4, 0.9)}, sizes=["2 x 2"], outputs=4) for name in _SOLVES},
    }
    more_outputs = {
        f"{words}, theorems": {**said, **tables} for words, tables in found["L-T3"].instead.items()
    }
    more_outputs |= {
        f"5 outputs, {name}": {**said, name: said[name].assign(outputs=5)} for name in _SOLVES
    }  # fmt: skip
    return found | {"L-T3": Case(said, more_outputs)}


def _proposition_2(
    made: pd.DataFrame, more: Callable[[float], float], less: Callable[[float], float]
) -> Case:
    """Let the radius be as printed, or what direct optimization finds be another number."""
    printed = made.index[made["quantity"].str.startswith(RADIUS_PRINTED)]
    as_printed = made
    for row in printed:
        limit = float(made.loc[row, "limit"])
        as_printed = measuring(as_printed, row, limit).sort_index()
    falsified = {}
    for name in (LEAST, RADIUS, RADIUS_BOUND):
        row = int(made.index[made["quantity"].str.startswith(name)][0])
        for words, other in (("more", more), ("less", less)):
            if (name, words) != (RADIUS_BOUND, "more"):
                limit = float(made.loc[row, "limit"])
                falsified[f"{name} {words}"] = {"theorems": measuring(made, row, other(limit))}
    return Case({"theorems": as_printed}, falsified, {"theorems": made})


def _polyhedron() -> Case:
    """Count other inequalities or dimensions on small tables, or of the pair."""

    def tables(less: int = 0, size: str = "15 x 16", inequalities: int = 20) -> Tables:
        plain = ("lopuhaa2024", "L-S81a", "60 records")
        counted = [
            Check(*plain, INEQUALITIES, inequalities, "=", 20.0, size="2 x 2"),
            Check(*plain, DIMENSIONS, 4 - less, "=", 3.0, size="2 x 2"),
        ]
        fig2 = rows("nmi", SMALL, sizes=[size], instances=["occupation, education"], epsilons=LEVELS)
        return {"fig2": fig2, "theorems": CHECKS.table(counted)}

    others = {size: tables(1, size) for size in ("14 x 16", "15 x 17", "241 x 1")}
    others |= {"19 inequalities on a small table": tables(1, inequalities=19)}
    return Case(tables(), others, tables(1))


def _coverage() -> Case:
    """Let F cover a truth less often, by half a standard error more than is allowed, or far less often."""

    def tables(*covered: float) -> Tables:
        plain = {
            "size": "2 x 5", "instance": "sex, race", "beta": 0.05, "order": 2.0, "method": "asymptotic",
            "records": 326, "radius": 0.1, "samples": 10_000,
        }  # fmt: skip
        truths = ("like the table", "rare cells, 0.2 expected in all")
        found = [plain | {"truth": name, "covered": x} for name, x in zip(truths, covered, strict=True)]
        # Another order and another radius, which the paper does not take.
        found += [found[0] | {"order": 1.0, "covered": 0.5}, found[0] | {"method": "finite", "covered": 0.5}]
        return {"coverage": summaries.COVERAGE.table(found)}

    return Case(
        tables(0.9440, 0.9999),
        {f"{x:.2%} of {name}": tables(*((x, 0.95) if name == "like the table" else (0.95, x)))
         for name in ("like the table", "rare cells") for x in (0.9424, 0.59)},
    )  # fmt: skip


_HOW = ("over F", "by the ball")
_OF_T2, _OF_T5, _SOLVES = ("polyopt",), ("ir", "ir_tight"), ("fig2", "synthetic", "beta")

_METHODS = (("ir", "2 x 5"), ("srr", "2 x 5"), ("ir", "15 x 16"), ("srr", "15 x 16"), ("polyopt", "2 x 5"))

#: Of NMI, by a factor of 100 in β.
_CHANGES = {
    ("2 x 5", "polyopt"): 0.02,
    ("2 x 6", "polyopt"): 0.015,
    ("2 x 5", "ir"): 0.04,
    ("2 x 6", "ir"): 0.03,
    ("15 x 16", "ir"): 0.01,
}


@cache
def cases() -> dict[str, Case]:
    """Return the cases of all claims, by id."""
    # On a grid that begins above every end that the paper leaves open.
    high = {name: values[1:] for name, values in SMALL.items()} | {"ir": (0.9, 0.9)}
    large = {
        "IR below SRR at low ε": {"srr": (0.021, 0.2, 0.5)},
        "IR above SRR by 9% in the median": {"srr": (0.01, 0.2753, 0.75)},
        "IR below SRR": {"srr": (0.03, 0.4, 0.9)},
    }
    small, other = orderings(SMALL, "2 x 5"), orderings(SMALL, "2 x 6")
    adult = {words: orderings({**SMALL, **opposite}, "2 x 5") for words, opposite in OPPOSITES.items()}
    return {
        "L-E1": _example("L-E1", {"B": 0.0392, "D": 0.0124}),
        "L-E2": _misprinted(),
        "L-E3": _example("L-E3", {"Q(1|1)": 0.5, "I of PolyOpt": 0.31}),
        "L-E3b": _example("L-E3b", {"I_P* of PolyOpt": 0.2804}),
        "L-E4": _example("L-E4", {"GRR": 0.5, "I of SRR": 0.0421}),
        "L-E5": _example(
            "L-E5", {"rad_s1 in d": 0.6, "d": 1.4591, "I": 0.0755, "I under the truth": 0.0718, "ε2": 0.6931}
        ),
        **_theorems(),
        "L-S3": _coverage(),
        "L-S81a": _polyhedron(),
        "L-S81b": Case(
            {"orderings": pd.concat([small, other])},
            {
                **{f"{words}, one table": {"orderings": table} for words, table in adult.items()},
                **{
                    f"{words}, one of two": {"orderings": pd.concat([table, other])}
                    for words, table in adult.items()
                },
                "IR above SRR on a grid from 6 on": {
                    "orderings": orderings(high, "2 x 5", epsilons=(6.0, 8.0))
                },
                "with a grid up to 2 alone": {"orderings": orderings(UP_TO_2, "2 x 5", epsilons=FOUR)},
            },
            {"orderings": orderings(SMALL | LATE, "2 x 5")},
        ),
        "L-S81c": Case(
            {"orderings": orderings(LARGE, "15 x 16", NAMED)},
            {words: {"orderings": orderings({**LARGE, **x}, "15 x 16", NAMED)} for words, x in large.items()},
            {"orderings": orderings(LARGE, "15 x 16")},
        ),
        "L-S81d": Case(
            {"orderings": orderings(LARGE, "15 x 16", NAMED)},
            {
                words: {"orderings": orderings({**LARGE, **x}, "15 x 16", name)}
                for name in (NAMED, "a, b")
                for words, x in {
                    f"GRR above SRR at low ε, {name}": {"grr": (0.011, 0.1, 0.4)},
                    f"GRR above SRR at high ε, {name}": {"grr": (0.001, 0.1, 0.51)},
                    f"GRR above all, {name}": {"grr": (0.03, 0.4, 0.9)},
                    f"GRR 9% below IR in the median, {name}": {
                        "ir": (0.0205, 0.22, 0.6),
                        "srr": (0.02, 0.21, 0.55),
                        "grr": (0.0195, 0.2019, 0.52),
                    },
                }.items()
            },
            {"orderings": orderings(LARGE, "15 x 16")},
        ),
        "L-S82": Case(
            {"mean_orderings": means(SMALL)},
            {words: {"mean_orderings": means({**SMALL, **x})} for words, x in OPPOSITES.items()}
            | {
                f"{words}, large": {"mean_orderings": means(SMALL, {**LARGE, **x})}
                for words, x in large.items()
            },
            {"mean_orderings": means(SMALL | LATE)},
        ),
        "L-S83a": Case(
            {"fig4": realized({"nr": 0.0751, "polyopt": 0.0749})},
            {
                "NR at ε": {"fig4": realized({"nr": 0.075, "polyopt": 0.0749})},
                "NR below ε": {"fig4": realized({"nr": 0.07, "polyopt": 0.0749})},
                "PolyOpt at ε": {"fig4": realized({"nr": 0.0751, "polyopt": 0.075})},
                "PolyOpt above ε": {"fig4": realized({"nr": 0.0751, "polyopt": 0.08})},
            },
        ),
        "L-S83b": Case(
            {"quantiles": ranges(("2 x 5", 0.38966, 0.4), ("2 x 6", 0.38, 0.38974))},
            {
                # A large table has every quantile, but the paper does not have NR there.
                f"{low:g} to {high:g}": {
                    "quantiles": ranges(("2 x 5", low, high), ("2 x 6", low, high), ("15 x 16", 0.1, 2.5))
                }
                for low, high in ((0.08, 0.1), (0.2, 0.3896), (0.3898, 0.6), (1.0, 2.0))
            }
            | {
                "in the range of one size alone": {
                    "quantiles": ranges(("2 x 5", 0.28, 0.38), ("2 x 6", 0.33, 0.53))
                }
            },
            {"quantiles": ranges(("2 x 5", 0.28, 0.44), ("2 x 6", 0.33, 0.53))},
        ),
        "L-S84": Case(
            {"fig5": differences(*_METHODS)},
            {
                f"{words}, {name} on {size}": {
                    "fig5": pd.concat(
                        [
                            differences(*(method for method in _METHODS if method != (name, size))),
                            differences((name, size), **change),
                        ]
                    )
                }
                for name, size in _METHODS
                for words, change in {
                    "3.01%": {"extreme": 0.0301},
                    "5%": {"extreme": 0.05},
                    "66 positive": {"positive": 66},
                    "34 positive": {"positive": 34},
                    "all negative": {"positive": 0},
                }.items()
            },
        ),
        "L-S85": Case(
            {"table2": falling(_CHANGES)},
            {
                words: {"table2": falling(_CHANGES | change)}
                for words, change in {
                    "4.6% for IR": {("2 x 5", "ir"): 0.046},
                    "as much for PolyOpt": {("2 x 6", "polyopt"): 0.03},
                    "more for PolyOpt": {("2 x 5", "polyopt"): 0.041},
                    "more for IR on larger X": {("15 x 16", "ir"): 0.031},
                    "as much for IR on larger X": {("2 x 5", "ir"): 0.03, ("15 x 16", "ir"): 0.03},
                }.items()
            },
        ),
    }
