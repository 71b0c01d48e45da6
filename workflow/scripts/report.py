"""Put everything on one page."""

from _job import start

from ldpfrontier import report
from ldpfrontier.claims import LEDGER
from ldpfrontier.files import read_table
from ldpfrontier.papers import papers

start(snakemake.log[0])
report.write(
    snakemake.output[0],
    papers=list(papers().values()),
    finished=snakemake.input.finished,
    ledger=read_table(snakemake.input.claims, LEDGER),
    configuration=snakemake.params.configuration,
    provenance=snakemake.input.provenance,
    logs=snakemake.params.logs,
)
