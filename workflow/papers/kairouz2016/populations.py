"""The minima of Figures 3, 4, 6 and 7 over further populations of random instances.

A minimum over 100 random instances is itself random. Its distribution is sampled by many fresh populations of
as many instances, which needs many optima at few privacy levels: they are found for a whole population at
once, by the simplex method on the linear program over all staircase columns (kairouz2016, Theorem 4).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.utility import FDivergence, MutualInformation
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import InstanceUtility, measures
from reproduction.results.tables import ROUNDING, Schema

_LOG = logging.getLogger(__name__)

#: Least shares: of randomized response, of binary, and of the better of the two.
STATISTICS = ("rr", "binary", "mixed")

#: Number of inputs.
LARGEST = 12

#: Relative gap at which an optimum is done, and the pivots after which the gap is what it is.
_TOLERANCE, _PIVOTS = 1e-9, 1000


def _population_rules(table: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    yield (
        table["least"] < table["certified"] - ROUNDING,
        "has the least share {least} below its certificate {certified}",
    )
    yield ~table["statistic"].isin(STATISTICS), "has the unknown statistic {statistic}"


POPULATIONS = Schema(
    name="populations",
    columns={
        "paper": "str",
        "utility": "str",
        "size": "str",
        "concentration": "float64",  # of the Dirichlet distribution of the instances
        "statistic": "str",  # of STATISTICS
        "range": "str",  # the privacy levels that the least share is sought in
        "drawn": "bool",  # whether concentration and range are those of the figures
        "population": "Int64",  # instances 100 p to 100 p + 99, if a population has 100
        "instances": "Int64",
        "least": "float64",  # least share of the optimum over the instances
        "certified": "float64",  # what the bounds on the optima say: no less than this
        "instance": "str",  # where that is
        "epsilon": "float64",  # nats
    },
    key=("utility", "size", "concentration", "statistic", "range", "population"),
    rules=_population_rules,
    finite=("least", "certified"),
)


def populations(
    fresh_instances: pd.DataFrame,
    studies: Sequence[Mapping[str, Any]],
    numbers: Sequence[int],
    *,
    instances: int = 100,
) -> pd.DataFrame:
    """Compute the least shares of the optimum over populations of random instances.

    Randomized response is worst at the least privacy level, binary at the largest (as in all of the figures'
    instances), and the better of the two where they are equal, as the share of the one rises and that of the
    other falls.

    Every study has ``utility`` (kl or mutual_information), ``size`` (number of inputs k, at most 12),
    ``concentration`` (of the instances), ``statistics`` (members of `STATISTICS`), ``ends`` (the least and
    the largest privacy level, nats) and ``drawn`` (whether that is as in the figures). The population of
    number p has the instances from p * `instances` on; 0 is that of the figures.
    """
    rows: list[dict[str, Any]] = []
    for study in studies:
        _require_study(study)
        found = dict(
            measures(fresh_instances, study["utility"], study["size"], concentration=study["concentration"])
        )
        for number in numbers:
            population = {i: found[i] for i in range(number * instances, (number + 1) * instances)}
            rows += _least_shares(study, population, number)
        _LOG.info("%s", ", ".join(f"{name} {value}" for name, value in study.items()))
    return POPULATIONS.table(rows)


def _require_study(study: Mapping[str, Any]) -> None:
    if not 2 <= study["size"] <= LARGEST:
        raise ValueError(
            f"The size is {study['size']}; allowed are 2 to {LARGEST}, as all 2^k columns are listed."
        )
    if unknown := [name for name in study["statistics"] if name not in STATISTICS]:
        raise ValueError(f"The statistic is {unknown[0]!r}; allowed are {', '.join(STATISTICS)}.")


def _least_shares(
    study: Mapping[str, Any], population: Mapping[int, InstanceUtility], number: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one population."""
    ends, instances, batch = study["ends"], list(population), Batch.of(list(population.values()))
    crossing = batch.crossing(*ends)
    levels = {
        "mixed": crossing,
        "rr": np.full_like(crossing, ends[0]),
        "binary": np.full_like(crossing, ends[1]),
    }
    for statistic in study["statistics"]:
        epsilons = levels[statistic]
        closed = {"rr": batch.response(epsilons), "binary": batch.binary(epsilons)}
        achieved = closed.get(statistic, np.maximum(closed["rr"], closed["binary"]))
        value, bound = batch.optimum(epsilons, achieved)
        at = int((achieved / value).argmin())
        yield {
            "paper": PAPER,
            "utility": study["utility"],
            "size": str(study["size"]),
            "concentration": float(study["concentration"]),
            "statistic": statistic,
            "range": f"{ends[0]:g} to {ends[1]:g}",
            "drawn": study["drawn"],
            "population": number,
            "instances": len(instances),
            "least": achieved[at] / value[at],
            "certified": float((achieved / bound).min()),
            "instance": instance_name(instances[at]),
            "epsilon": epsilons[at],
        }


