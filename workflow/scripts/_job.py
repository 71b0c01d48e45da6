"""What every script starts with."""

import logging
import sys
from pathlib import Path


def start(snakemake):
    """Send messages and warnings to the log of the job, and tracebacks to the terminal as well."""
    log = Path(snakemake.log[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(message)s",
        handlers=[logging.FileHandler(log, mode="w", encoding="utf-8"), terminal],
    )
    logging.captureWarnings(True)
    sys.excepthook = lambda *error: logging.critical("The job failed: %s", error[1], exc_info=error)
