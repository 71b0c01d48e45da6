"""The parts of the tables of the project's own results, on the pairs and with the set F of lopuhaa2024."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from beyond.catalogue import DESIGNS
from papers.lopuhaa2024.catalogue import MECHANISMS
from papers.lopuhaa2024.contradictions import block_contradictions, pair_contradictions, unknown_mechanisms
from papers.lopuhaa2024.pairs import (
    DATA,
    chunks_of,
    counts_of,
    file_name,
    mechanisms_of,
    setting_of,
    solver_of,
)
from papers.lopuhaa2024.plan import blocks_of, solutions
from reproduction.data.catalogue import attributes
from reproduction.planning.configuration import PartsByName, values
from reproduction.planning.paper import Counts, Parts, claim_entries

#: The pairs of a study: every ordered one of the attributes of `DATA`.
ALL = "all"


def pairs_of(study: str, configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pairs of a study: those that it lists, all of `DATA`, or the first ones of lopuhaa2024."""
    pairs = configuration["beyond"][study]["pairs"]
    if isinstance(pairs, int):
        return list(configuration["lopuhaa2024"]["pairs"][:pairs])
    if pairs != ALL:
        return list(pairs)
    names = itertools.permutations(attributes(DATA, configuration), 2)
    return [{"sensitive": sensitive, "useful": useful} for sensitive, useful in names]


# Studies of pairs, cut by privacy level ---------------------------------------------------------------------


def _study_of_pairs(
    name: str, keys: Sequence[str], configuration: Mapping[str, Any], chunks: int | None = None
) -> PartsByName:
    """Return the parts of a study of pairs, with some of its keys as arguments.

    A pair that does not say how many chunks it has gets as many as the argument, the study or else Figure 2
    says.
    """
    paper, study = configuration["lopuhaa2024"], configuration["beyond"][name]
    usual = {"chunks": chunks or study.get("chunks", paper["chunks"])}
    solver = solver_of(paper, study) if "solver" in study else {}
    return {
        part: {**arguments, **{key: _argument(study[key]) for key in keys}, **solver}
        for pair in pairs_of(name, configuration)
        for part, arguments in chunks_of(paper, {**usual, **pair}, sorted(map(float, study["epsilon"])))
    }


def _argument(value: Any) -> Any:
    """Return the value of a key as an argument: numbers in their order."""
    is_numbers = isinstance(value, list) and not any(isinstance(entry, str) for entry in value)
    return sorted(value) if is_numbers else value


def _calibration(name: str, configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of a study of equal realized privacy, in which a pair may have its own mechanisms."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"][name]
    of_pair = {
        file_name(pair): mechanisms_of(paper, {**study, **pair.get("calibrated", {})})
        for pair in pairs_of(name, configuration)
    }
    parts = _study_of_pairs(name, ["accuracy"], configuration)
    return {part: {**keys, "mechanisms": of_pair[part.rpartition("/")[0]]} for part, keys in parts.items()}


def _least_errors(name: str, configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of a table of least errors: as many per pair as the study of this name says."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"][name]
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


# The tables, whose parts are cut as Figure 2 is unless a study says otherwise.
calibration = partial(_calibration, "calibrated")
pairs_calibration = partial(_calibration, "pairs_calibrated")
second_level = partial(_study_of_pairs, "second_level", ["levels"], chunks=1)
promises = partial(_study_of_pairs, "promises", ["max_nodes"])
pairs_promises = partial(_study_of_pairs, "pairs_promises", ["max_nodes"])
several_levels = partial(_study_of_pairs, "several_levels", ["reports", "mechanisms"], chunks=1)
estimation = partial(_least_errors, "estimation")
pairs_estimation = partial(_least_errors, "pairs_estimation")


