"""Every table of every paper, as its paper.yaml declares it: by one job, or by one job per part.

Three kinds of rules:

    PAPER_TABLE        a table by one job; a table of random instances, which experiments read, lies with the data
    PAPER_TABLE_part   a part of a table
    PAPER_TABLE        the parts of a table, put together, unless they are read one by one
"""

for table in PLAN.tables:
    rule_name = f"{table.paper}_{table.name}"
    # results/tables/PAPER/TABLE.parquet, results/chunks/PAPER/TABLE/{part}.parquet, or in results/data/populations.
    file = PLAN.output(table)
    job = f"{table.paper}/{table.name}/{{part}}" if table.parts else f"{table.paper}/{table.name}"

    rule:
        name:
            f"{rule_name}_part" if table.parts else rule_name
        input:
            tables=by_part(input_files, table),
            counts=by_part(PLAN.count_files, table),
        output:
            **({"csv": file.replace(".parquet", ".csv")} if file.startswith("results/tables") else {}),
            parquet=file,
        log:
            f"logs/{job}.log",
        benchmark:
            f"logs/{job}.tsv"
        # What tables of one job compile, the parts of others find compiled, instead of two doing the same at the start.
        priority: 0 if table.parts else 1
        localrule: table.brief
        conda:
            "../envs/ldpfrontier.yaml"
        threads: 1
        resources:
            mem_mb=doubling(table.memory),
            runtime=doubling(table.minutes),
        params:
            call=by_part(PLAN.job_description, table),
            schema=table.schema_name,
            code=lambda wildcards, table=table: code_of(table),
        message:
            f"{'Draw' if table.population else 'Compute'} {table.name} of {table.paper}"
            + (", part {wildcards.part}" if table.parts else "")
        script:
            "../scripts/compute.py"

    if table.parts and table.whole:

        rule:
            name:
                rule_name
            input:
                PLAN.part_files(table),
            output:
                parquet=f"results/tables/{table.paper}/{table.name}.parquet",
                csv=f"results/tables/{table.paper}/{table.name}.csv",
            log:
                f"logs/{table.paper}/{table.name}.log",
            benchmark:
                f"logs/{table.paper}/{table.name}.tsv"
            localrule: True
            conda:
                "../envs/ldpfrontier.yaml"
            threads: 1
            params:
                schema=table.schema_name,
                code=code("collect", table.schema_name, table.function_name),
            message:
                f"Collect {table.name} of {table.paper}"
            script:
                "../scripts/collect.py"
