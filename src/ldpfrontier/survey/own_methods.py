"""Mechanisms and cones of the user's own as candidates of a design: called, checked, and never trusted.

A function is called as in the figures of the papers (docs/extending.md): with the uncertainty set F around
the table and the level or, if all of a record is sensitive, with a `MutualInformation` that has the prior.
Without counted records F is the uniform distribution alone. What a mechanism returns must be a channel whose
level for the attacker, which is computed, is at most the one asked for. Of cones the columns are taken that
are in all of them and keep the promise of the design as well: the best mechanisms of these are candidates,
and no mechanism that leaves a cone is chosen.
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

from ldpfrontier.channel import Channel
from ldpfrontier.cones import OUTSIDE, Cone
from ldpfrontier.numerics.arguments import check_callable, excerpt
from ldpfrontier.optimal.general.solve import optimal_mechanism
from ldpfrontier.optimum import Optimum
from ldpfrontier.survey.attackers import measured_levels
from ldpfrontier.survey.methods import LDP_METHODS, ROBUST_METHODS, Method, Problem
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.types import Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation

#: What the user's function takes: F or a utility, and a level in nats. It returns a matrix, or a cone.
OwnFunction = Callable[[Any, float], Any]


class Refused(ValueError):
    """A function of the user's own failed, or what it returned is not what it should be."""


def loaded(reference: str) -> OwnFunction:
    """Return the function that ``module:function`` names; modules in the current folder are found.

    Raises
    ------
    Refused
        If there is none, or its module cannot be imported.
    """
    module, _, name = reference.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not name.isidentifier():
        raise Refused(f"{reference!r} does not name a function; it must be written as my_module:function.")
    if os.getcwd() not in sys.path:  # at the end, so that no file there takes the place of a library
        sys.path.append(os.getcwd())
    try:
        found: Any = getattr(import_module(module), name, None)
    except Exception as problem:  # what the user's module does when it is imported is not known
        if isinstance(problem, ModuleNotFoundError) and problem.name == module.partition(".")[0]:
            raise Refused(
                f"There is no module {module!r} in the current folder, nor is one installed."
            ) from None
        raise Refused(f"{module} cannot be imported: {_told(problem)}.") from problem
    if not callable(found):
        what = (
            "has no function"
            if found is None
            else f"has a value of type {type(found).__name__}, and no function, named"
        )
        raise Refused(f"{module} {what} {name}.")
    function: OwnFunction = found
    return function


def own_methods(
    mechanisms: Mapping[str, OwnFunction] | None, cones: Mapping[str, OwnFunction] | None
) -> dict[str, Method]:
    """Return the candidates that functions of the user's own make, by their names.

    Parameters
    ----------
    mechanisms : mapping of str to callable, optional
        By the name in tables and errors.
    cones : mapping of str to callable, optional
        Together they make two candidates: the mechanism with the most information and the one with the least
        error whose columns are in all of them.

    Raises
    ------
    ValueError
        If they are no mappings from names to functions, or a name is that of another mechanism.
    """
    mechanisms, cones = _functions(mechanisms, "own"), _functions(cones, "cones")
    made = {}
    for name, function in mechanisms.items():
        made[name] = Method("of your own", _mechanism(name, function))
    if cones:
        joined = " & ".join(cones)
        made[f"{joined} (information)"] = Method(
            "carries the most information with a promise of your own as well",
            _best_of(joined, cones, lambda p, cone: optimal_mechanism(MutualInformation(p.prior), cone)),
            purpose="information",
        )
        made[f"{joined} (frequencies)"] = Method(
            "estimates with the least error with a promise of your own as well",
            _best_of(joined, cones, lambda p, cone: p.frequencies_of(cone)),
            purpose="frequencies",
        )
    return made


def refusal(
    name: str, channel: Channel, own: Mapping[str, OwnFunction] | None, cones: Mapping[str, Cone]
) -> str:
    """Return why a mechanism must not be chosen, as others are asked for; empty if it may be.

    Raises
    ------
    Refused
        If it is the user's own, and is outside of a cone of theirs.
    """
    outside = [known for known, cone in cones.items() if cone.violation(channel.matrix.T) > OUTSIDE]
    if own and name in own:
        if outside:
            raise Refused(
                f"{name} is outside of the cone {outside[0]}; a mechanism of your own must be in all cones."
            )
        return ""
    if own:
        return "a mechanism of your own is used"
    return f"it is outside of the cone {outside[0]}" if outside else ""


