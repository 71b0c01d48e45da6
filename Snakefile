"""ldp-frontier: `snakemake` makes every table and figure, `snakemake kairouz2016` those of one paper."""

from snakemake.utils import min_version

min_version("9.19")


# The project's own, wherever the working directory is; --configfile and --config override it.
configfile: f"{workflow.current_basedir.get_path_or_uri(secret_free=True)}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/certificates.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        FINISHED,
        rules.claims.output,
        rules.report.output,
    message:
        "Everything is there"


onsuccess:
    print(
        "The results are in results/, and results/report/index.html shows all of them on one page.",
        flush=True,
    )
