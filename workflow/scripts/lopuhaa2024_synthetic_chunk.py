"""Solve every mechanism on some random instances of one block of the synthetic study."""

import logging

import pandas as pd
from _job import start

from ldpfrontier.papers.lopuhaa2024.synthetic import synthetic_sweep
from ldpfrontier.provenance import describe
from ldpfrontier.tables import write_table

start(snakemake)
settings = dict(snakemake.params.settings)
shape = tuple(settings.pop("shape"))
parts = [
    synthetic_sweep(shape, beta=beta, progress=logging.info, **settings) for beta in settings.pop("betas")
]
write_table(pd.concat(parts), snakemake.output[0], describe(snakemake.params.code, snakemake.params.settings))
