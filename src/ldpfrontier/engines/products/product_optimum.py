r"""The optimum over columns that are products of blocks, with a bound: of PolyOpt, and of other classes.

The rays of such a cone are products of block vertices, too many to list. Three steps avoid that:

1. **Decomposition** (`products.decomposition`): an upper bound with its duals, from one small LP.
2. **Coupling**: the block weights of that LP are coupled into columns: a mechanism.
3. **Column generation** over the joint columns from that start, where the coupling leaves a gap: to the exact
   optimum on small tables (`smoothed`). On larger ones the decomposition is refined in its place, and a
   linear program weights the columns of the coupling: on Adult 16 x 7 and 15 x 16 that leaves gaps of up to
   6e-5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.smoothed import (
    Family,
    RowSumError,
    basic_channel,
    generate,
    start_columns,
)
from ldpfrontier.engines.products.decomposition import Decomposition, Explore
from ldpfrontier.engines.products.geometry.polytope import Block
from ldpfrontier.engines.products.geometry.vertex_list import VertexList
from ldpfrontier.engines.products.pricing import BlockProduct
from ldpfrontier.engines.products.pricing_error import pricing_error
from ldpfrontier.engines.products.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.information import entropy
from ldpfrontier.model.optimum import BoundError, Optimum, certified, recorded_failure
from ldpfrontier.model.utility import Columns, MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp, check_time, time_is_up


def allowed_level(epsilon: float) -> float:
    """Return the privacy level that a start for `epsilon` may have, rounding included, in nats."""
    # By how many nats the level of a start may exceed epsilon; below 1 nat, by that share of it.
    return epsilon + 1e-9 * min(1.0, epsilon)


def block_product(lower: FloatArray, centre: FloatArray, epsilon: float) -> BlockProduct:
    """Return the product of the blocks of PolyOpt, given L_{u|s} and P-hat, (a1, a2) each."""
    blocks = list[VertexList]()
    for L, P in zip(lower, centre, strict=True):
        check_time()
        blocks.append(Block(L, P, epsilon))
    return BlockProduct(blocks, centre)


def over_products(
    product: BlockProduct,
    family: Family,
    explore: Explore,
    epsilon: float,
    known: Sequence[Channel],
    *,
    tolerance: float,
    max_rounds: int,
    refine: bool = False,
) -> Optimum:
    """Return the optimum over a family of which most columns are those of a product, by a decomposition.

    Above `max_master_cells` cells there are no restricted masters: their dense programs take minutes, and of
    so many values little is lost in coupling. Mechanisms that are known are used. `explore` is that of the
    decomposition, which may be refined.
    """
    utility = MutualInformation(product.centre)
    large = product.centre.size > LIMITS.max_master_cells
    decomposition = Decomposition(product, epsilon, SETTINGS.max_simplex_work if large else math.inf)
    gap = max(SETTINGS.finest_gap, GENERATION.inner_share * tolerance)
    duals = decomposition.solve(explore, gap=gap).ravel()
    if refine:
        duals = _refined(product, decomposition, duals, max(tolerance, GENERATION.finest_gap))
    if not large:
        # There is the coupling where the time is up before a restricted master is solved, or where columns
        # cannot make up for the tolerance of the linear program, so that rows do not sum to 1.
        with (
            recorded_failure("the coupling of the decomposition", RowSumError, np.linalg.LinAlgError),
            suppress(TimeIsUp),
        ):
            product.resolution = GENERATION.inner_share * tolerance * float(duals.sum())
            starts = (columns for channel in known for columns in start_columns(channel, utility))
            return generate(
                family,
                Columns.join([decomposition.columns(), *starts]),
                utility,
                tolerance=tolerance,
                max_rounds=max_rounds,
                stable_duals=duals,
                error=partial(pricing_error, [product]),
            )
    best = max([basic_channel(*decomposition.weighted_columns()), *known], key=utility)
    bound = min(float(duals.sum()), entropy(product.centre))
    noise = BoundError(noise=pricing_error([product], duals))
    return replace(certified(best, utility(best), bound, tolerance, error=noise), prices=duals)


def _refined(
    product: BlockProduct, decomposition: Decomposition, duals: FloatArray, aim: float
) -> FloatArray:
    """Refine a decomposition if the coupling of its weights loses more than the aim; return the best duals.

    Those given, (a1 a2,), are feasible for all columns of the product, as those returned are.
    """
    if time_is_up() or decomposition.coupling_loss() <= aim:
        return duals
    with recorded_failure("the coupling before its refinement", ArithmeticError, RuntimeError, ValueError):
        refined = decomposition.refine(gap=GENERATION.inner_share * aim).ravel()
        product.resolution = GENERATION.inner_share * aim * float(duals.sum())
        raised = refined + product.price(refined, 0)[0] * product.scale
        return raised if raised.sum() < duals.sum() else duals
    return duals
