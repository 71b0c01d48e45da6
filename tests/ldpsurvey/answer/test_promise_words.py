"""What the page says of a promise is what the channel does, for attackers who know what it says they know."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from ldpfrontier import optimal_questionnaire
from ldpsurvey import design_channel, read_texts, table_of_values
from ldpsurvey.answer.promise_words import promise_sentences
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.design.least_level import design_for_reports
from ldpsurvey.questionnaire.questionnaire_channel import sampled
from support.owndata import channel_of, flat, small_table
from support.promise_attackers import Reader, learned, record_learned
from support.questionnaires import report_chances

NUMBER = re.compile(r"\d[\d.,]*\d|\d")

#: What sentences say that readers know.
KNOWS = {
    "anyone": "anything",
    "acquaintance": "something",
    "insider": "each time",
    "whom_useful": "each time",
    "whom_something": "something",
    "whom_else": "anything",
}


def said(private, language="en"):
    """Return the sentences of the page by their keys, each with its numbers."""
    texts = read_texts(private, language=language)
    found = {}
    for key, words in promise_sentences(private, texts):
        assert key not in found
        plain = words.replace(texts.thousands, "").replace(texts.decimal, ".")
        found[key] = [float(number) for number in NUMBER.findall(plain.replace(". ", " "))]
    return found


def outsider(private, rng):
    """Return the level of S for somebody who knows one distribution of F, the worst of some."""
    table, population = private.table, private.certificate.population
    matrix = private.channel.matrix.reshape(*table.counts.shape, -1)
    ball, found = population.ball(table), 0.0
    for step in [0.0, *rng.uniform(size=200)]:
        joint = ball.centre * np.exp(step * rng.normal(size=ball.centre.shape))
        joint /= joint.sum()
        if math.log(float((joint**2 / ball.centre).sum())) <= ball.radius:
            chances = np.einsum("su,suy->sy", joint, matrix) / joint.sum(axis=1)[:, None]
            logs = np.log(chances)
            found = max(found, float((logs.max(axis=0) - logs.min(axis=0)).max()))
    return found


def attack(private, rng):
    """Yield the key of each limit, the factor that is said, and what attackers find, in nats."""
    table, sentences = private.table, said(private)
    own = private.channel.matrix.reshape(len(table.rows), len(table.columns), -1)
    population = private.certificate.population
    low = None if population is None else replace(population, widened=0.0).odds(table).low
    (who,) = {*sentences} & {"anyone", "acquaintance", "outsider", "insider"}
    whole = "bare" not in sentences
    if who == "outsider":
        found = outsider(private, rng)
    else:
        found = record_learned([own]) if whole else learned([own], Reader(KNOWS[who], False), low, rng)
    factor, after, rest, _ = sentences["promise"]
    yield who, factor, found
    yield f"{who} (of 100)", after / rest, found
    for key in {*sentences} & {"whom_useful", "whom_something", "whom_else"}:
        limit = sentences[key][0] if sentences[key] else math.inf
        yield key, limit, learned([own], Reader(KNOWS[key], False), low, rng)
    if "two" in sentences and who != "outsider":
        found = 2.0 * found if whole else learned([own] * 2, Reader(KNOWS[who], False), low, rng)
        yield "two", sentences["two"][0], found
    if several := sentences.get("all"):
        reports, factor = int(several[0]), several[1]
        reader = Reader(KNOWS[who], "changing" in sentences)
        yield "all", factor, learned([own] * reports, reader, low, rng)
        if "same" in sentences:
            yield "same", factor, learned([own] * reports, Reader("each time", True), low, rng)


def design(**more):
    made = design_for_reports(small_table(), 1.0, 3, "information", **more)
    return made.private(made.best("information"))


def unasked():
    made = design_channel(small_table(), 1.0, unasked=True, precise="U", mechanisms=["unasked"])
    return made.private(made.candidates[0])


CHANNELS = {
    "outsider": lambda: channel_of(small_table(), "exact"),
    "acquaintance": lambda: channel_of(small_table(), "association", 1.0, "acquaintance"),
    "insider": lambda: channel_of(small_table(), "label", 1.0, "insider-only"),
    "anyone": lambda: channel_of(small_table(), "unconditional", 1.0, "anyone"),
    "whole": lambda: channel_of(flat(small_table()), "grr"),
    "unasked": unasked,
    "several": lambda: design(against="acquaintance", mechanisms=["srr"]),
    "several of all": lambda: design(against="anyone", mechanisms=["grr"]),
}


@pytest.mark.parametrize("which", CHANNELS)
def test_nobody_learns_more_than_the_page_says(which):
    private = CHANNELS[which]()
    limits = list(attack(private, np.random.default_rng(0)))
    for key, factor, found in limits:
        assert found <= math.log(factor) * (1.0 + 1e-8), key
    # Nor is less said than is kept, but for rounding, where the attacker above is the best one.
    key, factor, found = limits[0]
    if key in ("anyone", "insider"):
        assert math.log(factor) <= found + 0.01


@pytest.mark.parametrize("which", CHANNELS)
def test_both_languages_say_the_same_numbers_on_the_same_conditions(which):
    private = CHANNELS[which]()
    assert said(private, "de") == said(private)


def test_a_promise_to_outsiders_says_what_others_may_learn():
    sentences = said(CHANNELS["outsider"]())
    assert "outsider" in sentences
    assert {"whom_useful", "whom_something"} & {*sentences}
    assert {"anyone", "acquaintance"}.isdisjoint(sentences)
    assert {"table", "bare"} <= {*sentences}


def test_nothing_is_said_to_be_kept_of_a_channel_that_gives_answers_away():
    table = table_of_values({"vote": ["a", "b"]}, ["vote"])
    private = known_channel(table, np.array([[0.5, 0.5], [0.0, 1.0]]), (), "known matrix")
    assert [*said(private)] == ["nothing"]


def test_the_promise_of_a_questionnaire_is_the_largest_ratio_of_its_chances():
    channel = sampled(optimal_questionnaire((2, 3), 1.0, 2), ("a", "b"), (("t", "u"), ("t", "u", "v")))
    worst = max(max(some.values()) / min(some.values()) for some in report_chances(channel.text()).values())
    sentences = said(channel)
    assert {*sentences} == {"promise", "anyone", "two"}
    factor, after, rest, _ = sentences["promise"]
    assert worst <= factor <= 1.01 * worst
    assert worst <= after / rest
    assert worst**2 <= sentences["two"][0]
