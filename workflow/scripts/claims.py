"""Decide the claims of the papers from the result tables."""

from _job import start

from ldpfrontier import claims
from ldpfrontier.provenance import describe
from ldpfrontier.tables import to_csv, to_markdown, write_table

start(snakemake)
table = claims.ledger(
    claims.read_claims(snakemake.input.claims), claims.ResultTables(snakemake.params.directory)
)
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, {}), claims.LEDGER)
to_csv(table, snakemake.output.csv)
to_markdown(claims.texts(table), snakemake.output.markdown)
to_markdown(claims.errata_texts(claims.read_errata(snakemake.input.errata)), snakemake.output.errata)
