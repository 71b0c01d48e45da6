"""Whether reports of a questionnaire fit their channel: reports of it do, and others do not."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import optimal_questionnaire
from ldpsurvey.base.sampling import TOTAL
from ldpsurvey.questionnaire.fit import doubt, most_repeated, questionnaire_fit
from ldpsurvey.questionnaire.lot_reports import draw_reports, read_reports
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from support.questionnaires import report_chances

SIZES = (2, 3, 2, 4)


def channel_of(epsilon, sizes=SIZES):
    names = tuple("abcdefgh"[: len(sizes)])
    return sampled(optimal_questionnaire(sizes, epsilon, 2), names, tuple(tuple("tuvw"[:k]) for k in sizes))


CHANNEL = channel_of(1.5)


def reports_of(channel, records, rng):
    return read_reports(channel, Counter(draw_reports(channel, records, rng.bytes)))


@pytest.mark.parametrize("population", ["one answer", "uniform"])
def test_reports_of_the_channel_fit_it(population, long):
    """The bound is below 5% in at most 5% of surveys: a test of any level refuses no more of them."""
    rng, times, low = np.random.default_rng(0), 400 if long else 25, 0
    for _ in range(times):
        records = rng.integers(0, SIZES, (500, 4)) * (population == "uniform")
        fit = questionnaire_fit(CHANNEL, reports_of(CHANNEL, records, rng))
        low += fit < 0.05
        assert fit >= 1e-4
    assert low / times <= 0.05 + 3.0 * (0.05 * 0.95 / times) ** 0.5


def test_other_reports_do_not():
    """Of other lots; one report many times; the same permutations for all; one question asked too often."""
    rng = np.random.default_rng(1)
    records = rng.integers(0, SIZES, (4_000, 4))
    weights = list(CHANNEL.weights)
    largest, least = int(np.argmax(weights)), int(np.argmin(weights))
    moved = weights[largest] // 3
    weights[largest], weights[least] = weights[largest] - moved, weights[least] + moved
    assert sum(weights) == TOTAL
    texts = draw_reports(CHANNEL, records, rng.bytes)
    sorted_images = [
        "/".join(
            [
                text.partition("/")[0],
                *(f"{part.partition('=')[0]}={''.join(sorted(part[3:]))}" for part in text.split("/")[1:]),
            ]
        )
        for text in texts
    ]
    others = {
        "lots": draw_reports(replace(CHANNEL, weights=tuple(weights)), records, rng.bytes),
        "one person": [*texts, *[texts[0]] * 60],
        "images": sorted_images,
        "questions": [text for text in texts if "q1=" in text or rng.random() < 0.7],
    }
    assert not doubt(CHANNEL, read_reports(CHANNEL, Counter(texts)))
    for some in others.values():
        assert "do not fit the channel" in doubt(CHANNEL, read_reports(CHANNEL, Counter(some)))


def test_how_often_two_reports_are_equal_is_exact():
    """From the text of the file alone, the same for every record."""
    channel = channel_of(1.0, (2, 3))
    chances = report_chances(channel.text())
    for record in next(iter(chances.values())):
        equal = float(sum(chance[record] ** 2 for chance in chances.values()))
        assert most_repeated(channel) == pytest.approx(equal, rel=1e-9)
