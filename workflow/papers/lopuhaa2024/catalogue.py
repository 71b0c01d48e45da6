"""The mechanisms of lopuhaa2024: one list of their names and looks.

Those of the user's own that the job knows of are in it, too. No numerical library is imported, so that a
configuration can be checked without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reproduction.look import Look
from reproduction.planning.own_mechanisms import OwnMechanism, registered

#: The columns of a table that name a table of counts and the set F around its estimate, with their kinds.
PLACE: Mapping[str, str] = {"size": "str", "instance": "str", "beta": "float64", "order": "float64"}

#: What the note of a realized level says of the true distribution P*.
COVERED, MISSED = "P* lies in F", "P* lies outside F"

#: The confidence sets F, by when they have their level: for many records, and for any number of them.
SET_METHODS: tuple[Literal["asymptotic", "finite"], ...] = ("asymptotic", "finite")

#: The metric of the level of S in a channel over F, for those who know nothing else of a person.
OVER_SET = "worst_case_epsilon"

#: For which distributions a mechanism is private, the most of them first.
PROJECTIONS, SET, ESTIMATE = "projections of F", "F", "P-hat"


@dataclass(frozen=True)
class Mechanism(Look):
    """A mechanism in tables and figures, with the look of its curve.

    It is `private` for the distributions over which its level is measured: all whose projections are those of
    the uncertainty set F, which is more than F; all of F; or `ESTIMATE` alone. A `heuristic` was searched for
    without a bound of its own.
    """

    private: str = PROJECTIONS
    heuristic: bool = False

    @property
    def robust(self) -> bool:
        """Whether it is private for every distribution of F, and not for P-hat alone."""
        return self.private != ESTIMATE


#: The optima of classes of mechanisms; a mechanism of the class of the first is in that of the second.
OPTIMA = ("polyopt", "exact")

#: By the name that configurations and tables use, in the order of legends. The colours are those of Okabe and
#: Ito and one of Tol's; what is optimal for a known distribution is black, as in the figures of
#: the other papers; marker, filling and dash differ too, so that curves can be told apart in grey.
MECHANISMS: dict[str, Mechanism] = {
    "nr": Mechanism("NR (not robust)", "#000000", "", (0, (1, 1.2)), private=ESTIMATE),
    "exact": Mechanism("Best found over F", "#882255", "*", "-", private=SET),
    "polyopt": Mechanism("PolyOpt", "#0072B2", "o", "-"),
    "ir": Mechanism("IR", "#009E73", "s", (0, (5, 1.5)), filled=False),
    "ir_tight": Mechanism("IR, tight d", "#56B4E9", "s", (0, (3, 1))),
    "srr": Mechanism("SRR", "#CC79A7", "D", (0, (4, 1.5, 1, 1.5))),
    "grr": Mechanism("GRR", "#7A7A7A", "v", (0, (2, 1.2)), filled=False),
}

#: Those of the user's own, which must be private for all of F, by name; they come last in the list above.
OWN: Mapping[str, OwnMechanism] = registered("lopuhaa2024")
MECHANISMS |= {
    own.name: Mechanism(own.label, own.colour, own.marker, "-", private=SET, heuristic=True)
    for own in OWN.values()
}

#: Those that the studies of the paper compute. The optimum over F is not among them: it is computed in
#: `beyond`, whose tables have a column and whose figures a curve for it.
COMPUTED = tuple(name for name in MECHANISMS if name != "exact")

#: The mechanisms that the paper compares.
OF_THE_PAPER = ("polyopt", "nr", "ir", "srr", "grr")

#: Proposition 2: its lower bounds, its radius as (30) has it and as printed, and its bound on the radius.
LEAST, RADIUS, RADIUS_PRINTED = "lower bound by the formula,", "radius less 2 p,", "radius as printed,"
RADIUS_BOUND = "bound on the radius,"

#: The polyhedron of section 5.
INEQUALITIES, DIMENSIONS = "inequalities of the polyhedron", "dimensions of the polyhedron"
