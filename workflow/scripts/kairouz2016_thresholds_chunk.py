"""Find the thresholds of some instances of one size."""

from _job import start

from ldpfrontier.papers.kairouz2016.experiments import thresholds
from ldpfrontier.provenance import describe
from ldpfrontier.tables import write_table

start(snakemake)
settings = dict(snakemake.params.settings)
table = thresholds(int(snakemake.wildcards.size), **settings)
write_table(table, snakemake.output[0], describe(snakemake.params.code, settings))
