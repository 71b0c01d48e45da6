"""Compare the expansions of kairouz2016 with what the mechanisms achieve."""

import pandas as pd
from _job import start

from ldpfrontier.papers.kairouz2016.experiments import expansions
from ldpfrontier.provenance import describe
from ldpfrontier.tables import read_table, to_csv, write_table

start(snakemake)
sizes, settings = snakemake.params.sizes, dict(snakemake.params.settings)
table = pd.concat(expansions(size, **settings) for size in sizes)
metadata = describe(snakemake.params.code, {"sizes": sizes, **settings})
write_table(table, snakemake.output.parquet, metadata)
to_csv(read_table(snakemake.output.parquet), snakemake.output.csv)
