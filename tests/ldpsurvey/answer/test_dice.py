"""Channels of dice keep the level of the channel exactly, and lose little of its precision."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpsurvey import (
    CountTable,
    answer_page,
    design_channel,
    dice_channel,
    privatize,
    read_channel,
    table_of_values,
)
from ldpsurvey.answer.dice import _best_weights, _Search
from ldpsurvey.base.sampling import TOTAL
from ldpsurvey.channel.channel_file import ChannelFileError, PrivateChannel
from ldpsurvey.channel.proof import certified
from ldpsurvey.design.known_channels import known_channel
from support.grids import few
from support.owndata import flat, questionnaire_of, rewritten, small_table

VALUES = table_of_values({"illness": ("no", "once", "often")}, ["illness"])
TABLE = known_channel(VALUES, 0.5 * np.eye(3) + 0.5 / 3)


def random_channel(seed):
    """Return a channel of some values with the level that it happens to have."""
    rng = np.random.default_rng(seed)
    inputs, outputs = sorted(rng.integers(2, 5, size=2).tolist())
    rows = rng.dirichlet(np.full(outputs, rng.uniform(0.5, 5.0)), size=inputs)
    rows = 0.1 / outputs + 0.9 * rows
    values = tuple(map(str, range(inputs)))
    return known_channel(table_of_values({"a": values}, ["a"]), rows / rows.sum(axis=1, keepdims=True))


def worst_ratio(weights, pairs) -> Fraction:
    """Return the largest ratio of two entries of a column, exactly."""
    rows = weights.tolist()
    return max(Fraction(rows[x][y], rows[z][y]) for x, z in pairs for y in range(len(rows[0])) if rows[x][y])


def is_within(ratio: Fraction, epsilon: float) -> bool:
    """Tell whether a ratio is at most e^epsilon, in forty digits."""
    with localcontext() as context:
        context.prec = 40
        return Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln() <= Decimal(epsilon)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]))
def test_the_level_of_what_is_drawn_is_never_above_the_promise(seed, dice):
    """In exact arithmetic, and beside the exact level of the channel itself."""
    channel = random_channel(seed)
    drawn, price = dice_channel(channel, dice)
    pairs = list(itertools.permutations(range(len(channel.weights)), 2))
    ratio = worst_ratio(drawn.weights, pairs)
    assert is_within(ratio, channel.certificate.epsilon)
    assert is_within(ratio, drawn.certificate.levels.record)
    assert is_within(ratio / worst_ratio(channel.weights, pairs), 1e-12)
    assert drawn.weights.sum(axis=1).tolist() == [10**dice] * len(channel.weights)
    assert 0.0 < price < 1.5


@pytest.mark.parametrize("against", few(["insider-only", "acquaintance", "anyone"], more=["outsider"]))
def test_every_promise_is_kept_and_proved(against):
    columns = ("north",), ("south",)
    table = CountTable(("ill",), ("region",), (("no",), ("yes",)), columns, np.array([[260, 570], [70, 100]]))
    made = design_channel(table, 1.5, against=against)
    drawn, price = dice_channel(made.private(made.best()))
    assert drawn.levels().against(against) <= 1.5
    assert certified(drawn)[1]
    assert 1.0 <= price < 1.3
    if against == "insider-only":
        assert is_within(worst_ratio(drawn.weights, [(0, 2), (2, 0), (1, 3), (3, 1)]), 1.5)


def brute_force(search, outputs):
    """Return the least variance of all channels of a level, by listing them."""
    rows = [
        row for row in itertools.product(range(search.total + 1), repeat=outputs) if sum(row) == search.total
    ]
    least = math.inf
    for first in rows:
        others = itertools.product([first], *[rows] * (len(search.matrix) - 1))
        every = np.array(list(others))
        kept = every[search.may_keep(every)]
        least = min(least, search.variances(kept).min(initial=math.inf))
    return least


@pytest.mark.parametrize(("seed", "inputs", "outputs", "total"), [(1, 2, 2, 30), (2, 2, 3, 14), (3, 3, 3, 7)])
def test_what_is_found_is_close_to_the_best(seed, inputs, outputs, total):
    rng = np.random.default_rng(seed)
    rows = 0.1 + rng.dirichlet(np.full(outputs, 2.0), size=inputs)
    values = tuple(map(str, range(inputs)))
    channel = known_channel(table_of_values({"a": values}, ["a"]), rows / rows.sum(axis=1, keepdims=True))
    search = _Search(channel, total)
    weights, price = _best_weights(channel, total)
    (own,) = search.variances(search.matrix[None] * total)
    least = brute_force(search, outputs)
    assert search.keeps(weights)
    assert least / own <= price * (1.0 + 1e-9)
    assert price <= 1.05 * least / own


def test_estimates_use_exactly_the_chances_that_are_drawn(tmp_path):
    drawn, _ = dice_channel(TABLE)
    (tmp_path / "card.json").write_text(drawn.text(), encoding="utf-8")
    read = read_channel(tmp_path / "card.json").verified()
    assert read.channel.matrix.tolist() == [
        [float(Fraction(one, 100)) for one in row] for row in drawn.weights.tolist()
    ]
    assert (read.id, read.outputs) == (drawn.id, drawn.outputs)
    assert read.id != TABLE.id


def test_answers_with_one_row_keep_one_row():
    """What is not asked stays so."""
    made = design_channel(small_table(), 1.0, against="acquaintance", unasked=True, precise="U")
    drawn, _ = dice_channel(made.private(made.best()))
    assert drawn.is_unasked
    assert drawn.asked == ("region", "age")


def change(content):
    content["total"] = 1000


def test_no_program_draws_and_a_changed_total_is_refused(tmp_path):
    drawn, _ = dice_channel(TABLE)
    for call in (
        lambda: privatize(drawn, [drawn.asked_labels[0]]),
        lambda: answer_page(drawn),
        lambda: drawn.write("c.json"),
    ):
        with pytest.raises(ValueError, match="people draw its reports with dice"):
            call()
    (tmp_path / "card.json").write_text(drawn.text(), encoding="utf-8")
    rewritten(tmp_path / "card.json", change)
    with pytest.raises(ChannelFileError, match="do not match"):
        read_channel(tmp_path / "card.json")


def with_sums(*sums):
    weights = np.array([[total // 2, total - total // 2] for total in sums])
    return PrivateChannel(table_of_values({"a": ("x", "y")}, ["a"]), weights, TABLE.certificate)


@pytest.mark.parametrize("sums", [(100, 1000), (99, 99), (100, TOTAL), (0, 0), (10, 10)])
def test_rows_sum_to_one_number_that_is_drawn_from(sums):
    with pytest.raises(ValueError, match="must sum to"):
        with_sums(*sums)
    assert with_sums(1000, 1000).total == 1000


@pytest.mark.parametrize(
    ("channel", "dice", "sentence"),
    [
        (lambda: TABLE, 4, "must be 2 or 3"),
        (lambda: dice_channel(TABLE)[0], 2, "of dice already"),
        (lambda: questionnaire_of((2, 2, 2)), 2, "for the channel of one table"),
        (lambda: several(), 2, "for several reports of a person"),
        (lambda: wide(27), 3, "has room for"),
        (lambda: wide(20), 2, "More dice"),
        (lambda: dependent(), 2, "do not tell all answers apart"),
    ],
)
def test_what_cannot_be_put_on_a_card_is_refused(channel, dice, sentence):
    with pytest.raises(ValueError, match=sentence):
        dice_channel(channel(), dice)


def several():
    from ldpsurvey import design_for_reports

    made = design_for_reports(flat(small_table()), 2.0, 2, against="anyone")
    return made.private(made.best())


def wide(outputs):
    values = tuple(map(str, range(outputs)))
    rows = (np.full((outputs, outputs), 1.0) + 0.05 * np.eye(outputs)) / (outputs + 0.05)
    return known_channel(table_of_values({"a": values}, ["a"]), rows)


def dependent():
    """Return a channel that shows the share of one value alone."""
    rows = np.array([[6, 2, 2], [2, 6, 2], [4, 4, 2], [2, 2, 6]]) / 10
    return known_channel(table_of_values({"a": ("s", "t", "u", "v")}, ["a"]), rows)
