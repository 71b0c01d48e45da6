"""The reproduction report: every claim is on it, every link resolves, and it needs no network."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas as pd
import pytest

from ldpfrontier.base.atomic import write_text
from ldpfrontier.model.optimum import Method
from reproduction.ledger import claims
from reproduction.ledger.result_tables import decided as decided_by
from reproduction.ledger.result_tables import read_ledger
from reproduction.planning.paper import papers
from reproduction.report import page as report
from reproduction.results.certificates import PROVED, VERIFIED
from reproduction.results.files import write_table
from reproduction.results.tables import OPTIMAL, RESULTS, SKIPPED, Result, TableError

PAPERS = list(papers().values())
#: Without the project's own results.
PUBLISHED = [paper for paper in PAPERS if paper.authors]
CLAIMS = [claim for paper in PAPERS for claim in claims.claims_of(paper)]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><circle cx="5" cy="5" r="4"/></svg>'


class Page(HTMLParser):
    """Ids, links and sources of a page, and its formulas as LaTeX."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.tags, self.formulas = [], [], [], [], []
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
        if tag == "math":
            self.formulas.append(found.get("alttext"))


def plain(text):
    """Return the text of a page as it was before formulas were set."""
    text = re.sub(r'<math alttext="([^"]*)".*?</math>', r"$\1$", str(text))
    return html.unescape(re.sub(r"<wbr>(<span[^>]*>)?<math .*?</math>|</?span[^>]*>", "", text))


def named(text):
    """Return a text as the page has it: with authors instead of keys."""
    for paper in PUBLISHED:
        text = text.replace(paper.key, paper.short_name)
    return text


def row(mechanism, value, **more):
    return Result("kairouz2016", "fig3", "000", mechanism, "kl", value, size="6", unit="nats", **more)


def decided(tables):
    return decided_by(tables, {paper.key: paper for paper in PAPERS})


def finished(results):
    return [str(path) for kind in ("tables", "figures") for path in sorted((results / kind).glob("*/*"))]


