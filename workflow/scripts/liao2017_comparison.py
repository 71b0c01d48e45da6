"""Compare all mechanisms at the leakages of interest, for one set of hypotheses."""

from _job import start

from ldpfrontier.papers.liao2017.experiments import comparison, read_instances
from ldpfrontier.provenance import describe
from ldpfrontier.tables import write_table

start(snakemake)
settings = dict(snakemake.params.settings)
(test,) = (t for t in read_instances(snakemake.input.hypotheses) if t.name == settings["instance"])
table = comparison(test.hypotheses, **settings)
write_table(table, snakemake.output[0], describe(snakemake.params.code, settings))
