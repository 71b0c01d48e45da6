"""Entries of YAML files as dataclasses, whose annotations are the schema; what does not fit gets a sentence.

Planning and data both read such files. Needs the standard
library and PyYAML alone.
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, TypeVar

import yaml

T = TypeVar("T")

#: What a value must be, and how to call that, by the head of an annotation.
_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "tuple": (list, "a list of texts"),
    "Sequence": (list, "a list"),
    "Mapping": (dict, "a mapping"),
    "None": (type(None), "null"),
}


#: PyYAML's parser in C, ten times as fast as its own, where PyYAML was built with it: every job reads files.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str) -> Any:
    """Return what a text in YAML says; raise a YAMLError if it is none."""
    try:
        return yaml.load(text, _LOADER)
    except yaml.YAMLError:
        return yaml.safe_load(text)  # Its messages are the same everywhere, and name the line of the cause.


def from_entry(cls: type[T], entry: Any, name: str, error: type[ValueError], /, **given: Any) -> T:
    """Return the dataclass that an entry of a YAML file describes; its annotations say what values must be.

    Attributes in `given` do not come from the file. If the entry lacks something, has something unknown, or
    has a value of another kind, the `error` is raised, with the name of the entry.
    """
    fields = {f.name: f for f in dataclasses.fields(cls) if f.name not in given}  # type: ignore[arg-type]
    if not isinstance(entry, dict):
        raise error(f"{name} is {entry!r}; it must be a mapping with {', '.join(fields)}.")
    for key in entry:
        if key not in fields:
            close = difflib.get_close_matches(str(key), fields, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(fields)}."
            raise error(f"{name} has the unknown key {key!r}; {hint}")
    if missing := [key for key, field in fields.items() if key not in entry and _is_required(field)]:
        raise error(f"{name} lacks {', '.join(missing)}.")
    for key, value in entry.items():
        kinds = [kind.partition("[")[0] for kind in str(fields[key].type).split(" | ")]
        if not any(_is_of_kind(value, kind) for kind in kinds):
            allowed = " or ".join(_KINDS[kind][1] for kind in kinds)
            raise error(f"{key} of {name} is {value!r}; it must be {allowed}.")
    lists = {key: tuple(value) for key, value in entry.items() if str(fields[key].type).startswith("tuple")}
    return cls(**{**entry, **lists, **given})


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _is_of_kind(value: Any, kind: str) -> bool:
    if kind == "tuple":
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    # In Python, true is a whole number.
    return isinstance(value, _KINDS[kind][0]) and (kind == "bool" or not isinstance(value, bool))
