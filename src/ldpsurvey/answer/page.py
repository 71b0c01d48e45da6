"""The page for those who answer: one HTML file, which draws a report on their device and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ldpsurvey.answer.promise_words import FIRST, Sentence, promise_sentences
from ldpsurvey.answer.revealed import people_of_questionnaire, people_of_table
from ldpsurvey.answer.texts import Question, Texts, read_texts
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.promises import kept_by_one
from ldpsurvey.channel.reports import checked_name
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel
from ldpsurvey.questionnaire.restrictions import masks_of

#: Answers of a question that are buttons; more are a list to choose from.
BUTTONS = 7

#: Combinations of answers of a report of a questionnaire that are shown.
SHOWN = 60

#: An address that reports are sent to: what a Content-Security-Policy can name.
_ADDRESS = re.compile(
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~%+/-]*)?)(\?[A-Za-z0-9._~%=&+-]*)?"
)


def answer_page(
    channel: AnyChannel,
    texts: Texts | None = None,
    *,
    post: str | None = None,
    wave: str = "",
    kiosk: bool = False,
) -> str:
    """Return the page on which people answer, as the text of one HTML file.

    It contains the channel, draws a report with random bytes of the browser, shows it and what it reveals,
    and gives away nothing else.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    texts : Texts, optional
        What `read_texts` returns; by default in English, with the names of the columns.
    post : str, optional
        The address that a report is sent to, as JSON, when the person says so; by default the page sends
        nothing.
    wave : str
        The occasion, for a channel that is for several reports of a person. A device keeps a report of each.
    kiosk : bool
        Whether the device is for many people: then nothing is stored, and a button clears the page.

    Raises
    ------
    ValueError
        If the channel does not keep its level, the address is none that a page can be limited to, or a wave
        is missing or of no use.
    """
    texts = texts or read_texts(channel)
    if isinstance(channel, PrivateChannel):
        channel.verified()
    target = _target(post)
    script = _script(channel)
    style = _own("form.css")
    values: dict[str, str] = {name: escape(text) for name, text in texts.words.items()}
    values |= {
        "language": texts.language,
        "direction": texts.direction,
        "policy": escape(_policy(script, style, target)),
        "title": escape(texts.title),
        "text": _paragraphs(texts.text.split("\n\n")) if texts.text else "",
        "style": style,
        "lots": ""
        if isinstance(channel, PrivateChannel)
        else _paragraphs([texts.say("lots", all=len(channel.names))]),
        "promise": promise_html(promise_sentences(channel, texts)),
        "exact": f"<details><summary>{escape(texts.words['exact'])}</summary>"
        f'<p lang="en" dir="ltr">{escape(channel.promise())}</p></details>',
        "questions": "\n".join(
            _fieldset(place, question, texts, is_bare(channel, question))
            for place, question in enumerate(texts.questions)
            if question.values
        ),
        "where": escape(texts.say("to_address", address=post) if post else texts.words["to_nobody"]),
        "send": _button("send", texts) if post else "",
        "next": _button("next", texts) if kiosk else "",
        "stored": escape(texts.words["kiosk" if kiosk else "stored"]),
        "data": _json(_data(channel, texts, post, _wave(channel, wave, kiosk), kiosk)),
        "channel": base64.b64encode(channel.text().encode()).decode(),
        "script": script,
    }
    return Template(_own("form.html")).substitute(values)


def _data(channel: AnyChannel, texts: Texts, post: str | None, wave: str, kiosk: bool) -> dict[str, Any]:
    """Return what the program of the page reads."""
    asked = [question for question in texts.questions if question.values]
    found: dict[str, Any] = {
        "channel": channel.id,
        "wave": wave,
        "kiosk": kiosk,
        "post": post,
        "words": dict(texts.words),
        "most": SHOWN,
        "questions": [
            {"column": one.column, "name": one.name, "values": one.values, "answers": one.answers}
            for one in asked
        ],
    }
    allowance, limit = channel.certificate.allowance, 0
    if allowance is not None:
        cost, most = allowance.cost(channel.certificate.epsilon)
        limit = int(most / cost * (1.0 + 1e-12))
    found["reports"] = limit
    if not isinstance(channel, PrivateChannel):
        rules = [masks_of(rule, channel.fields) for rule in channel.impossible]
        never = [[(j, np.flatnonzero(mask).tolist()) for j, mask in rule.items()] for rule in rules]
        return found | {"people": people_of_questionnaire(channel), "impossible": never}
    table, places = channel.table, [{value: place for place, value in enumerate(q.values)} for q in asked]
    labels = channel.asked_labels
    return found | {
        "cells": [[known[value] for known, value in zip(places, label, strict=True)] for label in labels],
        "people": people_of_table(channel),
        "secret": texts.names(table.sensitive),
        "useful": texts.names(table.useful) if table.useful else "",
    }


def promise_html(sentences: list[Sentence]) -> str:
    """Return the promise: its numbers, and a list of for whom and when they hold."""
    first = [words for key, words in sentences if key in FIRST]
    rest = "".join(f"<li>{escape(words)}</li>\n" for key, words in sentences if key not in FIRST)
    return _paragraphs(first) + (f"\n<ul>\n{rest}</ul>" if rest else "")


def is_bare(channel: AnyChannel, question: Question) -> bool:
    """Tell whether nothing is promised about the answer to a question."""
    kept = kept_by_one(channel)
    return kept is None or (isinstance(channel, PrivateChannel) and question.column not in kept.secret)


def _fieldset(place: int, question: Question, texts: Texts, bare: bool) -> str:
    """Return a question with its answers, as buttons or as a list."""
    name, legend = f"q{place}", f'<span dir="auto" id="l{place}">{escape(question.text)}</span>'
    note = f'<p class="note">{escape(texts.words["shown"])}</p>\n' if bare else ""
    if len(question.answers) > BUTTONS:
        options = "".join(
            f'<option value="{value}" dir="auto">{escape(text)}</option>'
            for value, text in enumerate(question.answers)
        )
        inner = (
            f'<select name="{name}" required aria-labelledby="l{place}">'
            f'<option value="">{escape(texts.words["choose"])}</option>{options}</select>'
        )
    else:
        inner = "\n".join(
            f'<label><input type="radio" name="{name}" value="{value}" required>'
            f'<span dir="auto">{escape(text)}</span></label>'
            for value, text in enumerate(question.answers)
        )
    return f"<fieldset>\n<legend>{legend}</legend>\n{note}{inner}\n</fieldset>"


def _button(key: str, texts: Texts) -> str:
    return f'<button type="button" id="{key}">{escape(texts.words[key])}</button>'


def _paragraphs(texts: list[str]) -> str:
    return "\n".join(f'<p dir="auto">{escape(text)}</p>' for text in texts)


def _wave(channel: AnyChannel, wave: str, kiosk: bool) -> str:
    """Return the name of a wave, which channels for several reports have."""
    allowance = channel.certificate.allowance
    name = checked_name(wave, "The wave") if wave else ""
    if name and allowance is None:
        raise ValueError(
            f"The wave is {wave!r}, but the channel {channel.id!r} is for one report of a person, which a"
            " device keeps for good."
        )
    if not name and allowance is not None and not kiosk:
        raise ValueError(
            f"The channel {channel.id!r} is for several reports of a person; a wave (--wave NAME) says which"
            " of them this is."
        )
    return name


def _target(post: str | None) -> str:
    """Return what a Content-Security-Policy says of an address: all but its query."""
    if post is None:
        return "'none'"
    found = _ADDRESS.fullmatch(post)
    if found is None:
        raise ValueError(
            f"The address is {post!r}; one such as https://survey.example.org/reports is needed, of plain"
            " letters, digits and hyphens."
        )
    return found[1]


def _policy(script: str, style: str, target: str) -> str:
    """Return the policy that lets the page run its own program, and reach one address at most."""
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (script, style)
    ]
    return (
        f"default-src 'none'; script-src {hashes[0]}; style-src {hashes[1]}; img-src data:;"
        f" connect-src {target}; form-action 'none'; base-uri 'none'; require-trusted-types-for 'script'"
    )


def _script(channel: AnyChannel) -> str:
    """Return the program of the page: modules, each in a scope of its own, and what uses them."""
    modules = {
        "reporter": channel.sampler(),
        "encode": _own("codes.mjs"),
        "generate": f"/*\n{_own('lean-qr', 'LICENSE')}*/\n{_own('lean-qr', 'nano.mjs')}",
    }
    form = re.sub(r"^import .*\n", "", _own("form.mjs"), flags=re.MULTILINE)
    text = "\n".join([*(_scoped(name, module) for name, module in modules.items()), form])
    if "</script" in text.lower() or "<!--" in text:
        raise AssertionError
    return text


def _scoped(name: str, module: str) -> str:
    """Return a module as a statement that defines one of its names."""
    inner = re.sub(r"^export (?=async function|function)", "", module, flags=re.MULTILINE)
    listed = re.search(r"export\{([^}]*)\};?\s*$", inner)
    if listed:
        pairs = (pair.split(" as ") for pair in listed[1].split(","))
        (own,) = (inside for inside, *outside in pairs if [name] == outside)
        inner = f"{inner[: listed.start()]}\nconst {name} = {own};"
    return f"const {name} = (() => {{\n{inner}\nreturn {name};\n}})();\n"


def _json(value: object) -> str:
    """Return a value as JSON in which no tag begins."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _own(*names: str) -> str:
    return files("ldpsurvey").joinpath("answer", *names).read_text(encoding="utf-8")
