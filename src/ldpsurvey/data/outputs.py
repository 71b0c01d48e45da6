"""Checks that no output of a command replaces one of its inputs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ldpsurvey.data.reading import is_standard_input


def check_outputs(outputs: Iterable[Path | str], inputs: Iterable[Path | str]) -> None:
    """Refuse outputs that are inputs, by any name or link, or one another, or folders."""
    sources, seen = [Path(source) for source in inputs], dict[str, Path]()
    for target in map(Path, outputs):
        if is_standard_input(target):
            raise ValueError(
                "'-' is not the name of a file; outputs must be files, since they are written whole or not at"
                " all."
            )
        if target.is_dir():
            raise ValueError(f"{target} is a folder; an output must be a file.")
        for source in sources:
            if target.exists() and source.exists() and target.samefile(source):
                same = "" if target == source else f" {source},"
                raise ValueError(f"{target} is{same} the file that is read; the output must be another file.")
        if (other := seen.setdefault(os.path.realpath(target), target)) is not target:
            raise ValueError(f"{other} and {target} are the same file; two outputs need two files.")
        above = next(folder for folder in target.parents if folder.exists())
        if not above.is_dir():
            raise ValueError(f"{target} would lie in {above}, which is not a folder.")
        if not os.access(above if target.is_file() or not target.exists() else target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def check_unwritten(target: Path | str, force: bool) -> None:
    """Refuse to replace a file of reports, unless that is asked for."""
    if not force and Path(target).is_file():
        raise ValueError(
            f"{target} is there already. If it has reports, they would be lost, and without a memo these"
            " people would report twice: write to another file (--out), or replace it with --force."
        )


def check_new(paths: Sequence[Path]) -> None:
    """Refuse to write a channel where files of another one are, before anything is computed."""
    if there := [file for file in paths if file.is_file()]:
        raise ValueError(
            f"{there[0]} is there already. Reports that were given with another channel cannot be decoded"
            " without its files: write to another file (--out), or replace it with --force."
        )
