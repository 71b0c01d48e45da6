"""Compute the points of Figure 5 or 8 of kairouz2016."""

from _job import start

from ldpfrontier.papers.kairouz2016.experiments import scaling
from ldpfrontier.provenance import describe
from ldpfrontier.tables import to_csv, write_table

start(snakemake)
settings = dict(snakemake.params.settings)
table = scaling(**settings)
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, settings))
to_csv(table, snakemake.output.csv)
