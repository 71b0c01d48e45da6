"""Certificate documents for the optima of `optimal_ldp`."""

from __future__ import annotations

from collections.abc import Sequence

from ldpfrontier.base.types import Intractable
from ldpfrontier.certificates.approximate import approximate_bound, approximate_level, excess_prices
from ldpfrontier.certificates.document import (
    JsonClaim,
    JsonDocument,
    assembled,
    bound_level,
    checked_optimum,
    level_claim,
    priced,
    priced_tree,
    proved,
)
from ldpfrontier.certificates.numbers import weight_texts
from ldpfrontier.engines.registry import LIMITS
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_instance, as_number


def ldp_certificate(
    optimum: Optimum, utility: MutualInformation, epsilon: float, delta: float = 0.0
) -> JsonDocument:
    """Return a document that proves an optimum of `optimal_ldp` to `ldp-frontier verify`.

    It has the mechanism in whole numbers, its level and its utility, and a bound on all mechanisms: in most
    cases 5e-10 above that of the optimum, relatively. `json.dumps` makes a file of it.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_ldp`.
    utility : MutualInformation
    epsilon : float
        In nats, as given to `optimal_ldp`.
    delta : float
        As given to `optimal_ldp`.

    Raises
    ------
    Intractable
        If the proof would be too large, as with more than 7 inputs and a delta above 0.
    ValueError
        If an argument is none of those, or the mechanism has another number of inputs, or is less private.
    """
    as_instance(utility, MutualInformation, "The utility")
    epsilon = checked_optimum(optimum, len(utility.prior), epsilon)
    delta = as_number(delta, "delta", "a probability, 0 to 1", least=0.0, most=1.0)
    about: JsonDocument = {"kind": "mutual information", "prior": weight_texts(utility.prior)}
    if delta > 0:
        return _approximate(about, optimum, utility, epsilon, delta)

    def bound(slacks: Sequence[float]) -> JsonClaim:
        prices, tree = priced_tree(utility.prior, epsilon, optimum, slacks)
        return {"kind": "ldp bound", **bound_level(epsilon), **priced(prices), "trees": [tree]}

    return assembled(
        about, [proved(about, bound)], optimum.channel.matrix, level_claim("local privacy", epsilon)
    )


def _approximate(
    about: JsonDocument, optimum: Optimum, utility: MutualInformation, epsilon: float, delta: float
) -> JsonDocument:
    """Return the document of an optimum at a delta above 0."""
    if (k := len(utility.prior)) > LIMITS.max_approximate_inputs:
        raise Intractable(
            f"The prior has {k} inputs; with a delta above 0 there are certificates for at most"
            f" {LIMITS.max_approximate_inputs}."
        )
    prices = excess_prices(utility, epsilon, delta)
    bound = proved(about, lambda slacks: approximate_bound(prices, epsilon, delta, slacks[0]))
    return assembled(about, [bound], optimum.channel.matrix, approximate_level(epsilon, delta))
