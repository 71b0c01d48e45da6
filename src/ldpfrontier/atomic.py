"""Files that are written all or nothing. Needs the standard library alone."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Give a temporary path that replaces `path` when the block succeeds and vanishes when it does not.

    What `path` links to is replaced, not the link. A device or a pipe cannot be replaced: it is given itself
    and written to. While the block runs the temporary file is locked, so that one which a killed process left
    behind is told from one in use; the next call for the same path removes it.

    Raises
    ------
    OSError
        If `path` is a directory or anything else that is not written to as a file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if not (target.is_char_device() or target.is_fifo()):
            code = errno.EISDIR if target.is_dir() else errno.EINVAL
            raise OSError(code, "this is not a file, so nothing is written to it", str(path))
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target)
    # The suffix stays last because some writers choose the format by it.
    partial = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    # Like a file that is opened for writing, before it has any content.
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
        os.close(descriptor)


def remove_abandoned(path: Path | str) -> list[Path]:
    """Remove the temporary files of `replacing` whose process was killed; return their paths."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.[0-9a-f]{{32}}\.{re.escape(target.name)}")
    removed = []
    for found in sorted(target.parent.iterdir()) if target.parent.is_dir() else []:
        if pattern.fullmatch(found.name) and not _locked(found):
            found.unlink(missing_ok=True)
            removed.append(found)
    return removed


def _locked(path: Path) -> bool:
    """Tell whether a process holds the lock of a file; one that cannot be opened counts as held."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def write_text(text: str, path: Path | str) -> None:
    """Write a text as UTF-8 with its line ends as they are, all or nothing."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
