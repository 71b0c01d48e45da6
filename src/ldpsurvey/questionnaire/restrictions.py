"""Answers that depend on others: questions that follow an answer, and combinations that are impossible.

A question that is asked only after some answers to another one, and that one, are one question of the
channel: its answers are those of both, and the record of whoever is not asked has an empty field.

A combination that is impossible is refused as a record, and its entries of tables are 0. The promise is about
all records, so that it does not depend on this.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.channel.kinds import Field
from ldpsurvey.data.reading import Label, said
from ldpsurvey.data.value_lists import parsed_values

#: Answers to some columns, of which any of the first with any of the second and so on is impossible.
Impossible = tuple[tuple[str, Label], ...]


@dataclass(frozen=True)
class FollowUp:
    """A question that is asked only after some answers to another one."""

    name: str
    after: str
    answers: Label


def parsed_follow_ups(words: Sequence[str], names: Sequence[str]) -> list[FollowUp]:
    """Return follow-up questions that are written as ``often=smokes:yes``, or after several answers.

    A `ValueError` if one is none of the questions with these names, or follows two, or another follow-up.
    """
    found = list[FollowUp]()
    for word in words:
        name, rest = split_column(word, names)
        after = next((other for other in names if (rest or "").startswith(f"{other}:")), "")
        if name not in names or not after or after == name:
            raise ValueError(
                f"--follow-up has {word!r}; it must be QUESTION=OTHER:ANSWER,..., with two of the questions"
                f" {', '.join(names)}.{close_name(name, names)}"
            )
        (answers,) = csv.reader([str(rest)[len(after) + 1 :]], skipinitialspace=True)
        found.append(FollowUp(name, after, tuple(answer.strip() for answer in answers)))
    following = [one.name for one in found]
    for one in found:
        if following.count(one.name) > 1 or one.after in following:
            raise ValueError(
                f"--follow-up has {one.name!r} after {one.after!r}; a question follows at most one other,"
                " which follows none."
            )
    return found


def combined_questions(
    names: Label, answers: Sequence[Label], follow_ups: Sequence[FollowUp]
) -> tuple[Label, tuple[Label, ...], dict[str, Field]]:
    """Return the questions of a channel, their answers, and the fields of those that have several columns."""
    known = dict(zip(names, answers, strict=True))
    fields, made = dict[str, Field](), dict[str, Label]()
    for name in names:
        own = [one for one in follow_ups if one.after == name]
        for one in own:
            if unknown := [answer for answer in one.answers if answer not in known[name]]:
                raise ValueError(
                    f"--follow-up says that {one.name} is asked after {name} {unknown[0]!r}; its answers are"
                    f" {', '.join(known[name])}.{close_name(unknown[0], known[name])}"
                )
        if own:
            labels = [
                (first, *others)
                for first in known[name]
                for others in itertools.product(
                    *(known[one.name] if first in one.answers else ("",) for one in own)
                )
            ]
            columns = (name, *(one.name for one in own))
            fields["/".join(columns)] = Field(columns, tuple(labels))
            made["/".join(columns)] = tuple(said(tuple(part for part in label if part)) for label in labels)
        elif not any(one.name == name for one in follow_ups):
            made[name] = known[name]
    return tuple(made), tuple(made.values()), fields


def parsed_impossible(rules: Sequence[Sequence[str]], values: Mapping[str, Label]) -> tuple[Impossible, ...]:
    """Return what is impossible together, as in ``age=15-17 children=2,3``, of columns with these values."""
    found = list[Impossible]()
    for words in rules:
        if without := [word for word in words if "=" not in word]:
            raise ValueError(
                f"--impossible has {without[0]!r}; it must be QUESTION=ANSWER,... for two or more questions."
            )
        parsed = parsed_values(words, list(values), "--impossible")
        for column, some in parsed.items():
            known = values.get(column, ())
            if wrong := [value for value in some if value not in known]:
                name, what, allowed = column, "questions", tuple(values)
                if known:
                    name, what, allowed = wrong[0], "answers", known
                raise ValueError(
                    f"--impossible has {column}={wrong[0]}; the {what} are {', '.join(allowed)}."
                    f"{close_name(name, allowed)}"
                )
        if len(parsed) < 2:
            raise ValueError(
                f"--impossible has {' '.join(words)!r}; at least two questions are needed, whose answers are"
                " impossible together. An answer that nobody can give need not be asked for."
            )
        found.append(tuple(parsed.items()))
    return tuple(found)


def masks_of(rule: Impossible, fields: Sequence[Field]) -> dict[int, NDArray[np.bool_]]:
    """Return which answers a rule is about, of each field that has any of its columns."""
    asked, found = dict(rule), dict[int, NDArray[np.bool_]]()
    for j, (columns, labels) in enumerate(fields):
        if own := [(place, asked[name]) for place, name in enumerate(columns) if name in asked]:
            found[j] = np.array([all(label[place] in some for place, some in own) for label in labels])
    return found


def impossible_entries(
    rules: Sequence[Impossible], fields: Sequence[Field], table: Sequence[int]
) -> NDArray[np.bool_]:
    """Return which entries of the table of some fields are impossible, with an axis for each of these."""
    found = np.zeros([len(fields[j].labels) for j in table], dtype=bool)
    for rule in rules:
        masks = masks_of(rule, fields)
        if set(masks) <= set(table):
            every = [
                masks.get(j, np.ones(size, dtype=bool)) for j, size in zip(table, found.shape, strict=True)
            ]
            found |= reduce(np.logical_and.outer, every)
    return found
