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


# Targets of a workflow that uses this one as a module are its own, and so is what is done before a run.
if Path(workflow.main_snakefile).resolve().parent in (BASE.resolve(), BASE.resolve() / "workflow"):
    for problem in unknown_targets(sys.argv[1:]):
        raise WorkflowError(problem)
elif workflow.is_main_process:
    executed_code.note(CODE_FILES, CODE_FOLDERS)


onstart:
    print(announcement(workflow.dag), flush=True)


onerror:
    add_digests(workflow.dag)
    print(
        "The run has not finished. What is finished is kept: give the same command again, after mending what the lines"
        " above say of jobs that failed.",
        flush=True,
    )


onsuccess:
    print(conclusion(workflow.dag), flush=True)
