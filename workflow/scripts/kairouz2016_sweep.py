"""Compute the optimum and the closed forms for some instances of one utility and size."""

from _job import start

from ldpfrontier.papers.kairouz2016.experiments import sweep
from ldpfrontier.provenance import describe
from ldpfrontier.tables import write_table

start(snakemake)
wildcards, settings = snakemake.wildcards, dict(snakemake.params.settings)
table = sweep(wildcards.utility, int(wildcards.size), **settings)
write_table(table, snakemake.output[0], describe(snakemake.params.code, settings))
