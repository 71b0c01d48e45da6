"""The worked example of lopuhaa2024 (Examples 1 to 5), with printed and computed numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpfrontier.base.types import FloatArray
from ldpfrontier.engines.listed.double_description import extreme_rays
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.cones import polyopt_cone
from ldpfrontier.model.information import mutual_information, renyi_divergence
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.optimum import Optimum
from ldpfrontier.promises.polyopt import optimal_polyopt
from ldpfrontier.reports.two_reports import budget_split
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from papers.lopuhaa2024.solution import PAPER
from reproduction.results.tables import PRINTED, Printed

TRUTH = np.array([[0.1, 0.1], [0.2, 0.6]])
COUNTS = np.array([[7, 10], [26, 57]])
#: The level of the examples, nats.
EPSILON = math.log(2)
_CELLS = [f"{s},{u}" for s in ("s1", "s2") for u in ("u1", "u2")]

# Example 3: the rows of V, with mu and theta.
_VERTICES = np.array(
    [
        [0.0744, 0.3227, 0.5603, 0.0426, 0.1152, 1.1899],
        [0.2426, 0.2426, 0.4783, 0.0364, 0.0942, 0.0],
        [0.3333, 0.3333, 0.1667, 0.1667, 0.0087, 0.0],
        [0.1091, 0.4737, 0.2086, 0.2086, 0.0135, 0.0],
        [0.0993, 0.4310, 0.0, 0.4697, 0.1097, 0.0],
        [0.1121, 0.4864, 0.0, 0.4015, 0.0968, 0.7670],
        [0.3404, 0.3404, 0.0, 0.3191, 0.0723, 0.0],
        [0.0770, 0.3343, 0.2944, 0.2944, 0.0080, 0.0],
        [0.2234, 0.2234, 0.0, 0.5531, 0.1240, 0.0],
        [0.4875, 0.1434, 0.0, 0.3690, 0.0878, 0.0],
        [0.4360, 0.1283, 0.0, 0.4358, 0.1014, 1.4134],
        [0.4758, 0.1400, 0.1921, 0.1921, 0.0106, 0.0],
        [0.3437, 0.1011, 0.2776, 0.2776, 0.0076, 0.0],
        [0.1602, 0.1602, 0.6316, 0.0481, 0.1240, 0.0],
        [0.1667, 0.1667, 0.3333, 0.3333, 0.0075, 0.0],
        [0.3325, 0.0978, 0.5294, 0.0403, 0.1083, 0.6297],
    ]
)
_POLYOPT = np.array(
    [
        [0.0885, 0.3840, 0.6667, 0.0507],
        [0.0860, 0.3731, 0.0, 0.3080],
        [0.6162, 0.1813, 0.0, 0.6159],
        [0.2094, 0.0616, 0.3333, 0.0254],
    ]
)

_RADII = (
    "printed: log(1 + (e^B - 1)/p_s), which is not Theorem 1; computed: Theorem 1, as Examples 3 and 5 use it"
)
_FROM_RADII = "follows from the printed B_s of Example 2"


def worked_example() -> pd.DataFrame:
    """Return the numbers that Examples 1 to 5 print, beside those computed."""
    ball = example_ball()
    third = partial(_example_3, optimum=example_polyopt(ball))
    examples: tuple[Callable[[RenyiBall], Iterator[_Quantity]], ...] = (
        _example_1, _example_2, third, _example_4, _example_5,
    )  # fmt: skip
    return PRINTED.table(
        Printed(PAPER, f"Example {i}", place, quantity, computed, said, digits=digits, note=note)
        for i, example in enumerate(examples, start=1)
        for place, (quantity, computed, said, digits, note) in enumerate(example(ball))
    )


_Quantity = tuple[str, float, float | None, int, str]


def _quantities(
    names: Sequence[str], computed: Any, said: Any, digits: int = 4, note: str = ""
) -> list[_Quantity]:
    values = zip(names, np.ravel(computed), np.ravel(said), strict=True)
    return [(name, float(c), float(p), digits, note) for name, c, p in values]


def _example_1(ball: RenyiBall) -> Iterator[_Quantity]:
    yield from _quantities([f"P-hat({cell})" for cell in _CELLS], ball.centre, [0.07, 0.10, 0.26, 0.57], 2)
    yield "B", ball.radius, 0.0752, 4, ""
    yield "D_2(P-hat || P*)", renyi_divergence(ball.centre, TRUTH, 2.0), 0.0281, 4, ""


def _example_2(ball: RenyiBall) -> Iterator[_Quantity]:
    conditional = ["u1|s1", "u2|s1", "u1|s2", "u2|s2"]
    yield from _quantities(["P-hat(s1)", "P-hat(s2)"], ball.sensitive, [0.17, 0.83], 2)
    yield from _quantities(
        [f"P-hat({name})" for name in conditional], ball.conditionals, [0.4118, 0.5882, 0.3133, 0.6867]
    )
    yield from _quantities(["B_s1", "B_s2"], ball.projected_radii, [0.3782, 0.0900], 4, _RADII)
    L = ball.lower_bounds
    yield from _quantities(
        [f"L({name})" for name in conditional], L, [0.1620, 0.2829, 0.1923, 0.5337], 4, _FROM_RADII
    )
    yield from _quantities(
        [f"largest P({name}) over F" for name in conditional],
        1.0 - L[:, ::-1],
        [0.7171, 0.8380, 0.4663, 0.8077],
        4,
        _FROM_RADII,
    )
    yield from _quantities(["rad_s1", "rad_s2"], ball.radii, [0.6107, 0.3061], 4, _FROM_RADII)


def _example_3(ball: RenyiBall, optimum: Optimum) -> Iterator[_Quantity]:
    cone = polyopt_cone(ball.lower_bounds, EPSILON)
    rays = extreme_rays(cone.inequalities)
    rays /= rays.sum(axis=1, keepdims=True)
    # The rounding of the inequalities may split a ray in two that are next to each other.
    vertices = rays[np.unique(rays.round(9), axis=0, return_index=True)[1]]
    columns = optimum.channel.matrix.T
    p = ball.centre.ravel()
    # The cone leaves out v >= 0, and the comparison of each vertex of a simplex with itself.
    yield "inequalities", len(cone.inequalities) + 2 * ball.centre.size, 20, 0, ""
    yield "vertices", len(vertices), 16, 0, ""
    for i, row in enumerate(_VERTICES, start=1):
        vertex, mu, theta = row[:4], row[4], row[5]
        v = _nearest_row(vertices, vertex)
        yield from _quantities([f"V[{i}]({cell})" for cell in _CELLS], v, vertex)
        positive = v > 0
        yield f"mu[{i}]", float((p * v)[positive] @ np.log(v[positive] / (p @ v))), mu, 4, ""
        used = np.abs(columns / columns.sum(axis=1, keepdims=True) - v).max(axis=1) < 1e-6
        yield f"theta[{i}]", float(columns[used].sum()), theta, 4, ""
    for i, column in enumerate(_POLYOPT, start=1):
        yield from _quantities(
            [f"PolyOpt(y{i}|{cell})" for cell in _CELLS], _nearest_row(columns, column), column
        )
    yield "I_P-hat of PolyOpt", mutual_information(ball.centre, optimum.channel), 0.4228, 4, ""
    printed_channel = Channel(_POLYOPT.T / _POLYOPT.sum(axis=0)[:, None])
    own = mutual_information(TRUTH, printed_channel)
    note = f"the printed PolyOpt matrix itself has {own:.4f}, as computed"
    yield "I_P* of PolyOpt", mutual_information(TRUTH, optimum.channel), 0.2804, 4, note


def example_ball() -> RenyiBall:
    """Return the uncertainty set of the examples."""
    return RenyiBall.confidence(COUNTS, beta=0.05)


def example_polyopt(ball: RenyiBall) -> Optimum:
    """Return PolyOpt at the level of the examples."""
    return optimal_polyopt(ball, EPSILON)


def _nearest_row(rows: FloatArray, target: FloatArray) -> FloatArray:
    return np.asarray(rows[np.abs(rows - target).max(axis=1).argmin()])


def _example_4(ball: RenyiBall) -> Iterator[_Quantity]:
    grr, srr = randomized_response(4, EPSILON), secret_randomized_response(2, 2, EPSILON)
    yield from _quantities(["GRR(x|x)", "GRR(y|x)"], grr.matrix[0, :2], [0.4, 0.2], 1)
    yield from _quantities(
        ["SRR(s,u|s,u)", "SRR(s,u'|s,u)", "SRR(s',u'|s,u)"], srr.matrix[0, :3], [0.444, 0.111, 0.222], 3
    )
    for name, channel, estimated, true in (("GRR", grr, 0.0419, 0.0412), ("SRR", srr, 0.1005, 0.0942)):
        yield f"I_P-hat of {name}", mutual_information(ball.centre, channel), estimated, 4, ""
        yield f"I_P* of {name}", mutual_information(TRUTH, channel), true, 4, ""


def _example_5(ball: RenyiBall) -> Iterator[_Quantity]:
    split = budget_split(ball, EPSILON)
    note = "the expression repeats Example 2, but the printed d = 1.4591 is that of the computed radii"
    yield from _quantities(["rad_s1 in d", "rad_s2 in d"], ball.radii, [0.6107, 0.3061], 4, note)
    yield "d", split.distance, 1.4591, 4, ""
    yield "2/d", 2.0 / split.distance, 1.3707, 4, ""
    yield "2/d - 1", 2.0 / split.distance - 1.0, 0.3707, 4, ""
    yield "2 - 2/d", 2.0 - 2.0 / split.distance, 0.6293, 4, ""
    yield "optimal epsilon_2 / log 2", split.epsilon_2 / EPSILON, 1, 4, ""
    Q = split.channel.matrix
    names = [f"IR({y}|{x})" for x in _CELLS for y in _CELLS]
    yield from _quantities(names, Q, np.tile([[0.3517, 0.1483], [0.1483, 0.3517]], (2, 2)))
    yield "I_P-hat of IR", mutual_information(ball.centre, split.channel), 0.0755, 4, ""
    yield "I_P* of IR", mutual_information(TRUTH, split.channel), 0.0718, 4, ""
