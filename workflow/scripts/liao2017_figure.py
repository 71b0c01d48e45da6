"""Draw a figure of liao2017 from its sweeps."""

from _job import start

from ldpfrontier.papers.liao2017.experiments import read_instances
from ldpfrontier.papers.liao2017 import figures as liao2017
from ldpfrontier.plotting import save
from ldpfrontier.tables import read_table

start(snakemake)
sweeps, draw = read_table(snakemake.input.sweeps), snakemake.params.draw
if draw == "shares":
    figure = liao2017.shares(sweeps)
else:
    tests = read_instances(snakemake.input.hypotheses)
    figure = liao2017.utilities(sweeps, [test.name for test in tests if test.figure.startswith(draw)])
for path in snakemake.output:
    save(figure, path, dpi=snakemake.params.dpi)
