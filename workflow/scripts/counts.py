"""Get the pair counts of a data set from the source that the configuration names."""

import json
import logging

from _job import start

from ldpfrontier.base.atomic import write_text
from reproduction.data.catalogue import data_set

start(snakemake.log[0], snakemake.config)
data = data_set(snakemake.wildcards.data, snakemake.config)
text, provenance = data.load()(**snakemake.params.settings, bundled=snakemake.input.bundled)
logging.info("Source: %s", provenance)
write_text(text, snakemake.output.counts)
write_text(json.dumps(provenance, indent=2, sort_keys=True) + "\n", snakemake.output.provenance)
