"""Certificates of optima: proved by the checker, near the computed bound, and refused once they say more."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.optimize import linprog

from ldpfrontier import verify
from ldpfrontier.base.types import Intractable
from ldpfrontier.certificates.approximate import approximate_bound
from ldpfrontier.certificates.association import association_certificate, association_claim
from ldpfrontier.certificates.levels import level_certificate
from ldpfrontier.certificates.local import ldp_certificate
from ldpfrontier.certificates.nonrobust import information_under, nonrobust_certificate
from ldpfrontier.certificates.numbers import whole_channels, written_channel
from ldpfrontier.certificates.privacy import uncertainty_claim
from ldpfrontier.certificates.robust import robust_certificate
from ldpfrontier.engines.listed.approximate import ApproximateColumns
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.model.privacy import (
    conditional_epsilon,
    ldp_epsilon,
    least_delta,
    rldp_epsilon,
    unconditional_epsilon,
)
from ldpfrontier.model.utility import FDivergence, MutualInformation
from ldpfrontier.promises.association import optimal_association
from ldpfrontier.promises.ldp import optimal_ldp
from ldpfrontier.promises.nonrobust import optimal_nonrobust
from ldpfrontier.promises.robust import optimal_robust
from ldpfrontier.uncertainty.odds_ratios import OddsRatios, association_epsilon
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from support.boxes import boxes_of_odds, boxes_over_f
from support.grids import few
from support.questionnaires import report_chances

Document = dict[str, Any]

TABLE = np.array([[15, 5, 10], [10, 35, 25]])
WORKED = np.array([[7, 10], [26, 57]])  # lopuhaa2024, Example 1


def prior(k: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(k))


def proved_gap(document: Document, optimum: Optimum) -> float:
    """Check a document as a file would be, and return how far its bound is above the computed one."""
    assert verify.check(verify.load(json.dumps(document)))
    bound, least = (float(document["claims"][i][key]) for i, key in ((0, "bound"), (1, "at least")))
    assert least == pytest.approx(optimum.value, rel=1e-9, abs=1e-12)
    return bound / optimum.bound - 1.0 if optimum.bound else bound


# What is proved -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        (2, 1.0),
        (4, 0.1),
        (6, 5.0),
        (12, 1.0),
        (12, 10.0),
        (6, 30.0),
    ],
)
def test_mutual_information(k: int, epsilon: float) -> None:
    utility = MutualInformation(prior(k))
    optimum = optimal_ldp(utility, epsilon)
    assert proved_gap(ldp_certificate(optimum, utility, epsilon), optimum) < 1e-9


@pytest.mark.parametrize(
    ("p", "epsilon", "delta"),
    [
        ([0.5, 0.3, 0.2], 1.0, 0.05),
        ([0.5, 0.5, 0.0], 0.0, 0.1),
        ([0.4, 0.3, 0.2, 0.1], 2.0, 0.1),
        (prior(5), 0.3, 0.5),
        (prior(3), 1.0, 1.0),
        ([1.0], 1.0, 0.1),
        ([0.0, 1.0], 1.0, 0.1),
    ],
)
def test_approximate_privacy(p: list[float], epsilon: float, delta: float) -> None:
    utility = MutualInformation(p)
    optimum = optimal_ldp(utility, epsilon, delta)
    document = ldp_certificate(optimum, utility, epsilon, delta)
    assert proved_gap(document, optimum) < 2e-9


def test_every_column_of_approximate_privacy_is_looked_at() -> None:
    """Prices at which three columns are worth what they cost, then one of these more, and no other."""
    rng, utility = np.random.default_rng(3), MutualInformation([0.5, 0.3, 0.2])
    found = set()
    for _ in range(40):
        columns = ApproximateColumns(utility, epsilon := float(rng.uniform(0.2, 2.0)))
        lam = rng.exponential(rng.choice([0.01, 0.1, 1.0]), size=6)
        worth = columns.values - columns.excesses @ lam
        c = linprog(np.ones(3), -columns.vectors, -worth, bounds=(None, None)).x
        tight = np.argsort(columns.vectors @ c - worth)[:3]
        cases = {None: c}
        if np.linalg.cond(columns.vectors[tight]) < 1e4:
            cases |= {
                int(column): c - np.linalg.solve(columns.vectors[tight], 1e-6 * np.eye(3)[i])
                for i, column in enumerate(tight)
            }
        for column, prices in cases.items():
            excesses = np.zeros((3, 3))
            excesses[~np.eye(3, dtype=bool)] = lam
            about = (prices, excesses, columns.scale)
            claim = approximate_bound(about, epsilon, 0.2, 1e-9)
            document = {"format": verify.FORMAT, "version": verify.VERSION, "claims": [claim]}
            document["utility"] = information_under(utility.prior[None])
            if column is None:
                assert verify.check(document)
            else:
                found.add(column)
                with pytest.raises(verify.Unproved, match="is worth more than its prices"):
                    verify.check(document)
    assert len(found) > 15


@pytest.mark.parametrize(("k", "epsilon"), few([(30, 1.0), (1000, 1.0)], more=[(100, 5.0), (1000, 10.0)]))
def test_where_the_packing_converse_is_the_bound(k: int, epsilon: float) -> None:
    utility = MutualInformation(prior(k))
    optimum = optimal_ldp(utility, epsilon)
    if k == 1000:  # the channel of so many inputs takes 10 s; the bound is what is of interest
        optimum = replace(optimum, channel=Channel(np.ones((k, 1))), value=0.0)
    assert proved_gap(ldp_certificate(optimum, utility, epsilon), optimum) < 1e-9


@pytest.mark.parametrize("epsilon", [0.3, math.log(2), 3.0])
@pytest.mark.parametrize("table", [TABLE / 100, WORKED / 100, [[0.1, 0.3], [0.0, 0.0], [0.2, 0.4]]])
def test_nonrobust(table: Any, epsilon: float) -> None:
    optimum = optimal_nonrobust(table, epsilon)
    assert proved_gap(nonrobust_certificate(optimum, table, epsilon), optimum) < 1e-9


def robust(envelope: Any, epsilon: float, ball: RenyiBall) -> Document:
    nodes = None if envelope == "simplex" else 50
    optimum = optimal_robust(ball, epsilon, envelope=envelope, max_nodes=nodes)
    document = robust_certificate(optimum, ball, epsilon)
    assert proved_gap(document, optimum) > -1e-9
    assert float(document["claims"][1]["at least"]) > optimum.value * (1 - 2e-7)
    return document


@pytest.mark.parametrize("envelope", ["simplex", "exact"])
def test_the_level_over_f(envelope: str) -> None:
    document = robust(envelope, 0.7, RenyiBall.confidence(TABLE))
    reports, ball = document["claims"][2]["reports"], RenyiBall.confidence(TABLE)
    ends = 1.0 + math.expm1(0.5 * ball.radius) / ball.sensitive
    # The mechanisms of F itself count on groups that share the radius.
    shared = [hints for proof in reports for hints in proof[-1] if float(hints[2]) < 0.999 * max(ends)]
    assert shared or envelope != "exact"


def test_the_proved_level_is_the_worst_over_f() -> None:
    """A level a little above it is proved, one a little below is not: either group has the radius."""
    rng = np.random.default_rng(3)
    channels = [rng.dirichlet(np.full(2, 5.0), TABLE.size) for _ in range(8)]
    ball = RenyiBall.confidence(TABLE)
    for matrix in (optimal_robust(ball, 0.7).channel.matrix, *channels):
        rows = next(whole_channels(matrix))
        document = {
            "format": verify.FORMAT,
            "version": verify.VERSION,
            "utility": {"kind": "mutual information", "table": [["15", "5", "10"], ["10", "35", "25"]]},
            "channel": written_channel(rows),
        }
        level = ball.worst_case_epsilon(Channel(matrix))
        assert verify.check(document | {"claims": [uncertainty_claim(ball, level + 1e-7, rows)]})
        with pytest.raises(
            verify.Unproved, match=r"not proved to have a ratio of at most .* of [01] to [01]"
        ):
            verify.check(document | {"claims": [uncertainty_claim(ball, level - 1e-7, rows)]})


@pytest.mark.parametrize(
    ("kind", "level_of"),
    [
        ("local privacy", ldp_epsilon),
        ("privacy given U", lambda channel: conditional_epsilon(channel, TABLE.shape)),
        ("unconditional privacy", lambda channel: unconditional_epsilon(channel, TABLE.shape)),
    ],
)
def test_the_proved_level_is_the_largest_ratio(kind: str, level_of: Callable[[Channel], float]) -> None:
    """Of channels whose largest ratio is between inputs, and at an output, of any place."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        rows = [row.tolist() for row in 1 + rng.multinomial(500, np.ones(3) / 3, size=TABLE.size)]
        level = level_of(Channel(np.array(rows) / sum(rows[0])))
        assert verify.check(level_certificate(TABLE, rows, {kind: level + 1e-9}))
        with pytest.raises(verify.Unproved, match="has a ratio above"):
            verify.check(level_certificate(TABLE, rows, {kind: level - 1e-9}))


