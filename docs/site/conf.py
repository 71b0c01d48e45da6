"""The pages as a site, read by Sphinx: `sphinx-build -W -c docs/site . build/site` in the top folder.

The sources are the Markdown pages of the repository, as a forge shows them. What a forge does for them is
done here: formulas become MathML, links to files of the repository lead to copies of these, and diagrams
become tables of their arrows. ``docs/api.md`` gets the complete docstrings, and ``docs/survey/form.md`` the
page that its commands make. Nothing is loaded from a network, neither when the site is built nor when it is
read.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

import ldpfrontier  # noqa: E402
from ldpsurvey.command.cli import main  # noqa: E402

#: The side bar: the caption of each group of pages, and the pages, some with a shorter title.
GROUPS = {
    "Start here": ["docs/glossary"],
    "The reproduction": [
        "docs/reproduction/README",
        "Kairouz et al. 2016 <docs/reproduction/kairouz2016>",
        "Liao et al. 2017 <docs/reproduction/liao2017>",
        "Kalantari et al. 2018 <docs/reproduction/kalantari2018>",
        "Lopuhaä and Goseling 2024 <docs/reproduction/lopuhaa2024>",
        "docs/reproduction/artifact",
        "docs/reproduction/workflow",
        "config/README",
        "results/README",
        "docs/reproduction/extending",
        "docs/reproduction/cluster",
    ],
    "Beyond the papers": [
        "docs/open-questions",
        "docs/beyond/README",
        "docs/beyond/numbers",
        "docs/beyond/theorems",
        "docs/beyond/tried",
    ],
    "Own data": [
        "docs/survey/README",
        "docs/survey/own-data",
        "docs/survey/own-data-reference",
        "docs/survey/form",
        "docs/survey/collecting",
        "docs/survey/deviating",
        "docs/survey/questionnaires",
        "docs/survey/panel",
        "docs/survey/python",
        "docs/survey/r",
        "docs/survey/own-promise",
    ],
    "The library": [
        "docs/api",
        "docs/certificates",
        "docs/performance",
        "benchmarks/README",
        "src/ldpfrontier/engines/README",
    ],
    "The project": ["docs/related-work", "docs/platforms", "SECURITY", "CONTRIBUTING", "CHANGELOG"],
}

project = "ldp-frontier"
version = release = ldpfrontier.__version__
html_show_copyright = html_show_sphinx = False
root_doc = "README"
pages = ["README", *(re.sub(r".*<|>", "", page) for group in GROUPS.values() for page in group)]
include_patterns = [f"{page}.md" for page in pages]
exclude_patterns = [".*", "build", "logs", "results/[!R]*", "smoke", "tests", "workflow"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
# Blocks of code of the pages have languages that Pygments does not know; and in the types of arguments,
# "shape" is no reference to one of the attributes of that name.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]

default_role = "py:obj"
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
toc_object_entries = False
python_maximum_signature_line_length = 90
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"ldp-frontier {release}"
html_math_renderer = "mathml"
html_extra_path = ["index.html"]
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False

#: Where a page tells to open the page that it has made, and what the site has there.
OPEN, FORM = "Open `survey.html`.", "survey.html"

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")

#: What the theme leaves to be said for those who do not see the page or use no mouse: the level of a heading,
#: the names of the side bars, that blocks which are scrolled can be reached with the keyboard, and that
#: a cell without words is no heading. Nothing that is found is in what takes its place.
ACCESSIBLE = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<th class="head"><p></p></th>': "<td></td>",
    '\n<div id="search-results">': '\n<h1>Search</h1><div id="search-results">',
}

#: The parameters of a signature on lines of their own, which are a list of definitions without terms.
PARAMETERS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")

DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NODE = r"(\w+)(?:[\[(]+(.+?)[\])]+)?"
ARROW = re.compile(rf"{NODE} -->(?:\|(.+?)\|)? {NODE}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what follows with Sphinx."""
    app.connect("source-read", read)
    app.connect("build-finished", make_accessible)
    app.connect("build-finished", make_form)
    inline, block = (formula, None), (displayed, None)
    app.add_html_math_renderer("mathml", inline_renderers=inline, block_renderers=block)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    folder = Path(app.srcdir, page).parent
    text = DIAGRAM.sub(lambda match: arrows(match[1]), source[0])
    text = LINK.sub(lambda match: link(folder, *match.groups()), text)
    if page == "README":
        text += "".join(
            f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{chr(10).join(group)}\n```\n"
            for caption, group in GROUPS.items()
        )
    if page == "docs/survey/form":
        text = text.replace(OPEN, f'{OPEN} <a href="{FORM}">Here it is</a>, for many people.')
    source[0] = reference(text) if page == "docs/api" else text


def make_form(app: Sphinx, exception: Exception | None) -> None:
    """Make the page of the example, with which visitors may play as often as they like."""
    example, out = ROOT / "docs/survey/example", Path(app.outdir, "docs/survey", FORM)
    if exception is not None:
        return
    with TemporaryDirectory() as folder:
        channel, table = (
            f"{folder}/channel.json",
            ["--table", str(example / "survey.csv"), "--useful", "region"],
        )
        asked = ["--sensitive", "illness", "--epsilon", "1", "--records", "3000", "--quiet"]
        words = ["--texts", str(example / "texts.yaml"), "--kiosk", "--quiet"]
        for call in (
            ["design", *table, *asked, "--out", channel],
            ["form", "--channel", channel, *words, "--out", str(out)],
        ):
            if main(call) != 0:
                raise RuntimeError(f"{call[0]} has failed.")


def make_accessible(app: Sphinx, exception: Exception | None) -> None:
    """Say in the pages that were written what the theme leaves out."""
    for path in Path(app.outdir).rglob("*.html") if exception is None else ():
        text = path.read_text(encoding="utf-8")
        for found, wanted in ACCESSIBLE.items():
            text = text.replace(found, wanted)
        path.write_text(PARAMETERS.sub(in_lines, text), encoding="utf-8", newline="\n")


def in_lines(parameters: re.Match[str]) -> str:
    """Return the parameters of a signature as lines that are no list."""
    lines = parameters[1].replace("<dd>", '<span class="parameter">').replace("</dd>", "</span>")
    return f"<span>\n{lines}</span>"


def link(folder: Path, words: str, target: str, fragment: str | None) -> str:
    """Return a link to a page with its fragment, to a copy of another file without, or words alone.

    The README of a folder stands for it; a folder without one has no page.
    """
    if (folder / target).is_dir():
        target = f"{target.rstrip('/')}/README.md"
        if not (folder / target).is_file():
            return words
    return f"[{words}]({target}{(fragment or '') if target.endswith('.md') else ''})"


def arrows(diagram: str) -> str:
    """Return a diagram in Mermaid's language as a table with a row per arrow."""
    labels: dict[str, str] = {}
    found = []
    for line in diagram.splitlines():
        if match := ARROW.search(line):
            first, its_label, condition, second, label = match.groups()
            for name, said in ((first, its_label), (second, label)):
                if said:
                    labels[name] = said.strip('"').replace("<br>", ": ", 1).replace("<br>", " ")
            found.append((first, second, condition or ""))
    columns = 3 if any(condition for *_, condition in found) else 2
    cells = [("from", "to", "when"), ("---",) * 3]
    cells += [(labels.get(first, first), labels.get(second, second), when) for first, second, when in found]
    return "\n".join(f"| {' | '.join(row[:columns])} |" for row in cells)


def reference(text: str) -> str:
    """Return the page of public names with complete docstrings instead of first lines."""
    made = [text.partition("- [`")[0]]
    for name in ldpfrontier.__all__:
        kind = "class" if isinstance(getattr(ldpfrontier, name), type) else "function"
        made.append(f"## `{name}`\n\n```{{eval-rst}}\n.. auto{kind}:: ldpfrontier.{name}\n```\n")
    return "\n".join(made)


def formula(writer: Any, node: nodes.math) -> None:
    """Write a formula of a line as MathML."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own as MathML."""
    writer.body.append(f'<div class="math" tabindex="0">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode
