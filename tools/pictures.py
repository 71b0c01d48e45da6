"""Copy the pictures of the pages from the figures of runs: `python tools/pictures.py results long/results`.

Of several folders of results, the last one that has a figure counts. The pictures are
docs/img/PAPER_FIGURE.png; what changed is for whoever releases to look at.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/img"
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "src")]

from reproduction.planning.paper import papers  # noqa: E402


def shown() -> Iterator[tuple[Path, str, str]]:
    """Yield the pictures that are figures, each with its paper and its figure."""
    for path in sorted(PICTURES.glob("*_*.png")):
        for key in papers():
            if path.stem.startswith(f"{key}_"):
                yield path, key, path.stem.removeprefix(f"{key}_")


if __name__ == "__main__":
    for path, key, figure in shown():
        for results in sys.argv[1:]:
            if (source := Path(results, f"figures/{key}/{figure}.png")).is_file():
                shutil.copyfile(source, path)
