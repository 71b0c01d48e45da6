"""Decide one claim from its tables."""

from pathlib import Path

import pandas as pd
from _job import load, start

from reproduction.ledger import claims
from reproduction.planning.paper import papers
from reproduction.results.files import write_texts

start(snakemake.log[0], snakemake.config)
paper = papers(outside=snakemake.config["papers"])[snakemake.params.paper]
schemas = {name: load(table.schema_name) for name, table in paper.tables.items() if not table.population}
tables = claims.ResultTables(Path(snakemake.params.tables) / paper.key, schemas)
(claim,) = (claim for claim in claims.claims_of(paper) if claim.id == snakemake.wildcards.claim)
(entry,) = claims.ledger_texts(claims.ledger([(claim, tables)])).to_dict("records")
rows = [(name, text) for name, text in entry.items() if name != "id"]
write_texts(pd.DataFrame(rows, columns=["claim", claim.id]), snakemake.output[0])
