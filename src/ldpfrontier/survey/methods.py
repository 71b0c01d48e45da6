"""The mechanisms that are offered for a table, by the attackers that they have to protect from.

Solvers are imported by the functions that call them: all of them would add a fifth to the start of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.cones import Cone, conditional_cone, local_cone, unconditional_cone
from ldpfrontier.mechanisms import (
    binary_mechanism,
    randomized_response,
    secret_randomized_response,
    subset_selection,
)
from ldpfrontier.optimal.estimation.error import estimation_error
from ldpfrontier.optimal.estimation.fewer_outputs import with_united_outputs
from ldpfrontier.optimal.estimation.settings import SETTINGS as ESTIMATION
from ldpfrontier.optimal.estimation.solve import closed_forms, optimal_estimation
from ldpfrontier.optimal.exact.association_cone import AssociationCone
from ldpfrontier.optimal.exact.separation import robust_cone
from ldpfrontier.optimal.exact.settings import SETTINGS as EXACT
from ldpfrontier.optimal.label import label_estimation, optimal_label, with_useful
from ldpfrontier.optimal.registry import LIMITS
from ldpfrontier.optimum import Optimum
from ldpfrontier.survey.attackers import ATTACKERS, WITHOUT_TABLE, Attacker
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.two_reports import BudgetSplit, independent_reporting
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

T = TypeVar("T")

Purpose = Literal["frequencies", "information"]

_TOLERANCE, _ROUNDS = SETTINGS.solver_tolerance, SETTINGS.solver_rounds


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that mechanisms solve.

    The distribution of the table has shape (a1, a2). The uncertainty set and the odds ratios are None if the
    whole record is sensitive, or no records were counted. The expected distribution is a positive table near
    the prior; the target is what has to be precise at it, and the seconds for a bound are those of
    `optimal_estimation`.
    """

    joint: FloatArray
    expected: FloatArray
    ball: RenyiBall | None
    odds: OddsRatios | None
    epsilon: float
    against: Attacker
    target: ArrayLike | None = None
    proof_seconds: float | None = None
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
        from ldpfrontier.optimal.ldp.solve import optimal_ldp

        return optimal_ldp(MutualInformation(self.prior), self.epsilon)

    def polyopt(self) -> Optimum:
        """Solve for PolyOpt."""
        from ldpfrontier.optimal.robust import optimal_robust

        return optimal_robust(self.robust, self.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS)

    def exact(self) -> Optimum:
        """Solve for the best mechanism over F; it is not worse than PolyOpt, from which it starts."""
        from ldpfrontier.optimal.robust import optimal_robust

        return optimal_robust(
            self.robust, self.epsilon, envelope="exact", tolerance=_TOLERANCE, max_rounds=_ROUNDS,
            start=self.solved.get("polyopt"),
        )  # fmt: skip

    def association(self) -> Optimum:
        """Solve for the best mechanism that protects from acquaintances."""
        from ldpfrontier.optimal.association import optimal_association

        assert self.odds is not None
        # They serve the bound alone: with 200,000 the mechanism is the same, in two to five times the time.
        nodes = EXACT.joint_nodes
        return optimal_association(self.odds, self.epsilon, tolerance=_TOLERANCE, max_nodes=nodes)

    def label(self) -> Optimum:
        """Solve for the best mechanism that protects from insiders only."""
        return optimal_label(self.joint, self.epsilon, _TOLERANCE)

    def cone(self) -> Cone:
        """Return the columns that keep the promise, or one that implies it where those are not searched."""
        shape, level = self.expected.shape, self.epsilon
        if shape[1] == 1:
            return local_cone(self.prior.size, level)
        if self.against == "insider-only":
            return conditional_cone((shape[0], shape[1]), level)
        if self.against == "anyone" or self.ball is None or self.odds is None:
            return unconditional_cone((shape[0], shape[1]), level)
        if self.against == "acquaintance":
            return AssociationCone(self.odds, level)
        over = robust_cone(self.ball, level)
        if self.prior.size <= LIMITS.max_joint_cells:
            return over
        return over & conditional_cone((shape[0], shape[1]), level)

    def frequencies(self) -> Optimum:
        """Solve for the mechanism of the least error, with few outputs."""
        if self._tells_useful:
            gap = ESTIMATION.outer_tolerance
            found = label_estimation(self.expected, self.epsilon, self.target, gap, self._rounds())
            return self._with_few_outputs(found)
        return self.frequencies_of(self.cone())

    def frequencies_of(self, cone: Cone) -> Optimum:
        """Solve for the mechanism of the least error whose columns are in a cone, with few outputs."""
        times = self.proof_seconds or 1.0
        found = optimal_estimation(
            self.expected,
            cone,
            self.target,
            tolerance=ESTIMATION.outer_tolerance,
            max_rounds=self._rounds(),
            max_nodes=int(SETTINGS.estimate_nodes * min(max(times, 1.0), SETTINGS.most_proof_seconds)),
            proof_seconds=self.proof_seconds,
        )
        return self._with_few_outputs(found)

    def _with_few_outputs(self, found: Optimum) -> Optimum:
        return replace(
            found,
            channel=with_united_outputs(found.channel, self.expected, self.target, SETTINGS.united_error),
        )

    def _rounds(self) -> int:
        """Return how many rounds a search for the least error has: fewer where each takes longer."""
        cells = self.prior.size
        if self.expected.shape[1] == 1 or cells <= LIMITS.max_joint_cells:
            return _ROUNDS
        return max(SETTINGS.estimate_work // cells, SETTINGS.least_estimate_rounds)

    @property
    def _tells_useful(self) -> bool:
        """Whether a mechanism may tell the useful value as it is."""
        return self.against == "insider-only" and self.expected.shape[1] > 1

    def closed(self) -> Channel:
        """Return the closed form of local differential privacy that has nearly the least error.

        Of those within 1% it is the one with the fewest outputs: block designs have up to thousands. For
        insiders only it is one of the sensitive value, with the useful value as it is.
        """
        inputs, a2 = self.expected.shape if self._tells_useful else (self.prior.size, 1)
        forms = [randomized_response(inputs, self.epsilon)]
        forms += closed_forms(inputs, self.epsilon).values()
        forms = [with_useful([form] * a2) for form in forms]
        near = nearly_least(
            forms,
            lambda form: estimation_error(form, self.expected, self.target),
            ESTIMATION.outer_tolerance,
        )
        return min(near, key=lambda form: form.n_outputs)

    def unconditional(self) -> Optimum:
        """Solve for the best mechanism that is private under every distribution."""
        from ldpfrontier.optimal.unconditional import optimal_unconditional

        return optimal_unconditional(self.joint, self.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS)


def nearly_least(found: Sequence[T], error: Callable[[T], float], margin: float) -> list[T]:
    """Return the candidates whose error exceeds the least one by no more than a share of it."""
    errors = [error(one) for one in found]
    most = min(errors) * (1.0 + margin)
    return [one for one, own in zip(found, errors, strict=True) if own <= most]


@dataclass(frozen=True)
class Method:
    """A mechanism that is offered.

    Attributes
    ----------
    title : str
        A description.
    solve : callable
    private : bool
        Whether it keeps the promise, and may be chosen.
    closed_form : bool
        Whether it is a formula, so that it takes no time.
    purpose : {"frequencies", "information"} or None
        The one that it is for; None for both.
    """

    title: str
    solve: Callable[[Problem], Optimum | BudgetSplit | Channel]
    private: bool = True
    closed_form: bool = False
    purpose: Purpose | None = None


def _secret(problem: Problem) -> Channel:
    a1, a2 = problem.joint.shape
    return secret_randomized_response(a1, a2, problem.epsilon)


def _nonrobust(problem: Problem) -> Optimum:
    from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust

    return optimal_nonrobust(problem.joint, problem.epsilon)


def _improved(problem: Problem) -> BudgetSplit:
    from ldpfrontier.optimal.improved_reporting import improved_reporting

    return improved_reporting(problem.robust, problem.epsilon)


#: Those that are computed for estimates of frequencies.
FOR_ESTIMATES = ("frequencies", "closed")

_ESTIMATES: Mapping[str, Method] = {
    "frequencies": Method("estimates with the least error, as far as was found", Problem.frequencies),
    "closed": Method(
        "the closed form of LDP that estimates with the least error", Problem.closed, closed_form=True
    ),
}

#: The mechanisms that are offered if the whole record is sensitive.
LDP_METHODS: Mapping[str, Method] = {
    **_ESTIMATES,
    "ldp": Method("carries the most information among those that protect the whole record", Problem.ldp),
    "binary": Method(
        "binary mechanism: reports one bit", lambda p: binary_mechanism(MutualInformation(p.prior), p.epsilon)
    ),
    "subset": Method(
        "subset selection", lambda p: subset_selection(p.prior.size, p.epsilon), closed_form=True
    ),
    "grr": Method(
        "randomized response", lambda p: randomized_response(p.prior.size, p.epsilon), closed_form=True
    ),
}

_UNCONDITIONAL = Method(
    "carries the most information among those that protect from anyone", Problem.unconditional
)

#: The mechanisms that are offered for every attacker if there are useful columns.
_ROBUST: Mapping[str, Method] = {
    **_ESTIMATES,
    "srr": Method("secret randomized response", _secret, closed_form=True),
    "subset": LDP_METHODS["subset"],
    "grr": LDP_METHODS["grr"],
    "ldp": LDP_METHODS["ldp"],
    "nr": Method(
        "shown for comparison: does not protect if the table is not exact",
        _nonrobust,
        private=False,
    ),
}

#: The mechanisms that are offered if there are useful columns, by attacker; an optimum follows its start.
ROBUST_METHODS: Mapping[Attacker, Mapping[str, Method]] = {
    "outsider": {
        "polyopt": Method("PolyOpt", Problem.polyopt),
        "exact": Method(
            "carries the most information among those that protect from outsiders", Problem.exact
        ),
        "ir": Method(
            "reports the sensitive and the useful value separately",
            lambda p: independent_reporting(p.robust, p.epsilon),
        ),
        "ir_optimal": Method("separate reports, improved", _improved),
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
    "insider-only": {
        "label": Method(
            "carries the most information among those that protect from insiders only", Problem.label
        ),
        **{name: method for name, method in _ROBUST.items() if method.private},
    },
}

#: The mechanism whose bound holds for all that protect from an attacker.
BOUNDING: Mapping[Attacker, str] = {
    "outsider": "exact",
    "acquaintance": "association",
    "anyone": "unconditional",
    "insider-only": "label",
}


def attacker_of(table: CountTable, against: Attacker | None) -> Attacker:
    """Return whom a design protects from: acquaintances by default, and anyone without counted records.

    Raises
    ------
    ValueError
        If there is no such attacker, or the level for them depends on a table and there is none.
    """
    if against is None:
        return "acquaintance" if table.counted else "anyone"
    if not isinstance(against, str) or against not in ATTACKERS:
        raise ValueError(f"against is {against!r}; allowed are {', '.join(ATTACKERS)}.")
    if not table.counted and against not in WITHOUT_TABLE:
        raise ValueError(
            f"Protection against an {against} depends on the distribution of the population, and needs a"
            " table that counts people. Without one, or with weights, only protection against anyone or"
            " insider-only is possible."
        )
    return against
