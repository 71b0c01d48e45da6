"""Pairs of attributes in the configuration of lopuhaa2024, and the parts of studies of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reproduction.planning.own_mechanisms import names_in, own_mechanisms
from reproduction.planning.paper import Counts

#: The data set of a pair that names none.
DATA = "adult"


def chunks_of(
    paper: Mapping[str, Any], pair: Mapping[str, Any], epsilons: Sequence[float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parts of a pair by name: never more of them than privacy levels."""
    chunks = min(pair.get("chunks", paper["chunks"]), len(epsilons))
    for chunk in range(chunks):
        yield (
            f"{file_name(pair)}/{chunk}",
            {
                **counts_of(pair),
                # Neighbouring levels cost about the same, and so do the parts.
                "epsilons": list(epsilons[chunk::chunks]),
                **setting_of(paper),
                **solver_of(paper, pair),
            },
        )


def own_pairs(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the user's own tables as pairs."""
    return [{"data": name, **entry} for name, entry in configuration.get("data", {}).items()]


def mechanisms_of(paper: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    """Return the mechanisms of an entry that may have its own; the user's are among them in any case."""
    names = names_in(entry.get("mechanisms", paper["mechanisms"]))
    return [*dict.fromkeys([*names, *own_mechanisms(paper)])]


def counts_of(pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a pair, and the name of the instance, as arguments of a part."""
    counts = Counts(pair.get("data", DATA), pair["sensitive"], pair["useful"])
    name = f"{counts.sensitive}, {counts.useful}"
    return {"counts": counts, "instance": name if counts.data == DATA else f"{counts.data}: {name}"}


def file_name(pair: Mapping[str, Any]) -> str:
    """Return a pair as it is in the name of a part."""
    data = pair.get("data", DATA)
    names = [] if data == DATA else [data]
    names.append(f"{pair['sensitive']}-{pair['useful']}")
    return "/".join(re.sub(r"[^\w-]+", "_", name) for name in names)


def setting_of(paper: Mapping[str, Any]) -> dict[str, float]:
    """Return the significance level and the order of the set F, as arguments of a part."""
    return {"beta": float(paper["beta"]), "order": float(paper["order"])}


def solver_of(paper: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stopping criteria, those of an entry first, as arguments of a part."""
    solver = {**paper["solver"], **entry.get("solver", {})}
    return {"tolerance": float(solver["tolerance"]), "max_rounds": solver["rounds"]}
