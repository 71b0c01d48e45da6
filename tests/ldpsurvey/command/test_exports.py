"""What other systems use: weights in SQL, the sampler of browsers, and JSON."""

import csv
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ldpsurvey import (
    CountTable,
    count_reports,
    estimate_distribution,
    privatize,
    privatize_file,
    read_channel,
)
from ldpsurvey.base.layout import without_formulas
from ldpsurvey.channel.proof import certified
from ldpsurvey.command.cli import main
from ldpsurvey.command.exports import files_beside, weights_csv
from ldpsurvey.data.value_lists import table_of_values
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.estimate.distribution import quantities
from support.owndata import channel_of, records_of, rewritten, small_table, write_records

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/survey/own-data-reference.md").read_text(encoding="utf-8")
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


@pytest.fixture(scope="module")
def commas(tmp_path_factory):
    """Return a folder as `folder` is, of a table whose values are alike if commas join them."""
    folder = tmp_path_factory.mktemp("commas")
    table = CountTable(
        ("a", "b"), ("c, d", "e"), (("x, y", "z"), ("x", "y, z")),
        (("1", "2, 3"), ("1, 2", "3"), ("é", '"\\')), np.array([[260, 310, 570], [70, 30, 100]]),
    )  # fmt: skip
    private = channel_of(table, "srr")
    private.write(folder / "channel.json", more=files_beside(private))
    write_records(folder / "people.csv", table, records_of(table))
    privatize_file(private, folder / "people.csv", folder / "reports.csv")
    return folder


@pytest.mark.parametrize("which", ["folder", "commas"])
def test_the_sql_of_the_page_gives_the_unbiased_estimates(which, request):
    folder = request.getfixturevalue(which)
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    base = sqlite3.connect(":memory:")
    base.create_function("SQRT", 1, np.sqrt)
    base.execute('CREATE TABLE weights ("columns" TEXT, value TEXT, report TEXT, weight REAL)')
    base.execute("CREATE TABLE reports (report TEXT, report_channel TEXT)")
    base.executemany("INSERT INTO weights VALUES (?, ?, ?, ?)", rows_of(folder / "channel.weights.csv"))
    base.executemany("INSERT INTO reports VALUES (?, ?)", rows_of(folder / "reports.csv"))
    found = {
        (tuple(json.loads(columns)), tuple(json.loads(value))): numbers
        for columns, value, *numbers in base.execute(query)
    }
    private = read_channel(folder / "channel.json")
    counts = count_reports(private, folder / "reports.csv")
    expected = estimate_distribution(private, counts)
    assert len(found) == len(expected.frequencies) == len(quantities(private.table)[0])
    label = private.table.labels[-1]
    marks = ", ".join("?" for _ in label)
    asked = base.execute(f"SELECT report FROM weights WHERE value = json_array({marks})", label).fetchall()
    assert [report for (report,) in asked] == list(private.outputs)
    frequencies = counts / counts.sum()
    for row in expected.frequencies:
        quantity = row.quantity
        frequency, error = found[quantity.attributes, quantity.value]
        assert frequency == pytest.approx(row.unbiased, abs=1e-12)
        name = [
            json.dumps(label, separators=(",", ":"), ensure_ascii=False)
            for label in (quantity.attributes, quantity.value)
        ]
        weights = [float(w) for *of, _, w in rows_of(folder / "channel.weights.csv") if of == name]
        variance = np.cov(weights, fweights=counts, bias=True) / counts.sum()
        assert error == pytest.approx(float(np.sqrt(variance)), rel=1e-9)
        assert frequency == pytest.approx(float(frequencies @ weights), abs=1e-12)


def test_what_a_channel_does_not_show_has_no_weight():
    private = channel_of(small_table(), "ir", 0.3)
    shown = {tuple(row[:1]) for row in csv.reader(weights_csv(private).splitlines()[1:])}
    assert shown == {('["region","age"]',), ('["region"]',), ('["age"]',)}


def test_estimates_have_keys_that_differ(commas, tmp_path):
    words = ["estimate", "--channel", str(commas / "channel.json"), "--data", str(commas / "reports.csv")]
    assert main([*words, "--out", str(tmp_path / "e.csv"), "--quiet"]) == 0
    keys = {tuple(row[:2] + row[8:]) for row in rows_of(tmp_path / "e.csv")}
    frequencies = {row[:2] for row in keys if row[2] == "frequency"}
    assert len(keys) == len(rows_of(tmp_path / "e.csv")) > len(frequencies) == 11 + 10
    assert ('["a","b"]', '["x, y","z"]') in frequencies


