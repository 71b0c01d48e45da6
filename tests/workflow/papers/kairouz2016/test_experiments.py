"""The experiments of kairouz2016: small runs, and independent computations of what they measure."""

import math

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.base.priors import dirichlet
from ldpfrontier.model.information import entropy, kl_divergence
from ldpfrontier.model.kairouz_mechanisms import geometric_mechanism
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.utility import FDivergence
from ldpfrontier.promises.ldp import optimal_ldp
from papers.kairouz2016.checks import theorems
from papers.kairouz2016.expansions import expansions, high_privacy, low_privacy
from papers.kairouz2016.experiments import staircase_error
from papers.kairouz2016.instances import instance_name, instances
from reproduction.results.files import read_table, write_table
from reproduction.results.tables import RESULTS, select
from support.instances import require_separation, sample, scaling, sweep, thresholds

SEED = 5


def value(table, mechanism, epsilon, metric):
    rows = select(table, mechanism=mechanism, epsilon=epsilon, metric=metric, size="4", instance="000")
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def test_instances_are_those_of_the_seed():
    pair = sample("kl", 4, 2, seed=SEED)
    p0, p1 = dirichlet(SEED, "kairouz2016/pair", 4, 2, count=2)
    assert np.array_equal(pair.p0, p0)
    assert np.array_equal(pair.p1, p1)
    assert np.array_equal(sample("chi2", 4, 2, seed=SEED).p0, p0)
    prior = sample("mutual_information", 4, 2, seed=SEED, concentration=0.5).prior
    assert np.array_equal(prior, dirichlet(SEED, "kairouz2016/prior", 4, 2, concentration=0.5)[0])
    assert instance_name(2) == "002"
    with pytest.raises(ValueError, match="The utility is 'js'; allowed are mutual_information, kl"):
        sample("js", 4, 2, seed=SEED)


@pytest.mark.parametrize("utility", ["kl", "mutual_information", "tv", "chi2", "hellinger"])
def test_sweep(utility, tmp_path):
    epsilons = [0.5, 2.0]
    table = sweep(utility, 4, range(2), epsilons, seed=SEED)
    write_table(table, tmp_path / "table.parquet", {})
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet"), table)
    measure = sample(utility, 4, 0, seed=SEED)
    for epsilon in epsilons:
        closed = {
            "binary": binary_mechanism(measure, epsilon),
            "rr": randomized_response(4, epsilon),
            "geometric": geometric_mechanism(4, epsilon),
        }
        for mechanism, channel in closed.items():
            assert value(table, mechanism, epsilon, utility) == measure(channel)
        best = value(table, "optimal", epsilon, utility)
        assert best == pytest.approx(optimal_ldp(measure, epsilon).value, rel=1e-9)
        full = value(table, "identity", math.inf, utility)
        assert value(table, "optimal", epsilon, "normalized") == pytest.approx(best / full)
        assert value(table, "optimal", epsilon, "staircase_error") < 1e-12
    optimal = table[table["mechanism"] == "optimal"]
    assert (optimal["gap"].dropna() <= 1e-8).all()
    assert select(optimal, metric=[utility, "normalized"])["certified"].all()
    assert set(select(table, metric=utility)["unit"]) == {measure.unit}
    assert set(table[table["bound"].notna()]["direction"]) == {"max"}
    if utility == "kl":
        expected = kl_divergence(measure.p0, measure.p1)
    elif utility == "mutual_information":
        expected = entropy(measure.prior)
    else:
        return
    assert value(table, "identity", math.inf, utility) == pytest.approx(expected)


def test_chunks_make_the_same_table():
    epsilons = [0.3, 1.0, 3.0]
    whole = sweep("mutual_information", 6, range(4), epsilons, seed=SEED)
    parts = [sweep("mutual_information", 6, part, epsilons, seed=SEED) for part in ([2, 3], [1], [0])]
    pd.testing.assert_frame_equal(whole, RESULTS.conform(pd.concat(parts)))


