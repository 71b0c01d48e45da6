"""Put the chunks of a table together; where the rule says which rows to keep, those only."""

import pandas as pd
from _job import start

from ldpfrontier.provenance import configuration_hash
from ldpfrontier.tables import (merge_metadata, read_metadata, read_table, to_csv, write_table)

start(snakemake)
metadata = merge_metadata(map(read_metadata, snakemake.input))
metadata["configuration_hash"] = configuration_hash(snakemake.params.configuration)
table = pd.concat(map(read_table, snakemake.input))
for column, values in snakemake.params.get("keep", {}).items():
    table = table[table[column].isin(values)]
write_table(table, snakemake.output.parquet, metadata)
to_csv(read_table(snakemake.output.parquet), snakemake.output.csv)
