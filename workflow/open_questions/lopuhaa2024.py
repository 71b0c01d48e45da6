"""Questions of lopuhaa2024, sections 2 and 9: a secret that is not asked, the least utility, and blocks."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.special import xlogy

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.cones import PolyhedralCone
from ldpfrontier.model.information import entropy
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.least import least_information
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from open_questions.summaries import BLOCKS, LEAST, UNASKED

_log = logging.getLogger(__name__)

#: Relative gap of optima over F itself.
_OVER_SET = 1e-2
#: Relative gap of the least information.
_LEAST = 1e-4

#: The optima whose bounds are in the table.
_BOUNDED = ("known", "simplex", "exact")


def unasked(
    *,
    sensitive: str,
    useful: Sequence[str],
    epsilons: Sequence[float],
    letters: int,
    cells: int,
    beta: float,
    order: float,
    **counts: pd.DataFrame,
) -> pd.DataFrame:
    """Compare mechanisms that see U alone, on the tables of one sensitive attribute with useful ones.

    Optima are of a known distribution, of the simplices of PolyOpt, over F, and for acquaintances. Compared
    are local privacy of U, which needs no table; of a known distribution, local information privacy at half
    of the level, which implies the level; and the best way to merge values of U, as algorithms for privacy
    funnels do. Tables with more than `letters` values of S or U are left out, and optima over F itself found
    for up to so many `cells`.
    """
    rows = []
    for name, table in zip(useful, counts.values(), strict=True):
        own = np.asarray(table)
        if max(own.shape) > letters:
            continue
        ball = RenyiBall.confidence(own, beta=beta, order=order)
        odds = OddsRatios.confidence(own, beta, "bonferroni")
        prior = ball.centre.sum(axis=0)
        utility, merged = MutualInformation(prior), merges(ball.centre)
        for epsilon in epsilons:
            _log.info("%s, %s at %g", sensitive, name, epsilon)
            found = {
                "known": optimal_nonrobust(ball.centre, epsilon, observed="useful"),
                "simplex": optimal_robust(ball, epsilon, observed="useful"),
                "association": optimal_association(odds, epsilon, observed="useful"),
                "local": optimal_ldp(utility, epsilon),
                "information": optimal_mechanism(utility, information_cone(ball.centre, epsilon / 2.0)),
            }
            if own.size <= cells:
                found["exact"] = optimal_robust(
                    ball, epsilon, observed="useful", envelope="exact", tolerance=_OVER_SET
                )
            kept = [value for value, level in merged if level <= epsilon]
            rows.append(
                {
                    "sensitive": sensitive,
                    "useful": name,
                    "epsilon": epsilon,
                    "entropy": entropy(prior),
                    **dict.fromkeys(("exact", "exact_bound"), math.nan),
                    **{key: best.value for key, best in found.items()},
                    **{f"{key}_bound": found[key].bound for key in _BOUNDED if key in found},
                    "merged": max(kept),
                }
            )
    return UNASKED.table(rows)


def information_cone(joint: FloatArray, epsilon: float) -> PolyhedralCone:
    """Return the columns of U with e^-eps <= P(y | s) / P(y) <= e^eps, of a known distribution."""
    known = joint[joint.sum(axis=1) > 0.0]
    R, prior, ratio = known / known.sum(axis=1, keepdims=True), joint.sum(axis=0), math.exp(epsilon)
    return PolyhedralCone(np.vstack([R - ratio * prior, prior - ratio * R]))


def merges(joint: FloatArray) -> list[tuple[float, float]]:
    """Return the information and the level of every way to merge values of U, of a known distribution."""
    R = joint[joint.sum(axis=1) > 0.0]
    R, prior = R / R.sum(axis=1, keepdims=True), joint.sum(axis=0)
    found = []
    for labels in _partitions(len(prior)):
        parts = np.eye(max(labels) + 1)[list(labels)]
        P, masses = R @ parts, prior @ parts
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.log(P.max(axis=0) / P.min(axis=0)).max() if len(P) else 0.0
        found.append((-float(xlogy(masses, masses).sum()), float(level)))
    return found


def _partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Yield the block of each of n letters, for every partition of them."""
    if n == 0:
        yield ()
        return
    for rest in _partitions(n - 1):
        for block in range(max(rest, default=-1) + 2):
            yield (*rest, block)


