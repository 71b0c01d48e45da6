"""Papers outside the repository, whose modules are imported as those of the others."""

from __future__ import annotations

import importlib
from pathlib import Path


def make_importable(folder: Path | str) -> None:
    """Let the modules of a paper be imported as ``papers.<name of its folder>``.

    The papers of the repository come first: no folder beside this one takes the place of one of them.
    """
    path, beside = importlib.import_module("papers").__path__, str(Path(folder).resolve().parent)
    if beside not in path:
        path.append(beside)
