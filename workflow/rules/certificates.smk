"""Certificates of optima: files that anyone can check, and what an independent program says of them."""

for paper in PAPERS.values():
    if not paper.has_certificates:
        continue

    rule:
        name:
            f"verify_{paper.key}"
        input:
            PLAN.document_files(paper),
        output:
            folder=directory(f"results/certificates/{paper.key}"),
            parquet=PLAN.verified_file(paper)[0],
            csv=f"results/certificates/{paper.key}.csv",
        log:
            f"logs/{paper.key}/verify.log",
        benchmark:
            f"logs/{paper.key}/verify.tsv"
        conda:
            "../envs/ldpfrontier.yaml"
        threads: 1
        params:
            code=code("verify", "ldpfrontier.verify"),
        message:
            f"Check the certificates of {paper.key}"
        script:
            "../scripts/verify.py"
