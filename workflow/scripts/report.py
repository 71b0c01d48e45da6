"""Put everything on one page."""

from pathlib import Path

from _job import start

from reproduction.ledger.result_tables import read_ledger
from reproduction.planning.paper import papers
from reproduction.report import page
from reproduction.results.certificates import VERIFIED
from reproduction.results.files import read_table

start(snakemake.log[0], snakemake.config)
found, claims = papers(outside=snakemake.config["papers"]), Path(snakemake.input.claims)
checked = snakemake.params.certificates
page.write(
    snakemake.output[0],
    papers=list(found.values()),
    finished=[path for path in (*snakemake.input.finished, *snakemake.params.also) if path not in checked],
    ledger=read_ledger(claims, claims.with_name("tables"), found),
    certificates=[read_table(path, VERIFIED) for path in checked if Path(path).is_file()],
    configuration=snakemake.params.configuration,
    provenance=snakemake.input.provenance,
)
