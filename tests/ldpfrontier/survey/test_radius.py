"""Designs for another radius of F: of any number of records, or of a population that may have changed."""

import json

import numpy as np
import pytest

from ldpfrontier import RenyiBall
from ldpfrontier.survey import CountTable, design_channel, least_epsilon, read_channel
from ldpfrontier.survey.channel_file import ChannelFileError, _digest
from ldpfrontier.survey.cli import main
from ldpfrontier.survey.population import Radius
from support.grids import few

COUNTS = np.array([[300, 40, 20], [60, 150, 90]])
ROWS, COLUMNS = (("no",), ("yes",)), (("north",), ("south",), ("west",))
TABLE = CountTable(("illness",), ("region",), ROWS, COLUMNS, COUNTS)


@pytest.mark.parametrize("radius", few([Radius(factor=4), Radius("finite", 2.5)], more=[Radius("finite")]))
def test_the_level_holds_over_the_larger_set(radius, tmp_path):
    ball = RenyiBall.confidence(COUNTS, method=radius.method, factor=radius.factor)
    nmi = []
    for chosen in (Radius(), radius):
        made = design_channel(TABLE, 0.5, against="outsider", mechanisms=["exact"], radius=chosen)
        private = made.private(made.best("information"))
        nmi.append(private.certificate.nmi)
        level = ball.worst_case_epsilon(private.channel)
        # The usual set is smaller, and its optimum is not private over the larger one.
        assert (level <= 0.5 + 1e-9) == (chosen == radius)
    assert nmi[1] < nmi[0]
    assert private.ball.radius == ball.radius
    private.write(tmp_path / "c.json")
    again = read_channel(tmp_path / "c.json")
    assert again.certificate == private.certificate
    assert again.ball.radius == ball.radius
    when = "with any number of records" if radius.method == "finite" else "with many records"
    times = f", {radius.factor:g} times the radius" if radius.factor != 1 else ""
    assert f"under every distribution in F (confidence 0.95 {when}{times})." in again.promise()


def test_a_file_that_says_nothing_of_the_radius_has_the_usual_one(tmp_path):
    made = design_channel(TABLE, 0.5, against="outsider", mechanisms=["srr"])
    made.private(made.best("information")).write(tmp_path / "c.json")
    content = json.loads((tmp_path / "c.json").read_text())
    assert content["certificate"].pop("radius") == {"method": "asymptotic", "factor": 1.0}

    def write():
        content.pop("content_sha256", None)
        (tmp_path / "c.json").write_text(json.dumps({**content, "content_sha256": _digest(content)}))

    write()
    assert read_channel(tmp_path / "c.json").certificate.radius == Radius()
    for radius, sentence in (
        ({"method": "exact", "factor": 1.0}, "The method of the radius is 'exact'; it must be 'asymptotic'"),
        ({"method": "finite", "factor": 0.0}, "The factor of the radius is 0.0; it must be a number above 0"),
        ({"method": "finite"}, "radius lacks 'factor'"),
        (4, "radius is 4; it must be an object"),
    ):
        content["certificate"]["radius"] = radius
        write()
        with pytest.raises(ChannelFileError, match=sentence):
            read_channel(tmp_path / "c.json")


def test_a_larger_set_needs_a_larger_level():
    usual, wide = (
        least_epsilon(TABLE, 0.3, against="outsider", mechanism="polyopt", radius=radius)
        for radius in (Radius(), Radius(factor=8))
    )
    assert usual < wide


@pytest.mark.parametrize("against", ["acquaintance", "anyone"])
def test_a_radius_that_changes_nothing_is_refused(against):
    for radius in (Radius("finite"), Radius(factor=2)):
        with pytest.raises(ValueError, match=f"but the promise against {against} is about no F"):
            design_channel(TABLE, 0.5, against=against, mechanisms=["srr"], radius=radius)
    lone = CountTable(("illness",), (), ROWS, ((),), COUNTS.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="but the promise against anyone is about no F"):
        design_channel(lone, 0.5, mechanisms=["grr"], radius=Radius(factor=2))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--radius-factor 0 --against outsider", "The factor of the radius is 0.0; it must be"),
        ("--radius-factor 4 --against anyone --mechanism srr", "the promise against anyone is about no F"),
        ("--confidence-method finite --alpha 3 --against outsider", "The order is 3; the method"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_a_sentence(options, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*command(tmp_path), *options.split()]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_the_command_says_which_set_is_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    more = ["--against", "outsider", "--confidence-method", "finite", "--radius-factor", "2"]
    assert main([*command(tmp_path), *more]) == 0
    capsys.readouterr()
    assert main(["audit", "--channel", "c.json"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "(confidence 0.95 with any number of records, 2 times the radius)" in printed
    assert read_channel("c.json").certificate.radius == Radius("finite", 2.0)


def command(folder):
    """Write the table, and return the command that designs a channel for it."""
    lines = [
        f"{row[0]},{column[0]},{count}"
        for row, counts in zip(ROWS, COUNTS, strict=True)
        for column, count in zip(COLUMNS, counts, strict=True)
    ]
    (folder / "t.csv").write_text("\n".join(["illness,region,count", *lines]) + "\n")
    common = ["design", "--table", "t.csv", "--sensitive", "illness", "--useful", "region", "--epsilon", "1"]
    return [*common, "--mechanism", "polyopt", "--for", "information", "--out", "c.json"]
