"""What the page for those who answer says: in English or German, or as a file of texts has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ldpfrontier.base.extras import extra
from ldpsurvey.base.names import close_name
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.data.reading import Label
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel

#: The languages that come with the page.
LANGUAGES = ("en", "de")

_GROUP = re.compile(r"(?:\(-inf|\[([^,\[\]()]+)),(?:inf|([^,\[\]()]+))\)")
_NAME = re.compile(r"\{(\w+)\}")
_KEYS = ("language", "direction", "decimal", "thousands", "title", "text", "questions", "words", "card")


@dataclass(frozen=True)
class Question:
    """A question: its column, the values of the channel, and how it and its answers are called and asked."""

    column: str
    values: Label
    name: str
    text: str
    answers: Label


@dataclass(frozen=True)
class Texts:
    """The texts of a page: `text` comes below the title, and `words` has what every page says, by a key.

    `card` has what cards say besides, and is empty if the file of a language has no such words.
    """

    language: str
    direction: str
    decimal: str
    thousands: str
    title: str
    text: str
    words: Mapping[str, str]
    card: Mapping[str, str]
    questions: tuple[Question, ...]

    def say(self, key: str, **values: object) -> str:
        """Return a text with values in the places of names in braces."""
        return _NAME.sub(lambda name: str(values.get(name[1], name[0])), self.words[key])

    def number(self, value: float) -> str:
        """Return a number with at most three digits behind the decimal point."""
        text = f"{value:,.10g}" if value < 1e9 else f"{value:,.0f}"
        marks = {ord(","): self.thousands, ord("."): self.decimal}
        return text.translate(marks)

    def names(self, columns: Label) -> str:
        """Return the names of columns, as the page calls them; of more than four, some of them."""
        known = {question.column: question.name for question in self.questions}
        # Right-to-left names stand apart from what is around them.
        quoted = [self.say("quoted", name=f"\u2068{known.get(column, column)}\u2069") for column in columns]
        if len(quoted) == 1:
            return quoted[0]
        if len(quoted) > 4:
            quoted[2:-1] = ["…"]
        return self.say("and", some=", ".join(quoted[:-1]), last=quoted[-1])


def columns_of(channel: AnyChannel) -> dict[str, Label]:
    """Return the values of each column that is asked, in the order of the channel's file."""
    if isinstance(channel, PrivateChannel):
        labels = channel.asked_labels
        return {
            column: tuple(dict.fromkeys(label[place] for label in labels))
            for place, column in enumerate(channel.asked)
        }
    return dict(zip(channel.names, channel.answers, strict=True))


def read_texts(
    channel: AnyChannel,
    path: Path | str | None = None,
    *,
    title: str | None = None,
    language: str | None = None,
) -> Texts:
    """Return the texts of the page of a channel.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    path : path, optional
        A YAML file with any of ``language``, ``title``, ``text`` (what stands below the title), ``questions``
        (of each column ``name``, ``text`` and ``answers``) and ``words``, which takes the place of what the
        page says otherwise, and is needed whole for a language that does not come with the page.
    title, language : str, optional
        Instead of those of the file.

    Raises
    ------
    ValueError
        If the file has what is none of these, a column or an answer that the channel does not have, or lacks
        a text of another language.
    """
    where = "the file of texts" if path is None else str(path)
    own = {} if path is None else _read(Path(path).read_text(encoding="utf-8"), where)
    _check(own, _KEYS, where)
    chosen = language or _text(own, "language", "en", where)
    if not re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", chosen):
        raise ValueError(f"The language is {chosen!r}; a code such as en, de or pt-BR is needed.")
    shipped = chosen if chosen in LANGUAGES else "en"
    base = _read(files("ldpsurvey").joinpath("answer", f"texts.{shipped}.yaml").read_text("utf-8"), shipped)
    said = _words("words", own, base, chosen, where)
    card = {} if chosen not in LANGUAGES and "card" not in own else _words("card", own, base, chosen, where)
    about = {
        name: _text(own, name, base.get(name, ""), where) for name in ("direction", "decimal", "thousands")
    }
    if about["direction"] not in ("ltr", "rtl"):
        raise ValueError(f"direction in {where} is {about['direction']!r}; allowed are ltr and rtl.")
    asked, given = columns_of(channel), _mapping(own, "questions", where)
    _check(given, (*asked, *(channel.table.attributes if isinstance(channel, PrivateChannel) else ())), where)
    plain = Texts(chosen, **about, title="", text="", words=said, card=card, questions=())
    return Texts(
        chosen,
        **about,
        title=title or _text(own, "title", base["title"], where),
        text=_text(own, "text", "", where),
        words=said,
        card=card,
        questions=tuple(
            _question(column, asked.get(column, ()), _mapping(given, column, where), where, plain)
            for column in dict.fromkeys([*asked, *given])
        ),
    )


