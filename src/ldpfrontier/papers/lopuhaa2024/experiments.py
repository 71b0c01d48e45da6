"""Experiments of lopuhaa2024: Figure 2 (Adult) and the worked example (Examples 1 to 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from enumeration import robust_rays
from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.independent_reporting import Distance, independent_reporting
from ldpfrontier.information import entropy, mutual_information, renyi_divergence
from ldpfrontier.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.optimal.components import optimal_reporting
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.optimal.robust import Pairs, optimal_robust
from ldpfrontier.optimum import Intractable, Optimum
from ldpfrontier.privacy import rldp_epsilon
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.tables import CLOSED_FORM, EXAMPLES, MEASURED, RESULTS, SKIPPED, relative_gap

PAPER = "lopuhaa2024"
MECHANISMS = ("polyopt", "polyopt_distinct", "nr", "ir", "ir_tight", "ir_optimal", "srr", "grr")

# Value and bound of one mechanism come from different sums; this much apart they are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    """One mechanism at one epsilon: the certificate of its mutual information in nats."""

    status: str
    value: float = math.nan
    upper_bound: float = math.nan
    outputs: int | None = None
    iterations: int | None = None
    privacy: float = math.nan
    row_sum_error: float = math.nan
    note: str = ""


def instance_name(sensitive: str, public: str, shape: tuple[int, ...]) -> str:
    """Name a pair of attributes with its size, as in ``"sex, race (2 x 5)"``."""
    return f"{sensitive}, {public} ({shape[0]} x {shape[1]})"


def adult_sweep(
    counts: ArrayLike,
    epsilons: Sequence[float],
    *,
    instance: str,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = MECHANISMS,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compute the mutual information of the mechanisms of Figure 2 on one table of counts, with certificates.

    Every mechanism has the metrics ``mutual_information`` (nats, under P-hat) and ``nmi`` (divided by H(X)).
    The bound of an optimized mechanism is that of its own class. A closed form has NR's: all mechanisms here
    are private if P-hat is the truth, and of those NR is the best. Robust mechanisms are certified against
    the product of the projections of F, NR against P-hat alone; what NR then leaks over F is its metric
    ``worst_case_epsilon``, which is measured and not limited by epsilon.

    Parameters
    ----------
    counts : array_like of int, shape (a1, a2)
        Rows are the sensitive values.
    epsilons : sequence of float
        Privacy levels in nats.
    instance : str
        Name of the table of counts in the result.
    beta, order : float
        Significance level and Renyi order of the uncertainty set F.
    mechanisms : sequence of str
        Members of `MECHANISMS`.
    tolerance, max_rounds
        As in `optimal_robust`.
    progress : callable, optional
        Told one line per mechanism and epsilon.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.

    Raises
    ------
    TableError
        If a certificate fails; the sentence names the row.
    """
    ball = RenyiBall.confidence(counts, beta=beta, order=order)
    h = entropy(ball.centre)
    rows = []
    for epsilon in epsilons:
        nonrobust = optimal_nonrobust(ball.centre, epsilon)
        published: Channel | None = None
        for mechanism in mechanisms:
            channel, outcome = evaluate(mechanism, ball, epsilon, nonrobust, tolerance, max_rounds, published)
            published = channel if mechanism == "polyopt" else published
            found = list(metrics(outcome, h))
            if mechanism == "nr" and channel is not None:
                leak = ball.worst_case_epsilon(channel)
                found.append(
                    (
                        "worst_case_epsilon",
                        replace(outcome, status=MEASURED, value=leak, upper_bound=math.nan),
                    )
                )
            rows += [result_row(instance, mechanism, epsilon, metric, result) for metric, result in found]
            if progress:
                nmi = found[1][1]
                progress(
                    f"{instance}: epsilon {epsilon:g}, {mechanism}: {outcome.status}, "
                    f"nmi {nmi.value:.6f} <= {nmi.upper_bound:.6f} {outcome.note}".rstrip()
                )
    return RESULTS.conform(pd.DataFrame(rows))