def test_unequal_supports_have_no_normalized_rows():
    table = sweep("kl", 6, range(4), [1.0], seed=SEED, concentration=0.01)
    infinite = table[(table["mechanism"] == "identity") & np.isinf(table["value"])]["instance"]
    assert len(infinite) > 0
    assert not table[table["instance"].isin(infinite)]["metric"].eq("normalized").any()
    assert np.isfinite(table[table["mechanism"] == "optimal"]["value"]).all()


def test_staircase_error():
    assert staircase_error(randomized_response(4, 1.3), 1.3) < 1e-14
    assert staircase_error(geometric_mechanism(4, 1.3), 1.3) > 0.4


# --- expansions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("utility", ["kl", "mutual_information"])
def test_expansions_against_the_mechanisms(utility):
    measure = sample(utility, 5, 1, seed=SEED)
    for epsilon in (0.02, 0.05):
        exact = measure(binary_mechanism(measure, epsilon))
        assert high_privacy(measure, epsilon) == pytest.approx(exact, abs=epsilon**4)
        assert high_privacy(measure, epsilon, printed=True) == pytest.approx(exact, abs=epsilon**3)
    for epsilon in (14.0, 16.0):
        exact = measure(randomized_response(5, epsilon))
        loss = math.exp(-epsilon)
        assert low_privacy(measure, epsilon) == pytest.approx(exact, abs=1e-2 * loss)
        assert abs(low_privacy(measure, epsilon, printed=True) - exact) > 0.5 * loss


def test_printed_constant_of_corollary_10():
    p0, p1 = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    utility = FDivergence(p0, p1)
    printed = float((1 - p0) @ np.log(p1 / p0))
    missing = 2 * kl_divergence(p0, p1) + float((p0 / p1 - 1).sum())
    for epsilon in (10.0, 12.0):
        scale = math.exp(-epsilon)
        limit = kl_divergence(p0, p1)
        assert low_privacy(utility, epsilon, printed=True) == pytest.approx(limit - printed * scale)
        assert low_privacy(utility, epsilon) == pytest.approx(limit - (printed + missing) * scale)


def test_expansion_rows():
    drawn = pd.concat([instances(size, range(3), seed=SEED) for size in (3, 5)])
    table = expansions(drawn, [5, 3], range(3))
    assert set(table["size"]) == {"3", "5"}
    names = ["experiment", "metric", "mechanism", "instance"]
    table = select(table, size="5").set_index(names)["value"].sort_index()
    for number in (9, 10, 15, 16):
        constant = table[f"corollary {number}", "constant"]
        assert constant["derived"].to_numpy() == pytest.approx(constant["computed"].to_numpy(), rel=2e-2)
    order = {
        number: {
            variant: table[f"corollary {number}", "order", variant] for variant in ("printed", "derived")
        }
        for number in (9, 10, 15, 16)
    }
    assert order[9]["derived"].to_numpy() == pytest.approx(np.full(3, 4.0), abs=0.1)
    assert order[15]["derived"].to_numpy() == pytest.approx(np.full(3, 4.0), abs=0.1)
    assert order[10]["printed"].to_numpy() == pytest.approx(np.full(3, 1.0), abs=0.1)
    assert order[16]["printed"].to_numpy() == pytest.approx(np.full(3, 1.0), abs=0.1)
    assert (order[10]["derived"] > 1.7).all()
    assert (order[16]["derived"] > 1.7).all()
    assert (table["corollary 9", "symmetrized"] <= 1.0 + 1e-3).all()
    assert (table["corollary 10", "symmetrized"] > 1.0).all()


@pytest.mark.parametrize("utility", ["kl", "mutual_information"])
def test_scaling(utility):
    table = scaling(utility, range(3), seed=SEED, size=4)
    experiment = {"kl": "fig5", "mutual_information": "fig8"}[utility]
    assert set(table["experiment"]) == {experiment}
    assert value(table, "predicted", 0.1, utility) == pytest.approx(
        value(table, "binary", 0.1, utility), rel=0.01
    )
    assert value(table, "predicted", 10.0, utility) == pytest.approx(
        value(table, "rr", 10.0, utility), rel=0.01
    )
    assert value(table, "identity", math.inf, {"kl": "tv"}.get(utility, "balance")) <= 1.0


