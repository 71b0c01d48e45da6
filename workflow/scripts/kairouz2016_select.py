"""Put the rows together that a figure needs of several sweeps."""

import pandas as pd
from _job import start

from ldpfrontier.provenance import configuration_hash
from ldpfrontier.tables import merge_metadata, read_metadata, read_table, to_csv, write_table

start(snakemake)
metadata = merge_metadata(map(read_metadata, snakemake.input))
metadata["configuration_hash"] = configuration_hash(snakemake.params.configuration)
parts = []
for path in snakemake.input:
    part = read_table(path)
    kept = part[list(snakemake.params.keep)].isin(snakemake.params.keep).all(axis=1)
    parts.append(part[kept])
write_table(pd.concat(parts), snakemake.output.parquet, metadata)
to_csv(read_table(snakemake.output.parquet), snakemake.output.csv)
