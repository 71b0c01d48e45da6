"""The common beginning of every script of the workflow: its log, its function and its tables."""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from reproduction.planning.executed_code import require_planned
from reproduction.planning.own_mechanisms import register
from reproduction.planning.own_papers import make_importable
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
    terminal.addFilter(lambda record: record.name != "ldpfrontier.numerics.numba_compiler")
    sys.excepthook = _log_failure
    # At its end, Python would look for cycles among all objects of all libraries; the memory is freed anyway.
    atexit.register(gc.freeze)


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


def function_of(call: Mapping[str, Any]) -> Callable[..., Any]:
    """Import the function of a job. What is imported by then stays: collections need not look at it.

    Raises
    ------
    ChangedCode
        If what is imported is not the code that the run was planned with.
    """
    function: Callable[..., Any] = load(call["function"])
    require_planned()
    gc.freeze()
    return function


def require_plan(job: Any) -> None:
    """Refuse to write what a job has made, if it is not what the run was planned with; before writing.

    Parameters
    ----------
    job : object
        What Snakemake gives to a script under the name ``snakemake``.

    Raises
    ------
    ChangedCode
    """
    require_planned(str(job.output[0]), dict(job.params.items()))


def stored_table(paths: Iterable[str], schema: str, made: Mapping[str, Any]) -> StoredTable:
    """Return a table that is in one file or in several, made by the code and the configurations expected.

    Parameters
    ----------
    paths : iterable of path
    schema : str
        ``module:name``.
    made : mapping
        ``code``, the hash of the code, and ``configurations``, that of the configuration of every file.
    """
    expected = [{"code_hash": made["code"], "configuration_hash": x} for x in made["configurations"]]
    return StoredTable(list(zip(paths, expected, strict=True)), load(schema))


def read_tables(
    call: Mapping[str, Any], reads: Iterable[Mapping[str, Any]], paths: Iterable[str]
) -> list[pd.DataFrame | StoredTable]:
    """Read the tables that a job is told of, each from as many files as it has configurations.

    Tables that are read in batches (``batches``) are returned as such.

    Raises
    ------
    TableError
        If a file is not what is expected; the sentence names it.
    """
    left, found = iter(paths), []
    for table, made in zip(call["tables"], reads, strict=True):
        stored = stored_table(islice(left, len(made["configurations"])), table["schema"], made)
        found.append(stored if made.get("batches") else stored.read())
    return found
