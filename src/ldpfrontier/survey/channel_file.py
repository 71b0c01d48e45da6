"""Channels ready for use, with whole numbers to sample from, a certificate, and a file format."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ldpfrontier.atomic import replacing
from ldpfrontier.channel import Channel
from ldpfrontier.numerics.arguments import as_number, check_choice, excerpt
from ldpfrontier.survey import channel_content as content_of
from ldpfrontier.survey.attackers import (
    ANYONE,
    ATTACKERS,
    WITHOUT_TABLE,
    Attacker,
    Levels,
    promise_of,
    scope_of,
    whole_levels,
)
from ldpfrontier.survey.counts import CountTable
from ldpfrontier.survey.csv_text import csv_text
from ldpfrontier.survey.population import USUAL_RADIUS, Radius, ball_of, odds_of, usual_intervals
from ldpfrontier.survey.records import Label, as_path, said
from ldpfrontier.survey.sampling import (
    BITS,
    check_weights,
    known_answers,
    sampled_channel,
    whole_weights,
)
from ldpfrontier.types import IntArray
from ldpfrontier.uncertainty.odds_ratios import IntervalMethod, OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

FORMAT, VERSION = "ldp-frontier channel", 3

#: The version before acquaintances were attackers, which is read as well.
FORMER_VERSION = 2

#: How many random bytes are in the file with the outputs that they give.
ANSWERS = 64


class ChannelFileError(ValueError):
    """A file is not a channel, or was changed after it was written."""


@dataclass(frozen=True)
class Certificate:
    """The statements about a channel, verified for the exact probabilities that are sampled.

    Attributes
    ----------
    mechanism : str
        Its name in `ldpfrontier.survey.design`.
    against : {"insider-only", "outsider", "acquaintance", "anyone"}
        Whom the level asked for holds for.
    epsilon : float
        Privacy level asked for, nats.
    levels : Levels
        Privacy levels verified, nats; for those that are protected from at most `epsilon`.
    beta, order : float or None
        Significance level of F and of the intervals of odds ratios, and Renyi order of F; None if nothing is
        useful.
    intervals : {"exact", "bonferroni", "scheffe"} or None
        Method of these intervals (`OddsRatios.confidence`); None if nothing is useful.
    nmi, bound : float
        Normalized mutual information at the distribution of the table, and what no such mechanism can pass.
    code_version : str
        Of the package.
    radius : Radius
        Of F.
    """

    mechanism: str
    against: Attacker
    epsilon: float
    levels: Levels
    beta: float | None
    order: float | None
    intervals: IntervalMethod | None
    nmi: float
    bound: float
    code_version: str = ""
    radius: Radius = USUAL_RADIUS

    @property
    def level(self) -> float:
        """The level for the attackers that the channel protects from, in nats."""
        return self.levels.against(self.against)


@dataclass(frozen=True, eq=False)
class PrivateChannel:
    """A channel that can be sampled, with its labels, the table it was designed from and its certificate.

    Attributes
    ----------
    table : CountTable
        The table, which is public and contained in the file, if records were counted. Its labels are the
        inputs.
    weights : ndarray of int, shape (inputs, outputs)
        Probabilities times 2^62.
    certificate : Certificate
    """

    table: CountTable
    weights: IntArray
    certificate: Certificate

    def __post_init__(self) -> None:
        check_weights(self.weights)
        if len(self.weights) != self.table.counts.size:
            raise ValueError(
                f"The channel has {len(self.weights)} inputs and the table has {self.table.counts.size}"
                " values; the numbers must be equal."
            )
        self.weights.flags.writeable = False

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the reports, chosen without a meaning so that nobody mistakes a report for a value."""
        return tuple(f"y{number}" for number in range(1, self.weights.shape[1] + 1))

    @cached_property
    def sha256(self) -> str:
        """The hash of what a report means: of the labels and the weights."""
        labels = json.dumps([self.table.attributes, self.table.labels])
        weights = np.ascontiguousarray(self.weights, dtype="<i8").tobytes()
        return hashlib.sha256(labels.encode() + weights).hexdigest()

    @property
    def id(self) -> str:
        """A short name of the channel, which its reports carry: the first digits of `sha256`."""
        return id_of(self.sha256)

    @cached_property
    def channel(self) -> Channel:
        """The channel as floating-point numbers, with its labels."""
        return Channel(sampled_channel(self.weights).matrix, self.table.labels, self.outputs)

    @property
    def ball(self) -> RenyiBall | None:
        """The uncertainty set F, or None if the whole record is sensitive."""
        return ball_of(self.table, self.certificate.beta, self.certificate.order, self.certificate.radius)

    @property
    def odds(self) -> OddsRatios | None:
        """The intervals of the odds ratios, or None if the whole record is sensitive."""
        return odds_of(self.table, self.certificate.beta, self.certificate.intervals)

    @property
    def protects(self) -> Attacker:
        """The strongest attacker for whom the level asked for holds, by the levels of the certificate."""
        return self.certificate.levels.strongest(self.certificate.epsilon) or self.certificate.against

    def promise(self) -> str:
        """Return sentences that state the strongest promise that is kept, and what is not promised."""
        said_of, levels, useful = self.certificate, self.certificate.levels, self.table.useful
        stated = said_of.beta, said_of.order, said_of.intervals, said_of.radius
        scope = scope_of(self.protects, useful, *stated)
        if levels.record <= said_of.epsilon:
            return promise_of(levels.record, self.table.attributes, ANYONE)
        promised = promise_of(levels.against(self.protects), self.table.sensitive, scope)
        if useful and self.protects == "insider-only":
            return (
                f"{promised} It does not protect {said(useful)}, nor from what {said(useful)} tells about"
                f" {said(self.table.sensitive)}."
            )
        if not useful or self.protects != "outsider":
            return promised
        known = f"knows {said(useful)}", levels.insider
        if levels.insider <= said_of.epsilon:
            known = (
                f"knows something about {said(useful)}, such as that it is one of two values",
                levels.acquaintance,
            )
        limit = "no level" if math.isinf(known[1]) else f"level {known[1]:.2f}"
        return f"{promised} It does not protect from someone who {known[0]}: {limit}."

    def levels(self) -> Levels:
        """Compute the privacy levels again, in nats."""
        return whole_levels(self.weights, self.table.counts.shape, self.ball, self.odds)

    def verified(self) -> PrivateChannel:
        """Return the channel with its privacy levels, computed again, in the certificate.

        Raises
        ------
        ValueError
            If the one for those that it protects from is above the level asked for.
        """
        levels = self.levels()
        level = levels.against(self.certificate.against)
        if not level <= self.certificate.epsilon:
            raise ValueError(
                f"The level of the channel is {level:.9g}; its certificate allows"
                f" {self.certificate.epsilon:.9g}."
            )
        return self.with_levels(levels)

    def with_levels(self, levels: Levels) -> PrivateChannel:
        """Return the channel with other levels in its certificate."""
        return replace(self, certificate=replace(self.certificate, levels=levels))

    # Files ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the text of the file."""
        table = self.table
        content = {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "certificate": _finite(asdict(self.certificate)),
            "design": {
                "source": table.source,
                "sha256": table.sha256,
                "sensitive": list(table.sensitive),
                "useful": list(table.useful),
                "rows": [list(label) for label in table.rows],
                "columns": [list(label) for label in table.columns],
                "counts": table.counts.tolist() if table.counted else None,
                **(
                    {"shares": table.counts.tolist()}
                    if not table.counted and (table.counts != 1).any()
                    else {}
                ),
            },
            "outputs": list(self.outputs),
            "bits": BITS,
            # As texts: many a reader of JSON rounds large numbers.
            "weights": [" ".join(map(str, row)) for row in self.weights.tolist()],
        }
        return (
            json.dumps({**content, "content_sha256": _digest(content)}, indent=1, ensure_ascii=False) + "\n"
        )

    def write(
        self,
        path: Path | str,
        more: Mapping[str, str] | None = None,
        *,
        spreadsheet: bool = False,
    ) -> list[Path]:
        """Write the file, and next to it tables of the matrix, of the thresholds and of known answers.

        Parameters
        ----------
        path : path
            Of the JSON file; the tables have its name with ``.matrix.csv``, ``.thresholds.csv`` and
            ``.answers.csv`` in the place of ``.json``.
        more : mapping of str to str, optional
            Texts that are written as well, by the suffix that takes the place of ``.json``.
        spreadsheet : bool
            Whether an apostrophe comes before what a spreadsheet program would take for a formula.

        Returns
        -------
        list of Path
            What was written: everything, or nothing if there is an error.
        """
        path = Path(path)
        check_name(path)
        inputs, attributes = self.table.labels, self.table.attributes
        probabilities = [[repr(float(p)) for p in row] for row in self.channel.matrix]
        thresholds = [list(map(str, row)) for row in np.cumsum(self.weights, axis=1).tolist()]
        answers = [[*inputs[x], data, self.outputs[y]] for x, data, y in known_answers(self.weights, ANSWERS)]
        tables = {
            ".matrix.csv": (self.outputs, _joined(inputs, probabilities)),
            ".thresholds.csv": (self.outputs, _joined(inputs, thresholds)),
            ".answers.csv": (("bytes", "report"), answers),
        }
        texts = {".json": self.text()}
        for suffix, (head, rows) in tables.items():
            texts[suffix] = csv_text([*attributes, *head], rows, spreadsheet=spreadsheet)
        texts |= more or {}
        files = [path.with_suffix(suffix) for suffix in texts]
        with ExitStack() as stack:
            for target, text in zip(files, texts.values(), strict=True):
                partial = stack.enter_context(replacing(target))
                partial.write_text(text, encoding="utf-8", newline="\n")
        return files


