"""Contradictions in the configuration of lopuhaa2024."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from papers.lopuhaa2024.catalogue import DESIGNS, MECHANISMS
from papers.lopuhaa2024.pairs import DATA, atlas_pairs, file_name
from reproduction.data.catalogue import attributes
from reproduction.planning.configuration import grid_contradictions
from reproduction.planning.own_mechanisms import own_contradictions


def contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence per contradiction in the keys of lopuhaa2024, each sound for itself."""
    paper = configuration["lopuhaa2024"]
    yield from grid_contradictions("lopuhaa2024.epsilon", paper["epsilon"])
    names = [entry for entry in paper["mechanisms"] if isinstance(entry, str)]
    yield from _unknown_mechanisms("lopuhaa2024.mechanisms", names)
    yield from own_contradictions("lopuhaa2024", paper, MECHANISMS)
    yield from _study_mechanisms("lopuhaa2024", paper)
    seen: dict[str, tuple[str, str, str]] = {}
    for i, pair in enumerate(paper["pairs"]):
        key = f"lopuhaa2024.pairs[{i}]"
        yield from _unknown_mechanisms(f"{key}.mechanisms", pair.get("mechanisms", []))
        yield from _study_mechanisms(key, pair)
        yield from _pair_contradictions(key, pair, seen, configuration)
    designs = paper["estimation"]["designs"]
    if not any(designs.values()):
        yield "lopuhaa2024.estimation.designs has no privacy level; allowed is one or more, of any promise."
    for name in designs:
        if name not in DESIGNS:
            yield f"lopuhaa2024.estimation.designs has {name!r}; allowed is one of {', '.join(DESIGNS)}."
    for study in ("drift", "few_records", "atlas", "estimation"):
        yield from _unknown_mechanisms(f"lopuhaa2024.{study}.mechanisms", paper[study]["mechanisms"])
    for name in paper["atlas"]["cells"]:
        if name not in MECHANISMS:
            yield f"lopuhaa2024.atlas.cells has {name!r}; allowed is one of {', '.join(MECHANISMS)}."
    of_atlas: dict[str, tuple[str, str, str]] = {}
    for i, pair in enumerate(atlas_pairs(configuration)):
        yield from _pair_contradictions(f"lopuhaa2024.atlas.pairs[{i}]", pair, of_atlas, configuration)
    for name, entry in configuration.get("data", {}).items():
        yield from _unknown_mechanisms(f"data.{name}.mechanisms", entry.get("mechanisms", []))
    yield from _study_contradictions(paper["synthetic"])


def _unknown_mechanisms(key: str, names: Sequence[str]) -> Iterator[str]:
    for i, name in enumerate(names):
        if name not in MECHANISMS:
            yield f'{key}[{i}] is "{name}"; allowed is one of {", ".join(MECHANISMS)}.'


def _study_mechanisms(key: str, keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the mechanisms of the studies of the paper, or of a pair of its own."""
    for study in ("orders", "calibrated"):
        names = keys.get(study, {}).get("mechanisms", [])
        yield from _unknown_mechanisms(f"{key}.{study}.mechanisms", names)
        for i, name in enumerate(names):
            if study == "calibrated" and name in MECHANISMS and not MECHANISMS[name].robust:
                yield (
                    f'{key}.{study}.mechanisms[{i}] is "{name}"; '
                    "allowed are robust mechanisms, which can be calibrated."
                )


def _pair_contradictions(
    key: str,
    pair: Mapping[str, Any],
    seen: dict[str, tuple[str, str, str]],
    configuration: Mapping[str, Any],
) -> Iterator[str]:
    data, sensitive, useful = counts = pair.get("data", DATA), pair["sensitive"], pair["useful"]
    try:
        known = attributes(data, configuration)
    except ValueError as problem:
        yield f"{key}.data: {problem}"
        return
    for name in ("sensitive", "useful"):
        if pair[name] not in known:
            yield f'{key}.{name} is "{pair[name]}"; allowed is one of {", ".join(known)}.'
    if sensitive == useful:
        yield f"{key} has {sensitive!r} twice; allowed are two different attributes."
    file = file_name(pair)
    if seen.get(file) == counts:
        yield f"{key} repeats {sensitive}, {useful}; allowed is each pair once."
    elif file in seen:
        yield f"{key} has the name of another pair, {file}, on disk; allowed are names that differ there."
    seen[file] = counts


def _study_contradictions(study: Mapping[str, Any]) -> Iterator[str]:
    key = "lopuhaa2024.synthetic"
    if study["reference"] not in study["epsilon"]:
        yield f"{key}.reference is {study['reference']}; allowed is one of {key}.epsilon."
    for place, blocks in (("blocks", study["blocks"]), ("table2.blocks", study["table2"]["blocks"])):
        names, solved = set(), set()
        for i, block in enumerate(blocks):
            here = f"{key}.{place}[{i}]"
            if block["name"] in names:
                yield f"{here}.name repeats {block['name']!r}; allowed is each name once."
            names.add(block["name"])
            yield from _unknown_mechanisms(f"{here}.mechanisms", block["mechanisms"])
            size = f"{block['sensitive']} x {block['useful']}"
            for mechanism in block["mechanisms"]:
                if (size, mechanism) in solved:
                    yield (
                        f"{here}.mechanisms repeats {mechanism} for {size}; "
                        "allowed is each mechanism once per size."
                    )
                solved.add((size, mechanism))
