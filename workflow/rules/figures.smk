"""Every figure and every table of texts, of all papers, and the target of each paper."""


rule figure:
    input:
        lambda wildcards: PLAN.input_files(of(wildcards, "figure")),
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
        call=lambda wildcards: told(of(wildcards, "figure")),
        reads=lambda wildcards: reads(of(wildcards, "figure")),
        caption=lambda wildcards: of(wildcards, "figure").caption,
        dpi=config["figures"]["dpi"],
        code=lambda wildcards: fresh(of(wildcards, "figure")),
    message:
        "Draw {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/figure.py"


rule layout:
    input:
        lambda wildcards: PLAN.input_files(of(wildcards, "layout")),
    output:
        report("results/tables/{paper}/{layout}.{suffix}", **shown("layout")),
    log:
        "logs/{paper}/layouts/{layout}.{suffix}.log",
    benchmark:
        "logs/{paper}/layouts/{layout}.{suffix}.tsv"
    wildcard_constraints:
        suffix="md|tex",
    localrule: True
    conda:
        "../envs/ldpfrontier.yaml"
    threads: 1
    params:
        call=lambda wildcards: told(of(wildcards, "layout")),
        reads=lambda wildcards: reads(of(wildcards, "layout")),
        caption=lambda wildcards: of(wildcards, "layout").caption,
        code=lambda wildcards: fresh(of(wildcards, "layout")),
    message:
        "Lay out {wildcards.layout} of {wildcards.paper} as {wildcards.suffix}"
    script:
        "../scripts/layout.py"


for paper in PAPERS.values():

    rule:
        name:
            paper.key
        input:
            PLAN.target_files(paper, config["figures"]["formats"]),
            expand("results/data/{data}/provenance.json", data=PLAN.data_sets(paper)),
        message:
            f"Everything of {paper.key} is there"
