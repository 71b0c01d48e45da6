"""Compute a table, or a part of one, by the function that its paper names."""

from _job import load, read_tables, start

from reproduction.results.files import made_by, read_counts, write_table

start(snakemake.log[0], snakemake.config)
params, output = snakemake.params, snakemake.output
tables = read_tables(params.call, snakemake.input.tables)
counts = {
    name: read_counts(path) for name, path in zip(params.call["counts"], snakemake.input.counts, strict=True)
}
found = load(params.call["function"])(*tables, **params.call["arguments"], **counts)
csv_path = output.csv if "csv" in output.keys() else None  # noqa: SIM118 - a list with names
metadata = made_by(params.code, output.parquet)
write_table(found, output.parquet, metadata, load(params.schema), csv_path=csv_path)
