"""The document that proves the levels of a channel, for the whole numbers that are sampled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from ldpfrontier import level_certificate, verify
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.channel_file import PrivateChannel


def certified(private: PrivateChannel) -> tuple[dict[str, Any], list[str]]:
    """Return a certificate document for a channel, and what the checker says of the promised level.

    It has the utility and the levels that are proved for the whole numbers that are sampled. The latter is
    empty, and a note in the document says so, where the promised level is computed and not proved: where F is
    of an order of at most 1, or the channel has more entries than a few seconds allow.
    """
    table, levels, against = private.table, private.certificate.levels, private.certificate.against
    around, rows = private.certificate.population, private.weights.tolist()
    # Less than the least level is not certified.
    least = {name: level and max(level, SETTINGS.least_epsilon) for name, level in asdict(levels).items()}
    levels = replace(levels, **least)
    promised = {
        "insider-only": {"privacy given U": levels.insider},
        "outsider": {"privacy over F": levels.outsider},
        "acquaintance": {"privacy for all who know something about U": levels.acquaintance},
        "anyone": {"unconditional privacy": levels.anyone},
    }[against]
    if not table.useful:
        promised = {"local privacy": levels.record}
    ball, odds = (None, None) if around is None else (around.ball(table), around.odds(table))
    if private.weights.size <= SETTINGS.max_proved_entries:
        with suppress(ValueError, verify.Unproved):
            document = level_certificate(table.counts, rows, promised, ball=ball, odds=odds)
            return document, verify.check(document)[1:]
    implied = {"privacy given U": levels.insider} if against in ("insider-only", "acquaintance") else {}
    note = "The level that is promised was computed, and is not proved here."
    return level_certificate(table.counts, rows, implied) | {"note": note}, []
