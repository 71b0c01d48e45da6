"""The tables of counts of the Adult data that the project ships."""

from pathlib import Path

import numpy as np

from reproduction.data.catalogue import Contingency, data_set

ROOT = Path(__file__).resolve().parents[2]


def adult_pair(sensitive: str, useful: str) -> Contingency:
    adult = data_set("adult")
    return adult.contingency(adult.read(ROOT / "resources" / adult.counts), sensitive, useful)


def adult_counts(sensitive: str, useful: str) -> np.ndarray:
    return np.array(adult_pair(sensitive, useful).counts)
