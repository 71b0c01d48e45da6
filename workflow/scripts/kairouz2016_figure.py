"""Draw a figure of kairouz2016."""

from _job import start

from ldpfrontier.figures import kairouz2016
from ldpfrontier.figures.style import save
from ldpfrontier.tables import read_table

start(snakemake)
draw = getattr(kairouz2016, snakemake.params.draw)
figure = draw(*map(read_table, snakemake.input), **snakemake.params.options)
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
