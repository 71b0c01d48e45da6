"""Lay a table out as texts to read, by the function that its paper names, in all formats."""

from _job import load, read_parts, start

from ldpfrontier.files import write_texts

start(snakemake.log[0])
call = snakemake.params.call
tables = [
    read_parts([path], table["schema"]) for path, table in zip(snakemake.input, call["tables"], strict=True)
]
texts = load(call["function"])(*tables, **call["arguments"])
for path in snakemake.output:
    write_texts(texts, path)