def id_of(digest: str) -> str:
    """Return the id of a channel from its hash."""
    # With a letter, since programs change what looks like a number.
    return f"c{int(digest[:16], 16) % 10**9:09d}"


def written_files(path: Path | str) -> list[Path]:
    """Return the files that the command `design` writes for a path.

    Raises
    ------
    ValueError
        If the path does not end in ``.json``.
    """
    path = Path(path)
    check_name(path)
    tables = (".matrix.csv", ".thresholds.csv", ".answers.csv", ".weights.csv")
    more = (*tables, ".mjs", ".certificate.json")
    return [path, *map(path.with_suffix, more)]


def check_name(path: Path) -> None:
    """Refuse a path for a channel that does not end in ``.json``.

    Raises
    ------
    ValueError
    """
    if path.suffix != ".json":
        raise ValueError(f"{path} ends in {path.suffix!r}; the file of a channel must end in .json.")


def private_weights(
    channel: Channel,
    table: CountTable,
    ball: RenyiBall | None,
    odds: OddsRatios | None,
    epsilon: float,
    against: Attacker,
) -> tuple[IntArray, Levels]:
    """Round a channel to one that can be sampled and is private at level epsilon, verified.

    Rounding may cost a little privacy. Where it does, or where the level cannot be told from one above
    epsilon, every row is moved towards the mean row, which brings all ratios closer to 1.

    Parameters
    ----------
    channel : Channel
        Private at level epsilon, to rounding.
    table : CountTable
        Its values are the inputs.
    ball : RenyiBall or None
        The uncertainty set F.
    odds : OddsRatios or None
        The intervals of odds ratios. Both are None if the whole record is sensitive.
    epsilon : float
        Nats.
    against : {"insider-only", "outsider", "acquaintance", "anyone"}
        Whom the level has to hold for.

    Returns
    -------
    ndarray of int, shape (inputs, outputs)
        Without outputs that have no probability.
    Levels
        That these whole numbers have, nats, rounded upwards.

    Raises
    ------
    ValueError
        If the channel is not private at this level.
    """
    matrix = channel.matrix[:, channel.matrix.max(axis=0) > 2.0**-BITS]
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    mean = matrix.mean(axis=0)
    for share in (0.0, *(2.0**-power for power in range(50, 19, -3))):
        weights = whole_weights((1.0 - share) * matrix + share * mean)
        # Levels for outsiders and acquaintances take long: a lower bound that takes little comes first.
        least = whole_levels(weights, table.counts.shape, None, None)
        level = 0.0 if against == "outsider" else least.anyone if against == "anyone" else least.insider
        if level <= epsilon:
            levels = whole_levels(weights, table.counts.shape, ball, odds)
            level = levels.against(against)
            if level <= epsilon:
                return weights, levels
    raise ValueError(f"The level of the channel is {level:.9g}; it must be at most {epsilon:.9g}.")