def evaluate(
    mechanism: str,
    ball: RenyiBall,
    epsilon: float,
    nonrobust: Optimum,
    tolerance: float,
    max_rounds: int,
    known: Channel | None = None,
) -> tuple[Channel | None, Outcome]:
    """Compute one mechanism at one epsilon, with its certificate.

    Parameters
    ----------
    mechanism : str
        Member of `MECHANISMS`.
    ball : RenyiBall
    epsilon : float
        Privacy level in nats.
    nonrobust : Optimum
        NR at this epsilon. Every mechanism here is private under P-hat, so NR's bound is a bound for all.
    tolerance, max_rounds, known
        As in `optimal_robust`.

    Returns
    -------
    channel : Channel or None
        None if the mechanism is out of reach for this size; the outcome then says why.
    outcome : Outcome
    """
    a1, a2 = ball.centre.shape
    optimum: Optimum | None = None
    try:
        match mechanism:
            case "polyopt" | "polyopt_distinct":
                pairs: Pairs = "all" if mechanism == "polyopt" else "distinct"
                optimum = optimal_robust(
                    ball, epsilon, pairs=pairs, tolerance=tolerance, max_rounds=max_rounds, known=known
                )
                channel = optimum.channel
            case "nr":
                optimum, channel = nonrobust, nonrobust.channel
            case "ir" | "ir_tight":
                distance: Distance = "published" if mechanism == "ir" else "tight"
                channel = independent_reporting(ball, epsilon, distance).channel
            case "ir_optimal":
                channel = optimal_reporting(ball, epsilon).channel
            case "srr":
                channel = secret_randomized_response(a1, a2, epsilon)
            case "grr":
                channel = randomized_response(a1 * a2, epsilon)
            case _:
                raise ValueError(f"The mechanism is {mechanism!r}; allowed are {', '.join(MECHANISMS)}.")
    except Intractable as reason:
        return None, Outcome(SKIPPED, note=str(reason))
    value, upper = mutual_information(ball.centre, channel), nonrobust.upper_bound
    if optimum:
        upper = min(upper, optimum.upper_bound)
    return channel, Outcome(
        status=optimum.status if optimum else "bounded" if mechanism == "ir_optimal" else CLOSED_FORM,
        value=value,
        upper_bound=value if upper < value <= upper + _ROUNDING else upper,
        outputs=channel.n_outputs,
        iterations=optimum.iterations if optimum else 0,
        privacy=(
            float(rldp_epsilon(channel, ball.conditionals))
            if mechanism == "nr"
            else ball.projected_epsilon(channel)
        ),
        row_sum_error=float(np.abs(channel.matrix.sum(axis=1) - 1.0).max()),
    )


