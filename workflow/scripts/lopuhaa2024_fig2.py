"""Draw Figure 2 of lopuhaa2024."""

from _job import start

from ldpfrontier.papers.lopuhaa2024.figures import fig2
from ldpfrontier.plotting import save
from ldpfrontier.tables import read_table

start(snakemake)
figure = fig2(read_table(snakemake.input[0]))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
