"""What reports tell about S and about U alone, and how well tables are estimated from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from beyond.catalogue import ABOUT_SENSITIVE, ABOUT_USEFUL, CELLS, ERRORS
from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.error import estimation_error
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import mutual_information

#: What is said of an infinite error.
CANNOT_BE_ESTIMATED = "cannot be estimated: the reports of no number of people determine it"


class ReportedMetric(NamedTuple):
    """A metric of the reports of a mechanism, its value and unit, and what is to be said of it."""

    metric: str
    value: float
    unit: str
    note: str = ""


def measures(channel: Channel, prior: FloatArray) -> Iterator[ReportedMetric]:
    """Yield I(S; Y) and I(U; Y) in nats, and the errors of `error_measures`, of reports on (S, U)."""
    matrix = channel.matrix.reshape(*prior.shape, -1)
    yield ReportedMetric(ABOUT_SENSITIVE, _about_rows(prior, matrix), "nats")
    yield ReportedMetric(ABOUT_USEFUL, _about_rows(prior.T, matrix.swapaxes(0, 1)), "nats")
    yield from error_measures(channel, prior)


def error_measures(channel: Channel, prior: FloatArray) -> Iterator[ReportedMetric]:
    """Yield n MSE of the best unbiased estimate of each target of `catalogue.ERRORS`, infinite if none is."""
    for target, metric in ERRORS.items():
        error = estimation_error(channel, prior, None if target == CELLS else target)
        yield ReportedMetric(metric, error, "1", "" if math.isfinite(error) else CANNOT_BE_ESTIMATED)


def _about_rows(prior: FloatArray, matrix: FloatArray) -> float:
    """Return the information about the row of a pair in nats; the matrix is (rows, columns, outputs)."""
    mass = prior.sum(axis=1)
    # A row that nobody is in may report anything.
    given = np.divide(
        prior, mass[:, None], out=np.full_like(prior, 1.0 / prior.shape[1]), where=mass[:, None] > 0
    )
    return mutual_information(mass, Channel(np.einsum("su,suy->sy", given, matrix)))
