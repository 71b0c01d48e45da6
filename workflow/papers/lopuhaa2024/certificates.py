"""Certificates of optima of lopuhaa2024: documents that anyone can check."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpfrontier.certificates.document import JsonDocument
from ldpfrontier.certificates.nonrobust import document_over_set, nonrobust_certificate
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.example import EPSILON, example_ball, example_polyopt
from papers.lopuhaa2024.solution import PAPER, Place, Solution, place_of, read_solutions
from reproduction.results.certificates import DOCUMENTS, OptimumPlace, document_row
from reproduction.results.tables import BOUNDED, OPTIMAL, Row

_log = logging.getLogger(__name__)


def documents(
    solutions: pd.DataFrame,
    counts: ArrayLike | pd.DataFrame,
    *,
    beta: float,
    order: float,
    paper: str = PAPER,
) -> pd.DataFrame:
    """Return the documents of the optima among solutions for one table of counts, which were kept.

    The set F around the counts is that of `experiments.solutions`. `paper` is the key of whoever computed
    them.
    """
    ball = RenyiBall.confidence(np.asarray(counts), beta=beta, order=order)
    found = ((solution, known["place"]) for solution, known in read_solutions(solutions, "fig2"))
    return DOCUMENTS.table(_rows(paper, ball, found))


def example_documents() -> pd.DataFrame:
    """Return the document of PolyOpt of Example 3."""
    ball = example_ball()
    return documents_of_example(PAPER, ball, "polyopt", example_polyopt(ball))


def documents_of_example(paper: str, ball: RenyiBall, name: str, x: Optimum) -> pd.DataFrame:
    """Return the document of an optimum for the set F of the examples, with the key of who computes it."""
    solution = Solution(name, EPSILON, x.channel, x.status, x.value, x.bound)
    place = place_of("example", "Example 3", 0.05, ball)
    return DOCUMENTS.table(_rows(paper, ball, [(solution, place)]))


def _rows(paper: str, ball: RenyiBall, solutions: Iterable[tuple[Solution, Place]]) -> Iterator[Row]:
    """Yield the documents of the optima among solutions; levels over F are proved for orders above 1."""
    for solution, place in solutions:
        channel, epsilon = solution.channel, solution.epsilon
        if channel is None or solution.status not in (OPTIMAL, BOUNDED):
            continue
        if solution.mechanism != "nr" and not (ball.order > 1.0 and math.isfinite(ball.radius)):
            continue
        optimum = Optimum(channel, solution.value, solution.bound, solution.status, solution.iterations or 0)
        if solution.mechanism == "nr":
            document = nonrobust_certificate(optimum, ball.centre, epsilon)
        else:
            document = document_over_set(optimum, ball, epsilon)
        _log.info("%s, epsilon %g: certificate of %s", place["instance"], epsilon, solution.mechanism)
        yield row_of(paper, place, solution, document)


def row_of(paper: str, place: Place, solution: Solution, document: JsonDocument) -> Row:
    """Return the row of the document of a solution, with the key of the paper that computes it."""
    about = OptimumPlace(
        paper, place["experiment"], place["size"], place["instance"], solution.mechanism, solution.epsilon
    )
    return document_row(about, solution.value, solution.bound, document)