# Browsers -------------------------------------------------------------------------------------------------

CHECK = """
import { readFileSync } from "node:fs";
import { reporter } from "./channel.mjs";
const file = readFileSync("channel.json");
const { asked, draws } = JSON.parse(readFileSync(0, "utf8"));
const given = [];
for (const [record, hex] of asked) given.push((await reporter(file, () => Buffer.from(hex, "hex")))(record));
const report = await reporter(file);
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
    assert found["said"] == 'The field "illness" of the record is missing; allowed are "no", "yes".'
    # Its own draws: within 6 standard deviations of what the channel states.
    place = private.table.labels.index(tuple(answers[0][:3]))
    stated = dict(zip(private.outputs, private.channel.matrix[place].tolist(), strict=True))
    assert sum(Counter(found["drawn"]).values()) == draws
    for report, p in stated.items():
        assert abs(found["drawn"].get(report, 0) - draws * p) <= 6 * np.sqrt(draws * p * (1 - p)) + 1e-9


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_sampler_of_the_page_groups_numbers_and_names_fields(tmp_path, monkeypatch, capsys):
    """The code of the page, with every record that is documented: each gets the report that Python gives."""
    (code,) = re.findall(r"```js\n(import .*?)await reporter\(\)", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{s},{18 + 7 * i}\n" for i in range(10) for s in ("no", "yes"))
    Path("in.csv").write_text(f"ill,age\n{rows}")
    design = ["design", "--data", "in.csv", "--sensitive", "ill", "--useful", "age", "--bins", "age=30,65.5"]
    assert main([*design, "--epsilon", "1", "--out", "odd name.json", "--quiet"]) == 0
    private = read_channel("odd name.json")
    code = code.replace("./channel.mjs", "./odd name.mjs").replace("report =", "given =")
    tried = [29, "29.9", 30, "65.5", " 70 ", "[30,65.5)", -1e9, "1e3"]
    tried += ["30,5", "1,250", "old", "", True, None, "NA"]
    check = f"""{code}await reporter();
    const fixed = await reporter(undefined, () => new Uint8Array(8).fill(143));
    const answers = {json.dumps(tried)}.map((age) => {{
      try {{ return fixed({{ age, ill: "yes" }}); }} catch (error) {{ return error.message; }}
    }});
    console.log(JSON.stringify({{ answers, id: given.channel, values: given.values }}));"""
    Path("page.mjs").write_text(check, encoding="utf-8")
    # From another folder: the file is looked for beside the sampler.
    done = subprocess.run([NODE, tmp_path / "page.mjs"], cwd="/", capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    groups = ["(-inf,30)", "[30,65.5)", "[65.5,inf)"]
    assert found["id"] == private.id
    assert found["values"] == {"ill": ["no", "yes"], "age": groups}
    names = [0, 0, 1, 2, 2, 1, 0, 2]
    expected = [privatize(private, [("yes", groups[i])], source=lambda n: b"\x8f" * n)[0] for i in names]
    assert len(set(expected)) == 3
    assert found["answers"][:8] == expected
    allowed = 'allowed are a number, or "(-inf,30)", "[30,65.5)", "[65.5,inf)".'
    said = ['"30,5"', '"1,250"', '"old"', '""', "of type boolean", "of type null", '"NA"']
    assert found["answers"][8:] == [f'The field "age" of the record is {what}; {allowed}' for what in said]


def test_a_level_below_the_least_one_is_certified_as_that():
    """A design for the least level may have a level that is a bit below it."""
    table = table_of_values({"ill": ["no", "yes"]}, ["ill"])
    document, said = certified(known_channel(table, [[0.50001, 0.49999], [0.49999, 0.50001]]))
    assert document["claims"][-1]["kind"] == "local privacy"
    assert "0.001" in said[0]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_sampler_of_browsers_refuses_numbers_where_groups_leave_some_out(tmp_path, monkeypatch):
    """As `apply` does: nobody says what becomes of 45."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text('age\n"(-inf,18)"\n"[18,40)"\n"[50,inf)"\n', encoding="utf-8")
    assert main(["design", "--data", "in.csv", "--sensitive", "age", "--epsilon", "1", "--quiet"]) == 0
    Path("page.mjs").write_text(
        """import { reporter } from "./channel.mjs";
        const report = await reporter();
        try { report({ age: 20 }); } catch (error) { console.log(error.message); }""",
        encoding="utf-8",
    )
    done = subprocess.run([NODE, "page.mjs"], capture_output=True, text=True, check=True)
    assert 'is "20"; allowed are "(-inf,18)", "[18,40)", "[50,inf)".' in done.stdout


