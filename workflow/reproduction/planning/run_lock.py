"""What a run in a directory may not disturb: another run there, and the results of another configuration.

One run at a time is held by a lock of the operating system, which ends with the process that has it.

The kernel gives up a `flock` when its process exits, however it does: a killed run leaves nothing behind. A
file system without such locks is not guarded.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Sequence
from pathlib import Path


class WouldReplace(RuntimeError):
    """A finished run with other files of configuration would be replaced; the message says what to do."""


def keep_finished(record: Path, files: Sequence[Path | str]) -> None:
    """Refuse to replace what a finished run has made with other files of configuration.

    If the same files were edited, the results that depend on them are replaced without a question.

    Parameters
    ----------
    record : path
        As `note_finished` writes it.
    files : sequence of path
        The files of configuration of this run, except the one of the project itself.

    Raises
    ------
    WouldReplace
    """
    if record.is_file() and (before := record.read_text(encoding="utf-8").strip()) != _described(files):
        raise WouldReplace(
            f"{record.parent}/ contains the results of {before}, and this run of {_described(files)} would"
            " replace them. To keep both, add --directory and the name of another folder. To replace them,"
            f" delete {record} first."
        )


def note_finished(record: Path, files: Sequence[Path | str]) -> None:
    """Write down with which files of configuration, besides the project's own, a run has finished."""
    record.write_text(f"{_described(files)}\n", encoding="utf-8")


def _described(files: Sequence[Path | str]) -> str:
    names = [os.path.relpath(file) for file in files]
    return f"the configuration of {', '.join(names)}" if names else "the default configuration"


class Busy(RuntimeError):
    """Another run is using the directory; the message says which."""


def lock(path: Path | str) -> int:
    """Lock a file until the process ends or closes the descriptor that is returned.

    Raises
    ------
    Busy
        If another process has it.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = os.pread(file, 200, 0).decode()
        os.close(file)
        raise Busy(
            f"Another run, {other}, is using this directory; wait until it has finished, or stop it."
        ) from None
    except OSError:  # The file system has no locks.
        return file
    os.truncate(file, 0)
    os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
    return file
