"""Texts of the page: those that come with it, and files of texts, of which no key is overlooked."""

import re

import pytest

from ldpsurvey import read_texts, table_of_values
from ldpsurvey.answer.texts import LANGUAGES
from ldpsurvey.data.value_lists import parsed_values
from ldpsurvey.design.known_channels import classical_matrix, known_channel

FILE = """\
language: de
title: Gesundheit
questions:
  ill: {name: Krankheit, text: "Sind Sie krank?", answers: {no: nein, yes: ja}}
words: {send: Los}
"""


@pytest.fixture(scope="module")
def channel():
    values = parsed_values(["ill=no,yes", 'age="(-inf,18)","[18,40.5)","[40.5,inf)"'])
    table = table_of_values(values, list(values))
    matrix, _ = classical_matrix("pram", {"p": 0.4}, len(table.labels))
    return known_channel(table, matrix, (), "pram")


def test_both_languages_say_the_same(channel):
    one, other = (read_texts(channel, language=language).words for language in LANGUAGES)
    names = {key: set(re.findall(r"\{\w+\}", text)) for key, text in one.items()}
    assert names == {key: set(re.findall(r"\{\w+\}", text)) for key, text in other.items()}


def test_texts_of_a_file_are_used_and_groups_are_in_words(channel, tmp_path):
    (tmp_path / "t.yaml").write_text(FILE, encoding="utf-8")
    texts = read_texts(channel, tmp_path / "t.yaml", title="Umfrage")
    ill, age = texts.questions
    assert (texts.language, texts.title, texts.words["send"]) == ("de", "Umfrage", "Los")
    assert (ill.text, ill.answers) == ("Sind Sie krank?", ("nein", "ja"))
    assert age.answers == ("unter 18", "18 bis unter 40,5", "40,5 oder mehr")
    assert texts.number(1234.5) == "1.234,5"
    assert texts.names(("ill", "age", "a", "b", "c")).count("„") == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("titel: a", "Did you mean 'title'?"),
        ("questions: {ills: {text: a}}", "Did you mean 'ill'?"),
        ("questions: {ill: {answers: {Yes: a}}}", "Did you mean 'yes'?"),
        ("questions: {ill: {answers: {no: a, yes: a}}}", "the same text"),
        ("questions: {ill: [a]}", "keys of its own"),
        ("words: {draw: [a]}", "must be a text"),
        ("words: {drew: a}", "Did you mean 'draw'?"),
        ("words: {promise: Nobody learns anything.}", "must have {after}, {factor}, {rest}, {secret}"),
        ("language: fr", "lacks words of the language 'fr'"),
        ("language: <b>", "a code such as en"),
        ("direction: up", "allowed are ltr and rtl"),
        ("title: [", "is no YAML file"),
        ("only text", "must have keys"),
    ],
)
def test_what_a_file_of_texts_must_not_have_is_refused(channel, tmp_path, text, sentence):
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_texts(channel, tmp_path / "t.yaml")
