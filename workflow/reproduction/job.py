"""The common beginning of every script of the workflow: its log, its function and its tables."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from reproduction.planning.own_mechanisms import make_importable, register
from reproduction.results.files import StoredTable


def start(log: str | Path, configuration: Mapping[str, Any] | None = None) -> None:
    """Begin a job, before it imports a paper.

    Messages go to the log of the job, and warnings and tracebacks to the terminal as well. What the
    configuration takes from outside the repository becomes known.
    """
    register(configuration or {})
    for folder in (configuration or {}).get("papers", ()):
        make_importable(folder)
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(message)s",
        handlers=[logging.FileHandler(path, mode="w", encoding="utf-8"), terminal],
    )
    logging.captureWarnings(True)
    # Embedding fonts in a PDF is reported glyph by glyph.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    # That a function is compiled belongs to the log of a job: the terminal has its progress.
    terminal.addFilter(lambda record: record.name != "ldpfrontier.numerics.jit")
    sys.excepthook = _log_failure


def _log_failure(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Log why a job failed, with the traceback; of an interrupted one, that it was interrupted."""
    if issubclass(kind, KeyboardInterrupt):
        logging.info("Interrupted.")
    else:
        logging.critical("The job failed: %s", error, exc_info=(kind, error, traceback))


def load(name: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def read_tables(call: Mapping[str, Any], paths: Iterable[str]) -> list[pd.DataFrame | StoredTable]:
    """Read the tables that a job is told of (`Plan.job_description`), each from its number of files.

    Tables that are read in batches (``batches``) are returned as such.
    """
    left = iter(paths)
    found = [StoredTable(list(islice(left, number)), load(schema)) for schema, number in call["tables"]]
    return [*found] if call["batches"] else [table.read() for table in found]
