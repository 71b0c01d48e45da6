"""The pages as a site (docs/site/conf.py): built strictly, complete, without broken links or a network."""

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import ldpfrontier

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """What a page leads to or loads, the places it has, and its text outside of code and formulas."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.loaded, self.places = path, [], [], {""}
        self.scrolled, self.headings, self.sides = [], [], []
        self.text, self.formulas, self.displayed, self._inside = "", 0, 0, 0
        self.code, self._in_code = "", False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list) -> None:
        given = dict(attributes)
        self.places.add(given.get("id", ""))
        self.formulas += tag == "math"
        self.displayed += tag == "math" and given.get("display") == "block"
        classes = (given.get("class") or "").split()
        if tag == "pre" or (tag == "div" and {"table-wrapper", "math"} & {*classes}):
            self.scrolled.append(given.get("tabindex"))
        self._in_code |= tag == "pre"
        if tag == "aside":
            self.sides.append(given.get("aria-label"))
        if given.get("role") == "heading":
            self.headings.append(given.get("aria-level"))
        self._inside += tag in ("code", "pre", "math", "script", "style")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loaded = given.get("src") or (given.get("href") if tag == "link" else None)
        self.loaded += [loaded] if loaded else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_code, self.code = False, self.code + "\n"
        self._inside -= tag in ("code", "pre", "math", "script", "style")

    def handle_data(self, data: str) -> None:
        self.text += "" if self._inside else data
        self.code += data if self._in_code else ""


def broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what leads to no file or no place of the site, or is loaded from elsewhere."""
    for path, page in pages.items():
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    yield f"{path.name} loads {address}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{path.name}: no file {address}"
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{path.name}: no place {address}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site").resolve()
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs/site",
        ".",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path: Page(path) for path in folder.rglob("*.html")}


@pytest.mark.long
def test_nothing_is_broken_or_loaded_from_elsewhere(site):
    assert list(broken(site)) == []


@pytest.mark.long
def test_every_page_of_the_repository_is_on_the_site(site):
    kept = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    kept += [ROOT / f"{folder}/README.md" for folder in ("benchmarks", "config", "results")]
    made = {str(path).removesuffix(".html") for path in site}
    for page in kept:
        name = str(page.relative_to(ROOT).with_suffix(""))
        assert any(path.endswith(f"/{name}") for path in made), name


@pytest.mark.long
def test_formulas_are_set(site):
    (beyond,) = (page for path, page in site.items() if path.name == "theorems.html")
    assert beyond.formulas > 100
    for path, page in site.items():
        assert "$" not in page.text, path.name
        assert "highlight-math" not in path.read_text(encoding="utf-8"), path.name
    sources = (ROOT / "docs/beyond/theorems.md").read_text(encoding="utf-8")
    assert beyond.displayed == sources.count("```math\n") > 10


@pytest.mark.long
def test_every_public_name_has_its_docstring_and_is_found_by_the_search(site):
    (api,) = (page for path, page in site.items() if path.name == "api.html")
    assert {f"ldpfrontier.{name}" for name in ldpfrontier.__all__ if name != "__version__"} <= api.places
    assert "Distributions of X under the two hypotheses" in " ".join(api.text.split())
    index = (api.path.parent.parent / "searchindex.js").read_text(encoding="utf-8")
    assert "optimal_robust" in index
    assert "uncertainti" in index


def test_broken_links_are_seen(tmp_path):
    text = '<a href="b.html#here">x</a><a href="b.html#gone">x</a><a href="c.html">x</a><img src="https://x.y/z">'
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="here"></p>', encoding="utf-8")
    pages = {path: Page(path) for path in sorted(tmp_path.resolve().glob("*.html"))}
    assert list(broken(pages)) == [
        "a.html: no place b.html#gone",
        "a.html: no file c.html",
        "a.html loads https://x.y/z",
    ]
