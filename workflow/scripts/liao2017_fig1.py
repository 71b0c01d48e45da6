"""Draw Figure 1 of liao2017."""

from _job import start

from ldpfrontier.experiments.liao2017 import perturbation
from ldpfrontier.figures.liao2017 import fig1
from ldpfrontier.figures.style import save

start(snakemake)
figure = fig1(perturbation(**snakemake.params.settings))
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
