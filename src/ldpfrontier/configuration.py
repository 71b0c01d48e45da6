"""The configuration of the workflow: checked against its JSON schema, and resolved for the rules."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_RANGES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "greater than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "with at least {} entries",
    "minLength": "with at least {} characters",
}


class ConfigurationError(ValueError):
    """One sentence per problem of a configuration."""


def load_schema(path: Path | str) -> dict[str, Any]:
    """Read a JSON schema from a file."""
    schema: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return schema


def check(configuration: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse a configuration that breaks the schema or contradicts itself.

    Parameters
    ----------
    configuration : mapping
        All keys, defaults and overrides merged.
    schema : mapping
        The JSON schema.

    Raises
    ------
    ConfigurationError
        With one sentence per problem: the key, what was found and what is allowed.
    """
    plain = json.loads(json.dumps(configuration, default=str))
    errors = sorted(Draft202012Validator(schema).iter_errors(plain), key=lambda e: list(map(str, e.path)))
    problems = [sentence for error in errors for sentence in _sentences(error)]
    # What contradicts what can only be asked about keys that are sound each for itself.
    if problems := problems or list(_contradictions(plain)):
        raise ConfigurationError("\n".join(dict.fromkeys(problems)))


def _sentences(error: ValidationError) -> Iterator[str]:
    where, found = _key(error.absolute_path), error.instance
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(schema["properties"])
        for name in found.keys() - set(known):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(known)}."
            yield f"Unknown key {_key([*error.absolute_path, name])}; {hint}"
    elif error.validator == "required":
        for name in set(schema["required"]) - found.keys():
            yield f"The key {_key([*error.absolute_path, name])} is missing."
    elif error.validator == "uniqueItems":
        yield f"{where} has an entry twice; its entries must differ."
    else:
        hint = " (YAML reads it as text; write 1.0e-7, not 1e-7)" if _is_number(found) else ""
        yield f"{where} is {_shown(found)}{hint}; allowed is {_allowed(schema)}."


def _key(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or "The configuration"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _allowed(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join("null" if value is None else str(value) for value in schema["enum"])
    types = schema.get("type", [])
    names = [_TYPES[name] for name in ([types] if isinstance(types, str) else types)]
    ranges = [text.format(schema[name]) for name, text in _RANGES.items() if name in schema]
    return " ".join([" or ".join(names), " and ".join(ranges)]).strip()


def _contradictions(configuration: Mapping[str, Any]) -> Iterator[str]:
    adult, paper = configuration["adult"], configuration["lopuhaa2024"]
    if adult["source"] == "file" and adult["file"] is None:
        yield "adult.source is 'file' but adult.file is null; it must name the raw adult.data."
    grid = paper["epsilon"]
    if grid["values"] is None and not grid["start"] < grid["stop"]:
        yield (
            f"lopuhaa2024.epsilon.stop is {grid['stop']}; allowed is a number greater than "
            f"lopuhaa2024.epsilon.start, {grid['start']}."
        )
    seen = set()
    for i, pair in enumerate(paper["pairs"]):
        names = pair["sensitive"], pair["public"]
        if names[0] == names[1]:
            yield f"lopuhaa2024.pairs[{i}] has {names[0]!r} twice; allowed are two different attributes."
        if names in seen:
            yield f"lopuhaa2024.pairs[{i}] repeats {names[0]}, {names[1]}; allowed is each pair once."
        seen.add(names)


def grid(start: float, stop: float, points: int, spacing: str = "linear") -> list[float]:
    """Return `points` values from `start` to `stop`, both included, rounded to 10 significant digits.

    Equally spaced are the values themselves ("linear"), their square roots ("quadratic", more values at the
    low end) or their logarithms ("geometric").
    """
    match spacing:
        case "linear":
            values = np.linspace(start, stop, points)
        case "quadratic":
            values = np.linspace(start**0.5, stop**0.5, points) ** 2
        case "geometric":
            values = np.geomspace(start, stop, points)
        case _:
            raise ValueError(f"The spacing is {spacing!r}; allowed are linear, quadratic and geometric.")
    return [float(f"{value:.10g}") for value in values]


@dataclass(frozen=True)
class Pair:
    """What determines the numbers of one (sensitive, public) pair of Figure 2, and its number of jobs."""

    sensitive: str
    public: str
    beta: float
    order: float
    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...]
    tolerance: float
    max_rounds: int
    chunks: int

    def settings(self) -> dict[str, Any]:
        """Return all but the number of jobs, as plain values for ``params`` and hashes."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if k != "chunks"}

    def chunk(self, index: int) -> dict[str, Any]:
        """Return the settings with every `chunks`-th epsilon: neighbours cost alike, so chunks do too."""
        return {**self.settings(), "epsilons": list(self.epsilons[index :: self.chunks])}


def pairs(configuration: Mapping[str, Any]) -> dict[tuple[str, str], Pair]:
    """Resolve the pairs of Figure 2 of lopuhaa2024 from a checked configuration.

    Returns
    -------
    dict
        By (sensitive, public), in the order of the configuration; a pair's own keys win over the common ones,
        and there are never more jobs than values of epsilon.
    """
    paper = configuration["lopuhaa2024"]
    axis = dict(paper["epsilon"])
    values: Sequence[float] = axis.pop("values") or grid(**axis)
    resolved = {}
    for entry in paper["pairs"]:
        own = {**{key: paper[key] for key in ("chunks", "mechanisms")}, **entry}
        solver = {**paper["solver"], **entry.get("solver", {})}
        resolved[entry["sensitive"], entry["public"]] = Pair(
            sensitive=entry["sensitive"],
            public=entry["public"],
            beta=float(paper["beta"]),
            order=float(paper["order"]),
            mechanisms=tuple(own["mechanisms"]),
            epsilons=tuple(sorted(map(float, values))),
            tolerance=float(solver["tolerance"]),
            max_rounds=solver["rounds"],
            chunks=min(own["chunks"], len(values)),
        )
    return resolved
