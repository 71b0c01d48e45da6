"""The plan of a run: its jobs, with their arguments, hashes and files, for a configuration.

A job is (function, arguments, hashes of the counts, hash of every table read), and its hash is that of this
tuple as JSON: it determines the numbers, the code aside. The hash of a table in parts is that of the union
of the elements of all parts, so that it does not depend on how the table is cut.

Needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.data.catalogue import data_set
from reproduction.planning.entries import parse_yaml
from reproduction.planning.own_mechanisms import own_mechanisms
from reproduction.planning.paper import Call, Counts, Paper, Parts, Table, count_arguments, papers, plain
from reproduction.planning.provenance import code_hash, configuration_hash


class PlanError(ValueError):
    """Something that the configuration does not make; the message says what it makes."""


#: The top folder of the project.
_ROOT = Path(__file__).resolve().parents[3]


def plan_of(*names: str, resources: Path = _ROOT / "resources") -> Plan:
    """Return the plan of the default configuration, as files of `config/` change it, one after the other.

    Parameters
    ----------
    names : str
        Names of these files, without the suffix.
    resources : path
        As of `Plan`.
    """
    configuration: dict[str, Any] = {}
    for name in ("config", *names):
        text = (_ROOT / f"config/{name}.yaml").read_text(encoding="utf-8")
        configuration = _changed(configuration, parse_yaml(text))
    chosen = {key: paper.select_calls(configuration) for key, paper in papers().items()}
    return Plan(chosen, configuration, resources)


def _changed(configuration: Any, changes: Any) -> Any:
    """Return a configuration with some keys changed, as Snakemake merges files: lists as a whole."""
    if not (isinstance(configuration, dict) and isinstance(changes, dict)):
        return changes
    return configuration | {key: _changed(configuration.get(key), value) for key, value in changes.items()}


class Plan:
    """The jobs of all papers under a configuration.

    Parameters
    ----------
    papers : mapping of str to Paper
    configuration : mapping
        Checked.
    resources : path
        The folder with the counts that the project ships.

    Notes
    -----
    All paths are relative to the working directory: ``results/tables/<paper>/<table>.parquet`` for a table,
    ``results/chunks/<paper>/<table>/<part>.parquet`` for a part of one,
    ``results/data/populations/<paper>/<table>.parquet`` or ``.../<table>/<part>.parquet`` for a population,
    ``results/data/<data>/<sensitive>/<useful>.csv`` for a table of counts, and
    ``results/certificates/<paper>/`` for certificates.
    """

    def __init__(
        self, papers: Mapping[str, Paper], configuration: Mapping[str, Any], resources: Path | str
    ) -> None:
        self.papers, self.configuration, self._resources = papers, configuration, Path(resources)
        self._jobs: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self._texts: dict[str, str] = {}
        self._digests: dict[Counts, str] = {}
        self._configurations: dict[tuple[str, ...], str] = {}
        self._parts: dict[tuple[str, str, str], tuple[str, set[str]]] = {}

    @property
    def tables(self) -> list[Table]:
        """The tables of all papers."""
        return [table for paper in self.papers.values() for table in paper.tables.values()]

    def parts(self, table: Table) -> dict[str, dict[str, Any]]:
        """Return the arguments of every part of a table by the name of the part."""
        key = table.paper, table.name
        if key not in self._jobs:
            self._jobs[key] = table.part_arguments(self.configuration)
        return self._jobs[key]

    def arguments(self, call: Call, part: str | None = None) -> dict[str, Any]:
        """Return the arguments of a call, or of a part of a table.

        Raises
        ------
        PlanError
            If there is no such part.
        """
        if not isinstance(call, Table) or not call.parts:
            return call.resolve(self.configuration)
        parts = self.parts(call)
        if part not in parts:
            shown = [*parts][:5] + ["..."] * (len(parts) > 5)
            raise PlanError(
                f"Table {call.name} of {call.paper} has no part {part}; the configuration makes"
                f" {', '.join(shown)}."
            )
        return parts[part]

    def output(self, table: Table) -> str:
        """Return the file that a job of a table writes, with ``{part}`` for the name of its part."""
        folder = "data/populations" if table.population else "chunks" if table.parts else "tables"
        return f"results/{folder}/{table.paper}/{table.name}{'/{part}' * bool(table.parts)}.parquet"

    def part_files(self, table: Table) -> list[str]:
        """Return the files of the parts of a table."""
        return [self.output(table).format(part=part) for part in self.parts(table)]

    def documents(self, table: Table) -> str:
        """Return the file with the certificates that a job of a table writes beside its `output`."""
        part = "/{part}" * bool(table.parts)
        return f"results/chunks/{table.paper}/{table.name}{part}.certificates.parquet"

    def document_files(self, paper: Paper) -> list[str]:
        """Return the files of all certificates of a paper."""
        return [
            self.documents(table).format(part=part)
            for table in paper.tables.values()
            if table.certificates
            for part in (self.parts(table) if table.parts else [""])
        ]

    def table_files(self, table: Table, chosen: Parts | None = None) -> list[str]:
        """Return the files that hold a table, or the parts chosen: one if the parts are put together."""
        if chosen is not None:
            return [self.output(table).format(part=part) for part in chosen.names]
        if not table.parts:
            return [self.output(table)]
        if table.whole:
            return [f"results/tables/{table.paper}/{table.name}.parquet"]
        return self.part_files(table)

    def configurations(self, table: Table, chosen: Parts | None = None) -> list[str]:
        """Return the hashes of the configurations that these files are made by, in their order."""
        if chosen is None and table.whole:
            return [self.configuration_of(table)]
        names = self.parts(table) if chosen is None else chosen.names
        return [self._configuration_of_part(table, name) for name in names]

    def part_configurations(self, table: Table) -> list[str]:
        """Return the hashes of the configurations of the parts of a table."""
        return self.configurations(table, Parts(tuple(self.parts(table))))

    def input_tables(self, call: Call) -> list[Table]:
        """Return the tables that a call reads."""
        return [self.papers[call.paper].tables[name] for name in call.tables]

    def input_files(self, call: Call, part: str | None = None) -> list[str]:
        """Return the files of the tables that a call, or a part of a table, reads."""
        chosen = _chosen(self.arguments(call, part))
        return [
            file
            for table in self.input_tables(call)
            for file in self.table_files(table, chosen.get(table.name))
        ]

    def input_configurations(self, call: Call, part: str | None = None) -> list[list[str]]:
        """Return the hashes of the configurations of these files, of every table that is read."""
        chosen = _chosen(self.arguments(call, part))
        return [self.configurations(table, chosen.get(table.name)) for table in self.input_tables(call)]

    def count_files(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the files of the tables of counts among the arguments."""
        return [f"results/data/{c.data}/{c.sensitive}/{c.useful}.csv" for _, c in count_arguments(arguments)]

    def job_description(self, call: Call, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a job as plain values: the function, its arguments, and hashes of the tables that it reads.

        Tables of counts are there by their hash, and so is the code of the user's own mechanisms: others make
        another job.
        """
        counts, chosen = dict(count_arguments(arguments)), _chosen(arguments)
        own = self._own_code(call.paper, arguments.get("mechanisms", ()))
        return {
            **({"own_mechanisms": own} if own else {}),
            "function": call.function_name,
            "arguments": plain(arguments),
            "counts": {name: [c.data, c.sensitive, c.useful, self.digest(c)] for name, c in counts.items()},
            "tables": [
                {
                    "name": table.name,
                    "schema": table.schema_name,
                    "configuration": (
                        configuration_hash({"parts": self.configurations(table, chosen[table.name])})
                        if table.name in chosen
                        else self.configuration_of(table)
                    ),
                }
                for table in self.input_tables(call)
            ],
        }

    def _own_code(self, paper: str, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the function and the hash of the code of the user's own mechanisms among some names."""
        own = own_mechanisms(self.configuration.get(paper))
        return {
            name: [own[name].function, code_hash(Path(own[name].file).resolve())]
            for name in names
            if name in own
        }

    def looks(self, call: Call) -> str:
        """Return the labels and colours of the user's own mechanisms that a call shows, as a text.

        What is made from tables in a moment has columns for them, curves or words. Other tables have not.
        """
        if not call.tables or (isinstance(call, Table) and (not call.brief or call.population)):
            return ""
        own = own_mechanisms(self.configuration.get(call.paper)).values()
        return json.dumps([[x.name, x.label, x.colour, x.marker] for x in own]) if own else ""

    def configuration_of(self, table: Table) -> str:
        """Hash what determines the numbers of a table, the code aside and however it is cut into parts.

        Parts differ in the elements of a list, of instances or of levels: every element counts with the
        arguments that are no lists, once.
        """
        key = table.paper, table.name
        if key not in self._configurations:
            if table.parts:
                jobs = self.parts(table).values()
                elements = {x for arguments in jobs for x in self._elements(table, arguments)}
                self._configurations[key] = configuration_hash({"settings": sorted(elements)})
            else:
                description = self.job_description(table, self.arguments(table))
                self._configurations[key] = configuration_hash(description)
        return self._configurations[key]

    def _configuration_of_part(self, table: Table, part: str) -> str:
        key = table.paper, table.name, part
        if key not in self._configurations:
            self._configurations[key] = configuration_hash(
                self.job_description(table, self.arguments(table, part))
            )
        return self._configurations[key]

    def _elements(self, table: Table, arguments: Mapping[str, Any]) -> set[str]:
        """Return the elements of a job, and those of the parts of tables that it reads."""
        chosen = _chosen(arguments)
        told = self.job_description(
            table, {name: value for name, value in arguments.items() if name not in chosen}
        )
        if not chosen:
            return set(_elements(told))
        sources = self.papers[table.paper].tables
        read = {
            name: [self._elements_of_part(sources[name], part) for part in parts.names]
            for name, parts in chosen.items()
        }
        told["tables"] = [entry for entry in told["tables"] if entry["name"] not in chosen]
        told["parts"] = {name: sorted({fixed for fixed, _ in parts}) for name, parts in read.items()}
        return {x for parts in read.values() for _, elements in parts for x in elements} | {*_elements(told)}

    def _elements_of_part(self, table: Table, part: str) -> tuple[str, set[str]]:
        """Return what the elements of a part have in common, as a text, and its elements."""
        key = table.paper, table.name, part
        if key not in self._parts:
            arguments = self.arguments(table, part)
            fixed = {name: value for name, value in plain(arguments).items() if not isinstance(value, list)}
            self._parts[key] = json.dumps(fixed, sort_keys=True), self._elements(table, arguments)
        return self._parts[key]

    def digest(self, counts: Counts) -> str:
        """Hash a table of counts.

        Every source must give the counts that the project ships, so the hash is known before anything is
        downloaded. A table of the user's own is counted.
        """
        if counts not in self._digests:
            data = data_set(counts.data, self.configuration)
            if counts.data not in self._texts:
                self._texts[counts.data] = data.read(data.path(self._resources))
            table = data.contingency(self._texts[counts.data], counts.sensitive, counts.useful)
            self._digests[counts] = table.digest()
        return self._digests[counts]

    def target_files(self, paper: Paper, formats: Sequence[str]) -> list[str]:
        """Return the files that a paper ends in, its figures in the formats given."""
        tables = f"results/tables/{paper.key}"
        return [
            *(
                f"{tables}/{name}.{suffix}"
                for name in paper.published_tables
                for suffix in ("parquet", "csv")
            ),
            *(f"results/figures/{paper.key}/{name}.{suffix}" for name in paper.figures for suffix in formats),
            *(
                f"{tables}/{layout.name}.{suffix}"
                for layout in paper.layouts.values()
                for suffix in layout.formats
            ),
        ]

    def verified_file(self, paper: Paper) -> list[str]:
        """Return the table that says what became of the certificates of a paper, if it has any."""
        return [f"results/certificates/{paper.key}.parquet"] if paper.has_certificates else []

    def data_sets(self, *papers: Paper) -> list[str]:
        """Return the data sets that papers use."""
        tables = [table for paper in papers for table in paper.tables.values()]
        jobs = (
            arguments
            for table in tables
            for arguments in (self.parts(table).values() if table.parts else [self.arguments(table)])
        )
        return sorted({counts.data for arguments in jobs for _, counts in count_arguments(arguments)})


def _chosen(arguments: Mapping[str, Any]) -> dict[str, Parts]:
    return {name: value for name, value in arguments.items() if isinstance(value, Parts)}


def _elements(told: Mapping[str, Any]) -> Iterator[str]:
    given = {**told, **told["arguments"]}
    del given["arguments"]
    lists = {name: value for name, value in given.items() if isinstance(value, list)}
    plain = {name: value for name, value in given.items() if name not in lists}
    for entry in [[name, element] for name, value in lists.items() for element in value] or [[]]:
        yield json.dumps([plain, *entry], sort_keys=True)