def test_scalars_within_the_entries_prove_nothing() -> None:
    document = copy.deepcopy(documents()["robust"])
    (claim,) = [claim for claim in document["claims"] if claim["kind"] == "privacy over F"]
    for place in (0, 1):
        wrong = copy.deepcopy(document | {"claims": [claim]})
        wrong["claims"][0]["reports"][0][0][0][place] = "-0.1"
        with pytest.raises(verify.Malformed, match="below 0"):
            verify.check(wrong)


def test_groups_that_share_the_radius_need_one_proof_each() -> None:
    """Three sensitive values, two of which tell much: their reports are private as the radius is shared."""
    ball = RenyiBall(np.array([[20, 30], [10, 25], [5, 10]]) / 100, 0.01)
    rows = np.array([[0.61, 0.39], [0.5, 0.5], [0.42, 0.58], [0.55, 0.45], [0.5, 0.5], [0.46, 0.54]])
    whole = next(whole_channels(rows))
    over_f, over_projections = ball.worst_case_epsilon(Channel(rows)), ball.projected_epsilon(Channel(rows))
    assert over_f < 0.99 * over_projections
    document = verify.read_document(
        {
            "format": verify.FORMAT,
            "version": verify.VERSION,
            "utility": information_under(ball.centre),
            "channel": written_channel(whole),
            "claims": [{}],
        }
    )[0]
    with localcontext(verify.EXACT):
        for level, count in ((over_f + 1e-7, None), (over_projections, 1)):
            claim = uncertainty_claim(ball, level, whole)
            assert verify.privacy_over_f(document, claim)
            assert count is None or {len(proofs) for proofs in claim["reports"]} == {count}
            # No proof serves all pairs if its numbers are those of another sensitive value.
        for proofs in claim["reports"]:
            for proof in proofs:
                proof[0][2] = proof[0][3] = "1000"
        with pytest.raises(verify.Unproved, match="ratio of at most"):
            verify.privacy_over_f(document, claim)


