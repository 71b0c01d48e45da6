"""Populations of random instances of kairouz2016: optima side by side, and the least shares."""

import numpy as np
import pytest

from ldpfrontier.model.information import entropy
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016.expansions import response_loss
from papers.kairouz2016.instances import fresh_instances
from papers.kairouz2016.populations import POPULATIONS, Batch
from papers.kairouz2016.populations import populations as least_shares
from papers.kairouz2016.summaries import ratios
from reproduction.results.tables import TableError
from support.instances import sample, sweep

SEED = 3
BOTH = pytest.mark.parametrize("utility", ["kl", "mutual_information"])


def study(utility, size=4, **keys):
    plain = {
        "concentration": 1.0,
        "ends": [0.1, 10.0],
        "drawn": True,
        "statistics": ["rr", "binary", "mixed"],
    }
    return {"utility": utility, "size": size, **plain, **keys}


def populations(studies, groups, *, instances=100):
    sizes = [min(study["size"], 13) for study in studies]
    fresh = fresh_instances(sizes, groups, seed=SEED, instances_per_group=instances)
    return least_shares(fresh, studies, groups, instances=instances)


def batch_of(utility, size, numbers):
    return Batch.of([sample(utility, size, number, seed=SEED) for number in numbers])


@BOTH
@pytest.mark.parametrize("size", [2, 5])
def test_mechanisms_and_optima_are_those_of_single_instances(utility, size):
    epsilons = np.array([0.05, 1.0, 2.5, 6.0])
    for instance, epsilon in enumerate(epsilons):
        measure = sample(utility, size, instance, seed=SEED)
        batch = batch_of(utility, size, [instance])
        at = np.array([epsilon])
        assert batch.binary(at)[0] == pytest.approx(measure(binary_mechanism(measure, epsilon)), rel=1e-9)
        assert batch.response(at)[0] == pytest.approx(measure(randomized_response(size, epsilon)), rel=1e-9)
        best = optimal_ldp(measure, float(epsilon))
        value, bound = batch.optimum(at, batch.binary(at))
        assert best.value * (1 - 1e-8) <= value[0] <= best.upper_bound * (1 + 1e-8)
        assert value[0] * (1 - 1e-10) <= bound[0] <= value[0] * (1 + 1e-8)


@BOTH
def test_an_optimum_may_be_left_early_only_where_the_share_is_not_the_least(utility):
    batch = batch_of(utility, 4, range(30))
    levels = batch.crossing(0.1, 10.0)
    np.testing.assert_allclose(batch.binary(levels), batch.response(levels), rtol=1e-6)
    achieved = batch.response(levels)
    value, bound = batch.optimum(levels, achieved)
    exact = [optimal_ldp(sample(utility, 4, i, seed=SEED), float(e)).value for i, e in enumerate(levels)]
    assert (value <= np.array(exact) * (1 + 1e-8)).all()
    assert (bound >= np.array(exact) * (1 - 1e-8)).all()
    assert (achieved / value).min() == pytest.approx((achieved / exact).min(), rel=1e-8)


@BOTH
def test_the_first_population_is_that_of_the_figures(utility):
    """The least shares of a sweep over the same instances; the better of the two is below them."""
    epsilons = [0.1, *np.arange(0.5, 7.0, 0.25), 10.0]
    shares = ratios(sweep(utility, 4, range(12), epsilons, seed=SEED), utility)
    table = populations([study(utility)], [0], instances=12).set_index("statistic")
    POPULATIONS.conform(table.reset_index())
    for name in ("rr", "binary"):
        assert table.loc[name, "least"] == pytest.approx(shares[name].min(), rel=1e-6)
    drawn = shares[["rr", "binary"]].max(axis=1).min()
    assert drawn - 0.02 < table.loc["mixed", "least"] <= drawn + 1e-9
    np.testing.assert_allclose(table["certified"], table["least"], rtol=1e-8)


def test_a_least_share_below_its_certificate_is_refused():
    (row,) = populations([study("kl", statistics=["rr"])], [1], instances=3).to_dict("records")
    with pytest.raises(TableError, match="below its certificate"):
        POPULATIONS.table([row | {"least": row["certified"] - 0.1}])
    with pytest.raises(TableError, match="has the unknown statistic best"):
        POPULATIONS.table([row | {"statistic": "best"}])


def test_loss_of_randomized_response_without_cancellation():
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    for epsilon in (0.5, 3.0, 9.0):
        lost = entropy(prior) - MutualInformation(prior)(randomized_response(4, epsilon))
        assert response_loss(prior, np.array([epsilon]))[0] == pytest.approx(lost * np.exp(epsilon), rel=1e-9)
    # First order of the errata at an epsilon at which the difference above would be nothing.
    first = 3 * 201.0 + 4 * entropy(prior) + np.log(prior).sum()
    assert response_loss(prior, np.array([200.0]))[0] == pytest.approx(first, rel=1e-12)
