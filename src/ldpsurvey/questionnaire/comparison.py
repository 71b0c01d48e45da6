"""How many people other mechanisms need for the tables of a questionnaire, at the same promise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpfrontier import questionnaire_errors
from ldpsurvey.base.layout import columns, wrapped
from ldpsurvey.base.tabular import TableRows
from ldpsurvey.questionnaire.questionnaire_channel import QuestionnaireChannel

#: The mechanisms of `questionnaire_errors` in words; a table has one, two or three questions.
_WORDS = {
    "table by lot": "one table by lot, the optimum for it",
    "several by lot": "several questions by lot, subset selection",
    "GRR by lot": "one table by lot, randomized response",
    "unary encoding by lot": "one table by lot, unary encoding",
    "RAPPOR by lot": "one table by lot, RAPPOR",
    "GRR": "randomized response for the whole record",
    "RS+FD[GRR]": "one question by lot, random answers to the others (RS+FD)",
    "parities": "one parity by lot",
    "parities, best chances": "one parity by lot, with the best chances",
}

#: What a table is called, by its number of questions.
_TABLES = {1: "question", 2: "pair", 3: "triple"}

_TOLD = (
    "All have this level for the whole record, and their best unbiased estimates that are linear in the"
    " shares of the reports; people are for a root mean square error of {error:g} over all entries of the"
    " tables that are asked for, if all answers are equally frequent. '-' means that the reports do not show"
    " all of them."
)


@dataclass(frozen=True)
class NeededPeople:
    """How many people a mechanism needs, inf if no number is enough, and how many times as many as the first.

    `name` is that of `ldpfrontier.questionnaire_errors`, empty for the channel itself.
    """

    mechanism: str
    people: float
    times: float
    name: str


def compare_questionnaire(channel: QuestionnaireChannel, error: float = 0.01) -> TableRows[NeededPeople]:
    """Return how many people the channel and usual mechanisms of the same level need.

    Parameters
    ----------
    channel : QuestionnaireChannel
    error : float
        Root mean square error over all entries of the tables that the channel is designed for.

    Returns
    -------
    TableRows of NeededPeople
        The channel first, then the others by their number of people.
    """
    if not 0.0 < error < math.inf:
        raise ValueError(f"The error is {error}; it must be a number above 0.")
    mechanism = channel.mechanism
    own, scale = mechanism.error, mechanism.questionnaire.entries * error**2
    found = questionnaire_errors(mechanism.questionnaire, mechanism.epsilon)
    others = sorted(found.items(), key=lambda pair: pair[1])
    rows = [("this channel", "", own), *((_words(name, channel.order), name, x) for name, x in others)]
    about = f"people for an error of {error:g} at level {channel.epsilon:g}"
    made = [NeededPeople(words, _people(x / scale), x / own, name) for words, name, x in rows]
    return TableRows(made, about)


def _people(number: float) -> float:
    return float(max(math.ceil(number), 1)) if math.isfinite(number) else math.inf


def _words(name: str, order: int) -> str:
    return _WORDS[name].replace("one table", f"one {_TABLES[order]}")


def comparison_text(found: TableRows[NeededPeople], error: float) -> str:
    """Return the table, and what its numbers mean."""
    rows = [["mechanism", "people", "times"]]
    for one in found:
        known = math.isfinite(one.people)
        people = (f"{one.people:,.0f}" if one.people < 1e9 else f"{one.people:.2g}") if known else "-"
        rows.append([one.mechanism, people, f"{one.times:.3g}" if known else "-"])
    return f"{columns(rows)}\n\n{wrapped(_TOLD.format(error=error))}"
