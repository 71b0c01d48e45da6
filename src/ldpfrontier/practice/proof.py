"""The certificate of the level of a channel to use, for a checker that needs nothing of this package."""

from __future__ import annotations

from typing import Any

from ldpfrontier import verify
from ldpfrontier.certificates.document import level_claim
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
    counts, ball = private.table.counts, private.ball
    levels, against = private.certificate.levels, private.certificate.against
    table = [[str(n) for n in row] for row in counts.tolist()]
    document: dict[str, Any] = {
        "format": verify.FORMAT,
        "version": verify.VERSION,
        "utility": {"kind": "mutual information", "table": table},
        "channel": {
            "denominator": str(1 << BITS),
            "rows": [[str(n) for n in row] for row in private.weights.tolist()],
        },
    }
    claims: list[dict[str, Any]] = []
    if ball is None:
        claims += level_claim("local privacy", levels.record)(document)
    elif against == "anyone":
        claims += level_claim("unconditional privacy", levels.anyone)(document)
    else:
        claims.append(uncertainty_claim(ball, levels.outsider, document["channel"]))
        document["note"] = ASSUMED
        if against == "insider":
            claims += level_claim("privacy given U", levels.insider)(document)
    return document | {"claims": claims}


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
