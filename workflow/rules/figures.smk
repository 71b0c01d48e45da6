"""Every figure and every table of texts, of all papers, and the target of each paper."""


rule figure:
    input:
        lambda wildcards: input_files(named(wildcards, "figure")),
    output:
        figure_files(),
    log:
        "logs/{paper}/figures/{figure}.log",
    benchmark:
        "logs/{paper}/figures/{figure}.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        call=lambda wildcards: PLAN.job_description(named(wildcards, "figure")),
        caption=lambda wildcards: named(wildcards, "figure").caption,
        dpi=config["figures"]["dpi"],
        code=lambda wildcards: code_of(named(wildcards, "figure")),
    message:
        "Draw {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/figure.py"


rule layout:
    input:
        lambda wildcards: input_files(named(wildcards, "layout")),
    output:
        report("results/tables/{paper}/{layout}.md", **report_options("layout")),
    log:
        "logs/{paper}/layouts/{layout}.log",
    benchmark:
        "logs/{paper}/layouts/{layout}.tsv"
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        call=lambda wildcards: PLAN.job_description(named(wildcards, "layout")),
        caption=lambda wildcards: named(wildcards, "layout").caption,
        code=lambda wildcards: code_of(named(wildcards, "layout")),
    message:
        "Lay out {wildcards.layout} of {wildcards.paper}"
    script:
        "../scripts/layout.py"


for paper in PAPERS.values():
    if paper.is_beyond:
        continue

    rule:
        name:
            paper.key
        input:
            PLAN.target_files(paper, FORMATS),
            expand("results/data/{data}/provenance.json", data=PLAN.data_sets(paper)),
        message:
            f"All results of {paper.key} are complete"
