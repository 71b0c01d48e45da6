"""Put the parts of a table together."""

from _job import load, start

from reproduction.results.files import StoredTable, made_by, write_table

start(snakemake.log[0], snakemake.config)
params, output = snakemake.params, snakemake.output
schema = load(params.schema)
rows = StoredTable(snakemake.input, schema)
write_table(rows, output.parquet, made_by(params.code, output.parquet), schema, csv_path=output.csv)