def metrics(outcome: Outcome, h: float) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome as mutual information in nats and as NMI, with H(X) = `h`."""
    yield "mutual_information", outcome
    # With H(X) = 0 there is nothing to report and every mechanism reports it.
    scale = h if h > 0 else 1.0
    yield "nmi", replace(outcome, value=outcome.value / scale, upper_bound=outcome.upper_bound / scale)


def result_row(
    instance: str, mechanism: str, epsilon: float, metric: str, outcome: Outcome
) -> dict[str, Any]:
    """Return the outcome as a row of `ldpfrontier.tables.RESULTS`."""
    return {
        "paper": PAPER,
        "experiment": "fig2",
        "instance": instance,
        "mechanism": mechanism,
        "epsilon": float(epsilon),
        "metric": metric,
        **vars(outcome),
        "gap": relative_gap(outcome.value, outcome.upper_bound),
        "privacy_limit": math.nan if outcome.status == SKIPPED else float(epsilon),
    }


def orderings(table: pd.DataFrame) -> pd.DataFrame:
    """Rank the mechanisms of Figure 2 by NMI at every epsilon, beside what section 8.1 says of them.

    Parameters
    ----------
    table : DataFrame
        As `adult_sweep` returns it, of any number of instances.

    Returns
    -------
    DataFrame
        One row per (instance, epsilon): `order`, best mechanism first, and whether the paper's statements
        hold there: `polyopt_leads` (above IR and SRR), `ir_above_srr`, `nr_leads` (not below any robust
        mechanism), `grr_last`. Missing where a mechanism was skipped or not asked for.
    """
    wide = _by_mechanism(table, "value")
    wide = wide.reindex(columns=sorted({*MECHANISMS, *wide.columns}))
    robust = wide[["polyopt", "polyopt_distinct", "ir", "srr"]].max(axis=1)
    statements = {
        "polyopt_leads": (wide["polyopt"], wide[["ir", "srr"]].max(axis=1)),
        "ir_above_srr": (wide["ir"], wide["srr"]),
        "nr_leads": (wide["nr"], robust - _ROUNDING),
        "grr_last": (wide[["ir", "srr"]].min(axis=1), wide["grr"]),
    }
    ranks = pd.DataFrame({"order": wide.apply(_ranking, axis=1)})
    for name, (more, less) in statements.items():
        holds = (more > less).astype("boolean")
        ranks[name] = holds.mask(more.isna() | less.isna())
    return ranks.reset_index()


def distinct_gain(table: pd.DataFrame) -> pd.DataFrame:
    """Compare PolyOpt over distinct pairs with PolyOpt as published, by their certificates.

    Parameters
    ----------
    table : DataFrame
        As `adult_sweep` returns it, of any number of instances.

    Returns
    -------
    DataFrame
        One row per (instance, epsilon) that has both: the NMI of `polyopt`, `polyopt_distinct` and `nr`; the
        relative `gain` of the two mechanisms, and between what limits their bounds put that of the optima
        (`at_least`, `at_most`); `closed`, the share of the distance from `polyopt` to `nr` that is closed;
        `privacy`, the level of `polyopt_distinct` over F.
    """
    value, bound, privacy = (
        _by_mechanism(table, column).reindex(columns=["polyopt", "polyopt_distinct", "nr"])
        for column in ("value", "upper_bound", "privacy")
    )
    published, distinct = value["polyopt"], value["polyopt_distinct"]
    distance = value["nr"] - published
    gain = value.assign(
        gain=distinct / published - 1.0,
        at_least=distinct / bound["polyopt"] - 1.0,
        at_most=bound["polyopt_distinct"] / published - 1.0,
        closed=((distinct - published) / distance).where(distance > _ROUNDING),
        privacy=privacy["polyopt_distinct"],
    )
    return gain.dropna(subset=["gain"]).rename_axis(columns=None).reset_index()


def _by_mechanism(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of the NMI rows, one row per (instance, epsilon) and one column per mechanism."""
    found = table[(table["metric"] == "nmi") & (table["status"] != SKIPPED)]
    return found.pivot_table(
        index=["instance", "epsilon"], columns="mechanism", values=column, aggfunc="first"
    )


def _ranking(values: pd.Series[float]) -> str:
    return " > ".join(map(str, values.dropna().sort_values(ascending=False, kind="stable").index))


# The worked example, as printed ---------------------------------------------------------------------------

_TRUTH = np.array([[0.1, 0.1], [0.2, 0.6]])
_COUNTS = np.array([[7, 10], [26, 57]])
_EPSILON = math.log(2)
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
_NOT_PRINTED = "the paper does not use this class"