def written(results, **changes):
    """Write the report of a folder of results, and return its path."""
    path = results / "report/index.html"
    options = {
        "papers": PAPERS,
        "finished": finished(results),
        "ledger": decided(results / "tables"),
        "certificates": [],
        "configuration": {},
        "provenance": [],
    }
    report.write(path, **options | changes)
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Make a page from one small table and one figure: most claims are not checkable on it."""
    results = tmp_path_factory.mktemp("report") / "results"
    rows = [
        row(
            "optimal",
            0.9,
            direction="max",
            bound=1.0,
            status=OPTIMAL,
            epsilon=1.0,
            privacy=1.0 + 1e-12,
            method=Method("a class", "an engine", "a size", ("another, as it failed",)),
        ),
        row("rr", 0.5, epsilon=1.0, privacy=7.0, privacy_limit=8.0),
        row("geometric", float("nan"), status=SKIPPED, note="Too large."),
    ]
    metadata = {"code_version": "0.1.0", "packages": {"numpy": "2.0"}}
    found = RESULTS.table(rows)
    path = results / "tables/kairouz2016/fig3.parquet"
    write_table(found, path, metadata, csv_path=path.with_suffix(".csv"))
    write_text(SVG, results / "figures/kairouz2016/fig3.svg")
    write_text("%PDF", results / "figures/kairouz2016/fig3.pdf")
    write_text(json.dumps({"used": "bundled"}), results / "data/adult/provenance.json")
    write_text("file\n", results / "certificates/kairouz2016.csv")
    (results / "certificates/kairouz2016").mkdir()
    return written(
        results,
        certificates=[checked("kairouz2016", (1.0, 1e-7), (2.0, 0.25), (3.0, 0.0))],
        configuration={"seed": 7, "kairouz2016": {"sizes": [3, 6], "epsilon": {"values": None}}},
        provenance=[results / "data/adult/provenance.json"],
    )


def checked(paper, *found):
    """Return what the checker says of optima of these values, whose bounds proved have these excesses."""
    return VERIFIED.table(
        {
            "paper": paper, "experiment": "kl", "size": "6", "instance": "000", "mechanism": "optimal",
            "epsilon": value, "outcome": PROVED, "claims": "ldp bound", "value": value, "bound": value,
            "proved_value": value, "proved_bound": value * (1.0 + excess), "excess": excess, "bytes": 9,
            "file": f"kl/6/000/optimal-{value:g}.json", "sentence": "proved. Something.",
        }
        for value, excess in found
    )  # fmt: skip


def test_every_claim_and_erratum_is_there(page):
    text = page.read_text(encoding="utf-8")
    found, said = Page(text), plain(text)
    for claim in CLAIMS:
        assert f"claim-{claim.id}" in found.ids
        assert named(claim.rule) in said
        # In the overview, and below its figure.
        assert said.count(named(claim.statement)) >= 2
    for paper in PAPERS:
        for erratum in claims.errata_of(paper):
            assert erratum.test in text
    assert len(found.ids) == len(set(found.ids))


def test_claims_are_below_their_figure(page):
    text = page.read_text(encoding="utf-8")
    (below,) = re.findall(r'(?s)<figure [^>]*id="figure-kairouz2016-fig3".*?</section>', text)
    own = {claim.id for claim in CLAIMS if claim.paper == "kairouz2016" and claim.figure == "fig3"}
    assert own
    assert set(re.findall(r'id="claim-(.*?)"', below)) == own
    (rest,) = re.findall(r"(?s)Claims without a figure.*?</section>", text)
    assert 'id="claim-K-T2"' in rest


def test_formulas_are_formulas(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert {"e^ε", "k = 6", r"\frac{e^ε - 1}{e^ε + 1} \,\mathrm{TV}(P_0, P_1)"} <= set(found.formulas)
    for formula in re.findall(r"<math .*?</math>", text):
        ElementTree.fromstring(formula)
    # No dollar sign is left over, except in the script.
    assert "$" not in re.sub(r"<script>.*?</script>|<[^>]*>", "", text, flags=re.S)


def test_a_text_keeps_what_is_no_formula():
    assert report.typeset('<b> & "x"') == "&lt;b&gt; &amp; &#34;x&#34;"
    text = "At $0 < ε$, every $ε$-private one has $e^ε$."
    assert plain(report.typeset(text)) == text
    assert 'alttext="0 &lt; ε"' in report.typeset(text)
    assert report.typeset("an *outsider*, ε* and W* of *two words*") == (
        "an <em>outsider</em>, ε* and W* of <em>two words</em>"
    )
    # Punctuation stays on the line of its formula.
    assert re.search(r'<span class="nb"><math .*</math>\.</span>$', report.typeset(text))
    # A long formula may be broken between its terms.
    long = "$I = H - (k - 1) ε e^{-ε} + O(e^{-2ε})$"
    assert str(report.typeset(long)).count("<wbr>") == 1
    assert plain(report.typeset(long)) == long
    with pytest.raises(report.ReportError, match=r"The formula \$x_1_2\$ is no LaTeX"):
        report.typeset("At $x_1_2$.")


def test_the_first_sentences_count_the_verdicts(tmp_path):
    """Every number of them is one of the ledger's, per paper in the order of the page."""
    ledger = decided(tmp_path)
    assert set(ledger["verdict"]) == {claims.NOT_COMPUTED}
    for name, verdict in (
        ("K-T2", claims.REPRODUCED),
        ("L-E1", claims.REPRODUCED),
        ("K-F4", claims.ANOTHER_READING),
        ("K-C10", claims.NOT_REPRODUCED),
    ):
        ledger.loc[ledger["id"] == name, ["verdict", "explanation"]] = [verdict, "A reason."]
    text = written(tmp_path / "results", ledger=ledger).read_text(encoding="utf-8")
    lead = " ".join(
        re.sub("<[^>]*>", "", text.partition('<div class="lead">')[2].partition("</div>")[0]).split()
    )
    n = sum(claim.paper in {paper.key for paper in PUBLISHED} for claim in CLAIMS)
    assert (
        f"Of {n} claims of the papers, 3 hold: 2 as printed and 1 if an ambiguous or misprinted passage "
        f"is read differently. 1 are not reproduced; {n - 4} are not computed yet."
    ) in lead
    own = {paper.key: sum(claim.paper == paper.key for claim in CLAIMS) for paper in PAPERS}
    ones = [
        f"{n} of {own[p.key]}{' hold' * (p is PAPERS[0])} in {p.short_name}"
        for p, n in zip(PUBLISHED, (2, 0, 0, 1), strict=True)
    ]
    assert f"By paper, {ones[0]}, {ones[1]}, {ones[2]} and {ones[3]}." in lead
    for paper in PAPERS:
        if paper.is_beyond:
            said = f"Of {own[paper.key]} claims in {paper.short_name}, none is computed yet."
            assert said in lead
    assert "Not computed yet: Kairouz et al. 2016 (snakemake kairouz2016), " in lead
    assert "(snakemake open_questions), certificates of optima (snakemake certificates)." in lead
    # Of a claim that is not reproduced there is a card, with its explanation where the tables give no number.
    cards = plain(text.partition('id="findings"')[2].partition("</ul>")[0])
    assert "A reason." in cards
    assert "Why it matters" in cards


def test_highlights_have_their_numbers_from_the_tables(page, tmp_path):
    """One whose tables are not there is left out; here all tables of one are."""
    text = page.read_text(encoding="utf-8")
    own = {"stated": "RR has more.", "matters": "It does."}
    paper = replace(
        papers()["kairouz2016"],
        highlights=[
            own
            | {
                "found": "RR has {rr}.",
                "numbers": {"rr": {"table": "fig3", "column": "value", "form": ".0%"}},
            },
            own | {"found": "Nothing {x}.", "numbers": {"x": {"table": "fig4", "column": "value"}}},
        ],
    )
    rows = RESULTS.table([row("rr", 0.25)])
    write_table(rows, tmp_path / "results/tables/kairouz2016/fig3.parquet", {})
    text = written(tmp_path / "results", papers=[paper]).read_text(encoding="utf-8")
    assert "RR has 25%." in text
    assert "Nothing" not in text.partition('id="claims"')[0]


