"""What other systems use: weights in SQL, the sampler of browsers, and JSON."""

import csv
import json
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ldpfrontier
from ldpfrontier import count_reports, estimate_distribution, privatize_file, read_channel
from ldpfrontier.practice.cli import main
from ldpfrontier.practice.exports import as_json, files_beside, weights_csv
from support.owndata import channel_of, flat, records_of, rewritten, small_table, write_records

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/own-data.md").read_text(encoding="utf-8")
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a channel, what lies beside it, and reports."""
    folder = tmp_path_factory.mktemp("exports")
    private = channel_of(small_table(), "srr")
    private.write(folder / "channel.json", more=files_beside(private))
    write_records(folder / "people.csv", small_table(), records_of(small_table()))
    privatize_file(private, folder / "people.csv", folder / "reports.csv")
    return folder


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))[1:]


# Databases ------------------------------------------------------------------------------------------------


def test_the_sql_of_the_page_gives_the_unbiased_estimates(folder):
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    base = sqlite3.connect(":memory:")
    base.create_function("SQRT", 1, np.sqrt)
    base.execute('CREATE TABLE weights ("columns" TEXT, value TEXT, report TEXT, weight REAL)')
    base.execute("CREATE TABLE reports (report TEXT)")
    base.executemany("INSERT INTO weights VALUES (?, ?, ?, ?)", rows_of(folder / "channel.weights.csv"))
    base.executemany("INSERT INTO reports VALUES (?)", rows_of(folder / "reports.csv"))
    found = {(columns, value): numbers for columns, value, *numbers in base.execute(query)}
    private = read_channel(folder / "channel.json")
    counts = count_reports(private, folder / "reports.csv")
    expected = estimate_distribution(private, counts)
    assert len(found) == len(expected.frequencies) == 11
    frequencies = counts / counts.sum()
    for row in expected.frequencies:
        name = (", ".join(row.quantity.attributes), ", ".join(row.quantity.value))
        frequency, error = found[name]
        assert frequency == pytest.approx(row.unbiased, abs=1e-12)
        weights = [float(w) for *of, _, w in rows_of(folder / "channel.weights.csv") if tuple(of) == name]
        variance = np.cov(weights, fweights=counts, bias=True) / counts.sum()
        assert error == pytest.approx(float(np.sqrt(variance)), rel=1e-9)
        assert frequency == pytest.approx(float(frequencies @ weights), abs=1e-12)


def test_what_a_channel_does_not_show_has_no_weight():
    private = channel_of(small_table(), "ir", 0.3)
    shown = {tuple(row[:1]) for row in csv.reader(weights_csv(private).splitlines()[1:])}
    assert shown == {("region, age",)}


# Browsers -------------------------------------------------------------------------------------------------

CHECK = """
import { readFileSync } from "node:fs";
import { reporter } from "./channel.mjs";
const channel = JSON.parse(readFileSync("channel.json", "utf8"));
const { asked, draws } = JSON.parse(readFileSync(0, "utf8"));
const given = asked.map(([record, hex]) => reporter(channel, () => Buffer.from(hex, "hex"))(record));
const report = reporter(channel);
const drawn = {};
for (let i = 0; i < draws; i++) {
  const name = report(asked[0][0]);
  drawn[name] = (drawn[name] ?? 0) + 1;
}
let said = "";
try { report({}); } catch (error) { said = error.message; }
console.log(JSON.stringify({ given, drawn, said }));
"""


def in_node(folder, question):
    (folder / "check.mjs").write_text(CHECK, encoding="utf-8")
    done = subprocess.run(
        [NODE, "check.mjs"],
        cwd=folder,
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_sampler_of_browsers_gives_the_known_answers(folder):
    private = read_channel(folder / "channel.json")
    answers = rows_of(folder / "channel.answers.csv")
    attributes = private.table.attributes
    asked = [(dict(zip(attributes, row, strict=False)), row[-2]) for row in answers]
    draws = 40_000
    found = in_node(folder, {"asked": asked, "draws": draws})
    assert len(answers) >= 30
    assert found["given"] == [row[-1] for row in answers]
    assert found["said"] == "The channel does not know this record; it needs illness, region, age as texts."
    # Its own draws: within 6 standard deviations of what the channel states.
    place = private.table.labels.index(tuple(answers[0][:3]))
    stated = dict(zip(private.outputs, private.channel.matrix[place].tolist(), strict=True))
    assert sum(Counter(found["drawn"]).values()) == draws
    for report, p in stated.items():
        assert abs(found["drawn"].get(report, 0) - draws * p) <= 6 * np.sqrt(draws * p * (1 - p)) + 1e-9


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.update(format="song"), "This is no channel of ldp-frontier with probabilities in"),
        (lambda c: c.update(bits=61), "This is no channel of ldp-frontier with probabilities in multiples"),
        (lambda c: c["weights"].pop(), "The weights of the channel do not fit its labels."),
        (lambda c: c["outputs"].pop(), "The weights of the channel do not fit its labels."),
        (lambda c: c["weights"].__setitem__(0, "1 2 3"), "A row of weights sums to 6; it must sum to 2^62."),
        (
            lambda c: c["weights"].__setitem__(0, "1 -2"),
            "A weight of the channel is '-2'; it must be a",
        ),
    ],
)
def test_the_sampler_of_browsers_refuses_what_is_no_channel(folder, tmp_path, change, sentence):
    for name in ("channel.json", "channel.mjs"):
        shutil.copy(folder / name, tmp_path)
    rewritten(tmp_path / "channel.json", change)
    assert sentence in in_node(tmp_path, {"asked": [({}, "00" * 8)], "draws": 0})


# Programs -------------------------------------------------------------------------------------------------


def test_commands_print_json(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    design = ["design", "--data", "people.csv", "--sensitive", "illness", "--useful", "region", "age"]
    design += ["--epsilon", "1", "--mechanism", "srr", "--out", str(tmp_path / "c.json"), "--json"]
    assert main(design) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["table"] == {
        "source": "people.csv", "sensitive": ["illness"], "useful": ["region", "age"], "records": 1340,
        "values": [2, 3],
    }  # fmt: skip
    assert found["chosen"] == "srr"
    assert {candidate["name"] for candidate in found["candidates"]} == {"srr"}
    assert 0 < found["candidates"][0]["nmi"] <= found["bound"]
    assert len(found["written"]) == 8
    assert all(Path(path).is_file() for path in found["written"])
    assert main(["estimate", "--channel", "channel.json", "--data", "reports.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == 1340
    first = found["frequencies"][0]
    assert first["quantity"] == {"attributes": ["illness", "region", "age"], "value": ["no", "north", "old"]}
    assert first["low"] <= first["likely"] <= first["high"]
    assert main(["audit", "--channel", "channel.json", "--samples", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["problems"]) == (100, [])


def test_a_number_that_is_not_there_is_null():
    assert json.loads(as_json({"a": float("nan"), "b": (float("inf"), 1, "x"), "c": np.arange(2)})) == {
        "a": None, "b": [None, 1, "x"], "c": [0, 1]
    }  # fmt: skip


def test_the_version_is_said(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"ldp-frontier {ldpfrontier.__version__}\n"


def test_weights_of_a_table_of_which_all_is_sensitive():
    private = channel_of(flat(small_table()), "grr")
    rows = list(csv.reader(weights_csv(private).splitlines()))
    assert rows[0] == ["columns", "value", "report", "weight"]
    weights = np.array([float(row[-1]) for row in rows[1:]]).reshape(6, -1)
    assert private.channel.matrix @ weights.T == pytest.approx(np.eye(6), abs=1e-9)
