"""kairouz2016: Figures 2 to 10, the thresholds, the theorems and the expansions."""

POPULATION = configuration.population(config)
DRAWINGS = config["kairouz2016"]["drawings"]
# Total variation is in no figure: Theorem 6 is checked on it.
SWEPT = ("kl", "mutual_information", "tv")


rule kairouz2016:
    input:
        expand(
            "results/tables/kairouz2016/{table}.{suffix}",
            table=[*(f"fig{n}" for n in range(3, 9)), "thresholds", "theorems", "expansions"],
            suffix=["parquet", "csv"],
        ),
        expand(
            "results/figures/kairouz2016/{figure}.{suffix}",
            figure=[*(f"fig{n}" for n in range(2, 11)), "thresholds"],
            suffix=config["figures"]["formats"],
        ),


rule kairouz2016_sweep:
    output:
        "results/chunks/kairouz2016/{utility}/{size}/{chunk}.parquet",
    log:
        "logs/kairouz2016/{utility}/{size}/{chunk}.log",
    benchmark:
        "logs/kairouz2016/{utility}/{size}/{chunk}.tsv"
    wildcard_constraints:
        utility="|".join(SWEPT),
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=lambda wildcards: POPULATION.sweep(int(wildcards.chunk)),
        code=code("kairouz2016_sweep.py"),
    script:
        "../scripts/kairouz2016_sweep.py"