def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert found.sources
    assert all(source.startswith("data:image/") for source in found.sources)
    assert [href for tag, href in found.links if tag == "link"] == ["data:,"]
    # What a reader may follow, and the page itself never does, are links to the papers.
    for paper in PAPERS:
        text = text.replace(f'<a href="{paper.url}">', "").replace(f'<a href="{paper.link}">', "")
    text = re.sub(r'src="data:[^"]*"', "", text)
    assert not re.search(r"""(?:href|src)\s*=\s*["']?(?:https?:)?//|@import|url\(|fetch\(""", text)


def test_every_link_resolves(page):
    found = Page(page.read_text(encoding="utf-8"))
    links = [href for tag, href in found.links if tag == "a"]
    assert {"#claim-K-F3a", "#table-kairouz2016-fig3"} <= set(links)
    outside = {link for paper in PAPERS for link in (paper.url, paper.link)}
    for href in links:
        if "#" in href:
            query, _, target = href.partition("#")
            assert target in found.ids, href
            assert not query or query[0] == "?", href
        elif href not in outside:
            path = page.parent / unquote(href)
            assert path.is_dir() if href.endswith("/") else path.is_file(), href


def test_what_a_table_says_is_text(tmp_path):
    ledger = decided(tmp_path)
    ledger.loc[0, "measured"] = "<script>alert(1)</script>"
    text = written(tmp_path / "results", ledger=ledger).read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert(1)" not in text
    assert "<figure" not in text


def test_a_damaged_table_leaves_the_old_page(tmp_path):
    path = written(tmp_path / "results")
    before = path.read_bytes()
    write_text("PAR1", tmp_path / "results/tables/kairouz2016/fig3.parquet")
    with pytest.raises(TableError, match=r"fig3\.parquet is not a complete Parquet file"):
        written(tmp_path / "results", ledger=decided(tmp_path / "none"))
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == ["index.html"]


def test_files_beside_the_tables_say_the_same(tmp_path):
    """A CSV file that was edited is not linked, and neither are verdicts that the tables do not give."""
    table, known = tmp_path / "tables/kairouz2016/fig3.parquet", {paper.key: paper for paper in PAPERS}
    write_table(RESULTS.table([row("rr", 0.5)]), table, {}, csv_path=table.with_suffix(".csv"))
    ledger = decided(tmp_path / "tables")
    write_table(ledger, tmp_path / "claims.parquet", {}, claims.LEDGER)
    found = read_ledger(tmp_path / "claims.parquet", tmp_path / "tables", known)
    pd.testing.assert_frame_equal(found, ledger)
    better = ledger.assign(verdict=claims.REPRODUCED)
    write_table(better, tmp_path / "claims.parquet", {}, claims.LEDGER)
    with pytest.raises(TableError, match=r"claims\.parquet is not what the tables in .* decide"):
        read_ledger(tmp_path / "claims.parquet", tmp_path / "tables", known)
    edited = table.with_suffix(".csv").read_text(encoding="utf-8").replace("0.5", "0.6")
    table.with_suffix(".csv").write_text(edited, encoding="utf-8")
    with pytest.raises(TableError, match=r"fig3\.csv does not have the values of .*fig3\.parquet"):
        written(tmp_path, ledger=ledger)


def test_a_large_svg_gives_way_to_a_smaller_png(tmp_path):
    folder = tmp_path / "results/figures/kairouz2016"
    write_text(SVG + " " * 400_000, folder / "fig3.svg")
    (folder / "fig3.png").write_bytes(b"\x89PNG")
    assert Page(written(tmp_path / "results").read_text()).sources == ["data:image/png;base64,iVBORw=="]
    (folder / "fig3.png").write_bytes(b"\x89PNG" + bytes(500_000))
    (source,) = Page(written(tmp_path / "results").read_text()).sources
    assert unquote(source).startswith("data:image/svg+xml,<svg ")


def test_versions_that_differ_are_all_listed(tmp_path):
    rows = RESULTS.table([row("rr", 0.5)])
    for name, version in (("fig3", "2.0"), ("fig6", "2.1")):
        metadata = {"code_version": ["0.1.0", "0.2.0"], "packages": [{"numpy": version}, {"numpy": "1.9"}]}
        write_table(rows, tmp_path / f"results/tables/kairouz2016/{name}.parquet", metadata)
    text = written(tmp_path / "results").read_text(encoding="utf-8")
    assert "<td>numpy</td><td>1.9, 2.0, 2.1</td>" in text
    assert "<td>ldpfrontier</td><td>0.1.0, 0.2.0</td>" in text
