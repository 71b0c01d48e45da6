"""Numbers of people on the page: right to a tenth, and never nearer to each other than the chances are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpfrontier import optimal_questionnaire
from ldpsurvey.answer.revealed import FEW, MANY, people, people_of_questionnaire, people_of_table
from ldpsurvey.base.sampling import TOTAL
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from support.owndata import channel_of, flat, small_table

CHANCES = st.floats(0.0, 62.0).map(lambda power: int(2.0**power))


@given(CHANCES, st.lists(st.one_of(st.just(0), CHANCES), max_size=4))
def test_rounding_brings_no_two_numbers_of_people_nearer_to_each_other(own, others):
    base, told, *counts = people(own, tuple(others))
    assert abs(told / base - own / TOTAL) <= 0.1 * own / TOTAL
    for count, other in zip(counts, others, strict=True):
        assert 0 <= count <= base
        assert (count == 0) == (other == 0)
        if count == FEW:  # stands for anything below 1
            assert base >= MANY
            assert other * told < own
        elif other <= own:
            assert count * own <= told * other
        else:
            assert count * own >= told * other


def entries(private):
    """Yield of each answer and report the chance, those of each group, and what is told."""
    inputs, found = len(private.asked_labels), people_of_table(private)
    shape = private.table.counts.shape if not private.is_unasked else (1, inputs)
    for x in range(inputs):
        s, u = np.unravel_index(x, shape)
        others = [np.unravel_index(z, shape) for z in range(inputs)]
        groups = {
            "same_useful": [z for z, (t, v) in enumerate(others) if v == u and t != s],
            "other_useful": [z for z, (_, v) in enumerate(others) if v != u],
            "others": [z for z in range(inputs) if z != x],
        }
        for y, chances in enumerate(private.weights[:inputs].T.tolist()):
            each = [[chances[z] for z in groups[key]] for key in found["groups"]]
            yield chances[x], each, found["kinds"][found["places"][x][y]], found["any"][y], chances


@pytest.mark.parametrize("which", ["paired", "flat"])
def test_numbers_are_those_of_who_answers_alike_and_of_each_group(which):
    table = small_table()
    private = channel_of(table, "exact") if which == "paired" else channel_of(flat(table), "grr")
    assert people_of_table(private)["groups"] == (
        ["same_useful", "other_useful"] if which == "paired" else ["others"]
    )
    for own, groups, told, whatever, chances in entries(private):
        ends = [end for group in groups for end in (min(group), max(group))]
        assert tuple(told) == people(own, tuple(ends))
        assert whatever[1] == FEW or whatever[1] / whatever[0] <= min(chances) / TOTAL
        assert whatever[2] / whatever[0] == pytest.approx(max(chances) / TOTAL, rel=0.1)


def test_numbers_of_a_questionnaire_are_those_of_its_lots():
    channel = sampled(
        optimal_questionnaire((2, 3, 2), 1.0, 2), tuple("abc"), (("t", "u"), tuple("tuv"), ("t", "u"))
    )
    ratio = TOTAL / channel.accept
    for lot, (base, inside, outside, times) in zip(
        channel.mechanism.lots, people_of_questionnaire(channel), strict=True
    ):
        k, n = lot.members.sum(), lot.members.size
        share = k * ratio / (k * ratio + n - k)
        assert inside + outside == base
        assert share <= inside / base <= share + 0.1 * (1.0 - share) + 1e-12
        assert ratio <= times / 100 <= ratio + 0.01
