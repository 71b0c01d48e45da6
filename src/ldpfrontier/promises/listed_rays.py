"""Optima over polyhedral cones whose extreme rays can be listed: all of them are priced."""

from __future__ import annotations

from dataclasses import replace

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.engines.column_generation.smoothed import generate
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.engines.listed.listed_columns import ListedColumns
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.engines.listed.simplex_columns import SimplexColumns
from ldpfrontier.engines.listed.staircase_rays import local_ratio, staircase_rays
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.cones import Cone, PolyhedralCone
from ldpfrontier.model.optimum import Optimum, certified, fell_back, one_line
from ldpfrontier.model.utility import SublinearUtility

#: What the mechanisms of `optimal_mechanism` are.
MECHANISMS = "columns of the cone"


def listed_optimum(
    utility: SublinearUtility,
    cone: Cone,
    tolerance: float = SETTINGS.tolerance,
    rays: FloatArray | None = None,
) -> Optimum | None:
    """Return the best mechanism with columns in a cone, with a bound; None where its rays are not listed.

    The rays are listed if they are not given.
    """
    rays = listed_rays(cone) if rays is None else rays
    if rays is None or not isinstance(cone, PolyhedralCone | SimplexColumns):
        return None
    family = ListedColumns(rays, utility)
    found = generate(family, family.start(), utility, tolerance=tolerance, max_rounds=SETTINGS.max_rounds)
    channel = cone.mix_inside(found.channel)
    optimum = certified(
        channel,
        utility(channel),
        found.bound,
        tolerance,
        found.iterations,
        unit=utility.unit,
        method=choose("any cone", Call(inputs=rays.shape[1], listed=True)).method(MECHANISMS),
    )
    return replace(optimum, prices=found.prices)


def listed_rays(cone: Cone) -> FloatArray | None:
    """Return the extreme rays of a polyhedral cone, (rays, inputs), or None where they are too many."""
    if isinstance(cone, SimplexColumns):
        return cone.rays
    inputs = cone.shape[0] * cone.shape[1]
    if inputs <= LIMITS.max_staircase_inputs and (ratio := local_ratio(cone)) is not None:
        return staircase_rays(inputs, ratio)
    if not isinstance(cone, PolyhedralCone) or inputs > LIMITS.max_ray_inputs:
        return None
    try:
        return extreme_rays(cone.inequalities)
    except Intractable as error:
        fell_back(f"spatial branch and bound, as the list of rays is too long: {one_line(error)}")
        return None
