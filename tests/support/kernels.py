"""Compile the kernels of the package, in parts: ``kernels.py blocks|bodies|papers``.

What is compiled lies in ``__pycache__``, for all processes, and for copies of the package that keep it.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

import numpy as np

import ldpfrontier


def blocks() -> None:
    """Compile linear programs over joint columns, and the pricing of products of blocks."""
    from ldpfrontier.engines.joint.spatial_branch_and_bound import joint_optimum

    joint_optimum(ball(2, 2), 1.0)
    ldpfrontier.optimal_robust(ball(8, 6), 3.0, max_rounds=1)


def bodies() -> None:
    """Compile the search for vertices of bodies, and the bounds on them."""
    from ldpfrontier.engines.over_set.ball_family import BallFamily
    from ldpfrontier.engines.projections.projection_class import class_bound

    class_bound(BallFamily(ball(4, 5), 1.0, distinct=False), 1e-2, 1_000)
    ldpfrontier.optimal_robust(ball(7, 5), 1.0, envelope="exact", max_rounds=1)


def papers() -> None:
    """Compile what the smallest run of the pipeline needs besides."""
    ldpfrontier.independent_reporting(ball(2, 2), 1.0)
    table = ldpfrontier.RenyiBall.confidence([[7, 10], [26, 57]])
    ldpfrontier.robust_certificate(ldpfrontier.optimal_robust(table, 1.0), table, 1.0)
    ldpfrontier.extreme_rays(ldpfrontier.polyopt_cone(table.lower_bounds, 1.0).inequalities)
    ldpfrontier.optimal_leakage([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]], 0.05, tolerance=0.1)
    ldpfrontier.optimal_leakage([[0.5, 0.5], [0.3, 0.7]], 0.01, outputs=2)
    ldpfrontier.information_leakage([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]], 0.1, tolerance=0.1)


def ball(a1: int, a2: int) -> ldpfrontier.RenyiBall:
    return ldpfrontier.RenyiBall.confidence(np.random.default_rng(0).integers(20, 400, (a1, a2)))


def compile_all() -> None:
    """Compile all parts at the same time, in processes of their own."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda part: run([sys.executable, __file__, part], check=True), PARTS))


PARTS = {"blocks": blocks, "bodies": bodies, "papers": papers}

if __name__ == "__main__":
    PARTS[sys.argv[1]]()
