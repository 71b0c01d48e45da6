"""Questions of kairouz2016, section 6: several hypotheses, robust tests, and correlated data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.average_utility import AverageUtility
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.utility import FDivergence, Kind, MutualInformation, SublinearUtility
from ldpfrontier.promises.distributed_testing import optimal_distributed_test
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.robust_testing import least_divergence, optimal_robust_test
from ldpfrontier.uncertainty.divergence_ball import DivergenceBall
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from open_questions.summaries import DISTRIBUTED, HYPOTHESES, ROBUST

_log = logging.getLogger(__name__)

#: Hypotheses with a name: the triples of Table II of liao2017, and two of this project.
NAMED = {
    "Triple 1": [[0.5, 0.5], [0.45, 0.55], [0.55, 0.45]],
    "Triple 2": [[0.15, 0.85], [0.10, 0.90], [0.20, 0.80]],
    "three letters": [[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]],
    "four letters": [[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4]],
}

#: The centres of the robust tests with a name.
CENTRES = np.array([[0.5, 0.3, 0.15, 0.05], [0.3, 0.38, 0.12, 0.2]])

_KINDS: tuple[Kind, ...] = ("kl", "tv")


def _least(utilities: Sequence[SublinearUtility], channel: Channel) -> float:
    return min(utility(channel) for utility in utilities)


def hypotheses(
    *, letters: int | None, count: int, instances: int, epsilons: list[float], seed: int
) -> pd.DataFrame:
    """Maximize the least divergence over all pairs of hypotheses, named ones or drawn uniformly.

    Compared are the mechanism of the best average, randomized response, and the best mechanism for the pair
    that can be told apart least, which bounds all.
    """
    if letters is None:
        sets = {name: np.array(given) for name, given in NAMED.items()}
    else:
        drawn = (generator(seed, "hypotheses", letters, i) for i in range(instances))
        sets = {f"random {i}": rng.dirichlet(np.ones(letters), size=count) for i, rng in enumerate(drawn)}
    rows = []
    for name, given in sets.items():
        for kind in _KINDS:
            pairs = [FDivergence(p, q, kind) for p, q in permutations(given, 2)]
            for epsilon in epsilons:
                best = optimal_ldp(pairs, epsilon)
                average = optimal_ldp(AverageUtility(pairs), epsilon).channel
                rows.append(
                    {
                        "letters": given.shape[1],
                        "instance": name,
                        "kind": kind,
                        "epsilon": epsilon,
                        "value": best.value,
                        "bound": best.bound,
                        "average": _least(pairs, average),
                        "response": _least(pairs, randomized_response(given.shape[1], epsilon)),
                        "single": min(optimal_ldp(pair, epsilon).bound for pair in pairs),
                    }
                )
    _log.info("%d sets of hypotheses", len(sets))
    return HYPOTHESES.table(rows)


#: The classes, by name, given a centre and a radius.
CLASSES: dict[str, Callable[[FloatArray, float], DivergenceBall | RenyiBall]] = {
    "total variation": lambda centre, radius: DivergenceBall(centre, radius),
    "chi-squared": lambda centre, radius: DivergenceBall(centre, radius, "chi2"),
    "Renyi, order 1": lambda centre, radius: RenyiBall(centre[None], radius, 1.0),
}


def robust(
    *, members: str, letters: int, instances: int, radii: list[float], epsilons: list[float], seed: int
) -> pd.DataFrame:
    """Compare robust tests with the best mechanism for the centres, at named centres and random ones.

    Centres are uniform on the simplex; where their balls meet, there is no row.
    """
    drawn = (generator(seed, "robust", letters, i) for i in range(instances))
    pairs = {f"random {i}": rng.dirichlet(np.ones(letters), size=2) for i, rng in enumerate(drawn)}
    rows = []
    for name, centres in {"named": CENTRES, **pairs}.items():
        for radius in radii:
            null, other = (CLASSES[members](centre, radius) for centre in centres)
            for kind in _KINDS:
                for epsilon in epsilons:
                    best = optimal_robust_test(null, other, epsilon, kind, tolerance=1e-4)
                    if best.bound <= 1e-9:
                        continue
                    usual = optimal_ldp(FDivergence(centres[0], centres[1], kind), epsilon).channel
                    rows.append(
                        {
                            "members": members,
                            "instance": name,
                            "radius": radius,
                            "kind": kind,
                            "epsilon": epsilon,
                            "value": best.value,
                            "bound": best.bound,
                            "centres": least_divergence(usual, null, other, kind, 1e-5)[0],
                            "pairs": best.iterations,
                        }
                    )
    _log.info("%s: %d rows", members, len(rows))
    return ROBUST.table(rows)


def _joints(letters: int, instances: int, seed: int) -> Iterator[tuple[str, FloatArray]]:
    """Yield pairs of joint distributions of two people, drawn uniformly, (2, letters, letters) each."""
    for i in range(instances):
        rng = generator(seed, "distributed", letters, i)
        yield f"random {i}", rng.dirichlet(np.ones(letters**2), size=2).reshape(2, letters, letters)


def distributed(
    *, letters: int, alike: float | None, instances: int, epsilons: list[float], seed: int
) -> pd.DataFrame:
    """Compare the best mechanisms of two people with those that are best for each person's own values.

    Independence is told from two uniform values that are equal with a probability more than by chance, of
    which each value alone says nothing: what is best for it tells most of the value. At random joint
    distributions it tells most about the two distributions of the value.
    """
    independent = np.full((letters, letters), letters**-2.0)
    if alike is None:
        given = dict(_joints(letters, instances, seed))
    else:
        together = alike * np.eye(letters) / letters + (1.0 - alike) * independent
        given = {"independence": np.array([together, independent])}
    rows = []
    for name, (p0, p1) in given.items():
        for kind in _KINDS:
            pair = FDivergence(p0.ravel(), p1.ravel(), kind)
            for epsilon in epsilons:
                best = optimal_distributed_test(p0, p1, epsilon, kind)
                alone: list[Channel] = []
                for axis in (1, 0):
                    margins = p0.sum(axis=axis), p1.sum(axis=axis)
                    tells = MutualInformation(margins[1]) if alike else FDivergence(*margins, kind)
                    alone.append(optimal_ldp(tells, epsilon).channel)
                response = randomized_response(letters, epsilon)
                rows.append(
                    {
                        "letters": letters,
                        "instance": name,
                        "kind": kind,
                        "epsilon": epsilon,
                        "value": best.value,
                        "bound": best.bound,
                        "alone": pair(_product(*alone)),
                        "response": pair(_product(response, response)),
                        "outputs": max(channel.n_outputs for channel in best.channels),
                    }
                )
    _log.info("%d letters: %d joint distributions", letters, len(given))
    return DISTRIBUTED.table(rows)


def _product(first: Channel, second: Channel) -> Channel:
    return Channel(np.asarray(np.kron(first.matrix, second.matrix), dtype=np.float64))
