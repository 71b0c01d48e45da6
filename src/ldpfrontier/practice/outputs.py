"""No command destroys what it reads: outputs are compared with inputs before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def check_outputs(outputs: Iterable[Path | str], inputs: Iterable[Path | str]) -> None:
    """Refuse outputs that are inputs, by any name or link, or one another, or no files.

    Parameters
    ----------
    outputs : iterable of path
        Everything that will be written. What exists must be a regular file, a device or a pipe.
    inputs : iterable of path
        Everything that is read.

    Raises
    ------
    ValueError
        With the name of the first output that is refused, and the reason.
    """
    sources = [Path(source) for source in inputs]
    seen: dict[Path, Path] = {}
    for target in map(Path, outputs):
        for source in sources:
            if target.exists() and source.exists() and target.samefile(source):
                same = "" if target == source else f" {source},"
                raise ValueError(f"{target} is{same} the file that is read; the output needs one of its own.")
        if target.exists() and not (target.is_file() or target.is_char_device() or target.is_fifo()):
            kind = "a folder" if target.is_dir() else "not a file"
            raise ValueError(f"{target} is {kind}; an output must be a file.")
        if (other := seen.setdefault(target.resolve(), target)) is not target:
            raise ValueError(f"{other} and {target} are one file; two outputs need two files.")
