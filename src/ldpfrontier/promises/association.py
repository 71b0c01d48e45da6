r"""The most informative mechanism that is private for acquaintances.

The cone of its columns is that of `joint.association_cone`. The column program over it is solved by the
engine for any cone (`mechanism`), with a certificate, for tables with few cells. On larger ones columns are
searched for by linear programs (`engines.columns.association_program`), from the optimum under every
distribution on, and the chain rule gives a bound (`association_bound`). Two cases have a closed
form: with one sensitive value nothing is protected, and at the level 0 a mechanism sees no more of U than
what no odds ratio tells apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.joint.association_cone import AssociationCone
from ldpfrontier.engines.joint.settings import SETTINGS as JOINT
from ldpfrontier.engines.joint.unasked import unasked_association
from ldpfrontier.engines.products.product_optimum import allowed_level
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import secret_randomized_response
from ldpfrontier.model.optimum import (
    Optimum,
    certified,
    checked_epsilon,
    keeps_time_limit,
    recorded_failure,
    records_fallbacks,
)
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_count, as_instance, as_number
from ldpfrontier.promises.mechanism import optimal_mechanism
from ldpfrontier.promises.nonrobust import Observed, check_observed, told_as_it_is
from ldpfrontier.promises.settings import SETTINGS
from ldpfrontier.promises.unasked import unasked_optimum
from ldpfrontier.promises.unconditional import optimal_unconditional
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon

_PRIVATE = "private for all who know something about U"
_MECHANISMS = f"mechanisms {_PRIVATE}"


@records_fallbacks
@keeps_time_limit
def optimal_association(
    odds: OddsRatios,
    epsilon: float,
    *,
    observed: Observed = "both",
    tolerance: float = 1e-3,
    max_nodes: int | None = None,
    max_rounds: int = GENERATION.usual_rounds,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the best mechanism that protects S from acquaintances, who know anything about U alone.

    A report changes the odds of two values of S by at most e^eps for everybody whose knowledge Z of the
    person concerns U alone, Z - U - S: those who know nothing, those who know U, and all between them,
    whatever the marginal distributions of S and U are (docs/beyond/theorems.md, statement 11). Utility is
    I(S, U; Y) under the estimate.

    Parameters
    ----------
    odds : OddsRatios
        Intervals of the odds ratios, with the estimate.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 30.
    observed : {"both", "useful"}
        What the mechanism sees: S and U, or U alone, where S is not asked and the intervals come from another
        table (docs/beyond/theorems.md, statement 18). Of U alone there are up to 16 values.
    tolerance : float
        Relative gap at which to stop, 0 or more; 1e-4 is the finest one.
    max_nodes : int, optional
        Nodes of branch and bound per pricing: 200,000 by default, and on tables of more than 16 cells
        20,000, for the bound alone.
    max_rounds : int
        Rounds of the search on tables of more than 16 cells, 1 or more. With the bound, all of them take
        half a minute of one core on a table of 16 x 7 cells and up to two minutes on one of 15 x 16.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.

    Returns
    -------
    Optimum
        Inputs (s, u) in row-major order; inputs u if U alone is observed. Its level is
        `association_epsilon`. On tables of up to 16 cells the
        gap is mostly at most the tolerance; on larger ones the mechanism is found by a search, and the bound
        is far above it (docs/beyond/theorems.md).

    Raises
    ------
    ValueError
        If an argument is something else or out of range, or the estimate has a useful value without any
        probability.

    Examples
    --------
    >>> from ldpfrontier import OddsRatios, optimal_association
    >>> odds = OddsRatios.confidence([[30, 20], [10, 40]])
    >>> optimal_association(odds, 1.0).status
    'optimal'
    """
    as_instance(odds, OddsRatios, "The odds ratios")
    epsilon = checked_epsilon(epsilon, SETTINGS.max_epsilon)
    tolerance = as_number(tolerance, "tolerance", "a relative gap, 0 or more", least=0.0)
    if max_nodes is not None:
        max_nodes = as_count(max_nodes, "max_nodes", "a whole number, 0 or more")
    rounds = as_count(max_rounds, "max_rounds", "a whole number, 1 or more", least=1)
    a1, a2 = odds.shape
    utility = MutualInformation(odds.prior)
    empty = odds.prior.sum(axis=0) == 0.0
    if empty.any():
        raise ValueError(
            f"Useful value {int(empty.argmax())} has no probability in the estimate; every value of U must"
            " occur, as what is not seen has no utility."
        )
    unasked = check_observed(observed)
    if unasked and a1 == 1:
        return told_as_it_is(odds.prior, tolerance, _PRIVATE)
    if a1 == 1 or epsilon == 0.0:
        channel = Channel(np.eye(a2)) if a1 == 1 else _without_any_difference(odds)
        value = utility(channel)
        method = choose("closed form").method(_MECHANISMS)
        if unasked:  # the same at every s
            channel = Channel(channel.matrix[:a2])
        return certified(channel, value, value, tolerance, method=method)
    if unasked:
        ratios = unasked_association(AssociationCone(odds, epsilon))
        return unasked_optimum(odds.prior, ratios, tolerance, _PRIVATE, max_nodes)
    regime = choose("association", Call(a1 * a2))
    if regime.name == "joint":
        nodes = JOINT.association_nodes if max_nodes is None else max_nodes
        cone = AssociationCone(odds, epsilon)
        found = optimal_mechanism(utility, cone, tolerance=tolerance, max_nodes=nodes)
        return replace(found, method=regime.method(_MECHANISMS))
    nodes = JOINT.joint_nodes if max_nodes is None else max_nodes
    from ldpfrontier.promises.association_bound import association_bound

    bound = association_bound(odds, epsilon, nodes)
    channel, found_in = _searched(odds, epsilon, a1 * a2 <= LIMITS.max_master_cells, rounds, tolerance)
    method = regime.method(_MECHANISMS)
    return certified(channel, utility(channel), bound, tolerance, found_in, method=method)


