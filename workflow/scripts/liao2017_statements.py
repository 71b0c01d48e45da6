"""Measure what the text says of Figures 2 and 3, and lay out Tables I, II and the comparison."""

from _job import start

from ldpfrontier.papers.liao2017.experiments import (comparison_table, figure_checks, hypotheses_table, read_instances)
from ldpfrontier.provenance import describe
from ldpfrontier.tables import (read_table, to_csv, to_markdown, write_table)

start(snakemake)
sweeps, comparisons = (read_table(snakemake.input[name]) for name in ("sweeps", "comparison"))
table, output = figure_checks(sweeps, comparisons), snakemake.output
write_table(table, output.parquet, describe(snakemake.params.code, {}))
to_csv(table, output.csv)
hypotheses = hypotheses_table(read_instances(snakemake.input.hypotheses))
to_csv(hypotheses, output.hypotheses[0])
to_markdown(hypotheses, output.hypotheses[1])
shares = comparison_table(comparisons)
to_csv(shares, output.shares_csv)
to_markdown(shares.map(lambda x: f"{x:.4g}" if isinstance(x, float) else x), output.shares)
