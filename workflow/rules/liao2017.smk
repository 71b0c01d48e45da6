"""liao2017: Figures 1 to 3, Tables I and II, the study on more letters, and the statements checked."""

HYPOTHESES = BASE / "resources/liao2017.yaml"
TESTS = configuration.hypothesis_tests(config, HYPOTHESES)


wildcard_constraints:
    test="[a-z0-9_]+",


rule liao2017:
    input:
        expand(
            "results/tables/liao2017/{table}.{suffix}",
            table=["sweeps", "comparison", "theorems", "statements"],
            suffix=["parquet", "csv"],
        ),
        multiext("results/tables/liao2017/hypotheses", ".csv", ".md"),
        multiext("results/tables/liao2017/shares", ".csv", ".md"),
        expand(
            "results/figures/liao2017/{figure}.{suffix}",
            figure=["fig1", "fig2", "fig3", "study", "shares"],
            suffix=config["figures"]["formats"],
        ),


rule liao2017_sweep:
    input:
        hypotheses=os.path.relpath(HYPOTHESES),
    output:
        "results/chunks/liao2017/{test}/sweep.parquet",
    log:
        "logs/liao2017/{test}/sweep.log",
    benchmark:
        "logs/liao2017/{test}/sweep.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=lambda wildcards: TESTS[wildcards.test].sweep(),
        code=code("liao2017_sweep.py"),
    script:
        "../scripts/liao2017_sweep.py"


rule liao2017_comparison_chunk:
    input:
        hypotheses=os.path.relpath(HYPOTHESES),
    output:
        "results/chunks/liao2017/{test}/comparison.parquet",
    log:
        "logs/liao2017/{test}/comparison.log",
    benchmark:
        "logs/liao2017/{test}/comparison.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=lambda wildcards: TESTS[wildcards.test].comparison(),
        code=code("liao2017_comparison.py"),
    script:
        "../scripts/liao2017_comparison.py"


rule liao2017_sweeps:
    input:
        expand("results/chunks/liao2017/{test}/sweep.parquet", test=TESTS),
    output:
        parquet="results/tables/liao2017/sweeps.parquet",
        csv="results/tables/liao2017/sweeps.csv",
    log:
        "logs/liao2017/sweeps.log",
    benchmark:
        "logs/liao2017/sweeps.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        configuration=[test.sweep() for test in TESTS.values()],
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


use rule liao2017_sweeps as liao2017_comparison with:
    input:
        expand("results/chunks/liao2017/{test}/comparison.parquet", test=TESTS),
    output:
        parquet="results/tables/liao2017/comparison.parquet",
        csv="results/tables/liao2017/comparison.csv",
    log:
        "logs/liao2017/comparison.log",
    benchmark:
        "logs/liao2017/comparison.tsv"
    params:
        configuration=[test.comparison() for test in TESTS.values()],
        code=code("collect.py"),


rule liao2017_theorems:
    output:
        parquet="results/tables/liao2017/theorems.parquet",
        csv="results/tables/liao2017/theorems.csv",
    log:
        "logs/liao2017/theorems.log",
    benchmark:
        "logs/liao2017/theorems.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings={
            "seed": config["seed"],
            "instances": config["liao2017"]["theorems"],
            "order": config["liao2017"]["order"],
        },
        code=code("liao2017_theorems.py"),
    script:
        "../scripts/liao2017_theorems.py"


rule liao2017_statements:
    input:
        hypotheses=os.path.relpath(HYPOTHESES),
        sweeps="results/tables/liao2017/sweeps.parquet",
        comparison="results/tables/liao2017/comparison.parquet",
    output:
        parquet="results/tables/liao2017/statements.parquet",
        csv="results/tables/liao2017/statements.csv",
        hypotheses=multiext("results/tables/liao2017/hypotheses", ".csv", ".md"),
        shares_csv="results/tables/liao2017/shares.csv",
        shares=report(
            "results/tables/liao2017/shares.md",
            caption="../report/liao2017_shares_table.rst",
            category="liao2017",
            labels={
                "figure": "-",
                "data": "Tables I, II and ours",
                "shows": "how far W' is from the optima",
            },
        ),
    log:
        "logs/liao2017/statements.log",
    benchmark:
        "logs/liao2017/statements.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        code=code("liao2017_statements.py"),
    script:
        "../scripts/liao2017_statements.py"


rule liao2017_fig2:
    input:
        hypotheses=os.path.relpath(HYPOTHESES),
        sweeps="results/tables/liao2017/sweeps.parquet",
    output:
        figure(
            "results/figures/liao2017/fig2",
            caption="../report/liao2017_fig2.rst",
            category="liao2017",
            labels={"figure": "2", "data": "Table I", "shows": "utility against leakage, pairs"},
        ),
    log:
        "logs/liao2017/fig2.log",
    benchmark:
        "logs/liao2017/fig2.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        draw="fig2",
        dpi=config["figures"]["dpi"],
        code=code("liao2017_figure.py"),
    script:
        "../scripts/liao2017_figure.py"


use rule liao2017_fig2 as liao2017_fig3 with:
    output:
        figure(
            "results/figures/liao2017/fig3",
            caption="../report/liao2017_fig3.rst",
            category="liao2017",
            labels={"figure": "3", "data": "Table II", "shows": "utility against leakage, triples"},
        ),
    log:
        "logs/liao2017/fig3.log",
    benchmark:
        "logs/liao2017/fig3.tsv"
    params:
        draw="fig3",
        dpi=config["figures"]["dpi"],
        code=code("liao2017_figure.py"),


use rule liao2017_fig2 as liao2017_study with:
    output:
        figure(
            "results/figures/liao2017/study",
            caption="../report/liao2017_study.rst",
            category="liao2017",
            labels={"figure": "-", "data": "three and four letters", "shows": "utility against leakage"},
        ),
    log:
        "logs/liao2017/study.log",
    benchmark:
        "logs/liao2017/study.tsv"
    params:
        draw="study",
        dpi=config["figures"]["dpi"],
        code=code("liao2017_figure.py"),


use rule liao2017_fig2 as liao2017_shares with:
    output:
        figure(
            "results/figures/liao2017/shares",
            caption="../report/liao2017_shares.rst",
            category="liao2017",
            labels={"figure": "-", "data": "Tables I and II", "shows": "share of the optimum that W' has"},
        ),
    log:
        "logs/liao2017/shares.log",
    benchmark:
        "logs/liao2017/shares.tsv"
    params:
        draw="shares",
        dpi=config["figures"]["dpi"],
        code=code("liao2017_figure.py"),


rule liao2017_fig1:
    output:
        figure(
            "results/figures/liao2017/fig1",
            caption="../report/liao2017_fig1.rst",
            category="liao2017",
            labels={"figure": "1", "data": "one pair", "shows": "the perturbation W'"},
        ),
    log:
        "logs/liao2017/fig1.log",
    benchmark:
        "logs/liao2017/fig1.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=config["liao2017"]["fig1"],
        dpi=config["figures"]["dpi"],
        code=code("liao2017_fig1.py"),
    script:
        "../scripts/liao2017_fig1.py"