# --- thresholds and theorems ------------------------------------------------------------------------------


def test_thresholds_separate_optimal_from_not():
    table = thresholds(4, range(3), seed=SEED).set_index(["mechanism", "metric", "instance"])["value"]
    for i in range(3):
        instance = instance_name(i)
        for utility in ("kl", "chi2", "hellinger", "mutual_information"):
            measure = sample(utility, 4, i, seed=SEED)
            for mechanism in ("binary", "rr"):
                require_separation(measure, mechanism, table[mechanism, utility, instance])
        # Theorem 5: one threshold for all f-divergences, which none of them undercuts.
        every = table["binary", "all_f", instance]
        assert 0 < every <= min(table["binary", f, instance] for f in ("kl", "chi2", "hellinger")) + 1e-6


def test_no_f_divergence_prefers_another_mechanism_below_the_common_threshold():
    """Theorem 5 on generators made of hinges, which span all f-divergences; above it some hinge does."""
    for i in range(3):
        pair = sample("kl", 5, i, seed=SEED)
        table = thresholds(5, [i], seed=SEED, utilities=[])
        every = float(table["value"].iloc[0])
        M = [p @ binary_mechanism(pair, 1.3 * every).matrix for p in (pair.p0, pair.p1)]
        better = 0
        for knot in [*np.linspace(0.5, 2.0, 31), *(M[0] / M[1] * (1 + 1e-4)), *(M[0] / M[1] * (1 - 1e-4))]:
            hinge = FDivergence(pair.p0, pair.p1, f=lambda t, c=knot: np.maximum(t - c, 0) - max(1 - c, 0.0))
            low = optimal_ldp(hinge, 0.98 * every)
            assert hinge(binary_mechanism(hinge, 0.98 * every)) == pytest.approx(low.value, abs=1e-12)
            high = optimal_ldp(hinge, 1.3 * every)
            better += high.value > hinge(binary_mechanism(hinge, 1.3 * every)) + 1e-9
        assert better > 0


#: Without a theorem of their own, on instances of their own.
STATEMENTS = ("K-L26", "K-L27", "K-S1", "K-S3a", "K-S3b")


def test_theorems_on_the_rows_of_sweeps():
    epsilons = [0.0, 0.1, 0.5, 1.0, 3.0, 8.0]
    parts = [
        sweep(u, k, range(3), epsilons, seed=SEED) for u in ("kl", "tv", "mutual_information") for k in (3, 6)
    ]
    table = theorems(*parts, channels=0, seed=SEED)
    values = {key: part["measured"] for key, part in table.groupby(["claim", "quantity"])}
    table = table[~table["claim"].isin(STATEMENTS)]
    assert set(table["claim"]) == {"K-T2", "K-T6", "K-T7", "K-T13"}
    for words in ("KL divergence", "mutual information", "total variation"):
        assert (values["K-T2", f"outputs over k, {words}"] <= 1).all()
        assert (values["K-T2", f"relative distance of the ratios from 1 or e^ε, {words}"] < 1e-12).all()
    ratio = values["K-T6", "binary over the upper bound of the optimum"]
    assert ratio.to_numpy() == pytest.approx(np.ones(6), abs=1e-9)
    assert (values["K-T6", "distance from the formula"] < 1e-14).all()
    assert (values["K-T7", "binary over the bound"] >= 1).all()
    assert (values["K-T13", "binary over the bound"] >= 1).all()
    assert len(values["K-T13", "binary over the bound"]) == 6
    assert table["holds"].all()
    assert set(table["parameter"]) == {"epsilon"}
    assert select(table, claim="K-T13")["at"].between(0.1, 1.0).all()
