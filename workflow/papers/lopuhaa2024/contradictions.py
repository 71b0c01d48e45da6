"""Contradictions in the configuration of lopuhaa2024."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from papers.lopuhaa2024.catalogue import COMPUTED, MECHANISMS
from papers.lopuhaa2024.pairs import DATA, file_name
from reproduction.data.catalogue import attributes
from reproduction.planning.configuration import grid_contradictions
from reproduction.planning.own_mechanisms import own_contradictions


def contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence per contradiction in the keys of lopuhaa2024, each sound for itself."""
    paper = configuration["lopuhaa2024"]
    yield from grid_contradictions("lopuhaa2024.epsilon", paper["epsilon"])
    names = [entry for entry in paper["mechanisms"] if isinstance(entry, str)]
    yield from unknown_mechanisms("lopuhaa2024.mechanisms", names)
    yield from own_contradictions("lopuhaa2024", paper, MECHANISMS)
    seen: dict[str, tuple[str, str, str]] = {}
    for i, pair in enumerate(paper["pairs"]):
        key = f"lopuhaa2024.pairs[{i}]"
        yield from unknown_mechanisms(f"{key}.mechanisms", pair.get("mechanisms", []))
        yield from pair_contradictions(key, pair, seen, configuration)
    for name, entry in configuration.get("data", {}).items():
        yield from unknown_mechanisms(f"data.{name}.mechanisms", entry.get("mechanisms", []))
    study = paper["synthetic"]
    if study["reference"] not in study["epsilon"]:
        key = "lopuhaa2024.synthetic"
        yield f"{key}.reference is {study['reference']}; allowed is one of {key}.epsilon."
    yield from block_contradictions("lopuhaa2024.synthetic", study, COMPUTED)


def unknown_mechanisms(key: str, names: Sequence[str], known: Iterable[str] = COMPUTED) -> Iterator[str]:
    """Yield a sentence per name in the list at a key that is not `known`."""
    known = tuple(known)
    for i, name in enumerate(names):
        if name not in known:
            yield f'{key}[{i}] is "{name}"; allowed is one of {", ".join(known)}.'


def pair_contradictions(
    key: str,
    pair: Mapping[str, Any],
    seen: dict[str, tuple[str, str, str]],
    configuration: Mapping[str, Any],
) -> Iterator[str]:
    """Yield what is wrong with the pair at a key; those `seen` before, by their name on disk, count too."""
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


def block_contradictions(key: str, study: Mapping[str, Any], known: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the blocks of a study at a key; their mechanisms must be `known`."""
    known = tuple(known)
    for place, blocks in (("blocks", study["blocks"]), ("table2.blocks", study["table2"]["blocks"])):
        names, solved = set(), set()
        for i, block in enumerate(blocks):
            here = f"{key}.{place}[{i}]"
            if block["name"] in names:
                yield f"{here}.name repeats {block['name']!r}; allowed is each name once."
            names.add(block["name"])
            yield from unknown_mechanisms(f"{here}.mechanisms", block["mechanisms"], known)
            size = f"{block['sensitive']} x {block['useful']}"
            for mechanism in block["mechanisms"]:
                if (size, mechanism) in solved:
                    yield (
                        f"{here}.mechanisms repeats {mechanism} for {size}; "
                        "allowed is each mechanism once per size."
                    )
                solved.add((size, mechanism))
