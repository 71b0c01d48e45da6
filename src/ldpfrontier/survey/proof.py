"""The certificate of the level of a channel to use, for a checker that needs nothing of this package."""

from __future__ import annotations

import json
from typing import Any

from ldpfrontier import verify
from ldpfrontier.certificates.association import ASSUMED_ODDS, association_claim
from ldpfrontier.certificates.document import level_claim, new_document, read, utility_claim
from ldpfrontier.certificates.numbers import written_channel
from ldpfrontier.certificates.privacy import uncertainty_claim
from ldpfrontier.certificates.robust import ASSUMED
from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.settings import SETTINGS


def level_certificate(private: PrivateChannel) -> dict[str, Any]:
    """Return a document that claims the promised levels for the whole numbers that are sampled.

    Parameters
    ----------
    private : PrivateChannel

    Raises
    ------
    ValueError
        If the order of F is 1 or less, or its radius infinite: its level is computed, and not proved.
    """
    ball, document, rows = private.ball, _without_claims(private), private.weights.tolist()
    levels, against = private.certificate.levels, private.certificate.against
    claims = document["claims"]
    if not private.table.useful:
        claims += level_claim("local privacy", levels.record)(rows)
    elif against == "insider-only":
        claims += level_claim("privacy given U", levels.insider)(rows)
    elif ball is None or against == "anyone":
        claims += level_claim("unconditional privacy", levels.anyone)(rows)
    elif against == "acquaintance" and private.odds is not None:
        claims.append(association_claim(private.odds, levels.acquaintance))
        document["note"] = ASSUMED_ODDS
    else:
        claims.append(uncertainty_claim(ball, levels.outsider, rows))
        document["note"] = ASSUMED
    return document


def _without_claims(private: PrivateChannel) -> dict[str, Any]:
    """Return the document of a channel, with no claims."""
    table = [[str(n) for n in row] for row in private.table.counts.tolist()]
    document = new_document({"kind": "mutual information", "table": table})
    return document | {"channel": written_channel(private.weights.tolist())}


def channel_certificate(private: PrivateChannel) -> str:
    """Return the text of a certificate file for a channel: its utility, and those levels that are proved.

    The note says what is assumed, or that a level over F is not proved: where F is of an order of at most 1,
    or the channel has more entries than a few seconds allow.
    """
    document, said = _proved_document(private)
    if not said:
        document = _without_claims(private)
        if private.certificate.against in ("insider-only", "acquaintance"):
            given = level_claim("privacy given U", private.certificate.levels.insider)
            document["claims"] += given(private.weights.tolist())
        document["note"] = "The level that is promised was computed, and is not proved here."
    document["claims"] = [utility_claim(read(document)), *document["claims"]]
    return json.dumps(document, indent=1) + "\n"


def proved_levels(private: PrivateChannel) -> str:
    """Return the sentences of the checker about the promised levels, or nothing if it does not prove them.

    Channels of more entries than a few seconds allow are not tried, nor orders of F of at most 1.
    """
    return "; ".join(_proved_document(private)[1])


def _proved_document(private: PrivateChannel) -> tuple[dict[str, Any], list[str]]:
    """Return the document of the levels and the sentences of the checker; both are empty without a proof."""
    if private.weights.size > SETTINGS.max_proved_entries:
        return {}, []
    try:
        document = level_certificate(private)
        return document, verify.check(document)
    except (ValueError, verify.Unproved):
        return {}, []
