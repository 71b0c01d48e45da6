"""Questions that kalantari2018 leaves open: other distortions than Hamming's, and sources on an interval."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.hamming.any_distortion import DistortionProgram, distortion_leakage, least_distortion
from open_questions.summaries import BOUNDED_SUPPORT, DISTORTIONS
from reproduction.results.tables import Row

_log = logging.getLogger(__name__)

#: Largest gap of a leakage, nats.
_TOLERANCE = 1e-7

#: How far below the least distortion of what tells nothing the leakage is computed, too.
_BEFORE = 0.001

#: Outputs for each cell of the programs for the uniform source.
_FINER = 4


def matrix(measure: str, letters: int) -> FloatArray:
    """Return a distortion matrix with the largest entry 1, shape (letters, letters).

    ``line`` is |x - y|. ``tree`` is the distance in a tree of two groups with half of the letters each: 1/2
    within a group, and 1 between them.
    """
    x = np.arange(letters)
    if measure == "line":
        return np.asarray(np.abs(x[:, None] - x) / (letters - 1.0))
    group = 2 * x // letters
    return np.where(x[:, None] == x, 0.0, np.where(group[:, None] == group, 0.5, 1.0))


def distortions(
    *, sources: Mapping[str, Sequence[Sequence[float]]], measure: str, limits: Sequence[float]
) -> pd.DataFrame:
    """Compute the least DP leakage of source sets on the same letters at limits of one distortion.

    A source set, by its class, has a distribution per row. The least distortion that needs no leakage is
    among its limits, with one just below, as the leakage may jump there.
    """
    rows: list[Row] = []
    for name, distributions in sources.items():
        P = np.array(distributions)
        d = matrix(measure, P.shape[1])
        silent = least_distortion(P, d, 0.0).value
        for limit in sorted({*limits, silent - _BEFORE, silent}):
            best = distortion_leakage(P, d, limit, tolerance=_TOLERANCE)
            rows.append(
                {
                    "letters": P.shape[1],
                    "sources": name,
                    "measure": measure,
                    "limit": limit,
                    "value": best.value,
                    "bound": best.bound,
                    "distortion": best.distortion,
                    "status": best.status,
                }
            )
        _log.info("%s, %d letters, Class %s: %d limits", measure, P.shape[1], name, len(limits))
    return DISTORTIONS.table(rows)


# X in [0, 1] with d = |x - y| ----------------------------------------------------------------------------


def bounded_support(*, cells: Sequence[int], epsilons: Sequence[float]) -> pd.DataFrame:
    """Bound the least expected |X - Y| of all mechanisms on [0, 1], from programs with n cells.

    The bounds are those of statement 20 of docs/beyond/theorems.md: over all sources, and of the uniform one,
    whose optimum has a closed form.
    """
    rows: list[Row] = []
    for n in cells:
        for epsilon in epsilons:
            row = {"epsilon": epsilon, "cells": n}
            middles = (np.arange(n) + 0.5) / n
            plain = least_distortion(np.eye(n), _distances(middles, middles), epsilon)
            lower, upper = _any_source(n, epsilon)
            rows.append(row | {"source": "any", "plain": plain.value, "lower": lower, "upper": upper})
            plain = least_distortion(np.full(n, 1.0 / n), _distances(middles, middles), epsilon)
            value, points = uniform_optimum(epsilon)
            rows.append(
                row
                | {
                    "source": "uniform",
                    "plain": plain.value,
                    "lower": plain.bound - 0.25 / n,
                    "upper": _on_cells(n, epsilon),
                    "closed_form": value,
                    "points": points,
                }
            )
        _log.info("%d cells: %d levels", n, len(epsilons))
    return BOUNDED_SUPPORT.table(rows)


def uniform_optimum(epsilon: float) -> tuple[float, int]:
    """Return the least expected |X - Y| of uniform X on [0, 1], and how many outputs attain it: statement 20.

    The level, nats, is above 0.
    """
    m = np.arange(1.0, 4.0 * math.exp(epsilon / 2.0) + 4.0)
    step = -math.log(math.tanh(epsilon / 4.0))
    means = (m + 2.0 * math.sinh(epsilon / 2.0) / np.tanh(m * step / 2.0)) / (
        4.0 * (math.exp(epsilon) + m - 1.0)
    )
    return float(means.min()), int(m[means.argmin()])


def _any_source(n: int, epsilon: float) -> tuple[float, float]:
    """Return the bounds of statement 20 (a): the points k/n alone, and interpolation between them."""
    d = _distances(points := np.arange(n + 1) / n, points)
    k = np.arange(n)
    costs = np.zeros((2 * n + 1, n + 1, n + 1))
    costs[np.arange(n + 1), np.arange(n + 1)] = d
    costs[n + 1 + k, k], costs[n + 1 + k, k + 1] = d[k + 1] / 2.0, d[k] / 2.0
    return least_distortion(np.eye(n + 1), d, epsilon).bound, DistortionProgram(costs).solve(epsilon).value


def _on_cells(n: int, epsilon: float) -> float:
    """Return the least distortion of the uniform source among mechanisms that are constant on n cells."""
    edges, outputs = np.arange(n + 1) / n, np.arange(_FINER * n + 1) / (_FINER * n)
    # The integral of |x - y| from y to an edge.
    to_edge = (edges[:, None] - outputs) * _distances(edges, outputs) / 2.0
    return least_distortion(np.full(n, 1.0 / n), n * np.diff(to_edge, axis=0), epsilon).value


def _distances(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(x[:, None] - y)
