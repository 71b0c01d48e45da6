"""What is printed of questionnaires: the design and the estimates."""

from __future__ import annotations

import math

from ldpfrontier import questionnaire_errors
from ldpfrontier.survey.answer import few_digits, points
from ldpfrontier.survey.estimates import rows_text
from ldpfrontier.survey.layout import columns, reports_text, wrapped
from ldpfrontier.survey.questionnaire.channel import QuestionnaireChannel
from ldpfrontier.survey.questionnaire.estimation import QuestionnaireEstimate
from ldpfrontier.verify import visible

_TABLES = {1: "shares of each question", 2: "tables of two questions", 3: "tables of three questions"}


def table_error(channel: QuestionnaireChannel, order: int) -> float:
    """Return the root mean square error of entries of tables of so many questions, for one report."""
    mechanism = channel.mechanism
    wanted = type(mechanism.questionnaire).of_order(mechanism.questionnaire.sizes, order)
    return math.sqrt(mechanism.error_of(wanted) / wanted.entries)


def design_text(channel: QuestionnaireChannel, records: int | None, error: float, written: str) -> str:
    """Return what a design says: what can be estimated, what a report tells, and what was written."""
    questionnaire, mechanism = channel.mechanism.questionnaire, channel.mechanism
    asked = sorted({len(lot.kinds) for lot in mechanism.lots})
    span = f"{asked[0]}" if len(asked) == 1 else f"{asked[0]} to {asked[-1]}"
    answers = f"{min(questionnaire.sizes)} to {max(questionnaire.sizes)}"
    if len(set(questionnaire.sizes)) == 1:
        answers = str(questionnaire.sizes[0])
    tables = "shares" if channel.order == 1 else f"tables of up to {channel.order} questions"
    lines = [
        f"{_counted(len(channel.names), 'question')} with {answers} answers each:"
        f" {questionnaire.combinations:,} combinations, of which every one can be reported.",
        f"Each person is asked {span} of the questions, drawn by lot; the reports give {tables}.",
    ]
    if records is not None:
        errors = [
            f"{points(table_error(channel, order) / math.sqrt(records))} in {_TABLES[order]}"
            for order in range(1, channel.order + 1)
        ]
        lines.append(
            f"From {reports_text(records)}, entries have standard errors in percentage points of"
            f" {', '.join(errors)}, if all answers are equally frequent."
        )
    needed = few_digits(mechanism.people(error))
    give = "1 report gives" if needed == "1" else f"{needed} reports give"
    lines.append(
        f"{give} {points(error)} in {_TABLES[channel.order]}. No mechanism of this level needs fewer than"
        f" {math.floor(100.0 * channel.bound / mechanism.error)}% of them."
    )
    level = channel.level
    odds = math.exp(level) / 9.0
    lines.append(
        f"A chance of 10% of anything about a person rises to at most {_at_most(odds / (1.0 + odds))} with a"
        " report, whatever somebody knows or believes. Levels of several reports add up."
    )
    lines.append(f"Written: {visible(written)} and the sampler beside it. They contain no counts.")
    lines = [wrapped(line, "  ") for line in lines]
    return "\n".join(
        [*lines, f"Next: ldp-frontier apply --channel {visible(written)} --data FILE --out OUT.csv"]
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _at_most(share: float) -> str:
    """Return a share in percent that is not below it."""
    return f"{math.ceil(1000.0 * share - 1e-6) / 10.0:g}%"


def comparison_text(channel: QuestionnaireChannel) -> str:
    """Return how many times as many people usual mechanisms need, and the lots."""
    found = questionnaire_errors(channel.mechanism.questionnaire, channel.mechanism.epsilon)
    rows = [["mechanism", "people, times"]]
    rows += [
        [name, "cannot" if math.isinf(error) else f"{error / channel.mechanism.error:.3g}"]
        for name, error in found.items()
    ]
    lots = [["lot", "share", "answers of its questions", "set", "of"]]
    for number, lot in enumerate(channel.mechanism.lots, start=1):
        sizes = " x ".join(map(str, lot.members.shape))
        lots.append(
            [f"L{number}", f"{lot.weight:.3f}", sizes, str(int(lot.members.sum())), str(lot.members.size)]
        )
    return f"{columns(rows)}\n\n{columns(lots)}"


def estimate_text(channel: QuestionnaireChannel, found: QuestionnaireEstimate) -> str:
    """Return the shares of each question, and the rates that were asked for."""
    head = reports_text(found.reports)
    if found.simultaneous:
        head += "; the confidence is that of all intervals of entries, and of all rates, together"
    parts = [head + "."]
    parts += [rows_text(name, "share", found.of([name]), found.confidence) for name in channel.names]
    if found.rates:
        parts.append(rows_text(found.title_of_rates, "rate", found.rates, found.confidence))
    if channel.order > 1:
        more = (
            f"--out writes all tables of up to {channel.order} questions; --rates A B prints the rates of A"
        )
        parts.append(wrapped(f"{more} given B."))
    return "\n\n".join(parts)
