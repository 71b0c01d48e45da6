"""How many of those who answer alike, and of others, send a report: whole numbers of people.

They are rounded so that no ratio of two of them is nearer to 1 than that of the chances: a report never seems
to tell less than it does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpsurvey.base.sampling import TOTAL
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel

#: By how much rounding may change a number of people, as a share; else it is told of ten times as many.
ROUNDING = 0.1

#: Of so many people, numbers of others are told however few they are.
MANY = 10_000

#: Stands for fewer than one.
FEW = 0.5


@functools.lru_cache(maxsize=100_000)
def people(own: int, others: tuple[int, ...]) -> tuple[float, ...]:
    """Return of how many people numbers are told, how many of those with a chance, and of each of the others.

    Chances are multiples of 2^-62, the first above 0. It is the least of 100, 1,000, 10,000 people for which
    all numbers are right to a tenth, or the least of 10,000 and more for which the first one is.
    """
    for power in itertools.count(2):
        base = 10**power
        told = (2 * own * base + TOTAL) // (2 * TOTAL)
        # Of fewer people downwards, of more upwards: away from those who answer alike.
        counts = [other * told // own if other <= own else -(-other * told // own) for other in others]
        numbers = [(own, told), *zip(others, counts, strict=True)]
        right = [abs(count * TOTAL - chance * base) <= ROUNDING * chance * base for chance, count in numbers]
        if max(counts, default=0) <= base and (all(right) or (right[0] and base >= MANY)):
            return (
                base,
                told,
                *(c or (FEW if other else 0) for c, other in zip(counts, others, strict=True)),
            )
    raise AssertionError


def people_of_table(private: PrivateChannel) -> dict[str, Any]:
    """Return numbers of people for each answer and each report of the channel of a table.

    In ``groups`` are keys of texts, of those who answer otherwise. In ``kinds`` are lists: of how many
    people, how many of those who answer alike, and the least and most of each group. ``places`` has the place
    of such a list for each answer and report, and ``any`` of each report the number of people, the least and
    the most, whatever they answer.
    """
    weights = private.weights[: len(private.asked_labels)]
    inputs, columns = len(weights), private.table.counts.shape[1]
    # Where all of the answers are protected alike, or the useful ones alone are asked, there is one group.
    paired = bool(private.table.useful) and not private.is_unasked
    useful = np.arange(inputs) % columns if paired else np.zeros(inputs, dtype=np.int64)
    named = (
        {"same_useful": inputs > columns, "other_useful": columns > 1} if paired else {"others": inputs > 1}
    )
    kinds, places = dict[tuple[float, ...], int](), list[list[int]]()
    for x in range(inputs):
        same = (useful == useful[x]) & (np.arange(inputs) != x)
        each = [
            useful != useful[x] if key == "other_useful" else same for key, there in named.items() if there
        ]
        ends = [
            end.tolist() for group in each for end in (weights[group].min(axis=0), weights[group].max(axis=0))
        ]
        row = zip(weights[x].tolist(), *ends, strict=True)
        counted = [people(own, tuple(others)) if own else (0, 0) for own, *others in row]
        places.append([kinds.setdefault(numbers, len(kinds)) for numbers in counted])
    pairs = zip(weights.max(axis=0).tolist(), weights.min(axis=0).tolist(), strict=True)
    both = [people(high, (low,)) if high else (100, 0, 0) for high, low in pairs]
    groups = [key for key, there in named.items() if there]
    return {
        "groups": groups,
        "kinds": list(kinds),
        "places": places,
        "any": [(base, low, high) for base, high, low in both],
    }


def people_of_questionnaire(channel: QuestionnaireChannel) -> list[Sequence[int]]:
    """Return numbers of people of each lot: three, and how many with an answer in the set for 100 others.

    The first three are of how many people, how many send a report whose set has their own answers, and how
    many another one.
    """
    found = list[Sequence[int]]()
    for lot in channel.mechanism.lots:
        inside = int(lot.members.sum()) * TOTAL
        outside = (lot.members.size - int(lot.members.sum())) * channel.accept
        for power in itertools.count(2):
            base = 10**power
            without = outside * base // (inside + outside)
            if outside * base <= (1.0 + ROUNDING) * without * (inside + outside):
                break
        found.append((base, base - without, without, -(-100 * TOTAL // channel.accept)))
    return found
