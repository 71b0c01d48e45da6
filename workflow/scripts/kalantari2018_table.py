"""Compute one table of kalantari2018."""

import logging

import pandas as pd
from _job import start

from ldpfrontier.hamming.distortion import SourceSet
from ldpfrontier.papers.kalantari2018 import experiments as paper
from ldpfrontier.provenance import describe
from ldpfrontier.tables import (EXAMPLES, RESULTS, read_table, to_csv, write_table)

start(snakemake)
path, settings = snakemake.input.sources, dict(snakemake.params.settings)
schema = RESULTS
match snakemake.params.table:
    case "tradeoff":
        sources = paper.read_sources(path)
        table = paper.tradeoff(sources, **settings, experiment="tradeoff", progress=logging.info)
    case "bounds":
        sources = {"wide": SourceSet(paper.WIDE), "cycle": SourceSet(paper.CYCLE)}
        table = paper.tradeoff(sources, **settings, experiment="bounds", measures=[paper.DP])
    case "random":
        table = paper.random_checks(**settings)
    case "sources":
        table, schema = paper.printed_tables(path), EXAMPLES
    case "checks":
        table = paper.checks(pd.concat(map(read_table, snakemake.input.results)), paper.read_sources(path))
write_table(table, snakemake.output.parquet, describe(snakemake.params.code, settings), schema)
to_csv(table, snakemake.output.csv)
