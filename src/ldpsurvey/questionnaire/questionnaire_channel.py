r"""Channels for questionnaires, drawn from their structure, and their files.

A report is drawn so (`ldpfrontier.questionnaires.mechanism`): a lot, with whole weights that sum to 2^62; the
questions of its kinds; then permutations of the answers to each of them, again and again until they are kept:
if the image of the own answers is in the set of the lot, or else with probability accept / 2^62. As
all images are equally many for all answers, the probability of any report is the same for two records, or
2^62 / accept times as large for one of them: that is the level, exactly.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpfrontier import Lot, Questionnaire, QuestionnaireMechanism, QuestionnaireOptimum, verify
from ldpfrontier.base.types import IntArray
from ldpsurvey.base.sampling import BITS, TOTAL, RandomSource, whole_weights
from ldpsurvey.channel.allowance import Allowance, check_allowance
from ldpsurvey.channel.attackers import Attacker, Levels
from ldpsurvey.channel.channel_file import (
    PrivateChannel,
    content_digest,
    id_of,
    parsed_channel,
    read_channel,
    write_texts,
    written_files,
)
from ldpsurvey.channel.kinds import Field
from ldpsurvey.channel.promises import QuestionNames, StatedLevels, promise_of_channel
from ldpsurvey.channel.routing import QUESTIONNAIRE, TABLES, is_questionnaire
from ldpsurvey.data.reading import Label
from ldpsurvey.data.values import Missing, read_rules, stored_rules
from ldpsurvey.questionnaire.lot_reports import draw_reports, report_parser
from ldpsurvey.questionnaire.restrictions import Impossible, impossible_entries, masks_of

VERSION = 2

#: QuestionNames of a lot, as those that `optimal_questionnaire` asks together.
MOST_ASKED = 4

#: The questions of the tables that a channel is designed for.
ORDERS: Mapping[str, int] = {name: order for order, name in enumerate(TABLES, start=1)}


@dataclass(frozen=True, eq=False)
class QuestionnaireChannel:
    """A channel for a questionnaire: names of the questions, their answers, a mechanism in whole numbers.

    The weights of the lots sum to 2^62. Of 2^62 draws whose set does not contain the own answers, `accept`
    are kept. `epsilon`, nats, was asked for, and no mechanism at this level has less error of the tables than
    `bound` (`QuestionnaireOptimum.bound`). A person may report once, or as often as the `allowance` says;
    `missing` says what was missing in the design, and what became of it. Questions with follow-up questions
    are `combined`, and some answers are `impossible` together (`ldpsurvey.questionnaire.restrictions`).
    Reports by a file of version 1 carry its own id, the `former_id`.
    """

    names: Label
    answers: tuple[Label, ...]
    mechanism: QuestionnaireMechanism
    weights: tuple[int, ...]
    accept: int
    epsilon: float
    bound: float
    allowance: Allowance | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)
    combined: Mapping[str, Field] = field(default_factory=dict)
    impossible: tuple[Impossible, ...] = ()
    former_id: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no channel, or does not keep its level."""
        sizes = tuple(map(len, self.answers))
        if len(set(self.names)) < len(self.names) or self.mechanism.questionnaire.sizes != sizes:
            raise ValueError("a question is there twice, or its answers are not those of its mechanism.")
        if any(len(set(some)) < len(some) for some in self.answers):
            raise ValueError("a question has an answer twice.")
        if (
            len(self.weights) != len(self.mechanism.lots)
            or min(self.weights) < 0
            or sum(self.weights) != TOTAL
        ):
            raise ValueError(f"its weights must be whole numbers that sum to 2^{BITS}.")
        if not 0 < self.accept <= TOTAL or not level_of(self.accept) <= self.epsilon:
            raise ValueError(f"its level is above {self.epsilon:g}.")
        columns = [name for columns, _ in self.fields for name in columns]
        for own, (fields, labels) in zip(self.answers, self.fields, strict=True):
            if len({*labels}) != len(own) or {*map(len, labels)} != {len(fields)}:
                raise ValueError("a question that is of several columns has other values than answers.")
        if len({*columns}) < len(columns) or any(
            name not in columns for rule in self.impossible for name, _ in rule
        ):
            raise ValueError("a column is there twice, or what is impossible is of a column that is not.")
        if self.allowance is not None:
            check_allowance(self.allowance, "anyone", self.epsilon, lambda reports: reports * self.level)

    @property
    def level(self) -> float:
        """The level of a report for all answers of a person, nats, rounded upwards."""
        return level_of(self.accept)

    @property
    def order(self) -> int:
        """The number of questions of the tables that it is designed for."""
        return max(map(len, self.mechanism.questionnaire.tables))

    # What channels of all kinds have (`ldpsurvey.channel.kinds`) ------------------------------------------

    #: All answers are asked, and protected from anyone.
    is_unasked: ClassVar = False
    protects: ClassVar[Attacker] = "anyone"
    public_counts: ClassVar = None

    #: Levels of reports for anyone add up, whatever the questions are.
    basis: ClassVar = QUESTIONNAIRE

    @property
    def certificate(self) -> StatedLevels:
        """What the file states, for anyone."""
        levels = Levels(*[self.level] * 5)
        return StatedLevels(against="anyone", epsilon=self.epsilon, levels=levels, allowance=self.allowance)

    @property
    def table(self) -> QuestionNames:
        """The names of the questions, for sentences."""
        return QuestionNames(self.names if len(self.names) <= 4 else (*self.names[:2], "...", self.names[-1]))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The questions, each a field of a record."""
        return tuple(
            self.combined.get(name, Field((name,), tuple((answer,) for answer in some)))
            for name, some in zip(self.names, self.answers, strict=True)
        )

    @cached_property
    def telling(self) -> frozenset[Field]:
        """The questions of which one answer alone can change the chance of a report by its whole level.

        A set that is another one at another answer has two combinations that differ in that answer alone, of
        which it contains one; permutations send any two records to these that differ there alone. It is not
        known whether such records are possible where some are not.
        """
        if self.impossible:
            return frozenset()
        kinds = {
            kind
            for lot, weight in zip(self.mechanism.lots, self.weights, strict=True)
            for axis, kind in enumerate(lot.kinds)
            if weight and (lot.members != lot.members.take([0], axis=axis)).any()
        }
        members = self.mechanism.questionnaire.members
        return frozenset(self.fields[j] for kind in kinds for j in members[kind])

    def wrong_record(self, records: IntArray) -> tuple[int, str] | None:
        """Return the place of the first record that cannot be, and why; None if there is none."""
        for rule in self.impossible:
            masks = masks_of(rule, self.fields)
            wrong = np.logical_and.reduce([mask[records[:, j]] for j, mask in masks.items()])
            if wrong.any():
                words = " and ".join(f"{'/'.join(some)} as {name}" for name, some in rule)
                return int(wrong.argmax()), f"has {words}, which the channel says are impossible together"
        return None

    def impossible_entries(self, table: Sequence[int]) -> NDArray[np.bool_]:
        """Return which entries of the table of some questions are impossible, with an axis for each."""
        return impossible_entries(self.impossible, self.fields, table)

    def drawing(self, source: RandomSource | None = None) -> Callable[[IntArray], list[str]]:
        """Return what draws a report for each record, (m, questions)."""
        return lambda records: draw_reports(self, records, source or os.urandom)

    def unknown_report(self, reports: Iterable[str]) -> str | None:
        """Return the first text that is no report of the channel; None if there is none."""
        parsed = report_parser(self)
        return next((report for report in reports if parsed(report) is None), None)

    def promise(self) -> str:
        """Return the promise to those who report."""
        return promise_of_channel(self)

    @cached_property
    def sha256(self) -> str:
        """The hash of what a report means: of the questions, their answers, the lots and the level."""
        return content_digest(self._meaning())

    @property
    def id(self) -> str:
        """A short name of the channel, which its reports carry: the first digits of `sha256`."""
        return self.former_id or id_of(self.sha256)

    # Files ------------------------------------------------------------------------------------------------

    def _content(self) -> dict[str, Any]:
        return {
            "format": QUESTIONNAIRE,
            "version": VERSION,
            "certificate": {
                "epsilon": self.epsilon,
                "bound": self.bound,
                "code_version": import_module("ldpfrontier").__version__,
                "allowance": None if self.allowance is None else asdict(self.allowance),
            },
            **({"missing": stored_rules(self.missing)} if self.missing else {}),
            **({"impossible": [dict(rule) for rule in self.impossible]} if self.impossible else {}),
            **self._meaning(),
        }

    def _meaning(self) -> dict[str, Any]:
        mechanism = self.mechanism
        return {
            "questions": [
                {"name": name, "answers": list(answers), **self._columns_of(name)}
                for name, answers in zip(self.names, self.answers, strict=True)
            ],
            **self._tables(),
            "bits": BITS,
            "accept": str(self.accept),
            "lots": [
                {
                    "weight": str(weight),
                    "questions": [list(mechanism.questionnaire.members[kind]) for kind in lot.kinds],
                    "set": "".join(map(str, lot.members.astype(int).ravel())),
                }
                for weight, lot in zip(self.weights, mechanism.lots, strict=True)
            ],
        }

    def _columns_of(self, name: str) -> dict[str, Any]:
        """Return the columns of a question that is of several, and their values, as the file has them."""
        if name not in self.combined:
            return {}
        columns, labels = self.combined[name]
        return {"columns": list(columns), "values": [list(label) for label in labels]}

    def _tables(self) -> dict[str, Any]:
        """Return the tables that it is designed for: how many questions they have if it is for all such."""
        questionnaire = self.mechanism.questionnaire
        if questionnaire.has_all_tables:
            return {"order": self.order}
        return {"tables": [list(table) for table in questionnaire.tables]}

    def text(self) -> str:
        """Return the text of the file."""
        content = {"id": self.id, **self._content()}
        return (
            json.dumps(content | {"content_sha256": content_digest(content)}, indent=1, ensure_ascii=False)
            + "\n"
        )

    def sampler(self) -> str:
        """Return a program in JavaScript that draws reports from the file of this channel, and no other."""
        folder = files("ldpsurvey")
        own = folder.joinpath("questionnaire", "questionnaire.mjs").read_text(encoding="utf-8")
        shared = folder.joinpath("channel", "channel.mjs").read_text(encoding="utf-8")
        shared = shared[shared.index("// What follows is the same for all kinds of channels.") :]
        digest = hashlib.sha256(self.text().encode()).hexdigest()
        text = own.replace('"the SHA-256 of the file"', f'"{digest}"').replace(
            '"the id of the channel"', f'"{self.id}"'
        )
        return f"{text}\n{shared}"

    def proof(self) -> dict[str, Any]:
        """Return the document with which `ldpfrontier.verify` proves the level, from its whole numbers."""
        meaning = self._meaning()
        about = {
            "answers": [str(len(some)) for some in self.answers],
            "of": str(TOTAL),
            "kept": meaning["accept"],
            "lots": [
                lot | {"questions": [list(map(str, some)) for some in lot["questions"]]}
                for lot in meaning["lots"]
            ],
        }
        claim = {"kind": verify.OF_QUESTIONS, "epsilon": f"{Decimal(self.level):f}"}
        document = {"format": verify.FORMAT, "version": verify.VERSION}
        return document | {"questionnaire": about, "claims": [claim]}

    def write(self, path: Path | str) -> list[Path]:
        """Write the file and, beside it, the sampler and the certificate; all or none."""
        written_files(path)
        proof = json.dumps(self.proof(), indent=1) + "\n"
        texts = {".json": self.text(), ".mjs": self.sampler(), ".certificate.json": proof}
        return write_texts(Path(path), texts)


def level_of(accept: int) -> float:
    """Return the level, nats, of keeping so many of 2^62 draws, rounded upwards."""
    return math.log1p((TOTAL - accept) / accept) * (1.0 + 1e-15) + (1e-15 if accept < TOTAL else 0.0)


def sampled(
    found: QuestionnaireOptimum, names: Label, answers: tuple[Label, ...], **more: Any
) -> QuestionnaireChannel:
    """Return a mechanism as a channel with whole numbers, at its level or a little below."""
    own = found.mechanism
    accept = min(math.ceil(TOTAL * math.exp(-own.epsilon) * (1.0 + 1e-13)), TOTAL)
    (weights,) = whole_weights(np.array([[lot.weight for lot in own.lots]])).tolist()
    lots = [(weight, lot.kinds, lot.members) for weight, lot in zip(weights, own.lots, strict=True)]
    mechanism = _mechanism(own.questionnaire, lots, accept)
    numbers = tuple(weights), accept, own.epsilon, found.bound
    return QuestionnaireChannel(names, answers, mechanism, *numbers, **more)


def _mechanism(questionnaire: Questionnaire, lots: list[Any], accept: int) -> QuestionnaireMechanism:
    made = tuple(Lot(weight / TOTAL, kinds, members) for weight, kinds, members in lots)
    return QuestionnaireMechanism(questionnaire, math.log1p((TOTAL - accept) / accept), made)


#: A channel of either kind.
AnyChannel = PrivateChannel | QuestionnaireChannel


def read_any_channel(path: Path | str) -> AnyChannel:
    """Read a channel of any kind from its file, and check that it keeps its level."""
    return read_questionnaire(path) if is_questionnaire(path) else read_channel(path).verified()


def read_questionnaire(path: Path | str) -> QuestionnaireChannel:
    """Read a channel from its file; `ChannelFileError` if it was changed, or does not keep its level."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return parsed_channel(path, content, (1, VERSION), _parsed)


