"""Contradictions in the configuration of the project's own results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from papers.frontier.pairs import pairs_of
from papers.lopuhaa2024.catalogue import DESIGNS, MECHANISMS
from papers.lopuhaa2024.contradictions import pair_contradictions, unknown_mechanisms
from papers.lopuhaa2024.pairs import DATA
from reproduction.data.catalogue import attributes


def contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence per contradiction in the keys of frontier, each sound for itself."""
    own = configuration["frontier"]
    for study in ("estimation", "pairs_estimation"):
        designs = own[study]["designs"]
        if not any(designs.values()):
            yield f"frontier.{study}.designs has no privacy level; allowed is one or more, of any promise."
        for name in designs:
            if name not in DESIGNS:
                yield f"frontier.{study}.designs has {name!r}; allowed is one of {', '.join(DESIGNS)}."
    proofs = own["proofs"]
    if float(proofs["solver"].get("tolerance", 0.0)) >= proofs["excess"]:
        yield "frontier.proofs.solver.tolerance is at least frontier.proofs.excess; it must be below that."
    for study in ("drift", "few_records", "several_levels", "atlas", "estimation", "pairs_estimation"):
        yield from unknown_mechanisms(f"frontier.{study}.mechanisms", own[study]["mechanisms"])
    for study in ("calibrated", "pairs_calibrated"):
        yield from _calibrated(f"frontier.{study}.mechanisms", own[study]["mechanisms"])
    for i, pair in enumerate(configuration["lopuhaa2024"]["pairs"]):
        names = pair.get("calibrated", {}).get("mechanisms", [])
        yield from _calibrated(f"lopuhaa2024.pairs[{i}].calibrated.mechanisms", names)
    for name in own["atlas"]["cells"]:
        if name not in MECHANISMS:
            yield f"frontier.atlas.cells has {name!r}; allowed is one of {', '.join(MECHANISMS)}."
    yield from _attack(configuration)
    for study in ("atlas", "pairs_calibrated", "pairs_promises", "pairs_estimation"):
        seen: dict[str, tuple[str, str, str]] = {}
        for i, pair in enumerate(pairs_of(study, configuration)):
            yield from pair_contradictions(f"frontier.{study}.pairs[{i}]", pair, seen, configuration)


def _attack(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the attributes of which the attackers know something."""
    study = configuration["frontier"]["attack"]
    pair, proxy = study["pair"], study["proxy"]
    wrong = list(pair_contradictions("frontier.attack.pair", pair, {}, configuration))
    yield from wrong
    if not wrong:
        others = [
            name for name in attributes(pair.get("data", DATA), configuration) if name not in pair.values()
        ]
        if proxy not in others:
            yield f'frontier.attack.proxy is "{proxy}"; allowed is one of {", ".join(others)}.'


def _calibrated(key: str, names: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a list of mechanisms at a key that are to be calibrated."""
    yield from unknown_mechanisms(key, names)
    for i, name in enumerate(names):
        if name in MECHANISMS and not MECHANISMS[name].robust:
            yield f'{key}[{i}] is "{name}"; allowed are robust mechanisms, which can be calibrated.'