rule kairouz2016_fig3_table:
    input:
        expand(
            rules.kairouz2016_sweep.output,
            utility="kl",
            size=POPULATION.size,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/fig3.parquet",
        csv="results/tables/kairouz2016/fig3.csv",
    log:
        "logs/kairouz2016/fig3_table.log",
    benchmark:
        "logs/kairouz2016/fig3_table.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        configuration={"utility": "kl", "size": POPULATION.size, **POPULATION.sweep()},
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


rule kairouz2016_fig4_table:
    input:
        expand(
            rules.kairouz2016_sweep.output,
            utility="kl",
            size=POPULATION.sizes,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/fig4.parquet",
        csv="results/tables/kairouz2016/fig4.csv",
    log:
        "logs/kairouz2016/fig4_table.log",
    benchmark:
        "logs/kairouz2016/fig4_table.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        configuration={"utility": "kl", "sizes": list(POPULATION.sizes), **POPULATION.sweep()},
        keep={"metric": ["kl"], "mechanism": ["optimal", "binary", "rr"]},
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


rule kairouz2016_fig5_table:
    output:
        parquet="results/tables/kairouz2016/fig5.parquet",
        csv="results/tables/kairouz2016/fig5.csv",
    log:
        "logs/kairouz2016/fig5_table.log",
    benchmark:
        "logs/kairouz2016/fig5_table.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings={
            "utility": "kl",
            **POPULATION.drawn,
            "instances": POPULATION.numbers(),
            "size": POPULATION.size,
            "epsilons": list(POPULATION.scaling),
            "tolerance": POPULATION.tolerance,
        },
        code=code("kairouz2016_scaling.py"),
    script:
        "../scripts/kairouz2016_scaling.py"


use rule kairouz2016_fig3_table as kairouz2016_fig6_table with:
    input:
        expand(
            rules.kairouz2016_sweep.output,
            utility="mutual_information",
            size=POPULATION.size,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/fig6.parquet",
        csv="results/tables/kairouz2016/fig6.csv",
    log:
        "logs/kairouz2016/fig6_table.log",
    benchmark:
        "logs/kairouz2016/fig6_table.tsv"
    params:
        configuration={"utility": "mutual_information", "size": POPULATION.size, **POPULATION.sweep()},
        code=code("collect.py"),


use rule kairouz2016_fig4_table as kairouz2016_fig7_table with:
    input:
        expand(
            rules.kairouz2016_sweep.output,
            utility="mutual_information",
            size=POPULATION.sizes,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/fig7.parquet",
        csv="results/tables/kairouz2016/fig7.csv",
    log:
        "logs/kairouz2016/fig7_table.log",
    benchmark:
        "logs/kairouz2016/fig7_table.tsv"
    params:
        configuration={"utility": "mutual_information", "sizes": list(POPULATION.sizes), **POPULATION.sweep()},
        keep={"metric": ["mutual_information"], "mechanism": ["optimal", "binary", "rr"]},
        code=code("collect.py"),


use rule kairouz2016_fig5_table as kairouz2016_fig8_table with:
    output:
        parquet="results/tables/kairouz2016/fig8.parquet",
        csv="results/tables/kairouz2016/fig8.csv",
    log:
        "logs/kairouz2016/fig8_table.log",
    benchmark:
        "logs/kairouz2016/fig8_table.tsv"
    params:
        settings={
            "utility": "mutual_information",
            **POPULATION.drawn,
            "instances": POPULATION.numbers(),
            "size": POPULATION.size,
            "epsilons": list(POPULATION.scaling),
            "tolerance": POPULATION.tolerance,
        },
        code=code("kairouz2016_scaling.py"),


rule kairouz2016_thresholds_chunk:
    output:
        "results/chunks/kairouz2016/thresholds/{size}/{chunk}.parquet",
    log:
        "logs/kairouz2016/thresholds/{size}/{chunk}.log",
    benchmark:
        "logs/kairouz2016/thresholds/{size}/{chunk}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=lambda wildcards: {
            **POPULATION.drawn,
            "instances": POPULATION.numbers(int(wildcards.chunk)),
            "utilities": list(POPULATION.thresholds),
        },
        code=code("kairouz2016_thresholds_chunk.py"),
    script:
        "../scripts/kairouz2016_thresholds_chunk.py"


use rule kairouz2016_fig3_table as kairouz2016_thresholds_table with:
    input:
        expand(
            rules.kairouz2016_thresholds_chunk.output,
            size=POPULATION.sizes,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/thresholds.parquet",
        csv="results/tables/kairouz2016/thresholds.csv",
    log:
        "logs/kairouz2016/thresholds_table.log",
    benchmark:
        "logs/kairouz2016/thresholds_table.tsv"
    params:
        configuration={
            **POPULATION.drawn,
            "sizes": list(POPULATION.sizes),
            "instances": POPULATION.numbers(),
            "utilities": list(POPULATION.thresholds),
        },
        code=code("collect.py"),


rule kairouz2016_theorems:
    input:
        expand(
            rules.kairouz2016_sweep.output,
            utility=SWEPT,
            size=POPULATION.sizes,
            chunk=POPULATION.chunks,
        ),
    output:
        parquet="results/tables/kairouz2016/theorems.parquet",
        csv="results/tables/kairouz2016/theorems.csv",
    log:
        "logs/kairouz2016/theorems.log",
    benchmark:
        "logs/kairouz2016/theorems.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        channels=POPULATION.channels,
        seed=POPULATION.seed,
        configuration={"sizes": list(POPULATION.sizes), **POPULATION.sweep()},
        code=code("kairouz2016_theorems.py"),
    script:
        "../scripts/kairouz2016_theorems.py"


rule kairouz2016_expansions:
    output:
        parquet="results/tables/kairouz2016/expansions.parquet",
        csv="results/tables/kairouz2016/expansions.csv",
    log:
        "logs/kairouz2016/expansions.log",
    benchmark:
        "logs/kairouz2016/expansions.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        sizes=list(POPULATION.sizes),
        settings={
            **POPULATION.drawn,
            "instances": POPULATION.numbers(),
            "small": list(POPULATION.small),
            "large": list(POPULATION.large),
        },
        code=code("kairouz2016_expansions.py"),
    script:
        "../scripts/kairouz2016_expansions.py"


rule kairouz2016_fig2:
    output:
        figure(
            "results/figures/kairouz2016/fig2",
            caption="../report/kairouz2016_fig2.rst",
            category="kairouz2016",
            labels={"figure": "2", "data": "two mechanisms", "shows": "binary and RR as staircases"},
        ),
    log:
        "logs/kairouz2016/fig2.log",
    benchmark:
        "logs/kairouz2016/fig2.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        draw="examples",
        options={"epsilon": DRAWINGS["epsilon"]},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),
    script:
        "../scripts/kairouz2016_figure.py"


use rule kairouz2016_fig2 as kairouz2016_fig3 with:
    input:
        rules.kairouz2016_fig3_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig3",
            caption="../report/kairouz2016_fig3.rst",
            category="kairouz2016",
            labels={"figure": "3", "data": "random pairs", "shows": "KL divergence against epsilon"},
        ),
    log:
        "logs/kairouz2016/fig3.log",
    benchmark:
        "logs/kairouz2016/fig3.tsv"
    params:
        draw="averages",
        options={"utility": "kl"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig4 with:
    input:
        rules.kairouz2016_fig4_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig4",
            caption="../report/kairouz2016_fig4.rst",
            category="kairouz2016",
            labels={
                "figure": "4",
                "data": "random pairs",
                "shows": "KL divergence, better of binary and RR",
            },
        ),
    log:
        "logs/kairouz2016/fig4.log",
    benchmark:
        "logs/kairouz2016/fig4.tsv"
    params:
        draw="mixed",
        options={"utility": "kl"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig5 with:
    input:
        rules.kairouz2016_fig5_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig5",
            caption="../report/kairouz2016_fig5.rst",
            category="kairouz2016",
            labels={"figure": "5", "data": "random pairs", "shows": "KL divergence against its scale"},
        ),
    log:
        "logs/kairouz2016/fig5.log",
    benchmark:
        "logs/kairouz2016/fig5.tsv"
    params:
        draw="scaling",
        options={"utility": "kl"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig6 with:
    input:
        rules.kairouz2016_fig6_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig6",
            caption="../report/kairouz2016_fig6.rst",
            category="kairouz2016",
            labels={"figure": "6", "data": "random priors", "shows": "mutual information against epsilon"},
        ),
    log:
        "logs/kairouz2016/fig6.log",
    benchmark:
        "logs/kairouz2016/fig6.tsv"
    params:
        draw="averages",
        options={"utility": "mutual_information"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig7 with:
    input:
        rules.kairouz2016_fig7_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig7",
            caption="../report/kairouz2016_fig7.rst",
            category="kairouz2016",
            labels={
                "figure": "7",
                "data": "random priors",
                "shows": "mutual information, better of binary and RR",
            },
        ),
    log:
        "logs/kairouz2016/fig7.log",
    benchmark:
        "logs/kairouz2016/fig7.tsv"
    params:
        draw="mixed",
        options={"utility": "mutual_information"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig8 with:
    input:
        rules.kairouz2016_fig8_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/fig8",
            caption="../report/kairouz2016_fig8.rst",
            category="kairouz2016",
            labels={"figure": "8", "data": "random priors", "shows": "mutual information against its scale"},
        ),
    log:
        "logs/kairouz2016/fig8.log",
    benchmark:
        "logs/kairouz2016/fig8.tsv"
    params:
        draw="scaling",
        options={"utility": "mutual_information"},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig9 with:
    output:
        figure(
            "results/figures/kairouz2016/fig9",
            caption="../report/kairouz2016_fig9.rst",
            category="kairouz2016",
            labels={"figure": "9", "data": "two inputs", "shows": "quaternary mechanism and error region"},
        ),
    log:
        "logs/kairouz2016/fig9.log",
    benchmark:
        "logs/kairouz2016/fig9.tsv"
    params:
        draw="quaternary",
        options={key: DRAWINGS[key] for key in ("epsilon", "delta")},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_fig10 with:
    output:
        figure(
            "results/figures/kairouz2016/fig10",
            caption="../report/kairouz2016_fig10.rst",
            category="kairouz2016",
            labels={"figure": "10", "data": "one pair", "shows": "testing regions of binary and RR"},
        ),
    log:
        "logs/kairouz2016/fig10.log",
    benchmark:
        "logs/kairouz2016/fig10.tsv"
    params:
        draw="dominance",
        options={key: DRAWINGS[key] for key in ("p0", "p1", "epsilon")},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),


use rule kairouz2016_fig2 as kairouz2016_thresholds_figure with:
    input:
        rules.kairouz2016_thresholds_table.output.parquet,
    output:
        figure(
            "results/figures/kairouz2016/thresholds",
            caption="../report/kairouz2016_thresholds.rst",
            category="kairouz2016",
            labels={
                "figure": "-",
                "data": "random instances",
                "shows": "up to and from where binary and RR are optimal",
            },
        ),
    log:
        "logs/kairouz2016/thresholds_figure.log",
    benchmark:
        "logs/kairouz2016/thresholds_figure.tsv"
    params:
        draw="thresholds",
        options={},
        dpi=config["figures"]["dpi"],
        code=code("kairouz2016_figure.py"),
