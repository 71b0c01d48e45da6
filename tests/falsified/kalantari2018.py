"""What tables of kalantari2018 may say: leakages of the paper's sets on a small grid, and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from falsified import Case, changed, of_checks
from papers.kalantari2018.experiments import DP, MI, tradeoff
from papers.kalantari2018.summaries import checks
from reproduction.planning.paper import papers
from reproduction.results.tables import select

PAPER = papers()["kalantari2018"]
CONFIGURATION = yaml.safe_load((Path(__file__).parents[2] / "config/config.yaml").read_text(encoding="utf-8"))

#: With the distortions from which the Class II sets of 6 and of 10 letters leak nothing, 0.3 and 0.7.
GRID = [0.005, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8]

_Change = Callable[[pd.DataFrame], object] | float


class _Leakages:
    """Leakages of some sets, by which claims are decided as by those of a run."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table.reset_index(drop=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        return {
            "checks": checks(self.table, self.table[:0], self.table[:0], **PAPER.tables["checks"].arguments)
        }

    def but(self, change: _Change, **where: object) -> _Leakages:
        """Return leakages of which those that have the values given are others."""
        return _Leakages(changed(self.table, change, **where))

    def curve(self, **where: object) -> pd.Series[float]:
        return select(self.table, **where).set_index("distortion")["value"]

    def like(self, by: float = 0.0, **where: object) -> Callable[[pd.DataFrame], object]:
        """Return what gives rows the numbers of others, at the same distortions and with something added."""
        curve = self.curve(**where)
        return lambda rows: rows["distortion"].map(curve) + by

    def case(self, instead: Mapping[str, tuple[_Change, dict[str, Any]]]) -> Case:
        """Return the case of a claim that these leakages keep, with changes that break it."""
        falsified = {words: self.but(change, **where).tables() for words, (change, where) in instead.items()}
        return Case(self.tables(), falsified)


def _at_least(floor: Callable[[pd.DataFrame], object]) -> Callable[[pd.DataFrame], object]:
    return lambda rows: np.maximum(rows["value"], floor(rows))


def _leakages() -> dict[str, _Leakages]:
    """Return the optima and formulas by the number of letters; of MI leakage for Classes I and II only."""
    found = {}
    for size, part in PAPER.tables["tradeoff"].part_arguments(CONFIGURATION).items():
        sets = part["sources"]
        both = {name: sets[name] for name in ("I", "II")}
        rest = {name: sets[name] for name in sets if name not in both}
        parts = tradeoff(both, GRID), tradeoff(rest, GRID, measures=[DP])
        found[size] = _Leakages(pd.concat(parts))
    return found


@cache
def cases() -> dict[str, Case]:
    """Return the cases of all claims, by id."""
    leakages = _leakages()
    six = {name: _Leakages(select(leakages["6"].table, instance=name)) for name in ("I", "II", "III a")}
    least: dict[str, Any] = {"distortion": GRID[0]}
    at: dict[str, Any] = {"distortion": 0.1}
    dp: dict[str, Any] = {"metric": DP, "mechanism": "optimal"}
    mi: dict[str, Any] = {"metric": MI, "mechanism": "optimal"}

    def off(part: _Leakages, mechanism: str, metric: str, by: float) -> Case:
        """Add and subtract something from a formula."""
        here = {"mechanism": mechanism, **at}
        optimal = part.curve(metric=metric, mechanism="optimal")[0.1]
        return part.case({f"{x:+g} nats": (optimal + x, here) for x in (-1.0, -by, by, 1.0)})

    class_two = six["II"].but(six["II"].like(mechanism="theorem2"), mechanism="printed")
    third, exact = six["III a"], dp | at
    # The same leakages under the name of a set whose folding permutations form no group.
    both = _Leakages(pd.concat([third.table, third.table.assign(instance="cycle")]))
    theorem_2 = off(class_two, "theorem2", DP, 1e-8)
    result = {
        "Ka-T1": off(six["I"], "theorem1", DP, 1e-8),
        # As if (11) as printed were the formula of its proof.
        "Ka-T2": replace(theorem_2, instead=theorem_2.instead | {"as printed": six["II"].tables()}),
        "Ka-T3": both.case(
            {
                "lower bound above the optimum": (
                    third.like(1e-8, **exact), {"mechanism": "theorem3_lower", "instance": "III a", **at}
                ),
                "upper bound below the optimum": (
                    third.like(-1e-8, **exact), {"mechanism": "theorem3_upper", **at}
                ),
                "lower bound above the optimum without a group": (
                    third.like(1e-8, **exact), {"mechanism": "theorem3_lower", "instance": "cycle", **at}
                ),
                "not tight": (third.like(1e-8, **exact), {"mechanism": "theorem3_upper", **at}),
            }
        ),
        "Ka-S2": of_checks("Ka-S2", "checks", six["I"].tables()["checks"], {"U(Q1 + Q2)": 0.0}),
        "Ka-L5": off(six["I"], "lemma5", MI, 1e-7),
        "Ka-L6": six["II"].case(
            {
                f"{value:g} nats at D = {where:g}": (value, mi | {"distortion": where})
                for where, values in ((0.005, (0.0,)), (0.2, (0.0, 1e-7)), (0.3, (1e-7, 0.1)), (0.8, (1e-7,)))
                for value in values
            }
        ),
    }  # fmt: skip
    for size, ordered, compared in (("6", "Ka-F4", "Ka-F6"), ("10", "Ka-F5", "Ka-F7")):
        sets = _Leakages(select(leakages[size].table, **dp))
        chain = ("II", "III a", "III b", "III c", "I")
        result[ordered] = sets.case(
            {
                "a gain at the least D": (
                    sets.like(-1e-8, instance="I"), {"instance": "II", **least}
                ),
                "a gain of 0.09 nats": (
                    _at_least(sets.like(-0.09, instance="I")),
                    {"instance": "III c"},
                ),
                "no gain": (sets.like(instance="I"), {"instance": "III c"}),
                **{
                    f"{low} leaks more than {high}": (
                        sets.like(1e-8, instance=high), {"instance": low, "distortion": 0.1}
                    )
                    for low, high in pairwise(chain)
                },
            }
        )  # fmt: skip
        two = _Leakages(select(leakages[size].table, instance="II"))
        curve = two.curve(**mi)
        chord = float(np.interp(0.1, [GRID[0], 0.2], curve[[GRID[0], 0.2]]))
        result[compared] = two.case(
            {
                "equal where DP is positive": (two.like(**dp), mi | least),
                "MI above DP": (two.like(0.1, **dp), mi | least),
                "MI leakage where DP is 0": (1e-7, mi | {"distortion": 0.8}),
                "MI not convex": (chord + 1e-6, mi | at),
                "DP convex": (lambda rows: 12.0 * np.maximum(0.7 - rows["distortion"], 0.0) ** 2, dp),
            }
        )
    return result
