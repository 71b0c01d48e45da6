r"""The error of what is estimated from the reports of a mechanism.

Of n people with the distribution p of records, each draws a report y from a channel, independently. Unbiased
estimates of A p from the frequencies of reports are F q-hat with F Q' = A. The best F at p leaves the error

    n MSE = min_F sum_y q_y |F_y|^2 - |A p|^2 = tr(A M^-1 A') - |A p|^2,   M = sum_y Q_y Q_y' / q_y,

the bound of Cramer and Rao, which maximum likelihood reaches as n grows. As M p = 1, constants cancel: with
A_c = A - A p 1' and d_y = Q_y / q_y - 1,

    n MSE = tr(A_c S^-1 A_c'),   S = sum_y q_y d_y d_y',

so that a channel which tells little costs no digits. The error exists where the rows of A_c are in the span
of the d_y.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.designs.settings import SETTINGS
from ldpfrontier.model.channel import Channel
from ldpfrontier.numerics.arguments import as_instance, as_numbers, excerpt


def estimation_error(channel: Channel, prior: ArrayLike, target: ArrayLike | None = None) -> float:
    """Return the mean square error of the best unbiased estimate, times the number of people.

    Divide by the number of people n to get the expected sum of squared errors, and divide by the error that
    is wanted to get how many people are needed.

    Parameters
    ----------
    channel : Channel
        With which every person reports once.
    prior : array_like, any shape
        The distribution of the records, flattened row-major.
    target : {"sensitive", "useful"} or array_like, shape (k, inputs), optional
        What is estimated: probabilities of all inputs if None, the distribution of the rows or of the columns
        of a prior of two dimensions, or the products of this matrix with the probabilities of the inputs.

    Returns
    -------
    float
        Without a unit; inf if no estimate is unbiased.

    Raises
    ------
    ValueError
        If an argument is of another kind, or the sizes do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpfrontier import Channel, estimation_error
    >>> float(round(estimation_error(Channel(np.eye(2)), [0.25, 0.75]), 9))
    0.375
    """
    as_instance(channel, Channel, "The channel")
    p = channel.flat_prior(prior)
    shape = np.shape(prior)
    rows = target_rows(target, p.size, (shape[0], shape[1]) if len(shape) == 2 else None)
    return _error(channel.matrix, p / p.sum(), rows)


def _error(matrix: FloatArray, p: FloatArray, rows: FloatArray) -> float:
    """Return n MSE of the channel with a matrix, (inputs, outputs), for rows, (k, inputs)."""
    q = p @ matrix
    never = matrix[:, (q <= 0) & (matrix > 0).any(axis=0)]
    wanted, columns = centred(rows, p), (matrix[:, q > 0] / q[q > 0] - 1.0).T
    units = input_units(p)
    if never.size:  # What such reports are worth in an estimate costs nothing at p.
        free = null_space(never.T)
        wanted, columns, units = wanted @ free, columns @ free, np.ones(free.shape[1])
    if not wanted.size or not np.abs(wanted).max() > 0:
        return 0.0
    largest = float(np.abs(wanted).max())
    basis, sizes = orthonormal_span(columns * units * np.sqrt(q[q > 0])[:, None])
    scaled = wanted / largest * units
    parts = scaled @ basis.T
    if is_outside(scaled, parts @ basis):
        return math.inf
    return float(((parts / sizes) ** 2).sum()) * largest**2


def target_rows(target: ArrayLike | None, inputs: int, table: tuple[int, int] | None) -> FloatArray:
    """Return the matrix A of what is estimated, shape (k, inputs); ValueError if it is no target.

    The target is as of `estimation_error`; the table has the numbers of sensitive and useful values, if
    inputs are pairs of these.
    """
    if target is None:
        return np.eye(inputs)
    if isinstance(target, str):
        if target not in ("sensitive", "useful"):
            raise ValueError(
                f"The target is {excerpt(target)}; it must be 'sensitive', 'useful', a matrix with a column"
                " for each input, or None for all inputs."
            )
        if table is None or math.prod(table) != inputs:
            raise ValueError(
                f"The target is {target!r}, but the inputs are not known to be pairs of a sensitive and a"
                " useful value; the prior must then be a table with a row for each sensitive value."
            )
        a1, a2 = table
        sides = (np.eye(a1), np.ones((1, a2))) if target == "sensitive" else (np.ones((1, a1)), np.eye(a2))
        return np.asarray(np.kron(*sides), dtype=np.float64)
    rows = as_numbers(target, "The target")
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != inputs:
        raise ValueError(
            f"The target has the shape {rows.shape}; it must be a matrix with a row for each number that is"
            f" estimated and a column for each of the {inputs} inputs."
        )
    if not (np.abs(rows) <= SETTINGS.largest_weight).all():
        raise ValueError(
            f"The target has an entry that is not a number between -{SETTINGS.largest_weight:g} and"
            f" {SETTINGS.largest_weight:g}."
        )
    return rows


def centred(rows: FloatArray, p: FloatArray) -> FloatArray:
    """Return A - A p 1', with zeros for what is rounding: the part of A that varies, shape (k, inputs)."""
    means = rows @ p
    varying = rows - means[:, None]
    size = np.abs(rows) + np.abs(rows) @ p[:, None]
    return np.where(np.abs(varying) > 16 * p.size * np.finfo(float).eps * size, varying, 0.0)


def input_units(p: FloatArray) -> FloatArray:
    """Return the units in which inputs are measured, so that rare ones count: sqrt(p), (inputs,)."""
    return np.sqrt(np.maximum(p, 1e-6 / p.size))  # below that share of the average, as if they had it


def orthonormal_span(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of the span of columns, (m, a), as rows, and their singular values."""
    _, sizes, basis = np.linalg.svd(columns, full_matrices=False)
    kept = sizes > SETTINGS.rank * sizes.max(initial=1e-300)
    return basis[kept], sizes[kept]


def is_outside(rows: FloatArray, parts: FloatArray) -> bool:
    """Tell whether rows, (k, a), are outside a span: whether they differ from their parts within it."""
    return bool(np.linalg.norm(rows - parts) > SETTINGS.rank * np.linalg.norm(rows))
