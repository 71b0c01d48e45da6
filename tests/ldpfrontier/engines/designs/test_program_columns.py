"""The linear programs over polyhedral cones are those of all their inequalities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier.engines.designs.program_columns import PolyhedralProgram
from ldpfrontier.model.cones import PolyhedralCone, conditional_cone, polyopt_cone, unconditional_cone
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

BALL = RenyiBall.confidence(np.arange(1, 21).reshape(4, 5) * 10)
CONES = {
    "anyone": unconditional_cone((4, 5), 0.7),
    "simplices": polyopt_cone(BALL.lower_bounds, 0.7, pairs="distinct"),
    "all pairs": polyopt_cone(BALL.lower_bounds, 0.7),
    "both": unconditional_cone((4, 5), 1.0) & conditional_cone((4, 5), 0.4),
    "own": PolyhedralCone(np.vstack([conditional_cone((4, 5), 0.7).inequalities, -np.eye(20)[:1]])),
}


@pytest.mark.parametrize("cone", CONES.values(), ids=CONES)
def test_a_step_is_the_best_column_of_the_cone(cone: PolyhedralCone) -> None:
    rng, p = np.random.default_rng(0), BALL.centre.ravel()
    program = PolyhedralProgram(cone, p)
    for _ in range(6):
        cost = rng.normal(size=p.size)
        for _ in range(4):  # a step ends before all inequalities are known that matter
            column = program.step(cost)[0]
        whole = linprog(-cost, cone.inequalities, np.zeros(len(cone.inequalities)), p[None], [1.0])
        assert cone.violation(column[None]) <= 1e-15
        assert column @ p == pytest.approx(1.0, rel=1e-12)
        assert cost @ column == pytest.approx(-whole.fun, rel=1e-6)
