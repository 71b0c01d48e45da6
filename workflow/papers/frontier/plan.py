"""The parts of the tables of the project's own results, on the pairs and with the set F of lopuhaa2024."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from papers.frontier.contradictions import contradictions as contradictions
from papers.frontier.pairs import pairs_of
from papers.lopuhaa2024.pairs import (
    DATA,
    PartsByName,
    chunks_of,
    counts_of,
    file_name,
    keys_of_study,
    mechanisms_of,
    solver_of,
    whole_pairs,
)
from reproduction.planning.configuration import values
from reproduction.planning.paper import Counts


def bounds(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the bounds on large tables: a part per pair and level."""
    paper, study = configuration["lopuhaa2024"], configuration["frontier"]["bounds"]
    return {
        f"{file_name(pair)}/{place}": {
            **counts_of(pair),
            "epsilons": [epsilon],
            "beta": float(paper["beta"]),
            "order": float(paper["order"]),
            "max_nodes": study["max_nodes"],
        }
        for pair in paper["pairs"]
        for place, epsilon in enumerate(sorted(map(float, study["epsilon"])))
    }


def calibration(configuration: Mapping[str, Any], study: str = "calibrated") -> PartsByName:
    """Return the parts of the table of equal realized privacy, cut as Figure 2 is."""
    return _study_of_pairs(
        configuration,
        study,
        lambda paper, study, pair: {
            "mechanisms": mechanisms_of(paper, keys_of_study(study, pair, "calibrated")),
            "accuracy": float(study["accuracy"]),
        },
    )


def second_level(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of optima with a second level: one or more per pair."""
    return _study_of_pairs(
        configuration,
        "second_level",
        lambda paper, study, pair: {
            "levels": sorted(map(float, study["levels"])),
            **solver_of(paper, study),
        },
        chunks=1,
    )


def promises(configuration: Mapping[str, Any], study: str = "promises") -> PartsByName:
    """Return the parts of the table of six promises: as many per pair as the study says."""
    return _study_of_pairs(
        configuration,
        study,
        lambda paper, study, pair: {"max_nodes": study["max_nodes"], **solver_of(paper, study)},
    )


def proofs(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of optima whose bounds are proved: one per pair and level."""
    study = configuration["frontier"]["proofs"]
    return _study_of_pairs(
        configuration,
        "proofs",
        lambda paper, study, pair: {
            "excess": float(study["excess"]),
            "max_nodes": study["max_nodes"],
            **solver_of(paper, study),
        },
        chunks=len(study["epsilon"]),
    )


def estimation(configuration: Mapping[str, Any], name: str = "estimation") -> PartsByName:
    """Return the parts of the table of least errors: as many per pair as the study of this name says."""
    paper, study = configuration["lopuhaa2024"], configuration["frontier"][name]
    of_design = {name: sorted(map(float, levels)) for name, levels in study["designs"].items()}
    grid = sorted({level for levels in of_design.values() for level in levels})
    # The least error of S takes no time: the first part of a pair has it, also at the levels of Figure 2.
    of_sensitive = sorted({*grid, *map(float, values(paper["epsilon"]))})
    return {
        place: {
            **part,
            "of_sensitive": of_sensitive if part["epsilons"][0] == grid[0] else [],
            "designs": {
                design: kept
                for design, levels in of_design.items()
                if (kept := [level for level in levels if level in part["epsilons"]])
            },
            "mechanisms": list(study["mechanisms"]),
            **solver_of(paper, study),
        }
        for pair in pairs_of(name, configuration)
        for place, part in chunks_of(paper, {"chunks": study["chunks"], **pair}, grid)
    }


def pairs_calibration(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of equal realized privacy on many pairs of attributes."""
    return calibration(configuration, "pairs_calibrated")


def pairs_promises(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of six promises on many pairs of attributes."""
    return promises(configuration, "pairs_promises")


def pairs_estimation(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of least errors on many pairs of attributes."""
    return estimation(configuration, "pairs_estimation")


def drift(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of drifts, cut as Figure 2 is."""
    return _study_of_pairs(
        configuration,
        "drift",
        lambda paper, study, pair: {
            "factors": sorted(map(float, study["factors"])),
            "shares": sorted(map(float, study["shares"])),
            "truths": study["truths"],
            "mechanisms": list(study["mechanisms"]),
            "seed": configuration["seed"],
            **solver_of(paper, study),
        },
    )


def several_levels(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of levels of several reports: one per pair."""
    return _study_of_pairs(
        configuration,
        "several_levels",
        lambda paper, study, pair: {
            "reports": study["reports"],
            "mechanisms": list(study["mechanisms"]),
            **solver_of(paper, study),
        },
        chunks=1,
    )


def several_designs(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of designs for several reports: one per pair and level."""
    study = configuration["frontier"]["several_designs"]
    return _study_of_pairs(
        configuration,
        "several_designs",
        lambda paper, study, pair: {
            "reports": sorted(study["reports"]),
            **solver_of(paper, study),
        },
        chunks=len(study["epsilon"]),
    )


def attack(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the part of the table of attackers: that of its pair of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["frontier"]["attack"]
    pair, proxy = study["pair"], study["proxy"]
    return {
        file_name(pair): {
            **counts_of(pair),
            "proxies": Counts(pair.get("data", DATA), pair["useful"], proxy),
            "names": [pair["useful"], proxy],
            "value": study["value"],
            "epsilon": float(study["epsilon"]),
            "beta": float(paper["beta"]),
            "order": float(paper["order"]),
            **solver_of(paper, study),
        }
    }


def few_records(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of what sets for any number of records cost: pairs of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["frontier"]["few_records"]
    return whole_pairs(paper, study, ("epsilons", "orders", "mechanisms"), solver_of(paper, study))


def atlas(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the atlas: pairs of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["frontier"]["atlas"]
    return {
        file_name(pair): {
            **counts_of(pair),
            "epsilons": sorted(map(float, study["epsilon"])),
            "mechanisms": mechanisms_of(paper, study),
            "cells": dict(study["cells"]),
            "beta": float(paper["beta"]),
            "order": float(paper["order"]),
            **solver_of(paper, study),
        }
        for pair in pairs_of("atlas", configuration)
    }


# Random tables --------------------------------------------------------------------------------------------


def _study_of_pairs(
    configuration: Mapping[str, Any],
    name: str,
    own: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]],
    chunks: int | None = None,
) -> PartsByName:
    """Return the parts of a study of pairs: those of `chunks_of`, with arguments of its own.

    `own` returns these from the sections of lopuhaa2024 and of the study, and the keys of the pair. A pair
    that does not say how many chunks it has gets as many as the argument, the study or else Figure 2 says.
    """
    paper, study = configuration["lopuhaa2024"], configuration["frontier"][name]
    usual = {key: study[key] for key in ("chunks", "solver") if key in study}
    usual |= {} if chunks is None else {"chunks": chunks}
    return {
        part: {**keys, **own(paper, study, pair)}
        for pair in pairs_of(name, configuration)
        for part, keys in chunks_of(paper, {**usual, **pair}, sorted(map(float, study["epsilon"])))
    }
