"""Check Theorems 1 to 3 and Lemma 2 of liao2017 on random hypotheses."""

from _job import start

from ldpfrontier.papers.liao2017.experiments import theorem_checks
from ldpfrontier.provenance import describe
from ldpfrontier.tables import to_csv, write_table

start(snakemake)
settings = dict(snakemake.params.settings)
table = theorem_checks(**settings)
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, settings))
to_csv(table, snakemake.output.csv)
