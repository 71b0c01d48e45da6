"""Channels that are known and not designed: a matrix, or a classical design of randomized response.

Their levels are measured, and nothing is asked of them. So reports that were collected with a die, cards or a
second question are estimated, audited and regressed on as those of designs are. Of two values, the second one
is the sensitive answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.stats import binom

from ldpfrontier import Channel, entropy, mutual_information
from ldpfrontier.base.extras import extra
from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.names import close_name
from ldpsurvey.base.sampling import sampled_channel, whole_weights
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import Levels, levels_of
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.promises import ChannelCertificate, upwards
from ldpsurvey.data.reading import Label, labels_of, read_chunks, said
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.distribution import inversion, quantities

with extra("survey"):
    import pandas as pd

#: A channel, (values, reports), and the usual names of its reports; none if they are those of the values.
_Matrix = tuple[FloatArray, tuple[str, ...]]


def _binary(yes: float, no: float, *reports: str) -> _Matrix:
    """Return the channel with the chances of the second report, given each value."""
    return np.array([[1.0 - no, no], [1.0 - yes, yes]]), reports


def _kuk(p: float, q: float, cards: float) -> _Matrix:
    """Return the channel of Kuk (1990): red cards of some from a deck with a share p of them, or q."""
    drawn = np.arange(int(cards) + 1)
    chances = np.asarray(binom.pmf(drawn, int(cards), np.array([[q], [p]])), dtype=np.float64)
    return chances, tuple(map(str, drawn))


#: The designs, each with the names of its parameters: probabilities but `cards`, a whole number.
DESIGNS: Mapping[str, tuple[Callable[..., _Matrix], tuple[str, ...]]] = {
    # Warner (1965): with probability p the statement, else its opposite.
    "warner": (lambda p: _binary(p, 1.0 - p), ("p",)),
    # Boruch (1971): forced to say yes, forced to say no, else the truth.
    "forced": (lambda yes, no: _binary(1.0 - no, yes), ("yes", "no")),
    # Greenberg et al. (1969): else another question, which a share q answers with yes.
    "unrelated": (lambda p, q: _binary(p + (1.0 - p) * q, (1.0 - p) * q), ("p", "q")),
    # Yu, Tian and Tang (2008): the same or different answers to both questions.
    "crosswise": (lambda p: _binary(p, 1.0 - p, "different", "same"), ("p",)),
    # Yu, Tian and Tang (2008): no to both questions, or yes to one at least.
    "triangular": (lambda p: _binary(1.0, p, "neither", "some"), ("p",)),
    "kuk": (_kuk, ("p", "q", "cards")),
    "pram": (lambda p: (np.zeros((0, 0)), ()), ("p",)),
}


def parameter(text: str) -> float:
    """Return a probability, or a number, that may be written as a fraction such as 1/6."""
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is no number and no fraction such as 1/6.") from None


def classical_matrix(design: str, parameters: Mapping[str, float], values: int) -> _Matrix:
    """Return the matrix of a classical design, (values, reports), and usual names of the reports.

    All designs are for two values but ``pram``, which keeps a value with probability p and draws any
    otherwise.
    """
    function, names = DESIGNS[design]
    given = {name for name, value in parameters.items() if value is not None}
    if given != set(names):
        raise ValueError(
            f"The design {design} has the parameters {', '.join(f'--{name}' for name in names)}."
        )
    for name in names:
        value, most = parameters[name], 100.0 if name == "cards" else 1.0
        if not 0.0 <= value <= most or (name == "cards" and (value < 1 or value != int(value))):
            kind = "a whole number from 1 to 100" if name == "cards" else "a probability from 0 to 1"
            raise ValueError(f"--{name} is {value:g}; it must be {kind}.")
    if design == "pram":
        p = parameters["p"]
        return p * np.eye(values) + (1.0 - p) / values, ()
    if values != 2:
        raise ValueError(f"The design {design} is for two values, and there are {values}.")
    if design == "forced" and parameters["yes"] + parameters["no"] > 1.0:
        raise ValueError("--yes and --no are probabilities of one draw; together they are at most 1.")
    return function(*(parameters[name] for name in names))


def read_matrix(path: Path | str, attributes: Label, values: Sequence[Label]) -> _Matrix:
    """Read a matrix as ``design`` writes one: a row for each value, its columns first, then the reports."""
    frame = pd.concat(read_chunks(path, attributes, patterns=["*"]))
    names = list(map(str, frame))
    reports = [name for name in names if name not in attributes]
    if not reports:
        raise ValueError(
            f"{path} has the columns {', '.join(names)}; it must have {said(attributes)}, and a column for"
            " each report."
        )
    found = dict[Label, list[float]]()
    for row, label in zip(frame.index, labels_of(frame, attributes, {}), strict=True):
        if label not in values or label in found:
            why = "is there twice" if label in found else "is none of those of --values"
            raise ValueError(
                f"Record {row} of {path} is of the value {said(label)!r}, which {why}; each of"
                f" {'; '.join(map(said, values))} has one row.{close_name(said(label), map(said, values))}"
            )
        found[label] = []
        for name in reports:
            try:
                found[label].append(parameter(str(frame.loc[row, name])))
            except ValueError as error:
                raise ValueError(f"In the column {name!r} of record {row} of {path}, {error}") from None
    if lacks := [value for value in values if value not in found]:
        raise ValueError(f"{path} has no row for the value {said(lacks[0])!r}; each value needs one.")
    return np.array([found[value] for value in values]), tuple(reports)


def known_channel(
    table: CountTable, matrix: FloatArray, reports: Sequence[str] = (), name: str = "known matrix"
) -> PrivateChannel:
    """Return a channel that was used elsewhere, so that its reports can be estimated.

    The table has the values, all of which are sensitive, and no counts; the rows of the matrix are
    distributions. `reports` are the names of the outputs in the data; by default y1, y2 and so on.
    """
    rows = np.asarray(matrix, dtype=np.float64)
    sums = rows.sum(axis=1)
    if (
        rows.shape[0] != table.counts.size
        or not (rows >= 0).all()
        or np.abs(sums - 1.0).max() > SETTINGS.rounding
    ):
        raise ValueError(
            f"The matrix has the shape {rows.shape} and row sums from {sums.min():g} to {sums.max():g}; it"
            f" must have a row for each of the {table.counts.size} values, of chances that sum to 1."
        )
    if table.counted or table.useful:
        raise ValueError("A known channel has values alone (--values), all of which are sensitive.")
    channel = Channel(rows / sums[:, None])
    weights = whole_weights(channel.matrix)
    levels = levels_of(weights, table, None)
    prior = np.full(len(rows), 1.0 / len(rows))
    nmi = mutual_information(prior, sampled_channel(weights)) / entropy(prior)
    version = import_module("ldpfrontier").__version__
    if not any(inversion(channel.matrix, table).shown):
        raise ValueError(
            f"A channel of this kind ({name}) shows nothing: its reports do not depend on the answers,"
            " or no share follows from them, so that nothing can be estimated. Other parameters are needed."
        )
    stated = ChannelCertificate(
        mechanism=name, against="anyone", epsilon=levels.record, levels=Levels(*[levels.record] * 5), nmi=nmi,
        bound=1.0, code_version=version,
    )  # fmt: skip
    return PrivateChannel(table, weights, stated, tuple(reports))


def hidden_values(private: PrivateChannel) -> list[str]:
    """Return the values whose shares do not follow from reports, however many there are."""
    linear = inversion(private.channel.matrix, private.table)
    asked = quantities(private.table)[0]
    return [said(one.value) for one, shown in zip(asked, linear.shown, strict=True) if not shown]


def level_text(private: PrivateChannel) -> str:
    """Return the level that was measured, as a sentence."""
    level = private.certificate.levels.record
    if math.isinf(level):
        return "Some report rules an answer out, or gives it away: the channel has no level."
    return f"The level of a report was measured: {upwards(level, 5):.8g}."