def worked_example() -> pd.DataFrame:
    """Compute every number that Examples 1 to 5 print, beside the printed one.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.EXAMPLES`; ``agrees`` compares at the printed digits, and a row that differs
        has the reason in ``note``.
    """
    ball = RenyiBall.confidence(_COUNTS, beta=0.05)
    rows: list[dict[str, Any]] = []
    for example, quantities in enumerate(
        (_example_1, _example_2, _example_3, _example_4, _example_5), start=1
    ):
        for position, (quantity, computed, printed, digits, note) in enumerate(quantities(ball)):
            agrees = printed is not None and abs(computed - printed) <= 0.5 * 10.0**-digits + 1e-9
            rows.append(
                {
                    "example": example,
                    "order": position,
                    "quantity": quantity,
                    "computed": float(computed),
                    "printed": math.nan if printed is None else float(printed),
                    "digits": digits,
                    "agrees": agrees,
                    "note": "" if agrees else note,
                }
            )
    return EXAMPLES.conform(pd.DataFrame(rows))


_Quantity = tuple[str, float, float | None, int, str]


def _each(
    names: Sequence[str], computed: Any, printed: Any, digits: int = 4, note: str = ""
) -> list[_Quantity]:
    values = zip(names, np.ravel(computed), np.ravel(printed), strict=True)
    return [(name, float(c), float(p), digits, note) for name, c, p in values]


def _example_1(ball: RenyiBall) -> Iterator[_Quantity]:
    yield from _each([f"P-hat({cell})" for cell in _CELLS], ball.centre, [0.07, 0.10, 0.26, 0.57], 2)
    yield "B", ball.radius, 0.0752, 4, ""
    yield "D_2(P-hat || P*)", renyi_divergence(ball.centre, _TRUTH, 2.0), 0.0281, 4, ""


def _example_2(ball: RenyiBall) -> Iterator[_Quantity]:
    conditional = ["u1|s1", "u2|s1", "u1|s2", "u2|s2"]
    yield from _each(["P-hat(s1)", "P-hat(s2)"], ball.sensitive, [0.17, 0.83], 2)
    yield from _each(
        [f"P-hat({name})" for name in conditional], ball.conditionals, [0.4118, 0.5882, 0.3133, 0.6867]
    )
    yield from _each(["B_s1", "B_s2"], ball.projected_radii, [0.3782, 0.0900], 4, _RADII)
    L = ball.lower_bounds
    yield from _each(
        [f"L({name})" for name in conditional], L, [0.1620, 0.2829, 0.1923, 0.5337], 4, _FROM_RADII
    )
    yield from _each(
        [f"largest P({name}) over F" for name in conditional],
        1.0 - L[:, ::-1],
        [0.7171, 0.8380, 0.4663, 0.8077],
        4,
        _FROM_RADII,
    )
    yield from _each(["rad_s1", "rad_s2"], ball.radii, [0.6107, 0.3061], 4, _FROM_RADII)


def _example_3(ball: RenyiBall) -> Iterator[_Quantity]:
    vertices = robust_rays(ball.lower_bounds, _EPSILON, "all")
    vertices = vertices / vertices.sum(axis=1, keepdims=True)
    optimum = optimal_robust(ball, _EPSILON, pairs="all")
    columns = optimum.channel.matrix.T
    p = ball.centre.ravel()
    yield "inequalities", ball.centre.size**2 + ball.centre.size, 20, 0, ""
    yield "vertices", len(vertices), 16, 0, ""
    for i, row in enumerate(_VERTICES, start=1):
        printed, mu, theta = row[:4], row[4], row[5]
        v = _nearest(vertices, printed)
        yield from _each([f"V[{i}]({cell})" for cell in _CELLS], v, printed)
        positive = v > 0
        yield f"mu[{i}]", float((p * v)[positive] @ np.log(v[positive] / (p @ v))), mu, 4, ""
        used = np.abs(columns / columns.sum(axis=1, keepdims=True) - v).max(axis=1) < 1e-6
        yield f"theta[{i}]", float(columns[used].sum()), theta, 4, ""
    for i, printed in enumerate(_POLYOPT, start=1):
        yield from _each([f"PolyOpt(y{i}|{cell})" for cell in _CELLS], _nearest(columns, printed), printed)
    yield "I_P-hat of PolyOpt", mutual_information(ball.centre, optimum.channel), 0.4228, 4, ""
    printed_channel = Channel(_POLYOPT.T / _POLYOPT.sum(axis=0)[:, None])
    own = mutual_information(_TRUTH, printed_channel)
    note = f"the printed PolyOpt matrix itself has {own:.4f}, as computed"
    yield "I_P* of PolyOpt", mutual_information(_TRUTH, optimum.channel), 0.2804, 4, note
    distinct = optimal_robust(ball, _EPSILON, pairs="distinct").channel
    yield (
        "I_P-hat of PolyOpt, distinct pairs",
        mutual_information(ball.centre, distinct),
        None,
        4,
        _NOT_PRINTED,
    )
    yield "I_P* of PolyOpt, distinct pairs", mutual_information(_TRUTH, distinct), None, 4, _NOT_PRINTED


