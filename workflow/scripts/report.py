"""Put everything on one page."""

from _job import start

from ldpfrontier import claims, report
from ldpfrontier.tables import read_table

start(snakemake)
report.write(
    snakemake.output[0],
    finished=snakemake.input.finished,
    ledger=read_table(snakemake.input.claims, claims.LEDGER),
    errata=claims.read_errata(snakemake.input.errata),
    configuration=snakemake.params.configuration,
    captions=snakemake.input.captions,
    provenance=snakemake.input.provenance,
    logs=snakemake.params.logs,
)
