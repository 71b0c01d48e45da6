"""The reproduction report: every claim is on it, every link resolves, and it needs no network."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from ldpfrontier import claims, report
from ldpfrontier.atomic import write_text
from ldpfrontier.files import write_table, write_texts
from ldpfrontier.job import load
from ldpfrontier.papers import papers
from ldpfrontier.tables import OPTIMAL, RESULTS, SKIPPED, TableError, result

PAPERS = list(papers().values())
CLAIMS = [claim for paper in PAPERS for claim in claims.claims_of(paper)]
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


def row(mechanism, value, **more):
    return result("kairouz2016", "fig3", "000", mechanism, "kl", value, size="6", unit="nats", **more)


def decided(tables):
    schemas = {
        paper.key: {name: load(table.schema_name) for name, table in paper.tables.items()} for paper in PAPERS
    }
    found = {key: claims.ResultTables(tables / key, schemas[key]) for key in schemas}
    return claims.ledger((claim, found[claim.paper]) for claim in CLAIMS)


def finished(results):
    return [str(path) for kind in ("tables", "figures") for path in sorted((results / kind).glob("*/*"))]


def written(results, **changes):
    """Write the report of a folder of results, and return its path."""
    path = results / "report/index.html"
    options = {
        "papers": PAPERS,
        "finished": finished(results),
        "ledger": decided(results / "tables"),
        "configuration": {},
        "provenance": [],
        "logs": results.parent / "logs",
    }
    report.write(path, **options | changes)
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Make a page from one small table and one figure: most claims are not checkable on it."""
    results = tmp_path_factory.mktemp("report") / "results"
    rows = [
        row("optimal", 0.9, direction="max", bound=1.0, status=OPTIMAL, epsilon=1.0, privacy=1.0 + 1e-12),
        row("rr", 0.5, epsilon=1.0, privacy=7.0, privacy_limit=8.0),
        row("geometric", float("nan"), status=SKIPPED, note="Too large."),
    ]
    metadata = {"code_version": "0.1.0", "packages": {"numpy": "2.0"}}
    found = write_table(RESULTS.table(rows), results / "tables/kairouz2016/fig3.parquet", metadata)
    write_texts(found, results / "tables/kairouz2016/fig3.csv")
    write_text(SVG, results / "figures/kairouz2016/fig3.svg")
    write_text("%PDF", results / "figures/kairouz2016/fig3.pdf")
    write_text(json.dumps({"used": "bundled"}), results / "data/adult/provenance.json")
    logs = results.parent / "logs"
    for name, seconds in (
        ("kairouz2016/fig3.tsv", 1.5),
        ("kairouz2016/kl/6/0.tsv", 4.0),
        ("data/adult.tsv", 2.0),
    ):
        write_text(f"s\th:m:s\n{seconds}\t0:00:01\n", logs / name)
    write_text("", logs / "kairouz2016/kl/6/1.tsv")
    return written(
        results,
        configuration={"seed": 7, "kairouz2016": {"sizes": [3, 6], "epsilon": {"values": None}}},
        provenance=[results / "data/adult/provenance.json"],
    )


