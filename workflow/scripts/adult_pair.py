"""Cut the table of one pair of attributes out of the Adult counts."""

from pathlib import Path

from _job import start

from ldpfrontier.data.adult import contingency, read_counts
from ldpfrontier.tables import pair_text, replacing

start(snakemake)
pair = contingency(read_counts(Path(snakemake.input.counts)), **snakemake.wildcards)
with replacing(snakemake.output[0]) as partial:
    partial.write_text(pair_text(*pair), encoding="utf-8", newline="\n")
