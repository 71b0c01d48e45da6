"""lopuhaa2024: the synthetic study (Figures 3 to 5, Table 2), what distinct pairs gain, and the theorems."""

STUDIES = configuration.studies(config)


wildcard_constraints:
    study="|".join(STUDIES),
    block="[A-Za-z0-9_-]+",


rule lopuhaa2024_synthetic:
    input:
        expand(
            "results/tables/lopuhaa2024/{table}.{suffix}",
            table=["synthetic", "beta", "theorems"],
            suffix=["parquet", "csv"],
        ),
        expand(
            "results/tables/lopuhaa2024/{table}.csv",
            table=["fig3", "fig4", "fig5", "gain", "mean_orderings"],
        ),
        multiext("results/tables/lopuhaa2024/table2", ".csv", ".md", ".tex"),
        expand(
            "results/figures/lopuhaa2024/{figure}.{suffix}",
            figure=["fig3", "fig4", "fig5", "gain"],
            suffix=config["figures"]["formats"],
        ),


rule lopuhaa2024_synthetic_chunk:
    output:
        "results/chunks/lopuhaa2024/{study}/{block}/{chunk}.parquet",
    log:
        "logs/lopuhaa2024/{study}/{block}/{chunk}.log",
    benchmark:
        "logs/lopuhaa2024/{study}/{block}/{chunk}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=lambda wildcards: STUDIES[wildcards.study][wildcards.block].chunk(int(wildcards.chunk)),
        code=code("lopuhaa2024_synthetic_chunk.py"),
    script:
        "../scripts/lopuhaa2024_synthetic_chunk.py"


rule lopuhaa2024_synthetic_table:
    input:
        lambda wildcards: [
            f"results/chunks/lopuhaa2024/{wildcards.study}/{name}/{chunk}.parquet"
            for name, block in STUDIES[wildcards.study].items()
            for chunk in block.chunks
        ],
    output:
        parquet="results/tables/lopuhaa2024/{study}.parquet",
        csv="results/tables/lopuhaa2024/{study}.csv",
    log:
        "logs/lopuhaa2024/{study}_table.log",
    benchmark:
        "logs/lopuhaa2024/{study}_table.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        configuration=lambda wildcards: [block.settings() for block in STUDIES[wildcards.study].values()],
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


rule lopuhaa2024_summaries:
    input:
        synthetic="results/tables/lopuhaa2024/synthetic.parquet",
        beta="results/tables/lopuhaa2024/beta.parquet",
    output:
        **{
            name: f"results/tables/lopuhaa2024/{name}.csv"
            for name in ("fig3", "fig4", "fig5", "gain", "mean_orderings")
        },
        csv="results/tables/lopuhaa2024/table2.csv",
        markdown=report(
            "results/tables/lopuhaa2024/table2.md",
            caption="../report/lopuhaa2024_table2.rst",
            category="lopuhaa2024",
            labels={"figure": "Table 2", "data": "synthetic", "shows": "NMI by significance level"},
        ),
        latex="results/tables/lopuhaa2024/table2.tex",
    log:
        "logs/lopuhaa2024/summaries.log",
    benchmark:
        "logs/lopuhaa2024/summaries.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        epsilon=config["lopuhaa2024"]["synthetic"]["reference"],
        code=code("lopuhaa2024_summaries.py"),
    script:
        "../scripts/lopuhaa2024_summaries.py"


rule lopuhaa2024_fig3:
    input:
        "results/tables/lopuhaa2024/synthetic.parquet",
    output:
        figure(
            "results/figures/lopuhaa2024/fig3",
            caption="../report/lopuhaa2024_fig3.rst",
            category="lopuhaa2024",
            labels={"figure": "3", "data": "synthetic", "shows": "mean NMI against epsilon"},
        ),
    log:
        "logs/lopuhaa2024/fig3.log",
    benchmark:
        "logs/lopuhaa2024/fig3.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        draw="fig3",
        epsilon=config["lopuhaa2024"]["synthetic"]["reference"],
        dpi=config["figures"]["dpi"],
        code=code("lopuhaa2024_synthetic_figure.py"),
    script:
        "../scripts/lopuhaa2024_synthetic_figure.py"


use rule lopuhaa2024_fig3 as lopuhaa2024_fig4 with:
    output:
        figure(
            "results/figures/lopuhaa2024/fig4",
            caption="../report/lopuhaa2024_fig4.rst",
            category="lopuhaa2024",
            labels={"figure": "4", "data": "synthetic", "shows": "realized privacy against epsilon"},
        ),
    log:
        "logs/lopuhaa2024/fig4.log",
    benchmark:
        "logs/lopuhaa2024/fig4.tsv"
    params:
        draw="fig4",
        epsilon=config["lopuhaa2024"]["synthetic"]["reference"],
        dpi=config["figures"]["dpi"],
        code=code("lopuhaa2024_synthetic_figure.py"),


use rule lopuhaa2024_fig3 as lopuhaa2024_fig5 with:
    output:
        figure(
            "results/figures/lopuhaa2024/fig5",
            caption="../report/lopuhaa2024_fig5.rst",
            category="lopuhaa2024",
            labels={"figure": "5", "data": "synthetic", "shows": "utility under the estimate and the truth"},
        ),
    log:
        "logs/lopuhaa2024/fig5.log",
    benchmark:
        "logs/lopuhaa2024/fig5.tsv"
    params:
        draw="fig5",
        epsilon=config["lopuhaa2024"]["synthetic"]["reference"],
        dpi=config["figures"]["dpi"],
        code=code("lopuhaa2024_synthetic_figure.py"),


use rule lopuhaa2024_fig3 as lopuhaa2024_gain with:
    output:
        figure(
            "results/figures/lopuhaa2024/gain",
            caption="../report/lopuhaa2024_gain.rst",
            category="lopuhaa2024",
            labels={"figure": "-", "data": "synthetic", "shows": "what distinct pairs gain"},
        ),
    log:
        "logs/lopuhaa2024/gain.log",
    benchmark:
        "logs/lopuhaa2024/gain.tsv"
    params:
        draw="gain",
        epsilon=config["lopuhaa2024"]["synthetic"]["reference"],
        dpi=config["figures"]["dpi"],
        code=code("lopuhaa2024_synthetic_figure.py"),


rule lopuhaa2024_theorems:
    output:
        parquet="results/tables/lopuhaa2024/theorems.parquet",
        csv="results/tables/lopuhaa2024/theorems.csv",
    log:
        "logs/lopuhaa2024/theorems.log",
    benchmark:
        "logs/lopuhaa2024/theorems.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings={
            "seed": config["seed"],
            "instances": [
                [[table["sensitive"], table["public"]], table["records"]]
                for table in config["lopuhaa2024"]["theorems"]["tables"]
            ],
            "orders": config["lopuhaa2024"]["theorems"]["orders"],
            "epsilons": config["lopuhaa2024"]["theorems"]["epsilon"],
            "beta": config["lopuhaa2024"]["beta"],
        },
        code=code("lopuhaa2024_theorems.py"),
    script:
        "../scripts/lopuhaa2024_theorems.py"