def lowered(content):
    """Let a channel give its first input away, and hash it as somebody would who knows how."""
    content["weights"][0] = " ".join([str(2**62), *["0"] * (len(content["outputs"]) - 1)])


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("change", [lowered, lambda c: None, lambda c: c.update(format="song")])
def test_the_sampler_of_browsers_refuses_every_other_file(folder, tmp_path, change):
    for name in ("channel.json", "channel.mjs"):
        shutil.copy(folder / name, tmp_path)
    rewritten(tmp_path / "channel.json", change)
    found = in_node(tmp_path, {"asked": [], "draws": 0})
    digests = [hashlib.sha256((at / "channel.json").read_bytes()).hexdigest() for at in (tmp_path, folder)]
    assert "its SHA-256 is {}, and that of the channel is {}.".format(*digests) in found


# Programs -------------------------------------------------------------------------------------------------


def test_commands_print_json(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    design = ["design", "--data", "people.csv", "--sensitive", "illness", "--useful", "region", "age"]
    design += ["--epsilon", "1", "--mechanism", "srr", "--out", str(tmp_path / "c.json"), "--json"]
    assert main(design) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["table"] == {
        "source": "people.csv", "sensitive": ["illness"], "useful": ["region", "age"], "records": 1340,
        "values": [2, 4], "effective": None,
    }  # fmt: skip
    assert found["chosen"] == "srr"
    assert {candidate["name"] for candidate in found["candidates"]} == {"srr"}
    assert 0 < found["candidates"][0]["nmi"] <= found["bound"]
    assert len(found["written"]) == 7
    assert all(Path(path).is_file() for path in found["written"])
    assert main(["estimate", "--channel", "channel.json", "--data", "reports.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == 1340
    first = found["frequencies"][0]
    assert first["quantity"] == {"attributes": ["illness", "region", "age"], "value": ["no", "north", "old"]}
    assert first["low"] <= first["estimate"] <= first["high"]
    assert main(["audit", "--channel", "channel.json", "--samples", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["samples"], found["problems"]) == (100, [])


# Spreadsheets ---------------------------------------------------------------------------------------------

FORMULA = "=cmd|' /C calc'!A0"


def test_no_cell_of_a_csv_file_is_a_formula_if_that_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = f"=s,u,note\n{FORMULA},x;=1,@n\nno,y,-3\nno,x;=1,\n{FORMULA},y,\n"
    Path("in.csv").write_text(rows, encoding="utf-8")
    design = ["design", "--force", "--data", "in.csv", "--sensitive", "=s", "--useful", "u", "--epsilon", "1"]
    apply = [
        "apply",
        "--force",
        "--channel",
        "channel.json",
        "--data",
        "in.csv",
        "--out",
        "r.csv",
        "--keep",
        "note",
        "=s",
    ]
    estimate = ["estimate", "--channel", "channel.json", "--data", "r.csv", "--out", "e.csv"]
    for safe in ([], ["--spreadsheet"]):
        for words in (design, apply, estimate):
            assert main([*words, *safe, "--quiet", *(["--mechanism", "srr"] if words is design else [])]) == 0
        said = capsys.readouterr().err
        assert ("a spreadsheet program would take '=cmd|' /C calc'!A0'" in said.replace('"', "'")) != bool(
            safe
        )
        cells = Counter()
        for path in Path().glob("*.csv"):
            with open(path, encoding="utf-8-sig", newline="") as stream:
                cells.update(cell for row in csv.reader(stream) for cell in row if path.name != "in.csv")
        assert (FORMULA in cells) != bool(safe)
        assert any(without_formulas(cell) != cell for cell in cells) != bool(safe)
        assert "-3" in cells
        own = [path.read_bytes() for path in Path().glob("*.csv") if path.name != "in.csv"]
        assert {data.startswith(b"\xef\xbb\xbf") for data in own} == {bool(safe)}