# What is refused ------------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit() -> None:
    utility = MutualInformation(prior(3))
    optimum = optimal_ldp(utility, 1.0)
    with pytest.raises(ValueError, match="must have 4 inputs"):
        ldp_certificate(optimum, MutualInformation(prior(4)), 1.0)
    with pytest.raises(ValueError, match="MutualInformation"):
        ldp_certificate(optimum, FDivergence(prior(3), prior(3, 2)), 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rows = sensitive"):
        nonrobust_certificate(optimum, prior(3), 1.0)
    for delta in (0.0, 0.9):
        with pytest.raises(ValueError, match="less private"):
            ldp_certificate(replace(optimum, channel=Channel(np.eye(3))), utility, 1.0, delta)
    with pytest.raises(ValueError, match=r"delta is 1\.5"):
        ldp_certificate(optimum, utility, 1.0, 1.5)
    with pytest.raises(Intractable, match="at most 7"):
        ldp_certificate(optimal_ldp(eight := MutualInformation(prior(8)), 1.0, 0.1), eight, 1.0, 0.1)
    ball = RenyiBall.confidence(TABLE, order=0.5)
    with pytest.raises(ValueError, match="orders above"):
        robust_certificate(optimal_robust(ball, 1.0), ball, 1.0)


def test_a_bound_below_the_optimum_is_not_proved() -> None:
    """Whatever a solver says: what is proved is above what a mechanism has."""
    utility = MutualInformation(prior(6))
    optimum = optimal_ldp(utility, 1.0)
    document = ldp_certificate(replace(optimum, bound=optimum.value / 2.0), utility, 1.0)
    assert float(document["claims"][0]["bound"]) > optimum.value


def test_the_bound_that_ignores_the_table_has_the_information_about_u() -> None:
    document = copy.deepcopy(documents()["nonrobust"])
    claim = document["claims"][0]
    claim["bound"] = f"{sum(Decimal(price) for price in claim['prices']) + Decimal('1e-9'):f}"
    with pytest.raises(verify.Unproved, match="is proved, which is more than"):
        verify.check(document)


def test_the_level_for_all_who_know_something_about_u() -> None:
    for odds in (OddsRatios.known(TABLE / TABLE.sum()), OddsRatios.confidence(TABLE)):
        optimum = optimal_association(odds, 0.7, max_nodes=500)
        document = association_certificate(optimum, odds, 0.7)
        said = "; ".join(verify.check(verify.load(json.dumps(document))))
        assert "at most e^0.7 (privacy for all who know something about U, if its odds ratios hold)" in said
        assert [claim["kind"] for claim in document["claims"]] == [
            "nonrobust bound",
            "utility",
            "privacy for all who know something about U",
        ]
        least = float(document["claims"][1]["at least"])
        assert least == pytest.approx(optimum.value, rel=1e-9)
        assert float(document["claims"][0]["bound"]) >= optimum.bound
    # Without the estimate in the intervals there is no bound, and empty cells are 0.
    ends = np.ones((2, 2, 3, 3))
    other = association_certificate(optimum, OddsRatios(TABLE / TABLE.sum(), ends), 0.7)
    assert other["claims"][0]["kind"] == "utility"
    rare = OddsRatios.known([[0.0, 0.3, 0.2], [0.1, 0.2, 0.2]])
    document = association(rare, 1.0)
    assert verify.check(document)
    assert document["claims"][-1]["odds"][0][1][0] == "0"
    rare = OddsRatios.known([[0.0, 0.3, 0.2], [0.1, 0.2, 0.2]], [[True, False, False], [False] * 3])
    assert verify.check(association(rare, 1.0))


def test_the_proved_level_is_that_of_all_who_know_something_about_u() -> None:
    """Just above the level of random channels there is a proof, and just below it there is none."""
    rng, interior = np.random.default_rng(3), 0
    for _ in range(80):
        shape = [(2, 2), (2, 3), (3, 3)][rng.integers(3)]
        joint = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape)
        if rng.random() < 0.3:
            joint.flat[rng.integers(joint.size)] = 0.0
            joint /= joint.sum()
        odds = OddsRatios.known(joint)
        matrix = np.exp(rng.normal(size=(joint.size, 3)) * rng.choice([0.2, 1.0]))
        whole = next(whole_channels(matrix / matrix.sum(axis=1, keepdims=True)))
        channel = Channel([[n / sum(row) for n in row] for row in whole])
        level = association_epsilon(channel, odds)
        interior += level > conditional_epsilon(channel, shape) * (1 + 1e-6)
        document = {"format": verify.FORMAT, "version": verify.VERSION, "utility": information_under(joint)}
        document["channel"] = written_channel(whole)
        assert verify.check(document | {"claims": [association_claim(odds, level + 1e-9)]})
        with pytest.raises(verify.Unproved, match="has a ratio above"):
            verify.check(document | {"claims": [association_claim(odds, level - 1e-9)]})
    assert interior > 10


