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


def hypotheses(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of several hypotheses: the named ones, and numbers of letters."""
    study, seed = configuration["open_questions"]["hypotheses"], configuration["seed"]
    sizes = {"named": None, **{f"{letters}-letters": letters for letters in study["letters"]}}
    rest = {name: study[name] for name in ("count", "instances", "epsilons")}
    return {name: {"letters": letters, **rest, "seed": seed} for name, letters in sizes.items()}


def robust(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of robust tests: what the classes are balls of."""
    study, seed = configuration["open_questions"]["robust"], configuration["seed"]
    rest = {name: study[name] for name in ("letters", "instances", "epsilons")}
    return {
        members.replace(",", "").replace(" ", "-"): {
            "members": members,
            "radii": radii,
            **rest,
            "seed": seed,
        }
        for members, radii in study["radii"].items()
    }


def distributed(configuration: Configuration) -> PartsByName:
    """Return the parts of the table of two people: independence, and random joint distributions."""
    study, seed = configuration["open_questions"]["distributed"], configuration["seed"]
    kinds = {
        "independence": {"alike": study["alike"], "epsilons": study["epsilons"]},
        "random": {"alike": None, "epsilons": study["random_epsilons"]},
    }
    return {
        f"{name}-{letters}": {"letters": letters, "instances": study["instances"], **given, "seed": seed}
        for name, given in kinds.items()
        for letters in study["letters"]
    }
