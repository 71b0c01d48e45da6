"""The promise of a channel, as the page says it to those who answer.

Its levels, and for whom and on what condition they hold, are those of `ldpsurvey.channel.promises`, which
makes the sentences of the commands from them as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ldpsurvey.answer.texts import Texts
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import Attacker
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.promises import SAME, Kept, factor_of, kept_by_all, kept_by_one, kept_by_two, upwards
from ldpsurvey.data.reading import Label
from ldpsurvey.data.tables import CountTable
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel

#: A text of the page by its key, and what stands in it.
Sentence = tuple[str, str]

#: What keys of texts call attackers.
_KEYS: dict[Attacker, str] = {
    "insider-only": "insider",
    "outsider": "outsider",
    "acquaintance": "acquaintance",
    "anyone": "anyone",
}


#: The sentences that come first; the others say for whom and when it holds.
FIRST = ("unasked", "nothing", "promise")


def promise_sentences(channel: AnyChannel, texts: Texts) -> list[Sentence]:
    """Return the promise in plain sentences, each with the key of its text; their numbers are limits."""
    return list(_sentences(channel, texts))


def _sentences(private: AnyChannel, texts: Texts) -> Iterator[Sentence]:
    kept, stated, table = kept_by_one(private), private.certificate, private.table
    useful = texts.names(table.useful) if table.useful else ""
    if private.is_unasked:
        yield "unasked", texts.say("unasked", secret=texts.names(table.sensitive), useful=useful)
    if kept is None:
        yield "nothing", texts.say("nothing")
        return
    secret = kept.secret if isinstance(private, PrivateChannel) else private.names
    yield "promise", _promise(kept.level, secret, texts)
    population = stated.population
    key = _KEYS[kept.against] if population is not None or kept.against == "insider-only" else "anyone"
    yield key, texts.say(key, useful=useful)
    if isinstance(table, CountTable) and population is not None and key in ("outsider", "acquaintance"):
        records = table.effective or table.records
        shares = {"records": math.floor(records), "confidence": 100.0 * (1.0 - population.beta)}
        yield "table", texts.say("table", **{name: texts.number(one) for name, one in shares.items()})
    if kept.secret != table.attributes:
        yield from _of_others(private, key, useful, texts)
        yield "bare", texts.say("bare", useful=useful)
    every = kept_by_all(private)
    if every is None or stated.allowance is None:
        yield from _of_two(kept_by_two(private), texts)
        return
    reader = texts.say(f"reader_{_KEYS[every.against] if table.useful else 'anyone'}", useful=useful)
    number, key = stated.allowance.reports, "all" if stated.allowance.reports else "budget"
    yield key, texts.say(key, reports=number, factor=_factor(every.level, texts), reader=reader)
    key = ("same" if every.condition == SAME else "same_or_all") if every.condition else "changing"
    yield key, texts.say(key, reader=texts.say("reader_insider", useful=useful))


def _of_others(private: AnyChannel, key: str, useful: str, texts: Texts) -> Iterator[Sentence]:
    """Say what holds for those from whom less is promised, or nothing."""
    stated = private.certificate
    levels = stated.levels
    others: dict[str, list[tuple[str, float]]] = {
        "outsider": [("whom_useful", levels.insider), ("whom_something", levels.acquaintance)],
        "acquaintance": [("whom_else", levels.anyone)],
        "insider": [("whom_else", levels.anyone)],
    }
    for whom, level in others.get(key, []):
        if level > stated.epsilon:
            words = texts.say(whom, useful=useful)
            limited = level <= SETTINGS.max_epsilon
            weaker = "weaker" if limited else "unlimited"
            yield whom, texts.say(weaker, whom=words, factor=_factor(level, texts) if limited else "")


def _of_two(two: Kept, texts: Texts) -> Iterator[Sentence]:
    """Say what a second report could reveal, of a channel for one."""
    if math.isinf(two.level):
        yield "two_unlimited", texts.say("two_unlimited", secret=texts.names(two.secret))
    else:
        yield "two", texts.say("two", factor=_factor(two.level, texts))


def _promise(level: float, secret: Label, texts: Texts) -> str:
    """Return what a report of a level changes, as a factor and for two answers that were equally likely."""
    after = min(100, math.ceil(100.0 / (1.0 + math.exp(-upwards(level, 3))) - 1e-9))
    factor = _factor(level, texts)
    return texts.say("promise", secret=texts.names(secret), factor=factor, after=after, rest=100 - after)


def _factor(level: float, texts: Texts) -> str:
    return texts.number(factor_of(upwards(level, 3), 3))