def least(
    *,
    shape: Sequence[int] | None,
    instances: int,
    records: Sequence[int],
    epsilons: Sequence[float],
    names: Sequence[str],
    seed: int,
    **counts: pd.DataFrame,
) -> pd.DataFrame:
    """Compare the largest least information over F with what PolyOpt has, at tables of numbers of records.

    Tables are given, or of distributions that are uniform on the simplex: counts are then the expected ones,
    rounded, and 1 at least.
    """
    tables = {
        (name, int(np.sum(np.asarray(own)))): np.asarray(own)
        for name, own in zip(names, counts.values(), strict=True)
    }
    if shape is not None:
        size = " x ".join(map(str, shape))
        for instance in range(instances):
            P = generator(seed, "least", own_size(shape), instance).dirichlet(np.ones(math.prod(shape)))
            for total in records:
                own = np.maximum(np.rint(total * P), 1.0).reshape(shape)
                tables[f"{size}, {instance}", total] = own
    rows = []
    for (name, total), own in tables.items():
        ball = RenyiBall.confidence(own)
        for epsilon in epsilons:
            published = optimal_robust(ball, epsilon)
            best = optimal_robust(ball, epsilon, least=True, tolerance=_LEAST)
            proved, had = least_information(ball, published.channel, tolerance=_LEAST)
            rows.append(
                {
                    "table": name,
                    "records": total,
                    "epsilon": epsilon,
                    "value": max(best.value, proved),  # PolyOpt is one of the class
                    "bound": best.bound,
                    "published": had,
                    "centre": published.value,
                    "centre_of_least": MutualInformation(ball.centre)(best.channel),
                }
            )
    return LEAST.table(rows)


def blocks(*, sizes: Sequence[int], instances: int, epsilons: Sequence[float], seed: int) -> pd.DataFrame:
    """Compare the closed form of local privacy within blocks with the optimum over its cone."""
    rows = []
    for instance in range(instances):
        p = generator(seed, "blocks", own_size(sizes), instance).dirichlet(np.ones(sum(sizes)))
        for epsilon in epsilons:
            best = optimal_mechanism(MutualInformation(p), block_cone(sizes, epsilon), tolerance=1e-9)
            rows.append(
                {
                    "instance": instance,
                    "epsilon": epsilon,
                    "value": block_information(p, sizes, epsilon),
                    "optimum": best.value,
                    "bound": best.bound,
                    "local": optimal_ldp(MutualInformation(p), epsilon).value,
                }
            )
    return BLOCKS.table(rows)


def own_size(sizes: Sequence[int]) -> int:
    """Return the digits of sizes below 10 as one number, for a random stream."""
    return int("".join(map(str, sizes)))


def block_information(p: FloatArray, sizes: Sequence[int], epsilon: float) -> float:
    """Return the most information if inputs are hidden in their blocks: these, and the best of each."""
    parts = np.split(p, np.cumsum(sizes)[:-1])
    masses = np.array([part.sum() for part in parts])
    within = [optimal_ldp(MutualInformation(part / part.sum()), epsilon).value for part in parts]
    return entropy(masses) + float(masses @ np.array(within))


def block_cone(sizes: Sequence[int], epsilon: float) -> PolyhedralCone:
    """Return the columns whose entries are within e^eps of each other inside each block."""
    block, unit = np.repeat(np.arange(len(sizes)), sizes), np.eye(sum(sizes))
    pairs = [(x, y) for x in range(len(block)) for y in range(len(block)) if x != y and block[x] == block[y]]
    return PolyhedralCone(np.array([unit[x] - math.exp(epsilon) * unit[y] for x, y in pairs]))
