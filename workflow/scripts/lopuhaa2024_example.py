"""Compute the worked example of lopuhaa2024 beside what is printed."""

from _job import start

from ldpfrontier.papers.lopuhaa2024.experiments import example_texts, worked_example
from ldpfrontier.provenance import describe
from ldpfrontier.tables import (EXAMPLES, to_csv, to_markdown, write_table)

start(snakemake)
table = worked_example()
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, {}), EXAMPLES)
to_csv(table, snakemake.output.csv)
to_markdown(example_texts(table), snakemake.output.markdown)
