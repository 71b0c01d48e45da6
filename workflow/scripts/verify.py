"""Write the certificates of a paper to files, check these by a program of its own, and say what it found."""

import shutil

import pandas as pd
from _job import start

from reproduction.results.certificates import DOCUMENTS, VERIFIED, verified
from reproduction.results.files import made_by, read_table, write_table

start(snakemake.log[0], snakemake.config)
params, output = snakemake.params, snakemake.output
documents = pd.concat([read_table(path, DOCUMENTS) for path in snakemake.input], ignore_index=True)
shutil.rmtree(output.folder, ignore_errors=True)
table = verified(documents, output.folder)
metadata = made_by(params.code, output.parquet)
write_table(table, output.parquet, metadata, VERIFIED, csv_path=output.csv)
