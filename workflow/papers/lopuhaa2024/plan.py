"""The parts of the tables of lopuhaa2024, and the contradictions in its configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from papers.lopuhaa2024.contradictions import contradictions as contradictions
from papers.lopuhaa2024.pairs import (
    chunks_of,
    counts_of,
    file_name,
    mechanisms_of,
    own_pairs,
    setting_of,
    solver_of,
)
from reproduction.planning.configuration import PartsByName, values
from reproduction.planning.paper import Counts, Parts, claim_entries

#: Random tables around one of the user's own unless the entry says another number, and how many per job.
OWN_REPETITIONS, OWN_PER_JOB = 20, 2

#: Random tables in a file, and those around one of the user's own: all are drawn, so more only add files.
TABLES_PER_FILE, OWN_PER_FILE = 100, 20


# Pairs of attributes --------------------------------------------------------------------------------------


def solutions(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the solved mechanisms: of pairs of attributes, and of the user's own tables."""
    return {**_of_pairs(configuration), **_of_own_tables(configuration)}


def fig2(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the solutions that Figure 2 shows."""
    return {"solutions": Parts(tuple(_of_pairs(configuration)))}


def own_fig2(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the solutions that Figure 2 shows for tables of the user's own."""
    return {"solutions": Parts(tuple(_of_own_tables(configuration)))}


def documents(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the certificates of Figure 2: those of its solutions."""
    return {
        name: {"solutions": Parts((name,)), **{key: part[key] for key in ("counts", "beta", "order")}}
        for name, part in _of_pairs(configuration).items()
    }


def _of_pairs(configuration: Mapping[str, Any]) -> PartsByName:
    return _cut(configuration, configuration["lopuhaa2024"]["pairs"])


def _of_own_tables(configuration: Mapping[str, Any]) -> PartsByName:
    # A pair may be of a table of the user's own, too.
    return {f"own/tables/{name}": x for name, x in _cut(configuration, own_pairs(configuration)).items()}


def _cut(configuration: Mapping[str, Any], pairs: Iterable[Mapping[str, Any]]) -> PartsByName:
    """Return the parts of pairs: of each, every so-many-th privacy level.

    A pair's own keys win over the common ones. There are never more parts than privacy levels.
    """
    paper = configuration["lopuhaa2024"]
    levels = values(paper["epsilon"])
    # What NR leaks over F is said of the lowest level, and takes a second on a large table.
    return {
        name: {**part, "mechanisms": mechanisms_of(paper, pair), "leaks": levels[:1]}
        for pair in pairs
        for name, part in chunks_of(paper, pair, levels)
    }


def coverage(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the table of coverage: the first pairs of attributes."""
    paper = configuration["lopuhaa2024"]
    study = {**paper["coverage"], "beta": float(paper["beta"]), "seed": configuration["seed"]}
    first = paper["pairs"][: study.pop("pairs")]
    return {file_name(pair): {**counts_of(pair), **study} for pair in first}


def random_tables(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the random tables, by size: as many of each as some block needs."""
    study = configuration["lopuhaa2024"]["synthetic"]
    numbers: dict[tuple[int, int], int] = {}
    for block in (*study["blocks"], *study["table2"]["blocks"]):
        size = block["sensitive"], block["useful"]
        numbers[size] = max(numbers.get(size, 0), block["repetitions"])
    return {
        part: {
            "sensitive": sensitive,
            "useful": useful,
            "numbers": list(range(file * TABLES_PER_FILE, (file + 1) * TABLES_PER_FILE)),
            **_origin(configuration),
        }
        for (sensitive, useful), number in sorted(numbers.items())
        for file, part in enumerate(
            _table_files(_size_name(sensitive, useful), range(number), TABLES_PER_FILE).names
        )
    }


def fresh_tables(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the fresh tables: a size and a concentration each."""
    fresh = configuration["lopuhaa2024"]["synthetic"]["fresh"]
    usual = _origin(configuration)
    concentrations = sorted({usual["concentration"], *map(float, fresh["concentrations"])})
    return {
        f"{_size_name(sensitive, useful)}/{concentration:g}": {
            "sensitive": sensitive,
            "useful": useful,
            "tables": fresh["tables"],
            **usual,
            "concentration": concentration,
        }
        for sensitive, useful in fresh["sizes"]
        for concentration in concentrations
    }


def own_tables(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the random tables around those of the user's own."""
    study = configuration["lopuhaa2024"]["synthetic"]
    return {
        part: {
            "counts": Counts(pair["data"], pair["sensitive"], pair["useful"]),
            "name": pair["data"],
            "numbers": list(range(file * OWN_PER_FILE, (file + 1) * OWN_PER_FILE)),
            "concentration": float(study["concentration"]),
            "seed": configuration["seed"],
        }
        for pair in own_pairs(configuration)
        for file, part in enumerate(_table_files(pair["data"], range(_repetitions(pair)), OWN_PER_FILE).names)
    }


def _origin(configuration: Mapping[str, Any]) -> dict[str, Any]:
    study = configuration["lopuhaa2024"]["synthetic"]
    return {
        "records": study["records"],
        "concentration": float(study["concentration"]),
        "seed": configuration["seed"],
    }


def _size_name(sensitive: int, useful: int) -> str:
    """Name a size in the name of a part."""
    return f"{sensitive}x{useful}"


def _table_files(name: str, numbers: Sequence[int], each: int) -> Parts:
    """Return the parts of a table of random tables that have some of them."""
    return Parts(tuple(f"{name}/{file}" for file in sorted({number // each for number in numbers})))


def _repetitions(pair: Mapping[str, Any]) -> int:
    return int(pair.get("repetitions", OWN_REPETITIONS))


def synthetic(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the synthetic study, at one significance level and all privacy levels."""
    paper = configuration["lopuhaa2024"]
    study = paper["synthetic"]
    return blocks_of(configuration, study["blocks"], [paper["beta"]], study["epsilon"])


def own_study(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of the study of Figure 4 for tables of the user's own: two random tables each."""
    paper = configuration["lopuhaa2024"]
    parts: PartsByName = {}
    for pair in own_pairs(configuration):
        name, mechanisms = pair["data"], mechanisms_of(paper, pair)
        for part, first in enumerate(range(0, _repetitions(pair), OWN_PER_JOB)):
            numbers = range(first, min(first + OWN_PER_JOB, _repetitions(pair)))
            parts[f"{name}/{part}"] = {
                "own_tables": _table_files(name, numbers, OWN_PER_FILE),
                "numbers": list(numbers),
                "epsilons": sorted(map(float, paper["synthetic"]["epsilon"])),
                "betas": [float(paper["beta"])],
                "order": float(paper["order"]),
                "mechanisms": mechanisms,
                **solver_of(paper, pair),
            }
    return parts


def quantiles(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the table of quantiles, at the lowest privacy level."""
    paper = configuration["lopuhaa2024"]
    study = paper["synthetic"]
    return {
        "samples": sorted(study["fresh"]["samples"]),
        "drawn": float(study["concentration"]),
        "epsilon": min(map(float, study["epsilon"])),
        **setting_of(paper),
    }


def sensitivity(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims that another pair, grid, prior or number of tables may decide otherwise."""
    entries = claim_entries("lopuhaa2024", ["L-S81b", "L-S81c", "L-S82", "L-S83b"])
    return {
        "claims": entries,
        "ends": entries[0]["arguments"]["ends"],
        "sample": entries[-1]["arguments"]["instances"],
    }


def beta(configuration: Mapping[str, Any]) -> PartsByName:
    """Return the parts of Table 2: several significance levels, at one privacy level."""
    study = configuration["lopuhaa2024"]["synthetic"]
    table2 = study["table2"]
    return blocks_of(configuration, table2["blocks"], table2["betas"], [study["reference"]])


def blocks_of(
    configuration: Mapping[str, Any],
    blocks: Sequence[Mapping[str, Any]],
    betas: Sequence[float],
    epsilons: Sequence[float],
    *,
    with_own: bool = True,
) -> PartsByName:
    """Return the parts of a study of random tables in blocks, with the user's own mechanisms or without."""
    paper = configuration["lopuhaa2024"]
    study = paper["synthetic"]
    parts: PartsByName = {}
    # The user's own mechanisms are on as many tables of every size as any other is.
    most = {(b["sensitive"], b["useful"]): b for b in sorted(blocks, key=lambda b: int(b["repetitions"]))}
    for block in blocks:
        is_largest = block is most[block["sensitive"], block["useful"]]
        mechanisms = mechanisms_of(paper, block) if with_own and is_largest else list(block["mechanisms"])
        tables, per_job = block["repetitions"], block.get("per_job", study["per_job"])
        # Which tables are in a part does not depend on how many there are: more tables leave it as it is.
        for part in range(math.ceil(tables / per_job)):
            numbers = range(part * per_job, min((part + 1) * per_job, tables))
            size = _size_name(block["sensitive"], block["useful"])
            parts[f"{block['name']}/{part}"] = {
                "random_tables": _table_files(size, numbers, TABLES_PER_FILE),
                "numbers": list(numbers),
                "epsilons": sorted(map(float, epsilons)),
                "betas": sorted(map(float, betas)),
                "order": float(paper["order"]),
                "mechanisms": mechanisms,
                **solver_of(paper, block),
            }
    return parts


def theorem_tables(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the random tables on which the theorems are checked."""
    tables = configuration["lopuhaa2024"]["theorems"]["tables"]
    return {
        "tables": [[[t["sensitive"], t["useful"]], t["records"]] for t in tables],
        "seed": configuration["seed"],
    }


def theorems(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the checks of the theorems."""
    paper = configuration["lopuhaa2024"]
    return {
        "orders": sorted(map(float, paper["theorems"]["orders"])),
        "epsilons": sorted(map(float, paper["theorems"]["epsilon"])),
        "beta": float(paper["beta"]),
    }
