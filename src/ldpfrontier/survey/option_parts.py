"""Parts of the options of several commands: how numbers are read, and what is said of an option."""

from __future__ import annotations

import argparse

QUIET = "print warnings and errors only"
JSON = "print the results as JSON, for programs"


def number(text: str) -> float:
    """Return a number; a refusal says how numbers are written."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number; write it like 1.5 or 3000") from None


def whole(text: str) -> int:
    """Return a whole number; a refusal says how they are written."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number; write it like 3000") from None


def confidence_option(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the option of the confidence of something."""
    parser.add_argument(
        "--confidence", type=number, default=0.95, metavar="C",
        help=f"the confidence of {of}, between 0 and 1 (default: 0.95)",
    )  # fmt: skip
