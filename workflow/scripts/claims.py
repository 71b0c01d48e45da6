"""Decide the claims of the papers from the result tables."""

from pathlib import Path

from _job import start

from ldpfrontier.base.atomic import write_text
from reproduction.ledger import claims
from reproduction.ledger.result_tables import decided
from reproduction.planning.paper import papers
from reproduction.results.certificates import VERIFIED, count_certificates
from reproduction.results.files import made_by, markdown, read_table, write_table, write_texts

start(snakemake.log[0], snakemake.config)
output = snakemake.output
found = papers(outside=snakemake.config["papers"])
errata = [erratum for paper in found.values() for erratum in claims.errata_of(paper)]
table = decided(Path("results/tables"), found)
verified = [path for path in snakemake.params.certificates if Path(path).is_file()]
counts = count_certificates(read_table(path, VERIFIED) for path in verified)
texts = [markdown(claims.ledger_texts(table)), *([markdown(counts)] if len(counts) else [])]
metadata = made_by(snakemake.params.code, output.parquet)
write_table(table, output.parquet, metadata, claims.LEDGER, csv_path=output.csv)
write_text("\n".join(texts), output.markdown)
write_texts(claims.errata_texts(errata), output.errata)
