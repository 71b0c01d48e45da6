"""Lay a table out as texts to read, by the function that its paper names."""

from _job import function_of, read_tables, require_plan, start

from reproduction.results.files import write_texts

start(snakemake.log[0], snakemake.config)
params = snakemake.params
tables = read_tables(params.call, params.reads, snakemake.input)
texts = function_of(params.call)(*tables, **params.call["arguments"])
require_plan(snakemake)
write_texts(texts, snakemake.output[0])
