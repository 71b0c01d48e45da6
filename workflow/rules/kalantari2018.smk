"""kalantari2018: Figures 4 to 7, Tables I to IV, the bounds of Theorem 3, and the statements checked."""

DISTORTIONS = configuration.distortions(config)
SOURCES = BASE / "resources/kalantari2018.yaml"


rule kalantari2018:
    input:
        expand(
            "results/tables/kalantari2018/{table}.{suffix}",
            table=["tradeoff", "bounds", "random", "checks", "sources"],
            suffix=["parquet", "csv"],
        ),
        expand(
            "results/figures/kalantari2018/{figure}.{suffix}",
            figure=["fig4", "fig5", "fig6", "fig7", "bounds"],
            suffix=config["figures"]["formats"],
        ),


rule kalantari2018_tradeoff:
    input:
        sources=os.path.relpath(SOURCES),
    output:
        parquet="results/tables/kalantari2018/tradeoff.parquet",
        csv="results/tables/kalantari2018/tradeoff.csv",
    log:
        "logs/kalantari2018/tradeoff.log",
    benchmark:
        "logs/kalantari2018/tradeoff.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        table="tradeoff",
        settings=DISTORTIONS,
        code=code("kalantari2018_table.py"),
    script:
        "../scripts/kalantari2018_table.py"


use rule kalantari2018_tradeoff as kalantari2018_bounds_table with:
    output:
        parquet="results/tables/kalantari2018/bounds.parquet",
        csv="results/tables/kalantari2018/bounds.csv",
    log:
        "logs/kalantari2018/bounds_table.log",
    benchmark:
        "logs/kalantari2018/bounds_table.tsv"
    params:
        table="bounds",
        settings=DISTORTIONS,
        code=code("kalantari2018_table.py"),


use rule kalantari2018_tradeoff as kalantari2018_random with:
    output:
        parquet="results/tables/kalantari2018/random.parquet",
        csv="results/tables/kalantari2018/random.csv",
    log:
        "logs/kalantari2018/random.log",
    benchmark:
        "logs/kalantari2018/random.tsv"
    params:
        table="random",
        settings={"instances": list(range(config["kalantari2018"]["random"])), "seed": config["seed"]},
        code=code("kalantari2018_table.py"),


use rule kalantari2018_tradeoff as kalantari2018_sources with:
    output:
        parquet="results/tables/kalantari2018/sources.parquet",
        csv="results/tables/kalantari2018/sources.csv",
    log:
        "logs/kalantari2018/sources.log",
    benchmark:
        "logs/kalantari2018/sources.tsv"
    localrule: True
    params:
        table="sources",
        settings={},
        code=code("kalantari2018_table.py"),


use rule kalantari2018_tradeoff as kalantari2018_checks with:
    input:
        sources=os.path.relpath(SOURCES),
        results=expand("results/tables/kalantari2018/{table}.parquet", table=["tradeoff", "bounds", "random"]),
    output:
        parquet="results/tables/kalantari2018/checks.parquet",
        csv="results/tables/kalantari2018/checks.csv",
    log:
        "logs/kalantari2018/checks.log",
    benchmark:
        "logs/kalantari2018/checks.tsv"
    localrule: True
    params:
        table="checks",
        settings={},
        code=code("kalantari2018_table.py"),


rule kalantari2018_fig4:
    input:
        "results/tables/kalantari2018/tradeoff.parquet",
    output:
        figure(
            "results/figures/kalantari2018/fig4",
            caption="../report/kalantari2018_fig4.rst",
            category="kalantari2018",
            labels={"figure": "4", "data": "M = 6", "shows": "DP leakage against distortion"},
        ),
    log:
        "logs/kalantari2018/fig4.log",
    benchmark:
        "logs/kalantari2018/fig4.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        draw="fig4",
        dpi=config["figures"]["dpi"],
        code=code("kalantari2018_figure.py"),
    script:
        "../scripts/kalantari2018_figure.py"


use rule kalantari2018_fig4 as kalantari2018_fig5 with:
    output:
        figure(
            "results/figures/kalantari2018/fig5",
            caption="../report/kalantari2018_fig5.rst",
            category="kalantari2018",
            labels={"figure": "5", "data": "M = 10", "shows": "DP leakage against distortion"},
        ),
    log:
        "logs/kalantari2018/fig5.log",
    benchmark:
        "logs/kalantari2018/fig5.tsv"
    params:
        draw="fig5",
        dpi=config["figures"]["dpi"],
        code=code("kalantari2018_figure.py"),


use rule kalantari2018_fig4 as kalantari2018_fig6 with:
    output:
        figure(
            "results/figures/kalantari2018/fig6",
            caption="../report/kalantari2018_fig6.rst",
            category="kalantari2018",
            labels={"figure": "6", "data": "M = 6", "shows": "MI and DP leakage against distortion"},
        ),
    log:
        "logs/kalantari2018/fig6.log",
    benchmark:
        "logs/kalantari2018/fig6.tsv"
    params:
        draw="fig6",
        dpi=config["figures"]["dpi"],
        code=code("kalantari2018_figure.py"),


use rule kalantari2018_fig4 as kalantari2018_fig7 with:
    output:
        figure(
            "results/figures/kalantari2018/fig7",
            caption="../report/kalantari2018_fig7.rst",
            category="kalantari2018",
            labels={"figure": "7", "data": "M = 10", "shows": "MI and DP leakage against distortion"},
        ),
    log:
        "logs/kalantari2018/fig7.log",
    benchmark:
        "logs/kalantari2018/fig7.tsv"
    params:
        draw="fig7",
        dpi=config["figures"]["dpi"],
        code=code("kalantari2018_figure.py"),


use rule kalantari2018_fig4 as kalantari2018_bounds with:
    input:
        "results/tables/kalantari2018/bounds.parquet",
    output:
        figure(
            "results/figures/kalantari2018/bounds",
            caption="../report/kalantari2018_bounds.rst",
            category="kalantari2018",
            labels={
                "figure": "-",
                "data": "two Class III sets",
                "shows": "Theorem 3's bounds and the optimum",
            },
        ),
    log:
        "logs/kalantari2018/bounds.log",
    benchmark:
        "logs/kalantari2018/bounds.tsv"
    params:
        draw="bounds",
        dpi=config["figures"]["dpi"],
        code=code("kalantari2018_figure.py"),