def _words(
    key: str, own: Mapping[str, Any], base: Mapping[str, Any], chosen: str, where: str
) -> dict[str, str]:
    """Return the words under a key of a file, which take the place of those of a language that is here."""
    words = _mapping(own, key, where)
    _check(words, base[key], f"{key} in {where}")
    said = {name: _text(words, name, text, where) for name, text in base[key].items()}
    if chosen not in LANGUAGES and (lacking := [name for name in said if name not in words]):
        raise ValueError(
            f"{where} lacks words of the language {chosen!r}: {', '.join(lacking[:5])}"
            f"{', ...' if len(lacking) > 5 else ''}. Those of {', '.join(LANGUAGES)} come with the page."
        )
    for name, text in said.items():
        if set(_NAME.findall(text)) != (needed := set(_NAME.findall(base[key][name]))):
            names = ", ".join(f"{{{name}}}" for name in sorted(needed)) or "no name in braces"
            raise ValueError(f"The words {name!r} in {where} must have {names}.")
    return said


def _question(column: str, values: Label, own: Mapping[str, Any], where: str, plain: Texts) -> Question:
    """Return a question with the texts of a file, or with names of the column and of its values."""
    _check(own, ("name", "text", "answers"), f"{column} in {where}")
    name, answers = _text(own, "name", column, where), _mapping(own, "answers", where)
    _check(answers, values, f"the answers of {column} in {where}")
    labels = tuple(_text(answers, value, _plain(value, plain), where) for value in values)
    if len(set(labels)) < len(labels):
        raise ValueError(f"Two answers of {column} have the same text in {where}.")
    return Question(column, values, name, _text(own, "text", name, where), labels)


def _plain(value: str, texts: Texts) -> str:
    """Return a value as people read it: a group of numbers in words."""
    group = _GROUP.fullmatch(value)
    if group is None or group.groups() == (None, None):
        return value
    start, end = (text and text.replace(".", texts.decimal) for text in group.groups())
    if start is None:
        return texts.say("group_under", end=end)
    return (
        texts.say("group_from", start=start)
        if end is None
        else texts.say("group_between", start=start, end=end)
    )


def _read(text: str, where: str) -> dict[str, Any]:
    """Return what a YAML file has; every value is a text, so that `no` is an answer."""
    with extra("survey"):
        import yaml
    try:
        found = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"{where} is no YAML file: {' '.join(str(error).split())}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} must have keys, such as title and questions.")
    return found


def _check(own: Mapping[str, Any], known: Any, where: str) -> None:
    """Refuse keys that are not known."""
    for key in own:
        if key not in known:
            some = ", ".join(list(known)[:8])
            raise ValueError(f"{where} has {key!r}; it may have {some}.{close_name(key, known)}")


def _mapping(own: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = own.get(key, {})
    if not isinstance(found, dict):
        raise ValueError(f"{key} in {where} is {found!r}; it must have keys of its own.")
    return found


def _text(own: Mapping[str, Any], key: str, default: str, where: str) -> str:
    found = own.get(key, default)
    if not isinstance(found, str):
        raise ValueError(f"{key} in {where} is {found!r}; it must be a text.")
    return found.strip()
