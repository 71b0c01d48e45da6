"""The questions of a questionnaire and their answers, from a file or from lists of values."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ldpsurvey.base.layout import remark
from ldpsurvey.base.names import close_name
from ldpsurvey.channel.kinds import Field
from ldpsurvey.data.groups import Bins, Groups, ValueOrder, translations_of, with_groups
from ldpsurvey.data.reading import Label, Records, labels_of, read_chunks, shown
from ldpsurvey.data.tables import check_columns, notice_counts, whole_count
from ldpsurvey.data.values import (
    Missing,
    check_totals,
    first_rows,
    look_alikes,
    missing_rules,
    unused_codes,
    without_missing,
)
from ldpsurvey.questionnaire.restrictions import FollowUp, combined_questions


@dataclass(frozen=True)
class QuestionList:
    """Questions with their answers, the number of records that were read, if any, and hints on answers."""

    names: Label
    answers: tuple[Label, ...]
    records: int | None
    hints: tuple[str, ...]
    missing: Mapping[str, Missing] = field(default_factory=dict)
    combined: Mapping[str, Field] = field(default_factory=dict)


def parsed_tables(texts: Sequence[str], names: Label) -> list[Label]:
    """Return the questions of tables from texts such as ``A,B,C``, in the order of their names.

    A text that is the name of a question is that question, whatever commas are in it.
    """
    place = {name: number for number, name in enumerate(names)}
    split = ([text] if text in place else [name.strip() for name in text.split(",")] for text in texts)
    return [tuple(sorted(table, key=lambda name: place.get(name, len(place)))) for table in split]


def table_of_names(table: Sequence[str], names: Label, most: int) -> tuple[int, ...]:
    """Return the numbers of the questions of a table; refuse unknown names, and more than are possible."""
    if unknown := [name for name in table if name not in names]:
        raise ValueError(
            f"There is no question {unknown[0]!r}; the questions are {', '.join(names)}."
            f"{close_name(unknown[0], names)}"
        )
    if not 0 < len(table) <= most or len(set(table)) < len(table):
        raise ValueError(
            f"A table has the questions {', '.join(table)}; it must have 1 to {most} different ones."
        )
    return tuple(map(names.index, table))


def questions_of_records(
    path: Records,
    names: Sequence[str],
    *,
    count: str | None = None,
    values: Mapping[str, Label] | None = None,
    bins: Mapping[str, Bins] | None = None,
    missing: str | Sequence[str] | None = None,
    missing_codes: Sequence[str] = (),
    decimal: str = ".",
    follow_ups: Sequence[FollowUp] = (),
) -> QuestionList:
    """Read the answers that are in a file; parameters and errors are those of `count_records`.

    `values` has all answers to some of the questions, in their order; combinations are not counted. What is
    missing where a follow-up question is not asked counts for nothing, and another answer is refused.
    """
    names = check_columns(names, (), count)
    rules = missing_rules(missing, missing_codes, names)

    def number(row: int, text: str) -> int:
        return whole_count(path, str(count), row, text)

    amounts = None if count is None else (count, number)
    made = translations_of(path, bins or {}, rules, decimal, amounts)
    rows: list[dict[Label, int]] = [{} for _ in names]
    found: list[Counter[Label]] = [Counter() for _ in names]
    order, records = ValueOrder(names), 0
    notice = partial(notice_counts, path) if count is None else None
    for chunk in read_chunks(path, names if count is None else (*names, count), on_counts=notice):
        numbers = [] if count is None else zip(chunk.index, chunk[count], strict=True)
        records += len(chunk) if count is None else sum(number(*row) for row in numbers)
        labels = labels_of(chunk, names, made)
        order.read(chunk, labels)
        for name, counter, known, some in zip(names, found, rows, zip(*labels, strict=True), strict=True):
            parts = [(answer,) for answer in some]
            asked = chunk
            for one in (one for one in follow_ups if one.name == name):
                firsts = [label[names.index(one.after)] for label in labels]
                here = [first in one.answers for first in firsts]
                for row, text, first, ok in zip(chunk.index, some, firsts, here, strict=True):
                    if not ok and not rules[name](text):
                        raise ValueError(
                            f"Record {row} of {shown(path)} has {text!r} as {name} after {first!r} as"
                            f" {one.after}; it must be empty, as it is asked after {'/'.join(one.answers)}."
                        )
                asked, parts = chunk[here], list(itertools.compress(parts, here))
            counter.update(parts)
            known |= first_rows(asked, parts, known)
    answers = []
    for name, counter, known in zip(names, found, rows, strict=True):
        check_totals(shown(path), (name,), counter)
        left, sentence = without_missing(shown(path), counter, {name: rules[name]}, known)
        if sentence:
            remark(sentence)
        edges = (bins or {}).get(name)
        # Groups that nobody is in can be reported as well.
        groups = () if edges is None or isinstance(edges, int) else Groups(path, name, edges, decimal).labels
        listed = order(name, (*groups, *(label[0] for label in left)))
        answers.append(_listed(name, listed, (values or {}).get(name), shown(path)))
    given = {name: [v for (v,) in counter] for name, counter in zip(names, found, strict=True)}
    for code in unused_codes(shown(path), missing_codes, given):
        remark(code)
    _check_asked(names, values or {})
    told = {name: rule for name, rule in rules.items() if rule != Missing()}
    return replace(_made(names, answers, records, follow_ups), missing=told)


def questions_of_values(
    values: Mapping[str, Label],
    names: Sequence[str],
    *,
    bins: Mapping[str, Bins] | None = None,
    follow_ups: Sequence[FollowUp] = (),
) -> QuestionList:
    """Return the questions with answers that are listed, or that are groups which begin at given numbers."""
    names, known = check_columns(names, ()), with_groups(values, bins or {})
    _check_asked(names, known)
    answers = [_listed(name, (), known.get(name), "--values") for name in names]
    return _made(names, answers, None, follow_ups)


def _listed(name: str, found: Label, listed: Label | None, source: str) -> Label:
    """Return the answers to a question: those that are listed, or that were found."""
    answers = found if listed is None else listed
    if more := [answer for answer in found if answer not in answers]:
        raise ValueError(
            f"{source} has {more[0]!r} as its {name}, which is not among the values listed for {name!r}; list"
            f" all of them.{close_name(more[0], answers)}"
        )
    if "" in answers or len(set(answers)) < len(answers):
        raise ValueError(f"The values of {name!r} must have letters, and occur once.")
    if len(answers) < 2:
        raise ValueError(f"{name!r} has {len(answers)} values in {source}; at least two are needed.")
    return answers


def _check_asked(names: Label, values: Mapping[str, Label]) -> None:
    if unknown := next((name for name in values if name not in names), None):
        raise ValueError(
            f"The column {unknown!r} has values, but is not among the questions.{close_name(unknown, names)}"
        )


def _made(
    names: Label, answers: Sequence[Label], records: int | None, follow_ups: Sequence[FollowUp]
) -> QuestionList:
    hints = list[str]()
    for name, some in zip(names, answers, strict=True):
        hints += look_alikes((name,), [(answer,) for answer in some])
    names, known, combined = combined_questions(names, answers, follow_ups)
    return QuestionList(names, known, records, tuple(hints), combined=combined)
