"""Certificate documents for the optima of `optimal_ldp`."""

from __future__ import annotations

from collections.abc import Sequence

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
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.arguments import as_instance


def ldp_certificate(optimum: Optimum, utility: MutualInformation, epsilon: float) -> JsonDocument:
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

    Raises
    ------
    Intractable
        If the proof would be too large.
    ValueError
        If an argument is none of those, or the mechanism has another number of inputs, or is less private.
    """
    as_instance(utility, MutualInformation, "The utility")
    epsilon = checked_optimum(optimum, len(utility.prior), epsilon)
    about: JsonDocument = {"kind": "mutual information", "prior": weight_texts(utility.prior)}

    def bound(slacks: Sequence[float]) -> JsonClaim:
        prices, tree = priced_tree(utility.prior, epsilon, optimum, slacks)
        return {"kind": "ldp bound", **bound_level(epsilon), **priced(prices), "trees": [tree]}

    return assembled(
        about, [proved(about, bound)], optimum.channel.matrix, level_claim("local privacy", epsilon)
    )
