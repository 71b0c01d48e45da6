"""Bounds of PolyOpt are proved, on tables of any size, and nothing is proved that is not true."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import xlogy

from ldpfrontier import verify
from ldpfrontier.certificates.polyopt.claim import polyopt_proof
from ldpfrontier.certificates.robust import robust_certificate
from ldpfrontier.optimal.polyopt.solve import polyopt_published
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.types import Intractable
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from ldpfrontier.utility import MutualInformation
from oracles.column_lp import full_lp
from oracles.enumeration import robust_rays
from reproduction.data.catalogue import data_set
from support.tables import random_table

BUNDLED = Path(__file__).parents[4] / "resources" / "adult_pair_counts.csv"
SEX = ("sex", "race")
INCOME = ("income", "relationship")
MARRIED = ("education", "marital-status")
WORK = ("occupation", "education")
long = pytest.mark.long


def adult_ball(pair: tuple[str, str]) -> RenyiBall:
    adult = data_set("adult")
    return RenyiBall.confidence(np.array(adult.contingency(adult.read(BUNDLED), *pair).counts))


def document(ball: RenyiBall, epsilon: float, gap: float = 0.0, slack: float = 1e-8) -> dict[str, Any]:
    """A certificate of the bound alone, whose slack may be larger if it has to be."""
    arguments = ball.centre, ball.lower_bounds, epsilon
    optimum = polyopt_published(*arguments, tolerance=max(gap, 1e-8), max_rounds=300)
    prices = optimum.prices.reshape(ball.centre.shape)
    claim = polyopt_proof(ball, epsilon, prices, optimum.bound, (slack, 1e-4))
    table = [[f"{Decimal(repr(x)):f}" for x in row] for row in ball.centre.tolist()]
    return {
        "format": verify.FORMAT,
        "version": verify.VERSION,
        "utility": {"kind": "mutual information", "table": table},
        "claims": [{"kind": "polyopt bound", **claim}],
    }


def bound_of(content: dict[str, Any]) -> float:
    """The bound that is claimed."""
    (bound,) = (claim["bound"] for claim in content["claims"] if claim["kind"] == "polyopt bound")
    return float(bound)


def code_of(content: dict[str, Any]) -> int:
    """The exit code of a document, written and read again."""
    try:
        verify.check(verify.load(json.dumps(content)))
    except verify.Unproved:
        return 1
    except verify.Malformed:
        return 2
    return 0


@cache
def small() -> str:
    """A certificate with several leaves and tilts, of a table of 2 x 5 cells."""
    return json.dumps(document(adult_ball(SEX), 1.0))


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """That certificate with a change to its claim."""
    content = json.loads(small())
    change(content["claims"][0])
    return content


# What is proved -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "epsilon", "tolerance", "gap"),
    [
        *((pair, epsilon, 1e-9, 1.2e-8) for pair in (SEX, INCOME) for epsilon in (0.075, 1.0, 5.0)),
        (MARRIED, 0.3, 1e-8, 2.2e-8),
        (MARRIED, 1.0, 1e-6, 1e-6),
        pytest.param(MARRIED, 2.0, 1e-4, 1e-4, marks=long),
        pytest.param(MARRIED, 5.0, 1e-4, 1e-4, marks=long),
        (WORK, 0.3, 1e-6, 1e-6),
        pytest.param(WORK, 1.0, 1e-6, 1e-6, marks=long),
        pytest.param(WORK, 2.0, 1e-6, 1e-6, marks=long),
        pytest.param(WORK, 4.0, 1e-4, 1.1e-4, marks=long),
        pytest.param(WORK, 5.0, 1e-3, 1e-3, marks=long),
    ],
)
def test_bounds_of_adult_are_proved(
    pair: tuple[str, str], epsilon: float, tolerance: float, gap: float
) -> None:
    ball = adult_ball(pair)
    optimum = optimal_robust(ball, epsilon, tolerance=tolerance)
    content = robust_certificate(optimum, ball, epsilon)
    assert code_of(content) == 0
    assert optimum.value <= bound_of(content) <= optimum.value * (1.0 + gap)
    assert len(json.dumps(content)) < 2_000_000
    said = verify.check(content)
    assert said[0].startswith("no mechanism of PolyOpt, with ratios at most ")
    assert " over F of order 2 and radius about 0.0" in said[0]
    assert said[1].startswith("the mechanism in this file has ")


@pytest.mark.parametrize("seed", [pytest.param(n, marks=long if n % 3 else ()) for n in range(27)])
def test_bounds_are_those_of_all_rays(seed: int) -> None:
    """The rays are listed in exact arithmetic by the double description method, in other coordinates."""
    ball, epsilon = random_table(seed)
    content = document(ball, epsilon)
    assert code_of(content) == 0
    full = full_lp(MutualInformation(ball.centre), robust_rays(ball.lower_bounds, epsilon, "all"))
    assert full - 1e-9 <= bound_of(content) <= full * (1.0 + 2e-7) + 1e-9


@pytest.mark.parametrize("order", [0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.01, 20.0])
def test_bounds_at_other_orders_and_extreme_levels(order: float, epsilon: float) -> None:
    ball = RenyiBall.confidence([[30, 0, 12, 0], [5, 40, 0, 0], [0, 0, 3, 9]], order=order)
    content = document(ball, epsilon)
    assert code_of(content) == 0
    assert ("order" in content["claims"][0]) == (order > 1.0)
    value = optimal_robust(ball, epsilon).value
    assert value <= bound_of(content) <= value * (1.0 + 2e-7)


def test_a_proof_may_need_a_higher_bound() -> None:
    """With blocks alike, whose z add up in very many ways, the bound is raised until a proof is short."""
    counts = [
        [0, 0, 4, 0, 0],
        [2, 8, 0, 1, 0],
        [3, 1, 3, 0, 1],
        [0, 0, 0, 2, 2],
        [5, 1, 0, 3, 4],
        [3, 3, 0, 1, 3],
    ]
    ball = RenyiBall.confidence(counts, order=0.5)
    content = document(ball, 1.0, gap=1e-6)
    assert code_of(content) == 0
    value = optimal_robust(ball, 1.0).value
    assert value * (1.0 + 9e-5) < bound_of(content) < value * (1.0 + 2e-4)


def test_simplices_of_one_point_have_no_proof_and_the_bound_of_nr() -> None:
    for ball in (RenyiBall(np.array([[0.2, 0.3], [0.1, 0.4]]), 1e-27), RenyiBall.confidence([[3], [4]])):
        with pytest.raises(Intractable, match="too small for a proof"):
            polyopt_proof(ball, 1.0, np.ones(ball.centre.shape), 1.0, (1e-8,))
    content = robust_certificate(optimal_robust(ball, 1.0), ball, 1.0)
    assert code_of(content) == 0
    assert content["claims"][0]["kind"] == "nonrobust bound"


def test_other_classes_have_the_bound_of_nr_and_no_other() -> None:
    ball = RenyiBall.confidence([[30, 20, 12], [5, 40, 9]])
    larger = optimal_robust(ball, 0.5, pairs="distinct")
    content = robust_certificate(larger, ball, 0.5, pairs="distinct")
    assert content["claims"][0]["kind"] == "nonrobust bound"
    with pytest.raises(ValueError, match="not of PolyOpt over all pairs"):
        robust_certificate(larger, ball, 0.5)
    with pytest.raises(ValueError, match="envelope is 'ball'; it must be one of simplex, projections, exact"):
        robust_certificate(larger, ball, 0.5, envelope="ball")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pairs is None; it must be one of all, distinct"):
        robust_certificate(larger, ball, 0.5, pairs=None)  # type: ignore[arg-type]


# What a proof rests on ------------------------------------------------------------------------------------


def block_of(rng: np.random.Generator, a2: int) -> tuple[verify.Block, np.ndarray, float]:
    """A random block with its least probabilities and t."""
    least = rng.dirichlet(np.ones(a2)) * rng.uniform(0.1, 0.95)
    least[rng.random(a2) < 0.2] = 0.0
    t = math.exp(rng.choice([0.1, 1.0, 3.0]))
    rest, width = 1.0 - least.sum(), (t - 1.0) / (1.0 - least.sum())
    W = rng.dirichlet(np.ones(a2)) * (rng.random(a2) < 0.8)
    exact = [[Decimal(x) for x in own] for own in (W, rng.normal(size=a2), least)]
    numbers = (Decimal(x) for x in (rest, width, 1.0 + rest * width))
    return verify.Block(*exact, *numbers), least, t


@pytest.mark.parametrize("seed", range(12))
def test_curves_hold_the_largest_value(seed: int) -> None:
    """Split at every letter, the bound of a block is the maximum over the vertices of its polytope."""
    rng = np.random.default_rng(seed)
    a2 = 2 + seed % 3
    block, least, t = block_of(rng, a2)
    # All choices of a2 + 2 inequalities of (w, m, M) that meet in a point.
    rows = [[*row, -1.0, 0.0] for row in np.eye(a2)] + [[*-row, 0.0, 1.0] for row in np.eye(a2)]
    rest = 1.0 - least.sum()
    rows += [[*-least, 0.0, -rest], [*least, rest, 0.0], [*np.zeros(a2), 1.0, 0.0]]
    matrix, right = np.array(rows), np.array([0.0] * (2 * a2) + [-t, 1.0, 0.0])
    best = -math.inf
    for chosen in product(range(2), repeat=len(rows)):
        own = np.flatnonzero(chosen)
        if len(own) == a2 + 2 and abs(np.linalg.det(matrix[own])) > 1e-9:
            point = np.linalg.solve(matrix[own], right[own])
            if (matrix @ point >= right - 1e-9).all():
                w = np.maximum(point[:a2], 0.0)
                W, c = (np.array(x, dtype=float) for x in (block.weights, block.prices))
                best = max(best, float(W @ xlogy(w, w) - c @ w))
    with localcontext(verify.EXACT):
        whole = (verify.ZERO, Decimal(10**9))
        assert float(block.bound(full_tree(block), verify.ZERO, whole)) == pytest.approx(best, abs=1e-9)
        # A tree with fewer splits, or other multipliers, proves no less.
        for y in ("0", "-3", "2.5 0.1"):
            assert float(block.bound([y], verify.ZERO, whole)) >= best - 1e-9


def full_tree(block: verify.Block) -> list[str]:
    """The tree that splits on all letters in their order."""
    tokens: list[str] = []

    def grow(node: verify.Node, u: int) -> None:
        tokens.append(f"?{u}" if u < len(block.least) else "0")
        for child in block.children(node, u) if u < len(block.least) else []:
            grow(child, u + 1)

    grow(block.node(bytes([verify.FREE] * len(block.least)), verify.ZERO, sum(block.least, verify.ZERO)), 0)
    return tokens


@pytest.mark.parametrize("seed", range(6))
def test_no_mechanism_of_the_class_passes_a_proved_bound(seed: int) -> None:
    """Mechanisms that are found without the solver, among random columns that meet the inequalities."""
    ball, epsilon = random_table(seed)
    bound = bound_of(document(ball, epsilon))
    rng, L = np.random.default_rng(seed), ball.lower_bounds
    columns = rng.random((4000, *L.shape)) ** rng.choice([0.3, 3.0], (4000, 1, 1)) * (
        rng.random((4000, *L.shape)) < 0.8
    )
    mean, rest = (L * columns).sum(axis=2), 1.0 - L.sum(axis=1)
    A, B = mean + rest * columns.max(axis=2), mean + rest * columns.min(axis=2)
    # Mixed with the constant column, as much as the inequalities need.
    A, B, t = A.max(axis=1), B.min(axis=1), math.exp(epsilon)
    constant = np.maximum((A - t * B) / (t - 1.0), 0.0) * (1.0 + 1e-12)
    columns = (columns + constant[:, None, None]).reshape(len(columns), -1)
    values = [xlogy(v, v) @ ball.centre.ravel() - xlogy(z := v @ ball.centre.ravel(), z) for v in columns]
    solved = linprog(-np.array(values), A_eq=columns.T, b_eq=np.ones(L.size), method="highs")
    assert solved.success
    assert 0.0 < -solved.fun <= bound


# What is refused ------------------------------------------------------------------------------------------


def first_leaf(claim: dict[str, Any]) -> dict[str, Any]:
    return next(node for node in claim["tree"] if isinstance(node, dict))


def shifted(text: str, by: str) -> str:
    return f"{Decimal(text) + Decimal(by):f}"


UNPROVED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a lower bound": lambda c: c.update(bound=shifted(c["bound"], "-0.00000000001")),
    "a smaller radius": lambda c: c.update(radius=shifted(c["radius"], "-0.00000001")),
    "a larger t": lambda c: c.update(t=shifted(c["t"], "0.001")),
    "a larger level": lambda c: c.update(epsilon="1.0000001"),
    "a smaller t": lambda c: c.update(t="2.718281"),
    "a lower price": lambda c: (
        c["prices"].__setitem__(3, shifted(c["prices"][3], "-0.0001")),
        c.update(bound=shifted(c["bound"], "0.1")),
    ),
    "prices in another order": lambda c: c["prices"].reverse(),
    "larger least probabilities": lambda c: c["least"][0].__setitem__(2, shifted(c["least"][0][2], "0.01")),
    "a smaller least probability": lambda c: c["least"][0].__setitem__(2, shifted(c["least"][0][2], "-1e-9")),
    "a least probability of 0": lambda c: c["least"][0].__setitem__(2, "0"),
    "another slope": lambda c: first_leaf(c).update(slope=shifted(first_leaf(c)["slope"], "0.05")),
    "another split": lambda c: c["tree"].__setitem__(0, c["tree"][0][:3] + "0.000001"),
    "another block": lambda c: c["tree"].__setitem__(0, f"?{1 - int(c['tree'][0][1])}{c['tree'][0][2:]}"),
    "trees in another order": lambda c: first_leaf(c)["trees"].reverse(),
}


@pytest.mark.parametrize("change", UNPROVED)
def test_what_is_wrong_is_not_proved(change: str) -> None:
    assert code_of(json.loads(small())) == 0
    content = changed(UNPROVED[change])
    assert content != json.loads(small())
    assert code_of(content) == 1


def test_a_foreign_table_is_not_proved() -> None:
    content = json.loads(small())
    table = content["utility"]["table"]
    table[0][0], table[0][1] = table[0][1], table[0][0]
    assert code_of(content) == 1


MALFORMED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a leaf of a block less": lambda c: first_leaf(c)["trees"][0].pop(),
    "a leaf of a block more": lambda c: first_leaf(c)["trees"][0].append("0"),
    "no leaf of a block": lambda c: first_leaf(c)["trees"].__setitem__(0, []),
    "a tree as text": lambda c: first_leaf(c)["trees"].__setitem__(0, "0"),
    "a tree less": lambda c: first_leaf(c)["trees"].pop(),
    "no trees": lambda c: first_leaf(c).update(trees="0"),
    "a node less": lambda c: c["tree"].pop(),
    "a node more": lambda c: c["tree"].append(copy.deepcopy(c["tree"][-1])),
    "no node": lambda c: c.update(tree=[]),
    "a tree of columns as text": lambda c: c.update(tree="0"),
    "a node that is a number": lambda c: c["tree"].__setitem__(0, "0"),
    "a letter that is none": lambda c: first_leaf(c)["trees"][0].__setitem__(0, "?5"),
    "a letter with a sign": lambda c: first_leaf(c)["trees"][0].__setitem__(0, "?-1"),
    "a letter twice": lambda c: first_leaf(c)["trees"].__setitem__(0, ["?0", "?0", "0", "0", "0"]),
    "a multiplier that is none": lambda c: first_leaf(c)["trees"][0].__setitem__(-1, "nan"),
    "a multiplier as a number": lambda c: first_leaf(c)["trees"][0].__setitem__(-1, "1e5"),
    "a multiplier too many": lambda c: first_leaf(c)["trees"][0].__setitem__(-1, "0 0 0"),
    "a multiplier of nothing": lambda c: first_leaf(c)["trees"][0].__setitem__(-1, ""),
    "a block that is none": lambda c: c["tree"].__setitem__(0, "?2 0.5"),
    "half a block": lambda c: c["tree"].__setitem__(0, "?0.5 0.5"),
    "a block with no number": lambda c: c["tree"].__setitem__(0, "?0"),
    "a block with two numbers": lambda c: c["tree"].__setitem__(0, "?0 0.5 0.5"),
    "a block with a negative number": lambda c: c["tree"].__setitem__(0, "?0 -0.5"),
    "a key more": lambda c: first_leaf(c).update(note="?"),
    "a row less": lambda c: c["least"].pop(),
    "a letter less": lambda c: [row.pop() for row in c["least"]],
    "least probabilities of 1": lambda c: c["least"][0].__setitem__(0, "0.9"),
    "a negative least probability": lambda c: c["least"][0].__setitem__(0, "-0.1"),
    "an order and no radius": lambda c: c.pop("radius"),
    "an order of 1": lambda c: c.update(order="1"),
    "a negative radius": lambda c: c.update(radius="-0.1"),
    "a price less": lambda c: c["prices"].pop(),
}


@pytest.mark.parametrize("change", MALFORMED)
def test_what_is_malformed_is_said_to_be(change: str) -> None:
    content = changed(MALFORMED[change])
    assert content != json.loads(small())
    assert code_of(content) == 2


def test_every_multiplier_matters_or_may_be_another() -> None:
    """A changed number proves the same true bound or nothing: no other bound is claimed than that proved."""
    rng, refused, tried = np.random.default_rng(5), 0, 150
    value = optimal_robust(adult_ball(SEX), 1.0).value
    for _ in range(tried):
        content = json.loads(small())
        claim = content["claims"][0]
        leaves = [node for node in claim["tree"] if isinstance(node, dict)]
        tree = rng.choice(leaves)["trees"][rng.integers(2)]
        place = int(rng.integers(len(tree)))
        digits = [i for i, letter in enumerate(tree[place]) if letter.isdigit()]
        at = int(rng.choice(digits))
        tree[place] = (
            tree[place][:at] + str((int(tree[place][at]) + rng.integers(1, 10)) % 10) + tree[place][at + 1 :]
        )
        refused += code_of(content) != 0
        assert float(claim["bound"]) >= value
    assert tried // 2 < refused < tried


def test_with_tilts_the_height_of_a_leaf_holds_at_vertices_alone() -> None:
    """Points of a block between them may exceed it: the claim follows for them from those of all leaves.

    The block [1, 3] of a single letter has no vertex with z between 1.8 and 2.2. Its height there is as low
    as tilts make it, so that the leaf proves nothing about its points.
    """
    with localcontext(verify.EXACT):
        least, rest, one = Decimal("0.1"), Decimal("0.9"), Decimal(1)
        width = verify.quotient(Decimal(2), rest)[1]
        block = verify.Block([one], [Decimal(0)], [least], rest, width, one + rest * width)
        ends = Decimal("1.8"), Decimal("2.2")

        def exceeds(w: str, height: Decimal) -> bool:
            return Decimal(w) * verify.ln(Decimal(w))[0] - Decimal(w) > height

        plain, tilted = (
            block.bound(["?0", *leaves], one, ends) for leaves in (["0", "0"], ["0 99", "0 -99"])
        )
        assert not any(exceeds(w, plain) for w in ("1", "2", "3"))
        assert all(exceeds(w, tilted) for w in ("1.8", "2", "2.2"))
        assert tilted < -50
