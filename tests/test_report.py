"""The reproduction report: every claim is on it, every link resolves, and it needs no network."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from ldpfrontier import claims, report
from ldpfrontier.tables import to_csv, write_table
from test_claims import table

ROOT = Path(__file__).parents[1]
CHROMIUM = Path("/usr/bin/chromium")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><circle cx="5" cy="5" r="4"/></svg>'


class Page(HTMLParser):
    """Ids, links and sources of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.tags = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if "href" in found:
            self.links.append((tag, found["href"]))
        if "src" in found:
            self.sources.append(found["src"])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Make a page from one small table and one figure: most claims are not checkable on it."""
    results = tmp_path_factory.mktemp("report") / "results"
    rows = [
        {"mechanism": "optimal", "status": "optimal", "value": 0.9, "upper_bound": 1.0, "gap": 0.1},
        {"mechanism": "rr", "value": 0.5},
    ]
    found = table(*rows, metric="kl", privacy=1.0 + 1e-12, privacy_limit=1.0)
    metadata = {"code_version": "0.1.0", "packages": {"numpy": "2.0"}}
    write_table(found, results / "tables/kairouz2016/fig3.parquet", metadata)
    to_csv(found, results / "tables/kairouz2016/fig3.csv")
    (results / "figures/kairouz2016").mkdir(parents=True)
    (results / "figures/kairouz2016/fig3.svg").write_text(SVG, encoding="utf-8")
    (results / "adult.json").write_text(json.dumps({"used": "bundled"}), encoding="utf-8")
    logs = results.parent / "logs"
    for name, seconds in (("kairouz2016/fig3.tsv", 1.5), ("kairouz2016/kl/6/0.tsv", 4.0)):
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_text(f"s\th:m:s\n{seconds}\t0:00:01\n", encoding="utf-8")
    ledger = claims.ledger(
        claims.read_claims(ROOT / "resources/claims.yaml"), claims.ResultTables(results / "tables")
    )
    write_table(ledger, results / "claims.parquet", {}, claims.LEDGER)
    path = results / "report/index.html"
    report.write(
        path,
        finished=[str(p) for kind in ("tables", "figures") for p in sorted((results / kind).glob("*/*"))],
        ledger=ledger,
        errata=claims.read_errata(ROOT / "resources/errata.yaml"),
        configuration={"seed": 7, "kairouz2016": {"sizes": [3, 6], "epsilon": {"values": None}}},
        captions=sorted((ROOT / "workflow/report").glob("*.rst")),
        provenance=results / "adult.json",
        logs=logs,
    )
    return path


def test_every_claim_and_erratum_is_there(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    for claim in claims.read_claims(ROOT / "resources/claims.yaml"):
        assert f"claim-{claim.id}" in found.ids
    for erratum in claims.read_errata(ROOT / "resources/errata.yaml"):
        assert erratum.test in text
    assert len(found.ids) == len(set(found.ids))


def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert found.sources
    assert all(source.startswith("data:image/") for source in found.sources)
    assert [href for tag, href in found.links if tag == "link"] == ["data:,"]
    assert not re.search(r"""(?:href|src)\s*=\s*["']?(?:https?:)?//|@import|url\(|fetch\(""", text)


def test_every_link_resolves(page):
    found = Page(page.read_text(encoding="utf-8"))
    links = [href for tag, href in found.links if tag == "a"]
    assert {"#claim-K-F3a", "#figure-kairouz2016-fig3", "#table-kairouz2016-fig3"} <= set(links)
    for href in links:
        if href.startswith("#"):
            assert href[1:] in found.ids, href
        else:
            assert (page.parent / unquote(href)).is_file(), href


def test_what_the_page_says(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r'<tr id="table-kairouz2016-fig3">.*?1\.0e-01.*?\+1\.0e-12', text, re.S)
    assert "kairouz2016.epsilon.values</td><td>none" in text
    assert "&#34;used&#34;: &#34;bundled&#34;" in text
    assert re.search(r"kairouz2016: kl</td><td class=\"n\">1</td><td class=\"n\">4\.0", text)
    assert ">2.0</td>" in text


def test_what_a_table_says_is_text(page, tmp_path):
    ledger = pd.read_parquet(page.parents[1] / "claims.parquet")
    ledger.loc[0, "measured"] = "<script>alert(1)</script>"
    report.write(
        tmp_path / "index.html",
        finished=[],
        ledger=ledger,
        errata=[],
        configuration={},
        captions=[],
        provenance=page.parents[1] / "adult.json",
        logs=tmp_path,
    )
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "There are no figures." in text


def test_summary(page):
    lines = report.summary(page.parents[1]).splitlines()
    assert lines[0].startswith("1 figures and 1 tables in ")
    assert re.fullmatch(r"57 claims: .*\d+ not checkable\.", lines[1])
    assert lines[2].endswith("report/index.html")


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"Chromium is not installed at {CHROMIUM}.")
@pytest.mark.parametrize("width", [390, 1200])
def test_in_a_browser(page, width, tmp_path):
    # A copy that filters once, and notes what it sees where --dump-dom shows it.
    probe = """
    const seen = [];
    addEventListener("error", (event) => seen.push(event.message));
    addEventListener("load", () => {
      const select = document.getElementById("by-paper");
      select.value = "liao2017"; select.dispatchEvent(new Event("change"));
      const wide = document.documentElement.scrollWidth > innerWidth;
      const broken = [...document.images].filter((image) => !image.naturalWidth).length;
      const loaded = performance.getEntriesByType("resource").filter((x) => x.name.startsWith("http")).length;
      const shown = document.getElementById("shown").textContent;
      document.body.dataset.seen = [shown, wide, broken, loaded, ...seen].join("|");
    });"""
    text = page.read_text(encoding="utf-8").replace("<head>", f"<head><script>{probe}</script>")
    shutil.copytree(page.parents[1], tmp_path / "results")
    copy = tmp_path / "results/report/index.html"
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--virtual-time-budget=3000",
            "--dump-dom",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    seen = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert seen, done.stderr
    assert seen[1] == "8 of 57 claims|false|0|0"
    assert "CONSOLE" not in done.stderr


def test_the_table_of_the_readme_is_replaced(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- claims -->\nold\n<!-- /claims -->\nb\n")
    entries = claims.read_claims(ROOT / "resources/claims.yaml")
    ledger = claims.ledger(entries, {})
    report.update_readme(readme, ledger)
    text = readme.read_text()
    assert "old" not in text
    assert text.startswith("a\n<!-- claims -->\n| paper |")
    assert text.endswith("<!-- /claims -->\nb\n")
    assert f"| all | 0 | 0 | 0 | {len(entries)} |" in text
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="has no lines"):
        report.update_readme(readme, ledger)
