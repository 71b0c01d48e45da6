"""Rank the mechanisms of Figure 2 of lopuhaa2024."""

from _job import start

from ldpfrontier.experiments.lopuhaa2024 import orderings
from ldpfrontier.tables import read_table, to_csv

start(snakemake)
to_csv(orderings(read_table(snakemake.input[0])), snakemake.output[0])
