"""Put the parts of a table together."""

from _job import load, read_parts, start

from ldpfrontier.atomic import write_text
from reproduction.results.files import csv, merge_metadata, read_metadata, write_table

start(snakemake.log[0], snakemake.config)
metadata = merge_metadata(map(read_metadata, snakemake.input))
metadata["configuration_hash"] = snakemake.params.configuration
schema = snakemake.params.schema
rows = read_parts(snakemake.input, schema, snakemake.params.reads)
table = write_table(rows, snakemake.output.parquet, metadata, load(schema))
write_text(csv(table), snakemake.output.csv)
