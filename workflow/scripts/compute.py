"""Compute a table, or a part of one, by the function that its paper names."""

from _job import load, read_tables, start

from ldpfrontier.atomic import write_text
from reproduction.planning.provenance import result_metadata
from reproduction.results.files import csv, read_counts, write_table

start(snakemake.log[0])
params, output = snakemake.params, snakemake.output
tables = read_tables(params.call, params.reads, snakemake.input.tables)
counts = {
    name: read_counts(path, digest)
    for (name, (*_, digest)), path in zip(params.call["counts"].items(), snakemake.input.counts, strict=True)
}
frame = load(params.call["function"])(*tables, **params.call["arguments"], **counts)
table = write_table(frame, output.parquet, result_metadata(params.code, params.call), load(params.schema))
if "csv" in output.keys():  # noqa: SIM118 - a list with names
    write_text(csv(table), output.csv)
