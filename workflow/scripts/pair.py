"""Cut the table of one pair of attributes out of the counts of a data set that are shipped."""

from _job import start

from ldpfrontier.base.atomic import write_text
from reproduction.data.catalogue import data_set

start(snakemake.log[0], snakemake.config)
names = snakemake.wildcards
data = data_set(names.data, snakemake.config)
pair = data.contingency(data.read(snakemake.input.bundled), names.sensitive, names.useful)
write_text(pair.text(), snakemake.output[0])
