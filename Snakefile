"""ldp-frontier: `snakemake` makes every table and figure, `snakemake kairouz2016` those of one paper."""

from snakemake.utils import min_version

min_version("9.19")


# The project's own, wherever the working directory is; --configfile and --config override it.
configfile: f"{workflow.basedir}/../config/config.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/lopuhaa2024_synthetic.smk"
include: "rules/lopuhaa2024.smk"
include: "rules/kairouz2016.smk"
include: "rules/kalantari2018.smk"
include: "rules/liao2017.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    input:
        rules.lopuhaa2024.input,
        rules.kairouz2016.input,
        rules.kalantari2018.input,
        rules.liao2017.input,
        rules.claims.output,
        rules.report.output,


onsuccess:
    # `snakemake --report results/report/snakemake.html` does not make its directory.
    Path("results/report").mkdir(parents=True, exist_ok=True)
    # Imported here: every job reads this file, and none needs it.
    from ldpfrontier.report import summary

    print(summary("results"))
