"""Two short lines per job on the terminal: what it does, and how much of the work is done.

Snakemake's own option `quiet` leaves six lines per job, or drops one of these two. Its log keeps all.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TextIO

from reproduction.planning.run_times import Progress

_SILENT = ("Select jobs to execute...", "Execute ")


def make_concise(logger: logging.Logger, progress: Progress) -> None:
    """Shorten what Snakemake's logger writes to the terminal, if it writes there itself.

    Parameters
    ----------
    logger : Logger
    progress : Progress
        Of the jobs of the run, by Snakemake's numbers; it is told of every one that starts or ends.
    """
    for handler in logger.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.name == "DefaultStreamHandler":
            handler.addFilter(partial(_shorten, handler.stream, progress))


def _shorten(stream: TextIO, progress: Progress, record: logging.LogRecord) -> bool:
    """Write the message of a job, or its end, on one line; return whether the handler writes the record."""
    told, line = vars(record), ""
    if told.get("rule_msg") and record.levelno == logging.INFO:
        progress.start(told.get("jobid", -1))
        line = f"[{time.strftime('%H:%M:%S')}] {told['rule_msg']}"
    elif "job_id" in told and record.levelno == logging.INFO:
        progress.finish(told["job_id"])
        return False
    elif "done" in told and "total" in told:
        line = progress.line(told["done"], told["total"])
    if line:
        stream.write(f"{line}\n")
        stream.flush()
        return False
    text = record.getMessage()
    return bool(text.strip()) and not text.startswith(_SILENT)
