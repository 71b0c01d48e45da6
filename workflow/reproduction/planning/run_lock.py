"""One run at a time in a directory: a lock of the operating system, which ends with the process that has it.

The kernel gives up a `flock` when its process exits, however it does: a killed run leaves nothing behind. A
file system without such locks is not guarded.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path


class Busy(RuntimeError):
    """Another run is going on in the directory; the message says which."""


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
        raise Busy(f"Another run, {other}, is going on in this directory; wait or stop it.") from None
    except OSError:  # The file system has no locks.
        return file
    os.truncate(file, 0)
    os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
    return file
