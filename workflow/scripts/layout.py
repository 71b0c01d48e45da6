"""Lay a table out as texts to read, by the function that its paper names."""

from _job import load, read_tables, start

from reproduction.results.files import write_texts

start(snakemake.log[0], snakemake.config)
params = snakemake.params
tables = read_tables(params.call, params.reads, snakemake.input)
write_texts(load(params.call["function"])(*tables, **params.call["arguments"]), snakemake.output[0])
