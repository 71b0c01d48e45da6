"""Which designs and channel files are those of a questionnaire. Loads nothing else."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: What the file of a channel for a questionnaire says it is.
QUESTIONNAIRE = "ldp-frontier questionnaire"

#: Options that make a design that of a joint table, with what they are if they are not given.
_OF_CHOICE: Mapping[str, Any] = {
    "useful": [],
    "against": None,
    "utility": None,
    "purpose": "frequencies",
    "mechanism": None,
    "cone": None,
    "weight": None,
    "cluster": None,
}

#: Further options of designs for one table.
_OF_TABLES: Mapping[str, Any] = {
    **_OF_CHOICE,
    "expect": [],
    "radius_factor": 1.0,
    "alpha": 2.0,
    "beta": 0.05,
    "confidence_method": "asymptotic",
    "max_seconds": None,
    "prove": None,
    "spreadsheet": False,
}

#: What has to be precise of a questionnaire: tables of one question, of two, of three.
TABLES = ("shares", "pairs", "triples")


def given_for_tables(options: argparse.Namespace) -> list[str]:
    """Return the names of options that were given and are for the joint table of some columns."""
    return [name for name, value in _OF_TABLES.items() if getattr(options, name) != value]


def is_questionnaire_asked(options: argparse.Namespace) -> bool:
    """Tell whether a design is that of a questionnaire.

    It is if all its columns are sensitive and tables of them have to be precise, which is so by default of
    three or more, unless an option chooses among the mechanisms of their joint table.
    """
    chosen = any(getattr(options, name) != value for name, value in _OF_CHOICE.items())
    if options.tables is not None and not options.useful:
        return True
    usual = options.precise is None and len(options.sensitive) > 2 and not chosen
    return usual or (options.precise in TABLES and not options.useful)


def is_questionnaire(path: Path | str) -> bool:
    """Tell whether a file says that it is the channel of a questionnaire."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == QUESTIONNAIRE


def refuse_questionnaire(path: Path | str, content: object) -> None:
    """Raise a `ValueError` if the content of a file is the channel of a questionnaire."""
    if isinstance(content, dict) and content.get("format") == QUESTIONNAIRE:
        raise ValueError(
            f"{path} is the channel of a questionnaire, which apply, estimate and audit take; this command"
            " takes the channel of one table."
        )
