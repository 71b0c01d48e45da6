"""The synthetic study of lopuhaa2024 (sections 8.2 to 8.5): Figures 3 to 5, Table 2, and what lies beyond.

A table of results holds any number of sizes, instances and settings. The experiment is named by the setting
(`experiment_name`), the instance by size and number (`instance_name`), so that parts computed apart can be
put together; the summaries take such a table and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import SeriesGroupBy

from ldpfrontier.channel import Channel, FloatArray
from ldpfrontier.information import entropy, mutual_information
from ldpfrontier.optimal.nonrobust import optimal_nonrobust
from ldpfrontier.papers.lopuhaa2024 import experiments as published
from ldpfrontier.papers.lopuhaa2024.experiments import MECHANISMS, Outcome, evaluate, metrics, result_row
from ldpfrontier.priors import generator
from ldpfrontier.privacy import rldp_epsilon
from ldpfrontier.renyi_ball import RenyiBall
from ldpfrontier.tables import MEASURED, PRIVACY_TOLERANCE, RESULTS, SKIPPED, TableError

#: Metrics measured with P*, beside the certified ``mutual_information`` and ``nmi``.
REALISED, DIFFERENCE = "realized_epsilon", "utility_difference"

#: What the note of a realized level says of P*.
COVERED, MISSED = "P* lies in F", "P* lies outside F"

_SETTING = re.compile(r"synthetic \(beta (?P<beta>\S+), order (?P<order>\S+)\)")
_ROUNDING = 1e-12


def experiment_name(beta: float, order: float) -> str:
    """Name a setting, as in ``"synthetic (beta 0.05, order 2)"``."""
    return f"synthetic (beta {beta:g}, order {order:g})"


def instance_name(shape: tuple[int, int], instance: int) -> str:
    """Name an instance, as in ``"2 x 5, 007"``: what comes before the comma is the size."""
    return f"{shape[0]} x {shape[1]}, {instance:03d}"


def draw(
    shape: tuple[int, int], instance: int, *, records: int = 32561, concentration: float = 0.5, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw P* from a symmetric Dirichlet distribution, and a table of counts from P*.

    Parameters
    ----------
    shape : tuple of int
        (a1, a2).
    instance : int
        Its number. An instance depends on its shape, its number and the seed, and on no other instance.
    records : int
        How many records are drawn.
    concentration : float
        Parameter of the Dirichlet distribution; 1/2 is the Jeffreys prior of the paper.
    seed : int
        Root of the random streams.

    Returns
    -------
    truth, counts : ndarray, shape (a1, a2)

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    cells = math.prod(shape)
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"The shape is {shape}; it must be two numbers, 1 or more.")
    if records < 1:
        raise ValueError(f"The number of records is {records}; at least one is needed.")
    if not (math.isfinite(concentration) and concentration > 0):
        raise ValueError(f"The concentration is {concentration}; it must be a positive number.")
    rng = generator(seed, f"lopuhaa2024 {shape[0]} x {shape[1]}", cells, instance)
    truth = rng.dirichlet(np.full(cells, concentration))
    counts = rng.multinomial(records, truth)
    return truth.reshape(shape), counts.reshape(shape).astype(np.float64)


def synthetic_sweep(
    shape: tuple[int, int],
    instances: Iterable[int],
    epsilons: Sequence[float],
    *,
    records: int = 32561,
    concentration: float = 0.5,
    beta: float = 0.05,
    order: float = 2.0,
    mechanisms: Sequence[str] = MECHANISMS,
    tolerance: float = 1e-6,
    max_rounds: int = 300,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compute the mechanisms on random instances with a known truth (lopuhaa2024, section 8.2), certified.

    Metrics of every mechanism: ``mutual_information`` and ``nmi`` as in `lopuhaa2024.adult_sweep`;
    ``realized_epsilon``, eps* under P* (section 8.3), inf where some output is impossible for one sensitive
    value only, its note saying whether F contains P*; ``utility_difference``, (I under P-hat - I under P*) /
    I under P-hat (section 8.4). The last two are measured.

    Parameters
    ----------
    shape : tuple of int
        (a1, a2).
    instances : iterable of int
        Numbers of the instances; results do not depend on which others are computed along.
    epsilons : sequence of float
        Privacy levels in nats.
    records, concentration, seed
        As in `draw`.
    beta, order : float
        Significance level and Renyi order of the uncertainty set F.
    mechanisms : sequence of str
        Members of `MECHANISMS`. ``ir_tight`` is ``ir`` with the smaller d, ``ir_optimal`` is
        `optimal_reporting`.
    tolerance, max_rounds
        As in `optimal_robust`.
    progress : callable, optional
        Told one line per instance.

    Returns
    -------
    DataFrame
        As `ldpfrontier.tables.RESULTS`.

    Raises
    ------
    TableError
        If a certificate fails, or F contains P* and a robust mechanism leaks more than epsilon under P*.
    ValueError
        If an argument is out of range or a mechanism unknown.
    """
    if unknown := [name for name in mechanisms if name not in MECHANISMS]:
        raise ValueError(f"The mechanism is {unknown[0]!r}; allowed are {', '.join(MECHANISMS)}.")
    rows: list[dict[str, Any]] = []
    for instance in instances:
        truth, counts = draw(shape, instance, records=records, concentration=concentration, seed=seed)
        ball = RenyiBall.confidence(counts, beta=beta, order=order)
        name, h = instance_name(shape, instance), entropy(ball.centre)
        for epsilon in epsilons:
            nonrobust = optimal_nonrobust(ball.centre, epsilon)
            published: Channel | None = None
            for mechanism in mechanisms:
                try:
                    channel, outcome = evaluate(
                        mechanism, ball, epsilon, nonrobust, tolerance, max_rounds, published
                    )
                except (ArithmeticError, RuntimeError) as error:
                    error.add_note(f"In {name} with seed {seed}: {mechanism} at epsilon {epsilon:g}.")
                    raise
                published = channel if mechanism == "polyopt" else published
                found = [*metrics(outcome, h)]
                if channel is not None:
                    found += _realized(mechanism, channel, outcome, ball, truth, epsilon, name)
                rows += [result_row(name, mechanism, epsilon, metric, result) for metric, result in found]
        if progress:
            progress(f"{name}: {len(mechanisms)} mechanisms at {len(epsilons)} levels")
    table = pd.DataFrame(rows, columns=list(RESULTS.columns))
    return RESULTS.conform(table.assign(experiment=experiment_name(beta, order)))


