"""Certificates of optima of lopuhaa2024: documents that anyone can check."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence

from ldpfrontier.certificates.document import Document
from ldpfrontier.certificates.robust import nonrobust_certificate, robust_certificate
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solutions import PAPER, Place, Solution
from reproduction.results.certificates import document_row
from reproduction.results.tables import Row

_log = logging.getLogger(__name__)


def documents(ball: RenyiBall, place: Place, solutions: Sequence[Solution]) -> Iterator[Row]:
    """Yield the documents of the optima among solutions; levels over F are proved for orders above 1."""
    for solution in solutions:
        optimum, epsilon = solution.optimum, solution.epsilon
        if optimum is None:
            continue
        if solution.mechanism != "nr" and not (ball.order > 1.0 and math.isfinite(ball.radius)):
            continue
        if solution.mechanism == "nr":
            document = nonrobust_certificate(optimum, ball.centre, epsilon)
        else:
            document = robust_certificate(optimum, ball, epsilon)
        _log.info("%s, epsilon %g: certificate of %s", place["instance"], epsilon, solution.mechanism)
        yield row_of(PAPER, place, solution, document)


def row_of(paper: str, place: Place, solution: Solution, document: Document) -> Row:
    """Return the row of the document of a solution, with the key of the paper that computes it."""
    return document_row(
        paper=paper, experiment=place["experiment"], size=place["size"], instance=place["instance"],
        mechanism=solution.mechanism, epsilon=solution.epsilon, value=solution.value, bound=solution.bound,
        document=document,
    )  # fmt: skip
