"""Every table of every paper: one job, or one for each of its parts and one that puts them together."""

for table in PLAN.tables:
    place = f"{table.paper}/{table.name}"
    job = f"{place}/{{part}}" if table.parts else place
    made = f"results/chunks/{job}" if table.parts else f"results/tables/{job}"

    rule:
        name:
            f"{table.paper}_{table.name}" + ("_part" if table.parts else "")
        input:
            tables=PLAN.read_files(table),
            counts=counts_of(table),
        output:
            **({} if table.parts else {"csv": f"{made}.csv"}),
            parquet=f"{made}.parquet",
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
            call=call_of(table),
            reads=reads(table),
            schema=table.schema_name,
            code=fresh(table, table),
        message:
            f"Compute {table.name} of {table.paper}" + (", part {wildcards.part}" if table.parts else "")
        script:
            "../scripts/compute.py"

    if table.parts and table.publish:

        rule:
            name:
                f"{table.paper}_{table.name}"
            input:
                PLAN.part_files(table),
            output:
                parquet=f"results/tables/{place}.parquet",
                csv=f"results/tables/{place}.csv",
            log:
                f"logs/{place}.log",
            benchmark:
                f"logs/{place}.tsv"
            localrule: True
            conda:
                "../envs/ldpfrontier.yaml"
            threads: 1
            params:
                configuration=PLAN.configuration_of(table),
                reads={"code": fresh(table, table), "configurations": PLAN.part_configurations(table)},
                schema=table.schema_name,
                code=code("collect.py", table.schema_name),
            message:
                f"Collect {table.name} of {table.paper}"
            script:
                "../scripts/collect.py"
