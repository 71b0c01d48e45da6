"""Channels ready for use, with whole numbers to sample from, a certificate, and a file format."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np

from ldpfrontier import Channel
from ldpfrontier.base.atomic import replacing
from ldpfrontier.base.types import IntArray
from ldpsurvey.base.layout import counted, csv_text
from ldpsurvey.base.sampling import (
    BITS,
    TOTAL,
    RandomSource,
    Sampler,
    check_weights,
    known_answers,
    sampled_channel,
    total_of,
    whole_weights,
)
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.channel.allowance import Allowance, check_allowance, level_of_reports
from ldpsurvey.channel.attackers import (
    ATTACKERS,
    WITHOUT_TABLE,
    Attacker,
    Levels,
    OfferedIntervals,
    Population,
    levels_of,
)
from ldpsurvey.channel.kinds import Field
from ldpsurvey.channel.promises import ChannelCertificate, promise_of_channel
from ldpsurvey.channel.routing import refuse_questionnaire
from ldpsurvey.data.reading import Label, said
from ldpsurvey.data.tables import CountTable, check_columns
from ldpsurvey.data.values import Missing, read_rules, stored_rules

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

FORMAT, VERSION = "ldp-frontier channel", 4

#: How many random bytes are in the file with the outputs that they give.
ANSWERS = 64


class ChannelFileError(ValueError):
    """A file is not a channel, or was changed after it was written."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateChannel(Tabular):
    """A channel that can be sampled, with its labels, the table it was designed from and its certificate.

    Attributes
    ----------
    table : CountTable
        The table, which is public and contained in the file, if records were counted. Its labels are the
        inputs.
    weights : ndarray of int, shape (inputs, outputs)
        Probabilities times 2^62, or times 100 or 1000 if people draw them with dice.
    certificate : ChannelCertificate
    reports : tuple of str
        How the data name the outputs, of a channel that was used elsewhere; none if they have no meaning.
    """

    table: CountTable
    weights: IntArray
    certificate: ChannelCertificate
    reports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_weights(self.weights)
        if len(self.weights) != self.table.counts.size:
            raise ValueError(
                f"The channel has {len(self.weights)} inputs and the table has {self.table.counts.size}"
                " values; the numbers must be equal."
            )
        if self.reports and len(set(self.reports)) < max(self.weights.shape[1], len(self.reports)):
            raise ValueError(
                f"There are {self.weights.shape[1]} reports with the names {', '.join(self.reports)}; each"
                " needs one of its own."
            )
        self.weights.flags.writeable = False

    def to_frame(self) -> pd.DataFrame:
        """Return the probabilities of reports, in columns, for the values of a record, in rows."""
        rows = zip(self.table.labels, self.channel.matrix.tolist(), strict=True)
        names = self.outputs
        return frame_of(
            {**dict(zip(self.table.attributes, label, strict=True)), **dict(zip(names, row, strict=True))}
            for label, row in rows
        )

    @property
    def total(self) -> int:
        """What probabilities were multiplied by to give the weights."""
        return total_of(self.weights)

    def _about(self) -> str:
        values, reports = self.weights.shape
        size = f"{counted(reports, 'report')} of {counted(values, 'value')}"
        level = f"level {self.certificate.epsilon:g} against {self.protects}"
        return f"{self.id}, {said(self.table.attributes)}: {size}, {level}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the reports, chosen without a meaning so that nobody mistakes a report for a value."""
        return self.reports or tuple(f"y{number}" for number in range(1, self.weights.shape[1] + 1))

    @cached_property
    def is_unasked(self) -> bool:
        """Whether reports depend on the useful value alone, so that the sensitive one need not be asked."""
        a1, a2 = self.table.counts.shape
        blocks = self.weights.reshape(a1, a2, -1)
        return bool(self.table.useful) and a1 > 1 and bool((blocks == blocks[0]).all())

    @property
    def asked(self) -> Label:
        """The columns whose values a report is drawn from."""
        return self.table.useful if self.is_unasked else self.table.attributes

    @property
    def asked_labels(self) -> tuple[Label, ...]:
        """The values of these, in the order of the first rows of the weights."""
        return self.table.columns if self.is_unasked else self.table.labels

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that are asked, as one field of a record: its values are the rows of the weights."""
        return (Field(self.asked, self.asked_labels),)

    @property
    def missing(self) -> Mapping[str, Missing]:
        """What was missing in the design, and what became of it."""
        return self.table.missing

    @property
    def public_counts(self) -> IntArray | None:
        """The counts of the records of the design by what is asked, if they are in the file."""
        counts = self.table.counts
        return (counts.sum(axis=0) if self.is_unasked else counts).ravel() if self.table.counted else None

    def wrong_record(self, _: IntArray) -> None:
        """Return None: all values of a table can be reported."""

    def drawing(self, source: RandomSource | None = None) -> Callable[[IntArray], list[str]]:
        """Return what draws a report for each record, (m, 1), with random bytes of the system by default."""
        sampler, outputs = Sampler(self.weights, source or os.urandom), self.outputs
        return lambda records: [outputs[y] for y in sampler.draw(records[:, 0]).tolist()]

    def unknown_report(self, reports: Iterable[str]) -> str | None:
        """Return the first text that is no report of the channel; None if there is none."""
        known = {*self.outputs}
        return next((report for report in reports if report not in known), None)

    @cached_property
    def sha256(self) -> str:
        """The hash of what a report means: of the labels and the weights."""
        named = [self.reports] if self.reports else []
        labels = json.dumps([self.table.attributes, self.table.labels, *named])
        weights = np.ascontiguousarray(self.weights, dtype="<i8").tobytes()
        return hashlib.sha256(labels.encode() + weights).hexdigest()

    @property
    def basis(self) -> str:
        """What levels of several reports rest on: the values, their counts and the intervals of the table."""
        table, around = self.table, self.certificate.population
        known = None if around is None else asdict(replace(around, widened=0.0))
        counts = table.counts.tolist() if table.sampled else None
        sure = [] if table.effective is None else [table.effective, *filter(None, [table.freedom])]
        return json.dumps([table.sensitive, table.useful, table.rows, table.columns, counts, known, *sure])

    @property
    def id(self) -> str:
        """A short name of the channel, which its reports carry: the first digits of `sha256`."""
        return id_of(self.sha256)

    @cached_property
    def channel(self) -> Channel:
        """The channel as floating-point numbers."""
        return sampled_channel(self.weights)

    @property
    def protects(self) -> Attacker:
        """The strongest attacker for whom the level asked for holds, by the levels of the certificate."""
        return self.certificate.levels.strongest(self.certificate.epsilon) or self.certificate.against

    def promise(self) -> str:
        """Return sentences that state the strongest promise that is kept, and what is not promised."""
        return promise_of_channel(self)

    def levels(self) -> Levels:
        """Compute the privacy levels again, in nats."""
        return levels_of(self.weights, self.table, self.certificate.population)

    def verified(self) -> PrivateChannel:
        """Return the channel with its levels, computed again; refuse one that does not keep its own."""
        levels = self.levels()
        self.check_levels(levels)
        return self.with_levels(levels)

    def check_levels(self, levels: Levels) -> None:
        """Raise a `ValueError` if one report, or all that a person may give, does not keep its level.

        `levels` are those of the channel, which were computed.
        """
        stated = self.certificate
        level = levels.against(stated.against)
        if not level <= stated.epsilon:
            raise ValueError(
                f"The level of the channel is {level:.9g}; its certificate allows {stated.epsilon:.9g}."
            )
        if stated.allowance is not None:
            around, against = stated.population, stated.against

            def together(reports: int) -> float:
                return level_of_reports(self.channel, reports, self.table, around, against)

            check_allowance(stated.allowance, against, stated.epsilon, together, around)

    def with_levels(self, levels: Levels) -> PrivateChannel:
        """Return the channel with other levels in its certificate."""
        return replace(self, certificate=replace(self.certificate, levels=levels))

    # Files ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the text of the file."""
        table = self.table
        shares = not table.counted and bool((table.counts != 1).any())
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
                "shares": table.counts.tolist() if shares else None,
                "effective": table.effective,
                "freedom": table.freedom,
                **({"missing": stored_rules(table.missing)} if table.missing else {}),
            },
            "outputs": list(self.outputs),
            **({"bits": BITS} if self.total == TOTAL else {"total": self.total}),
            # As texts: many a reader of JSON rounds large numbers.
            "weights": [" ".join(map(str, row)) for row in self.weights.tolist()],
        }
        content["content_sha256"] = content_digest(content)
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def sampler(self) -> str:
        """Return a program in JavaScript that draws reports from the file of this channel, and no other."""
        Sampler(self.weights)  # refuses what no program draws
        text = files("ldpsurvey").joinpath("channel", "channel.mjs").read_text(encoding="utf-8")
        digest = hashlib.sha256(self.text().encode()).hexdigest()
        return text.replace("the SHA-256 of channel.json", digest).replace("the id of channel.json", self.id)

    def write(
        self, path: Path | str, more: Mapping[str, str] | None = None, *, spreadsheet: bool = False
    ) -> list[Path]:
        """Write the file and, beside it, tables of the matrix, thresholds and known answers; all or none.

        `more` are further texts, by the suffix that takes the place of ``.json``. With `spreadsheet`, an
        apostrophe comes before what a spreadsheet program would take for a formula. Returns the paths.
        """
        path, _ = Path(path), written_files(path)
        inputs, attributes = self.asked_labels, self.asked
        weights = self.weights[: len(inputs)]
        thresholds = np.cumsum(weights, axis=1).tolist()
        answers = [[*inputs[x], data, self.outputs[y]] for x, data, y in known_answers(weights, ANSWERS)]
        tables = {
            ".matrix.csv": (self.outputs, _beside(inputs, self.channel.matrix[: len(inputs)].tolist())),
            ".thresholds.csv": (self.outputs, _beside(inputs, thresholds)),
            ".answers.csv": (("bytes", "report"), answers),
        }
        texts = {".json": self.text()}
        for suffix, (head, rows) in tables.items():
            texts[suffix] = csv_text([*attributes, *head], rows, spreadsheet=spreadsheet)
        texts |= more or {}
        return write_texts(path, texts)


