"""Decide the claims of the papers from the result tables."""

from pathlib import Path

from _job import start

from ldpfrontier.atomic import write_text
from reproduction.ledger import claims
from reproduction.ledger.result_tables import result_tables
from reproduction.planning.paper import papers
from reproduction.results.certificates import VERIFIED, count_certificates
from reproduction.results.files import made_by, markdown, read_table, write_table, write_texts

start(snakemake.log[0], snakemake.config)
entries, errata = [], []
found = papers(outside=snakemake.config["papers"])
for key, paper in found.items():
    tables = result_tables(Path(snakemake.params.tables), key, found)
    entries += [(claim, tables) for claim in claims.claims_of(paper)]
    errata += claims.errata_of(paper)
table, metadata = claims.ledger(entries), made_by(snakemake.params.code)
counts = count_certificates(read_table(path, VERIFIED) for path in snakemake.input.certificates)
texts = [markdown(claims.ledger_texts(table)), *([markdown(counts)] if len(counts) else [])]
write_table(table, snakemake.output.parquet, metadata, claims.LEDGER, csv_path=snakemake.output.csv)
write_text("\n".join(texts), snakemake.output.markdown)
write_texts(claims.errata_texts(errata), snakemake.output.errata)
