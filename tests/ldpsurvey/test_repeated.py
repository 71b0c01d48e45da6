"""Designs for several reports of a person, and what their files say they may be used for."""

import json

import pytest

from ldpsurvey import design_channel, read_channel
from ldpsurvey.channel.together import levels_together
from ldpsurvey.command.cli import main
from ldpsurvey.design.least_level import design_for_reports
from support.malformed import TABLE, refused
from support.owndata import flat, rewritten


def level_of(privates, against):
    return next(one.level for one in levels_together(privates) if one.against == against)


@pytest.mark.parametrize(
    ("against", "mechanism", "reports"),
    [("acquaintance", "association", 2), ("insider-only", "label", 3), ("anyone", "subset", 5)],
)
def test_several_reports_keep_the_level_that_was_asked_for(table, tmp_path, against, mechanism, reports):
    made = design_for_reports(table, 1.0, reports, "information", against=against, mechanisms=[mechanism])
    made.private(made.best("information")).write(tmp_path / "c.json")
    private = read_channel(tmp_path / "c.json").verified()
    assert private.certificate.allowance == made.allowance
    together = level_of([private] * reports, against)
    assert 0.98 <= together <= 1.0 + 1e-9
    assert f"{reports} reports of a person by this channel, and none by another one" in private.promise()
    # A file that allows more than is kept is refused, whoever has made its hash.
    rewritten(tmp_path / "c.json", lambda file: file["certificate"]["allowance"].update(reports=reports + 1))
    with pytest.raises(ValueError, match=rf"level of {reports + 1} reports together is .* allows 1\."):
        read_channel(tmp_path / "c.json").verified()
    assert main(["audit", "--channel", str(tmp_path / "c.json")]) == 1


@pytest.mark.parametrize("against", ["acquaintance", "anyone"])
def test_reports_within_a_budget_add_up(table, tmp_path, against):
    privates = []
    for epsilon in (0.5, 1.5):
        made = design_channel(table, epsilon, against=against, mechanisms=["unconditional"], budget=2.0)
        if against == "acquaintance":
            made = design_channel(table, epsilon, against=against, mechanisms=["association"], budget=2.0)
            assert made.population.widened == pytest.approx(2.0 * (2.0 - epsilon))
        privates.append(made.private(made.candidates[0]))
    assert level_of(privates, against) <= 2.0 + 1e-9
    assert level_of([privates[0]] * 4, against) <= 2.0 + 1e-9
    assert "have together at most the level 2" in privates[0].promise()
    privates[0].write(tmp_path / "c.json")
    read_channel(tmp_path / "c.json").verified()
    if against == "acquaintance":
        rewritten(tmp_path / "c.json", lambda file: file["certificate"]["allowance"].update(level=3.0))
        with pytest.raises(
            ValueError, match=r"intervals are widened by 3 nats; for a budget of 3 .* be by 5"
        ):
            read_channel(tmp_path / "c.json").verified()


def test_what_no_allowance_is_refused(table, tmp_path):
    for wrong in ({"level": "1", "reports": 2}, {"level": 1.0, "reports": 2.5}, {"level": 1.0, "more": 1}, 3):
        made = design_channel(flat(table), 0.5, mechanisms=["grr"], budget=1.0)
        made.private(made.candidates[0]).write(tmp_path / "c.json")
        rewritten(tmp_path / "c.json", lambda file, w=wrong: file["certificate"].update(allowance=w))
        with pytest.raises(ValueError, match="is not a valid channel"):
            read_channel(tmp_path / "c.json")
    with pytest.raises(ValueError, match=r"for 5 reports of a person; it must be a number from 0\.005 to 20"):
        design_for_reports(table, 0.001, 5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--reports", "1"], "The number of reports of a person is 1; it must be from 2 to 100."),
        (["--reports", "2", "--against", "outsider"], "A promise to outsiders says nothing about a second"),
        (["--budget", "2", "--against", "outsider"], "A promise to outsiders says nothing about a second"),
        (["--budget", "0.5"], "The budget is 0.5; it must be a number from epsilon, 1, to 20."),
        (["--budget", "2", "--reports", "2"], "not allowed with argument"),
    ],
)
def test_several_reports_that_cannot_be_designed_for(here, capsys, words, sentence):
    refused(here, capsys, [*TABLE, "table.csv", *words], sentence)


def test_the_command_says_how_often_a_person_may_report(here, capsys):
    words = [*TABLE, "table.csv", "--force", "--for", "frequencies"]
    assert main([*words, "--reports", "2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A person may report 2 times with this channel, and with no other one." in said
    assert "--memo MEMO --id COLUMN --wave NAME" in said
    stated = json.loads((here / "new.json").read_text())["certificate"]
    assert stated["allowance"] == {"level": 1.0, "reports": 2}
    assert main(["audit", "--channel", "new.json"]) == 0
    assert main([*words, "--budget", "2", "--details"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A person may report with all channels of the budget 2 while their levels, here 1, add up" in said
