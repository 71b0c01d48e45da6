"""Check the theorems of kairouz2016 on all sweeps, and Theorem 18 on random channels."""

import pandas as pd
from _job import start

from ldpfrontier.papers.kairouz2016.experiments import quaternary_checks, theorems
from ldpfrontier.provenance import describe
from ldpfrontier.tables import read_table, to_csv, write_table

start(snakemake)
params = snakemake.params
parts = [theorems(read_table(path)) for path in snakemake.input]
parts.append(quaternary_checks(range(params.channels), seed=params.seed))
metadata = describe(params.code, {"channels": params.channels, **params.configuration})
write_table(pd.concat(parts), snakemake.output.parquet, metadata)
to_csv(read_table(snakemake.output.parquet), snakemake.output.csv)
