"""Rank the mechanisms of Figure 2 of lopuhaa2024, and compare the two classes of PolyOpt."""

from _job import start

from ldpfrontier.papers.lopuhaa2024.experiments import distinct_gain, orderings
from ldpfrontier.tables import read_table, to_csv

start(snakemake)
table = read_table(snakemake.input[0])
to_csv(orderings(table), snakemake.output.orderings)
to_csv(distinct_gain(table), snakemake.output.gain)
