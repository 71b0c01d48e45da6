"""Cards say for every number of the dice which letter is said, in any language; no program is in them."""

import re
from html import unescape

import numpy as np
import pytest

from ldpsurvey import answer_card, dice_channel, read_channel, table_of_values
from ldpsurvey.answer.texts import read_texts
from ldpsurvey.command.cli import main
from ldpsurvey.design.known_channels import known_channel

VALUES = table_of_values({"illness": ("no", "once", "often")}, ["illness"])
TABLE = known_channel(VALUES, 0.5 * np.eye(3) + 0.5 / 3)
ROW = re.compile(r'<tr><th scope="row" dir="auto">(.*?)</th>(.*?)</tr>')


def tables(page):
    """Return the rows of each table of a page: the answer, and the cells."""
    return [
        [(unescape(name), re.findall("<td>(.*?)</td>", cells)) for name, cells in ROW.findall(table)]
        for table in page.split("<table>")[1:]
    ]


@pytest.mark.parametrize("dice", [2, 3])
def test_each_number_of_the_dice_has_one_letter_for_each_answer(dice):
    drawn, _ = dice_channel(TABLE, dice)
    ranges, counts = tables(answer_card(drawn))
    assert [name for name, _ in ranges] == [", ".join(label) for label in drawn.asked_labels]
    for (_, cells), (_, often), weights in zip(ranges, counts, drawn.weights.tolist(), strict=True):
        numbers = []
        for cell in cells:
            ends = [] if cell == "-" else cell.split("–")
            assert {len(end) for end in ends} <= {dice}
            numbers.append(range(int(ends[0]), int(ends[-1]) + 1) if ends else range(0))
        assert [number for some in numbers for number in some] == list(range(10**dice))
        assert [len(some) for some in numbers] == weights == list(map(int, often))


def test_texts_are_shown_as_texts_in_the_language_that_is_asked_for(tmp_path):
    drawn, _ = dice_channel(TABLE)
    (tmp_path / "t.yaml").write_text(
        "title: <b>&\nquestions: {illness: {text: '\"خ\" <i>?', answers: {'often': '<script>'}}}\n"
        "direction: rtl\nlanguage: de\n",
        encoding="utf-8",
    )
    page = answer_card(drawn, read_texts(drawn, tmp_path / "t.yaml"), slips=True)
    assert '<html lang="de" dir="rtl">' in page
    assert "Zettel" in page
    assert not re.search("<(script|b|i)>", page)
    assert re.findall(r"<span>(\d\d)</span>", page) == [f"{number:02d}" for number in range(100)]
    assert "Zettel" not in answer_card(drawn, read_texts(drawn, language="de"))
    assert "default-src 'none'" in page


def test_what_is_no_card_is_refused(tmp_path):
    drawn, _ = dice_channel(TABLE)
    with pytest.raises(ValueError, match="no channel of dice"):
        answer_card(TABLE)
    words = "\n".join(f"  {key}: {text!r}" for key, text in read_texts(drawn).words.items())
    (tmp_path / "t.yaml").write_text(f"language: fr\nwords:\n{words}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lack the words of cards"):
        answer_card(drawn, read_texts(drawn, tmp_path / "t.yaml"))


def test_the_command_writes_the_card_beside_its_channel_and_certificate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.write("channel.json")
    assert main(["card", "--channel", "channel.json"]) == 0
    assert "times as many people" in " ".join(capsys.readouterr().out.split())
    read = read_channel("card.json").verified()
    assert read.id in (tmp_path / "card.html").read_text(encoding="utf-8")
    assert main(["verify", "card.certificate.json"]) == 0
    letters = "\n".join(["report", *read.outputs * 30])
    (tmp_path / "letters.csv").write_text(letters, encoding="utf-8")
    assert main(["estimate", "--channel", "card.json", "--data", "letters.csv", "--despite-misfit"]) == 0
    for words, sentence in {
        "": "card.json is there already",
        "--out channel.html": "is the file that is read",
        "--out card.pdf": "must end in .html",
        "--dice 4 --force": "must be 2 or 3",
    }.items():
        assert main(["card", "--channel", "channel.json", *words.split()]) == 2
        assert sentence in capsys.readouterr().err
