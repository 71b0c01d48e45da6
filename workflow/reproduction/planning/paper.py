"""The papers, one folder each, with their tables, figures, claims and errata.

A folder with a ``paper.yaml`` is a paper, in this repository or, where the configuration names it, outside of
it. The file says what there is, in the same notation for all of it:

- ``builds_on``: other papers whose modules, tables and mechanisms of the user's own the folder uses.
- ``tables``: each is what a function returns. ``function`` is ``module:name`` in the folder (``name`` alone
  is in ``experiments``); ``tables`` names the tables it reads, in the order of its arguments, one of a paper
  that the folder builds on as ``paper/table``; ``arguments``
  are plain values, and ``settings`` maps further arguments to keys of the configuration, or names a function
  of the folder's ``plan.py`` that returns them; ``needs`` is a key of the configuration without which it is
  not made. A table too long for one job has ``parts`` instead of
  settings: a function of ``plan.py`` that returns the arguments of every part by name, and with `Parts` which
  parts of a table it reads. ``population`` says that a table is drawn at random, ``certificates`` that it
  has certificates of optima (`reproduction.results.certificates.DOCUMENTS`), which become files of their own
  when somebody asks for them. ``schema`` is one of
  `reproduction.results.tables`, or ``module:NAME`` in the folder. With ``batches`` the function is given
  iterables of frames instead of frames (`reproduction.results.batches`), and may return one, so that no
  table need fit into the memory.
- ``figures`` (functions in ``figures``) and ``layouts`` (tables of texts, in ``summaries``): likewise, with a
  ``caption`` and ``labels`` for the reports; ``lead`` is a second caption, for a reader who knows none of the
  papers, of a figure that opens the page.
- ``claims`` and ``errata``: see `reproduction.ledger.claims`; ``highlights``, what a reader should know
  first: see `reproduction.ledger.quotes`.

Beside it lie ``experiments.py``, ``figures.py`` and ``claims.py``, and, where a paper has more to say,
``plan.py`` (parts, and what in the configuration contradicts what) and ``config.schema.json`` (its keys).

Reading papers needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import yaml

from reproduction.base.entries import from_entry, parse_yaml
from reproduction.planning.own_mechanisms import make_importable

#: Where the papers are: the folder of the package `papers`.
ROOT = Path(__file__).resolve().parents[2] / "papers"

#: What goes beyond them: folders beside that one, packages of these names, which are described as they are.
BEYOND = ("beyond", "open_questions")

T = TypeVar("T", bound="FunctionCall")


class PaperError(ValueError):
    """The error for an invalid ``paper.yaml``; the message names the file and the entry."""


@dataclass(frozen=True)
class Counts:
    """A table of counts as an argument: the workflow reads it from its file and passes it on.

    The sensitive attribute of the data set is in the rows, the useful one in the columns.
    """

    data: str
    sensitive: str
    useful: str


@dataclass(frozen=True)
class Parts:
    """Some parts of a table that a call reads, instead of all; in its arguments by the name of the table."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class FunctionCall:
    """A function of a paper with its arguments: the common part of tables, figures and layouts."""

    paper: str
    name: str
    function: str = ""
    tables: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] | str = field(default_factory=dict)
    caption: str = ""
    lead: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    batches: bool = False

    @property
    def function_name(self) -> str:
        """The function as ``module:name``, to import it."""
        module, _, name = self.function.partition(":")
        return f"{module_name(self.paper, module)}:{name}"

    def is_asked_for(self, configuration: Mapping[str, Any]) -> bool:
        """Tell whether the configuration has what the call needs, and it is not empty."""
        try:
            return not self.needs or bool(look_up(configuration, self.needs))
        except KeyError:
            return False

    def resolve(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the call, the tables aside; a key that is not there is refused."""
        if isinstance(self.settings, str):
            return {**self.arguments, **_call_of_plan(self, self.settings, configuration)}
        found = {}
        for name, key in self.settings.items():
            try:
                found[name] = look_up(configuration, key)
            except KeyError:
                raise PaperError(
                    f"{self.name} of {self.paper} asks for {key}, which the configuration does not have."
                ) from None
        return {**self.arguments, **found}


@dataclass(frozen=True)
class Table(FunctionCall):
    """A table of results.

    `schema` is a name in `reproduction.results.tables`, or ``module:NAME`` in the paper's folder; `parts` a
    function of ``plan.py`` that returns the arguments of every part. Parts are put together if they
    `publish`; tables that others read in parts need not be. A `population` holds random instances: it is kept
    with the data, for experiments to read, and its parts are not put together. A `brief` job takes a second
    or so, and is better done where the workflow runs. A table of `certificates` is for the checker to read.

    A job asks a cluster for `memory` in MB, its own need and that of Snakemake, which starts it there, and
    for some `minutes`. One that fails is tried again with twice as much of both.
    """

    schema: str = "RESULTS"
    parts: str | None = None
    publish: bool = True
    population: bool = False
    brief: bool = False
    certificates: bool = False
    memory: int = 1000
    minutes: int = 10

    @property
    def schema_name(self) -> str:
        """The schema as ``module:name``, to import it."""
        if self.certificates:
            return "reproduction.results.certificates:DOCUMENTS"
        module, _, name = self.schema.rpartition(":")
        return f"{module_name(self.paper, module) if module else 'reproduction.results.tables'}:{name}"

    @property
    def whole(self) -> bool:
        """Whether the table ends up in one file."""
        return not self.parts or self.is_result

    @property
    def is_result(self) -> bool:
        """Whether it is published: one file among the results."""
        return self.publish and not self.population and not self.certificates

    def part_arguments(self, configuration: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the arguments of every part by the name of the part."""
        if self.parts is None:
            raise PaperError(f"Table {self.name} of {self.paper} has no parts.")
        parts = _call_of_plan(self, self.parts, configuration)
        return {name: {**self.arguments, **part} for name, part in parts.items()}


@dataclass(frozen=True)
class Layout(FunctionCall):
    """A table of texts to read, in Markdown."""


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, and what there is of it; numbers of equations are those of one `version`.

    Without authors it is no paper, but the results of this project.
    """

    key: str
    folder: Path
    title: str
    year: int
    authors: str = ""
    venue: str = ""
    doi: str = ""
    url: str = ""
    version: str = ""
    builds_on: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    figures: Mapping[str, FunctionCall] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    claims: Sequence[Mapping[str, Any]] = ()
    errata: Sequence[Mapping[str, Any]] = ()
    highlights: Sequence[Mapping[str, Any]] = ()

    def select_calls(self, configuration: Mapping[str, Any]) -> Paper:
        """Return the paper with the tables, figures and layouts that the configuration asks for."""

        def kept(calls: Mapping[str, T]) -> dict[str, T]:
            return {name: call for name, call in calls.items() if call.is_asked_for(configuration)}

        return replace(self, tables=kept(self.tables), figures=kept(self.figures), layouts=kept(self.layouts))

    @property
    def short_name(self) -> str:
        """Authors and year, as a text names the paper: the surname of one or two, of more the first.

        The title, if there are no authors.
        """
        if not self.authors:
            return self.title
        surnames = [name.split()[-1] for name in self.authors.replace(" and ", ", ").split(", ")]
        who = " and ".join(surnames) if len(surnames) < 3 else f"{surnames[0]} et al."
        return f"{who} {self.year}"

    @property
    def is_outside(self) -> bool:
        """Whether it lies outside the repository."""
        return self.folder.parent not in (ROOT, ROOT.parent)

    @property
    def is_beyond(self) -> bool:
        """Whether it is no paper, but what this project adds to the papers."""
        return self.key in BEYOND

    @property
    def link(self) -> str:
        """Where the paper is: by its DOI if it has one."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url

    @property
    def published_tables(self) -> list[str]:
        """The names of the tables of results that are put together, in their order."""
        return [name for name, table in self.tables.items() if table.is_result]

    @property
    def has_certificates(self) -> bool:
        """Whether some table has certificates of optima."""
        return any(table.certificates for table in self.tables.values())

    @cached_property
    def configuration_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the paper's section of the configuration; None if it has no section."""
        path = self.folder / "config.schema.json"
        if not path.is_file():
            return None
        # The whole is one document, in which the definitions that all papers share are its own.
        return dict(
            json.loads(re.sub(r'"[^"]*/common\.schema\.json#', '"#', path.read_text(encoding="utf-8")))
        )

    def plan(self) -> ModuleType | None:
        """Import the paper's ``plan.py``; None if it has none."""
        if not (self.folder / "plan.py").is_file():
            return None
        return importlib.import_module(module_name(self.key, "plan"))


def table_place(key: str, name: str) -> str:
    """Return the table that a paper names as ``paper/table``; its own ones it names without itself."""
    return name if "/" in name else f"{key}/{name}"


def papers(root: Path = ROOT, outside: Iterable[str | Path] = ()) -> dict[str, Paper]:
    """Find the papers in a folder, what goes beyond them, and further ones outside: by key, the oldest first.

    The modules of those outside can be imported as those of the others from now on. Refused are a
    ``paper.yaml`` that lacks something, has something unknown, or names a table that is not there, and a
    folder outside that is no paper, or has the name of another one.
    """
    paths = [*sorted(root.glob("*/paper.yaml"))]
    paths += [path for name in BEYOND for path in root.parent.glob(f"{name}/paper.yaml")]
    found = [read(path) for path in paths]
    for folder in map(Path, outside):
        found.append(_read_outside(folder, {paper.key for paper in found}))
    by_key = {paper.key: paper for paper in sorted(found, key=lambda paper: (paper.year, paper.key))}
    for paper in found:
        if wrong := next(_wrong_neighbours(paper, by_key), ""):
            raise PaperError(f"{paper.folder / 'paper.yaml'} {wrong}")
    return by_key


def _read_outside(folder: Path, known: Set[str]) -> Paper:
    """Read a paper outside the repository, and let its modules be imported."""
    folder = folder.resolve()
    if not (folder / "paper.yaml").is_file():
        raise PaperError(f"{folder} has no paper.yaml; allowed is the folder of a paper.")
    if not re.fullmatch("[a-z][a-z0-9_]*", folder.name):
        raise PaperError(
            f"{folder} is the folder of a paper; its name must be of lower-case letters, digits and _."
        )
    if folder.name in known:
        raise PaperError(f"{folder} has the name of another paper; allowed is a name of its own.")
    make_importable(folder)
    return read(folder / "paper.yaml")


def read(path: Path) -> Paper:
    """Read one ``paper.yaml``; the key of the paper is the name of its folder."""
    try:
        entries = parse_yaml(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PaperError(f"Line {line} of {path} is not YAML: {error.problem}.") from None
    paper = from_entry(Paper, entries, str(path), PaperError, key=path.parent.name, folder=path.parent)
    paper = replace(
        paper,
        tables={name: _read_call(path, Table, "experiments", name, x) for name, x in paper.tables.items()},
        figures={
            name: _read_call(path, FunctionCall, "figures", name, x) for name, x in paper.figures.items()
        },
        layouts={name: _read_call(path, Layout, "summaries", name, x) for name, x in paper.layouts.items()},
    )
    for call in (*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()):
        if wrong := next(_contradictions(call, paper), ""):
            raise PaperError(f"{call.name} in {path} {wrong}")
    return paper


def _read_call(path: Path, cls: type[T], module: str, name: str, entry: Any) -> T:
    call = from_entry(cls, entry or {}, f"{name} in {path}", PaperError, paper=path.parent.name, name=name)
    function = call.function or name
    return replace(
        call,
        function=function if ":" in function else f"{module}:{function}",
        caption=" ".join(call.caption.split()),
        lead=" ".join(call.lead.split()),
    )


def _wrong_neighbours(paper: Paper, papers: Mapping[str, Paper]) -> Iterator[str]:
    """Yield what a paper names of other papers that is not there, as the rest of a sentence."""
    for other in paper.builds_on:
        if other not in papers or other == paper.key:
            yield f"builds on {other!r}; allowed are {', '.join(key for key in papers if key != paper.key)}."
    for call in (*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()):
        for other, _, name in (name.partition("/") for name in call.tables if "/" in name):
            if name not in papers[other].tables:
                yield f"has {call.name}, which reads the table {name} of {other}, which is not there."
    for claim in (claim for claim in paper.claims if isinstance(claim, Mapping)):
        for place in (name for name in claim.get("tables") or () if "/" in name):
            other, _, name = place.partition("/")
            if other not in papers or name not in papers[other].published_tables:
                yield f"has the claim {claim.get('id')} about the table {place}, which is not there."


def _contradictions(call: FunctionCall, paper: Paper) -> Iterator[str]:
    """Yield what does not go together, as the rest of a sentence."""
    others = [name.partition("/")[0] for name in call.tables if "/" in name]
    if strange := [other for other in others if other not in paper.builds_on]:
        yield f"reads a table of {strange[0]}, on which the paper does not build."
    if unknown := [name for name in call.tables if "/" not in name and name not in paper.tables]:
        yield f"reads the table {unknown[0]}, which is not there."
    if isinstance(call, Table) and call.parts and call.settings:
        yield "has parts and settings; allowed is one of them."
    if isinstance(call, Table) and not call.parts and not call.publish:
        yield "is not published and has no parts; allowed is only a table in parts."


def claim_entries(key: str, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries of some claims of a paper, as plain values that can be arguments of a table."""
    folders = (Path(folder) / key for folder in importlib.import_module("papers").__path__)
    path = next(folder / "paper.yaml" for folder in folders if (folder / "paper.yaml").is_file())
    found = {entry["id"]: entry for entry in _claims(path, path.read_bytes())}
    return [deepcopy(dict(found[name])) for name in ids]


@cache
def _claims(path: Path, content: bytes) -> Sequence[Mapping[str, Any]]:
    """Return the claims of a ``paper.yaml``, read once as long as its content stays: several jobs ask."""
    return read(path).claims


def load(paper: str, name: str) -> Any:
    """Import ``module:name`` of a paper's folder."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module_name(paper, module)), attribute)


def look_up(configuration: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key; raise a KeyError if there is none."""
    value: Any = configuration
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise KeyError(key)
        value = value[part]
    return value


def count_arguments(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Counts]]:
    """Yield the arguments that are tables of counts."""
    return ((name, value) for name, value in arguments.items() if isinstance(value, Counts))


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are neither tables of counts nor parts of tables."""
    return {name: value for name, value in arguments.items() if not isinstance(value, Counts | Parts)}


def module_name(paper: str, name: str) -> str:
    """Return the dotted name of a module in a paper's folder."""
    return f"{paper}.{name}" if paper in BEYOND else f"papers.{paper}.{name}"


def _call_of_plan(call: FunctionCall, name: str, configuration: Mapping[str, Any]) -> dict[str, Any]:
    missing = PaperError(f"{call.name} of {call.paper} asks for {name} of plan.py, which is not there.")
    if importlib.util.find_spec(module_name(call.paper, "plan")) is None:
        raise missing
    try:
        function = load(call.paper, f"plan:{name}")
    except AttributeError:
        raise missing from None
    return dict(function(configuration, **call.arguments))
