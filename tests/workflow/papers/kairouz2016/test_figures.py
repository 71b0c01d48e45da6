import math

import numpy as np
import pandas as pd
import pytest

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import binary_mechanism, randomized_response
from ldpfrontier.model.privacy import error_region
from ldpfrontier.model.utility import FDivergence
from papers.kairouz2016 import drawings, figures
from papers.kairouz2016.instances import instance_name
from papers.kairouz2016.styles import STAIRCASES, UTILITIES
from reproduction.planning.paper import papers
from reproduction.results.tables import select
from support.instances import scaling, sweep, thresholds

SEED = 5
EPSILONS = (0.0, 0.5, 2.0, 8.0)
STATED = {"binary": 0.4, "rr": 0.35}
P0, P1 = (0.3, 0.3, 0.25, 0.05, 0.05, 0.05), (0.05, 0.05, 0.05, 0.25, 0.3, 0.3)


@pytest.fixture(scope="module", params=["kl", "mutual_information"])
def utility(request):
    return request.param


@pytest.fixture(scope="module")
def table(utility):
    return pd.concat(sweep(utility, k, range(3), EPSILONS, seed=SEED) for k in (3, 6))


@pytest.fixture(scope="module")
def points(utility):
    return scaling(utility, range(4), seed=SEED, size=4)


@pytest.fixture(scope="module")
def levels():
    return thresholds(3, range(3), seed=SEED, utilities=("kl", "mutual_information"))


def ratio(table, utility, mechanism, size, instance, epsilon):
    row = select(table, metric=utility, mechanism=mechanism, size=size, instance=instance, epsilon=epsilon)
    return float((row["value"] / row["bound"]).item())


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_averages(table, utility):
    figure = figures.averages(select(table, size="6"), utility, STATED)
    left, right = figure.axes
    assert texts(figure.legends[0]) == [
        "optimal", "binary", "randomized response", "geometric", "lowest that the paper states"
    ]  # fmt: skip
    names = {"kl": ("D_{", "P_0"), "mutual_information": ("I(X;Y)", "H(X)")}[utility]
    assert all(name in left.get_ylabel() for name in names)
    assert right.get_ylabel().endswith("/ OPT")
    assert left.get_xlim() == right.get_xlim() == (0.0, 8.0)
    shares = select(table, size="6", metric="normalized")
    for name in ("optimal", "binary", "rr", "geometric"):
        mean = shares[shares["mechanism"] == name].groupby("epsilon")["value"].mean()
        np.testing.assert_allclose(lines(left)[STAIRCASES[name].label].get_ydata(), mean)
    # Per instance at positive epsilon only: at 0 the ratio is 0/0.
    assert [len(bundle.get_segments()) for bundle in right.collections] == [3, 3]
    for name, bundle in zip(("rr", "binary"), right.collections, strict=True):
        for instance, segment in zip(("000", "001", "002"), bundle.get_segments(), strict=True):
            expected = [ratio(table, utility, name, "6", instance, e) for e in EPSILONS[1:]]
            np.testing.assert_array_equal(segment, np.column_stack([EPSILONS[1:], expected]))
        lowest = np.min([segment[:, 1] for segment in bundle.get_segments()], axis=0)
        np.testing.assert_array_equal(lines(right)[STAIRCASES[name].label].get_ydata(), lowest)
    stated = [line.get_ydata()[0] for line in right.lines if len(line.get_ydata()) == 2]
    assert stated == [STATED["rr"], STATED["binary"]]


def test_mixed_is_the_better_of_the_two_in_a_panel_per_size(table, utility):
    figure = figures.mixed(table, utility, {"6": 0.7, "12": 0.5})
    assert [ax.get_title(loc="left")[-3:] for ax in figure.axes] == ["=3$", "=6$"]
    for ax, size in zip(figure.axes, ("3", "6"), strict=True):
        (bundle,) = ax.collections
        assert len(bundle.get_segments()) == 3
        for instance, segment in enumerate(bundle.get_segments()):
            name = instance_name(instance)
            for epsilon, value in segment:
                both = [
                    ratio(table, utility, mechanism, size, name, epsilon) for mechanism in ("binary", "rr")
                ]
                assert value == max(both)
    stated = [line.get_ydata()[0] for line in figure.axes[1].lines if len(line.get_ydata()) == 2]
    assert stated == [0.7]


