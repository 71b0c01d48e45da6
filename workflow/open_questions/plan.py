"""The parts and the arguments of the tables of what the papers left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PartsByName = dict[str, dict[str, Any]]


def approximate(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of approximately private mechanisms: numbers of letters."""
    study = configuration["open_questions"]["approximate"]
    return {
        f"{letters}-letters": {
            "letters": letters,
            "instances": study["instances"],
            "seed": configuration["seed"],
        }
        for letters in study["letters"]
    }
