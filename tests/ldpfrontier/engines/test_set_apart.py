"""Optima of usual sizes import nothing that large tables and alphabets need alone."""

from __future__ import annotations

import subprocess
import sys

USUAL = """
import numpy as np
import ldpfrontier as l

table = np.array([[15, 5, 10], [10, 35, 25]])
ball, odds = l.RenyiBall.confidence(table), l.OddsRatios.confidence(table)
prior = np.arange(1.0, 21.0) / 210.0
l.optimal_ldp(l.MutualInformation(prior), 1.0)
l.optimal_ldp(l.FDivergence(prior, prior[::-1]), 1.0)
l.optimal_robust(ball, 1.0)
l.optimal_robust(ball, 1.0, envelope="exact", max_nodes=50)
l.optimal_unconditional(ball.centre, 1.0)
l.optimal_nonrobust(ball.centre, 1.0)
l.optimal_association(odds, 1.0, max_nodes=50)
l.optimal_mechanism(l.MutualInformation(ball.centre), l.robust_cone(ball, 1.0), max_nodes=50)
l.optimal_estimation(ball.centre, l.robust_cone(ball, 1.0), tolerance=0.1)
l.optimal_estimation(ball.centre, l.association_cone(odds, 1.0), tolerance=0.1)
l.optimal_estimation(prior[:4] / prior[:4].sum(), l.local_cone(4, 1.0))

import sys
print(*(name for name in sys.modules if name.startswith("ldpfrontier.")))
"""

#: Of these folders and modules, usual sizes import nothing; the names of the first two say what they need.
LARGE = (
    "engines.columns.",
    "engines.over_set.branch_and_bound",
    "engines.over_set.delta_sweep",
    "engines.over_set.dual_bound",
    "engines.over_set.vertex_tracking",
    "engines.listed.packing",
    "engines.listed.set_pricing",
    "engines.designs.program_columns",
    "engines.designs.staircase_relaxation",
    "engines.designs.staircases",
    "promises.association_bound",
)


def test_optima_of_usual_sizes_import_nothing_for_large_ones() -> None:
    done = subprocess.run([sys.executable, "-c", USUAL], capture_output=True, text=True, check=True)
    loaded = [name.removeprefix("ldpfrontier.") for name in done.stdout.split()]
    assert "engines.joint.spatial_branch_and_bound" in loaded
    assert [name for name in loaded if name.startswith(LARGE)] == []