def read_channel(path: Path | str) -> PrivateChannel:
    """Read a channel from its file.

    Raises
    ------
    ChannelFileError
        If it is not a file of a channel, is of another version, or was changed after it was written.
    """
    path = as_path(path)
    try:
        content = content_of.plain_json(path)
    except ValueError as error:
        raise ChannelFileError(str(error)) from None
    if content.get("format") != FORMAT:
        raise ChannelFileError(f"{path} is a JSON file, but not a channel of ldp-frontier.")
    version, named = content.get("version"), content.get("id")
    if version not in (FORMER_VERSION, VERSION) or isinstance(version, bool):
        raise ChannelFileError(
            f"{path} is a channel file of version {version!r}; this program reads the versions"
            f" {FORMER_VERSION} and {VERSION}."
        )
    if content.pop("content_sha256", None) != _digest(content):
        raise ChannelFileError(f"{path} was changed after it was written; design the channel again.")
    try:
        # Files of former programs have no id.
        private = _parsed({name: value for name, value in content.items() if name != "id"})
        if named is not None and named != private.id:
            raise ValueError(f"its id is {excerpt(named)}; that of its labels and weights is {private.id!r}.")
    except ValueError as error:
        raise ChannelFileError(f"{path} is not a valid channel: {error}") from None
    return private


