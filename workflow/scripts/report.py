"""Put everything on one page."""

from _job import require_plan, start

from reproduction.ledger.claims import LEDGER
from reproduction.planning.paper import papers
from reproduction.report import page
from reproduction.results.certificates import VERIFIED
from reproduction.results.files import read_table, write_texts

start(snakemake.log[0], snakemake.config)
made_by = page.write(
    snakemake.output.page,
    papers=list(papers(outside=snakemake.config["papers"]).values()),
    finished=snakemake.input.finished,
    ledger=read_table(snakemake.input.claims, LEDGER),
    certificates=[read_table(path, VERIFIED) for path in snakemake.input.certificates],
    configuration=snakemake.params.configuration,
    provenance=snakemake.input.provenance,
    logs=snakemake.params.logs,
)
require_plan(snakemake)
write_texts(made_by, snakemake.output.tables)
