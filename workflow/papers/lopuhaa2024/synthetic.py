"""lopuhaa2024 on random tables (sections 8.2 to 8.5): Figures 3 to 5, Table 2, and what lies beyond.

A random table is named by its size and its number, and depends on nothing else but the seed: parts that were
computed apart can be put together, and the same numbers are the same tables at every setting.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.channel import Channel
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.priors import generator
from ldpfrontier.privacy import rldp_epsilon
from ldpfrontier.types import FloatArray
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.catalogue import COVERED, MECHANISMS, MISSED
from papers.lopuhaa2024.experiments import ALL, Place, Solution, place_of, solve
from reproduction.results.tables import PRIVACY_TOLERANCE, RESULTS, Row, TableError

#: Metrics measured with P*, beside the certified ``mutual_information`` and ``nmi``.
REALIZED, DIFFERENCE = "realized_epsilon", "utility_difference"

_log = logging.getLogger(__name__)


def sample(
    shape: Sequence[int], instance: int, *, records: int = 32561, concentration: float = 0.5, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Sample P* from a symmetric Dirichlet distribution, and a table of counts from P*.

    Parameters
    ----------
    shape : sequence of int
        (a1, a2).
    instance : int
        Its number. An instance depends on its shape, its number and the seed, and on no other instance.
    records : int
        How many records are sampled.
    concentration : float
        Parameter of the Dirichlet distribution; 1/2 is the Jeffreys prior of the paper.
    seed : int
        Root of the random streams.

    Returns
    -------
    truth, counts : ndarray, shape (a1, a2)

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"The shape is {shape}; it must be two numbers, 1 or more.")
    if records < 1:
        raise ValueError(f"The number of records is {records}; at least one is needed.")
    if not (math.isfinite(concentration) and concentration > 0):
        raise ValueError(f"The concentration is {concentration}; it must be a positive number.")
    a1, a2 = shape
    rng = generator(seed, f"lopuhaa2024 {a1} x {a2}", a1 * a2, instance)
    truth = rng.dirichlet(np.full(a1 * a2, concentration))
    counts = rng.multinomial(records, truth)
    return truth.reshape(a1, a2), counts.reshape(a1, a2).astype(np.float64)


def study(
    shape: Sequence[int],
    instances: Iterable[int],
    epsilons: Sequence[float],
    *,
    betas: Sequence[float] = (0.05,),
    order: float = 2.0,
    records: int = 32561,
    concentration: float = 0.5,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-6,
    max_rounds: int = 300,
    seed: int,
) -> pd.DataFrame:
    """Compute the mechanisms on random instances with a known truth (lopuhaa2024, section 8.2), certified.

    Metrics of every mechanism: ``mutual_information`` and ``nmi`` as in `experiments.fig2`;
    ``realized_epsilon``, eps* under P* (section 8.3), inf where some output is impossible for one sensitive
    value only, its note saying whether F contains P*; ``utility_difference``, (I under P-hat - I under P*) /
    I under P-hat (section 8.4). The last two are measured.

    Parameters
    ----------
    shape : sequence of int
        (a1, a2).
    instances : iterable of int
        Numbers of the instances; results do not depend on which others are computed along.
    epsilons : sequence of float
        Privacy levels in nats.
    betas : sequence of float
        Significance levels of the uncertainty set F.
    order : float
        Renyi order of F.
    records, concentration, seed
        As in `sample`.
    mechanisms : sequence of str
        Names in the catalogue.
    tolerance, max_rounds
        As in `optimal_robust`.

    Returns
    -------
    DataFrame
        As `tables.RESULTS`.

    Raises
    ------
    TableError
        If a certificate fails, or F contains P* and a robust mechanism leaks more than epsilon under P*.
    ValueError
        If an argument is out of range or a mechanism unknown.
    """
    tables = (
        (
            instance,
            *sample(shape, instance, records=records, concentration=concentration, seed=seed),
        )
        for instance in instances
    )
    return _study("", tables, epsilons, betas, order, mechanisms, tolerance, max_rounds, seed)


def around(
    counts: ArrayLike | pd.DataFrame,
    instances: Iterable[int],
    epsilons: Sequence[float],
    *,
    name: str,
    betas: Sequence[float] = (0.05,),
    order: float = 2.0,
    concentration: float = 0.5,
    mechanisms: Sequence[str] = ALL,
    tolerance: float = 1e-6,
    max_rounds: int = 300,
    seed: int,
) -> pd.DataFrame:
    """Compute the mechanisms as `study` does, with truths that a table of counts makes plausible.

    P* is sampled from its distribution given the table, Dirichlet with the counts added to the concentration,
    and as many records as the table has are sampled from it.

    Parameters
    ----------
    counts : array_like of int or DataFrame, shape (a1, a2)
    name : str
        Of the table, which the size of the result has beside it.
    instances, epsilons, betas, order, concentration, mechanisms, tolerance, max_rounds, seed
        As in `study`.

    Returns
    -------
    DataFrame
        As `tables.RESULTS`.

    Raises
    ------
    TableError, ValueError
        As `study`.
    """
    given = np.asarray(counts, dtype=np.float64)
    if given.ndim != 2 or given.sum() < 1:
        raise ValueError(f"The counts have shape {given.shape}; they must be (sensitive, other), not all 0.")

    def sampled(instance: int) -> tuple[int, FloatArray, FloatArray]:
        rng = generator(seed, f"lopuhaa2024 around {name}", given.size, instance)
        truth = rng.dirichlet(given.ravel() + concentration)
        table = rng.multinomial(int(given.sum()), truth).astype(np.float64)
        return instance, truth.reshape(given.shape), table.reshape(given.shape)

    tables = map(sampled, instances)
    return _study(name, tables, epsilons, betas, order, mechanisms, tolerance, max_rounds, seed)


def _study(
    name: str,
    tables: Iterable[tuple[int, FloatArray, FloatArray]],
    epsilons: Sequence[float],
    betas: Sequence[float],
    order: float,
    mechanisms: Sequence[str],
    tolerance: float,
    max_rounds: int,
    seed: int,
) -> pd.DataFrame:
    """Compute the mechanisms on tables of counts, each with its number and its truth."""
    rows: list[Row] = []
    for instance, truth, counts in tables:
        for beta in betas:
            ball = RenyiBall.confidence(counts, beta=beta, order=order)
            place = place_of("synthetic", f"{instance:03d}", beta, ball)
            if name:
                place["size"] += f" ({name})"
            h, covered = entropy(ball.centre), bool(ball.contains(truth, tol=0.0))
            try:
                for epsilon in epsilons:
                    for solution in solve(
                        ball, epsilon, mechanisms, tolerance=tolerance, max_rounds=max_rounds
                    ):
                        rows += solution.certified(place, h)
                        if solution.channel is not None:
                            rows += _realized(solution, solution.channel, truth, covered, place)
            except (ArithmeticError, RuntimeError) as error:
                error.add_note(f"In {place['size']}, {place['instance']}, beta {beta:g}, with seed {seed}.")
                raise
        _log.info("%s, %03d: %d levels", place["size"], instance, len(epsilons))
    return RESULTS.table(rows)


def _realized(
    solution: Solution, channel: Channel, truth: FloatArray, covered: bool, place: Place
) -> Iterator[Row]:
    weight = truth.sum(axis=1, keepdims=True)
    conditionals = np.divide(truth, weight, out=np.zeros_like(truth), where=weight > 0)
    leak = float(rldp_epsilon(channel, conditionals))
    robust = MECHANISMS[solution.mechanism].robust
    if covered and robust and leak > solution.epsilon + PRIVACY_TOLERANCE:
        raise TableError(
            f"{solution.mechanism} leaks {leak} under P* in {place['size']}, {place['instance']}, which F "
            f"contains; its limit is {solution.epsilon}."
        )
    yield solution.measured(place, REALIZED, leak, "nats", COVERED if covered else MISSED)
    true = mutual_information(truth, channel)
    lost = solution.value - true
    relative = lost / solution.value if solution.value > 0 else 0.0 if lost == 0 else -math.inf
    yield solution.measured(place, DIFFERENCE, relative, "1")
