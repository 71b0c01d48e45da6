"""What attackers believe about one person before and after they see one report of this person.

An attacker knows the distribution of (S, U), and maybe something about the person's U. By Bayes' theorem, a
report multiplies the odds of a sensitive value by the ratio of its probabilities with this value and without.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from beyond.attack_tables import ATTACK, NOTHING, ONE_OF_TWO, PROXY, USEFUL
from beyond.several_reports import channels_by_mechanism
from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.channel import Channel
from ldpfrontier.uncertainty.odds_ratios import OddsRatios
from ldpfrontier.uncertainty.renyi_ball import RenyiBall

_log = logging.getLogger(__name__)


# More than eight parameters: they are the keys of the configuration that reach a job by name.
def attack(
    counts: pd.DataFrame,
    proxies: pd.DataFrame,
    *,
    instance: str,
    names: Sequence[str],
    value: str,
    epsilon: float,
    beta: float = 0.05,
    order: float = 2.0,
    tolerance: float = 1e-7,
    max_rounds: int = 300,
) -> pd.DataFrame:
    """Compute the chance of a sensitive value before and after every report, by mechanism and knowledge.

    The mechanisms are PolyOpt and the optima of promises. An attacker who knows another attribute of the
    person, such as the sex, takes it for a sign of U alone: given U, it is independent of S. Rows of `counts`
    are values of S, rows of `proxies` those of U, and columns those of U and of the other attribute; `names`
    are the names of these two. Other arguments are as of `optima.mechanisms`.

    Knowledge that decides the value without a report has no row, and neither has a report that such people
    never give, nor a mechanism that is out of reach for the size.
    """
    if value not in counts.index:
        raise ValueError(f"The sensitive value is {value!r}; allowed is one of {', '.join(counts.index)}.")
    if set(proxies.index) != set(counts.columns):
        raise ValueError(
            f"The values of {names[0]} are {', '.join(proxies.index)} beside {names[1]}; "
            f"allowed are {', '.join(counts.columns)}."
        )
    ball = RenyiBall.confidence(counts.to_numpy(), beta=beta, order=order)
    mechanisms = channels_by_mechanism(
        ball, epsilon, ["polyopt", "exact"], {"set": OddsRatios.over(ball)}, tolerance, max_rounds
    )
    row = list(counts.index).index(value)
    parts = []
    for mechanism, channel in mechanisms.items():
        for knows, words, weights in knowledge(list(counts.columns), proxies, names):
            known = ball.centre * weights
            if 0.0 < known[row].sum() < known.sum():
                part = odds_after_reports(channel, known, row)
                parts.append(
                    part.assign(mechanism=mechanism, knows=knows, knowledge=words, people=float(known.sum()))
                )
        _log.info("%s, epsilon %g: what reports of %s tell attackers", instance, epsilon, mechanism)
    rows = pd.concat(parts, ignore_index=True)
    return ATTACK.conform(
        rows.assign(
            size=" x ".join(map(str, counts.shape)), instance=instance, beta=beta, order=order,
            epsilon=epsilon, value=value,
        )
    )  # fmt: skip


def knowledge(
    values: list[str], proxies: pd.DataFrame, names: Sequence[str]
) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield what an attacker may know: its kind, in words, and its probability given each value of U."""
    useful, other = names
    ones = np.eye(len(values))
    yield NOTHING, "nothing", np.ones(len(values))
    for one, two in combinations(range(len(values)), 2):
        yield ONE_OF_TWO, f"{useful} is {values[one]} or {values[two]}", ones[one] + ones[two]
    shares = proxies.loc[values].to_numpy(dtype=float)
    shares = shares / shares.sum(axis=1, keepdims=True)
    for column, label in enumerate(proxies.columns):
        yield PROXY, f"{other} is {label}", shares[:, column]
    for place, label in enumerate(values):
        yield USEFUL, f"{useful} is {label}", ones[place]


def odds_after_reports(channel: Channel, known: FloatArray, row: int) -> pd.DataFrame:
    """Return the chance of a sensitive value before and after every report that an attacker may see.

    `known`, shape (a1, a2), is what the attacker takes for the probabilities of (S, U), up to a factor, and
    `row` is that of the sensitive value. Neither this value nor all others together have the probability 0.
    """
    prior = known / known.sum()
    joint = np.einsum("su,suy->sy", prior, channel.matrix.reshape(*known.shape, -1))
    probability = joint.sum(axis=0)
    seen = np.flatnonzero(probability > 0.0)
    of_value, before = joint[row, seen], float(prior[row].sum())
    of_others = np.delete(joint, row, axis=0).sum(axis=0)[seen]
    with np.errstate(divide="ignore"):
        change = np.log(of_value) - np.log(of_others) - np.log(before) + np.log1p(-before)
    return pd.DataFrame(
        {
            "report": seen,
            "probability": probability[seen],
            "before": before,
            "after": of_value / probability[seen],
            "change": change,
        }
    )
