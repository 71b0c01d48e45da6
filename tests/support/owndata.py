"""Tables, channels and files for the tests of a user's own data."""

import csv
import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np

from ldpfrontier import optimal_questionnaire
from ldpsurvey import CountTable, PrivateChannel, design_channel
from ldpsurvey.channel.attackers import Attacker
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel, sampled
from support.adult import adult_pair

ROOT = Path(__file__).resolve().parents[2]


def seeded(seed: int):
    """Return a source of bytes that are the same every time."""
    return np.random.default_rng(seed).bytes


def small_table() -> CountTable:
    return CountTable(
        ("illness",), ("region", "age"), (("no",), ("yes",)),
        (("north", "old"), ("north", "young"), ("south", "old")), np.array([[260, 310, 570], [70, 30, 100]]),
    )  # fmt: skip


def adult_table(sensitive: str, useful: str) -> CountTable:
    pair = adult_pair(sensitive, useful)
    labels = [tuple((value,) for value in values) for values in (pair.rows, pair.columns)]
    return CountTable((sensitive,), (useful,), *labels, np.array(pair.counts), "adult.csv")


def flat(table: CountTable) -> CountTable:
    """Return the table with nothing useful: all of a record is sensitive."""
    counts = table.counts.reshape(-1, 1)
    return CountTable(table.attributes, (), table.labels, ((),), counts, table.source)


@cache  # a table is equal to itself alone
def channel_of(
    table: CountTable, mechanism: str, epsilon: float = 1.0, against: Attacker = "outsider"
) -> PrivateChannel:
    made = design_channel(table, epsilon, against=against, mechanisms=[mechanism])
    return made.private(made.candidates[0])


def questionnaire_of(sizes: tuple[int, ...], order: int = 2) -> QuestionnaireChannel:
    """Return a channel of the level 1 for questions with so many answers, for tables of so many of them."""
    found = optimal_questionnaire(sizes, 1.0, min(order, len(sizes)))
    answers = tuple(tuple("abcdefgh"[:size]) for size in sizes)
    return sampled(found, tuple(f"x{number}" for number in range(len(sizes))), answers)


def write_records(path: Path, table: CountTable, records, more=()) -> None:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(table.attributes)
        writer.writerows([*records, *more])


def records_of(table: CountTable) -> list[tuple[str, ...]]:
    return [
        label
        for label, times in zip(table.labels, table.counts.ravel().tolist(), strict=True)
        for _ in range(times)
    ]


def rewritten(path, change) -> None:
    """Change the content of a channel file as somebody would who knows how its hash is made."""
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["content_sha256"]
    change(content)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**content, "content_sha256": digest}), encoding="utf-8")
