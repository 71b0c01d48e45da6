"""Checks that no output of a command replaces one of its inputs."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from pathlib import Path

from ldpfrontier.survey.reading import is_standard_input


def check_outputs(outputs: Iterable[Path | str], inputs: Iterable[Path | str]) -> list[Path]:
    """Refuse outputs that are inputs, by any name or link, or one another, or no files.

    Parameters
    ----------
    outputs : iterable of path
        Everything that will be written. What exists must be a regular file, a device or a pipe.
    inputs : iterable of path
        Everything that is read.

    Returns
    -------
    list of Path
        Folders of outputs that do not exist yet.

    Raises
    ------
    ValueError
        With the name of the first output that is refused, and the reason.
    """
    sources = [Path(source) for source in inputs]
    seen: dict[Path, Path] = {}
    new: dict[Path, None] = {}
    for target in map(Path, outputs):
        if is_standard_input(target):
            raise ValueError(
                "'-' is not the name of a file; outputs must be files, since they are written whole or not at"
                " all."
            )
        if not target.name or "\0" in str(target):
            raise ValueError(f"{str(target)!r} is not the name of a file; an output needs one.")
        _check_folder(target)
        for source in sources:
            if target.exists() and source.exists() and target.samefile(source):
                same = "" if target == source else f" {source},"
                raise ValueError(f"{target} is{same} the file that is read; the output must be another file.")
        if target.exists() and not (target.is_file() or target.is_char_device() or target.is_fifo()):
            kind = "a folder" if target.is_dir() else "not a file"
            raise ValueError(f"{target} is {kind}; an output must be a file.")
        if target.is_symlink() and not target.exists() and _loops(target):
            raise ValueError(f"{target} is a link that leads back to itself; an output must be a file.")
        if (other := seen.setdefault(target.resolve(), target)) is not target:
            raise ValueError(f"{other} and {target} are the same file; two outputs need two files.")
        if not target.parent.exists():
            new[target.parent] = None
    return list(new)


def _check_folder(target: Path) -> None:
    """Check that the folder of an output is not a file."""
    for above in target.parents:
        if above.is_dir():
            return
        if above.exists() or above.is_symlink():
            raise ValueError(f"{target} would lie in {above}, which is not a folder.")


def _loops(target: Path) -> bool:
    """Tell whether a link leads to no path, since it leads back to itself."""
    try:
        target.stat()
    except OSError as problem:
        return problem.errno == errno.ELOOP
    return False


def check_new(text: str, paths: Sequence[Path]) -> None:
    """Refuse to write a channel where files of another one are.

    Parameters
    ----------
    text : str
        Of its file, the first one.
    paths : sequence of Path
        All files that will be written.
    """
    there = [file for file in paths if file.is_file()]
    if there and not (there[0] == paths[0] and there[0].read_bytes() == text.encode()):
        raise ValueError(
            f"{there[0]} is there already. Reports that were given with another channel cannot be decoded"
            " without its files: write to another file (--out), or replace it with --force."
        )