# Mutations ------------------------------------------------------------------------------------------------


@cache
def documents() -> dict[str, Document]:
    information, ball = MutualInformation(prior(5)), RenyiBall.confidence(TABLE)
    three = MutualInformation(prior(3))
    return {
        "information": ldp_certificate(optimal_ldp(information, 1.0), information, 1.0),
        "approximate": ldp_certificate(optimal_ldp(three, 1.0, 0.2), three, 1.0, 0.2),
        "nonrobust": nonrobust_certificate(optimal_nonrobust(ball.centre, 1.0), ball.centre, 1.0),
        "robust": robust("exact", 0.7, ball),
        "odds ratios": association(OddsRatios.confidence(TABLE), 0.7),
        "boxes over F": boxes_over_f(RenyiBall.confidence(WORKED), 0.7, 0.05),
        "boxes of odds ratios": boxes_of_odds(OddsRatios.confidence(WORKED), 0.7, 0.05),
        "questionnaire": questionnaire(),
    }


def questionnaire() -> Document:
    """Two lots: of two questions, and of either of two with three answers; ln(16 / 5) = 1.16315..."""
    lots = [
        {"weight": "10", "questions": [["0"], ["1", "2"]], "set": "011010"},
        {"weight": "6", "questions": [["1", "2"]], "set": "100"},
    ]
    about = {"answers": ["2", "3", "3"], "of": "16", "kept": "5", "lots": lots}
    document = {"format": verify.FORMAT, "version": verify.VERSION, "questionnaire": about}
    return document | {"claims": [{"kind": "questionnaire privacy", "epsilon": "1.1632"}]}


