"""HiGHS, as every linear program of the package uses it: one thread, tight tolerances, warm starts."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpfrontier.base.types import FloatArray
from ldpfrontier.numerics.deadline import check_time, seconds_left, time_ended
from ldpfrontier.numerics.settings import SETTINGS

TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")


def new_lp() -> highspy.Highs:
    """Return an empty HiGHS maximization: one thread, tight tolerances, primal simplex.

    Primal simplex because columns are added to a solved program, which keeps its basis primal feasible.
    """
    lp = highspy.Highs()  # type: ignore[no-untyped-call]
    lp.silent()
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("presolve", "off")
    lp.setOptionValue("simplex_strategy", 4)
    for option in TOLERANCES:
        lp.setOptionValue(option, SETTINGS.lp_tolerance)
    lp.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return lp


def add_column(lp: highspy.Highs, cost: float, rows: NDArray[np.integer], entries: FloatArray) -> None:
    """Add a non-negative variable with the given objective coefficient and (sparse) column."""
    lp.addCol(cost, 0.0, highspy.kHighsInf, len(rows), np.asarray(rows, dtype=np.int32), entries)


def add_columns(lp: highspy.Highs, costs: FloatArray, columns: FloatArray) -> None:
    """Add non-negative variables with the given objective coefficients, (n,), and columns, (n, rows)."""
    nothing, no_limit = np.zeros(len(costs)), np.full(len(costs), highspy.kHighsInf)
    lp.addCols(len(costs), costs, nothing, no_limit, *_sparse(columns))


def _sparse(matrix: FloatArray | csr_array) -> tuple[int, NDArray[np.int32], NDArray[np.int32], FloatArray]:
    """Return the entries of a matrix row by row, as HiGHS takes them."""
    if isinstance(matrix, csr_array):
        first, index = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
        return matrix.nnz, first, index, np.asarray(matrix.data)
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(len(matrix)))
    return len(row), start.astype(np.int32), column.astype(np.int32), matrix[row, column]


class OutOfIterations(RuntimeError):
    """A program is not solved within its limit of simplex iterations."""


def solve(
    lp: highspy.Highs, most_iterations: int = highspy.kHighsIInf
) -> tuple[float, FloatArray, FloatArray]:
    """Run the program; return its objective, primal values and row duals.

    OutOfIterations if it takes more simplex iterations than allowed, TimeIsUp if longer than the time limit
    allows, and RuntimeError if HiGHS reports no optimum, neither from the last basis nor from scratch with
    looser tolerances.
    """
    lp.setOptionValue("simplex_iteration_limit", most_iterations)
    _run(lp)
    if lp.getModelStatus() == highspy.HighsModelStatus.kIterationLimit:
        raise OutOfIterations(f"HiGHS found no optimum with {most_iterations:,} simplex iterations.")
    if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        # A degenerate basis can defeat the tightest tolerances. Looser ones cost accuracy of the weights,
        # never of the certificate: a dual bound holds at any prices.
        for option in TOLERANCES:
            lp.setOptionValue(option, 100 * SETTINGS.lp_tolerance)
        lp.clearSolver()
        _run(lp)
        for option in TOLERANCES:
            lp.setOptionValue(option, SETTINGS.lp_tolerance)
    status = lp.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(
            f"HiGHS stopped with status {lp.modelStatusToString(status)!r}; expected 'Optimal'."
        )
    solution = lp.getSolution()
    return (
        float(lp.getInfo().objective_function_value),
        np.asarray(solution.col_value, dtype=np.float64),
        np.asarray(solution.row_dual, dtype=np.float64),
    )


def _run(lp: highspy.Highs) -> None:
    """Run the program, until the time is up at most."""
    check_time()
    # HiGHS counts the time of all runs of a program.
    lp.setOptionValue("time_limit", lp.getRunTime() + seconds_left())
    lp.run()
    if lp.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        raise time_ended()


def maximize(
    cost: FloatArray,
    matrix: FloatArray | csr_array,
    lower: FloatArray,
    upper: FloatArray,
    least: FloatArray | None = None,
    most: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray] | None:
    """Maximize cost . x subject to lower <= matrix x <= upper and least <= x <= most (0 and infinity).

    The matrix has shape (m, n); zeros of a dense one are left out. Limits may be infinite. Return the value,
    x and the duals of the rows, with errors as of `solve`; None if the program is infeasible.
    """
    rows, columns = matrix.shape
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows, columns
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = cost
    model.row_lower_, model.row_upper_ = lower, upper
    model.col_lower_ = np.zeros(columns) if least is None else least
    model.col_upper_ = np.full(columns, np.inf) if most is None else most
    count, start, index, entries = _sparse(matrix)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.append(start, np.int32(count))
    model.a_matrix_.index_, model.a_matrix_.value_ = index, entries
    lp = new_lp()
    lp.passModel(model)
    _run(lp)
    if lp.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return None
    return solve(lp)