def _parsed(content: Mapping[str, Any]) -> PrivateChannel:
    """Return the channel in a file; raise a ValueError if the content is not a channel."""
    content_of.members(
        content, "The file", ("format", "version", "certificate", "design", "outputs", "bits", "weights")
    )
    table = content_of.table(content["design"])
    stated = content["certificate"]
    if content["version"] == FORMER_VERSION:
        stated = _renewed(stated, table)
    private = PrivateChannel(table, content_of.weights(content["weights"]), _certificate(stated))
    if not table.counted and (
        private.certificate.beta is not None or private.certificate.against not in WITHOUT_TABLE
    ):
        raise ValueError(
            "counts is None; it must be a list of rows unless the channel protects from anyone or"
            " insider-only."
        )
    if content["bits"] != BITS or content["outputs"] != list(private.outputs):
        raise ValueError("its outputs do not match its weights.")
    _ = private.ball, private.odds  # refused where they are out of range
    return private


def _renewed(stated: Any, table: CountTable) -> Any:
    """Return the certificate of a former version with what that has not: acquaintances, and their intervals.

    A level that holds for anyone holds for acquaintances.
    """
    if not isinstance(stated, dict) or not isinstance(levels := stated.get("levels"), dict):
        return stated
    for place, name in ((stated, "intervals"), (levels, "acquaintance")):
        if name in place:
            raise ValueError(f"its version has no member {name!r}.")
    intervals = usual_intervals(table.counts) if table.useful and table.counted else None
    return {**stated, "intervals": intervals, "levels": {**levels, "acquaintance": levels.get("anyone")}}


def _certificate(content: Any) -> Certificate:
    if isinstance(content, dict):
        # Files that say nothing of the radius of F have the usual one.
        content = {"radius": asdict(USUAL_RADIUS), **content}
    values = content_of.members(
        content, "The certificate", tuple(field.name for field in fields(Certificate))
    )
    levels = content_of.members(values["levels"], "levels", tuple(field.name for field in fields(Levels)))
    for name, level in levels.items():
        level = math.inf if level is None else level
        levels[name] = as_number(level, f"The level {name}", "a number, 0 or more", least=0.0, infinite=True)
    values["levels"] = Levels(**levels)
    for name in ("epsilon", "nmi", "bound"):
        values[name] = as_number(values[name], name, "a number, 0 or more", least=0.0)
    for name in ("mechanism", "against", "code_version"):
        values[name] = content_of.text(values[name], name)
    if values["against"] == "insider":  # a promise of version 0.3, to outsiders and to whoever knows U
        values["against"] = "outsider"
    if values["against"] not in ATTACKERS:
        raise ValueError(f"against is {values['against']!r}; allowed are {', '.join(ATTACKERS)}.")
    if len({values[name] is None for name in ("beta", "order", "intervals")}) > 1:
        raise ValueError("beta, order and intervals belong together; either all are null or none.")
    values["radius"] = Radius(**content_of.members(values["radius"], "radius", ("method", "factor")))
    if values["intervals"] is not None:
        check_choice(values["intervals"], "intervals", get_args(IntervalMethod))
    return Certificate(**values)


def _finite(value: Any) -> Any:
    """Return a value of JSON, which has no infinity."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _joined(labels: Sequence[Label], cells: list[list[str]]) -> list[list[str]]:
    return [[*label, *row] for label, row in zip(labels, cells, strict=True)]
