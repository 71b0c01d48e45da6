"""The names that the project's own results use: attackers and what they learn, promises and designs.

No numerical library is imported, so that a configuration can be checked without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reproduction.look import Look

#: The experiments of mechanisms as they are, and asked for as much as they may leak.
NOMINAL, CALIBRATED = "nominal", "calibrated"

#: What moves: all of the distribution, or with the odds ratios or the marginals of P-hat.
WHOLE, MARGINALS, ASSOCIATION = "whole distribution", "marginals alone", "association alone"
DRIFTS = (WHOLE, MARGINALS, ASSOCIATION)

#: The optimum against acquaintances, for all odds ratios of distributions in F.
ACQUAINTANCES = "acquaintances"

#: Metrics of the level of S in a channel under every distribution of (S, U), and of that of the whole input
#: (S, U), between any two people.
EVERYWHERE, ANY_INPUTS = "unconditional_epsilon", "ldp_epsilon"

#: Metrics of the level of S for acquaintances, who know anything about U alone: with the odds ratios of the
#: estimate, under every distribution with odds ratios in confidence intervals, and with those of F.
WITH_ODDS, WITH_INTERVALS = "association_epsilon", "association_epsilon_intervals"
WITH_SET = "association_epsilon_set"

#: That of the level of S for those who know, under the estimate, that U is one of two values.
ONE_OF_TWO = "one_of_two_epsilon"

#: Metrics of what reports tell about S alone and about U alone, I(S; Y) and I(U; Y).
ABOUT_SENSITIVE, ABOUT_USEFUL = "information_sensitive", "information_useful"

#: What is estimated from reports, and the metric of the error: n MSE of the probabilities of all cells, and
#: of the distribution of S.
CELLS, SENSITIVE = "cells", "sensitive"
ERRORS = {CELLS: "error_cells", SENSITIVE: "error_sensitive"}

#: The best mechanism that is private under every distribution of (S, U).
UNCONDITIONAL = "unconditional"


@dataclass(frozen=True)
class Promise(Look):
    """From whom a mechanism protects S at a level, with the look of its curve.

    `name` is that of its optimum in tables of results. A `second_level` is a conditional one.
    """

    name: str = field(kw_only=True)
    second_level: bool = field(default=False, kw_only=True)


#: By the name that tables use, the weakest first. A promise has one colour in all figures, which is that of
#: no mechanism but its optimum.
PROMISES: Mapping[str, Promise] = {
    "outsiders": Promise("outsiders (optimum over F)", "#882255", "*", (0, (1, 1.2)), name="exact"),
    "insiders": Promise(
        "outsiders and insiders", "#CC6677", "^", (0, (5, 1.5)), name="exact", second_level=True
    ),
    "known": Promise(
        "acquaintances, odds ratios known",
        "#E69F00",
        "s",
        (0, (3, 1)),
        filled=False,
        name="association_known",
    ),
    "intervals": Promise("acquaintances, odds ratios in intervals", "#E69F00", "P", "-", name="association"),
    "set": Promise(
        "acquaintances, all odds ratios of F", "#E69F00", "X", (0, (1, 1.2)), name="association_set"
    ),
    "anyone": Promise("anyone", "#6699CC", "D", (0, (4, 1.5, 1, 1.5)), name=UNCONDITIONAL),
}


@dataclass(frozen=True)
class LeastErrorDesign(Look):
    """A mechanism with the least error of estimates, by whom it protects S from, with the look of its curve.

    With `both_levels`, it is also computed with the conditional level.
    """

    both_levels: bool = field(default=False, kw_only=True)


#: By the name that configurations use, the weakest promise first: outsiders, over F itself and
#: over simplices around its projections; acquaintances; anyone; and, for all of X, anyone.
DESIGNS: Mapping[str, LeastErrorDesign] = {
    "set": LeastErrorDesign("outsiders, over F", "#882255", "*", "-", both_levels=True),
    "simplices": LeastErrorDesign("outsiders, simplices as PolyOpt", "#D55E00", "^", "-", both_levels=True),
    "acquaintances": LeastErrorDesign("acquaintances", "#E69F00", "P", "-"),
    "anyone": LeastErrorDesign("anyone", "#6699CC", "D", (0, (4, 1.5, 1, 1.5))),
    "ldp": LeastErrorDesign("anyone, all of the record (LDP)", "#661100", "v", (0, (2, 1.2))),
}


def designed(name: str) -> str:
    """Return the name of a design in tables of results, where a class of mechanisms may have the same."""
    return f"least_error_{name}"


#: The design for the distribution of S alone, which is the best one under every promise.
FOR_SENSITIVE = designed(SENSITIVE)