def _functions(value: Any, name: str) -> Mapping[str, OwnFunction]:
    """Return functions by name, none of which is that of a mechanism of the package."""
    functions: Mapping[str, OwnFunction] = {} if value is None else value
    if not isinstance(functions, Mapping):
        raise ValueError(f"{name} is {excerpt(value)}; it must be a mapping from names to functions.")
    taken = {*LDP_METHODS, *(other for methods in ROBUST_METHODS.values() for other in methods)}
    for key, function in functions.items():
        if not isinstance(key, str) or not key or key in taken:
            raise ValueError(
                f"{name} has the name {excerpt(key)}; it must be a text, and not that of another."
            )
        check_callable(function, f"{name}[{key!r}]")
    return functions


def _mechanism(name: str, function: OwnFunction) -> Callable[[Problem], Channel]:
    def solve(problem: Problem) -> Channel:
        made = _called(name, function, problem)
        try:
            channel = made if isinstance(made, Channel) else Channel(np.asarray(made, dtype=np.float64))
        except (ValueError, TypeError) as problem_of:
            raise Refused(f"{name} returned no channel: {_told(problem_of)}.") from None
        if len(channel.matrix) != problem.joint.size:
            raise Refused(
                f"{name} returned a matrix with {len(channel.matrix)} rows; it must have a row for each of"
                f" the {problem.joint.size} values of a record."
            )
        levels = measured_levels(channel, _shape(problem), problem.ball, problem.odds)
        if not (level := levels.against(problem.against)) <= problem.epsilon + SETTINGS.level_tolerance:
            found = "no level" if math.isinf(level) else f"the level {level:.6g}"
            raise Refused(
                f"{name} has {found} against {problem.against}; allowed is at most epsilon,"
                f" {problem.epsilon:g}."
            )
        return channel

    return solve


def _best_of(
    name: str, cones: Mapping[str, OwnFunction], best: Callable[[Problem, Cone], Optimum]
) -> Callable[[Problem], Optimum]:
    def solve(problem: Problem) -> Optimum:
        every = functools.reduce(lambda a, b: a & b, made_cones(cones, problem).values(), problem.cone())
        return _solved(name, lambda: best(problem, every))

    return solve


def made_cones(cones: Mapping[str, OwnFunction], problem: Problem) -> dict[str, Any]:
    """Return the cones of functions.

    Raises
    ------
    Refused
        If one is no cone for the records of the problem.
    """
    return {name: _cone(name, function, problem) for name, function in cones.items()}


def _cone(name: str, function: OwnFunction, problem: Problem) -> Any:
    """Return the cone of a function, if it is one for the records of the problem."""
    cone = _called(name, function, problem)
    if not isinstance(cone, Cone):
        raise Refused(f"{name} returned {excerpt(cone)}; it must return a PolyhedralCone or another Cone.")
    if math.prod(cone.shape) != problem.joint.size:
        raise Refused(
            f"{name} returned a cone of {math.prod(cone.shape)} inputs; it must have as many as there are"
            f" values of a record, {problem.joint.size}."
        )
    return cone


def _solved(name: str, solve: Callable[[], Optimum]) -> Optimum:
    try:
        return solve()
    except (Intractable, ValueError, ArithmeticError) as reason:
        raise Refused(f"No mechanism was found for the cone {name}: {reason}") from None


def _called(name: str, function: OwnFunction, problem: Problem) -> Any:
    """Return the channel or cone that a function of the user returns for a problem."""
    about: Any = MutualInformation(problem.prior)
    if _shape(problem)[1] > 1:
        about = RenyiBall(problem.joint, 0.0) if problem.ball is None else problem.ball
    try:
        return function(about, problem.epsilon)
    except Intractable:
        raise
    except Exception as reason:  # what the user's function does is not known
        raise Refused(
            f"{name} failed, given a {type(about).__name__} and the level: {_told(reason)}."
        ) from reason


def _shape(problem: Problem) -> tuple[int, int]:
    a1, a2 = problem.joint.shape
    return a1, a2


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".rstrip(" .:")
