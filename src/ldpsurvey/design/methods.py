"""The mechanisms that are offered for a table, by the attackers that they have to protect from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import (
    BudgetSplit,
    Channel,
    Cone,
    Intractable,
    MutualInformation,
    Optimum,
    association_cone,
    binary_mechanism,
    block_design_response,
    conditional_cone,
    estimation_error,
    hadamard_response,
    independent_reporting,
    local_cone,
    optimal_association,
    optimal_conditional,
    optimal_conditional_estimation,
    optimal_estimation,
    optimal_ldp,
    optimal_nonrobust,
    optimal_robust,
    optimal_unconditional,
    projective_geometry_response,
    randomized_response,
    robust_cone,
    secret_randomized_response,
    subset_selection,
    unasked_cone,
    unconditional_cone,
    with_united_outputs,
)
from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import ATTACKERS, WITHOUT_TABLE, Attacker, Population
from ldpsurvey.data.reading import said
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.targets import target_of

T = TypeVar("T")

Purpose = Literal["frequencies", "information"]

_TOLERANCE, _ROUNDS = SETTINGS.solver_tolerance, SETTINGS.solver_rounds


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """What a mechanism is sought for: a table, a level in nats, an attacker, and what has to be precise.

    Without a population the whole record is sensitive, or no people were sampled. `max_nodes` is that of
    `optimal_estimation`. If S is `unasked`, mechanisms see the useful value alone.
    """

    table: CountTable
    epsilon: float
    against: Attacker
    population: Population | None
    precise: str = "cells"
    max_nodes: int = SETTINGS.estimate_nodes
    unasked: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sensitive and of useful values."""
        return len(self.table.rows), len(self.table.columns)

    @property
    def cells(self) -> int:
        """The number of values of a record."""
        return self.table.counts.size

    @property
    def prior(self) -> FloatArray:
        """The distribution of the table, shape (cells,)."""
        return self.table.distribution.ravel()

    @property
    def around(self) -> Population:
        """What the table leaves open, of mechanisms that need it."""
        assert self.population is not None
        return self.population

    @cached_property
    def target(self) -> ArrayLike | None:
        """What has to be precise, as of `optimal_estimation`."""
        if self.precise in ("cells", "S", "U"):
            return {"cells": None, "S": "sensitive", "U": "useful"}[self.precise]
        asked = target_of(self.table, self.precise)
        return np.asarray(asked.rows / asked.scales[:, None])

    def cone(self) -> Cone:
        """Return the columns that keep the promise, or one that implies it where those are not searched."""
        level = self.epsilon
        if not self.table.useful:
            return local_cone(self.cells, level)
        if self.against == "insider-only":
            return conditional_cone(self.shape, level)
        if self.against == "anyone" or self.population is None:
            return unconditional_cone(self.shape, level)
        if self.against == "acquaintance":
            return association_cone(self.population.odds(self.table), level)
        over = robust_cone(self.population.ball(self.table), level)
        if self.cells <= SETTINGS.max_joint_cells:
            return over
        return over & conditional_cone(self.shape, level)

    def frequencies(self) -> Optimum:
        """Solve for the mechanism of the least error, with few outputs."""
        if self.tells_useful:
            found = optimal_conditional_estimation(
                self.table.expected,
                self.epsilon,
                self.target,
                tolerance=SETTINGS.error_tolerance,
                max_rounds=self._rounds(),
            )
            return self._with_few_outputs(found)
        return self.frequencies_of(self.cone())

    def frequencies_of(self, cone: Cone) -> Optimum:
        """Solve for the mechanism of the least error whose columns are in a cone, with few outputs."""
        found = optimal_estimation(
            self.table.expected,
            cone,
            self.target,
            tolerance=SETTINGS.error_tolerance,
            max_rounds=self._rounds(),
            max_nodes=self.max_nodes,
        )
        return self._with_few_outputs(found)

    def frequencies_of_useful(self) -> Optimum:
        """Solve for the mechanism that sees U alone with the least error of its distribution."""
        found = optimal_estimation(
            self.table.expected.sum(axis=0),
            unasked_cone(self.cone()),
            tolerance=SETTINGS.error_tolerance,
            max_rounds=self._rounds(),
            max_nodes=self.max_nodes,
        )
        few = with_united_outputs(found.channel, self.table.expected.sum(axis=0))
        return self.repeated(replace(found, channel=few))

    def informative_of_useful(self) -> Optimum:
        """Solve for the mechanism that sees U alone and tells most of it."""
        prior, level = self.table.distribution, self.epsilon
        if self.against == "outsider":
            ball = self.around.ball(self.table)
            found = optimal_robust(
                ball, level, envelope="exact", observed="useful", tolerance=_TOLERANCE, max_rounds=_ROUNDS
            )
        elif self.against == "acquaintance":
            odds = self.around.odds(self.table)
            found = optimal_association(odds, level, observed="useful", tolerance=_TOLERANCE)
        else:
            found = optimal_ldp(MutualInformation(prior.sum(axis=0)), level)
        return self.repeated(found)

    def closed_of_useful(self) -> Channel:
        """Return the closed form of local differential privacy of U with the least error."""
        prior, forms = self.table.expected.sum(axis=0), list[Channel]()
        for form in _CLOSED_FORMS:
            with suppress(Intractable):
                forms.append(form(len(prior), self.epsilon))
        best = min(forms, key=lambda form: (estimation_error(form, prior), form.n_outputs))
        return Channel(np.tile(best.matrix, (self.shape[0], 1)))

    def repeated(self, found: Optimum) -> Optimum:
        """Return a mechanism on U as one on (S, U) that does not look at S."""
        return replace(found, channel=Channel(np.tile(found.channel.matrix, (self.shape[0], 1))))

    def _with_few_outputs(self, found: Optimum) -> Optimum:
        few = with_united_outputs(found.channel, self.table.expected, self.target)
        return replace(found, channel=few)

    def _rounds(self) -> int:
        """Return how many rounds a search for the least error has: fewer where each takes longer."""
        if not self.table.useful or self.cells <= SETTINGS.max_joint_cells:
            return SETTINGS.solver_rounds
        return max(SETTINGS.estimate_work // self.cells, SETTINGS.least_estimate_rounds)

    @property
    def tells_useful(self) -> bool:
        """Whether a mechanism may tell the useful value as it is."""
        return self.against == "insider-only" and bool(self.table.useful)

    def closed(self) -> Channel:
        """Return the closed form of local differential privacy that has nearly the least error.

        Of those within 1% it is the one with the fewest outputs: block designs have up to thousands. For
        insiders only it is one of the sensitive value, with the useful value as it is.
        """
        inputs, told = (self.shape[0], self.shape[1]) if self.tells_useful else (self.cells, 1)
        forms = []
        for form in _CLOSED_FORMS:
            with suppress(Intractable):
                matrix = np.kron(form(inputs, self.epsilon).matrix, np.eye(told))
                forms.append(Channel(np.asarray(matrix, dtype=np.float64)))
        target = self.target
        near = nearly_least(
            forms, lambda form: estimation_error(form, self.table.expected, target), SETTINGS.error_tolerance
        )
        return min(near, key=lambda form: form.n_outputs)


def _subset(inputs: int, epsilon: float) -> Channel:
    """Return subset selection, with smaller subsets where those of the least error are too many."""
    for size in (None, *range(inputs // 2, 0, -1)):
        with suppress(Intractable):
            return subset_selection(inputs, epsilon, size)
    raise Intractable(f"{inputs:,} values are too many for subset selection.")


#: Mechanisms of local differential privacy that are formulas.
_CLOSED_FORMS: tuple[Callable[[int, float], Channel], ...] = (
    randomized_response,
    _subset,
    hadamard_response,
    projective_geometry_response,
    block_design_response,
)


def nearly_least(found: Sequence[T], error: Callable[[T], float], margin: float) -> list[T]:
    """Return those whose error exceeds the least one by no more than a share of it."""
    errors = [error(one) for one in found]
    most = min(errors) * (1.0 + margin)
    return [one for one, own in zip(found, errors, strict=True) if own <= most]


@dataclass(frozen=True)
class OfferedMechanism:
    """A mechanism that is offered, for one purpose or, without one, for both.

    It is `private` if it keeps the promise and may be chosen, and a closed form takes no time.
    """

    title: str
    solve: Callable[[DesignProblem], Optimum | BudgetSplit | Channel]
    private: bool = True
    closed_form: bool = False
    purpose: Purpose | None = None


def _informative(whom: str, solve: Callable[[DesignProblem], Optimum]) -> OfferedMechanism:
    return OfferedMechanism(f"carries the most information among those that protect {whom}", solve)


#: Those that are computed for estimates of frequencies.
FOR_ESTIMATES = ("frequencies", "closed")

_ESTIMATES: Mapping[str, OfferedMechanism] = {
    "frequencies": OfferedMechanism(
        "estimates with the least error, as far as was found", DesignProblem.frequencies
    ),
    "closed": OfferedMechanism(
        "the closed form of LDP that estimates with the least error", DesignProblem.closed, closed_form=True
    ),
}

#: The mechanisms that are offered if the whole record is sensitive.
LDP_METHODS: Mapping[str, OfferedMechanism] = {
    **_ESTIMATES,
    "ldp": _informative("the whole record", lambda p: optimal_ldp(MutualInformation(p.prior), p.epsilon)),
    "binary": OfferedMechanism(
        "binary mechanism: reports one bit", lambda p: binary_mechanism(MutualInformation(p.prior), p.epsilon)
    ),
    "subset": OfferedMechanism(
        "subset selection", lambda p: subset_selection(p.cells, p.epsilon), closed_form=True
    ),
    "grr": OfferedMechanism(
        "randomized response", lambda p: randomized_response(p.cells, p.epsilon), closed_form=True
    ),
}

#: Those that are offered for every attacker if there are useful columns.
_ROBUST: Mapping[str, OfferedMechanism] = {
    **_ESTIMATES,
    "srr": OfferedMechanism(
        "secret randomized response",
        lambda p: secret_randomized_response(*p.shape, p.epsilon),
        closed_form=True,
    ),
    "subset": LDP_METHODS["subset"],
    "grr": LDP_METHODS["grr"],
    "ldp": LDP_METHODS["ldp"],
}

_NONROBUST = OfferedMechanism(
    "shown for comparison: does not protect if the table is not exact",
    lambda p: optimal_nonrobust(p.table.distribution, p.epsilon),
    private=False,
)

_UNCONDITIONAL = _informative(
    "from anyone",
    lambda p: optimal_unconditional(
        p.table.distribution, p.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS
    ),
)

#: The mechanisms that are offered if there are useful columns, by attacker.
ROBUST_METHODS: Mapping[Attacker, Mapping[str, OfferedMechanism]] = {
    "outsider": {
        "polyopt": OfferedMechanism(
            "PolyOpt",
            lambda p: optimal_robust(
                p.around.ball(p.table), p.epsilon, tolerance=_TOLERANCE, max_rounds=_ROUNDS
            ),
        ),
        "exact": _informative(
            "from outsiders",
            lambda p: optimal_robust(
                p.around.ball(p.table), p.epsilon, envelope="exact", tolerance=_TOLERANCE, max_rounds=_ROUNDS
            ),
        ),
        "ir": OfferedMechanism(
            "reports the sensitive and the useful value separately",
            lambda p: independent_reporting(p.around.ball(p.table), p.epsilon),
        ),
        **_ROBUST,
        "nr": _NONROBUST,
    },
    "acquaintance": {
        "unconditional": _UNCONDITIONAL,
        "association": _informative(
            "from acquaintances",
            # More nodes serve the bound alone: with ten times as many the mechanism is the same.
            lambda p: optimal_association(
                p.around.odds(p.table),
                p.epsilon,
                tolerance=_TOLERANCE,
                max_nodes=SETTINGS.association_nodes,
            ),
        ),
        **_ROBUST,
        "nr": _NONROBUST,
    },
    "anyone": {"unconditional": _UNCONDITIONAL, **_ROBUST, "nr": _NONROBUST},
    "insider-only": {
        "label": _informative(
            "from insiders only",
            lambda p: optimal_conditional(p.table.distribution, p.epsilon, tolerance=_TOLERANCE),
        ),
        **_ROBUST,
    },
}

#: Those that are offered if S is not asked: they see the useful value alone.
UNASKED_METHODS: Mapping[str, OfferedMechanism] = {
    "frequencies": OfferedMechanism(
        "estimates of the useful value with the least error, as far as was found",
        DesignProblem.frequencies_of_useful,
    ),
    "closed": OfferedMechanism(
        "the closed form of LDP for the useful value with the least error",
        DesignProblem.closed_of_useful,
        closed_form=True,
    ),
    "unasked": OfferedMechanism(
        "carries the most information among those that do not ask the sensitive value",
        DesignProblem.informative_of_useful,
    ),
}

#: The mechanism whose bound holds for all that protect from an attacker.
BOUNDING: Mapping[Attacker, str] = {
    "outsider": "exact",
    "acquaintance": "association",
    "anyone": "unconditional",
    "insider-only": "label",
}

#: Mechanisms that are solved on large tables only if they are asked for: they may take minutes.
SLOW = ("polyopt", "exact", "association", "frequencies")

#: Those that take longest, one of an attacker.
LONGEST = ("exact", "association")


def methods_for(
    table: CountTable, against: Attacker, *, unasked: bool = False
) -> Mapping[str, OfferedMechanism]:
    """Return the mechanisms that are offered for a table, if S is asked or not."""
    if unasked:
        return UNASKED_METHODS
    return ROBUST_METHODS[against] if table.useful else LDP_METHODS


def attacker_of(table: CountTable, against: Attacker | None) -> Attacker:
    """Return whom a design protects from: acquaintances by default, and anyone if no people were sampled."""
    if table.useful and table.doubt and against not in WITHOUT_TABLE:
        raise ValueError(
            f"{table.doubt} So no promise for an {against or 'acquaintance'} can rest on the table: merge"
            " values into groups, or take --against anyone or insider-only, which need no table."
        )
    if against is None:
        return "acquaintance" if table.sampled else "anyone"
    if against not in ATTACKERS:
        raise ValueError(f"against is {against!r}; allowed are {', '.join(ATTACKERS)}.")
    if not table.sampled and against not in WITHOUT_TABLE:
        raise ValueError(
            f"Protection against an {against} depends on the distribution of the population, and needs a"
            " table that counts people, or tells how sure its weighted shares are (--data with a person per"
            " row, --cluster, or --people and --design-effect). Without one, only protection against anyone"
            " or insider-only is possible."
        )
    return against


def check_unasked(table: CountTable, against: Attacker, precise: str, *, own: bool) -> None:
    """Refuse what reports that do not ask the sensitive value cannot be designed for."""
    if not table.useful:
        raise ValueError(
            "Without useful columns, nothing is left to ask if the sensitive ones are not asked."
        )
    secret = said(table.sensitive)
    if against == "insider-only":
        raise ValueError(
            f"Reports that do not ask {secret} tell insiders nothing of it, whatever they are: without it, a"
            " design protects from an outsider, an acquaintance or anyone."
        )
    if precise != "U":
        raise ValueError(
            f"precise is {precise!r}; reports that do not ask {secret} show U alone: it must be U."
        )
    if own:
        raise ValueError(
            f"Mechanisms and cones of your own see all columns, and {secret} is not to be asked."
        )
