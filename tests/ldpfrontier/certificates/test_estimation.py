"""Certificates of errors: proved for local privacy and polyhedral cones; what is false is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    Intractable,
    PolyhedralCone,
    RenyiBall,
    conditional_cone,
    estimation_certificate,
    estimation_error,
    local_cone,
    optimal_estimation,
    polyopt_cone,
    robust_cone,
    subset_selection,
    unconditional_cone,
    verify,
)
from ldpfrontier.optimal.general.double_description import extreme_rays
from support.adult import adult_counts
from support.grids import few

TABLE = np.array([[15, 5, 10], [10, 35, 25]])


def proved(prior: Any, cone: Any, target: Any = None, **level: float) -> dict[str, Any]:
    """Return the certificate of an optimum, after checking it and its numbers."""
    p = np.asarray(prior) / np.sum(prior)
    best = optimal_estimation(p, cone, target)
    document = estimation_certificate(best, prior, cone, target, **level)
    said = verify.check(verify.load(json.dumps(document)))
    assert len(said) == 3
    bound, value = Decimal(document["claims"][0]["bound"]), Decimal(document["claims"][1]["at most"])
    assert float(value) == pytest.approx(best.value, rel=1e-8)
    assert float(bound) == pytest.approx(best.bound, rel=1.2e-4)
    assert value * (1 - Decimal("1.1e-4")) <= bound <= value
    return document


@pytest.mark.parametrize(
    ("n", "epsilon"),
    few(
        [(2, 1.0), (5, 0.3), (8, 4.0)],
        more=[(2, 0.3), (2, 4.0), (5, 1.0), (5, 4.0), (8, 0.3), (8, 1.0), (12, 0.3), (12, 1.0), (12, 4.0)],
    ),
)
@pytest.mark.parametrize("target", ["cells", "prefix sums"])
def test_local_privacy(n: int, epsilon: float, target: str) -> None:
    p = np.random.default_rng(n).dirichlet(np.ones(n))
    proved(p, local_cone(n, epsilon), np.eye(n) if target == "cells" else np.tri(n), epsilon=epsilon)


def test_local_privacy_of_sixteen_inputs() -> None:
    proved(np.ones(16, dtype=int), local_cone(16, 1.0), epsilon=1.0)


@pytest.mark.parametrize("level", few([2.0], more=[0.3, 1.0]))
@pytest.mark.parametrize(
    "pair", [("sex", "race"), pytest.param(("income", "relationship"), marks=pytest.mark.long)]
)
def test_small_tables_of_adult(pair: tuple[str, str], level: float, long: bool) -> None:
    """PolyOpt over distinct pairs, also with the second level: counts are in the document as they are."""
    counts = adult_counts(*pair)
    cone = polyopt_cone(RenyiBall.confidence(counts, beta=0.05).lower_bounds, level, pairs="distinct")
    document = proved(counts, cone)
    assert document["utility"]["table"] == [[str(n) for n in row] for row in counts.tolist()]
    if long:
        proved(counts, cone & conditional_cone(counts.shape, level))


@pytest.mark.parametrize("target", ["sensitive", "useful", [[1, -1, 0.25, 0, 0, 2]], None])
def test_targets(target: Any) -> None:
    proved(TABLE, unconditional_cone((2, 3), 1.0), target)


def test_a_target_of_a_mechanism_that_does_not_tell_all_cells() -> None:
    """The matrix of moments is singular: elimination skips what no report tells."""
    channel = Channel(np.repeat([[0.75, 0.25], [0.25, 0.75]], 2, axis=0))
    cone = unconditional_cone((2, 2), float(np.log(3)) + 1e-9)
    best = optimal_estimation(np.full((2, 2), 0.25), cone, "sensitive")
    optimum = replace(best, channel=channel)
    document = estimation_certificate(optimum, np.ones((2, 2)), cone, "sensitive")
    error = estimation_error(channel, np.full((2, 2), 0.25), "sensitive")
    assert float(document["claims"][1]["at most"]) == pytest.approx(error, rel=1e-9)
    with pytest.raises(ValueError, match="has no error to prove: no estimate from the reports"):
        estimation_certificate(optimum, np.ones((2, 2)), cone)


def test_the_checker_lists_the_rays_that_the_library_lists() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 4, 5, 6):
        for _ in range(8):
            rows = rng.integers(-9, 9, size=(2 * n, n))
            rows[:, 0] -= np.maximum(rows.sum(axis=1), 0)  # the constant column is inside
            if rng.random() < 0.3:
                rows[0, 0] -= rows[0].sum()
                rows[1] = -rows[0]  # an equality
            own = verify.rays(rows.tolist(), n)
            found = np.array([[x / max(v) for x in v] for v in own]).reshape(-1, n)
            expected = extreme_rays(rows.astype(float))
            assert len(found) == len(expected)
            assert np.array_equal(np.unique(found, axis=0), np.unique(expected, axis=0))


def test_columns_of_two_values_are_all_tried() -> None:
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    columns = {tuple(values) for values in verify.staircases(rows, 2, 5)}
    assert columns == {(a, b, c) for a in (2, 5) for b in (2, 5) for c in (2, 5)}


def test_the_error_is_rounded_up() -> None:
    """At most 1e-30 above the error in exact fractions, and not below it: (3, 1) / 4 for two inputs."""
    document = {
        **{"format": verify.FORMAT, "version": verify.VERSION},
        "utility": {"kind": verify.MEAN_SQUARE_ERROR, "prior": ["1", "2"], "target": [["1", "0"]]},
        "channel": {"denominator": "4", "rows": [["3", "1"], ["1", "3"]]},
        "claims": [{"kind": "estimation error", "at most": "1"}],
    }
    with localcontext(verify.EXACT):
        found = verify.least_error(verify.read_document(document)[0])
        # F = (3/2, -1/2), q = (5/12, 7/12): 5/12 9/4 + 7/12 1/4 - 1/9 = 35/36.
        assert 0 <= 36 * found - 35 <= Decimal("1e-30")


# What is refused ------------------------------------------------------------------------------------------


def cone_document() -> dict[str, Any]:
    cone = polyopt_cone(RenyiBall.confidence(TABLE).lower_bounds, 1.0, pairs="distinct")
    return proved(TABLE, cone & conditional_cone((2, 3), 1.5))


DOCUMENTS = {
    "local": lambda: proved([5, 3, 2, 1], local_cone(4, 1.0), epsilon=1.0),
    "cone": cone_document,
}


def scaled(texts: list[str], factor: str) -> list[str]:
    with localcontext(verify.EXACT):
        return [f"{Decimal(x) * Decimal(factor):f}" for x in texts]


def lower_bound_claim(document: dict[str, Any]) -> dict[str, Any]:
    claim: dict[str, Any] = document["claims"][0]
    return claim


FALSE = {
    "bound raised": lambda d: d["claims"][0].update(bound=scaled([d["claims"][0]["bound"]], "1.001")[0]),
    "a bound above the error": lambda d: d["claims"][0].update(
        bound=scaled([d["claims"][1]["at most"]], "1.0001")[0]
    ),
    "prices lowered": lambda d: d["claims"][0].update(prices=scaled(d["claims"][0]["prices"], "0.9999")),
    "one price lowered": lambda d: d["claims"][0]["prices"].__setitem__(
        1, scaled(d["claims"][0]["prices"], "0.99")[1]
    ),
    "matrix raised": lambda d: d["claims"][0].update(
        matrix=[scaled(row, "1.0001") for row in d["claims"][0]["matrix"]]
    ),
    "error lowered": lambda d: d["claims"][1].update(
        {"at most": scaled([d["claims"][1]["at most"]], "0.99999")[0]}
    ),
    "another target": lambda d: d["utility"]["target"][0].__setitem__(0, "1.01"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("name", FALSE)
def test_false_claims_are_refused(kind: str, name: str) -> None:
    document = DOCUMENTS[kind]()
    FALSE[name](document)
    with pytest.raises(verify.Unproved):
        verify.check(document)


def test_another_prior_is_refused() -> None:
    document = DOCUMENTS["local"]()
    document["utility"]["prior"] = ["5", "3", "2", "2"]
    with pytest.raises(verify.Unproved):
        verify.check(document)
    document = DOCUMENTS["cone"]()
    document["utility"]["table"][0][0] = "16"
    with pytest.raises(verify.Unproved):
        verify.check(document)


def test_a_larger_class_is_refused() -> None:
    """Larger ratios, a smaller t for the level, inequalities that are left out or made weaker."""
    document = DOCUMENTS["local"]()
    document["claims"][0].update(epsilon="1.001", t="2.722")
    with pytest.raises(verify.Unproved, match="worth more"):
        verify.check(document)
    document["claims"][0].update(epsilon="1", t="2.7182")
    with pytest.raises(verify.Unproved, match=r"ln 2\.7182 is not at least 1"):
        verify.check(document)
    document = DOCUMENTS["cone"]()
    rows = document["claims"][0]["inequalities"]
    refused = 0
    for i in range(len(rows)):
        larger = copy.deepcopy(document)
        del larger["claims"][0]["inequalities"][i]
        try:
            verify.check(larger)
        except verify.Unproved:
            refused += 1
    assert refused >= 0.8 * len(rows)
    for row in rows:
        row[:] = [x if x[0] != "-" else scaled([x], "1.01")[0] for x in row]
    with pytest.raises(verify.Unproved, match="worth more"):
        verify.check(document)


def test_a_smaller_class_does_not_have_the_mechanism() -> None:
    document = DOCUMENTS["cone"]()
    rows = document["claims"][2]["inequalities"]
    for row in rows:
        row[:] = [x if x[0] != "-" else scaled([x], "0.999")[0] for x in row]
    with pytest.raises(verify.Unproved, match=r"output \d+ does not keep inequality"):
        verify.check(document)
    document = DOCUMENTS["local"]()
    document["claims"][2].update(epsilon="0.999", t="2.715")
    with pytest.raises(verify.Unproved, match="has a ratio above"):
        verify.check(document)


def test_a_channel_without_an_unbiased_estimate() -> None:
    document = DOCUMENTS["local"]()
    document["channel"] = {"denominator": "2", "rows": [["1", "1"]] * 4}
    with pytest.raises(verify.Unproved, match="no estimate from the reports"):
        verify.check(document)


MALFORMED = {
    "no target": (lambda d: d["utility"].pop("target"), "'target' is missing"),
    "a target of other inputs": (lambda d: d["utility"].update(target=[["1", "2"]]), "number for each input"),
    "a ragged target": (lambda d: d["utility"]["target"][0].pop(), "list of 3 numbers"),
    "a ragged matrix": (lambda d: d["claims"][0]["matrix"][1].pop(), "list of 4 numbers"),
    "a matrix of fewer rows": (lambda d: d["claims"][0]["matrix"].pop(), "list of 4 rows"),
    "a narrow matrix": (
        lambda d: d["claims"][0].update(matrix=[row[:3] for row in d["claims"][0]["matrix"]]),
        "has not 4 columns",
    ),
    "no prices": (lambda d: d["claims"][0].update(prices=["0"] * 4), "do not sum to more than 0"),
    "a claim of information": (
        lambda d: d["claims"].append({"kind": "utility", "at least": "0"}),
        "a claim of the kind 'utility' cannot be about mean square error",
    ),
    "a bound on information": (
        lambda d: d["claims"].append({"kind": "ldp bound"}),
        "a claim of the kind 'ldp bound' cannot be about mean square error",
    ),
    "an error of information": (
        lambda d: d.update(utility={"kind": "mutual information", "prior": ["1"] * 4}),
        "a claim of the kind 'ldp estimation bound' cannot be about mutual information",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_documents(name: str) -> None:
    document, (change, words) = DOCUMENTS["local"](), MALFORMED[name]
    change(document)
    with pytest.raises(verify.Malformed, match=words):
        verify.check(document)


def test_inequalities_of_another_length_and_cones_of_too_many_rays(monkeypatch: pytest.MonkeyPatch) -> None:
    document = DOCUMENTS["cone"]()
    document["claims"][0]["inequalities"][0].append("0")
    with pytest.raises(verify.Malformed, match="list of 6 numbers"):
        verify.check(document)
    document = DOCUMENTS["cone"]()
    cone = polyopt_cone(RenyiBall.confidence(TABLE).lower_bounds, 1.0, pairs="distinct")
    best = optimal_estimation(TABLE / 100, cone)
    monkeypatch.setattr(verify, "MAX_PAIRS", 100)
    with pytest.raises(verify.Malformed, match="too many extreme rays"):
        verify.check(document)
    with pytest.raises(Intractable, match="does not take so large a proof: the cone has too many"):
        estimation_certificate(best, TABLE, cone)


def test_arguments_that_do_not_fit() -> None:
    best = optimal_estimation([0.2, 0.3, 0.5], local_cone(3, 1.0))
    p = [0.2, 0.3, 0.5]
    with pytest.raises(ValueError, match="epsilon is missing"):
        estimation_certificate(best, p, local_cone(3, 1.0))
    with pytest.raises(ValueError, match=r"epsilon is 1\.1, but the cone has the level 1\."):
        estimation_certificate(best, p, local_cone(3, 1.0), epsilon=1.1)
    with pytest.raises(ValueError, match="the cone is none of local differential privacy"):
        estimation_certificate(best, p, PolyhedralCone(np.zeros((0, 3))), epsilon=1.0)
    with pytest.raises(ValueError, match="The optimum has 3 inputs and the prior 4 entries"):
        estimation_certificate(best, np.ones(4), local_cone(4, 1.0), epsilon=1.0)
    with pytest.raises(ValueError, match="The prior has 3 entries and the cone has 4 inputs"):
        estimation_certificate(best, p, local_cone(4, 1.0), epsilon=1.0)
    with pytest.raises(ValueError, match="less private than the level given"):
        estimation_certificate(best, p, local_cone(3, 0.9), epsilon=0.9)
    ball = RenyiBall.confidence(TABLE)
    with pytest.raises(Intractable, match="whose extreme rays are listed"):
        estimation_certificate(
            replace(best, channel=Channel(np.eye(6))), TABLE, robust_cone(ball, 1.0, envelope="simplex")
        )
    large = replace(best, channel=subset_selection(24, 1.0, 1))
    with pytest.raises(Intractable, match="too many columns for the checker"):
        estimation_certificate(large, np.ones(24), local_cone(24, 1.0), epsilon=1.0)