def _realized(
    mechanism: str,
    channel: Channel,
    outcome: Outcome,
    ball: RenyiBall,
    truth: FloatArray,
    epsilon: float,
    name: str,
) -> Iterator[tuple[str, Outcome]]:
    weight = truth.sum(axis=1, keepdims=True)
    conditionals = np.divide(truth, weight, out=np.zeros_like(truth), where=weight > 0)
    leak = float(rldp_epsilon(channel, conditionals))
    covered = bool(ball.contains(truth, tol=0.0))
    if covered and mechanism != "nr" and leak > epsilon + PRIVACY_TOLERANCE:
        raise TableError(
            f"{mechanism} leaks {leak} under P* in {name}, which F contains; its limit is {epsilon}."
        )
    measured = replace(outcome, status=MEASURED, upper_bound=math.nan)
    yield REALISED, replace(measured, value=leak, note=COVERED if covered else MISSED)
    true = mutual_information(truth, channel)
    lost = outcome.value - true
    relative = lost / outcome.value if outcome.value > 0 else 0.0 if lost == 0 else -math.inf
    yield DIFFERENCE, replace(measured, value=relative)


# Summaries ------------------------------------------------------------------------------------------------

_BY_SETTING = ["beta", "order", "size", "mechanism", "epsilon"]


def _rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Select a metric without skipped rows; add the columns beta, order and size, read from the names."""
    rows = table[(table["metric"] == metric) & (table["status"] != SKIPPED)]
    settings = rows["experiment"].str.fullmatch(_SETTING)
    if not settings.all():
        name = rows["experiment"][~settings].iloc[0]
        raise ValueError(f'The experiment is {name!r}; the summaries take "{experiment_name(0.05, 2)}" only.')
    parts = rows["experiment"].str.extract(_SETTING).astype(float)
    size = rows["instance"].str.rpartition(", ")[0]
    return rows.assign(beta=parts["beta"], order=parts["order"], size=size)


def quantile(values: Iterable[float], q: float) -> float:
    """Return the linearly interpolated quantile of numbers some of which may be inf."""
    ordered = np.sort(np.asarray(list(values), dtype=np.float64))
    place = q * (ordered.size - 1)
    below, weight = ordered[math.floor(place)], place - math.floor(place)
    above = ordered[math.ceil(place)]
    # inf - inf is not a number, and 0 inf is not either.
    return float(below if weight == 0 or below == above else below + weight * (above - below))


def _quantiles(values: SeriesGroupBy[Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: values.agg(partial(quantile, q=q))
            for name, q in {"low": 0.25, "median": 0.5, "high": 0.75}.items()
        }
    )


def nmi_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Average the normalized mutual information over the instances (lopuhaa2024, Figure 3).

    Returns
    -------
    DataFrame
        One row per (beta, order, size, mechanism, epsilon): `instances`, `mean`, its `standard_error`, the
        quartiles `low`, `median`, `high`, and the mean `upper_bound`. A mechanism that was computed on fewer
        instances than another is averaged over these.
    """
    groups = _rows(table, "nmi").groupby(_BY_SETTING)
    value = groups["value"]
    frame = pd.DataFrame(
        {"instances": value.size(), "mean": value.mean(), "standard_error": value.sem().fillna(0.0)}
    )
    return frame.join(_quantiles(value)).assign(upper_bound=groups["upper_bound"].mean()).reset_index()


