"""Compute a table, or a part of one, by the function that its paper names."""

from _job import function_of, load, read_tables, require_plan, start

from reproduction.planning.provenance import result_metadata
from reproduction.results.certificates import DOCUMENTS
from reproduction.results.files import read_counts, write_table

start(snakemake.log[0], snakemake.config)
params, output = snakemake.params, snakemake.output
tables = read_tables(params.call, params.reads, snakemake.input.tables)
counts = {
    name: read_counts(path, digest)
    for (name, (*_, digest)), path in zip(params.call["counts"].items(), snakemake.input.counts, strict=True)
}
found = function_of(params.call)(*tables, **params.call["arguments"], **counts)
metadata = result_metadata(params.code, params.call)
require_plan(snakemake)
if "certificates" in output.keys():  # noqa: SIM118 - a list with names
    found, documents = found
    write_table(documents, output.certificates, metadata, DOCUMENTS)
csv_path = output.csv if "csv" in output.keys() else None  # noqa: SIM118 - a list with names
write_table(found, output.parquet, metadata, load(params.schema), csv_path=csv_path)
# Rows may be computed while they are written.
require_plan(snakemake)
