"""Lemmas 26 and 27 of kairouz2016, and what it says about hypothesis tests without a theorem."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from ldpfrontier.base.priors import generator
from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.information import total_variation
from ldpfrontier.model.mechanisms import randomized_response
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.thresholds import binary_domination_threshold
from papers.kairouz2016.expansions import low_privacy
from papers.kairouz2016.instances import PAPER, instance_name
from papers.kairouz2016.summaries import (
    EFFECTIVE_ORDER,
    EFFECTIVE_SHARE,
    FIRST_BOUND,
    LEMMA_26,
    LEMMA_27,
    PINSKER,
    SECOND_BOUND,
)
from reproduction.results.tables import Check, Row

#: Relative rounding of what would be ordered in exact arithmetic.
_ROUNDING = 1e-9

#: Sizes of the random instances in turn, and their concentrations.
_SIZES, _CONCENTRATIONS = (2, 3, 4, 6), (1.0, 0.3)

#: At this level randomized response is optimal for KL divergence, to first order in e^-epsilon.
_LARGE = 20.0

#: The share of the second bound that is left out, "arbitrarily small".
_DELTA = 0.1

#: A pair for which the printed G is too large.
_PAIR = ((0.99, 0.01), (0.9, 0.1))


def statement_checks(instance: int, seed: int) -> Iterator[Row]:
    """Check the statements on a random prior and a random pair of priors; with the first, on a named pair.

    Size and concentration are taken in turn, by the number of the instance.
    """
    size = _SIZES[instance % len(_SIZES)]
    rng = generator(seed, f"{PAPER}/statements", size, instance)
    prior = rng.dirichlet(np.full(size, _CONCENTRATIONS[instance % 2]))
    row = partial(Check, PAPER, size=str(size), parameter="epsilon")
    name = instance_name(instance)

    epsilon = float(rng.uniform(0.05, 6.0))
    largest = _column_utility(_subsets(prior), epsilon).max()
    bound = largest * size / (math.exp(epsilon) + size - 1.0)
    optimum = optimal_ldp(MutualInformation(prior), epsilon).bound
    yield row("K-L26", name, LEMMA_26, optimum / bound, "<=", 1.0, tolerance=_ROUNDING, at=epsilon)

    epsilon = float(rng.uniform(0.01, 1.0))
    chances = _subsets(prior)
    halves = chances[int((chances * (1.0 - chances)).argmax())]
    both = _column_utility(np.array([halves, 1.0 - halves]), epsilon).sum()
    ratio = float(_column_utility(chances, epsilon).max() / both)
    yield row("K-L27", name, LEMMA_27, ratio, "<=", 1.0, tolerance=_ROUNDING, at=epsilon)

    yield from pair_checks(*rng.dirichlet(np.ones(size), 2), instance=name)
    if instance == 0:
        yield from pair_checks(*map(np.array, _PAIR), instance=f"{_PAIR[0]} and {_PAIR[1]}")


def pair_checks(p0: FloatArray, p1: FloatArray, *, instance: str) -> Iterator[Row]:
    """Check what hypothesis tests need on a pair of priors, both of which are positive."""
    pair, row = FDivergence(p0, p1, "kl"), partial(Check, PAPER, size=str(len(p0)), parameter="epsilon")
    divergence, distance = pair.divergence(), total_variation(p0, p1)

    def share(epsilon: float) -> float:
        return optimal_ldp(pair, epsilon).bound / divergence

    shares = share(0.02), share(0.01)
    order = math.log2(shares[0] / shares[1])
    yield row("K-S1", instance, EFFECTIVE_ORDER, order, "=", 2.0, tolerance=0.05, at=0.01)
    yield row("K-S1", instance, EFFECTIVE_SHARE, shares[1] / 0.01**2, "=", 1.0, tolerance=0.1, at=0.01)

    epsilon = min(binary_domination_threshold(pair), 4.0)
    if epsilon > 1e-6:
        bound = math.expm1(epsilon) ** 2 / (math.exp(epsilon) + 1.0) * distance**2
        exponent = share(epsilon) * divergence
        yield row("K-S3a", instance, FIRST_BOUND, exponent / bound, "<=", 1.0, at=epsilon)
    pinsker = 2.0 * distance**2 / divergence
    yield row("K-S3a", instance, PINSKER, pinsker, "<=", 1.0, tolerance=_ROUNDING, at=math.nan)

    lost = (divergence - pair(randomized_response(len(p0), _LARGE))) * math.exp(_LARGE)
    printed = (divergence - low_privacy(pair, _LARGE, printed=True)) * math.exp(_LARGE)
    yield row("K-S3b", instance, SECOND_BOUND, lost, ">=", (1.0 - _DELTA) * printed, at=_LARGE)


def _subsets(prior: FloatArray) -> FloatArray:
    """Return the probabilities of all subsets, shape (2^k,)."""
    return np.array(list(product((0.0, 1.0), repeat=len(prior)))) @ prior


def _column_utility(p: FloatArray, epsilon: float) -> FloatArray:
    """Return mu of columns that are e^epsilon on sets of probabilities p, and 1 elsewhere (65)."""
    mean = 1.0 + p * math.expm1(epsilon)
    return np.asarray(p * math.exp(epsilon) * epsilon - mean * np.log(mean))
