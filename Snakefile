"""ldp-frontier: `snakemake` makes every table and figure of the papers, `snakemake kairouz2016` those of one.

`snakemake beyond` makes the project's own results, `snakemake open_questions` answers to what the papers left open,
`snakemake certificates` documents that prove optima, and `snakemake everything` all of this.
"""

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
        [FINISHED[key] for key in TARGETS["all"]],
        rules.claims.output,
        rules.report.output,
    message:
        "The papers are complete"


rule beyond:
    input:
        [FINISHED[key] for key in TARGETS["beyond"]],
        rules.claims.output,
        rules.report.output,
    message:
        "The project's own results are complete"


rule open_questions:
    input:
        [FINISHED[key] for key in TARGETS["open_questions"]],
        rules.claims.output,
        rules.report.output,
    message:
        "What the papers left open is complete"


rule certificates:
    input:
        VERIFIED,
        rules.claims.output,
        rules.report.output,
    message:
        "The certificates are complete"


rule everything:
    input:
        FINISHED.values(),
        rules.claims.output,
        rules.report.output,
    message:
        "Everything is complete"


onsuccess:
    print(said_at_the_end(), flush=True)