def mean_orderings(table: pd.DataFrame) -> pd.DataFrame:
    """Rank the mechanisms by their mean NMI (lopuhaa2024, section 8.2).

    Means are over the instances of a size that all its mechanisms were computed on.

    Returns
    -------
    DataFrame
        As `lopuhaa2024.orderings`, its `instance` being the size; several settings are not told apart.
    """
    rows = _rows(table, "nmi")
    counts = rows.groupby(["size", "instance"])["mechanism"].nunique()
    complete = counts[
        counts == rows.groupby("size")["mechanism"].nunique().reindex(counts.index, level="size")
    ]
    rows = rows[rows["instance"].isin(complete.index.get_level_values("instance"))]
    means = rows.groupby(["size", "mechanism", "epsilon"], as_index=False)["value"].mean()
    return published.orderings(means.assign(metric="nmi", status=MEASURED, instance=means["size"]))


def privacy_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Summarize the realized privacy parameter eps* (lopuhaa2024, Figure 4 and section 8.3).

    Returns
    -------
    DataFrame
        One row per (beta, order, size, mechanism, epsilon): `instances`, the quartiles `low`, `median`,
        `high` and the `largest` eps*; how many instances have `kept` eps* <= epsilon, how many have eps* =
        inf (`infinite`), how many have P* in F (`covered`), and the largest eps* among these
        (`largest_covered`, missing if there are none).
    """
    rows = _rows(table, REALISED)
    rows = rows.assign(
        kept=rows["value"] <= rows["epsilon"] + PRIVACY_TOLERANCE,
        infinite=np.isinf(rows["value"]),
        covered=rows["note"] == COVERED,
    )
    groups = rows.groupby(_BY_SETTING)
    frame = pd.DataFrame({"instances": groups["value"].size()}).join(_quantiles(groups["value"]))
    frame["largest"] = groups["value"].max()
    frame = frame.join(groups[["kept", "infinite", "covered"]].sum())
    inside = rows[rows["covered"]].groupby(_BY_SETTING)["value"]
    return frame.assign(largest_covered=inside.max()).reset_index()


def difference_summary(table: pd.DataFrame, epsilon: float = 1.5) -> pd.DataFrame:
    """Summarize the relative difference of utility under P-hat and under P* (lopuhaa2024, Figure 5).

    Returns
    -------
    DataFrame
        One row per (beta, order, size, mechanism): `instances`, `smallest`, the quartiles `low`, `median`,
        `high`, `largest`, the largest absolute value `extreme`, and the share that is `positive`.
    """
    rows = _rows(table, DIFFERENCE)
    rows = rows[np.isclose(rows["epsilon"], epsilon)]
    value = rows.assign(positive=rows["value"] > 0, absolute=rows["value"].abs()).groupby(_BY_SETTING)
    frame = pd.DataFrame({"instances": value["value"].size(), "smallest": value["value"].min()})
    frame = frame.join(_quantiles(value["value"]))
    frame["largest"], frame["extreme"] = value["value"].max(), value["absolute"].max()
    return frame.assign(positive=value["positive"].mean()).reset_index()


def beta_summary(table: pd.DataFrame, epsilon: float = 1.5) -> pd.DataFrame:
    """Average NMI by significance level (lopuhaa2024, Table 2 and section 8.5).

    Only instances that a mechanism was computed on at every beta count.

    Returns
    -------
    DataFrame
        One row per (size, mechanism, beta): `instances`, mean `nmi`, and `change`, relative to the largest
        beta of the table.
    """
    rows = _rows(table, "nmi")
    rows = rows[np.isclose(rows["epsilon"], epsilon)]
    by = ["size", "mechanism"]
    reached = rows.groupby([*by, "instance"])["beta"].transform("nunique")
    value = rows[reached == rows["beta"].nunique()].groupby([*by, "beta"])["value"]
    frame = pd.DataFrame({"instances": value.size(), "nmi": value.mean()}).reset_index()
    first = frame.sort_values("beta", ascending=False).groupby(by)["nmi"].transform("first")
    return frame.assign(change=frame["nmi"] / first.reindex(frame.index) - 1.0)


def beta_texts(summary: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Lay Table 2 out for print: a row per size and mechanism, a column per beta, NMI as text.

    Parameters
    ----------
    summary : DataFrame
        As `beta_summary` returns it.
    digits : int
        Printed decimals.
    """
    wide = summary.pivot_table(index=["size", "mechanism"], columns="beta", values="nmi")
    wide = wide[sorted(wide.columns, reverse=True)]
    largest = (wide.iloc[:, -1] / wide.iloc[:, 0] - 1.0).map(lambda x: f"{100 * x:+.2f}%")
    texts = wide.map(lambda x: "" if pd.isna(x) else f"{x:.{digits}f}")
    texts.columns = [f"beta = {beta:g}" for beta in wide.columns]
    texts["change"] = largest
    order = {name: place for place, name in enumerate(MECHANISMS)}
    texts = texts.reset_index().sort_values(
        ["size", "mechanism"],
        key=lambda column: column.map(order.get if column.name == "mechanism" else _small_first),
        ignore_index=True,
    )
    return texts.assign(mechanism=texts["mechanism"].map(lambda name: _LABELS.get(name, name)))


