"""Two lines per job on the terminal: its task, and the share of the work that is done.

Snakemake's own option `quiet` leaves six lines per job, or omits one of these two. Its log is
complete.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TextIO

from reproduction.planning.run_times import Progress

_SILENT = (
    "Select jobs to execute...",
    "Execute ",
    "Job stats:",
    "Using shell: ",
    "Activating conda environment: ",
    "Rules claiming more threads",
)


class Concise:
    """Shortens what Snakemake's logger writes to the terminal, if it writes there itself.

    Parameters
    ----------
    logger : Logger
    is_dry_run : callable
        Whether the run only lists jobs; all lines of such a run are kept.

    Attributes
    ----------
    progress : Progress
        The progress of the jobs of the run, by Snakemake's numbers; it is updated when a job starts or ends.
    """

    def __init__(self, logger: logging.Logger, is_dry_run: Callable[[], bool] = lambda: False) -> None:
        self._is_dry_run = is_dry_run
        self.progress = Progress({}, None)
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.name == "DefaultStreamHandler":
                handler.addFilter(partial(self._shorten, handler.stream))

    def _shorten(self, stream: TextIO, record: logging.LogRecord) -> bool:
        """Write the message of a job, or its end, on one line; return whether to write the record itself."""
        if self._is_dry_run():
            return True
        told, line = vars(record), ""
        if told.get("rule_msg") and record.levelno == logging.INFO:
            self.progress.start(told.get("jobid", -1))
            line = f"[{time.strftime('%H:%M:%S')}] {told['rule_msg']}"
        elif "job_id" in told and record.levelno == logging.INFO:
            self.progress.finish(told["job_id"])
            return False
        elif "done" in told and "total" in told:
            line = self.progress.line(told["done"], told["total"])
        if line:
            stream.write(f"{line}\n")
            stream.flush()
            return False
        text = record.getMessage()
        return bool(text.strip()) and not text.startswith(_SILENT)
