"""Draw a figure by the function that its paper names, in all formats."""

from pathlib import Path

from _job import load, read_tables, start

start(snakemake.log[0], snakemake.config)

# A library that cannot be imported is in the log.
from reproduction.figure_style import save  # noqa: E402

params = snakemake.params
tables = read_tables(params.call, snakemake.input)
figure = load(params.call["function"])(*tables, **params.call["arguments"])
places = dict.fromkeys("/".join(Path(path).with_suffix("").parts[1:4]) for path in snakemake.input)
comment = f"{params.call['function']} of {', '.join(places)}"
for path in snakemake.output:
    save(figure, path, dpi=params.dpi, comment=comment)
    figure.set_layout_engine("none")  # all formats have the layout of the first
