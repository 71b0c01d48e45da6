"""Draw a figure by the function that its paper names, in all formats."""

from _job import load, read_tables, start

from reproduction.figure_style import save

start(snakemake.log[0], snakemake.config)
params = snakemake.params
tables = read_tables(params.call, snakemake.input)
figure = load(params.call["function"])(*tables, **params.call["arguments"])
for path in snakemake.output:
    save(figure, path, dpi=params.dpi)
    figure.set_layout_engine("none")  # all formats have the layout of the first