def test_figures_draw_the_numbers_that_the_claims_compare_with():
    paper = papers()["kairouz2016"]
    for claim in paper.claims:
        if "stated" in claim.get("arguments", {}):
            drawn = paper.figures[claim["figure"]].arguments
            assert claim["arguments"]["stated"] == drawn["stated"]
            assert claim["arguments"]["utility"] == drawn["utility"]


def test_scaling_is_in_the_units_of_the_paper(points, utility):
    left, right = figures.scaling(points, utility, [[0.1, 0.3, 0.0, 0.1], [0.5, 1.0, 0.1, 9.0]]).axes
    unit, name = (1.0, "nats") if utility == "kl" else (math.log(2.0), "bits")
    assert right.get_ylabel().endswith(f"({name})")
    rows = points[(points["metric"] == utility) & (points["epsilon"] == 10.0)]
    facts = points[(points["mechanism"] == "identity") & (points["metric"] == utility)].set_index("instance")
    x = (facts["value"] / unit).sort_values()
    for mechanism in ("rr", "geometric", "optimal"):
        y = rows[rows["mechanism"] == mechanism].set_index("instance")["value"].loc[x.index] / unit
        line = lines(right)[STAIRCASES[mechanism].label]
        np.testing.assert_allclose(line.get_xdata(), x)
        np.testing.assert_allclose(line.get_ydata(), y)
    # The curve of the expansion passes through its values at every instance.
    small = points[(points["epsilon"] == 0.1) & (points["mechanism"] == "predicted")].set_index("instance")
    fact = "tv" if utility == "kl" else "balance"
    at = points[points["metric"] == fact].set_index("instance")["value"]
    curve, power = lines(left)["leading order (a)"], 2 if utility == "kl" else 1
    constant = curve.get_ydata()[-1] / curve.get_xdata()[-1] ** power
    scale = 10.0 ** float(left.get_ylabel().partition("10^{")[2].partition("}")[0])
    np.testing.assert_allclose(constant * at**power * scale * unit, small["value"].loc[at.index])


def test_thresholds_are_shown_as_shares_of_instances(levels):
    figure = figures.thresholds(levels)
    axes = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title(loc="left") for ax in axes] == [
        UTILITIES[name] for name in ("kl", "mutual_information", "all_f", "kl", "mutual_information")
    ]
    values = levels[(levels["mechanism"] == "binary") & (levels["metric"] == "kl")]["value"].sort_values()
    (line,) = axes[0].lines
    # Binary is optimal up to its threshold, and randomized response from its own on.
    np.testing.assert_array_equal(line.get_xdata()[1:-1], values)
    np.testing.assert_allclose(line.get_ydata(), [1.0, 2 / 3, 1 / 3, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(axes[3].lines[0].get_ydata(), [0.0, 1 / 3, 2 / 3, 1.0, 1.0])


def test_the_binary_region_contains_the_other_one():
    (ax,) = drawings.dominance(P0, P1, 1.5).axes
    outer, inner = (line.get_xydata() for line in ax.lines if not line.get_label().startswith("_"))
    pair = FDivergence(np.array(P0), np.array(P1))
    for vertices, channel in ((outer, binary_mechanism(pair, 1.5)), (inner, randomized_response(6, 1.5))):
        marginals = Channel(np.stack([pair.p1, pair.p0]) @ channel.matrix)
        np.testing.assert_array_equal(vertices, error_region(marginals))
    assert (np.interp(inner[:, 0], *outer.T) <= inner[:, 1] + 1e-12).all()
