"""Files of reports: those of another channel are refused, and a person counts once."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from ldpfrontier import Channel
from ldpsurvey import (
    Memo,
    count_pairs,
    count_reports,
    estimate_distribution,
    estimate_rates,
    privatize_file,
    read_channel,
)
from ldpsurvey.base.layout import Remark
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.channel.attackers import levels_of
from ldpsurvey.channel.promises import several_reports_text
from ldpsurvey.command.cli import main
from ldpsurvey.estimate.distribution import FittedReports, misfit
from support.owndata import channel_of, flat, records_of, rewritten, seeded, small_table, write_records

#: Two channels that only their levels tell apart: both have the same outputs.
LEVELS = (1.0, 2.0)


@pytest.fixture
def two(table, tmp_path, monkeypatch):
    """Return two channels in a folder with their files, records, and reports of the first channel."""
    monkeypatch.chdir(tmp_path)
    found = [channel_of(table, "grr", level) for level in LEVELS]
    for private, name in zip(found, ("mild.json", "strong.json"), strict=True):
        private.write(name)
    write_records(tmp_path / "people.csv", table, records_of(table))
    privatize_file(found[0], "people.csv", "reports.csv", source=seeded(1), keep=table.attributes)
    return found


def without_channel(path="reports.csv"):
    with open(path, encoding="utf-8", newline="") as stream:
        rows = [row[:-1] for row in csv.reader(stream)]
    Path("bare.csv").write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")


# The channel of a report ----------------------------------------------------------------------------------


def test_reports_of_another_channel_are_refused(two, capsys):
    """They used to be estimated: a rate of 0.38 where 0.15 is right."""
    own, other = two
    assert own.outputs == other.outputs
    assert own.id != other.id
    both = f"is a report of the channel '{own.id}', and this channel is '{other.id}'"
    for count in (count_reports, count_pairs):
        assert count(own, "reports.csv").sum() == small_table().records
        with pytest.raises(ValueError, match=f"Record 1 of reports.csv {both}"):
            count(other, "reports.csv")
    words = ["--channel", "strong.json", "--data", "reports.csv"]
    for command in (["estimate", *words, "--out", "e.csv"], ["audit", *words]):
        assert main(command) == 2
        assert both in capsys.readouterr().err
    assert not Path("e.csv").exists()
    # Among many others, a file of which was written before reports had ids.
    without_channel()
    lines = [line + "," for line in Path("bare.csv").read_text().splitlines()[1:]]
    strange = Path("reports.csv").read_text().splitlines()[5].replace(own.id, other.id)
    head = "illness,region,age,report,report_channel"
    Path("all.csv").write_text("\n".join([head, *lines, strange]) + "\n")
    with pytest.raises(ValueError, match=rf"Record 1341 of all.csv is a report of the channel '{other.id}'"):
        count_reports(own, "all.csv")


def test_an_id_is_that_of_what_a_report_means(two, table, tmp_path):
    own, _ = two
    assert read_channel("mild.json").id == own.id
    assert f'"id": "{own.id}"' in Path("mild.json").read_text()
    assert own.with_levels(own.certificate.levels).id == own.id
    assert channel_of(flat(table), "grr").id != own.id
    rewritten(tmp_path / "mild.json", lambda content: content.update(id="c000000000"))
    with pytest.raises(ValueError, match="its id is 'c000000000'; that of its labels and weights is"):
        read_channel("mild.json")


def test_reports_that_do_not_fit_are_refused(two, table, tmp_path, capsys):
    own, other = two
    write_records(tmp_path / "people.csv", table, [table.labels[0]] * 1340)
    privatize_file(other, "people.csv", "reports.csv", source=seeded(2), force=True)
    without_channel()
    counts = count_reports(own, "bare.csv")
    for estimate in (estimate_distribution, estimate_rates):
        with pytest.raises(ValueError, match=r"The 1,340 reports do not fit the channel: whatever the answ"):
            estimate(own, counts)
        estimate(own, counts, check_fit=False)
    assert estimate_distribution(own, counts, check_fit=False).fit < SETTINGS.misfit
    words = ["estimate", "--channel", "mild.json", "--data", "bare.csv"]
    assert main(words) == 2
    assert "--despite-misfit estimates all the same" in capsys.readouterr().err
    assert main([*words, "--despite-misfit"]) == 0
    said = capsys.readouterr()
    assert "warning: The 1,340 reports do not fit the channel" in said.err
    assert said.out.startswith("1,340 reports\n")


@pytest.mark.parametrize(("reports", "concentration"), [(3, 1.0), (20, 0.2), (400, 0.05)])
def test_reports_of_a_channel_rarely_fail_to_fit_it(reports, concentration):
    """In 5% of samples or fewer the bound is below 5%, at distributions in the corners, too."""
    rng = np.random.default_rng(reports)
    private = channel_of(small_table(), "srr", 2.0)
    matrix = private.channel.matrix
    below = 0
    for truth in rng.dirichlet(np.full(len(matrix), concentration), size=300):
        below += FittedReports(private, rng.multinomial(reports, truth @ matrix)).fit < 0.05
    assert below <= 15


def test_the_bound_of_a_misfit_holds_for_one_known_distribution():
    """Without a fit: what is bounded is the tail of the relative entropy, which the samples have."""
    rng = np.random.default_rng(5)
    for truth, n in ((np.full(4, 0.25), 12), (np.array([0.9, 0.05, 0.03, 0.02]), 40)):
        samples = rng.multinomial(n, truth, size=4000)
        bounds = np.array([misfit(sample, n * truth) for sample in samples])
        for level in (0.5, 0.1, 0.01):
            assert (bounds < level).mean() <= level
        assert bounds.min() < 0.2  # and says something
    assert misfit(np.array([40.0, 0.0]), np.array([20.0, 20.0])) == pytest.approx(
        27.7259 * np.exp(1 - 27.7259), rel=1e-4
    )
    assert misfit(np.array([7.0]), np.array([7.0])) == 1.0


# One report for each person -------------------------------------------------------------------------------


def panel(path, rows):
    lines = [f"{name},{','.join(record)}\n" for name, record in rows]
    path.write_text(f"id,illness,region,age\n{''.join(lines)}", encoding="utf-8")


def test_a_person_counts_once(two, tmp_path, capsys):
    own, _ = two
    people = records_of(small_table())[::6]
    rows = [(f"p{i}", record) for _ in range(3) for i, record in enumerate(people)]
    panel(tmp_path / "panel.csv", rows)
    memo = Memo("memo", "id")
    privatize_file(own, "panel.csv", "wave.csv", memo=memo, keep=("id",))
    with pytest.warns(Remark, match="448 of 672 reports are further ones of the same people, by the column"):
        counts = count_reports(own, "wave.csv", person="id")
    assert counts.sum() == len(people) == 224
    panel(tmp_path / "once.csv", rows[:224])
    privatize_file(own, "once.csv", "once-out.csv", memo=memo, keep=("id",))
    assert (counts == count_reports(own, "once-out.csv")).all()
    # A file that tells of repeated people is refused unless somebody says what they are.
    with pytest.raises(ValueError, match=r"672 reports, and 448 of them repeat a value of its column 'id'"):
        count_reports(own, "wave.csv")
    words = ["estimate", "--channel", "mild.json", "--data", "wave.csv"]
    assert main(words) == 2
    assert "--id id counts each of them once" in capsys.readouterr().err
    assert main([*words, "--id", "id"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("224 reports\n")
    assert "448 of 672 reports are further ones of the same people" in said.err
    Path("gap.csv").write_text("id,report\na,y1\n,y2\n")
    with pytest.raises(ValueError, match=r"Record 2 of .* has no value in the column 'id'"):
        count_reports(own, "gap.csv", person="id")
    assert count_reports(own, "gap.csv").sum() == 2
    with pytest.raises(ValueError, match="'report' contains the reports; it cannot identify people as well"):
        count_reports(own, "gap.csv", person="report")


# Several reports without a memo ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "against", "stated"),
    [
        ("association", "acquaintance", True),
        ("unconditional", "anyone", True),
        ("grr", "anyone", True),
        ("polyopt", "outsider", False),
        ("exact", "outsider", False),
    ],
)
def test_two_reports_have_at_most_the_level_that_is_said(table, mechanism, against, stated):
    """The level of two reports is that of the channel of all products of two columns."""
    private = channel_of(table, mechanism, 1.0, against)
    said, more = several_reports_text(private)
    assert more != stated
    found = re.search(r"a level of at most ([0-9.]+) for", said)
    columns = private.channel.matrix
    both = Channel((columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1))
    together = levels_of(both.matrix, table, private.certificate.population)
    level = together.against(private.protects)
    if found:
        assert level <= float(found[1])
    else:
        assert re.search(r"may give (illness|region, age) away", said)
        assert level > 2.1 * private.certificate.epsilon
    if stated:
        assert level > 1.5 * private.certificate.level  # what is said is not far off


def test_apply_says_what_two_reports_have_and_warns_where_there_is_no_limit(two, table, capsys):
    words = ["apply", "--data", "people.csv", "--out", "out.csv", "--channel"]
    channel_of(table, "grr", 1.0, "anyone").write("mild.json")
    assert main([*words, "mild.json"]) == 0
    said = capsys.readouterr()
    assert "independently, have together a level of at most 2 for" in " ".join(said.out.split())
    assert "Two reports" not in said.err
    assert main([*words, "mild.json", "--force"]) == 0
    said = capsys.readouterr().err
    assert "people who had a report in it have given two." in said
    assert "Two reports of the same answers" in said
    Path("out.csv").unlink()
    channel_of(table, "polyopt").write("weak.json")
    assert main([*words, "weak.json", "--quiet"]) == 0
    assert "warning: Two reports of the same answers" in capsys.readouterr().err
    persons = [(f"p{i}", record) for i, record in enumerate(records_of(table)[:9])]
    panel(Path("people.csv"), persons)
    assert main([*words, "weak.json", "--memo", "memo", "--id", "id", "--force"]) == 0
    assert "Two reports" not in "".join(capsys.readouterr())


# Records without a report, and counts of reports ---------------------------------------------------------


@pytest.mark.parametrize("words", ["estimate", "estimate --by id", "change", "audit", "regress"])
def test_records_without_a_report_are_left_out_by_all_commands(two, capsys, words):
    """A command without a file for them reads the same reports."""
    lines = Path("reports.csv").read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    gap = ",".join("" if name == "report" else "x" for name in head[:-1]) + ","
    Path("gaps.csv").write_text("\n".join([lines[0], gap, *lines[1:], gap]) + "\n", encoding="utf-8")
    command, _, _ = words.partition(" ")
    more = {
        "change": ["gaps.csv", "reports.csv"],
        "regress": ["gaps.csv", "--formula", "illness ~ region + age"],
    }
    options = ["--by", "age"] if "--by" in words else []
    call = [command, "--channel", "mild.json", *options, "--data", *more.get(command, ["gaps.csv"])]
    main(call)
    said = capsys.readouterr().err
    assert "2 of" in said
    assert "records of gaps.csv have no report, and were left out." in said


def test_a_text_for_a_missing_report_is_refused_without_an_option_that_is_none(two, capsys):
    Path("texts.csv").write_text("report\ny1\nNA\n", encoding="utf-8")
    assert main(["estimate", "--channel", "mild.json", "--data", "texts.csv"]) == 2
    said = capsys.readouterr().err
    assert "Record 2 of texts.csv has 'NA' as report" in said
    assert "--missing" not in said


def test_a_table_of_counts_of_reports_is_refused(two):
    Path("counts.csv").write_text("report,n\ny1,30\ny2,20\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"looks like a table of counts: .* Every row must be one report"):
        count_reports(two[0], "counts.csv")
    Path("none.csv").write_text("report,age\n,30\n ,20\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no report in the column 'report'"):
        count_reports(two[0], "none.csv")
