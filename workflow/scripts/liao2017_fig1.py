"""Draw Figure 1 of liao2017."""

from _job import start

from ldpfrontier.papers.liao2017.experiments import perturbation
from ldpfrontier.papers.liao2017.figures import fig1
from ldpfrontier.plotting import save

start(snakemake)
figure = fig1(perturbation(**snakemake.params.settings))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