def _parsed(content: Mapping[str, Any]) -> QuestionnaireChannel:
    names = tuple(question["name"] for question in content["questions"])
    answers = tuple(tuple(question["answers"]) for question in content["questions"])
    if not all(isinstance(text, str) for text in (*names, *(answer for some in answers for answer in some))):
        raise ValueError("a question or an answer is no text.")
    sizes = tuple(map(len, answers))
    if "tables" in content:
        questionnaire = Questionnaire(sizes, content["tables"])
    else:
        questionnaire = Questionnaire.of_order(sizes, content["order"])
    weights, accept = tuple(int(lot["weight"]) for lot in content["lots"]), int(content["accept"])
    lots = []
    for weight, lot in zip(weights, content["lots"], strict=True):
        # Interactions are computed of all sets of these questions.
        if len(lot["questions"]) > MOST_ASKED:
            raise ValueError(f"a lot has {len(lot['questions'])} questions; {MOST_ASKED} are possible.")
        kinds = tuple(questionnaire.members.index(tuple(some)) for some in lot["questions"])
        sizes = questionnaire.sizes_of(kinds)
        if (
            set(lot["set"]) - {"0", "1"}
            or len(lot["set"]) != math.prod(sizes)
            or questionnaire.sets_of(kinds) < 1
        ):
            raise ValueError("a lot has no set of answers to its questions.")
        lots.append((weight, kinds, (np.array(list(lot["set"])) == "1").reshape(sizes)))
    if content["bits"] != BITS or not 0 < accept <= TOTAL:
        raise ValueError("its numbers are out of range.")
    combined = {
        question["name"]: Field(tuple(question["columns"]), tuple(map(tuple, question["values"])))
        for question in content["questions"]
        if "columns" in question
    }
    columns = [name for own in names for name in (combined[own].columns if own in combined else (own,))]
    impossible = content.get("impossible", [])
    hashed = {name: some for name, some in content.items() if name != "id"}
    former_id = id_of(content_digest(hashed)) if content["version"] == 1 else ""
    stated = content["certificate"]
    channel = QuestionnaireChannel(
        names,
        answers,
        _mechanism(questionnaire, lots, accept),
        weights,
        accept,
        stated["epsilon"],
        stated["bound"],
        None if stated.get("allowance") is None else Allowance(**stated["allowance"]),
        read_rules(content.get("missing", {}), columns),
        combined,
        tuple(tuple((name, tuple(some)) for name, some in rule.items()) for rule in impossible),
        former_id,
    )
    if content["id"] != channel.id:
        raise ValueError(f"its id is {content['id']!r}; that of its content is {channel.id!r}.")
    return channel