def test_every_claim_and_erratum_is_there(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    for claim in CLAIMS:
        assert f"claim-{claim.id}" in found.ids
        assert html.escape(claim.rule) in html.escape(html.unescape(text))
    for paper in PAPERS:
        for erratum in claims.errata_of(paper):
            assert erratum.test in text
    assert len(found.ids) == len(set(found.ids))


def test_every_paper_is_there_with_its_link(page):
    text = html.unescape(page.read_text(encoding="utf-8"))
    found = Page(page.read_text(encoding="utf-8"))
    for paper in PAPERS:
        assert paper.key in found.ids
        assert f"{paper.authors}: {paper.title}" in text
        assert ("a", paper.url) in found.links


def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert found.sources
    assert all(source.startswith("data:image/") for source in found.sources)
    assert [href for tag, href in found.links if tag == "link"] == ["data:,"]
    # What a reader may follow, and the page itself never does, are links to the papers.
    for paper in PAPERS:
        text = text.replace(f'<a href="{paper.url}">', "")
    assert not re.search(r"""(?:href|src)\s*=\s*["']?(?:https?:)?//|@import|url\(|fetch\(""", text)


def test_every_link_resolves(page):
    found = Page(page.read_text(encoding="utf-8"))
    links = [href for tag, href in found.links if tag == "a"]
    assert {"#claim-K-F3a", "#figure-kairouz2016-fig3", "#table-kairouz2016-fig3"} <= set(links)
    for href in links:
        if href.startswith("#"):
            assert href[1:] in found.ids, href
        elif href not in {paper.url for paper in PAPERS}:
            assert (page.parent / unquote(href)).is_file(), href


def test_what_the_page_says(page):
    text = page.read_text(encoding="utf-8")
    # Rows, certified, skipped, worst gap, worst slack: what is measured has none.
    (line,) = re.findall(r'(?s)<tr id="table-kairouz2016-fig3">.*?</tr>', text)
    assert re.findall(r'<td class="n">(.*?)</td>', line) == ["3", "1", "1", "1.0e-01", "+1.0e-12"]
    assert 'href="../tables/kairouz2016/fig3.csv"' in line
    assert "kairouz2016.epsilon.values</td><td>none" in text
    assert "kairouz2016.sizes</td><td>3, 6" in text
    assert "Counts of adult" in text
    assert "&#34;used&#34;: &#34;bundled&#34;" in text
    assert ">2.0</td>" in text
    assert PAPERS[0].figures["fig3"].caption.split(":")[0] in html.unescape(text)


def test_run_times_are_summed_by_table(page):
    text = page.read_text(encoding="utf-8")
    numbers = r'(.*?)</td><td class="n">(\d+)</td><td class="n">([\d.]+)</td><td class="n">([\d.]*)</td>'
    times = re.findall(rf"<tr><td>{numbers}</tr>", text)
    assert ("kairouz2016: kl", "1", "4.0", "4.0") in times
    assert ("kairouz2016", "1", "1.5", "1.5") in times
    assert ("data", "1", "2.0", "2.0") in times
    assert re.search(r'<tr><td>all</td><td class="n">3</td><td class="n">7\.5</td>', text)


def test_what_a_table_says_is_text(tmp_path):
    ledger = decided(tmp_path)
    ledger.loc[0, "measured"] = "<script>alert(1)</script>"
    text = written(tmp_path / "results", ledger=ledger).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert(1)" not in text
    assert "There are no figures." in text


def test_png_stands_in_where_there_is_no_svg(tmp_path):
    path = tmp_path / "results/figures/kairouz2016/fig3.png"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x89PNG")
    found = Page(written(tmp_path / "results").read_text(encoding="utf-8"))
    assert found.sources == ["data:image/png;base64,iVBORw=="]
    assert ("a", "../figures/kairouz2016/fig3.png") in found.links


def test_a_table_of_texts_has_files_and_no_rows(tmp_path):
    write_text("| a |\n", tmp_path / "results/tables/liao2017/distances.md")
    text = written(tmp_path / "results").read_text(encoding="utf-8")
    assert 'href="../tables/liao2017/distances.md"' in text
    (line,) = re.findall(r'(?s)<tr id="table-liao2017-distances">.*?</tr>', text)
    assert re.findall(r'<td class="n">(.*?)</td>', line) == 5 * [""]


def test_versions_that_differ_are_all_listed(tmp_path):
    rows = RESULTS.table([row("rr", 0.5)])
    for name, version in (("fig3", "2.0"), ("fig6", "2.1")):
        metadata = {"code_version": ["0.1.0", "0.2.0"], "packages": [{"numpy": version}, {"numpy": "1.9"}]}
        write_table(rows, tmp_path / f"results/tables/kairouz2016/{name}.parquet", metadata)
    text = written(tmp_path / "results").read_text(encoding="utf-8")
    assert "<td>numpy</td><td>1.9, 2.0, 2.1</td>" in text
    assert "<td>ldpfrontier</td><td>0.1.0, 0.2.0</td>" in text


def test_a_damaged_table_leaves_the_old_page(tmp_path):
    path = written(tmp_path / "results")
    before = path.read_bytes()
    write_text("PAR1", tmp_path / "results/tables/kairouz2016/fig3.parquet")
    with pytest.raises(TableError, match=r"fig3\.parquet is not a complete Parquet file"):
        written(tmp_path / "results", ledger=decided(tmp_path / "none"))
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["index.html"]


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
    own = [claim for claim in CLAIMS if claim.paper == "liao2017"]
    assert seen[1] == f"{len(own)} of {len(CLAIMS)} claims|false|0|0"
    assert "CONSOLE" not in done.stderr


def test_the_table_of_the_readme_is_replaced(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- claims -->\nold\n<!-- /claims -->\nb\n")
    ledger = decided(tmp_path)
    report.update_readme(readme, ledger)
    text = readme.read_text()
    assert "old" not in text
    assert text.startswith("a\n<!-- claims -->\n| paper |")
    assert text.endswith("<!-- /claims -->\nb\n")
    assert f"| all | 0 | 0 | 0 | {len(CLAIMS)} |" in text
    report.update_readme(readme, ledger)
    assert readme.read_text() == text
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="has no lines <!-- claims --> and <!-- /claims -->"):
        report.update_readme(readme, ledger)
