"""Documents: a mechanism in whole numbers, and claims of its level, its utility and of bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.certificates.numbers import (
    WholeRows,
    level_text,
    ratio_texts,
    text_above,
    text_below,
    whole_channels,
    written_channel,
)
from ldpfrontier.certificates.settings import SETTINGS
from ldpfrontier.certificates.staircase import staircase_proof
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Optimum, checked_epsilon
from ldpfrontier.numerics.arguments import as_instance

#: A document, and a claim of one, as `json` writes them.
JsonDocument = dict[str, Any]
JsonClaim = dict[str, Any]

#: Price of an input, in nats, where no mechanism of the level tells anything; the checker's logarithms are
#: nearer than that.
LEAST_PRICE = Decimal("1e-22")


def new_document(about: JsonDocument) -> JsonDocument:
    """Return a document about a utility, with no channel and no claims."""
    return {"format": verify.FORMAT, "version": verify.VERSION, "utility": about, "claims": []}


def read(document: JsonDocument) -> verify.Document:
    """Return what the claims of a document are about."""
    # Reading wants a claim; which one does not matter.
    with localcontext(verify.EXACT):
        return verify.read_document(document | {"claims": [{}]})[0]


def utility_claim(about: verify.Document) -> JsonClaim:
    """Return the claim that a channel has its utility, rounded down."""
    with localcontext(verify.EXACT):
        return {"kind": "utility", "at least": text_below(verify.value(about)[0])}


def proved(about: JsonDocument, bound: Callable[[Sequence[float]], JsonClaim]) -> JsonClaim:
    """Return the tightest claim of a bound that the checker proves; Intractable if there is none.

    The function `bound` makes a claim, given by how much prices may be raised, relatively.
    """
    for i in range(len(SETTINGS.slacks)):
        claim = bound(SETTINGS.slacks[i:])
        try:
            verify.check(new_document(about) | {"claims": [claim]})
            return claim
        except verify.Unproved:
            continue
    raise Intractable("No bound was found that the checker proves.")


def level_claim(kind: str, epsilon: float) -> Callable[[WholeRows], list[JsonClaim]]:
    """Return what claims a level of a channel that needs no proof of its own."""
    return lambda _: [{"kind": kind, "epsilon": level_text(epsilon), "t": ratio_texts(epsilon)[0]}]


def assembled(
    about: JsonDocument,
    bounds: list[JsonClaim],
    matrix: FloatArray,
    levels: Callable[[WholeRows], list[JsonClaim]],
    constant: FloatArray | None = None,
) -> JsonDocument:
    """Return the document of bounds and a channel, mixed with its mean by as much as its levels need.

    Of a channel in whole numbers, `levels` returns what is claimed of its privacy; `constant` is as in
    `whole_channels`. ValueError if not even a share of 1e-3 of it makes the channel private enough.
    """
    document = new_document(about)
    read_once = read(document)
    for rows in whole_channels(matrix, constant):
        claims = levels(rows)
        read_once = read_once._replace(channel=[[*row] for row in rows], denominator=sum(rows[0]))
        try:
            with localcontext(verify.EXACT):
                for claim in claims:
                    verify.RULES[claim["kind"]](read_once, claim)
        except verify.Unproved:
            continue
        claims = [*bounds, utility_claim(read_once), *claims]
        return document | {"channel": written_channel(rows), "claims": claims}
    raise ValueError("The mechanism is less private than the level given, even mixed with its mean.")


def priced_tree(
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


def bound_level(epsilon: float) -> JsonClaim:
    """Return the level of a bound, and a ratio that is at least e^epsilon."""
    return {"epsilon": level_text(epsilon), "t": ratio_texts(epsilon)[1]}


def priced(prices: list[str]) -> JsonClaim:
    """Return prices and their sum, rounded up."""
    with localcontext(verify.EXACT):
        return {"bound": text_above(sum(map(Decimal, prices), Decimal(0))), "prices": prices}


def checked_optimum(optimum: Optimum, inputs: int, epsilon: float) -> float:
    """Return the level, after checking the optimum."""
    as_instance(optimum, Optimum, "The optimum")
    if optimum.channel.n_inputs != inputs or not math.isfinite(optimum.bound):
        raise ValueError(
            f"The optimum has {optimum.channel.n_inputs} inputs and the bound {optimum.bound:.6g}; it must"
            f" have {inputs} inputs, and a finite bound."
        )
    return checked_epsilon(epsilon)
