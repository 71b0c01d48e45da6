"""Lay a table out as texts to read, by the function that its paper names."""

from _job import load, read_tables, start

from reproduction.results.files import write_texts

start(snakemake.log[0], snakemake.config)
params = snakemake.params
tables = read_tables(params.call, snakemake.input)
texts = load(params.call["function"])(*tables, **params.call["arguments"])
write_texts(texts, snakemake.output[0])
