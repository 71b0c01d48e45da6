"""Means and cumulative shares of the answers to a question, with confidence intervals.

Both are linear in the distribution of records, as a frequency is: a mean that is moved and scaled to the
range from 0 to 1 has the interval of a frequency.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence

import numpy as np

from ldpfrontier.base.types import FloatArray
from ldpsurvey.base.layout import remark
from ldpsurvey.base.names import close_name, split_column
from ldpsurvey.data.groups import in_order
from ldpsurvey.data.reading import Label, as_number
from ldpsurvey.data.tables import CountTable
from ldpsurvey.estimate.distribution import FittedReports, check_confidence
from ldpsurvey.estimate.estimates import Estimated, Measure, Quantity, is_estimable


def estimate_scores(
    fit: FittedReports,
    means: Sequence[str] = (),
    cumulative: Sequence[str] = (),
    confidence: float = 0.95,
    *,
    simultaneous: bool = False,
) -> list[Estimated]:
    """Estimate means and cumulative shares from reports, with the confidence of each or of all together.

    A mean is that of a column of numbers, or ``COLUMN=1,2,3`` has a number for each of its values in their
    order. Cumulative shares have the order of the channel, or the one of ``COLUMN=low,middle,high``, without
    the last one, which is 1. A `Remark` says so if the order of the channel is alphabetical.
    """
    table, asked, vectors = fit.table, list[tuple[Measure, Quantity, float, float]](), list[FloatArray]()
    for word in means:
        name, given = (word, None) if word in table.attributes else split_column(word, table.attributes)
        values, parts = _values(table, name)
        if given is not None:
            _check_order(name, values, "mean", "1,2,...")
        scores = _numbers_of_values(name, values, values if given is None else given.split(","))
        least, most = min(scores.values()), max(scores.values())
        asked.append(("mean", Quantity((name,), ()), least, most))
        vectors.append(np.array([(scores[part] - least) / (most - least) for part in parts]))
    for word in cumulative:
        name, given = (word, None) if word in table.attributes else split_column(word, table.attributes)
        values, parts = _values(table, name)
        if given is None:
            _check_order(name, values, "cumulative", ",".join(values))
        else:
            values = _listed_order(name, values, given)
        for place, value in enumerate(values[:-1]):
            asked.append(("cumulative", Quantity((name,), (value,)), 0.0, 1.0))
            vectors.append(np.array([float(part in values[: place + 1]) for part in parts]))
    if not asked:
        return []
    tail = 0.5 * (1.0 - check_confidence(confidence)) / (len(asked) if simultaneous else 1)
    rows = zip(*fit.linear_functions(np.array(vectors), tail), strict=True)
    found = []
    for (measure, quantity, least, most), row in zip(asked, rows, strict=True):
        *ends, error = map(float, row)
        known = is_estimable(ends[0], ends[2] - ends[1])
        likely, low, high, unbiased = (least + (most - least) * end for end in ends)
        numbers = likely, low, high, unbiased, (most - least) * error
        found.append(Estimated(quantity, *numbers, estimable=known, measure=measure))
    return found


def _values(table: CountTable, name: str) -> tuple[Label, Label]:
    """Return the values of a column in their order, and that of each record."""
    if name not in table.attributes:
        raise ValueError(
            f"The column {name!r} is not in the channel, which is about {', '.join(table.attributes)}."
            f"{close_name(name, table.attributes)}"
        )
    parts = tuple(label[table.attributes.index(name)] for label in table.labels)
    return tuple(dict.fromkeys(parts)), parts


def _check_order(name: str, values: Label, option: str, how: str) -> None:
    """Warn if the order of values may be one that nobody has given them."""
    texts = [value for value in values if in_order([value])[0][0] == math.inf]
    if len(texts) > 1 and texts == sorted(texts):
        remark(
            f"the order of {name} is alphabetical: {', '.join(values)}. If its values have another one, give"
            f" it: --{option} {name}={how} is for this order."
        )


def _listed_order(name: str, values: Label, text: str) -> Label:
    """Return the values of a column in the order of a text."""
    (listed,) = csv.reader([text.strip()], skipinitialspace=True)
    if sorted(value.strip() for value in listed) != sorted(values):
        raise ValueError(
            f"The order of {name!r} is {text.strip()!r}; it must have each of its values once, with commas"
            f" between them: {', '.join(values)}."
        )
    return tuple(value.strip() for value in listed)


def _numbers_of_values(name: str, values: Label, texts: Sequence[str]) -> dict[str, float]:
    """Return a number for each value of a column."""
    numbers = [number for text in texts if (number := as_number(text)) is not None]
    if len(numbers) < len(texts) or len(texts) != len(values) or min(numbers) == max(numbers):
        raise ValueError(
            f"A mean of {name!r} needs {len(values)} numbers that are not all equal, and there are"
            f" {', '.join(map(repr, texts))}; --mean {name}=1,2,... gives one to each of its values in their"
            f" order: {', '.join(values)}."
        )
    return dict(zip(values, numbers, strict=True))
