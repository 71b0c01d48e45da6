"""Questions that kairouz2016 leaves open: approximately private mechanisms on more than two letters."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ldpfrontier.base.priors import dirichlet, generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.utility import FDivergence, Kind, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from open_questions.summaries import APPROXIMATE, APPROXIMATE_GRID, APPROXIMATE_SEARCH, MUTUAL_INFORMATION
from papers.kairouz2016.instances import PAIR, PRIOR
from reproduction.results.tables import select

_log = logging.getLogger(__name__)

#: The levels that are drawn, nats, uniformly, and the deltas, log-uniformly.
LEVELS, DELTAS = (0.3, 4.0), (0.02, 0.6)

#: Ends of the levels and deltas that a search may reach.
FAR_LEVELS, FAR_DELTAS = (0.01, 20.0), (1e-6, 0.99)


#: The f-divergences by their name in tables.
KINDS: dict[str, Kind] = {"kl": "kl", "tv": "tv", "chi2": "chi2"}


class ApproximateProblem(NamedTuple):
    """A utility of one or two distributions, and a level with its delta."""

    p: FloatArray
    q: FloatArray
    epsilon: float
    delta: float

    def compared(self, utility: str) -> dict[str, Any]:
        """Return the value of the optimum, its bound, and what the mixture with the truth has."""
        information = utility == MUTUAL_INFORMATION
        of = MutualInformation(self.p) if information else FDivergence(self.p, self.q, kind=KINDS[utility])
        best, nothing = optimal_ldp(of, self.epsilon, self.delta), optimal_ldp(of, self.epsilon).value
        truth = of(Channel(np.eye(len(self.p))))
        return {
            "utility": utility,
            "letters": len(self.p),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "value": best.value,
            "bound": best.bound,
            "mixture": self.delta * truth + (1.0 - self.delta) * nothing,
            "truth": truth,
        }

    def loss(self, utility: str) -> float:
        """Return by what share the mixture has less than the optimum."""
        found = self.compared(utility)
        return float(1.0 - found["mixture"] / found["value"])

    def moved(self, rng: np.random.Generator, step: float) -> ApproximateProblem:
        """Return a problem near this one: each number has a random factor."""
        p, q = (x * np.exp(step * rng.normal(size=len(x))) for x in (self.p, self.q))
        epsilon, delta = np.exp(step * rng.normal(size=2)) * (self.epsilon, self.delta)
        return ApproximateProblem(
            p / p.sum(), q / q.sum(), float(np.clip(epsilon, *FAR_LEVELS)), float(np.clip(delta, *FAR_DELTAS))
        )


def drawn(letters: int, instance: int, seed: int) -> ApproximateProblem:
    """Draw an instance of the table `approximate`; distributions are uniform on the simplex."""
    rng = generator(seed, "approximate", letters, instance)
    p, q = rng.dirichlet(np.ones(letters), size=2)
    return ApproximateProblem(p, q, rng.uniform(*LEVELS), np.exp(rng.uniform(*np.log(DELTAS))))


def approximate(*, letters: int, instances: int, utilities: Sequence[str], seed: int) -> pd.DataFrame:
    """Compare optima with the mixture of the truth and the optimum of delta 0, at random instances.

    An instance has one distribution for mutual information and two for the f-divergences, and one level and
    delta for all of them.
    """
    rows = [
        {"instance": instance, **drawn(letters, instance, seed).compared(utility)}
        for instance in range(instances)
        for utility in utilities
    ]
    _log.info("%d letters: %d instances", letters, instances)
    return APPROXIMATE.table(rows)


def approximate_grid(
    *,
    letters: int,
    instances: int,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    utilities: Sequence[str],
    seed: int,
) -> pd.DataFrame:
    """Compare them at instances of the figures of kairouz2016, over its levels and some deltas."""
    rows = []
    for instance in range(instances):
        (prior,) = dirichlet(seed, PRIOR, letters, instance, count=1)
        p, q = dirichlet(seed, PAIR, letters, instance, count=2)
        for utility in utilities:
            of = prior if utility == MUTUAL_INFORMATION else p
            rows += [
                {"instance": instance, **ApproximateProblem(of, q, epsilon, delta).compared(utility)}
                for epsilon in epsilons
                for delta in deltas
            ]
    _log.info("%d letters: %d instances", letters, instances)
    return APPROXIMATE_GRID.table(rows)


def approximate_search(random: pd.DataFrame, *, starts: int, steps: int, seed: int) -> pd.DataFrame:
    """Look for problems in which the mixture loses most, from the random instances in which it does.

    A step moves all numbers of a problem at random, and is taken if the loss grows; the size of steps grows
    and shrinks with it.
    """
    rows = []
    for utility, letters, instance in _starts(random, starts):
        rng = generator(seed, f"approximate search {utility}", letters, instance)
        problem, step = drawn(letters, instance, seed), 0.3
        loss = problem.loss(utility)
        for _ in range(steps):
            other = problem.moved(rng, step)
            if (found := other.loss(utility)) > loss:
                problem, loss, step = other, found, 1.3 * step
            else:
                step = max(0.95 * step, 0.01)
        distributions = {name: " ".join(f"{x:.17g}" for x in getattr(problem, name)) for name in ("p", "q")}
        rows.append({"instance": instance, **problem.compared(utility), **distributions})
        _log.info("%s, %d letters, from instance %d: %.3g", utility, letters, instance, loss)
    return APPROXIMATE_SEARCH.table(rows)


def _starts(random: pd.DataFrame, starts: int) -> Iterator[tuple[str, int, int]]:
    """Yield utilities, letters and instances: of both and each, those with the largest losses."""
    random = random.assign(loss=1.0 - random["mixture"] / random["value"])
    for utility in random["utility"].unique():
        for letters in random["letters"].unique():
            rows = select(random, utility=utility, letters=letters).sort_values("loss", kind="stable")
            for instance in rows["instance"].iloc[::-1][:starts]:
                yield str(utility), int(letters), int(instance)
