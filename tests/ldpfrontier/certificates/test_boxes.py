"""Bounds that trees of boxes prove: near the optimum, true of columns, and refused once changed."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldpfrontier import verify
from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.certificates import boxes
from ldpfrontier.certificates.association import association_certificate
from ldpfrontier.certificates.robust import robust_certificate
from ldpfrontier.engines.joint.association_cone import association_cone
from ldpfrontier.engines.joint.separation import robust_cone
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.boxes import boxes_of_odds, boxes_over_f

Document = dict[str, Any]

TABLE = np.array([[15, 5, 10], [10, 35, 25]])
THREE = np.array([[20, 10], [15, 25], [10, 20]])


def proved(document: Document) -> tuple[float, float]:
    """Check a document as a file would be, and return the bound and the utility that are proved."""
    assert verify.check(verify.load(json.dumps(document)))
    return float(document["claims"][0]["bound"]), float(document["claims"][1]["at least"])


def cuts_of_checker(document: Document) -> FloatArray:
    """The cuts that the checker takes for those of the class, of a claim of either kind."""
    claim, (known, _) = document["claims"][0], verify.read_document(document)
    t = verify.number(claim["t"])
    with verify.decimal.localcontext(verify.EXACT):
        if claim["kind"] == "robust bound":
            rows = verify.cuts_over_f(known, t, claim["cuts"], claim["order"], claim["radius"])
        else:
            rows = verify.cuts_of_odds(known, t, claim["cuts"], claim["odds"])
    return np.array(rows, dtype=float)


def check_columns(document: Document, prior: FloatArray, cuts: FloatArray, columns: FloatArray) -> None:
    """Check that columns of the class meet the cuts, those of the checker, at a worth below their prices."""
    checked = cuts_of_checker(document)
    np.testing.assert_allclose(
        checked / np.abs(checked).max(axis=1, keepdims=True),
        cuts / np.abs(cuts).max(axis=1, keepdims=True),
        atol=1e-9,
    )
    largest = columns.max(axis=1, keepdims=True) * np.abs(cuts).max(axis=1)
    assert ((columns @ cuts.T) / largest).max() < 1e-9
    prices = np.array(document["claims"][0]["prices"], dtype=float)
    utility = MutualInformation(prior)
    columns = columns / (columns @ prior.ravel())[:, None]
    assert (utility.values(columns) - columns @ prices).max() < 0.0


def random_columns(inputs: int) -> FloatArray:
    rng = np.random.default_rng(5)
    return np.asarray(rng.random((400, inputs)) ** rng.choice([0.3, 1.0, 4.0], (400, 1)))


@pytest.mark.parametrize(
    ("counts", "epsilon", "order"), [(TABLE, 0.7, 2.0), (TABLE, 0.1, 1.5), (THREE, 1.0, 3.0)]
)
def test_the_optimum_over_f(counts: np.ndarray, epsilon: float, order: float) -> None:
    """Members of F are within its radius; columns that are private over F meet the cuts of all members."""
    ball = RenyiBall.confidence(counts, order=order)
    document = boxes_over_f(ball, epsilon, 0.01)
    bound, value = proved(document)
    assert value < bound <= 1.0101 * value
    written = document["claims"][0]["cuts"]
    members = np.array([cut["member"] for cut in written], dtype=float)
    members /= members.sum(axis=(1, 2), keepdims=True)
    distances = ball.divergence(members)
    assert ball.radius * (1 - 1e-3) < distances.max() <= ball.radius
    rows = np.zeros(members.shape)
    for row, member, cut in zip(rows, members, written, strict=True):
        s, other = int(cut["s"]), int(cut["s'"])
        row[s] = member[s] / member[s].sum()
        row[other] = -math.exp(epsilon) * member[other] / member[other].sum()
    inside = robust_cone(ball, epsilon).pull(random_columns(counts.size))[0]
    check_columns(document, ball.centre, rows.reshape(len(rows), -1), inside)


@pytest.mark.parametrize(("counts", "epsilon"), [(TABLE, 0.7), (TABLE, 0.1), (THREE, 1.0)])
def test_the_optimum_for_all_who_know_something_about_u(counts: np.ndarray, epsilon: float) -> None:
    """Columns of the promise meet the cuts, of people of whom some have u and some w."""
    odds = OddsRatios.confidence(counts)
    document = boxes_of_odds(odds, epsilon, 0.01)
    bound, value = proved(document)
    assert value < bound <= 1.0101 * value
    rows, (a1, a2) = list[FloatArray](), counts.shape
    for cut in document["claims"][0]["cuts"]:
        s, other, u, w = (int(cut[key]) for key in ("s", "s'", "u", "w"))
        share, rho = float(cut["share"]), min(float(odds.low[s, other, u, w]), 1.0)
        row, shifted = np.zeros((a1, a2)), rho * share / (rho * share + 1.0 - share)
        for cell, part in (
            ((s, u), share),
            ((s, w), 1.0 - share),
            ((other, u), -math.exp(epsilon) * shifted),
            ((other, w), -math.exp(epsilon) * (1.0 - shifted)),
        ):
            row[cell] += part
        rows.append(row.ravel())
    inside = association_cone(odds, epsilon).pull(random_columns(counts.size))[0]
    check_columns(document, odds.prior, np.array(rows), inside)


# What is refused ------------------------------------------------------------------------------------------


@cache
def small() -> dict[str, Document]:
    return {
        "F": boxes_over_f(RenyiBall.confidence(TABLE), 0.7, 0.05),
        "odds": boxes_of_odds(OddsRatios.confidence(TABLE), 0.7, 0.05),
    }


def of_claim(**changes: Any) -> Callable[[Document], object]:
    return lambda claim: claim.update(changes)


def leaf(claim: Document, change: Callable[[str], str]) -> None:
    """Change the first leaf that has a cut."""
    k = next(k for k, token in enumerate(claim["tree"]) if ":" in token)
    claim["tree"][k] = change(claim["tree"][k])


def outside(claim: Document) -> None:
    """Move the member of a cut away from the centre."""
    row = next(cut for cut in claim["cuts"])["member"][0]
    row[0] = f"{3 * verify.Decimal(row[0]):f}"


REFUSED: dict[str, tuple[str, Callable[[Document], object], str]] = {
    "a member outside of F": ("F", outside, "not proved to be in F"),
    "a smaller F": ("F", lambda claim: claim.update(radius="0.1"), "not proved to be in F"),
    "an order of 1": ("F", of_claim(order="1"), "not above 1"),
    "a member of another shape": ("F", lambda c: [r.pop() for r in c["cuts"][0]["member"]], "another shape"),
    "the other direction": (
        "F",
        lambda claim: [cut.update({"s": cut["s'"], "s'": cut["s"]}) for cut in claim["cuts"]],
        "does not prove",
    ),
    "larger odds ratios": ("odds", of_claim(odds=[[["1"] * 3] * 3]), "does not prove"),
    "shares of another u": (
        "odds",
        lambda claim: [cut.update(u=cut["w"], w=cut["u"]) for cut in claim["cuts"]],
        "does not prove",
    ),
    "an unknown value": ("odds", lambda c: c["cuts"][0].update(u="3"), "not the number of one of 3"),
    "larger ratios": ("odds", of_claim(t="2"), "not at least 0.7"),
    "a lower bound": ("odds", lambda c: c.update(bound=f"{verify.Decimal(c['bound']) / 2:f}"), "only"),
    "no cuts": ("odds", of_claim(cuts=[]), "no list of one or more cuts"),
    "a negative multiplier": ("odds", lambda c: leaf(c, lambda x: x.replace(":", ":-", 1)), "below 0"),
    "no multipliers": ("odds", lambda c: leaf(c, lambda x: x.partition(" ")[0]), "does not prove"),
    "a split outside of its box": ("F", lambda c: c["tree"].__setitem__(0, "?0 1000"), "where it cannot be"),
    "a missing leaf": ("F", lambda c: c["tree"].pop(), "lacks leaves"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_proves_nothing_is_refused(name: str) -> None:
    which, change, words = REFUSED[name]
    document = copy.deepcopy(small()[which])
    change(document["claims"][0])
    with pytest.raises((verify.Unproved, verify.Malformed), match=words):
        verify.check(document)


def test_an_input_that_never_occurs_is_refused() -> None:
    document = copy.deepcopy(small()["F"])
    document["utility"]["table"][0][0] = "0"
    with pytest.raises(verify.Malformed, match="a weight is 0"):
        verify.check(document)
    odds = OddsRatios.known([[0.0, 0.3, 0.2], [0.1, 0.2, 0.2]])
    with pytest.raises(Intractable, match="has the probability 0"):
        boxes_of_odds(odds, 1.0, 0.01)


def test_optima_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    ball, odds = RenyiBall.confidence(TABLE), OddsRatios.confidence(TABLE)
    optimum = optimal_robust(ball, 0.7, envelope="exact", tolerance=0.01)
    with pytest.raises(Intractable, match="takes a smaller one"):
        robust_certificate(optimum, ball, 0.7, excess=optimum.gap / 2)
    with pytest.raises(ValueError, match="has no prices"):
        robust_certificate(replace(optimum, prices=np.empty(0)), ball, 0.7, excess=0.1)
    with pytest.raises(ValueError, match="excess"):
        association_certificate(optimum, odds, 0.7, excess=0.0)
    # The bound of NR is taken where it is near enough.
    near = robust_certificate(replace(optimum, prices=np.empty(0)), ball, 0.7, excess=10.0)
    assert near["claims"][0]["kind"] == "nonrobust bound"
    polyopt = optimal_robust(ball, 0.7)
    with pytest.raises(ValueError, match="not the best of all mechanisms with this promise"):
        robust_certificate(polyopt, ball, 0.7, excess=0.01)
    for name in ("max_boxes", "max_box_cuts"):
        monkeypatch.setattr(boxes, "SETTINGS", replace(boxes.SETTINGS, **{name: 30}))
        with pytest.raises(Intractable, match="more than 30"):
            robust_certificate(optimum, ball, 0.7, excess=0.02)
        monkeypatch.undo()
