"""The certificate of the level of a channel to use, for a checker that needs nothing of this package."""

from __future__ import annotations

import json
from decimal import localcontext
from typing import Any

from ldpfrontier import verify
from ldpfrontier.certificates.document import level_claim
from ldpfrontier.certificates.numbers import text_below
from ldpfrontier.certificates.privacy import uncertainty_claim
from ldpfrontier.certificates.robust import ASSUMED
from ldpfrontier.practice.channel_file import PrivateChannel
from ldpfrontier.practice.sampling import BITS
from ldpfrontier.practice.settings import SETTINGS


def level_certificate(private: PrivateChannel) -> dict[str, Any]:
    """Return a document that claims, of the whole numbers that are sampled, the levels that are promised.

    Parameters
    ----------
    private : PrivateChannel

    Raises
    ------
    ValueError
        If the order of F is 1 or less, or its radius infinite: its level is computed, and not proved.
    """
    ball, document = private.ball, _without_claims(private)
    levels, against = private.certificate.levels, private.certificate.against
    claims = document["claims"]
    if ball is None:
        claims += level_claim("local privacy", levels.record)(document)
    elif against == "anyone":
        claims += level_claim("unconditional privacy", levels.anyone)(document)
    else:
        claims.append(uncertainty_claim(ball, levels.outsider, document["channel"]))
        document["note"] = ASSUMED
        if against == "insider":
            claims += level_claim("privacy given U", levels.insider)(document)
    return document


def _without_claims(private: PrivateChannel) -> dict[str, Any]:
    """Return the document of a channel, with no claims."""
    return {
        "format": verify.FORMAT,
        "version": verify.VERSION,
        "utility": {
            "kind": "mutual information",
            "table": [[str(n) for n in row] for row in private.table.counts.tolist()],
        },
        "channel": {
            "denominator": str(1 << BITS),
            "rows": [[str(n) for n in row] for row in private.weights.tolist()],
        },
        "claims": [],
    }


def channel_certificate(private: PrivateChannel) -> str:
    """Return the text of a certificate file of a channel: its utility, and its levels as far as proved.

    The note says what is assumed, or that a level over F is not proved: where F is of an order of at most 1,
    or the channel has more entries than a few seconds allow.
    """
    document = None
    if private.weights.size <= SETTINGS.max_proved_entries:
        try:
            document = level_certificate(private)
            verify.check(document)
        except (ValueError, verify.Unproved):
            document = None
    if document is None:
        document = _without_claims(private)
        if private.certificate.against == "insider":
            document["claims"] += level_claim("privacy given U", private.certificate.levels.insider)(document)
        document["note"] = "The level that is promised was computed, and is not proved here."
    with localcontext(verify.EXACT):
        least = text_below(verify.value(verify.read_document({**document, "claims": [{}]})[0])[0])
    document["claims"] = [{"kind": "utility", "at least": least}, *document["claims"]]
    return json.dumps(document, indent=1) + "\n"


def proved_levels(private: PrivateChannel) -> str:
    """Return what the checker says of the levels that are promised; nothing if it does not prove them.

    Channels of more entries than a few seconds allow are not tried, nor orders of F of at most 1.
    """
    if private.weights.size > SETTINGS.max_proved_entries:
        return ""
    try:
        return "; ".join(verify.check(level_certificate(private)))
    except (ValueError, verify.Unproved):
        return ""
