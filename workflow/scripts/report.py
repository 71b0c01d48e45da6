"""Put everything on one page."""

from _job import start

from ldpfrontier import report
from ldpfrontier.claims import LEDGER
from ldpfrontier.files import read_table, write_texts
from ldpfrontier.papers import papers

start(snakemake.log[0])
made_by = report.write(
    snakemake.output.page,
    papers=list(papers().values()),
    finished=snakemake.input.finished,
    ledger=read_table(snakemake.input.claims, LEDGER),
    configuration=snakemake.params.configuration,
    provenance=snakemake.input.provenance,
    logs=snakemake.params.logs,
)
write_texts(made_by, snakemake.output.tables)
