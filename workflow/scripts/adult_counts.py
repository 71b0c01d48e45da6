"""Load the pair counts of UCI Adult from the source that the configuration names."""

import json
import logging
from pathlib import Path

from _job import start

from ldpfrontier.data.adult import load_counts, write_counts
from ldpfrontier.tables import replacing

start(snakemake)
settings = dict(snakemake.params.adult)
file, cache = settings.pop("file"), settings.pop("cache")
table, provenance = load_counts(
    **settings,
    bundled=Path(snakemake.input.bundled),
    file=file and Path(file),
    cache_dir=cache and Path(cache),
)
logging.info("Source: %s", provenance)
write_counts(table, Path(snakemake.output.counts))
with replacing(snakemake.output.provenance) as partial:
    partial.write_text(json.dumps(provenance, indent=2, sort_keys=True) + "\n", encoding="utf-8")
