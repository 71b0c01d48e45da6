"""Put the parts of a table together."""

from _job import load, require_plan, start, stored_table

from reproduction.results.files import merge_metadata, read_metadata, write_table

start(snakemake.log[0], snakemake.config)
params, output = snakemake.params, snakemake.output
metadata = merge_metadata(map(read_metadata, snakemake.input))
metadata["configuration_hash"] = params.configuration
rows = stored_table(snakemake.input, params.schema, params.reads)
require_plan(snakemake)
write_table(rows, output.parquet, metadata, load(params.schema), csv_path=output.csv)
