"""Check the theorems of lopuhaa2024 by direct optimization."""

from _job import start

from ldpfrontier.papers.lopuhaa2024.theorems import THEOREMS, check_theorems
from ldpfrontier.provenance import describe
from ldpfrontier.tables import to_csv, write_table

start(snakemake)
settings = dict(snakemake.params.settings)
table = check_theorems(**settings)
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, settings), THEOREMS)
to_csv(table, snakemake.output.csv)
