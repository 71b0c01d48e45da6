"""Draw a figure of kalantari2018."""

from _job import start

from ldpfrontier.figures import kalantari2018
from ldpfrontier.figures.style import save
from ldpfrontier.tables import read_table

start(snakemake)
figure = getattr(kalantari2018, snakemake.params.draw)(read_table(snakemake.input[0]))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
