"""The page for those who answer, without a browser: what it contains, and what is refused."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from ldpsurvey import CountTable, answer_page, read_channel, read_texts, table_of_values
from ldpsurvey.command.cli import main
from ldpsurvey.design.known_channels import known_channel
from ldpsurvey.design.least_level import design_for_reports
from support.owndata import channel_of, small_table

NODE = shutil.which("node")
ODD = ('</script><script>alert("1")</script>', "\u05e9\u05dc\u05d5\u05dd \U0001f600 & 'x' <!--", "$name {n}")


class Page(HTMLParser):
    """The tags of a page with what is between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.raw = Counter(), [], {}
        self._open = ("", {})
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self._open = (tag, dict(attrs))
        if tag == "meta" and dict(attrs).get("http-equiv"):
            self.policy = dict(attrs)["content"]

    def handle_data(self, data):
        self.texts.append(data)
        tag, about = self._open
        if tag in ("script", "style"):
            self.raw.setdefault(about.get("id", tag), data)


@pytest.fixture(scope="module")
def odd():
    """Return a channel whose names and values are what a page must not take for anything but texts."""
    table = CountTable(
        (ODD[0],), (ODD[2],), ((ODD[1],), ("no",)), (("a",), ("b",)), np.ones((2, 2), int) * 50
    )
    return channel_of(table, "grr", 1.0, "anyone")


def test_names_and_values_are_shown_as_texts(odd):
    texts = read_texts(odd, title=ODD[0])
    plain, strange = Page(answer_page(channel_of(small_table(), "srr"))), Page(answer_page(odd, texts))
    assert plain.tags["script"] == strange.tags["script"] == 3
    for text in ODD:
        assert text in strange.texts
    data = json.loads(strange.raw["data"])
    assert [question["column"] for question in data["questions"]] == [ODD[0], ODD[2]]


def test_the_page_contains_the_file_of_the_channel_and_its_hash(tmp_path):
    channel_of(small_table(), "srr").write(tmp_path / "channel.json")
    assert main(f"form --channel {tmp_path}/channel.json --out {tmp_path}/p.html --quiet".split()) == 0
    page = Page((tmp_path / "p.html").read_text(encoding="utf-8"))
    content = (tmp_path / "channel.json").read_bytes()
    assert base64.b64decode(page.raw["channel"]) == content
    assert hashlib.sha256(content).hexdigest() in page.raw["script"]


@pytest.mark.parametrize("post", [None, "https://a.example:8443/b%20c?key=d", "http://127.0.0.1:8000"])
def test_the_policy_allows_the_program_of_the_page_and_one_address(post):
    page = Page(answer_page(channel_of(small_table(), "srr"), post=post))
    policy = dict(part.strip().split(" ", 1) for part in page.policy.split(";"))
    for kind, text in (("script-src", page.raw["script"]), ("style-src", page.raw["style"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[kind] == f"'sha256-{digest}'"
    assert policy["connect-src"] == ("'none'" if post is None else post.partition("?")[0])
    assert {policy[kind] for kind in ("default-src", "form-action", "base-uri")} == {"'none'"}
    assert json.loads(page.raw["data"])["post"] == post


@pytest.mark.parametrize(
    "post",
    ["/report", "ftp://a.example", "https://*", "https://a.example/;x", "https://a@b.example", "https://a b"],
)
def test_an_address_that_a_page_cannot_be_limited_to_is_refused(post):
    with pytest.raises(ValueError, match="The address is"):
        answer_page(channel_of(small_table(), "srr"), post=post)


def test_a_wave_is_for_channels_of_several_reports():
    several = design_for_reports(small_table(), 1.0, 3, "information", mechanisms=["grr"])
    private = several.private(several.candidates[0])
    assert json.loads(Page(answer_page(private, wave="2027")).raw["data"])["reports"] == 3
    with pytest.raises(ValueError, match="a wave"):
        answer_page(private)
    with pytest.raises(ValueError, match="one report of a person"):
        answer_page(channel_of(small_table(), "srr"), wave="2027")


def test_an_answer_of_which_nothing_is_promised_is_marked():
    private = channel_of(small_table(), "association", 1.0, "acquaintance")
    mark = read_texts(private).words["shown"]
    assert Page(answer_page(private)).texts.count(mark) == len(private.table.useful)
    truth = known_channel(table_of_values({"vote": ["a", "b"]}, ["vote"]), np.eye(2))
    assert Page(answer_page(truth)).texts.count(mark) == 1


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_program_of_the_page_draws_as_often_as_the_matrix_says(tmp_path, odd):
    """The part of it that draws, as it stands in the page: the first of the modules."""
    script = Page(answer_page(odd)).raw["script"]
    modules = re.split(r"^const (?=\w+ = \(\(\) => \{$)", script, flags=re.MULTILINE)
    (tmp_path / "drawing.mjs").write_text(
        f"const {modules[1]}"
        "import { readFileSync } from 'node:fs';\n"
        "const { bytes, records, draws } = JSON.parse(readFileSync(0, 'utf8'));\n"
        "const draw = await reporter(Buffer.from(bytes, 'base64'));\n"
        "console.log(JSON.stringify(records.map((record) => {\n"
        "  const found = {};\n"
        "  for (let i = 0; i < draws; i++) { const y = draw(record); found[y] = (found[y] ?? 0) + 1; }\n"
        "  return found;\n"
        "})));\n",
        encoding="utf-8",
    )
    records = [dict(zip(odd.asked, label, strict=True)) for label in odd.asked_labels]
    asked = {"bytes": Page(answer_page(odd)).raw["channel"], "records": records, "draws": 20_000}
    done = subprocess.run(
        [NODE, "drawing.mjs"],
        cwd=tmp_path,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    for row, drawn in zip(odd.channel.matrix, json.loads(done.stdout), strict=True):
        expected = 20_000 * row
        counts = np.array([drawn.get(report, 0) for report in odd.outputs])
        statistic = float(((counts - expected) ** 2 / expected).sum())
        assert (statistic - len(row) + 1) / np.sqrt(2.0 * (len(row) - 1)) < 5.0


def test_the_library_of_qr_codes_comes_with_its_licence():
    folder = files("ldpsurvey").joinpath("answer", "lean-qr")
    assert folder.joinpath("LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert folder.joinpath("LICENSE").read_text(encoding="utf-8") in answer_page(
        channel_of(small_table(), "srr")
    )


def test_a_channel_that_was_read_gives_the_page_of_the_one_that_was_written(tmp_path):
    private = channel_of(small_table(), "srr")
    private.write(tmp_path / "channel.json")
    assert answer_page(read_channel(tmp_path / "channel.json")) == answer_page(private)
