"""The mechanisms of lopuhaa2024 and the optimum over F, solved and certified."""

from __future__ import annotations

from functools import partial

from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.promises.robust import optimal_robust
from papers.lopuhaa2024 import solutions
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.solutions import Problem, Solvers


def _exact(problem: Problem) -> Optimum:
    return optimal_robust(
        problem.ball,
        problem.epsilon,
        envelope="exact",
        tolerance=problem.tolerance,
        max_rounds=problem.max_rounds,
        # A class does at least as well as one within it, also where a solve stops early.
        start=problem.solved.get("polyopt"),
        # The bounds of large tables are a table of their own.
        max_nodes=0 if problem.ball.centre.size > LIMITS.max_joint_cells else None,
    )


#: Those of lopuhaa2024, and after PolyOpt, from which it starts, the optimum over F.
SOLVERS: Solvers = {"polyopt": solutions.SOLVERS["polyopt"], "exact": _exact, **solutions.SOLVERS}

#: Every mechanism of the catalogue.
ALL = tuple(MECHANISMS)

#: As `lopuhaa2024.solutions` has them.
solve = partial(solutions.solve, solvers=SOLVERS)
evaluate = partial(solutions.evaluate, solvers=SOLVERS)
