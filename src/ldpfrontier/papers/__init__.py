"""The papers, one folder each, found by looking: what is computed for them, drawn, claimed and corrected.

A folder with a ``paper.yaml`` is a paper. The file says what there is, in the same notation for all of it:

- ``tables``: each is what a function returns. ``function`` is ``module:name`` in the folder (``name`` alone
  is in ``experiments``); ``tables`` names the tables it reads, in the order of its arguments; ``arguments``
  are plain values, and ``settings`` maps further arguments to keys of the configuration, or names a function
  of the folder's ``plan.py`` that returns them. A table too long for one job has ``parts`` instead of
  settings: a function of ``plan.py`` that returns the arguments of every part by name. ``schema`` is one of
  `ldpfrontier.tables`, or ``module:NAME`` in the folder.
- ``figures`` (functions in ``figures``) and ``layouts`` (tables of texts, in ``summaries``): likewise, with a
  ``caption`` and ``labels`` for the reports.
- ``claims`` and ``errata``: see `ldpfrontier.claims`.

Beside it lie ``experiments.py``, ``figures.py`` and ``claims.py``, and, where a paper has more to say,
``plan.py`` (parts, and what in the configuration contradicts what) and ``config.schema.json`` (its keys).

Reading papers needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).parent


class PaperError(ValueError):
    """A ``paper.yaml`` that does not say what it must; the message names the file and the entry."""


@dataclass(frozen=True)
class Counts:
    """A table of counts as an argument: the workflow reads it from its file and passes it on.

    Attributes
    ----------
    data : str
        Name of the data set.
    sensitive, public : str
        Its attributes in the rows and in the columns.
    """

    data: str
    sensitive: str
    public: str


@dataclass(frozen=True)
class Call:
    """A function of a paper and what it is given: the common part of tables, figures and layouts."""

    paper: str
    name: str
    function: str
    tables: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] | str = field(default_factory=dict)
    caption: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def function_name(self) -> str:
        """The function as ``module:name``, to import it."""
        module, _, name = self.function.partition(":")
        return f"{_module(self.paper, module)}:{name}"

    def resolved(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the call, the tables aside."""
        if isinstance(self.settings, str):
            return {**self.arguments, **_planned(self, self.settings, configuration)}
        found = {name: look_up(configuration, key) for name, key in self.settings.items()}
        return {**self.arguments, **found}


@dataclass(frozen=True)
class Table(Call):
    """A table of results.

    Attributes
    ----------
    schema : str
        Name in `ldpfrontier.tables`, or ``module:NAME`` in the paper's folder.
    parts : str, optional
        Function of ``plan.py`` that returns the arguments of every part.
    publish : bool
        Whether the parts are put together; tables that others read in parts need not be.
    brief : bool
        Whether a job takes a second or so, and is better done where the workflow runs.
    """

    schema: str = "RESULTS"
    parts: str | None = None
    publish: bool = True
    brief: bool = False

    @property
    def schema_name(self) -> str:
        """The schema as ``module:name``, to import it."""
        module, _, name = self.schema.rpartition(":")
        return f"{_module(self.paper, module) if module else 'ldpfrontier.tables'}:{name}"

    def jobs(self, configuration: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the arguments of every part by the name of the part."""
        if self.parts is None:
            raise PaperError(f"Table {self.name} of {self.paper} has no parts.")
        parts = _planned(self, self.parts, configuration)
        return {name: {**self.arguments, **part} for name, part in parts.items()}


@dataclass(frozen=True)
class Layout(Call):
    """A table of texts to read, in the formats that are wanted."""

    formats: tuple[str, ...] = ("md",)


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, and what there is of it."""

    key: str
    title: str
    authors: str
    year: int
    venue: str
    doi: str
    url: str
    tables: Mapping[str, Table]
    figures: Mapping[str, Call]
    layouts: Mapping[str, Layout]
    claims: Sequence[Mapping[str, Any]]
    errata: Sequence[Mapping[str, Any]]

    @property
    def published(self) -> list[str]:
        """The names of the tables that are put together, in their order."""
        return [name for name, table in self.tables.items() if table.publish]

    @cached_property
    def configuration_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the paper's section of the configuration; None if it has no section."""
        path = ROOT / self.key / "config.schema.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def plan(self) -> ModuleType | None:
        """Import the paper's ``plan.py``; None if it has none."""
        if not (ROOT / self.key / "plan.py").is_file():
            return None
        return importlib.import_module(f"{__name__}.{self.key}.plan")


def papers(root: Path = ROOT) -> dict[str, Paper]:
    """Find the papers: by key, the oldest first.

    Raises
    ------
    PaperError
        If a ``paper.yaml`` lacks something, has something unknown, or names a table that is not there.
    """
    found = [read(path) for path in sorted(root.glob("*/paper.yaml"))]
    return {paper.key: paper for paper in sorted(found, key=lambda paper: (paper.year, paper.key))}


def read(path: Path) -> Paper:
    """Read one ``paper.yaml``; the key of the paper is the name of its folder."""
    key = path.parent.name
    entries = dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    made: dict[str, Any] = {"key": key, "claims": (), "errata": (), "venue": "", "doi": "", "url": ""}
    kinds: dict[str, tuple[type[Call], str]] = {
        "tables": (Table, "experiments"),
        "figures": (Call, "figures"),
        "layouts": (Layout, "summaries"),
    }
    for kind, (cls, module) in kinds.items():
        made[kind] = {
            name: _call(path, cls, module, key, name, entry or {})
            for name, entry in entries.pop(kind, {}).items()
        }
    try:
        paper = Paper(**made | entries)
    except TypeError as error:
        raise PaperError(f"{path} does not fit: {error}.") from None
    for call in (*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()):
        if unknown := [name for name in call.tables if name not in paper.tables]:
            raise PaperError(f"{call.name} in {path} reads the table {unknown[0]}, which is not there.")
    return paper


def _call(path: Path, cls: type[Call], module: str, paper: str, name: str, entry: dict[str, Any]) -> Call:
    function = entry.get("function", name)
    lists = {key: tuple(entry[key]) for key in ("tables", "formats") if key in entry}
    caption = " ".join(entry.get("caption", "").split())
    filled = {"function": function if ":" in function else f"{module}:{function}", "caption": caption}
    try:
        return cls(paper=paper, name=name, **entry | lists | filled)
    except TypeError as error:
        raise PaperError(f"{name} in {path} does not fit: {error}.") from None


def load(paper: str, name: str) -> Any:
    """Import ``module:name`` of a paper's folder."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"{__name__}.{paper}.{module}"), attribute)


def look_up(configuration: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key."""
    value: Any = configuration
    for part in key.split("."):
        value = value[part]
    return value


def data_of(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Counts]]:
    """Yield the arguments that are tables of counts."""
    return ((name, value) for name, value in arguments.items() if isinstance(value, Counts))


def _module(paper: str, name: str) -> str:
    return f"{__name__}.{paper}.{name}"


def _planned(call: Call, name: str, configuration: Mapping[str, Any]) -> dict[str, Any]:
    return dict(load(call.paper, f"plan:{name}")(configuration, **call.arguments))
