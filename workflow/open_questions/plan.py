"""The parts and the arguments of the tables of what the papers left open."""

from __future__ import annotations

from reproduction.planning.configuration import Configuration, PartsByName


def approximate(configuration: Configuration) -> PartsByName:
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
