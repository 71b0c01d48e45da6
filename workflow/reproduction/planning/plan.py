"""What a configuration makes of the papers: the jobs, what each is told, and the files it reads and writes.

Needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.data.catalogue import data_set
from reproduction.planning.paper import Call, Counts, Paper, Table, data_of
from reproduction.planning.provenance import configuration_hash


class PlanError(ValueError):
    """Something that the configuration does not make; the message says what it makes."""


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
    ``results/chunks/<paper>/<table>/<part>.parquet`` for a part of one, and
    ``results/data/<data>/<sensitive>/<public>.csv`` for a table of counts.
    """

    def __init__(
        self, papers: Mapping[str, Paper], configuration: Mapping[str, Any], resources: Path | str
    ) -> None:
        self.papers, self.configuration, self._resources = papers, configuration, Path(resources)
        self._jobs: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self._texts: dict[str, str] = {}
        self._digests: dict[Counts, str] = {}
        self._configurations: dict[tuple[str, str], str] = {}

    @property
    def tables(self) -> list[Table]:
        """The tables of all papers."""
        return [table for paper in self.papers.values() for table in paper.tables.values()]

    def parts(self, table: Table) -> dict[str, dict[str, Any]]:
        """Return the arguments of every part of a table by the name of the part."""
        key = table.paper, table.name
        if key not in self._jobs:
            self._jobs[key] = table.jobs(self.configuration)
        return self._jobs[key]

    def arguments(self, call: Call, part: str | None = None) -> dict[str, Any]:
        """Return the arguments of a call, or of a part of a table.

        Raises
        ------
        PlanError
            If there is no such part.
        """
        if not isinstance(call, Table) or not call.parts:
            return call.resolved(self.configuration)
        parts = self.parts(call)
        if part not in parts:
            shown = [*parts][:5] + ["..."] * (len(parts) > 5)
            raise PlanError(
                f"Table {call.name} of {call.paper} has no part {part}; the configuration makes"
                f" {', '.join(shown)}."
            )
        return parts[part]

    def part_files(self, table: Table) -> list[str]:
        """Return the files of the parts of a table."""
        return [f"results/chunks/{table.paper}/{table.name}/{part}.parquet" for part in self.parts(table)]

    def files(self, table: Table) -> list[str]:
        """Return the files that hold a table: those of its parts where they are not put together."""
        return (
            [f"results/tables/{table.paper}/{table.name}.parquet"]
            if table.publish
            else self.part_files(table)
        )

    def read_by(self, call: Call) -> list[Table]:
        """Return the tables that a call reads."""
        return [self.papers[call.paper].tables[name] for name in call.tables]

    def read_files(self, call: Call) -> list[str]:
        """Return the files of the tables that a call reads."""
        return [file for table in self.read_by(call) for file in self.files(table)]

    def configurations(self, table: Table) -> list[str]:
        """Return the hashes of the configurations that the files of a table are made by, in their order."""
        if table.publish:
            return [self.configuration_of(table)]
        return self.part_configurations(table)

    def part_configurations(self, table: Table) -> list[str]:
        """Return the hashes of the configurations of the parts of a table."""
        return [configuration_hash(self.told(table, part)) for part in self.parts(table).values()]

    def count_files(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the files of the tables of counts among the arguments."""
        return [f"results/data/{c.data}/{c.sensitive}/{c.public}.csv" for _, c in data_of(arguments)]

    def told(self, call: Call, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a job is told, as plain values: what to call, with which arguments, and what it reads.

        Tables of counts are there by their hash: other counts make another job.
        """
        counts = dict(data_of(arguments))
        return {
            "function": call.function_name,
            "arguments": {name: value for name, value in arguments.items() if name not in counts},
            "counts": {name: [c.data, c.sensitive, c.public, self.digest(c)] for name, c in counts.items()},
            "tables": [
                {
                    "name": table.name,
                    "schema": table.schema_name,
                    "configuration": self.configuration_of(table),
                }
                for table in self.read_by(call)
            ],
        }

    def configuration_of(self, table: Table) -> str:
        """Hash what determines the numbers of a table, the code aside and however it is cut into parts.

        Parts differ in the elements of a list, of instances or of levels: every element counts with the
        arguments that are no lists, once.
        """
        key = table.paper, table.name
        if key not in self._configurations:
            if table.parts:
                elements = {
                    x for part in self.parts(table).values() for x in _elements(self.told(table, part))
                }
                self._configurations[key] = configuration_hash({"settings": sorted(elements)})
            else:
                self._configurations[key] = configuration_hash(self.told(table, self.arguments(table)))
        return self._configurations[key]

    def digest(self, counts: Counts) -> str:
        """Hash a table of counts.

        Every source must give the counts that the project ships, so the hash is known before anything is
        downloaded. A table of the user's own is counted.
        """
        if counts not in self._digests:
            data = data_set(counts.data, self.configuration)
            if counts.data not in self._texts:
                self._texts[counts.data] = data.read(data.path(self._resources))
            table = data.contingency(self._texts[counts.data], counts.sensitive, counts.public)
            self._digests[counts] = table.digest()
        return self._digests[counts]

    def finished(self, paper: Paper, formats: Sequence[str]) -> list[str]:
        """Return the files that a paper ends in, its figures in the formats given."""
        tables = f"results/tables/{paper.key}"
        return [
            *(f"{tables}/{name}.{suffix}" for name in paper.published for suffix in ("parquet", "csv")),
            *(f"results/figures/{paper.key}/{name}.{suffix}" for name in paper.figures for suffix in formats),
            *(
                f"{tables}/{layout.name}.{suffix}"
                for layout in paper.layouts.values()
                for suffix in layout.formats
            ),
        ]

    def data(self, *papers: Paper) -> list[str]:
        """Return the data sets that papers use."""
        tables = [table for paper in papers for table in paper.tables.values()]
        jobs = (
            arguments
            for table in tables
            for arguments in (self.parts(table).values() if table.parts else [self.arguments(table)])
        )
        return sorted({counts.data for arguments in jobs for _, counts in data_of(arguments)})


def _elements(told: Mapping[str, Any]) -> Iterator[str]:
    given = {**told, **told["arguments"]}
    del given["arguments"]
    lists = {name: value for name, value in given.items() if isinstance(value, list)}
    plain = {name: value for name, value in given.items() if name not in lists}
    for entry in [[name, element] for name, value in lists.items() for element in value] or [[]]:
        yield json.dumps([plain, *entry], sort_keys=True)
