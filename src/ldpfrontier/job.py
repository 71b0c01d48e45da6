"""What every script of the workflow starts with: its log, and the functions it was told to call."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from ldpfrontier.files import read_table


def start(log: str | Path) -> None:
    """Send messages to the log of the job, and warnings and tracebacks to the terminal as well."""
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
    sys.excepthook = lambda *error: logging.critical("The job failed: %s", error[1], exc_info=error)


def load(name: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def read_parts(paths: Iterable[str], schema: str) -> pd.DataFrame:
    """Read a table that is in one file or in several."""
    return pd.concat([read_table(path, load(schema)) for path in paths], ignore_index=True)


def read_tables(call: Mapping[str, Any], files: Iterable[int], paths: Iterable[str]) -> list[pd.DataFrame]:
    """Read the tables that a job is told of, each in as many files as it has."""
    left = iter(paths)
    return [
        read_parts(islice(left, count), table["schema"])
        for table, count in zip(call["tables"], files, strict=True)
    ]
