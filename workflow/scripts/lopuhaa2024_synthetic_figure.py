"""Draw one figure of the synthetic study."""

from _job import start

from ldpfrontier.papers.lopuhaa2024 import synthetic as study
from ldpfrontier.papers.lopuhaa2024 import figures
from ldpfrontier.plotting import save
from ldpfrontier.tables import read_table

start(snakemake)
table = read_table(snakemake.input[0])
match snakemake.params.draw:
    case "fig3":
        figure = figures.fig3(study.nmi_summary(table))
    case "fig4":
        figure = figures.fig4(study.privacy_summary(table))
    case "fig5":
        figure = figures.fig5(table, snakemake.params.epsilon)
    case "gain":
        figure = figures.gain(study.gain_summary(table))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
