"""Compare W' with the optima over a grid of leakages, for one set of hypotheses."""

import logging

from _job import start

from ldpfrontier.papers.liao2017.experiments import read_instances, sweep
from ldpfrontier.provenance import describe
from ldpfrontier.tables import write_table

start(snakemake)
settings = dict(snakemake.params.settings)
(test,) = (t for t in read_instances(snakemake.input.hypotheses) if t.name == settings["instance"])
table = sweep(test.hypotheses, **settings, experiment=test.figure, progress=logging.info)
write_table(table, snakemake.output[0], describe(snakemake.params.code, settings))
