"""The documents of optima: what no mechanism has, and what the one that was found has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldpfrontier import verify
from ldpfrontier.certificates.divergence import divergence_proof
from ldpfrontier.certificates.numbers import (
    level_text,
    ratio_texts,
    text_above,
    text_below,
    weight_texts,
    whole_channels,
)
from ldpfrontier.certificates.polyopt.claim import polyopt_prices, polyopt_proof
from ldpfrontier.certificates.privacy import uncertainty_claim
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.certificates.staircase import staircase_proof
from ldpfrontier.certificates.unconditional import unconditional_proof
from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_distribution, as_instance
from ldpfrontier.optimal.exact.separation import Pairs
from ldpfrontier.optimal.ldp.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.polyopt.solve import check_class
from ldpfrontier.optimal.robust import Envelope
from ldpfrontier.optimum import MAX_EPSILON, Optimum, checked_epsilon
from ldpfrontier.types import FloatArray, Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import FDivergence, MutualInformation

#: A document, and a claim of one, as `json` writes them.
Document = dict[str, Any]
Claim = dict[str, Any]

#: What no checker can prove of a level over F.
ASSUMED = (
    "Assumed, and not proved: the table is a sample of the population, and with this radius F has the true"
    " distribution in it, at the confidence for which the radius was chosen."
)

#: Where there is nothing to tell: the price of an input in nats.
LEAST_PRICE = Decimal("1e-40")


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
    epsilon = _checked(optimum, len(utility.prior), epsilon)
    if isinstance(utility, MutualInformation):
        about: Document = {"kind": "mutual information", "prior": weight_texts(utility.prior)}
    else:
        about = {"kind": utility.kind, "p0": weight_texts(utility.p0), "p1": weight_texts(utility.p1)}

    def bound(slacks: Sequence[float]) -> Claim:
        claim: Claim = {"kind": "ldp bound", **_level(epsilon)}
        if isinstance(utility, MutualInformation):
            texts, tree = _staircase(utility.prior, epsilon, optimum, slacks)
            return claim | {**_priced(texts), "tree": tree}
        if epsilon == 0:
            return claim | {**_priced(["0"] * len(utility.prior)), "pieces": [["1", "0"]]}
        prices, pieces = divergence_proof(utility, epsilon, slacks)
        pieces[-1][0] = claim["t"]  # the last interval ends at the ratio as it is written
        return claim | {**_priced([text_above(c) for c in prices]), "pieces": pieces}

    return assembled(
        about, [proved(about, bound)], optimum.channel.matrix, level_claim("local privacy", epsilon)
    )


def nonrobust_certificate(optimum: Optimum, estimate: ArrayLike, epsilon: float) -> Document:
    """Return a document that proves an optimum of `optimal_nonrobust` to `ldp-frontier verify`.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_nonrobust`.
    estimate : array_like, shape (a1, a2)
    epsilon : float
        In nats, as given to `optimal_nonrobust`.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`.
    """
    joint = _table(estimate)
    epsilon = _checked(optimum, joint.size, epsilon)
    claim = nonrobust_claim(optimum, joint, epsilon)
    matrix = optimum.channel.matrix
    levels = level_claim("privacy at the table", epsilon)
    return assembled(_about(joint), [claim], matrix, levels, _uninformative_at(joint, matrix))


def unconditional_certificate(optimum: Optimum, prior: ArrayLike, epsilon: float) -> Document:
    """Return a document that proves an optimum of `optimal_unconditional` to `ldp-frontier verify`.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_unconditional`.
    prior : array_like, shape (a1, a2)
        With at least two rows.
    epsilon : float
        In nats, above 0, as given to `optimal_unconditional`.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`.
    """
    joint = _table(prior)
    epsilon = _checked(optimum, joint.size, epsilon)
    if len(joint) < 2 or epsilon == 0:
        raise ValueError("There is nothing to prove with one sensitive value, or at level 0.")

    def bound(slacks: Sequence[float]) -> Claim:
        prices, trees = unconditional_proof(joint, epsilon, optimum.channel, optimum.bound, slacks)
        parts = _priced([text_above(c) for c in prices])
        return {"kind": "unconditional bound", **_level(epsilon), **parts, "trees": trees}

    about = _about(joint)
    levels = level_claim("unconditional privacy", epsilon)
    return assembled(about, [proved(about, bound)], optimum.channel.matrix, levels)


def robust_certificate(
    optimum: Optimum,
    ball: RenyiBall,
    epsilon: float,
    *,
    envelope: Envelope = "simplex",
    pairs: Pairs = "all",
    conditional_epsilon: float | None = None,
) -> Document:
    """Return a document that proves level and utility of an optimum of `optimal_robust`, and a bound.

    With the simplex and all pairs (PolyOpt) the bound is that of the class, found by solving it once more
    from the mechanism. For other classes, with a level given U, and where no proof is found, it is that of
    NR, on all mechanisms that are private over F, which is above the one that was computed.

    Parameters
    ----------
    optimum : Optimum
        Of `optimal_robust`.
    ball : RenyiBall
        F, of an order above 1 and a finite radius.
    epsilon : float
        In nats, as given to `optimal_robust`.
    envelope, pairs, conditional_epsilon
        As given to `optimal_robust`.

    Raises
    ------
    Intractable, ValueError
        As `ldp_certificate`; ValueError also if the mechanism is not in the class.
    """
    as_instance(ball, RenyiBall, "The ball")
    for name, value, allowed in (("envelope", envelope, Envelope), ("pairs", pairs, Pairs)):
        if not isinstance(value, str) or value not in get_args(allowed):
            raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(get_args(allowed))}.")
    joint = ball.centre
    epsilon = _checked(optimum, joint.size, epsilon)
    given = [] if conditional_epsilon is None else [checked_epsilon(conditional_epsilon, MAX_EPSILON)]

    def levels(document: Document) -> list[Claim]:
        found = [uncertainty_claim(ball, epsilon, document["channel"])]
        return found + [claim for level in given for claim in level_claim("privacy given U", level)(document)]

    bounds = []
    if (envelope, pairs) == ("simplex", "all") and not given and epsilon > 0 and ball.radius > 0:
        try:
            check_class(optimum.channel, ball.lower_bounds, epsilon, distinct=False)
        except ValueError:
            raise ValueError(
                "The mechanism is not of PolyOpt over all pairs; envelope and pairs must be those that were"
                " given to optimal_robust."
            ) from None
        with suppress(ArithmeticError, RuntimeError, ValueError):  # what floating point cannot solve or prove
            bounds.append(polyopt_claim(optimum, ball, epsilon))
    if not bounds:
        bounds.append(nonrobust_claim(optimal_nonrobust(joint, epsilon), joint, epsilon))
    return assembled(_about(joint), bounds, optimum.channel.matrix, levels) | {"note": ASSUMED}


def polyopt_claim(optimum: Optimum, ball: RenyiBall, epsilon: float) -> Claim:
    """Return the claim that no mechanism of PolyOpt has more than the optimum, or hardly more."""
    prices, most = polyopt_prices(ball, epsilon, optimum.gap, optimum.channel)

    def bound(slacks: Sequence[float]) -> Claim:
        return {"kind": "polyopt bound", **polyopt_proof(ball, epsilon, prices, most, slacks)}

    return proved(_about(ball.centre), bound)


def nonrobust_claim(optimum: Optimum, joint: FloatArray, epsilon: float) -> Claim:
    """Return the claim that no mechanism that is private at a table has more than NR."""
    table = joint[joint.any(axis=1)]
    sensitive = table.sum(axis=1)
    matrix = optimum.channel.matrix.reshape(*joint.shape, -1)[joint.any(axis=1)]
    secret = np.einsum("su,suy->sy", table / sensitive[:, None], matrix)
    weights = [[Decimal(w) for w in weight_texts(row)] for row in table]
    with localcontext(verify.EXACT):
        rest = verify.conditional_entropy(weights)
    on_sensitive = replace(optimum, channel=Channel(secret), bound=optimum.bound - float(rest))

    def bound(slacks: Sequence[float]) -> Claim:
        prices, tree = _staircase(sensitive, epsilon, on_sensitive, slacks)
        with localcontext(verify.EXACT):
            total = text_above(rest + sum(map(Decimal, prices)))
        parts = {**_level(epsilon), **_priced(prices), "bound": total, "tree": tree}
        return {"kind": "nonrobust bound", **parts}

    return proved(_about(joint), bound)


def proved(about: Document, bound: Callable[[Sequence[float]], Claim]) -> Claim:
    """Return the tightest claim of a bound that the checker proves.

    Parameters
    ----------
    about : dict
        The utility.
    bound : callable
        Given by how much prices may be raised, relatively, a claim.

    Raises
    ------
    Intractable
        If none is proved.
    """
    for i in range(len(SETTINGS.slacks)):
        claim = bound(SETTINGS.slacks[i:])
        document = {"format": verify.FORMAT, "version": verify.VERSION, "utility": about, "claims": [claim]}
        try:
            verify.check(document)
            return claim
        except verify.Unproved:
            continue
    raise Intractable("No bound was found that the checker proves.")


def level_claim(kind: str, epsilon: float) -> Callable[[Document], list[Claim]]:
    """Return what claims a level of a channel that needs no proof of its own."""
    return lambda _: [{"kind": kind, "epsilon": level_text(epsilon), "t": ratio_texts(epsilon)[0]}]


def _uninformative_at(joint: FloatArray, matrix: FloatArray) -> FloatArray | None:
    """Return Q(y|s,u) P(y) / P(y|s), from which nothing is learnt of S if P is the truth.

    It is zero where the channel Q is. None if it is no channel: that of NR is one, as which value of U is
    told for each value of S does not depend on what is told of S.
    """
    blocks = matrix.reshape(*joint.shape, -1)
    told = np.einsum("su,suy->sy", joint, blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(joint.sum(axis=1)[:, None] * told.sum(axis=0) / told, posinf=0.0)
    constant = np.where((joint.sum(axis=1) > 0)[:, None, None], blocks * ratio[:, None, :], blocks)
    return None if abs(constant.sum(axis=2) - 1.0).max() > 1e-6 else constant.reshape(matrix.shape)


def assembled(
    about: Document,
    bounds: list[Claim],
    matrix: FloatArray,
    levels: Callable[[Document], list[Claim]],
    constant: FloatArray | None = None,
) -> Document:
    """Return the document of bounds and a channel, mixed with its mean by as much as its levels need.

    Parameters
    ----------
    about : dict
        The utility.
    bounds : list of dict
        What no mechanism has.
    matrix : ndarray, shape (inputs, outputs)
    levels : callable
        Given a document with a channel, what is claimed of its privacy.
    constant : ndarray, shape (inputs, outputs), optional
        As in `whole_channels`.

    Raises
    ------
    ValueError
        If not even a share of 1e-3 of its mean makes the channel as private as it should be.
    """
    document: Document = {"format": verify.FORMAT, "version": verify.VERSION, "utility": about}
    for channel in whole_channels(matrix, constant):
        document |= {"channel": channel, "claims": []}
        document["claims"] = levels(document)
        try:
            verify.check(document)
        except verify.Unproved:
            continue
        with localcontext(verify.EXACT):
            least = text_below(verify.value(verify.read_document(document)[0])[0])
        document["claims"] = [*bounds, {"kind": "utility", "at least": least}, *document["claims"]]
        return document
    raise ValueError("The mechanism is less private than the level given, even mixed with its mean.")


def _staircase(
    prior: FloatArray, epsilon: float, optimum: Optimum, slacks: Sequence[float]
) -> tuple[list[str], list[str]]:
    """Return prices and a tree for the staircase columns; inputs that never occur have the price 0."""
    occurs = np.flatnonzero(prior > 0)
    prices, t = ["0"] * len(prior), ratio_texts(epsilon)[1]
    if epsilon == 0 or len(occurs) == 1:
        for x in occurs:
            prices[x] = f"{LEAST_PRICE:f}"
        return prices, ["1"] if epsilon == 0 else [f"?{occurs[0]}", t, "1"]
    found, tree = staircase_proof(
        prior[occurs], epsilon, Channel(optimum.channel.matrix[occurs]), optimum.bound, slacks
    )
    for x, price in zip(occurs, found, strict=True):
        prices[x] = text_above(price)
    return prices, [f"?{occurs[int(token[1:])]}" if token[0] == "?" else token for token in tree]


def _level(epsilon: float) -> Claim:
    """Return the level of a bound, and a ratio that is at least e^epsilon."""
    return {"epsilon": level_text(epsilon), "t": ratio_texts(epsilon)[1]}


def _priced(prices: list[str]) -> Claim:
    """Return prices and their sum, rounded up."""
    with localcontext(verify.EXACT):
        return {"bound": text_above(sum(map(Decimal, prices), Decimal(0))), "prices": prices}


def _about(joint: FloatArray) -> Document:
    """Return the mutual information under a table."""
    return {"kind": "mutual information", "table": [weight_texts(row) for row in joint]}


def _table(prior: ArrayLike) -> FloatArray:
    """Return a distribution of (S, U)."""
    joint = as_distribution(prior, "The distribution")
    if joint.ndim != 2:
        raise ValueError(f"The distribution has shape {joint.shape}; it must be (a1, a2), rows = sensitive.")
    return joint


def _checked(optimum: Optimum, inputs: int, epsilon: float) -> float:
    """Return the level, after checking the optimum."""
    as_instance(optimum, Optimum, "The optimum")
    if optimum.channel.n_inputs != inputs or not math.isfinite(optimum.bound):
        raise ValueError(
            f"The optimum has {optimum.channel.n_inputs} inputs and the bound {optimum.bound:.6g}; it must"
            f" have {inputs} inputs, and a finite bound."
        )
    return checked_epsilon(epsilon, MAX_EPSILON)
