"""Solve the robust mechanisms on Adult under uncertainty sets of several Renyi orders."""

import logging

import pandas as pd
from _job import start

from ldpfrontier.papers.lopuhaa2024.experiments import adult_sweep, instance_name
from ldpfrontier.provenance import describe
from ldpfrontier.tables import (read_pair, read_table, to_csv, write_table)

start(snakemake)
settings, parts = dict(snakemake.params.settings), []
for names, path in zip(snakemake.params.pairs, snakemake.input.counts, strict=True):
    counts = read_pair(path).to_numpy()
    for order in snakemake.params.orders:
        sweep = adult_sweep(
            counts,
            instance=instance_name(*names, counts.shape),
            order=float(order),
            progress=logging.info,
            **settings,
        )
        parts.append(sweep.assign(experiment=f"order {order:g}"))
write_table(pd.concat(parts), snakemake.output.parquet, describe(snakemake.params.code, settings))
to_csv(read_table(snakemake.output.parquet), snakemake.output.csv)
