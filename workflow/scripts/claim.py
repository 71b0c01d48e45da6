"""Decide one claim from its tables."""

from pathlib import Path

import pandas as pd
from _job import start

from reproduction.ledger import claims
from reproduction.ledger.result_tables import result_tables
from reproduction.planning.paper import papers
from reproduction.results.files import write_texts

start(snakemake.log[0], snakemake.config)
found = papers(outside=snakemake.config["papers"])
tables = result_tables(Path("results/tables"), snakemake.params.paper, found)
(claim,) = (
    claim
    for claim in claims.claims_of(found[snakemake.params.paper])
    if claim.id == snakemake.wildcards.claim
)
(entry,) = claims.ledger_texts(claims.ledger([(claim, tables)])).to_dict("records")
rows = [(name, text) for name, text in entry.items() if name != "id"]
write_texts(pd.DataFrame(rows, columns=["claim", claim.id]), snakemake.output[0])
