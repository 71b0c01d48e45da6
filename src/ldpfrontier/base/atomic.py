"""Files that are written completely or not at all. This module needs the standard library alone."""

from __future__ import annotations

import errno
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # Windows, which removes and renames no file that a process has open
    fcntl = None

#: The modes of a new file: as the umask allows, and for its owner alone, if it tells of people.
USUAL, OWNER = 0o666, 0o600

#: The errors of a full disk, of a quota, and of the largest size of a file.
FULL = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)}


def is_full(error: OSError) -> bool:
    """Tell whether a write failed for want of space, of a file that the error does not name."""
    return error.filename is None and error.errno in FULL


@contextmanager
def _named(path: Path | str, partial: Path) -> Iterator[None]:
    """Give errors of writing the name of the file that was asked for, not of one that nobody knows."""
    try:
        yield
    except OSError as error:
        if is_full(error) or error.filename == str(partial):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise


@contextmanager
def replacing(path: Path | str, mode: int = USUAL) -> Iterator[Path]:
    """Give a temporary path that replaces `path` when the block succeeds and vanishes when it does not.

    What `path` links to is replaced, not the link. A device or a pipe cannot be replaced: it is given itself
    and written to. While the block runs the temporary file is locked (on Windows: open), so that one which a
    killed process left behind is told from one in use; the next call for the same path that succeeds removes
    it. A new file has the permissions `mode`, before the umask. A file that exists keeps its permissions and
    its group; where the group cannot be kept, the group loses its permissions. OSError if `path` is a
    directory or anything else that is not written to as a file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if not (target.is_char_device() or target.is_fifo()):
            code = errno.EISDIR if target.is_dir() else errno.EINVAL
            raise OSError(code, "this is not a file, so nothing is written to it", str(path))
        with _named(path, target):
            yield target
        return
    if not target.parent.is_dir():
        _make_folder(target.parent, path)
    # The suffix stays last because some writers choose the format by it.
    partial = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    before = target.stat() if target.exists() else None
    # Nobody may read more of a new file, even for a moment, than of the old one.
    with _named(path, partial):
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER if before else mode)
    try:
        with _named(path, partial), os.fdopen(descriptor, "wb") as held:
            if fcntl is not None:
                fcntl.flock(held, fcntl.LOCK_EX)
            yield partial
            if before:
                _keep_permissions(partial, before)
            if fcntl is None:
                held.close()
            os.replace(partial, target)
            remove_abandoned(target)
    finally:
        partial.unlink(missing_ok=True)


def _keep_permissions(path: Path, before: os.stat_result) -> None:
    """Give a file the group and the permissions that a file had before."""
    permissions = stat.S_IMODE(before.st_mode) & 0o777
    if path.stat().st_gid != before.st_gid:
        try:
            os.chown(path, -1, before.st_gid)
        except PermissionError:  # members of another group were not meant
            permissions &= ~stat.S_IRWXG
    path.chmod(permissions)


def _make_folder(folder: Path, path: Path | str) -> None:
    """Make a folder and those that it lies in; an error names the path that needs it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        code = errno.ENOTDIR if isinstance(error, FileExistsError) else error.errno
        raise OSError(code, os.strerror(code or 0), str(path)) from None


def remove_abandoned(path: Path | str) -> list[Path]:
    """Remove the temporary files of `replacing` whose process was killed; return their paths."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.[0-9a-f]{{32}}\.{re.escape(target.name)}")
    removed = []
    for found in sorted(target.parent.iterdir()) if target.parent.is_dir() else []:
        if pattern.fullmatch(found.name) and _remove_unless_held(found):
            removed.append(found)
    return removed


def _remove_unless_held(path: Path) -> bool:
    """Remove a temporary file unless a process holds it or it cannot be opened; tell whether it is gone."""
    with suppress(OSError), path.open("rb") as file:
        if fcntl is None:
            file.close()
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
        return True
    return False


def write_text(text: str, path: Path | str) -> None:
    """Write a text as UTF-8 with its line ends as they are, all or nothing."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
