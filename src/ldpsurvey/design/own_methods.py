"""Mechanisms and cones of the user's own as candidates of a design: called, checked, and never trusted.

A function is called as in the figures of the papers (docs/reproduction/extending.md): with the uncertainty
set F around the table and the level or, if all of a record is sensitive, with a `MutualInformation` that has
the prior. Without counted records F is the uniform distribution alone. What a mechanism returns must be a
channel whose level for the attacker, which is computed, is at most the one asked for. Of cones the columns
are taken that are in all of them and keep the promise of the design as well: the best mechanisms of these are
candidates, and no mechanism that leaves a cone is chosen.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ldpfrontier import Channel, Cone, Intractable, MutualInformation, Optimum, RenyiBall, optimal_mechanism
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import levels_of
from ldpsurvey.design.methods import LDP_METHODS, ROBUST_METHODS, DesignProblem, OfferedMechanism

#: What the user's function takes: F or a utility, and a level in nats. It returns a matrix, or a cone.
OwnFunction = Callable[[Any, float], Any]


class Refused(ValueError):
    """A function of the user's own failed, or what it returned is not what it should be."""


def loaded(reference: str) -> OwnFunction:
    """Return the function that ``module:function`` names; modules in the current folder are found."""
    module, _, name = reference.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not name.isidentifier():
        raise Refused(f"{reference!r} does not name a function; it must be written as my_module:function.")
    if os.getcwd() not in sys.path:  # at the end, so that no file there takes the place of a library
        sys.path.append(os.getcwd())
    try:
        found: Any = getattr(import_module(module), name, None)
    except Exception as problem:  # what the user's module does when it is imported is not known
        raise Refused(f"{module} cannot be imported: {_told(problem)}.") from problem
    if not callable(found):
        raise Refused(f"{module} has no function {name}.")
    function: OwnFunction = found
    return function


def own_methods(
    mechanisms: Mapping[str, OwnFunction] | None, cones: Mapping[str, OwnFunction] | None
) -> dict[str, OfferedMechanism]:
    """Return the candidates that functions of the user's own make, by their names.

    Cones together make two: the mechanism with the most information and the one with the least error whose
    columns are in all of them.
    """
    taken = {*LDP_METHODS, *(other for methods in ROBUST_METHODS.values() for other in methods)}
    if both := taken.intersection([*(mechanisms or ()), *(cones or ())]):
        raise ValueError(f"{min(both)} is the name of another mechanism.")
    made = {
        name: OfferedMechanism("of your own", functools.partial(_mechanism, name, function))
        for name, function in (mechanisms or {}).items()
    }
    if cones:
        joined = " & ".join(cones)

        def informative(problem: DesignProblem) -> Optimum:
            return optimal_mechanism(MutualInformation(problem.prior), _joined(cones, problem))

        def precise(problem: DesignProblem) -> Optimum:
            return problem.frequencies_of(_joined(cones, problem))

        made[f"{joined} (information)"] = OfferedMechanism(
            "carries the most information with a promise of your own as well",
            functools.partial(_solved, joined, informative),
            purpose="information",
        )
        made[f"{joined} (frequencies)"] = OfferedMechanism(
            "estimates with the least error with a promise of your own as well",
            functools.partial(_solved, joined, precise),
            purpose="frequencies",
        )
    return made


def refusal(
    name: str, channel: Channel, own: Mapping[str, OwnFunction] | None, cones: Mapping[str, Cone]
) -> str:
    """Return why a mechanism must not be chosen, as others are asked for; empty if it may be.

    A mechanism of the user's own that is outside of a cone of theirs is `Refused`.
    """
    most = SETTINGS.rounding
    outside = [known for known, cone in cones.items() if cone.violation(channel.matrix.T) > most]
    if own and name in own:
        if outside:
            raise Refused(
                f"{name} is outside of the cone {outside[0]}; a mechanism of your own must be in all cones."
            )
        return ""
    if own:
        return "a mechanism of your own is used"
    return f"it is outside of the cone {outside[0]}" if outside else ""


def _mechanism(name: str, function: OwnFunction, problem: DesignProblem) -> Channel:
    made = _called(name, function, problem)
    try:
        channel = made if isinstance(made, Channel) else Channel(np.asarray(made, dtype=np.float64))
    except (ValueError, TypeError) as reason:
        raise Refused(f"{name} returned no channel: {_told(reason)}.") from None
    if channel.n_inputs != problem.cells:
        raise Refused(
            f"{name} returned a matrix with {channel.n_inputs} rows; it must have a row for each of the"
            f" {problem.cells} values of a record."
        )
    level = levels_of(channel.matrix, problem.table, problem.population).against(problem.against)
    if not level <= problem.epsilon + SETTINGS.rounding:
        found = "no level" if math.isinf(level) else f"the level {level:.9g}"
        raise Refused(
            f"{name} has {found} against {problem.against}; allowed is at most epsilon, {problem.epsilon:g}."
        )
    return channel


def _joined(cones: Mapping[str, OwnFunction], problem: DesignProblem) -> Cone:
    """Return the cone of the columns that are in all cones, and keep the promise."""
    return functools.reduce(lambda a, b: a & b, made_cones(cones, problem).values(), problem.cone())


def made_cones(cones: Mapping[str, OwnFunction], problem: DesignProblem) -> dict[str, Any]:
    """Return the cones of functions; what is no cone for the records of the problem is `Refused`."""
    found = {name: _called(name, function, problem) for name, function in cones.items()}
    for name, cone in found.items():
        if not isinstance(cone, Cone):
            raise Refused(
                f"{name} returned a {type(cone).__name__}; it must return a PolyhedralCone or a Cone."
            )
        if math.prod(cone.shape) != problem.cells:
            raise Refused(
                f"{name} returned a cone of {math.prod(cone.shape)} inputs; it must have as many as there are"
                f" values of a record, {problem.cells}."
            )
    return found


def _solved(name: str, solve: Callable[[DesignProblem], Optimum], problem: DesignProblem) -> Optimum:
    try:
        return solve(problem)
    except (Intractable, ValueError, ArithmeticError) as reason:
        raise Refused(f"No mechanism was found for the cone {name}: {reason}") from None


def _called(name: str, function: OwnFunction, problem: DesignProblem) -> Any:
    """Return what a function returns for a problem."""
    about: Any = MutualInformation(problem.prior)
    if problem.table.useful:
        around, table = problem.population, problem.table
        about = RenyiBall(table.distribution, 0.0) if around is None else around.ball(table)
    try:
        return function(about, problem.epsilon)
    except Intractable:
        raise
    except Exception as reason:  # what the user's function does is not known
        raise Refused(
            f"{name} failed, given a {type(about).__name__} and the level: {_told(reason)}."
        ) from reason


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".rstrip(" .:")
