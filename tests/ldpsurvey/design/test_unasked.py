"""Reports of the useful columns alone: their promise, what is asked of people, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

from ldpfrontier import rldp_epsilon
from ldpsurvey import design_channel
from ldpsurvey.channel.channel_file import read_channel
from ldpsurvey.channel.privatizing import privatize, privatize_file
from ldpsurvey.command.cli import main
from ldpsurvey.design.answer import answer_text
from ldpsurvey.estimate.auditing import audit_channel
from ldpsurvey.estimate.distribution import estimate_distribution
from support.owndata import channel_of, seeded, small_table


def made_of(against: str, mechanism: str = "unasked", epsilon: float = 0.5):
    table = small_table()
    made = design_channel(
        table, epsilon, against=against, mechanisms=[mechanism], precise="U", unasked=True, purpose=None
    )
    return made, made.private(made.best("information"))


@pytest.mark.parametrize("against", ["outsider", "acquaintance", "anyone"])
def test_the_promise_holds_and_says_what_it_rests_on(against: str) -> None:
    made, private = made_of(against)
    assert private.is_unasked
    assert private.certificate.levels.insider == 0.0
    assert private.certificate.level <= 0.5
    assert private.certificate.nmi <= private.certificate.bound * (1 + 1e-9)
    assert ("is not asked" in private.promise()) == (against != "anyone")
    answer = answer_text(made, made.best("information"), private, 0.01, "c.json")
    assert ("not asked" in " ".join(answer.split())) == (against != "anyone")
    audit = audit_channel(private, samples=5_000)
    assert not audit.problems
    if against == "outsider":
        assert "contain what is true of those who report" in private.promise()
        members = made.population.ball(private.table).sample(np.random.default_rng(0), 2_000)
        conditionals = members / members.sum(axis=2, keepdims=True)
        assert rldp_epsilon(private.channel, conditionals).max() <= 0.5 + 1e-9


def test_the_most_informative_one_tells_more_than_local_privacy() -> None:
    nmi = {name: made_of("acquaintance", name)[0].candidates[0].nmi for name in ("unasked", "closed")}
    assert nmi["unasked"] > 1.5 * nmi["closed"]


def test_people_are_not_asked_and_estimates_are_of_the_useful_value(tmp_path) -> None:
    _, private = made_of("acquaintance", "frequencies", 1.0)
    path, people, reports = tmp_path / "c.json", tmp_path / "people.csv", tmp_path / "reports.csv"
    private.write(path)
    people.write_text("region,age\n" + "north,old\n" * 600 + "south,old\n" * 400, encoding="utf-8")
    again = read_channel(path)
    assert again.asked == ("region", "age")
    assert len((tmp_path / "c.matrix.csv").read_text(encoding="utf-8").splitlines()) == 4
    done = privatize_file(again, people, reports, source=seeded(1))
    assert done.records == 1_000
    drawn = privatize(again, [("north", "old")] * 20_000, source=seeded(2))
    found = estimate_distribution(again, [drawn.count(name) for name in again.outputs])
    shares = {row.quantity.value: row for row in found.of(("region", "age"))}
    assert shares["north", "old"].estimate == pytest.approx(1.0, abs=0.05)
    assert all(np.isnan(row.estimate) for row in found.of(("illness",)))
    # Whoever has asked it may leave it in the file, and a channel that needs it still does.
    assert channel_of(small_table(), "srr").asked == ("illness", "region", "age")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_the_sampler_for_browsers_does_not_ask_either(tmp_path) -> None:
    command = ["design", "--table", str(tmp_path / "t.csv"), "--sensitive", "illness", "--useful", "region"]
    (tmp_path / "t.csv").write_text(
        "illness,region,count\nno,a,500\nno,b,300\nyes,a,60\nyes,b,80\n", encoding="utf-8"
    )
    out = tmp_path / "channel.json"
    assert main([*command, "--unasked", "--epsilon", "0.5", "--out", str(out)]) == 0
    text = (
        'const { reporter } = await import("./channel.mjs"); const r = await reporter();'
        ' console.log(JSON.stringify([r.values, r({ region: "a" })]));'
    )
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", text], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    values, report = json.loads(ran.stdout)
    assert values == {"region": ["a", "b"]}
    assert report.startswith("y")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"against": "insider-only"}, "tell insiders nothing of it"),
        ({"precise": "cells"}, "show U alone: it must be U"),
        ({"own": {"own:f": None}}, "see all columns, and illness is not to be asked"),
    ],
)
def test_what_is_refused(changes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        design_channel(small_table(), 0.5, **{"precise": "U", "unasked": True, **changes})
