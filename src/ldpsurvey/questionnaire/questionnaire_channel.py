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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ldpfrontier import Lot, Questionnaire, QuestionnaireMechanism, QuestionnaireOptimum
from ldpsurvey.base.sampling import BITS, TOTAL, whole_weights
from ldpsurvey.channel.channel_file import content_digest, id_of, parsed_channel, write_texts, written_files
from ldpsurvey.channel.promises import factor_text, upwards
from ldpsurvey.channel.routing import QUESTIONNAIRE, TABLES
from ldpsurvey.data.reading import Label

VERSION = 1

#: Questions of a lot, as those that `optimal_questionnaire` asks together.
MOST_ASKED = 4

#: The questions of the tables that a channel is designed for.
ORDERS: Mapping[str, int] = {name: order for order, name in enumerate(TABLES, start=1)}


@dataclass(frozen=True, eq=False)
class QuestionnaireChannel:
    """A channel for a questionnaire: names of the questions, their answers, a mechanism in whole numbers.

    The weights of the lots sum to 2^62. Of 2^62 draws whose set does not contain the own answers, `accept`
    are kept. `epsilon`, nats, was asked for, and no mechanism at this level has less error of the tables than
    `bound` (`QuestionnaireOptimum.bound`).
    """

    names: Label
    answers: tuple[Label, ...]
    mechanism: QuestionnaireMechanism
    weights: tuple[int, ...]
    accept: int
    epsilon: float
    bound: float

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

    @property
    def level(self) -> float:
        """The level of a report for all answers of a person, nats, rounded upwards."""
        return level_of(self.accept)

    @property
    def order(self) -> int:
        """The number of questions of the tables that it is designed for."""
        return max(map(len, self.mechanism.questionnaire.tables))

    def promise(self) -> str:
        """Return the promise to those who report."""
        names = self.names if len(self.names) <= 4 else (*self.names[:2], "...", self.names[-1])
        return (
            "Whatever anyone knows or believes, one report changes their odds between any two sets of answers"
            f" to {', '.join(names)} by a factor of at most {factor_text(self.level)}."
        )

    def promise_of_several(self) -> str:
        """Return what several reports of one person have together."""
        return (
            "Several reports of one person have at most the sum of their levels, whether the answers change"
            f" or not: two by this channel at most the level {upwards(2.0 * self.level):g}."
        )

    @cached_property
    def id(self) -> str:
        """The id of the channel, which every report is stored with."""
        return id_of(content_digest(self._content()))

    def _content(self) -> dict[str, Any]:
        mechanism = self.mechanism
        return {
            "format": QUESTIONNAIRE,
            "version": VERSION,
            "certificate": {
                "epsilon": self.epsilon,
                "bound": self.bound,
                "code_version": import_module("ldpfrontier").__version__,
            },
            "questions": [
                {"name": name, "answers": list(answers)}
                for name, answers in zip(self.names, self.answers, strict=True)
            ],
            "order": self.order,
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

    def write(self, path: Path | str) -> list[Path]:
        """Write the file and the sampler beside it; both or none."""
        written_files(path)
        return write_texts(Path(path), {".json": self.text(), ".mjs": self.sampler()})


def level_of(accept: int) -> float:
    """Return the level, nats, of keeping so many of 2^62 draws, rounded upwards."""
    return math.log1p((TOTAL - accept) / accept) * (1.0 + 1e-15) + (1e-15 if accept < TOTAL else 0.0)


def sampled(found: QuestionnaireOptimum, names: Label, answers: tuple[Label, ...]) -> QuestionnaireChannel:
    """Return a mechanism as a channel with whole numbers, at its level or a little below."""
    own = found.mechanism
    accept = math.ceil(TOTAL * math.exp(-own.epsilon) * (1.0 + 1e-13))
    (weights,) = whole_weights(np.array([[lot.weight for lot in own.lots]])).tolist()
    lots = [(weight, lot.kinds, lot.members) for weight, lot in zip(weights, own.lots, strict=True)]
    mechanism = _mechanism(own.questionnaire, lots, accept)
    return QuestionnaireChannel(names, answers, mechanism, tuple(weights), accept, own.epsilon, found.bound)


def _mechanism(questionnaire: Questionnaire, lots: list[Any], accept: int) -> QuestionnaireMechanism:
    made = tuple(Lot(weight / TOTAL, kinds, members) for weight, kinds, members in lots)
    return QuestionnaireMechanism(questionnaire, math.log1p((TOTAL - accept) / accept), made)


def read_questionnaire(path: Path | str) -> QuestionnaireChannel:
    """Read a channel from its file; `ChannelFileError` if it was changed, or does not keep its level."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return parsed_channel(path, content, VERSION, _parsed)


def _parsed(content: Mapping[str, Any]) -> QuestionnaireChannel:
    names = tuple(question["name"] for question in content["questions"])
    answers = tuple(tuple(question["answers"]) for question in content["questions"])
    if not all(isinstance(text, str) for text in (*names, *(answer for some in answers for answer in some))):
        raise ValueError("a question or an answer is no text.")
    questionnaire = Questionnaire.of_order(tuple(map(len, answers)), content["order"])
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
    stated = content["certificate"]
    channel = QuestionnaireChannel(
        names,
        answers,
        _mechanism(questionnaire, lots, accept),
        weights,
        accept,
        stated["epsilon"],
        stated["bound"],
    )
    if content["id"] != channel.id:
        raise ValueError(f"its id is {content['id']!r}; that of its content is {channel.id!r}.")
    return channel
