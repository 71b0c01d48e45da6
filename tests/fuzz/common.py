"""What fuzzing shares: targets, hostile arguments, and what has to hold of every answer.

A target is a public function with a way to draw its arguments and a check of its answer. An instance depends
on the name of its target and its number alone, so that a finding is reproduced by these two.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Optimum

Arguments = dict[str, Any]

#: Entries of a channel are rounded: what a privacy level may exceed by.
LEVEL_ROUNDING = 3e-14


@dataclass(frozen=True)
class Target:
    """A public function under attack.

    `draw` draws arguments within the documented range; `check` calls the function with these, and asserts
    what must hold of the answer. So many instances are drawn in an ordinary run of the tests.
    """

    name: str
    draw: Callable[[np.random.Generator], Arguments]
    check: Callable[..., None]
    instances: int = 12

    def instance(self, number: int) -> Arguments:
        """Return the arguments of an instance, all within the documented range."""
        return self.draw(generator(0, f"fuzz {self.name}", 0, number))

    def attack(self, number: int) -> str:
        """Return "answered", "refused" or "intractable"; a finding is an AssertionError with the instance."""
        arguments = self.instance(number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return attempt(self.check, arguments)
        except Exception as error:
            raise AssertionError(
                f"{self.name}, instance {number}: {type(error).__name__}: {error}\n{shown(arguments)}"
            ) from error


class Beyond(ValueError):
    """A refusal that arguments within their ranges can meet together, if the sentence says so."""


def attempt(check: Callable[..., None], arguments: Arguments) -> str:
    """Check an answer, or the sentence of a refusal that the arguments can meet together."""
    try:
        check(**arguments)
    except Intractable as error:
        assert_sentence(error)
        return "intractable"
    except Beyond as error:
        assert_sentence(error)
        return "refused"
    return "answered"


def fuzz(target: Target, times: int) -> None:
    """Attack a target with so many instances, and tell all findings at once."""
    findings, outcomes = [], {"answered": 0, "refused": 0, "intractable": 0}
    for number in range(times * target.instances):
        try:
            outcomes[target.attack(number)] += 1
        except AssertionError as finding:
            findings.append(str(finding))
    # Seen with pytest -rP.
    print(target.name, outcomes, f"{len(findings)} findings")
    assert not findings, f"{len(findings)} findings:\n\n" + "\n\n".join(findings[:20])
    assert outcomes["answered"] > 0


# What has to hold ----------------------------------------------------------------------------------------


def assert_sentence(error: Exception) -> None:
    """A refusal is a sentence that a person can read."""
    text = str(error)
    assert text.endswith("."), f"no sentence: {text!r}"
    assert 10 < len(text) < 1000, f"no sentence: {text!r}"
    assert not any(word in text for word in ("dtype", "ufunc", "array(")), f"no sentence: {text!r}"


def assert_private(level: float, epsilon: float) -> None:
    """A privacy level that was measured is within the one asked for."""
    epsilon = float(epsilon)
    assert level <= epsilon + LEVEL_ROUNDING * (1.0 + epsilon), f"level {level!r} above {epsilon!r}"


def assert_certified(optimum: Optimum, tolerance: float, rounding: float = 1e-11) -> None:
    """Value and bound are finite and in order, and the status is what the gap says."""
    assert math.isfinite(optimum.value)
    assert math.isfinite(optimum.bound)
    assert 0.0 <= optimum.lower_bound <= optimum.upper_bound
    gap = optimum.upper_bound - optimum.lower_bound
    allowed = optimum.upper_bound * (tolerance + rounding)
    if optimum.status == "optimal":
        assert gap <= allowed, f"'optimal' with gap {gap / optimum.upper_bound:.3g}"
    else:
        assert optimum.status == "bounded"
        assert gap > 0.0
        assert gap >= optimum.upper_bound * tolerance


def assert_above(bound: float, known: float, rounding: float = 0.0) -> None:
    """A bound is at least what a known mechanism has."""
    assert bound >= known * (1.0 - 1e-12 - rounding), f"bound {bound!r} below the known {known!r}"


def entry_rounding(epsilon: float) -> float:
    """Return how much, relatively, rounding the entries of a channel may change a utility of order eps^2."""
    return 64 * float(np.finfo(float).eps) * max(1.0, 1.0 / float(epsilon))


# Hostile arguments ---------------------------------------------------------------------------------------


def level(rng: np.random.Generator, least: float = 1e-3, most: float = 30.0) -> float:
    """Draw a privacy level: of any size, most often an ordinary one, sometimes an end of the range."""
    draw = rng.integers(10)
    if draw == 0:
        return float(rng.choice([0.0, least, most]))
    if draw < 5:
        return float(rng.uniform(min(0.05, most), min(5.0, most)))
    return float(np.exp(rng.uniform(math.log(least), math.log(most))))


def distribution(rng: np.random.Generator, k: int) -> np.ndarray:
    """Draw a distribution on k letters: skewed, uniform, with ties, with tiny or missing letters."""
    p = rng.dirichlet(np.full(k, rng.choice([0.02, 0.3, 1.0, 1.0, 10.0, 1e4]))) + 1e-300
    for _ in range(rng.integers(3)):
        x = rng.integers(k)
        match rng.integers(5):
            case 0:
                p[x] *= float(10.0 ** -rng.uniform(3, 300))
            case 1 if k > 1 and p[x] < 1.0:
                p[x] = 0.0
            case 2:
                p[:] = 1.0
            case 3:
                p[x] = p[rng.integers(k)]
            case 4:
                p = np.maximum(np.round(p, 1), 0.01)
    return p / p.sum() if p.sum() > 0 else np.full(k, 1.0 / k)


def like(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Draw a distribution on the letters of another: near it, reversed, the same, or with no relation."""
    match rng.integers(6):
        case 0:
            q = p * np.exp(10.0 ** -rng.uniform(0, 16) * rng.normal(size=p.size))
        case 1:
            q = p[::-1].copy()
        case 2:
            q = p.copy()
        case 3:
            q = p + rng.uniform(0, 1) * distribution(rng, p.size)
        case _:
            q = distribution(rng, p.size)
    return q / q.sum()


def channel(rng: np.random.Generator, inputs: int, outputs: int | None = None) -> Channel:
    """Draw a channel with rows as hostile as distributions are."""
    outputs = outputs or int(rng.integers(1, 6))
    rows = [distribution(rng, outputs)]
    for _ in range(inputs - 1):
        rows.append(like(rng, rows[0]) if rng.integers(2) else distribution(rng, outputs))
    return Channel(np.array(rows))


def shown(arguments: Arguments) -> str:
    """Show arguments so that they can be copied."""
    with np.printoptions(floatmode="unique", threshold=10_000):
        return "\n".join(f"  {name} = {value!r}" for name, value in arguments.items())
