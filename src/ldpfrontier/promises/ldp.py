r"""Optimal locally differentially private mechanisms (kairouz2016, Theorems 2 and 4).

The best eps-LDP mechanism is made of staircase columns v_T, v_T(x) = 1 for x in T and e^-eps elsewhere ::

    maximize sum_T theta_T mu(v_T)   subject to   sum_T theta_T v_T = 1,  theta >= 0.

Dual prices alpha of the inputs with mu(v_T) <= alpha . v_T for all 2^k sets T prove that no mechanism has
more than sum(alpha). With a delta above 0, other columns are listed (`approximate`). How mechanism and
duals are found depends on the utility:

- up to 20 inputs: column generation over the list of all columns (`exact_cover`);
- f-divergences with more: the best partition of the inputs into blocks, by a theorem (`f_divergence`);
- mutual information with more: packings, which nearly attain a converse (`packing`);
- the least of several utilities: the columns of optima of their averages (`column_generation.several`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldpfrontier.base.types import Intractable
from ldpfrontier.engines.column_generation.settings import SETTINGS as GENERATION
from ldpfrontier.engines.column_generation.several import least_of
from ldpfrontier.engines.listed.approximate import (
    excess_rows,
    mixture_with_truth,
    optimal_approximate,
    within,
)
from ldpfrontier.engines.listed.exact_cover import optimal_exact_cover
from ldpfrontier.engines.listed.f_divergence import optimal_partition
from ldpfrontier.engines.listed.settings import SETTINGS
from ldpfrontier.engines.registry import LIMITS, Call, choose
from ldpfrontier.model.average_utility import checked_utilities
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import (
    Optimum,
    check_start,
    checked_effort,
    checked_epsilon,
    keeps_time_limit,
    records_fallbacks,
    uninformative,
)
from ldpfrontier.model.utility import FDivergence, MutualInformation, SublinearUtility, Utility, check_utility
from ldpfrontier.numerics.arguments import as_number

_MECHANISMS = "locally differentially private mechanisms"
_APPROXIMATE = "approximately locally differentially private mechanisms"


@records_fallbacks
@keeps_time_limit
def optimal_ldp(
    utility: Utility | Sequence[SublinearUtility],
    epsilon: float,
    delta: float = 0.0,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
    start: Channel | None = None,
    max_seconds: float | None = None,
) -> Optimum:
    """Find the best (eps, delta)-locally differentially private mechanism, with a certificate.

    The upper bound holds for all 2^k staircase columns. With up to 20 inputs prices of the inputs prove it,
    and the mechanism attains it, up to the tolerance. With more inputs, the bound for an f-divergence rests
    on a theorem (Ghazi, arXiv 2606.07443): it is the utility of the best partition of the inputs into blocks.
    The bound for mutual information is a universal one, which a packing of the inputs approaches more closely
    the more inputs there are.

    Parameters
    ----------
    utility : Utility or sequence of them
        `MutualInformation` on up to 50,000 inputs, `FDivergence` on up to 4,000, any other one on up to 20.
        A sequence means the least of its utilities, such as f-divergences over pairs of hypotheses: up to 110
        of them on the same inputs, at most 20, and in the same unit.
    epsilon : float
        Privacy level in nats, 0, or 0.001 to 300; any type of number. With a generator of one's own the bound
        is 1e-12 higher, as its digits may cancel: at small epsilon that leaves the result "bounded".
    delta : float
        The chance of what epsilon does not bound, 0, or 1e-9 to 1 (kairouz2016, (33)). Above 0,
        epsilon is at most 30, and the optimum is certified for up to 7 inputs. With more, up to 2,000, the
        mechanism tells the input with probability delta and is else the optimum of delta 0. Of total
        variation that is the optimum; otherwise the bound is loose.
    tolerance : float
        Relative gap at which to stop, whatever the size of the utility.
    max_rounds : int
        Most LPs to solve; when they are used up the result has status "bounded". With more than 20 inputs
        there are limits below that, which keep the time to seconds.
    start : Channel, optional
        A staircase mechanism on the same inputs, such as the optimum at another epsilon. Its columns are
        among the first ones that are considered, which saves rounds and changes nothing else. It is not
        used for an `FDivergence` with more than 20 inputs, whose best mechanism is found without a linear
        program, or where a packing needs none; and refused with a delta above 0.
    max_seconds : float, optional
        Seconds after which the best mechanism and bound found so far are returned, as "bounded"; 0 or more.
        The best partition is found whatever the limit: in a second with 3,000 inputs.

    Returns
    -------
    Optimum
        At delta 0 the channel has at most k outputs, more for several utilities, and the entries of each
        column have ratios of 1 or e^eps. The value is in the unit of the utility. For mutual information with
        more than 256 inputs, the channel
        has no more outputs than the tolerance needs (usually some hundreds), and at most 10^7 entries.

    Raises
    ------
    Intractable
        If there are more inputs than that, or more than 20 for another utility, or 7 for it with a delta
        above 0, for which all columns are listed.
    ValueError
        If epsilon is out of range, `max_seconds` is negative or no number, or `start`
        has another number of inputs; or delta is above 0, and the utility of the input itself infinite.
    """
    several = tuple[SublinearUtility, ...]()
    if isinstance(utility, Sequence):
        several = checked_utilities(utility)
        utility = several[0]
    check_utility(utility)
    epsilon = checked_epsilon(epsilon)
    delta = as_number(delta, "delta", "a probability, 0 to 1", least=0.0, most=1.0)
    tolerance, max_rounds = checked_effort(tolerance, max_rounds)
    k = len(utility.prior)
    check_start(start, k)
    if len(several) > 1:
        return _least(several, epsilon, delta, tolerance, max_rounds, start)
    if delta > 0:
        return _approximate(utility, epsilon, delta, tolerance, max_rounds, start)
    if epsilon == 0 or k == 1:
        return uninformative(k, utility.unit, choose("closed form").method(_MECHANISMS))
    divergence = isinstance(utility, FDivergence)
    most = SETTINGS.max_divergence_inputs if divergence else SETTINGS.max_information_inputs
    if k > most:
        raise Intractable(f"The utility has {k} inputs; at most {most:,} are supported.")
    if not isinstance(utility, FDivergence | MutualInformation) and k > LIMITS.max_listed_inputs:
        raise Intractable(f"The prior has {k} inputs; at most {LIMITS.max_listed_inputs} are supported.")
    information = isinstance(utility, MutualInformation)
    kind = "f-divergence" if divergence else "mutual information" if information else "any"
    regime = choose("LDP", Call(k, utility=kind))
    if isinstance(utility, FDivergence) and regime.name == "partition":
        found = optimal_partition(utility, epsilon, tolerance=tolerance)
    elif regime.name == "listed" or not isinstance(utility, MutualInformation):
        found = optimal_exact_cover(utility, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start)
    elif (occurs := utility.prior > 0).all():
        from ldpfrontier.engines.listed.packing import optimal_packing

        found = optimal_packing(utility, epsilon, tolerance=tolerance, max_rounds=max_rounds, start=start)
    else:
        # Inputs that never occur have the row of the first one that does.
        found = optimal_ldp(
            MutualInformation(utility.prior[occurs]),
            epsilon,
            tolerance=tolerance,
            max_rounds=max_rounds,
            start=None if start is None else Channel(start.matrix[occurs]),
        )
        rows = np.where(occurs, np.cumsum(occurs) - 1, 0)
        return replace(found, channel=Channel(found.channel.matrix[rows]))
    return replace(found, method=regime.method(_MECHANISMS))


def _least(
    utilities: Sequence[SublinearUtility],
    epsilon: float,
    delta: float,
    tolerance: float,
    max_rounds: int,
    start: Channel | None,
) -> Optimum:
    """Return the optimum of the least of several utilities."""
    k, most = len(utilities[0].prior), LIMITS.max_listed_inputs
    if delta > 0:
        most = LIMITS.max_approximate_inputs
    if k > most:
        raise Intractable(
            f"The utilities have {k} inputs; the least of several is maximized with at most {most}"
            f"{' at a delta above 0' if delta > 0 else ''}, for which all columns are listed."
        )

    def solve(utility: SublinearUtility) -> Optimum:
        each = GENERATION.inner_share * tolerance
        return optimal_ldp(utility, epsilon, delta, tolerance=each, max_rounds=max_rounds, start=start)

    found = least_of(
        utilities,
        solve,
        (lambda channel: within(channel.matrix, epsilon, delta)) if delta > 0 else (lambda channel: channel),
        tolerance=tolerance,
        max_rounds=max_rounds,
        excesses=(lambda vectors: excess_rows(vectors, epsilon) / delta) if delta > 0 else None,
    )
    return replace(found, method=choose("several").method(_APPROXIMATE if delta > 0 else _MECHANISMS))


def _approximate(
    utility: Utility, epsilon: float, delta: float, tolerance: float, max_rounds: int, start: Channel | None
) -> Optimum:
    """Return the optimum at a delta above 0; with more inputs than columns are listed for, a mixture."""
    k = len(utility.prior)
    if delta < SETTINGS.smallest_delta:
        raise ValueError(f"delta is {delta:g}; it must be 0, or from {SETTINGS.smallest_delta:g} to 1.")
    if epsilon > SETTINGS.max_approximate_epsilon:
        raise ValueError(
            f"epsilon is {epsilon:g}; with a delta above 0 it must be at most"
            f" {SETTINGS.max_approximate_epsilon:g} nats."
        )
    if start is not None:
        raise ValueError("A start is of use at delta 0 alone.")
    if not isinstance(utility, SublinearUtility):
        raise ValueError("The utility has no values of columns of any mass, which a delta above 0 needs.")
    if k == 1:
        return uninformative(k, utility.unit, choose("closed form").method(_APPROXIMATE))
    if not np.isfinite(utility(Channel(np.eye(k)))):
        raise ValueError(
            "The utility of the input itself is infinite, and that of telling it with a chance delta as well;"
            " with a delta above 0 it must be finite."
        )
    regime = choose("approximate LDP", Call(k))
    if regime.name == "listed":
        found = optimal_approximate(utility, epsilon, delta, tolerance=tolerance, max_rounds=max_rounds)
    elif not isinstance(utility, FDivergence | MutualInformation):
        raise Intractable(
            f"The prior has {k} inputs; with a delta above 0 and another utility at most"
            f" {LIMITS.max_approximate_inputs} are supported, as all columns are listed."
        )
    elif k > SETTINGS.max_mixture_inputs:
        raise Intractable(
            f"The utility has {k} inputs; with a delta above 0 at most {SETTINGS.max_mixture_inputs:,} are"
            " supported."
        )
    else:
        nothing = optimal_ldp(utility, epsilon, tolerance=tolerance, max_rounds=max_rounds)
        found = mixture_with_truth(utility, nothing.channel, epsilon, delta, tolerance)
    return replace(found, method=regime.method(_APPROXIMATE))