def optima(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the optima over F at the levels of Figure 2, a few of every pair."""
    paper, usual = configuration["lopuhaa2024"], {"chunks": configuration["beyond"]["optima"]["chunks"]}
    return {
        name: {**part, "solutions": of_pair}
        for pair, of_pair in _solutions(configuration)
        for name, part in chunks_of(paper, {**usual, **pair}, values(paper["epsilon"]))
    }


def mechanisms(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of what is measured of the mechanisms of Figure 2: pairs of attributes."""
    paper, of_optima = configuration["lopuhaa2024"], optima(configuration)
    return {
        file_name(pair): {
            **part,
            "mechanisms": mechanisms_of(paper, pair),
            "solutions": of_pair,
            "optima": Parts(tuple(x for x in of_optima if x.rpartition("/")[0] == file_name(pair))),
        }
        for pair, of_pair in _solutions(configuration)
        for _, part in chunks_of(paper, {**pair, "chunks": 1}, values(paper["epsilon"]))
    }


def documents(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the certificates of the optima: those of these."""
    return {
        name: {"optima": Parts((name,)), **{key: part[key] for key in ("counts", "beta", "order")}}
        for name, part in optima(configuration).items()
    }


def _solutions(configuration: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Parts]]:
    """Yield the pairs of the optima, with the parts of the mechanisms that were solved there."""
    found = solutions(configuration)
    for pair in pairs_of("optima", configuration):
        yield pair, Parts(tuple(x for x in found if x.rpartition("/")[0] == file_name(pair)))


def proofs(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of optima whose bounds are proved: one per pair and level."""
    levels = configuration["beyond"]["proofs"]["epsilon"]
    return _study_of_pairs("proofs", ["excess", "max_nodes"], configuration, chunks=len(levels))


def several_designs(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of designs for several reports: one per pair and level."""
    levels = configuration["beyond"]["several_designs"]["epsilon"]
    return _study_of_pairs("several_designs", ["reports"], configuration, chunks=len(levels))


def drift(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of drifts."""
    parts = _study_of_pairs("drift", ["factors", "shares", "truths", "mechanisms"], configuration)
    return {part: {**keys, "seed": configuration["seed"]} for part, keys in parts.items()}


# Others -----------------------------------------------------------------------------------------------------


def bounds(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the bounds on large tables: a part per pair and level."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"]["bounds"]
    common = {**setting_of(paper), "max_nodes": study["max_nodes"]}
    return {
        f"{file_name(pair)}/{place}": {**counts_of(pair), "epsilons": [epsilon], **common}
        for pair in paper["pairs"]
        for place, epsilon in enumerate(sorted(map(float, study["epsilon"])))
    }


def attack(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the part of the table of attackers: that of its pair of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"]["attack"]
    pair, proxy = study["pair"], study["proxy"]
    return {
        file_name(pair): {
            **counts_of(pair),
            "proxies": Counts(pair.get("data", DATA), pair["useful"], proxy),
            "names": [pair["useful"], proxy],
            "value": study["value"],
            "epsilon": float(study["epsilon"]),
            **setting_of(paper),
            **solver_of(paper, study),
        }
    }


def few_records(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of what sets for any number of records cost: pairs of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"]["few_records"]
    return {
        file_name(pair): {
            **counts_of(pair),
            "epsilons": study["epsilon"],
            "orders": study["orders"],
            "mechanisms": study["mechanisms"],
            "beta": float(paper["beta"]),
            **solver_of(paper, study),
        }
        for pair in pairs_of("few_records", configuration)
    }


def atlas(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the atlas: pairs of attributes."""
    paper, study = configuration["lopuhaa2024"], configuration["beyond"]["atlas"]
    common = {
        "epsilons": sorted(map(float, study["epsilon"])),
        "mechanisms": mechanisms_of(paper, study),
        "cells": dict(study["cells"]),
        **setting_of(paper),
        **solver_of(paper, study),
    }
    return {file_name(pair): {**counts_of(pair), **common} for pair in pairs_of("atlas", configuration)}


def synthetic(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the study of random tables, at one significance level and all privacy levels."""
    paper, blocks = configuration["lopuhaa2024"], configuration["beyond"]["synthetic"]["blocks"]
    levels = paper["synthetic"]["epsilon"]
    return blocks_of(configuration, blocks, [paper["beta"]], levels, with_own=False)


def beta(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the study of several significance levels, at one privacy level."""
    study, own = configuration["lopuhaa2024"]["synthetic"], configuration["beyond"]["synthetic"]
    betas, blocks = study["table2"]["betas"], own["table2"]["blocks"]
    return blocks_of(configuration, blocks, betas, [study["reference"]], with_own=False)


def limits(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of the statements of section 8.1: those of the claim of lopuhaa2024."""
    (entry,) = claim_entries("lopuhaa2024", ["L-S81b"])
    return {"limits": {name: entry["arguments"][name] for name in ("small", "clearly", "marginal", "near")}}


# Contradictions ---------------------------------------------------------------------------------------------


def contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence per contradiction in the keys of beyond, each sound for itself."""
    own = configuration["beyond"]
    for study in ("estimation", "pairs_estimation"):
        designs = own[study]["designs"]
        if not any(designs.values()):
            yield f"beyond.{study}.designs has no privacy level; allowed is one or more, of any promise."
        for name in designs:
            if name not in DESIGNS:
                yield f"beyond.{study}.designs has {name!r}; allowed is one of {', '.join(DESIGNS)}."
    proofs = own["proofs"]
    if float(proofs["solver"].get("tolerance", 0.0)) >= proofs["excess"]:
        yield "beyond.proofs.solver.tolerance is at least beyond.proofs.excess; it must be below that."
    for study in ("drift", "few_records", "several_levels", "atlas", "estimation", "pairs_estimation"):
        yield from unknown_mechanisms(f"beyond.{study}.mechanisms", own[study]["mechanisms"], MECHANISMS)
    for study in ("calibrated", "pairs_calibrated"):
        yield from _calibrated_mechanisms(f"beyond.{study}.mechanisms", own[study]["mechanisms"])
    for i, pair in enumerate(configuration["lopuhaa2024"]["pairs"]):
        names = pair.get("calibrated", {}).get("mechanisms", [])
        yield from _calibrated_mechanisms(f"lopuhaa2024.pairs[{i}].calibrated.mechanisms", names)
    for name in own["atlas"]["cells"]:
        if name not in MECHANISMS:
            yield f"beyond.atlas.cells has {name!r}; allowed is one of {', '.join(MECHANISMS)}."
    if study := own.get("synthetic"):
        yield from block_contradictions("beyond.synthetic", study, MECHANISMS)
        yield from _missing_tables(configuration["lopuhaa2024"]["synthetic"], study)
    yield from _attack_contradictions(configuration)
    for study in ("atlas", "pairs_calibrated", "pairs_promises", "pairs_estimation"):
        seen: dict[str, tuple[str, str, str]] = {}
        for i, pair in enumerate(pairs_of(study, configuration)):
            yield from pair_contradictions(f"beyond.{study}.pairs[{i}]", pair, seen, configuration)


def _missing_tables(drawn: Mapping[str, Any], study: Mapping[str, Any]) -> Iterator[str]:
    """Yield the blocks of a study that need more random tables than lopuhaa2024 has of their size."""
    for place, blocks in (("blocks", study["blocks"]), ("table2.blocks", study["table2"]["blocks"])):
        for i, block in enumerate(blocks):
            size = block["sensitive"], block["useful"]
            own = (*drawn["blocks"], *drawn["table2"]["blocks"])
            there = max((b["repetitions"] for b in own if (b["sensitive"], b["useful"]) == size), default=0)
            if block["repetitions"] > there:
                yield (
                    f"beyond.synthetic.{place}[{i}].repetitions is {block['repetitions']}; allowed are at"
                    f" most as many tables as lopuhaa2024.synthetic has of the size, {there}."
                )


def _attack_contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the attributes of which the attackers know something."""
    study = configuration["beyond"]["attack"]
    pair, proxy = study["pair"], study["proxy"]
    wrong = list(pair_contradictions("beyond.attack.pair", pair, {}, configuration))
    yield from wrong
    if not wrong:
        others = [
            name for name in attributes(pair.get("data", DATA), configuration) if name not in pair.values()
        ]
        if proxy not in others:
            yield f'beyond.attack.proxy is "{proxy}"; allowed is one of {", ".join(others)}.'


def _calibrated_mechanisms(key: str, names: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a list of mechanisms at a key that are to be calibrated."""
    yield from unknown_mechanisms(key, names, MECHANISMS)
    for i, name in enumerate(names):
        if name in MECHANISMS and not MECHANISMS[name].robust:
            yield f'{key}[{i}] is "{name}"; allowed are robust mechanisms, which can be calibrated.'
