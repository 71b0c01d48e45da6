"""Draw a figure of kalantari2018."""

from _job import start

from ldpfrontier.papers.kalantari2018 import figures as kalantari2018
from ldpfrontier.plotting import save
from ldpfrontier.tables import read_table

start(snakemake)
figure = getattr(kalantari2018, snakemake.params.draw)(read_table(snakemake.input[0]))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
