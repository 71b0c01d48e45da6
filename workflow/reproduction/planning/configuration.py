"""The configuration of the workflow: checked against its JSON schema, one sentence per problem; and grids."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from reproduction.data.catalogue import catalogue, own_tables
from reproduction.planning.paper import Paper

#: The merged configuration; the arguments of a function by name; and those of the parts of a table.
Configuration = Mapping[str, Any]
Arguments = dict[str, Any]
PartsByName = dict[str, Arguments]

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
    "maxItems": "with at most {} entries",
    "minLength": "with at least {} characters",
    "pattern": "that matches {}",
}


_NO_FILE = "there is no such file beside the files of configuration or in the working directory"
#: Most bytes of the name of a column: two of them, and more, are the name of a file.
_MOST_BYTES = 100
_NO_NAME = (
    "it becomes a part of the names of files, so that allowed is a name without / { } < > and control"
    f" characters, of at most {_MOST_BYTES} bytes, that is not . or ..; rename the column in the file"
)


class ConfigurationError(ValueError):
    """One sentence per problem of a configuration."""


def schema_with(common: Mapping[str, Any], found: Iterable[Paper]) -> dict[str, Any]:
    """Return the JSON schema of the whole configuration: the common one, with the sections of the papers."""
    sections = {p.key: p.configuration_schema for p in found if p.configuration_schema is not None}
    return {
        **common,
        "required": [*common["required"], *sections],
        "properties": {**common["properties"], **sections},
    }


def check(configuration: Mapping[str, Any], common: Mapping[str, Any], found: Iterable[Paper]) -> None:
    """Refuse a configuration that breaks the schema or contradicts itself, with one sentence per problem.

    All keys are there, defaults and overrides merged.
    """
    found = list(found)
    schema = schema_with(common, found)
    plain = json.loads(json.dumps(configuration, default=str))
    errors = sorted(Draft202012Validator(schema).iter_errors(plain), key=lambda e: list(map(str, e.path)))
    problems = [
        *(
            text
            for error in errors
            if not _is_nonfinite(error.instance)
            for text in _sentences(error, schema)
        ),
        *(
            f"{_dotted_key(path)} is {value}; allowed is a finite number."
            for path, value in _nonfinite_numbers(plain)
        ),
    ]
    # What contradicts what can only be asked about keys that are sound each for itself.
    if problems := problems or list(_contradictions(plain, found)):
        raise ConfigurationError("\n".join(dict.fromkeys(problems)))


def read_texts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of the command line with the texts inside lists and mappings read as YAML.

    Snakemake reads ``figures=3`` as a number, but the 3 of ``figures={dpi: 3}`` as a text.
    """
    return {
        key: _read_inside(value) if isinstance(value, dict | list) else value for key, value in given.items()
    }


def _read_inside(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _read_inside(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_read_inside(inner) for inner in value]
    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError:
        return value


def _sentences(error: ValidationError, whole: Mapping[str, Any]) -> Iterator[str]:
    where, found = _dotted_key(error.absolute_path), error.instance
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(schema["properties"])
        for name in sorted(found.keys() - set(known)):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(known)}."
            # A section of one paper may have the key of another one.
            places = [key for key, x in whole["properties"].items() if name in x.get("properties", {})]
            if len(error.absolute_path) == 1 and len(places) == 1:
                hint = f"did you mean {places[0]}.{name}?"
            yield f"Unknown key {_dotted_key([*error.absolute_path, name])}; {hint}"
    elif error.validator == "required":
        for name in sorted(set(schema["required"]) - found.keys()):
            yield f"The key {_dotted_key([*error.absolute_path, name])} is missing."
    elif error.validator == "uniqueItems":
        yield f"{where} has an entry twice; its entries must differ."
    else:
        hint = " (YAML reads it as text; write 1.0e-7, not 1e-7)" if _is_number(found) else ""
        yield f"{where} is {_abbreviate(found)}{hint}; allowed is {_describe_allowed(schema)}."


def _is_nonfinite(value: Any) -> bool:
    """Tell whether a value is .nan or .inf, which many a schema lets pass."""
    return isinstance(value, float) and not math.isfinite(value)


