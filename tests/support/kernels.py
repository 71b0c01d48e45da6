"""Compile the kernels of the package, in two halves that take about as long: ``kernels.py blocks|bodies``.

What is compiled lies in ``__pycache__``, for all processes, and for copies of the package that keep it.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

import numpy as np

import ldpfrontier


def blocks() -> None:
    """Compile linear programs over joint columns, and the pricing of products of blocks."""
    from ldpfrontier.optimal.exact.spatial_branch_and_bound import joint_optimum

    joint_optimum(ball(2, 2), 1.0)
    ldpfrontier.optimal_robust(ball(8, 6), 3.0, max_rounds=1)


def bodies() -> None:
    """Compile the search for vertices of bodies, and the bounds on them."""
    ldpfrontier.optimal_robust(ball(4, 5), 1.0, envelope="projections", max_rounds=1, max_nodes=1_000)
    ldpfrontier.optimal_robust(ball(4, 5), 1.0, envelope="exact", max_rounds=1)


def ball(a1: int, a2: int) -> ldpfrontier.RenyiBall:
    return ldpfrontier.RenyiBall.confidence(np.random.default_rng(0).integers(20, 400, (a1, a2)))


def compile_all() -> None:
    """Compile both halves at the same time, in processes of their own."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda half: run([sys.executable, __file__, half], check=True), HALVES))


HALVES = {"blocks": blocks, "bodies": bodies}

if __name__ == "__main__":
    HALVES[sys.argv[1]]()