def latex(texts: pd.DataFrame) -> str:
    r"""Return a table of texts as a LaTeX tabular with booktabs rules; text columns first."""
    escaped = texts.map(lambda cell: cell.replace("%", r"\%").replace(" x ", r" $\times$ "))
    head = [re.sub(r"^beta\b", r"$\\beta$", str(name)) for name in texts.columns]
    lines = [" & ".join(row) + r" \\" for row in [head, *escaped.to_numpy().tolist()]]
    columns = "l" * 2 + "r" * (texts.shape[1] - 2)
    body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


_LABELS = {
    "polyopt": "PolyOpt",
    "polyopt_distinct": "PolyOpt, distinct pairs",
    "nr": "NR",
    "ir": "IR",
    "ir_tight": "IR, tight d",
    "ir_optimal": "IR, optimal parts",
    "srr": "SRR",
    "grr": "GRR",
}


def _small_first(size: str) -> tuple[int, str]:
    return math.prod(int(n) for n in size.split(" x ")), size


def gain_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Compare PolyOpt over distinct pairs with PolyOpt as published, instance by instance.

    Returns
    -------
    DataFrame
        One row per (beta, order, size, epsilon), over the instances that have both and NR: `instances`, the
        mean NMI of `polyopt`, `polyopt_distinct` and `nr`; `gain`, the relative gain of the means, with the
        quartiles `low`, `median`, `high` and the `largest` of the relative gains of the instances; `closed`,
        the share of the distance from published to NR that is closed, by the means; and `over_ir`, the mean
        over that of IR (missing without IR).
    """
    rows = _rows(table, "nmi")
    by = ["beta", "order", "size", "epsilon"]
    wide = rows.pivot_table(index=[*by, "instance"], columns="mechanism", values="value")
    wide = wide.reindex(columns=["polyopt", "polyopt_distinct", "nr", "ir"])
    wide = wide.dropna(subset=["polyopt", "polyopt_distinct", "nr"])
    gains = (wide["polyopt_distinct"] / wide["polyopt"] - 1.0).groupby(by)
    frame = wide.groupby(by).mean()
    frame.insert(0, "instances", gains.size())
    frame["gain"] = frame["polyopt_distinct"] / frame["polyopt"] - 1.0
    frame = frame.join(_quantiles(gains))
    frame["largest"] = gains.max()
    distance = frame["nr"] - frame["polyopt"]
    frame["closed"] = ((frame["polyopt_distinct"] - frame["polyopt"]) / distance).where(distance > _ROUNDING)
    return frame.assign(over_ir=frame["polyopt_distinct"] / frame["ir"]).drop(columns="ir").reset_index()
