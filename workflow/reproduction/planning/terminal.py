"""Two short lines per job on the terminal: what it does, and how much of the run is done.

Snakemake's own option `quiet` leaves six lines per job, or drops one of these two. Its log keeps all.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TextIO

_SILENT = ("Select jobs to execute...", "Finished jobid:", "Execute ")


def make_concise(logger: logging.Logger) -> None:
    """Shorten what Snakemake's logger writes to the terminal, if it writes there itself."""
    for handler in logger.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.name == "DefaultStreamHandler":
            handler.addFilter(partial(_shorten, handler.stream))


def _shorten(stream: TextIO, record: logging.LogRecord) -> bool:
    """Write the message of a job on one line; return whether the handler is to write the record."""
    message = getattr(record, "rule_msg", None)
    if message and record.levelno == logging.INFO:
        stream.write(f"[{time.strftime('%H:%M:%S')}] {message}\n")
        stream.flush()
        return False
    text = record.getMessage()
    return bool(text.strip()) and not text.startswith(_SILENT)