def _beside(labels: tuple[tuple[str, ...], ...], rows: list[list[Any]]) -> list[list[str]]:
    return [[*label, *map(repr, row)] for label, row in zip(labels, rows, strict=True)]


def write_texts(path: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts to files that differ in their suffixes, all or none; return the paths."""
    paths = [path.with_suffix(suffix) for suffix in texts]
    with ExitStack() as stack:
        for target, text in zip(paths, texts.values(), strict=True):
            partial = stack.enter_context(replacing(target))
            partial.write_text(text, encoding="utf-8", newline="\n")
    return paths


def id_of(digest: str) -> str:
    """Return the id of a channel from its hash."""
    # With a letter, since programs change what looks like a number.
    return f"c{int(digest[:16], 16) % 10**9:09d}"


def written_files(path: Path | str) -> list[Path]:
    """Return the files that the command `design` writes for a path, which must end in ``.json``."""
    path = Path(path)
    if path.suffix != ".json":
        raise ValueError(f"{path} ends in {path.suffix!r}; the file of a channel must end in .json.")
    tables = (".matrix.csv", ".thresholds.csv", ".answers.csv", ".weights.csv")
    return [path, *map(path.with_suffix, (*tables, ".mjs", ".certificate.json"))]


def private_weights(
    channel: Channel,
    table: CountTable,
    population: Population | None,
    epsilon: float,
    against: Attacker,
) -> tuple[IntArray, Levels]:
    """Return a channel in whole numbers, (inputs, outputs), that is private at level epsilon, and its levels.

    Rounding may cost a little privacy. Where it does, or where the level cannot be told from one above
    epsilon, every row is moved towards the mean row, which brings all ratios closer to 1. Outputs that have
    no probability are left out. A channel that is not private at this level, to rounding, is a `ValueError`.
    """
    matrix = channel.matrix[:, channel.matrix.max(axis=0) > 2.0**-BITS]
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    mean = matrix.mean(axis=0)

    @functools.cache
    def moved(share: float) -> tuple[IntArray, Levels]:
        """Return the numbers of a share of the mean row, and levels of which that for the attacker counts."""
        weights = whole_weights((1.0 - share) * matrix + share * mean)
        levels = levels_of(weights, table, None)
        # Levels for outsiders and acquaintances take long: a lower bound that takes little comes first.
        if against == "outsider" or (against == "acquaintance" and levels.insider <= epsilon):
            levels = levels_of(weights, table, population)
        return weights, levels

    def is_private(share: float) -> bool:
        return moved(share)[1].against(against) <= epsilon

    # The larger the share, the lower is the level.
    shares = [2.0**-power for power in range(50, 19, -3)]
    share = 0.0 if is_private(0.0) else shares[bisect_left(shares[:-1], True, key=is_private)]
    weights, levels = moved(share)
    if (level := levels.against(against)) > epsilon:
        raise ValueError(f"The level of the channel is {level:.9g}; it must be at most {epsilon:.9g}.")
    return weights, levels_of(weights, table, population) if against in WITHOUT_TABLE else levels


# Reading --------------------------------------------------------------------------------------------------


def read_channel(path: Path | str) -> PrivateChannel:
    """Read a channel from its file.

    Raises
    ------
    ChannelFileError
        If it is not a file of a channel, is of another version, or was changed after it was written.
    """
    text = Path(path).read_bytes()
    try:
        content = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reason = "it is no JSON" if isinstance(error, json.JSONDecodeError) else error
        raise ChannelFileError(
            f"{path} is not a channel file, which is the JSON file that ldp-frontier design writes, such as"
            f" channel.json: {reason}."
        ) from None
    refuse_questionnaire(path, content)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ChannelFileError(f"{path} is a JSON file, but not a channel of ldp-frontier.")
    return parsed_channel(path, content, (VERSION,), _parsed)


def parsed_channel(
    path: Path | str,
    content: dict[str, Any],
    versions: tuple[int, ...],
    parsed: Callable[[Mapping[str, Any]], T],
) -> T:
    """Return what the content of a channel file is parsed to, if of one of these versions and not changed."""
    if content.get("version") not in versions:
        raise ChannelFileError(
            f"{path} is a channel file of version {content.get('version')!r}; this program reads version"
            f" {' and '.join(map(str, versions))}."
        )
    if content.pop("content_sha256", None) != content_digest(content):
        raise ChannelFileError(
            f"{path} was changed after it was written. If reports were drawn with this channel, restore the"
            " file as it was, since no other one decodes them; if none were, design the channel again."
        )
    try:
        return parsed(content)
    # The content is what somebody has hashed, and of any type.
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
        raise ChannelFileError(f"{path} is not a valid channel: {reason}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("it has a key twice")
    return found


def _parsed(content: Mapping[str, Any]) -> PrivateChannel:
    """Return the channel in a file; raise an error if the content is not a channel."""
    design = dict(content["design"])
    counted, shares = design["counts"] is not None, design.pop("shares")
    check_columns(design["sensitive"], design["useful"])
    if not counted:
        design["counts"] = shares or [[1] * len(design["columns"])] * len(design["rows"])
    for name in ("source", "sha256", "sensitive", "useful", "rows", "columns"):
        _check_texts(design[name], name)
    missing = read_rules(design.pop("missing", {}), [*design["sensitive"], *design["useful"]])
    table = CountTable(**design, counted=counted, missing=missing)
    stated = dict(content["certificate"])
    levels = {name: math.inf if level is None else level for name, level in stated["levels"].items()}
    asked = stated["epsilon"]
    if asked is None:  # that of a known channel, of which nothing was asked
        stated["epsilon"] = math.inf
    numbers = [stated["epsilon"], stated["nmi"], stated["bound"], *levels.values()]
    real = [isinstance(n, (int, float)) and not isinstance(n, bool) and n >= 0 for n in numbers]
    if not all(real) or not all(map(math.isfinite, numbers[asked is None : 3])):
        raise ValueError("a level or a share of information is no number, 0 or more.")
    _check_texts([stated["mechanism"], stated["code_version"]], "mechanism")
    if stated["against"] not in ATTACKERS:
        raise ValueError(f"against is {stated['against']!r}; allowed are {', '.join(ATTACKERS)}.")
    around = stated["population"]
    stated |= {"levels": Levels(**levels), "population": None if around is None else Population(**around)}
    if stated.get("allowance") is not None:
        stated["allowance"] = Allowance(**stated["allowance"])
    weights = np.array([[int(n) for n in row.split(" ")] for row in content["weights"]], dtype=np.int64)
    outputs = tuple(content["outputs"])
    usual = outputs == tuple(f"y{number}" for number in range(1, len(outputs) + 1))
    private = PrivateChannel(table, weights, ChannelCertificate(**stated), () if usual else outputs)
    if (around is not None) != (table.sampled and bool(table.useful)):
        raise ValueError("a population belongs to a sample of people, with useful columns.")
    if not table.sampled and private.certificate.against not in WITHOUT_TABLE:
        raise ValueError("without a table, a channel protects from anyone or insider-only.")
    if around is not None and around["intervals"] not in get_args(OfferedIntervals):
        raise ValueError(f"intervals is {around['intervals']!r}.")
    if private.certificate.population is not None:  # refused where they are out of range
        _ = private.certificate.population.ball(table), private.certificate.population.odds(table)
    of_bits = content.get("bits") == BITS and private.total == TOTAL
    if not (of_bits or content.get("total") == private.total) or content["outputs"] != list(private.outputs):
        raise ValueError("its outputs do not match its weights.")
    if content["id"] != private.id:
        raise ValueError(f"its id is {content['id']!r}; that of its labels and weights is {private.id!r}.")
    return private


def _check_texts(value: Any, name: str) -> None:
    """Check that what is in nested lists is texts."""
    if isinstance(value, list):
        for entry in value:
            _check_texts(entry, name)
    elif not isinstance(value, str):
        raise ValueError(f"{name} has {value!r}, and no text.")


def _finite(value: Any) -> Any:
    """Return a value of JSON, which has no infinity."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value


def content_digest(content: Mapping[str, Any]) -> str:
    """Return the hash of what a file says, whatever the order of its keys is."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