def _nonfinite_numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    """Yield the numbers that are not finite, each with its place."""
    if _is_nonfinite(value):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _nonfinite_numbers(inner, (*path, key))


def _dotted_key(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".") or "The configuration"


def _abbreviate(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _describe_allowed(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join("null" if value is None else str(value) for value in schema["enum"])
    types = schema.get("type", [])
    names = [_TYPES[name] for name in ([types] if isinstance(types, str) else types)]
    ranges = [text.format(schema[name]) for name, text in _RANGES.items() if name in schema]
    return " ".join([" or ".join(names), " and ".join(ranges)]).strip()


def _contradictions(configuration: Mapping[str, Any], found: Iterable[Paper]) -> Iterator[str]:
    adult = configuration["adult"]
    if adult["source"] == "file" and adult["file"] is None:
        yield "adult.source is 'file' but adult.file is null; it must name the raw adult.data."
    if adult["source"] in ("auto", "file") and adult["file"] and not Path(adult["file"]).is_file():
        yield f"adult.file is {adult['file']!r}; {_NO_FILE}."
    yield from _own_tables(configuration)
    for paper in found:
        plan = paper.plan()
        if plan is not None and hasattr(plan, "contradictions"):
            yield from plan.contradictions(configuration)


def _own_tables(configuration: Mapping[str, Any]) -> Iterator[str]:
    for name, table in own_tables(configuration).items():
        key = f"data.{name}"
        if name in catalogue() or name in configuration:
            yield f"{key} has the name of another data set or section; allowed is a name of its own."
            continue
        if not table.path(Path()).exists():
            yield f"{key}.file is {table.counts!r}; {_NO_FILE}."
            continue
        named = zip(("sensitive", "useful"), table.attributes, strict=True)
        if wrong := [(place, column) for place, column in named if not _names_a_file(column)]:
            yield from (f"{key}.{place} is {column!r}; {_NO_NAME}." for place, column in wrong)
            continue
        try:
            table.contingency(table.read(table.path(Path())), *table.attributes)
        except ValueError as problem:
            yield f"{key}: {problem}"


def _names_a_file(column: str) -> bool:
    """Tell whether a column can be a part of the names of files, in which Snakemake reads braces and < >."""
    is_short = len(column.encode()) <= _MOST_BYTES
    return is_short and column.isprintable() and column not in (".", "..") and not set(column) & set("/{}<>")


def grid_contradictions(key: str, axis: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a grid of values: `key` is its place, `axis` its keys, as for `values`."""
    if axis.get("values") is not None:
        return
    start, stop = axis["start"], axis["stop"]
    if not start < stop:
        yield f"{key}.stop is {stop}; allowed is a number greater than {key}.start, {start}."
    elif start == 0 and axis.get("spacing") == "geometric":
        yield f"{key}.start is 0; allowed is a number greater than 0 when {key}.spacing is geometric."


def grid(start: float, stop: float, points: int, spacing: str = "linear") -> list[float]:
    """Return `points` values from `start` to `stop`, both included, rounded to 10 significant digits.

    Equally spaced are the values themselves ("linear"), their square roots ("quadratic", more values at the
    low end) or their logarithms ("geometric").
    """
    scales: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
        "linear": (float, float),
        "quadratic": (math.sqrt, lambda x: x**2),
        "geometric": (math.log, math.exp),
    }
    if spacing not in scales:
        raise ValueError(f"The spacing is {spacing!r}; allowed are {', '.join(scales)}.")
    forward, back = scales[spacing]
    low, high = forward(start), forward(stop)
    inner = [back(low + (high - low) * i / (points - 1)) for i in range(1, points - 1)]
    return [float(f"{value:.10g}") for value in (start, *inner, stop)]


def values(axis: Mapping[str, Any]) -> list[float]:
    """Return the values of a grid, sorted: its keys are start, stop, points, and maybe spacing and values."""
    rest = dict(axis)
    given: Sequence[float] = rest.pop("values", None) or grid(**rest)
    return sorted(map(float, given))
