"""Files for other systems: weights for databases, a sampler for browsers, and tables as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpfrontier import Channel, level_certificate, verify
from ldpfrontier.survey.channel_file import PrivateChannel
from ldpfrontier.survey.estimation import inversion, quantities
from ldpfrontier.survey.layout import csv_text, key
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.survey.tables import CountTable

if TYPE_CHECKING:
    from ldpfrontier.survey.design import Candidate, Design

#: What stands in the place of the hash and the id of the file in the text of the sampler.
_DIGEST, _ID = "the SHA-256 of channel.json", "the id of channel.json"


def files_beside(private: PrivateChannel, *, spreadsheet: bool = False) -> dict[str, str]:
    """Return texts to be written beside a channel, by the suffix that takes the place of ``.json``."""
    document, _ = certified(private)
    return {
        ".weights.csv": weights_csv(private, spreadsheet=spreadsheet),
        ".mjs": sampler(private),
        ".certificate.json": json.dumps(document, indent=1) + "\n",
    }


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


def sampler(private: PrivateChannel) -> str:
    """Return a program in JavaScript that draws reports from the file of this channel, and from no other."""
    text = files("ldpfrontier.survey").joinpath("channel.mjs").read_text(encoding="utf-8")
    digest = hashlib.sha256(private.text().encode()).hexdigest()
    return text.replace(_DIGEST, digest).replace(_ID, private.id)


def weights_csv(private: PrivateChannel, *, spreadsheet: bool = False) -> str:
    """Return the unbiased weight of every report for every frequency that the channel shows, as CSV.

    The mean weight of reports is the unbiased estimate of `estimate_distribution`; the weights are fixed
    before any report is seen.
    """
    linear = inversion(private.channel.matrix, private.table)
    rows = list[list[str]]()
    for asked, shown, weights in zip(quantities(private.table)[0], linear.shown, linear.weights, strict=True):
        if shown:
            names = [key(asked.attributes), key(asked.value)]
            of_reports = zip(private.outputs, weights.tolist(), strict=True)
            rows += [[*names, report, repr(weight)] for report, weight in of_reports]
    return csv_text(["columns", "value", "report", "weight"], rows, spreadsheet=spreadsheet)


def design_json(made: Design, best: Candidate, private: PrivateChannel, written: list[str]) -> str:
    """Return what `design` prints as JSON: the mechanisms, the one that was chosen, and what was written."""
    table = made.table
    about = {name: getattr(table, name) for name in ("source", "sensitive", "useful", "records", "effective")}
    chosen = {"chosen": best.name, "promise": private.promise()}
    return as_json(made, table={**about, "values": table.counts.shape}, **chosen, written=written)


def as_json(found: Any, **more: Any) -> str:
    """Return a result as JSON: attributes by name, and null for a number that is not there or infinite.

    Channels and tables of counts in it, which are in the file of the channel, are left out.
    """
    return json.dumps({**_plain(found), **_plain(more)}, indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        return {
            str(name): _plain(entry)
            for name, entry in value.items()
            if not isinstance(entry, (Channel, CountTable))
        }
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
