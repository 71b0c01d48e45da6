"""The pictures of the pages: figures of a run, copied to docs/img.

`python tools/pictures.py` compares those that the pages show with the figures of a run in `results/`, byte by
byte, and `python tools/pictures.py renew` copies what differs. Figures that the run has drawn from other
configurations than the page's own, such as those of a smaller run, are left out. The bytes of another
machine differ; so the command also says whether the pictures show something else (`seen_difference`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/img"
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "src")]

from reproduction.drawn_data import data_of, difference  # noqa: E402
from reproduction.planning.paper import Paper, papers  # noqa: E402
from reproduction.planning.plan import Plan, plan_of  # noqa: E402
from reproduction.results.files import read_metadata  # noqa: E402

#: The plans of the runs that pages show: by default, and beyond the papers.
PLANS = (plan_of(), plan_of("beyond"))


def shown() -> Iterator[tuple[Path, str, str]]:
    """Yield the pictures that are figures, each with its paper and its figure."""
    for path in sorted(PICTURES.glob("*_*.png")):
        key, _, figure = path.stem.partition("_")
        if key in papers():
            yield path, key, figure


def compared(results: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the pictures, each with the figure of a run at full scale that it should be."""
    for path, key, name in shown():
        source = results / f"figures/{key}/{name}.png"
        if source.is_file() and any(
            name in plan.papers[key].figures and _is_of(plan, plan.papers[key], name, results)
            for plan in PLANS
        ):
            yield path, source


def seen_difference(path: Path, source: Path) -> str:
    """Return in what a picture shows something else than a figure, in words; empty if it does not."""
    if (shown := data_of(path)) is None:
        return "it does not carry the data that it shows"
    return difference(shown, data_of(source) or "[]")


def _is_of(plan: Plan, paper: Paper, figure: str, results: Path) -> bool:
    """Whether the tables that a figure is drawn from have the configurations of a plan."""
    return all(
        (path := results / f"tables/{paper.key}/{table}.parquet").is_file()
        and read_metadata(path).get("configuration_hash") == plan.configuration_of(paper.tables[table])
        for table in paper.figures[figure].tables
    )


if __name__ == "__main__":
    different = [
        (path, source)
        for path, source in compared(ROOT / "results")
        if path.read_bytes() != source.read_bytes()
    ]
    for path, source in different:
        seen = seen_difference(path, source) or "the bytes alone, and not what is drawn"
        print(f"{path.relative_to(ROOT)} and {source.relative_to(ROOT)} differ: {seen}")
    if renewing := sys.argv[1:] == ["renew"]:
        for path, source in different:
            shutil.copyfile(source, path)
    sys.exit(bool(different) and not renewing)
