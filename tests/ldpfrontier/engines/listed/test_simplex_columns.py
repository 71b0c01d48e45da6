"""Columns of U alone over simplices: their cuts, rays, and what brings a column inside."""

from __future__ import annotations

import numpy as np
import pytest

from ldpfrontier.engines.listed.simplex_columns import SimplexColumns
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import polyopt_cone


@pytest.mark.parametrize("known", [False, True])
def test_cuts_rays_and_mixing_agree_with_all_inequalities(known: bool) -> None:
    rng = np.random.default_rng(5)
    lower = rng.dirichlet(np.ones(4), size=3) * (1.0 if known else 0.8)
    cone = SimplexColumns(lower, 0.7)
    rows = polyopt_cone(lower, 0.7).inequalities.reshape(-1, 3, 4).sum(axis=1)
    columns = rng.random((20, 4))
    worst = np.einsum("mpx,mx->mp", cone.separate(columns), columns).max(axis=1)
    assert worst == pytest.approx((columns @ rows.T).max(axis=1), abs=1e-12)
    assert cone.rays is not None
    assert (cone.rays @ rows.T).max() <= 1e-12
    inside = cone.pull(columns)[0]
    assert (inside @ rows.T).max() <= 1e-12
    assert cone.violation(inside) <= 1e-12
    mixed = cone.mix_inside(Channel(np.eye(4))).matrix
    assert np.abs((mixed @ rows.T).max()) <= 1e-12
