"""Every table of every paper: one job, or one for each of its parts and one that puts them together."""

@cache
def jobs(paper, table):
    """Return the arguments of the parts of a table by the name of the part."""
    return PAPERS[paper].tables[table].jobs(config)


def part_files(table):
    return [
        f"results/chunks/{table.paper}/{table.name}/{part}.parquet" for part in jobs(table.paper, table.name)
    ]


def files_of(table):
    """Return the files that hold a table: its own, or those of its parts where it is not put together."""
    return [f"results/tables/{table.paper}/{table.name}.parquet"] if table.publish else part_files(table)


def read_by(call):
    """Return the tables that a call reads."""
    return [PAPERS[call.paper].tables[name] for name in call.tables]


def count_files(arguments):
    # Ancient, with its hash in `params`: only other counts of this very pair are a reason to run again.
    return [ancient(f"results/data/{c.data}/{c.sensitive}/{c.public}.csv") for _, c in data_of(arguments)]


def arguments_of(table):
    """Return a function of the wildcards: the arguments of a job of a table."""
    if not table.parts:
        resolved = table.resolved(config)
        return lambda wildcards: resolved

    def arguments(wildcards):
        parts = jobs(table.paper, table.name)
        if wildcards.part not in parts:
            raise WorkflowError(
                f"Table {table.name} of {table.paper} has no part {wildcards.part}; the configuration makes"
                f" {', '.join(list(parts)[:5])}{', ...' if len(parts) > 5 else ''}."
            )
        return parts[wildcards.part]

    return arguments


for paper in PAPERS.values():
    for table in paper.tables.values():
        # What the functions below close over must be of this round.
        arguments = arguments_of(table)
        place = f"{table.paper}/{table.name}"
        if not table.parts:
            stem = f"results/tables/{place}"
            made = {"parquet": f"{stem}.parquet", "csv": f"{stem}.csv"}
        else:
            made = {"parquet": f"results/chunks/{place}/{{part}}.parquet"}

        rule:
            name:
                f"{paper.key}_{table.name}" + ("_part" if table.parts else "")
            input:
                tables=[file for read in read_by(table) for file in files_of(read)],
                counts=lambda wildcards, arguments=arguments: count_files(arguments(wildcards)),
            output:
                **made,
            log:
                f"logs/{place}" + ("/{part}" if table.parts else "") + ".log",
            benchmark:
                f"logs/{place}" + ("/{part}" if table.parts else "") + ".tsv"
            localrule: table.brief
            conda:
                "../envs/ldpfrontier.yaml"
            threads: 1
            params:
                call=lambda wildcards, table=table, arguments=arguments: {
                    **told(table, arguments(wildcards), read_by(table)),
                    "schema": table.schema_name,
                },
                code=code(
                    "compute.py",
                    *modules(
                        table.function_name,
                        table.schema_name,
                        *(read.schema_name for read in read_by(table)),
                    ),
                ),
            message:
                f"Compute {table.name} of {paper.key}" + (", part {wildcards.part}" if table.parts else "")
            script:
                "../scripts/compute.py"

        if table.parts and table.publish:

            rule:
                name:
                    f"{paper.key}_{table.name}"
                input:
                    part_files(table),
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
                    configuration=[told(table, part, []) for part in jobs(paper.key, table.name).values()],
                    schema=table.schema_name,
                    code=code("collect.py", *modules(table.schema_name)),
                message:
                    f"Collect {table.name} of {paper.key}"
                script:
                    "../scripts/collect.py"
