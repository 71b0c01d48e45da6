"""Statements of kairouz2016 that are bounds on what can be measured: Theorems 2, 6, 7, 13 and 18.

Theorem 2 cannot be tested on optima over staircase columns, which have what it promises by construction.
Their values are compared with a bound on all private mechanisms, over the extreme rays of the privacy
constraint, which are listed without the theorem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from ldpfrontier.base.priors import generator
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.kairouz_mechanisms import quaternary_mechanism
from ldpfrontier.model.privacy import error_region, least_delta
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.measures import InstanceUtility
from papers.kairouz2016.statements import statement_checks
from reproduction.results.batches import Rows, batches_of
from reproduction.results.tables import CHECKS, Check, Relation, Row, select

#: Utilities in words.
_WORDS = {
    "kl": "KL divergence",
    "mutual_information": "mutual information",
    "tv": "total variation",
    "chi2": "χ² divergence",
    "hellinger": "Hellinger divergence",
}

#: Absolute rounding of what would be equal or ordered in exact arithmetic; ratios within columns are read off
#: a channel whose small entries have less relative accuracy.
_ROUNDING, _RATIO_ROUNDING = 1e-9, 1e-6

#: Instances on which Theorem 2 is compared with a bound on columns of any ratios, and their sizes in turn.
_ANY_COLUMNS, _ANY_SIZES = 12, (3, 4, 5, 6)

#: Instances on which statements without a theorem of their own are checked.
_STATEMENTS = 40


def theorems(*sweeps: Rows, channels: int, seed: int) -> pd.DataFrame:
    """Check Theorems 2, 6, 7 and 13 on the rows of sweeps, and others on instances of their own.

    These are Theorem 2, Theorem 18, on so many random channels, and the statements of `statements`.
    """
    found = [CHECKS.table(_sweep_checks(batch)) for table in sweeps for batch in batches_of(table)]
    found.append(CHECKS.table(row for i in range(_ANY_COLUMNS) for row in _any_column_checks(i, seed)))
    found.append(CHECKS.table(row for i in range(_STATEMENTS) for row in statement_checks(i, seed)))
    found.append(CHECKS.table(row for i in range(channels) for row in _quaternary_checks(i, seed)))
    return CHECKS.conform(pd.concat(found))


def _sweep_checks(table: pd.DataFrame) -> Iterator[Row]:
    """Check what holds at every epsilon of an instance, where it is furthest from holding."""
    instance_of = ["experiment", "size", "instance"]
    private = table[np.isfinite(table["epsilon"]) & (table["epsilon"] > 0)].set_index("epsilon")
    achieved = private[private["metric"] == private["experiment"]]
    binaries = dict(iter(select(achieved, mechanism="binary").groupby(instance_of)))
    errors = dict(iter(select(private, metric="staircase_error").groupby(instance_of)))
    distances = select(table, mechanism="identity", metric="tv").set_index(instance_of)["value"].to_dict()
    for key, optimal in select(achieved, mechanism="optimal").groupby(instance_of):
        utility, size, instance = map(str, key)
        words, binary = _WORDS[utility], binaries[key]
        ratio = binary["value"] / binary["bound"]
        epsilons = ratio.index.to_numpy()
        top = np.exp(epsilons)

        most = partial(_extreme, size, instance, "<=")
        least = partial(_extreme, size, instance, ">=")
        yield most("K-T2", f"outputs over k, {words}", optimal["outputs"].astype(float) / int(size), 1.0)
        distance = f"relative distance of the ratios from 1 or e^ε, {words}"
        yield most("K-T2", distance, errors[key]["value"], 0.0, tolerance=_RATIO_ROUNDING)
        if utility == "tv":
            bound = "binary over the upper bound of the optimum"
            yield least("K-T6", bound, ratio, 1.0, tolerance=_ROUNDING)
            formula = (binary["value"] - np.tanh(epsilons / 2.0) * distances[key]).abs()
            yield most("K-T6", "distance from the formula", formula, 0.0, tolerance=_ROUNDING)
        elif utility == "kl":
            yield least("K-T7", "binary over the bound", ratio * 2.0 * (top + 1.0) ** 2, 1.0)
        elif utility == "mutual_information" and (epsilons <= 1.0).any():
            yield least("K-T13", "binary over the bound", (ratio * (1.0 + top))[epsilons <= 1.0], 1.0)


def _extreme(
    size: str,
    instance: str,
    relation: Relation,
    claim: str,
    quantity: str,
    values: pd.Series[float],
    limit: float,
    *,
    tolerance: float = 0.0,
) -> Row:
    """Check the largest ("<=") or least (">=") of values by epsilon, or one that is missing, which fails."""
    numbers = values.to_numpy()
    at = int(numbers.argmax() if relation == "<=" else numbers.argmin())
    return Check(
        PAPER, claim, instance, quantity, values.iloc[at], relation, limit,
        tolerance=tolerance, size=size, parameter="epsilon", at=float(values.index[at]),
    )  # fmt: skip


def _any_column_checks(instance: int, seed: int) -> Iterator[Row]:
    """Compare the optimum over staircase columns with a bound on all private mechanisms (Theorem 2)."""
    size = _ANY_SIZES[instance % len(_ANY_SIZES)]
    rng = generator(seed, f"{PAPER}/any columns", size, instance)
    epsilon, (first, second) = float(rng.uniform(0.1, 4.0)), rng.dirichlet(np.ones(size), 2)
    unit, pairs = np.eye(size), permutations(range(size), 2)
    rays = extreme_rays(np.array([unit[x] - math.exp(epsilon) * unit[y] for x, y in pairs]))
    measures: dict[str, InstanceUtility] = {
        "kl": FDivergence(first, second, "kl"),
        "mutual_information": MutualInformation(first),
        "tv": FDivergence(first, second, "tv"),
    }
    for utility, measure in measures.items():
        # Scaled so that the weights of a mechanism add up to one.
        columns = measure.columns(rays).vectors
        values = measure.values(columns)
        prices = -linprog(-values, A_eq=columns.T, b_eq=np.ones(size)).eqlin.marginals
        bound = prices.sum() + (values - columns @ prices).max()
        yield Check(
            PAPER, "K-T2", instance_name(instance),
            f"bound on columns of any ratios over the optimum of at most k outputs, {_WORDS[utility]}",
            bound / optimal_ldp(measure, epsilon).value, "<=", 1.0,
            tolerance=_ROUNDING, size=str(size), parameter="epsilon", at=epsilon,
        )  # fmt: skip


def _quaternary_checks(instance: int, seed: int, outputs: int = 5) -> Iterator[Row]:
    """Check Theorem 18 on a random channel with a binary input and a random epsilon in [0, 2].

    The smallest delta of the channel at this epsilon is exact. The quaternary mechanism of that (epsilon,
    delta) must dominate the channel: its error region must contain that of the channel and be {P_FA + e^eps
    P_MD >= 1 - delta, e^eps P_FA + P_MD >= 1 - delta} (Figure 9b), and the channel must not exceed it in any
    utility.
    """
    rng = generator(seed, f"{PAPER}/quaternary", 2, instance)
    epsilon = float(rng.uniform(0.0, 2.0))
    channel = Channel(rng.dirichlet(np.full(outputs, 0.7), 2))
    prior = rng.dirichlet(np.ones(2))
    delta = least_delta(channel, epsilon)
    best = quaternary_mechanism(epsilon, delta)
    row = partial(
        Check, PAPER, "K-T18", instance_name(instance),
        tolerance=_ROUNDING, size="2", parameter="epsilon", at=epsilon, note=f"delta = {delta:.6f}",
    )  # fmt: skip

    false_alarm, missed = error_region(channel).T
    top = math.exp(epsilon)
    inside = min((false_alarm + top * missed).min(), (top * false_alarm + missed).min()) - (1.0 - delta)
    yield row("distance of error regions inside the quaternary one", inside, ">=", 0.0)

    middle = (1.0 - delta) / (1.0 + top)
    corners = np.array([[0.0, 1.0], [0.0, 1.0 - delta], [middle, middle], [1.0 - delta, 0.0], [1.0, 0.0]])
    distance = np.abs(error_region(best)[:, None] - corners).max(axis=2).min(axis=1).max()
    yield row("distance of the quaternary region from Figure 9b", float(distance), "<=", 0.0)

    pair = np.eye(2)
    measures: dict[str, InstanceUtility] = {
        "mutual_information": MutualInformation(prior),
        "tv": FDivergence(pair[0], pair[1], "tv"),
        "hellinger": FDivergence(pair[0], pair[1], "hellinger"),
        "kl": FDivergence(0.9 * pair[0] + 0.05, 0.9 * pair[1] + 0.05, "kl"),
        "chi2": FDivergence(0.9 * pair[0] + 0.05, 0.9 * pair[1] + 0.05, "chi2"),
    }
    for utility, measure in measures.items():
        excess = measure(channel) - measure(best)
        quantity = f"excess over the quaternary mechanism in {_WORDS[utility]}"
        yield row(quantity, excess, "<=", 0.0, unit=measure.unit)