def association(odds: OddsRatios, epsilon: float) -> Document:
    return association_certificate(optimal_association(odds, epsilon, max_nodes=500), odds, epsilon)


def read_odds(claim: Document, table: np.ndarray) -> OddsRatios:
    """The odds ratios of a claim, which are the least ones; larger ones than 1 count for nothing."""
    a1, a2 = table.shape
    low, tables = np.ones((a1, a1, a2, a2)), iter(np.array(claim["odds"], dtype=float))
    for s, t in itertools.combinations(range(a1), 2):
        low[s, t] = next(tables)
        low[t, s] = low[s, t].T
    return OddsRatios(table, low)


def holds(document: Document) -> bool:
    """Tell whether the claims of a document are true, by the solvers of the package and in floating point."""
    if "questionnaire" in document:
        return all(
            math.log(ratio_of(document["questionnaire"])) <= float(c["epsilon"]) for c in document["claims"]
        )
    about = document["utility"]
    weights = np.array(about.get("table", about.get("prior")), dtype=float)
    table = weights.reshape(len(weights), -1) / weights.sum()
    rows, denominator = verify.read_channel(document["channel"], table.size)
    channel = Channel([[n / denominator for n in row] for row in rows])
    return all(true_claim(claim, MutualInformation(table), table, channel) for claim in document["claims"])


def test_the_level_of_a_questionnaire_is_proved_up_to_the_last_digits() -> None:
    document = questionnaire()
    for epsilon, proved in (("1.16315080980569", True), ("1.16315080980568", False)):
        document["claims"][0]["epsilon"] = epsilon
        assert refused(document) != proved


def ratio_of(about: Document) -> Fraction:
    """The largest ratio of chances of all reports of a questionnaire, by enumeration."""
    assert about["of"] == "16"
    questions = [{"answers": ["x"] * int(size)} for size in about["answers"]]
    lots = [lot | {"questions": [[*map(int, some)] for some in lot["questions"]]} for lot in about["lots"]]
    text = json.dumps({"questions": questions, "bits": 4, "accept": about["kept"], "lots": lots})
    chances = report_chances(text).values()
    return max(max(given.values()) / min(given.values()) for given in chances if max(given.values()))


