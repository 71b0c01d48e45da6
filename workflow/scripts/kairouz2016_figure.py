"""Draw a figure of kairouz2016."""

from _job import start

from ldpfrontier.papers.kairouz2016 import figures as kairouz2016
from ldpfrontier.plotting import save
from ldpfrontier.tables import read_table

start(snakemake)
draw = getattr(kairouz2016, snakemake.params.draw)
figure = draw(*map(read_table, snakemake.input), **snakemake.params.options)
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
