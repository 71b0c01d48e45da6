"""Compute a table, or a part of one, by the function that its paper names."""

from _job import load, read_parts, start

from ldpfrontier.files import csv, read_counts, write_table, write_text
from ldpfrontier.provenance import describe

start(snakemake.log[0])
call, inputs = snakemake.params.call, iter(snakemake.input.tables)
tables = [
    read_parts([next(inputs) for _ in range(table["files"])], table["schema"]) for table in call["tables"]
]
counts = {name: read_counts(path) for name, path in zip(call["counts"], snakemake.input.counts, strict=True)}
frame = load(call["function"])(*tables, **call["arguments"], **counts)
table = write_table(
    frame, snakemake.output.parquet, describe(snakemake.params.code, call), load(call["schema"])
)
if "csv" in snakemake.output.keys():  # noqa: SIM118 - the output is a list with names
    write_text(csv(table), snakemake.output.csv)
