"""The tables of a run that claims are about, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from reproduction.job import load
from reproduction.ledger.claims import LEDGER, ROWS, NotComputed, claims_of, ledger
from reproduction.planning.paper import Paper, table_place
from reproduction.results.certificates import VERIFIED
from reproduction.results.files import read_table
from reproduction.results.tables import Schema, TableError

#: The name of the table, and of its folder.
CERTIFICATES = "certificates"


class ResultTables(Mapping[str, pd.DataFrame]):
    """The result tables of one paper by name, read from ``<name>.parquet`` in its folder when asked for.

    There is a schema for every table that there may be; those of another paper are named ``paper/table``, and
    lie in the folder beside. `CERTIFICATES` is what the checker said of the certificates of the paper.
    """

    def __init__(self, directory: Path | str, schemas: Mapping[str, Schema]) -> None:
        own = Path(directory)
        paths = {x: own.parent / table_place(own.name, x) for x in schemas}
        paths[CERTIFICATES] = own.parents[1] / CERTIFICATES / own.name
        self._paths = {x: file for x, path in paths.items() if (file := Path(f"{path}.parquet")).exists()}
        self._schemas = {**schemas, CERTIFICATES: VERIFIED}
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            table = read_table(self._path(name), self._schemas[name])
            # What was read is complete; a part of it decides nothing.
            table.attrs[ROWS] = len(table)
            self._read[name] = table
        return self._read[name]

    def _path(self, name: str) -> Path:
        if name not in self._paths:
            raise NotComputed(f"The table {name} is missing.")
        return self._paths[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def decided(folder: Path, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Return the claims of all papers, decided from the tables in a folder with one for every paper."""
    tables = {key: result_tables(folder, key, papers) for key in papers}
    return ledger((claim, tables[key]) for key, paper in papers.items() for claim in claims_of(paper))


def read_ledger(path: Path, folder: Path, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Read a ledger, and refuse one that is not what the tables in a folder say."""
    table = read_table(path, LEDGER)
    if not table.equals(decided(folder, papers)):
        raise TableError(f"{path} is not what the tables in {folder} decide; delete the file and run again.")
    return table


def result_tables(folder: Path, key: str, papers: Mapping[str, Paper]) -> ResultTables:
    """Return the tables that the claims of a paper may name, from a folder with one for every paper."""
    schemas = {
        name if other == key else f"{other}/{name}": load(table.schema_name)
        for other, paper in papers.items()
        for name, table in paper.tables.items()
        if table.is_result
    }
    return ResultTables(folder / key, schemas)
