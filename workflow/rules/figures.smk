"""Every figure and every table of texts, of all papers, and the target of each paper."""


def shown(kind):
    """Return the options of `report`: what the reports say of a figure or a layout is in the paper's paper.yaml."""

    def labels(wildcards):
        return dict(getattr(PAPERS[wildcards.paper], f"{kind}s")[wildcards[kind]].labels)

    return {"caption": "../report/caption.rst", "category": "{paper}", "labels": labels}


def of(wildcards, kind):
    """Return the figure or the layout that the wildcards name."""
    found = getattr(PAPERS[wildcards.paper], f"{kind}s").get(wildcards[kind])
    if found is None:
        raise WorkflowError(f"{wildcards.paper} has no {kind} {wildcards[kind]}.")
    return found


def read_files(wildcards, kind):
    return [file for table in read_by(of(wildcards, kind)) for file in files_of(table)]


def drawing(wildcards, kind):
    call = of(wildcards, kind)
    return told(call, call.resolved(config), read_by(call))


def drawing_code(wildcards, kind):
    call = of(wildcards, kind)
    schemas = [table.schema_name for table in read_by(call)]
    return code(f"{kind}.py", *modules(call.function_name, *schemas))


def figure_files():
    """Return the files of a figure in all formats; the best one for a browser goes into the report."""
    paths = {
        suffix: f"results/figures/{{paper}}/{{figure}}.{suffix}" for suffix in config["figures"]["formats"]
    }
    best = min(paths, key=["svg", "png", "pdf"].index)
    return [report(path, **shown("figure")) if suffix == best else path for suffix, path in paths.items()]


rule figure:
    input:
        lambda wildcards: read_files(wildcards, "figure"),
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
        call=lambda wildcards: drawing(wildcards, "figure"),
        caption=lambda wildcards: of(wildcards, "figure").caption,
        dpi=config["figures"]["dpi"],
        code=lambda wildcards: drawing_code(wildcards, "figure"),
    message:
        "Draw {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/figure.py"


rule layout:
    input:
        lambda wildcards: read_files(wildcards, "layout"),
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
        call=lambda wildcards: drawing(wildcards, "layout"),
        caption=lambda wildcards: of(wildcards, "layout").caption,
        code=lambda wildcards: drawing_code(wildcards, "layout"),
    message:
        "Lay out {wildcards.layout} of {wildcards.paper} as {wildcards.suffix}"
    script:
        "../scripts/layout.py"


def finished(paper):
    """Return the files that a paper ends in."""
    stems = [f"results/tables/{paper.key}/{name}" for name in paper.published]
    figures = [f"results/figures/{paper.key}/{name}" for name in paper.figures]
    return [
        *(f"{stem}.{suffix}" for stem in stems for suffix in ("parquet", "csv")),
        *(f"{stem}.{suffix}" for stem in figures for suffix in config["figures"]["formats"]),
        *(
            f"results/tables/{paper.key}/{layout.name}.{suffix}"
            for layout in paper.layouts.values()
            for suffix in layout.formats
        ),
    ]


FINISHED = [path for paper in PAPERS.values() for path in finished(paper)]


for paper in PAPERS.values():

    rule:
        name:
            paper.key
        input:
            finished(paper),
        message:
            f"Everything of {paper.key} is there"
