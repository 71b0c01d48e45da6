"""Draw a figure by the function that its paper names, in all formats."""

from _job import load, read_parts, start

from ldpfrontier.plotting import save

start(snakemake.log[0])
call = snakemake.params.call
tables = [
    read_parts([path], table["schema"]) for path, table in zip(snakemake.input, call["tables"], strict=True)
]
figure = load(call["function"])(*tables, **call["arguments"])
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