@cache
def greatest_known(promise: str, cells: bytes, shape: tuple[int, int]) -> float:
    """The utility of a good mechanism for the promise of a bound, whose proof is left out."""
    about, table = json.loads(promise), np.frombuffer(cells).reshape(shape)
    epsilon = float(about["epsilon"])
    if about["kind"] == "association bound":
        return optimal_association(read_odds(about, table), epsilon, max_nodes=50).value
    ball = RenyiBall(table, float(about["radius"]), float(about["order"]))
    return optimal_robust(ball, epsilon, envelope="exact", max_nodes=50).value


def true_claim(claim: Document, utility: MutualInformation, table: np.ndarray, channel: Channel) -> bool:
    kind, epsilon = claim["kind"], float(claim.get("epsilon", 0))
    if kind == "utility":
        return utility(channel) >= float(claim["at least"]) - 1e-12
    if kind in ("robust bound", "association bound"):
        about = {key: claim[key] for key in ("kind", "epsilon", "order", "radius", "odds") if key in claim}
        least = greatest_known(json.dumps(about), table.tobytes(), table.shape)
        return math.log(float(claim["t"])) >= epsilon - 1e-12 and float(claim["bound"]) >= least
    if kind == "approximate privacy":
        return least_delta(channel, epsilon) <= float(claim["delta"]) + 1e-9
    if kind == "approximate bound":
        level, delta = math.log(float(claim["t"])), float(claim["delta"])
        optimum = optimal_ldp(utility, level, 0.0 if delta < 1e-9 else min(delta, 1.0))
        return level >= epsilon - 1e-12 and float(claim["bound"]) >= optimum.value * (1 - 1e-12)
    if kind.endswith("bound"):
        level = min(math.log(float(claim["t"])), 30.0)
        optimum = optimal_ldp(utility, level) if kind == "ldp bound" else optimal_nonrobust(table, level)
        return level >= epsilon - 1e-12 and float(claim["bound"]) >= optimum.value * (1 - 1e-12)
    if kind == "privacy over F":
        ball = RenyiBall(table, float(claim["radius"]), float(claim["order"]))
        level = ball.worst_case_epsilon(channel)
    elif kind == "privacy at the table":
        level = float(rldp_epsilon(channel, table / table.sum(axis=1, keepdims=True)))
    elif kind == "privacy for all who know something about U":
        level = association_epsilon(channel, read_odds(claim, table))
    elif kind == "local privacy":
        level = ldp_epsilon(channel)
    else:
        level = (conditional_epsilon if kind == "privacy given U" else unconditional_epsilon)(
            channel, table.shape
        )
    return level <= epsilon + 1e-9


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Walk through all values in a document, each as its container and its key."""
    for key in range(len(value)) if isinstance(value, list) else value:
        yield value, key
        if isinstance(value[key], list | dict):
            yield from places(value[key])


HOSTILE = (
    "NaN",
    "1e999999",
    "-0",
    "",
    "9" * 500,
    "\u0661",
    None,
    [],
    {},
)


def mutated(document: Document, rng: np.random.Generator) -> Document:
    """Change a document in one place."""
    new = copy.deepcopy(document)
    found = list(places(new))
    while True:
        holder, key = found[rng.integers(len(found))]
        value = holder[key]
        match rng.integers(6):
            case 0 if isinstance(value, str) and any(map(str.isdigit, value)):
                digits = [i for i, letter in enumerate(value) if letter.isdigit()]
                # The first digits as often as all later ones.
                i = digits[min(int(rng.exponential(4.0)), len(digits) - 1)]
                holder[key] = f"{value[:i]}{rng.integers(10)}{value[i + 1 :]}"
            case 1 if isinstance(holder, list):
                del holder[key]
            case 2 if isinstance(holder, list):
                holder.insert(int(rng.integers(len(holder) + 1)), copy.deepcopy(value))
            case 3 if isinstance(holder, list) and len(holder) > 1:
                other = int(rng.integers(len(holder)))
                holder[key], holder[other] = holder[other], value
            case 4 if isinstance(holder, dict):
                holder[f"{key}s"] = holder.pop(key)
            case 5:
                holder[key] = HOSTILE[rng.integers(len(HOSTILE))]
            case _:
                continue
        if new != document:
            return new


def refused(document: Document) -> bool:
    """Tell whether a document is refused, whichever way; any other exception is an error."""
    try:
        verify.check(verify.load(json.dumps(document)))
    except (verify.Malformed, verify.Unproved):
        return True
    return False


BY_BOXES = ["boxes over F", "boxes of odds ratios"]
each_document = pytest.mark.parametrize(
    "name", ["information", "approximate", "nonrobust", "robust", "odds ratios", *BY_BOXES, "questionnaire"]
)


@each_document
def test_mutations_that_make_a_claim_false_are_refused(name: str, long: bool) -> None:
    """What is still proved after a change is still true."""
    document, rng, passed = documents()[name], np.random.default_rng(7), 0
    number = 4000 if long else 120
    assert holds(document)
    for _ in range(number):
        mutant = mutated(document, rng)
        if not refused(mutant):
            passed += 1
            assert holds(mutant), mutant
    assert 0 < passed < 0.5 * number


@pytest.mark.parametrize("name", ["information", "approximate", "nonrobust", *BY_BOXES])
def test_no_proof_of_a_false_bound_passes(name: str, long: bool) -> None:
    """With bound and prices somewhat below what a mechanism has, no change of anything else is a proof."""
    document, rng = copy.deepcopy(documents()[name]), np.random.default_rng(8)
    claim, value = document["claims"][0], Decimal(document["claims"][1]["at least"])
    share = value / Decimal(claim["bound"]) * (1 - Decimal("1e-7"))
    claim["prices"] = [f"{Decimal(price) * share:.30f}" for price in claim["prices"]]
    claim["bound"] = f"{Decimal(claim['bound']) * share:.30f}"
    document["claims"] = [claim]
    changed: list[Callable[[], object]] = [
        lambda: claim["prices"].__setitem__(slice(None), [str(c) for c in moved(claim["prices"], rng)]),
        lambda: rng.shuffle(claim["prices"]),
    ]
    for _ in range(2000 if long else 100):
        mutant = mutated(document, rng)
        assert refused(mutant) or holds(mutant), mutant
        changed[rng.integers(2)]()


def moved(prices: list[str], rng: np.random.Generator) -> list[Decimal]:
    """Move a part of one price to another; their sum stays what it is."""
    found = [Decimal(price) for price in prices]
    i, j = rng.choice(len(found), 2, replace=False)
    part = abs(found[i]) * Decimal(repr(float(rng.random()))).quantize(Decimal("1e-6"))
    found[i], found[j] = found[i] - part, found[j] + part
    return [verify.EXACT.create_decimal(f"{price:.30f}") for price in found]


# The page and the schema ----------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs/certificates.md"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(verify.__file__).parent / "certificate.schema.json").read_text(encoding="utf-8"))
)


def test_the_certificate_that_is_read_aloud() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## A certificate of Figure 2")[0]
    document = verify.load(re.findall(r"```json\n(.*?)```", text, re.S)[0])
    said = "; ".join(verify.check(document))
    quoted = " ".join(re.findall(r"^> (.*)", text, re.M))
    assert quoted == f"{said[0].upper()}{said[1:]}."
    optimum = optimal_ldp(MutualInformation([0.5, 0.3, 0.2]), 1.0)
    claims = document["claims"]
    bound, least = float(claims[0]["bound"]), float(claims[1]["at least"])
    assert bound - 2.1e-10 <= least <= optimum.value <= bound
    # The terms of the first leaf, as the page has them.
    t, (z, prices) = float(claims[0]["t"]), (1.85914, [float(c) for c in claims[0]["prices"]])
    for p, c in zip((0.5, 0.3, 0.2), prices, strict=True):
        for v in (1.0, t):
            term = p * v * math.log(v) - (1.0 + math.log(z)) * p * v - c * v
            assert f"{term:.9f}" in text


@each_document
def test_what_is_proved_has_the_form_of_the_schema(name: str, long: bool) -> None:
    document, rng = documents()[name], np.random.default_rng(10)
    number = 300 if long else 24
    SCHEMA.validate(document)
    mutants = [mutated(document, rng) for _ in range(number)]
    other = [mutant for mutant in mutants if not SCHEMA.is_valid(mutant)]
    assert number / 12 < len(other) < number
    assert all(refused(mutant) for mutant in other)


def test_the_schema_knows_the_kinds_of_the_checker() -> None:
    kinds = set()
    for definition in SCHEMA.schema["$defs"].values():
        kind = definition.get("properties", {}).get("kind", {})
        kinds |= {kind["const"]} if "const" in kind else set(kind.get("enum", ()))
    assert kinds == set(verify.RULES)


def test_pairs_that_are_equally_far_from_a_proof_are_given_up_one_by_one() -> None:
    """On a table of equal groups all pairs of a report that is not private have the same excess."""
    ball = RenyiBall.confidence(np.full((4, 2), 1000), beta=0.05)
    claim = uncertainty_claim(ball, 0.5, [[9, 1]] * 4 + [[1, 9]] * 4)
    assert [len(proofs) for proofs in claim["reports"]] == [1, 1]


def test_malformed_claims_of_odds_ratios() -> None:
    document = copy.deepcopy(documents()["odds ratios"])
    claim = document["claims"][-1]
    right = claim["odds"]
    for wrong, message in (
        ([], "no list of 1 tables of odds ratios"),
        (right * 2, "no list of 1 tables of odds ratios"),
        ([right[0][:2]], "no list of 3 rows"),
        ([[row[:2] for row in right[0]]], "3 a row, 1 at most"),
        ([[["1", "1.5", "1"], *right[0][1:]]], "3 a row, 1 at most"),
        ([[["1", "-0.5", "1"], *right[0][1:]]], "below 0"),
    ):
        claim["odds"] = wrong
        with pytest.raises(verify.Malformed, match=message):
            verify.check(document)
    table = {"kind": "mutual information", "table": [["1", "2"]]}
    alone = {**document, "utility": table, "channel": {"denominator": "2", "rows": [["1", "1"]] * 2}}
    with pytest.raises(verify.Malformed, match="not of two values of S"):
        verify.check(alone | {"claims": [claim | {"odds": [[["1"] * 2] * 2]}]})
    with pytest.raises(ValueError, match="nothing to prove with one sensitive value"):
        association_certificate(
            optimal_association(OddsRatios.confidence([[3, 4]]), 1.0), OddsRatios.confidence([[3, 4]]), 1.0
        )
    odds = OddsRatios.confidence(TABLE)
    public = replace(
        optimal_association(odds, 0.7, max_nodes=10), channel=Channel(np.tile(np.eye(3), (2, 1)))
    )
    with pytest.raises(ValueError, match="less private than the level given"):
        association_certificate(public, odds, 0.7)


def test_a_share_above_1_is_no_cut() -> None:
    document = copy.deepcopy(documents()["boxes of odds ratios"])
    (claim,) = [claim for claim in document["claims"] if "cuts" in claim]
    claim["cuts"][0]["share"] = "1.5"
    with pytest.raises(verify.Malformed, match="share of cut 0 is above 1"):
        verify.check(document | {"claims": [claim]})


def test_zeros_of_a_channel_are_counted() -> None:
    matrix = np.array([[0.5, 0.0, 0.0, 0.5], [0.0, 0.25, 0.75, 0.0], [0.0, 0.0, 0.0, 1.0]])
    rows = next(whole_channels(matrix, matrix))
    channel = written_channel(rows)
    assert [[entry for entry in row if "0" in entry[:1]] for row in channel["rows"]] == [
        ["0*2"], ["0", "0"], ["0*3"],
    ]  # fmt: skip
    whole, denominator = verify.read_channel(channel, 3)
    assert [[float(n / denominator) for n in row] for row in whole] == matrix.tolist()
    assert rows == whole
