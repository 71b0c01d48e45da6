"""Certificate documents for the optima of `optimal_ldp`."""

from __future__ import annotations

from collections.abc import Sequence

from ldpfrontier.certificates.divergence import divergence_proof
from ldpfrontier.certificates.document import (
    Claim,
    Document,
    assembled,
    bound_level,
    checked_optimum,
    level_claim,
    priced,
    priced_tree,
    proved,
)
from ldpfrontier.certificates.numbers import text_above, weight_texts
from ldpfrontier.optimum import Optimum
from ldpfrontier.utility import FDivergence, MutualInformation


def ldp_certificate(optimum: Optimum, utility: MutualInformation | FDivergence, epsilon: float) -> Document:
    """Return a document that proves an optimum of `optimal_ldp` to `ldp-frontier verify`.

    It has the mechanism in whole numbers, its level and its utility, and a bound on all mechanisms: in most
    cases 5e-10 above that of the optimum, relatively. `json.dumps` makes a file of it.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_ldp`.
    utility : MutualInformation or FDivergence
        Not with a generator of one's own.
    epsilon : float
        In nats, as given to `optimal_ldp`.

    Raises
    ------
    Intractable
        If the proof would be too large.
    ValueError
        If an argument is none of those, or the mechanism has another number of inputs, or is less private.
    """
    if not isinstance(utility, MutualInformation | FDivergence) or getattr(utility, "f", None) is not None:
        raise ValueError("The utility must be a MutualInformation, or an FDivergence with a kind.")
    epsilon = checked_optimum(optimum, len(utility.prior), epsilon)
    if isinstance(utility, MutualInformation):
        about: Document = {"kind": "mutual information", "prior": weight_texts(utility.prior)}
    else:
        about = {"kind": utility.kind, "p0": weight_texts(utility.p0), "p1": weight_texts(utility.p1)}

    def bound(slacks: Sequence[float]) -> Claim:
        claim: Claim = {"kind": "ldp bound", **bound_level(epsilon)}
        if isinstance(utility, MutualInformation):
            texts, tree = priced_tree(utility.prior, epsilon, optimum, slacks)
            return claim | {**priced(texts), "trees": [tree]}
        if epsilon == 0:
            return claim | {**priced(["0"] * len(utility.prior)), "pieces": [["1", "0"]]}
        prices, pieces = divergence_proof(utility, epsilon, slacks)
        pieces[-1][0] = claim["t"]  # the last interval ends at the ratio as it is written
        return claim | {**priced([text_above(c) for c in prices]), "pieces": pieces}

    return assembled(
        about, [proved(about, bound)], optimum.channel.matrix, level_claim("local privacy", epsilon)
    )