def _searched(
    odds: OddsRatios, epsilon: float, columns: bool, rounds: int, tolerance: float
) -> tuple[Channel, int]:
    """Return the best mechanism that is found, and the rounds of the search for columns, if there is one."""
    # Private under every distribution, and so for acquaintances.
    channels, number = [secret_randomized_response(*odds.shape, epsilon)], 0
    utility = MutualInformation(odds.prior)
    with recorded_failure("secret randomized response", ArithmeticError, RuntimeError, Intractable):
        # Relative gap of the optimum under every distribution that a search against those who know something
        # about U starts from.
        everybody = optimal_unconditional(odds.prior, epsilon, tolerance=1e-2, max_rounds=rounds)
        channels.append(everybody.channel)
    if columns:
        from ldpfrontier.engines.columns.association_program import AssociationProgram
        from ldpfrontier.engines.columns.column_search import searched_columns

        program = AssociationProgram(AssociationCone(odds, epsilon), odds.prior)
        with recorded_failure("the best mechanism under every distribution", ArithmeticError, RuntimeError):
            channel, number = searched_columns(program, epsilon, utility, channels, rounds, tolerance)
            channels.append(channel)
    # Rounding may put a mechanism beyond its level.
    kept = [q for q in channels if association_epsilon(q, odds) <= allowed_level(epsilon)]
    return max(kept, key=utility), number


def _without_any_difference(odds: OddsRatios) -> Channel:
    """Return the channel that tells apart the values of U whose odds ratios are all 1, and nothing else.

    It is optimal at level 0, where every column is equal at all s, and at two values of U with another odds
    ratio: each mechanism that is allowed is a processing of this one.
    """
    linked = np.asarray((odds.low < 1.0).any(axis=(0, 1)), dtype=np.bool_)
    number, kinds = connected_components(linked, directed=False)
    return Channel(np.tile(np.eye(number)[kinds], (len(odds.prior), 1)))