@dataclass(frozen=True)
class Batch:
    """Instances of one utility and size, side by side: P0 and P1, shape (n, k), or the prior twice.

    `divergence` tells whether the utility is D(M0 || M1), and not I(X; Y); `inside`, shape (n, k), for which
    inputs binary prefers its first output.
    """

    first: FloatArray
    second: FloatArray
    divergence: bool
    inside: np.ndarray

    @classmethod
    def of(cls, measures: Sequence[InstanceUtility]) -> Batch:
        """Return instances, all of one kind, as a batch."""
        if isinstance(measures[0], FDivergence):
            first, second = (np.stack([getattr(m, name) for m in measures]) for name in ("p0", "p1"))
            return cls(first, second, True, first >= second)
        prior = np.stack([m.prior for m in measures])
        return cls(
            prior, prior, False, np.stack([m.balanced for m in measures if isinstance(m, MutualInformation)])
        )

    def gains(self, members: FloatArray, epsilons: FloatArray) -> FloatArray:
        """Return what columns with entries e^eps (members) and 1 (others) add to the utility, nats.

        The result has shape (n, c). The members of every column are of shape (c, k), the same for all
        instances, or (n, c, k).
        """
        high, epsilon = np.expm1(epsilons)[:, None], epsilons[:, None]
        shared = members.ndim == 2
        mass = self.first @ members.T if shared else np.einsum("nk,nck->nc", self.first, members)
        total = 1.0 + high * mass
        if not self.divergence:
            return np.asarray((high + 1.0) * epsilon * mass - total * np.log(total))
        other = self.second @ members.T if shared else np.einsum("nk,nck->nc", self.second, members)
        return np.asarray(total * np.log(total / (1.0 + high * other)))

    def binary(self, epsilons: FloatArray) -> FloatArray:
        """Return the utility of the binary mechanism, nats, shape (n,)."""
        both = np.stack([self.inside, ~self.inside], axis=1).astype(np.float64)
        return np.asarray(self.gains(both, epsilons).sum(axis=1) / (1.0 + np.exp(epsilons)))

    def response(self, epsilons: FloatArray) -> FloatArray:
        """Return the utility of randomized response, nats, shape (n,)."""
        k = self.first.shape[1]
        return np.asarray(self.gains(np.eye(k), epsilons).sum(axis=1) / (k - 1.0 + np.exp(epsilons)))

    def crossing(self, low: float, high: float, steps: int = 40) -> FloatArray:
        """Return the privacy levels from which randomized response is better than binary, by bisection."""
        below, above = np.full(len(self.first), low), np.full(len(self.first), high)
        for _ in range(steps):
            middle = 0.5 * (below + above)
            later = self.response(middle) < self.binary(middle)
            below, above = np.where(later, middle, below), np.where(later, above, middle)
        return np.asarray(0.5 * (below + above))

    def optimum(self, epsilons: FloatArray, achieved: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return value and upper bound of the optima, nats, where the share `achieved` has may be the least.

        Of other instances the bound is one, but the value is only that of a private mechanism. The simplex
        method starts from randomized response, of which all columns are used. Prices, raised by as much as
        the column that breaks them most, are feasible in the dual: the bound.
        """
        n, k = self.first.shape
        members = (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(np.float64)
        gains, high = self.gains(members, epsilons), np.expm1(epsilons)
        # Sums of the columns, by which violated prices are compared.
        sums = k + high[:, None] * members.sum(axis=1)
        basis = np.tile(1 << np.arange(k), (n, 1))
        value, bound = np.zeros(n), np.full(n, math.inf)
        going = np.arange(n)
        for _ in range(_PIVOTS):
            columns = 1.0 + high[going, None, None] * members[basis[going]]
            inverse = np.linalg.inv(columns.transpose(0, 2, 1))
            weights = np.maximum(inverse.sum(axis=2), 0.0)
            own = np.take_along_axis(gains[going], basis[going], axis=1)
            prices = np.einsum("nc,nck->nk", own, inverse)
            paid = prices.sum(axis=1)[:, None] + high[going, None] * (prices @ members.T)
            short = (gains[going] - paid) / sums[going]
            enters = short.argmax(axis=1)
            raised = np.maximum(np.take_along_axis(short, enters[:, None], axis=1)[:, 0], 0.0)
            value[going] = (weights * own).sum(axis=1)
            bound[going] = np.minimum(bound[going], prices.sum(axis=1) + k * raised)
            least = (achieved / value).min()
            open_ = (bound[going] > value[going] * (1.0 + _TOLERANCE)) & (
                achieved[going] / bound[going] < least
            )
            if not open_.any():
                break
            direction = np.einsum(
                "ncx,nx->nc", inverse[open_], 1.0 + high[going[open_], None] * members[enters[open_]]
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(direction > 1e-11, weights[open_] / direction, math.inf)
            going = going[open_]
            basis[going, ratio.argmin(axis=1)] = enters[open_]
        # The value of a degenerate basis may be above the bound by its rounding.
        return np.minimum(value, bound), bound
