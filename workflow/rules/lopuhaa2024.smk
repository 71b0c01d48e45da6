"""lopuhaa2024: Figure 2 on Adult, and the worked example."""

PAIRS = configuration.pairs(config)


wildcard_constraints:
    chunk=r"\d+",


rule lopuhaa2024:
    input:
        multiext("results/tables/lopuhaa2024/fig2", ".parquet", ".csv"),
        expand("results/tables/lopuhaa2024/{table}.csv", table=["orderings", "gain_adult"]),
        multiext("results/tables/lopuhaa2024/orders", ".parquet", ".csv"),
        multiext("results/tables/lopuhaa2024/example", ".parquet", ".csv", ".md"),
        expand("results/figures/lopuhaa2024/fig2.{suffix}", suffix=config["figures"]["formats"]),
        rules.lopuhaa2024_synthetic.input,


rule lopuhaa2024_fig2_chunk:
    input:
        # Ancient, with its hash in `params`: only other counts of this very pair are a reason to run again.
        counts=ancient("results/data/adult/{sensitive}/{public}.csv"),
    output:
        "results/chunks/lopuhaa2024/fig2/{sensitive}/{public}/{chunk}.parquet",
    log:
        "logs/lopuhaa2024/fig2/{sensitive}/{public}/{chunk}.log",
    benchmark:
        "logs/lopuhaa2024/fig2/{sensitive}/{public}/{chunk}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        sweep=lambda wildcards: PAIRS[wildcards.sensitive, wildcards.public].chunk(int(wildcards.chunk)),
        digest=lambda wildcards: pair_digest(wildcards.sensitive, wildcards.public),
        code=code("lopuhaa2024_fig2_chunk.py"),
    script:
        "../scripts/lopuhaa2024_fig2_chunk.py"


rule lopuhaa2024_fig2_table:
    input:
        [
            f"results/chunks/lopuhaa2024/fig2/{sensitive}/{public}/{chunk}.parquet"
            for (sensitive, public), pair in PAIRS.items()
            for chunk in range(pair.chunks)
        ],
    output:
        parquet="results/tables/lopuhaa2024/fig2.parquet",
        csv="results/tables/lopuhaa2024/fig2.csv",
    log:
        "logs/lopuhaa2024/fig2_table.log",
    benchmark:
        "logs/lopuhaa2024/fig2_table.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        # Without the numbers of jobs: they do not change the table.
        configuration={"pairs": [pair.settings() for pair in PAIRS.values()]},
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


rule lopuhaa2024_orders:
    input:
        counts=ancient([f"results/data/adult/{sensitive}/{public}.csv" for sensitive, public in PAIRS]),
    output:
        parquet="results/tables/lopuhaa2024/orders.parquet",
        csv="results/tables/lopuhaa2024/orders.csv",
    log:
        "logs/lopuhaa2024/orders.log",
    benchmark:
        "logs/lopuhaa2024/orders.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        pairs=[list(names) for names in PAIRS],
        digests=[pair_digest(*names) for names in PAIRS],
        orders=config["lopuhaa2024"]["orders"]["values"],
        settings={
            "beta": config["lopuhaa2024"]["beta"],
            "epsilons": config["lopuhaa2024"]["orders"]["epsilon"],
            "mechanisms": config["lopuhaa2024"]["orders"]["mechanisms"],
            "tolerance": config["lopuhaa2024"]["orders"]["tolerance"],
        },
        code=code("lopuhaa2024_orders.py"),
    script:
        "../scripts/lopuhaa2024_orders.py"


rule lopuhaa2024_orderings:
    input:
        rules.lopuhaa2024_fig2_table.output.parquet,
    output:
        gain="results/tables/lopuhaa2024/gain_adult.csv",
        orderings=report(
            "results/tables/lopuhaa2024/orderings.csv",
            caption="../report/lopuhaa2024_orderings.rst",
            category="lopuhaa2024",
            labels={"figure": "2", "data": "UCI Adult", "shows": "mechanisms ranked by NMI"},
        ),
    log:
        "logs/lopuhaa2024/orderings.log",
    benchmark:
        "logs/lopuhaa2024/orderings.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        code=code("lopuhaa2024_orderings.py"),
    script:
        "../scripts/lopuhaa2024_orderings.py"


rule lopuhaa2024_fig2:
    input:
        rules.lopuhaa2024_fig2_table.output.parquet,
    output:
        figure(
            "results/figures/lopuhaa2024/fig2",
            caption="../report/lopuhaa2024_fig2.rst",
            category="lopuhaa2024",
            labels={"figure": "2", "data": "UCI Adult", "shows": "NMI against epsilon"},
        ),
    log:
        "logs/lopuhaa2024/fig2.log",
    benchmark:
        "logs/lopuhaa2024/fig2.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        dpi=config["figures"]["dpi"],
        code=code("lopuhaa2024_fig2.py"),
    script:
        "../scripts/lopuhaa2024_fig2.py"


rule lopuhaa2024_example:
    output:
        parquet="results/tables/lopuhaa2024/example.parquet",
        csv=report(
            "results/tables/lopuhaa2024/example.csv",
            caption="../report/lopuhaa2024_example.rst",
            category="lopuhaa2024",
            labels={"figure": "-", "data": "Examples 1 to 5", "shows": "computed and printed"},
        ),
        markdown="results/tables/lopuhaa2024/example.md",
    log:
        "logs/lopuhaa2024/example.log",
    benchmark:
        "logs/lopuhaa2024/example.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        code=code("lopuhaa2024_example.py"),
    script:
        "../scripts/lopuhaa2024_example.py"
