"""Solve every mechanism on one table of counts, for some values of epsilon."""

import logging

from _job import start

from ldpfrontier.papers.lopuhaa2024.experiments import adult_sweep, instance_name
from ldpfrontier.provenance import describe
from ldpfrontier.tables import read_pair, write_table

start(snakemake)
sweep = dict(snakemake.params.sweep)
pair = sweep.pop("sensitive"), sweep.pop("public")
counts = read_pair(snakemake.input.counts).to_numpy()
table = adult_sweep(counts, instance=instance_name(*pair, counts.shape), progress=logging.info, **sweep)
write_table(table, snakemake.output[0], describe(snakemake.params.code, snakemake.params.sweep))
