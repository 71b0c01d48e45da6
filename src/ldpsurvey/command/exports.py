"""Files for other systems: weights for databases, a sampler for browsers, and tables as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpfrontier import Channel
from ldpsurvey.base.layout import csv_text, key
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.proof import certified
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.distribution import inversion, quantities

if TYPE_CHECKING:
    from ldpsurvey.design.candidates import Candidate, Design


def files_beside(private: PrivateChannel, *, spreadsheet: bool = False) -> dict[str, str]:
    """Return texts to be written beside a channel, by the suffix that takes the place of ``.json``."""
    document, _ = certified(private)
    return {
        ".weights.csv": weights_csv(private, spreadsheet=spreadsheet),
        ".mjs": private.sampler(),
        ".certificate.json": json.dumps(document, indent=1) + "\n",
    }


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
