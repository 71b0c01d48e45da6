"""Put everything on one page."""

from _job import start

from reproduction.ledger.claims import LEDGER
from reproduction.planning.paper import papers
from reproduction.report import page
from reproduction.results.certificates import VERIFIED
from reproduction.results.files import read_table

start(snakemake.log[0], snakemake.config)
page.write(
    snakemake.output[0],
    papers=list(papers(outside=snakemake.config["papers"]).values()),
    finished=snakemake.input.finished,
    ledger=read_table(snakemake.input.claims, LEDGER),
    certificates=[read_table(path, VERIFIED) for path in snakemake.input.certificates],
    configuration=snakemake.params.configuration,
    provenance=snakemake.input.provenance,
)
