"""An instruction card, by which people draw a report with dice, or with a slip of paper, and say a letter."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from importlib.resources import files
from string import Template

from ldpsurvey.answer.page import is_bare, promise_html
from ldpsurvey.answer.promise_words import promise_sentences
from ldpsurvey.answer.texts import Texts, read_texts
from ldpsurvey.channel.channel_file import PrivateChannel


def answer_card(private: PrivateChannel, texts: Texts | None = None, *, slips: bool = False) -> str:
    """Return the card of a channel of dice, as the text of one HTML file to be printed.

    Parameters
    ----------
    private : PrivateChannel
        As `dice_channel` returns it.
    texts : Texts, optional
        What `read_texts` returns; by default in English, with the names of the columns.
    slips : bool
        Whether slips are printed besides, for whoever has no dice: one with each number. Slips with random
        numbers would be another channel for whoever has seen them, and one without those that are gone.

    Raises
    ------
    ValueError
        If the channel is none of dice, or the language lacks the words of cards.
    """
    texts = texts or read_texts(private)
    dice = len(str(private.total)) - 1
    if dice not in (2, 3):
        raise ValueError(f"{private.id} is no channel of dice; dice_channel makes one of it.")
    if not texts.card:
        raise ValueError(f"The texts of the language {texts.language!r} lack the words of cards (card).")
    texts = replace(texts, words={**texts.words, **texts.card})
    words = {key: escape(text) for key, text in texts.words.items()}
    questions = [question for question in texts.questions if question.values]
    shown = [f" {words['shown']}" if is_bare(private, question) else "" for question in questions]
    asked = [
        f'<p dir="auto"><strong>{escape(question.text)}</strong>{more}</p>'
        for question, more in zip(questions, shown, strict=True)
    ]
    answers = [dict(zip(question.values, question.answers, strict=True)) for question in questions]
    names = [
        ", ".join(known[value] for known, value in zip(answers, label, strict=True))
        for label in private.asked_labels
    ]
    weights = private.weights[: len(names)].tolist()
    numbers = [f"<span>{number:0{dice}d}</span>" for number in range(private.total)]
    values = words | {
        "language": texts.language,
        "direction": texts.direction,
        "title": escape(texts.title),
        "text": "\n".join(f'<p dir="auto">{escape(one)}</p>' for one in texts.text.split("\n\n") if one),
        "asked": "\n".join(asked),
        "steps": _list([words[key] for key in (f"dice{dice}", *(["slip"] * slips), "find", "once")]),
        "numbers": _table(words["answer"], names, private.outputs, [_ranges(row, dice) for row in weights]),
        "promise": promise_html(promise_sentences(private, texts)),
        "often": escape(texts.say("often", total=texts.number(private.total))),
        "counts": _table(words["answer"], names, private.outputs, [list(map(str, row)) for row in weights]),
        "channel": private.id,
        "hints": _list([words[key] for key in ("colours", "hand", "write")]),
        "words": escape(private.promise()),
        "slips": "\n".join(['<div class="slips" dir="ltr">', *numbers, "</div>"] if slips else []),
    }
    template = files("ldpsurvey").joinpath("answer", "card.html").read_text(encoding="utf-8")
    return Template(template).substitute(values)


def _ranges(row: list[int], dice: int) -> list[str]:
    """Return the numbers of dice for each report, such as 00 to 45; a dash for none."""
    found, start = list[str](), 0
    for weight in row:
        ends = [f"{number:0{dice}d}" for number in (start, start + weight - 1)]
        found.append("-" if not weight else ends[0] if weight == 1 else "\u2013".join(ends))
        start += weight
    return found


def _list(texts: list[str]) -> str:
    return "\n".join(["<ol>", *(f"<li>{text}</li>" for text in texts), "</ol>"])


def _table(first: str, names: list[str], letters: tuple[str, ...], cells: list[list[str]]) -> str:
    """Return a table with a row for each answer, and a column for each letter."""
    head = "".join(f'<th scope="col">{letter}</th>' for letter in (first, *letters))
    lines = ['<div class="wide"><table>', f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for name, row in zip(names, cells, strict=True):
        inner = "".join(f"<td>{cell}</td>" for cell in row)
        lines.append(f'<tr><th scope="row" dir="auto">{escape(name)}</th>{inner}</tr>')
    return "\n".join([*lines, "</tbody>", "</table></div>"])