def _nearest(rows: FloatArray, target: FloatArray) -> FloatArray:
    return np.asarray(rows[np.abs(rows - target).max(axis=1).argmin()])


def _example_4(ball: RenyiBall) -> Iterator[_Quantity]:
    grr, srr = randomized_response(4, _EPSILON), secret_randomized_response(2, 2, _EPSILON)
    yield from _each(["GRR(x|x)", "GRR(y|x)"], grr.matrix[0, :2], [0.4, 0.2], 1)
    yield from _each(
        ["SRR(s,u|s,u)", "SRR(s,u'|s,u)", "SRR(s',u'|s,u)"], srr.matrix[0, :3], [0.444, 0.111, 0.222], 3
    )
    for name, channel, estimated, true in (("GRR", grr, 0.0419, 0.0412), ("SRR", srr, 0.1005, 0.0942)):
        yield f"I_P-hat of {name}", mutual_information(ball.centre, channel), estimated, 4, ""
        yield f"I_P* of {name}", mutual_information(_TRUTH, channel), true, 4, ""


def _example_5(ball: RenyiBall) -> Iterator[_Quantity]:
    report = independent_reporting(ball, _EPSILON)
    note = "the expression repeats Example 2, but the printed d = 1.4591 is that of the computed radii"
    yield from _each(["rad_s1 in d", "rad_s2 in d"], ball.radii, [0.6107, 0.3061], 4, note)
    yield "d", report.distance, 1.4591, 4, ""
    yield "2/d", 2.0 / report.distance, 1.3707, 4, ""
    yield "2/d - 1", 2.0 / report.distance - 1.0, 0.3707, 4, ""
    yield "2 - 2/d", 2.0 - 2.0 / report.distance, 0.6293, 4, ""
    yield "optimal epsilon_2 / log 2", report.epsilon_2 / _EPSILON, 1, 4, ""
    Q = report.channel.matrix
    names = [f"IR({y}|{x})" for x in _CELLS for y in _CELLS]
    yield from _each(names, Q, np.tile([[0.3517, 0.1483], [0.1483, 0.3517]], (2, 2)))
    yield "I_P-hat of IR", mutual_information(ball.centre, report.channel), 0.0755, 4, ""
    yield "I_P* of IR", mutual_information(_TRUTH, report.channel), 0.0718, 4, ""


def example_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the worked example as texts to read, with one more digit than the paper prints.

    Parameters
    ----------
    table : DataFrame
        As `worked_example` returns it.

    Returns
    -------
    DataFrame of str
    """
    agrees = np.where(table["printed"].isna(), "", np.where(table["agrees"], "yes", "no"))
    return pd.DataFrame(
        {
            "example": table["example"].astype("str"),
            "quantity": table["quantity"].str.replace("|", r"\|"),
            "computed": [f"{x:.{d + 1}f}" for x, d in zip(table["computed"], table["digits"], strict=True)],
            "printed": [
                "-" if math.isnan(x) else f"{x:.{d}f}"
                for x, d in zip(table["printed"], table["digits"], strict=True)
            ],
            "agrees": agrees,
            "note": table["note"],
        }
    )
