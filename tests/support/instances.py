"""Random instances drawn and read in one step, as the workflow does in two."""

import numpy as np

from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016 import expansions, experiments
from papers.kairouz2016 import thresholds as searches
from papers.kairouz2016.instances import instances
from papers.kairouz2016.measures import measures
from papers.lopuhaa2024 import synthetic
from papers.lopuhaa2024.random_tables import random_tables, tables_of
from reproduction.data.populations import POPULATION, rows_of


def sample(utility, size, number, *, seed, concentration=1.0):
    """Return one instance of kairouz2016, as a utility."""
    drawn = instances(size, [number], seed=seed, concentration=concentration)
    ((_, measure),) = measures(drawn, utility, size)
    return measure


def require_separation(measure, mechanism, threshold):
    """Require that binary is optimal below a threshold and no more above it, or RR the other way round."""
    make = {
        "binary": lambda epsilon: binary_mechanism(measure, epsilon),
        "rr": lambda epsilon: randomized_response(len(measure.prior), epsilon),
    }[mechanism]
    inside, outside = (
        float(threshold) * x for x in ((0.98, 1.05) if mechanism == "binary" else (1.02, 0.95))
    )
    best = optimal_ldp(measure, inside).upper_bound
    assert abs(measure(make(inside)) - best) <= max(3e-9 * best, 4e-12)
    assert measure(make(outside)) < optimal_ldp(measure, outside).value * (1.0 - 1e-9)


def sweep(utility, size, numbers, epsilons, *, seed, concentration=1.0, **keys):
    drawn = instances(size, numbers, seed=seed, concentration=concentration)
    return experiments.sweep(drawn, utility, size, numbers, epsilons, **keys)


def scaling(utility, numbers, *, seed, size):
    return expansions.scaling(instances(size, numbers, seed=seed), utility, numbers, size=size)


def thresholds(size, numbers, *, seed, **keys):
    return searches.thresholds(instances(size, numbers, seed=seed), size, numbers, **keys)


def sample_table(shape, number, *, seed, **keys):
    """Return the truth and the counts of one random table of lopuhaa2024."""
    (found,) = tables_of(random_tables(*shape, [number], seed=seed, **keys))
    return found.truth, found.counts


def study(shape, numbers, epsilons, *, seed, records=32561, concentration=0.5, **keys):
    drawn = random_tables(*shape, numbers, records=records, concentration=concentration, seed=seed)
    return synthetic.study(drawn, numbers, epsilons, **keys)


def study_of(truth, counts, numbers, epsilons, **keys):
    """Compute the mechanisms on a table with a given truth, under several numbers."""
    truth, counts = np.array(truth, dtype=float), np.array(counts)
    columns = {
        "population": "given",
        "size": " x ".join(map(str, truth.shape)),
        "concentration": 1.0,
        "seed": 7,
    }
    rows = rows_of(numbers, [truth] * len(numbers), count=np.array([counts] * len(numbers)), **columns)
    return synthetic.study(POPULATION.conform(rows), numbers, epsilons, **keys)
