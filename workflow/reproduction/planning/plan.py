"""The plan of a run: its jobs, with their arguments and files, for a configuration.

Needs no numerical library, so that a workflow can be planned without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.base.entries import parse_yaml
from reproduction.planning.imports import ROOT, code_hash
from reproduction.planning.own_mechanisms import own_mechanisms
from reproduction.planning.paper import (
    FunctionCall,
    Paper,
    Parts,
    Table,
    count_arguments,
    papers,
    plain,
    table_place,
)


class PlanError(ValueError):
    """Something that the configuration does not make; the message says what it makes."""


def plan_of(*names: str) -> Plan:
    """Return the plan of the default configuration, as files of `config/`, by name, change it in turn."""
    configuration: dict[str, Any] = {}
    for name in ("config", *names):
        text = (ROOT / f"config/{name}.yaml").read_text(encoding="utf-8")
        configuration = _changed(configuration, parse_yaml(text))
    chosen = {key: paper.select_calls(configuration) for key, paper in papers().items()}
    return Plan(chosen, configuration)


def _changed(configuration: Any, changes: Any) -> Any:
    """Return a configuration with some keys changed, as Snakemake merges files: lists as a whole."""
    if not (isinstance(configuration, dict) and isinstance(changes, dict)):
        return changes
    return configuration | {key: _changed(configuration.get(key), value) for key, value in changes.items()}


class Plan:
    """The jobs of all papers under a configuration that was checked.

    All paths are relative to the working directory: ``results/tables/<paper>/<table>.parquet`` for a table,
    ``results/chunks/<paper>/<table>/<part>.parquet`` for a part of one,
    ``results/data/populations/<paper>/<table>.parquet`` or ``.../<table>/<part>.parquet`` for a population,
    ``results/data/<data>/<sensitive>/<useful>.csv`` for a table of counts, and
    ``results/certificates/<paper>/`` for certificates.
    """

    def __init__(self, papers: Mapping[str, Paper], configuration: Mapping[str, Any]) -> None:
        self.papers, self.configuration = papers, configuration
        self._parts: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    @property
    def tables(self) -> list[Table]:
        """The tables of all papers."""
        return [table for paper in self.papers.values() for table in paper.tables.values()]

    def parts(self, table: Table) -> dict[str, dict[str, Any]]:
        """Return the arguments of every part of a table by the name of the part."""
        key = table.paper, table.name
        if key not in self._parts:
            self._parts[key] = table.part_arguments(self.configuration)
        return self._parts[key]

    def arguments(self, call: FunctionCall, part: str | None = None) -> dict[str, Any]:
        """Return the arguments of a call, or of a part of a table; a part that is not there is refused."""
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
        kept = "chunks" if table.parts or table.certificates else "tables"
        folder = "data/populations" if table.population else kept
        return f"results/{folder}/{table.paper}/{table.name}{'/{part}' * bool(table.parts)}.parquet"

    def part_files(self, table: Table) -> list[str]:
        """Return the files of the parts of a table."""
        return [self.output(table).format(part=part) for part in self.parts(table)]

    def document_files(self, paper: Paper) -> list[str]:
        """Return the files of all tables of certificates of a paper."""
        tables = [table for table in paper.tables.values() if table.certificates]
        return [path for table in tables for path in self.table_files(table)]

    def table_files(self, table: Table, chosen: Parts | None = None) -> list[str]:
        """Return the files that hold a table, or the parts chosen: one if the parts are put together."""
        if chosen is not None:
            return [self.output(table).format(part=part) for part in chosen.names]
        if not table.parts:
            return [self.output(table)]
        if table.whole:
            return [f"results/tables/{table.paper}/{table.name}.parquet"]
        return self.part_files(table)

    def input_tables(self, call: FunctionCall) -> list[Table]:
        """Return the tables that a call reads."""
        places = (name.rpartition("/") for name in call.tables)
        return [self.papers[paper or call.paper].tables[name] for paper, _, name in places]

    def input_files(self, call: FunctionCall, part: str | None = None) -> list[list[str]]:
        """Return the files of every table that a call, or a part of a table, reads."""
        chosen = {name: x for name, x in self.arguments(call, part).items() if isinstance(x, Parts)}
        return [self.table_files(table, chosen.get(table.name)) for table in self.input_tables(call)]

    def count_files(self, call: FunctionCall, part: str | None = None) -> list[str]:
        """Return the files of the tables of counts that a call, or a part of a table, reads."""
        counts = (c for _, c in count_arguments(self.arguments(call, part)))
        return [f"results/data/{c.data}/{c.sensitive}/{c.useful}.csv" for c in counts]

    def job_description(self, call: FunctionCall, part: str | None = None) -> dict[str, Any]:
        """Return what a job is told, as plain values: its function, its arguments, and what it reads.

        That is the schema of every table with the number of its files, and the names of the arguments that
        are tables of counts, in the order of the files of the job. The code of the user's own mechanisms is
        there by its hash, and how they look, where they are shown: others make another job.
        """
        arguments = self.arguments(call, part)
        files = self.input_files(call, part)
        return {
            "function": call.function_name,
            "arguments": plain(arguments),
            "counts": [name for name, _ in count_arguments(arguments)],
            "tables": [
                [table.schema_name, len(own)]
                for table, own in zip(self.input_tables(call), files, strict=True)
            ],
            "batches": call.batches,
            "own": self._own(call, arguments.get("mechanisms", ())),
        }

    def _own(self, call: FunctionCall, names: Sequence[str]) -> dict[str, list[str]]:
        """Return what makes the user's own mechanisms that a call computes, and the looks of what it shows.

        What is made from tables in a moment has columns for them, curves or words. Other tables have not.
        """
        papers = (call.paper, *self.papers[call.paper].builds_on)
        own = {name: x for key in papers for name, x in own_mechanisms(self.configuration.get(key)).items()}
        shows = call.tables and (not isinstance(call, Table) or (call.brief and not call.population))
        found = {}
        for x in own.values():
            if x.name in names:
                file = Path(x.file).resolve()
                found[x.name] = [x.function, code_hash(file.stem, beside=file.parent)]
            if shows:
                found[f"{x.name} is shown"] = [x.label, x.colour, x.marker]
        return found

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
            *(f"{tables}/{name}.md" for name in paper.layouts),
        ]

    def tables_of_claims(self, papers: Iterable[Paper]) -> list[str]:
        """Return the tables that the claims of papers are about."""
        places = [
            table_place(paper.key, name)
            for paper in papers
            for claim in paper.claims
            for name in claim["tables"]
        ]
        return [f"results/tables/{place}.parquet" for place in dict.fromkeys(places)]

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
