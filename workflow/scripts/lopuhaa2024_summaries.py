"""Summarize the synthetic study: what Figures 3 to 5 show, and Table 2."""

from _job import start

from ldpfrontier.papers.lopuhaa2024 import synthetic as study
from ldpfrontier.tables import (read_table, replacing, to_csv, to_markdown)

start(snakemake)
table, output = read_table(snakemake.input.synthetic), snakemake.output
to_csv(study.nmi_summary(table), output.fig3)
to_csv(study.privacy_summary(table), output.fig4)
to_csv(study.difference_summary(table, snakemake.params.epsilon), output.fig5)
to_csv(study.gain_summary(table), output.gain)
to_csv(study.mean_orderings(table), output.mean_orderings)
summary = study.beta_summary(read_table(snakemake.input.beta), snakemake.params.epsilon)
texts = study.beta_texts(summary)
to_csv(summary, output.csv)
to_markdown(texts, output.markdown)
with replacing(output.latex) as partial:
    partial.write_text(study.latex(texts), encoding="utf-8")
