"""The mechanisms that are offered for a table, by the attackers that they have to protect from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ldpfrontier.channel import Channel
from ldpfrontier.mechanisms import (
    binary_mechanism,
    randomized_response,
    secret_randomized_response,
    subset_selection,
)
from ldpfrontier.optimal.association import optimal_association
from ldpfrontier.optimal.improved_reporting import improved_reporting
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.ldp.solve import optimal_ldp
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.optimal.unconditional import optimal_unconditional
from ldpfrontier.optimum import Optimum
from ldpfrontier.practice.attackers import ATTACKERS, Attacker
from ldpfrontier.practice.counts import CountTable
from ldpfrontier.practice.settings import SETTINGS
from ldpfrontier.two_reports import BudgetSplit, independent_reporting
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

_TOLERANCE, _ROUNDS = SETTINGS.solver_tolerance, SETTINGS.solver_rounds


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that mechanisms solve.

    The distribution of the table has shape (a1, a2). The uncertainty set and the odds ratios are None if the
    whole record is sensitive, or no records were counted.
    """

    joint: FloatArray
    ball: RenyiBall | None
    odds: OddsRatios | None
    epsilon: float
    against: Attacker
    solved: dict[str, Channel] = field(default_factory=dict)

    @property
    def prior(self) -> FloatArray:
        """The distribution of the table, shape (a1 a2,)."""
        return self.joint.ravel()

    @property
    def robust(self) -> RenyiBall:
        """The uncertainty set, of mechanisms that need one."""
        assert self.ball is not None
        return self.ball

    def ldp(self) -> Optimum:
        """Solve for the best mechanism that protects the whole record under every distribution."""
        return optimal_ldp(MutualInformation(self.prior), self.epsilon)

    def polyopt(self) -> Optimum:
        """Solve for PolyOpt."""
        return optimal_robust(self.robust, self.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS)

    def exact(self) -> Optimum:
        """Solve for the best mechanism over F, with the same level given U if insiders are attackers.

        It is not worse than the mechanism from which it starts.
        """
        insider = self.against == "insider"
        return optimal_robust(
            self.robust, self.epsilon, envelope="exact", tolerance=_TOLERANCE, max_rounds=_ROUNDS,
            start=self.solved.get("unconditional" if insider else "polyopt"),
            conditional_epsilon=self.epsilon if insider else None,
        )  # fmt: skip

    def association(self) -> Optimum:
        """Solve for the best mechanism that protects from acquaintances."""
        assert self.odds is not None
        nodes = SETTINGS.solver_nodes
        return optimal_association(self.odds, self.epsilon, tolerance=_TOLERANCE, max_nodes=nodes)

    def unconditional(self) -> Optimum:
        """Solve for the best mechanism that is private under every distribution."""
        return optimal_unconditional(self.joint, self.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS)


@dataclass(frozen=True)
class Method:
    """A mechanism that is offered, with a description, a solver, and whether it may be chosen."""

    title: str
    solve: Callable[[Problem], Optimum | BudgetSplit | Channel]
    private: bool = True


def _secret(problem: Problem) -> Channel:
    a1, a2 = problem.joint.shape
    return secret_randomized_response(a1, a2, problem.epsilon)


#: The mechanisms that are offered if the whole record is sensitive.
LDP_METHODS: Mapping[str, Method] = {
    "ldp": Method("carries the most information among those that protect the whole record", Problem.ldp),
    "binary": Method(
        "binary mechanism: reports one bit", lambda p: binary_mechanism(MutualInformation(p.prior), p.epsilon)
    ),
    "subset": Method("subset selection", lambda p: subset_selection(p.prior.size, p.epsilon)),
    "grr": Method("randomized response", lambda p: randomized_response(p.prior.size, p.epsilon)),
}

_UNCONDITIONAL = Method(
    "carries the most information among those that protect from anyone", Problem.unconditional
)

#: The mechanisms that are offered for every attacker if there are useful columns.
_ROBUST: Mapping[str, Method] = {
    "srr": Method("secret randomized response", _secret),
    "subset": LDP_METHODS["subset"],
    "grr": LDP_METHODS["grr"],
    "ldp": LDP_METHODS["ldp"],
    "nr": Method(
        "shown for comparison: does not protect if the table is not exact",
        lambda p: optimal_nonrobust(p.joint, p.epsilon),
        private=False,
    ),
}

_INDEPENDENT: Mapping[str, Method] = {
    "ir": Method(
        "reports the sensitive and the useful value separately",
        lambda p: independent_reporting(p.robust, p.epsilon),
    ),
    "ir_optimal": Method("separate reports, improved", lambda p: improved_reporting(p.robust, p.epsilon)),
}

#: The mechanisms that are offered if there are useful columns, by attacker; an optimum follows its start.
ROBUST_METHODS: Mapping[Attacker, Mapping[str, Method]] = {
    "outsider": {
        "polyopt": Method("PolyOpt", Problem.polyopt),
        "exact": Method(
            "carries the most information among those that protect from outsiders", Problem.exact
        ),
        **_INDEPENDENT,
        **_ROBUST,
    },
    "insider": {
        "unconditional": _UNCONDITIONAL,
        "exact": Method(
            "carries the most information among those that protect from outsiders and insiders", Problem.exact
        ),
        **_INDEPENDENT,
        **_ROBUST,
    },
    "acquaintance": {
        "unconditional": _UNCONDITIONAL,
        "association": Method(
            "carries the most information among those that protect from acquaintances", Problem.association
        ),
        **_ROBUST,
    },
    "anyone": {"unconditional": _UNCONDITIONAL, **_ROBUST},
}

#: The mechanism whose bound holds for all that protect from an attacker.
BOUNDING: Mapping[Attacker, str] = {
    "outsider": "exact",
    "insider": "exact",
    "acquaintance": "association",
    "anyone": "unconditional",
}


def attacker_of(table: CountTable, against: Attacker | None) -> Attacker:
    """Return whom a design protects from: acquaintances by default, if that does not take long.

    Without counted records, it is anyone.

    Raises
    ------
    ValueError
        If there is no such attacker, or the level for them depends on a table and there is none.
    """
    if against is None:
        quick = table.counts.size <= SETTINGS.max_quick_cells
        return "anyone" if not table.counted else "acquaintance" if quick else "insider"
    if against not in ATTACKERS:
        raise ValueError(f"against is {against!r}; allowed are {', '.join(ATTACKERS)}.")
    if not table.counted and against != "anyone":
        raise ValueError(
            f"Protection against an {against} depends on the distribution of the population, and needs a"
            " table; without one, only protection against anyone is possible."
        )
    return against
