"""Audits of the privacy of a channel, from its stored matrix and from samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, chdtrc, xlogy

from ldpfrontier import rldp_epsilon
from ldpfrontier.base.types import FloatArray, IntArray
from ldpsurvey.base.sampling import Sampler
from ldpsurvey.base.settings import SETTINGS
from ldpsurvey.base.tabular import Tabular, frame_of
from ldpsurvey.channel.attackers import WITHOUT_TABLE, Levels
from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.proof import certified
from ldpsurvey.channel.reports import REPORT, Codes, decoder, report_chunks
from ldpsurvey.data.groups import translations_for
from ldpsurvey.data.reading import labels_of
from ldpsurvey.estimate.distribution import check_confidence

if TYPE_CHECKING:
    import pandas as pd

#: Samples drawn at a time, which are held in memory.
BATCH = 1 << 17


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Tabular):
    """The result of an audit of a channel.

    Attributes
    ----------
    stated : float
        The level in the certificate for the attackers that the channel protects from, in nats.
    level : float
        The same level of the stored matrix, in nats.
    levels : Levels
        All levels of the stored matrix, in nats.
    samples : int
        The number of samples; 0 if there are none.
    lower : float
        With probability `confidence` the level of the sampled reports, for the attackers that the channel
        protects from, is at least this, in nats.
    confidence : float
    fit : float
        Probability of samples as far from the stored channel as these, if they come from it (chi-squared);
        NaN without samples.
    problems : tuple of str
        One sentence for every promise that does not hold.
    proved : str
        What `ldpfrontier.verify` proves about the promised levels, in exact arithmetic; may be empty.
    """

    stated: float
    level: float
    levels: Levels
    samples: int
    lower: float
    confidence: float
    fit: float
    problems: tuple[str, ...]
    proved: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the levels, nats, of the stored matrix for each attacker."""
        return frame_of({"against": name, "level": level} for name, level in asdict(self.levels).items())

    def _about(self) -> str:
        kept = self.problems[0] if self.problems else "every promise holds"
        return f"level {self.level:.6g}, {self.stated:.6g} stated; {kept}"


def audit_channel(
    private: PrivateChannel,
    *,
    samples: int = 0,
    pairs: ArrayLike | None = None,
    confidence: float = 0.95,
    sampler: Sampler | None = None,
) -> Audit:
    """Compute the level of the stored matrix, and a lower bound for the level of samples.

    Parameters
    ----------
    private : PrivateChannel
    samples : int
        The number of records to privatize, with the same number for each sensitive value. They come from a
        distribution in F under which the channel reveals much about it; if the channel protects from
        acquaintances, from one given that the useful value is one of two. If it protects from
        acquaintances, the second half is drawn with uniform useful values instead, and all of them are if it
        protects from anyone or from insiders only.
    pairs : array_like of int, shape (inputs, outputs), optional
        How often each input got each output, as `count_pairs` returns it, instead of samples.
    confidence : float
        The confidence level of the lower bound, in (0, 1).
    sampler : Sampler, optional
        The sampler; by default it is that of the stored matrix.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        If the samples are negative or do not fit, or both kinds are given.
    """
    confidence = check_confidence(confidence)
    if samples < 0 or (samples and pairs is not None):
        raise ValueError(
            f"The number of samples is {samples}; it must be 0 or more, and 0 if pairs are given."
        )
    against, claimed, levels = private.certificate.against, private.certificate.levels, private.levels()
    stated, level = claimed.against(against), levels.against(against)
    problems = []
    try:
        private.check_levels(levels)
    except ValueError as reason:
        problems.append(str(reason))
    if level > stated + 2 * SETTINGS.level_error and not problems:
        problems.append(f"The level of the matrix is {level:.6f}; its certificate states {stated:.6f}.")
    problems += [
        f"The level of the matrix for {name} is {found:.6f}; its certificate states {said:.6f}."
        for (name, found), said in zip(asdict(levels).items(), asdict(claimed).values(), strict=True)
        if found > said + 2 * SETTINGS.level_error and not problems
    ]
    lower, fit, seen = 0.0, math.nan, 0
    if samples or pairs is not None:
        of_set, of_inputs = (
            _drawn(private, samples, sampler or Sampler(private.weights))
            if pairs is None
            else [_checked_pairs(private, pairs)] * 2
        )
        counts = of_set + of_inputs if pairs is None else of_set
        seen = int(counts.sum())
        # As it is printed, which is not above it.
        lower = math.floor(1e6 * _level_seen(private, of_set, of_inputs, confidence)) / 1e6
        fit = goodness(private.channel.matrix, counts)
        if lower > stated:
            outside = "" if pairs is None else _outside(private, counts)
            problems.append(
                f"With confidence {confidence:g}, the level of the samples is at least {lower:.6f};"
                f" the certificate states {stated:.6f}{outside}."
            )
        if fit < SETTINGS.unlikely:
            problems.append(
                "The samples do not come from the stored matrix: for samples of this matrix, such a"
                f" deviation has the probability {fit:.1e}."
            )
    proved = "; ".join(certified(private)[1])
    return Audit(stated, level, levels, seen, lower, confidence, fit, tuple(problems), proved)


def _checked_pairs(private: PrivateChannel, pairs: ArrayLike) -> IntArray:
    """Return how often each input got each output; refuse what does not fit the channel."""
    numbers = np.array(pairs, dtype=np.float64)
    whole = bool((numbers >= 0).all() and (numbers == np.rint(numbers)).all() and numbers.any())
    if numbers.shape != private.weights.shape or not whole:
        raise ValueError(
            f"The pairs have shape {numbers.shape}; they must be {private.weights.shape}, whole numbers,"
            " 0 or more, and not all 0."
        )
    return numbers.astype(np.int64)


def _level_seen(private: PrivateChannel, of_set: IntArray, of_inputs: IntArray, confidence: float) -> float:
    """Bound the level of samples, (inputs, outputs) each, from below, for those who are protected from.

    Of samples of a distribution of F, or of one for acquaintances, values of s are compared, and of the
    others values of (s, u).
    """
    a1, a2 = private.table.counts.shape
    s, u = np.divmod(np.arange(a1 * a2), a2)
    against = private.certificate.against
    if against == "anyone":
        return level_from_below(of_inputs, confidence, s[:, None] != s)
    same = (s[:, None] != s) & (u[:, None] == u)
    if against == "insider-only":
        return level_from_below(of_inputs, confidence, same)
    groups = of_set.reshape(a1, a2, -1).sum(axis=1)
    if against == "outsider":
        return level_from_below(groups, confidence)
    each = 0.5 + confidence / 2.0
    return max(level_from_below(groups, each), level_from_below(of_inputs, each, same))


def level_from_below(counts: IntArray, confidence: float, compared: NDArray[np.bool_] | None = None) -> float:
    """Bound the level, in nats, of what was sampled from below: right with the probability `confidence`.

    Clopper-Pearson limits of the probability of every output in every group, of counts (groups, outputs),
    hold together, as the error is shared evenly (Bonferroni); the bound is the largest log ratio of a lower
    limit to an upper limit of the same output in another group. `compared`, (groups, groups), says which
    groups are compared; by default all.
    """
    there = counts.sum(axis=1) > 0
    apart = ~np.eye(len(counts), dtype=bool) if compared is None else compared
    counts, apart = counts[there], apart[np.ix_(there, there)]
    totals = counts.sum(axis=1, keepdims=True)
    error = (1.0 - confidence) / (2.0 * counts.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), totals - counts + 1, error), 0.0)
        high = np.where(
            counts < totals, betaincinv(counts + 1, np.maximum(totals - counts, 1), 1.0 - error), 1.0
        )
        ratios = np.log(low)[:, None] - np.log(high)[None]
    return max(float(ratios[apart].max(initial=0.0)), 0.0)


def goodness(matrix: FloatArray, counts: IntArray) -> float:
    """Return how likely counts as far from a channel are, if they come from it; both are (inputs, outputs).

    The larger of the probabilities by Pearson's chi-squared and by the likelihood ratio over all inputs:
    where few reports are expected, the former is too small with one such output, the latter with many. In
    each row outputs of which fewer than 5 are expected count as one; an impossible one makes the answer 0.
    """
    if ((matrix == 0) & (counts > 0)).any():
        return 0.0
    pearson, likelihood, freedom = 0.0, 0.0, 0
    for expected, found in zip(matrix * counts.sum(axis=1, keepdims=True), counts, strict=True):
        rare = expected < 5.0
        cells = np.append(expected[~rare], expected[rare].sum())
        seen = np.append(found[~rare], found[rare].sum())
        if cells[-1] < 5.0 and len(cells) > 1:  # too few still: to the smallest of the others
            place = int(cells[:-1].argmin())
            cells[place] += cells[-1]
            seen[place] += seen[-1]
            cells, seen = cells[:-1], seen[:-1]
        if len(cells) > 1:
            pearson += float(((seen - cells) ** 2 / cells).sum())
            likelihood += 2.0 * float(xlogy(seen, seen / cells).sum())
            freedom += len(cells) - 1
    return float(chdtrc(freedom, max(min(pearson, likelihood), 0.0))) if freedom else 1.0


def count_pairs(
    private: PrivateChannel,
    path: Path | str,
    *,
    column: str = REPORT,
    missing: str | Sequence[str] | None = None,
    missing_codes: Sequence[str] = (),
    decimal: str = ".",
) -> IntArray:
    """Count the pairs of a record and its report in a file that contains both.

    Returns
    -------
    ndarray of int, shape (inputs, outputs)

    Raises
    ------
    ValueError
        If the file is not a table, lacks a column, has no records, an unknown value, or a report of another
        channel.
    """
    attributes = private.table.attributes
    inputs = Codes(path, attributes, private.table.labels)
    counts = np.zeros(private.weights.shape, dtype=np.int64)
    table = private.table
    made = translations_for(path, table.values, missing, missing_codes, decimal, table.missing)
    decode = decoder(private, path, column)
    for chunk, y in report_chunks(path, private.id, decode, column, attributes):
        x = inputs(labels_of(chunk, attributes, made), chunk.index.tolist())
        np.add.at(counts, (x, y), 1)
    return counts


def _drawn(private: PrivateChannel, samples: int, sampler: Sampler) -> tuple[IntArray, IntArray]:
    """Privatize records as `audit_channel` says: by what tells much about S, and by uniform values of U."""
    a1, a2 = private.table.counts.shape
    rng = np.random.default_rng()
    share = {"outsider": 1.0, **dict.fromkeys(WITHOUT_TABLE, 0.0)}.get(private.certificate.against, 0.5)
    telling, even = _telling(private, rng), np.full((a1, a2), 1.0 / a2)
    found = []
    for conditionals, part in ((telling, round(share * samples)), (even, samples - round(share * samples))):
        counts = np.zeros(private.weights.shape, dtype=np.int64)
        for begin in range(0, part, BATCH):
            groups = np.arange(begin, min(begin + BATCH, part)) % a1
            x = np.empty(groups.size, dtype=np.int64)
            for s in range(a1):
                members = groups == s
                x[members] = s * a2 + rng.choice(a2, size=int(members.sum()), p=conditionals[s])
            np.add.at(counts, (x, sampler.draw(x)), 1)
        found.append(counts)
    return found[0], found[1]


def _outside(private: PrivateChannel, counts: IntArray) -> str:
    """Say if records are of a distribution under which the stored matrix itself tells more than is stated."""
    if private.certificate.against in WITHOUT_TABLE:
        return ""
    table = counts.sum(axis=1).reshape(private.table.counts.shape)
    groups = table.sum(axis=1, keepdims=True)
    conditionals = np.divide(table, groups, out=np.zeros(table.shape), where=groups > 0)
    outside = float(rldp_epsilon(private.channel, conditionals)) > private.certificate.level
    if not outside:
        return ""
    if private.certificate.against == "acquaintance":
        return "; these records have odds ratios outside the intervals"
    return "; the distribution of these records is outside F"


def _telling(private: PrivateChannel, rng: np.random.Generator) -> FloatArray:
    """Return conditionals under which the channel tells much, shape (a1, a2).

    They are of a distribution of F or, if the channel protects from acquaintances, of the estimate for one of
    these.
    """
    population, (a1, a2) = private.certificate.population, private.table.counts.shape
    if population is None:
        return np.full((a1, a2), 1.0 / a2)
    ball = population.ball(private.table)
    if private.certificate.against == "acquaintance":
        known = _known_of_two(a2, rng)
        joint, otherwise = ball.centre * known, known / known.sum(axis=2, keepdims=True)
    else:
        joint = np.concatenate([ball.centre[None], ball.sample(rng, SETTINGS.audited_distributions)])
        otherwise = np.full((1, 1, a2), 1.0 / a2)
    weight = joint.sum(axis=2, keepdims=True)
    otherwise = np.broadcast_to(otherwise, joint.shape).copy()
    conditionals = np.divide(joint, weight, out=otherwise, where=weight > 0)
    levels = rldp_epsilon(private.channel, conditionals)
    return np.asarray(conditionals[int(levels.argmax())])


def _known_of_two(a2: int, rng: np.random.Generator) -> FloatArray:
    """Return random weights P(z | u) of two useful values, all others 0, shape (distributions, 1, a2)."""
    number = SETTINGS.audited_distributions
    two = rng.random((number, a2)).argsort(axis=1)[:, :2]
    known = np.zeros((number, 1, a2))
    np.put_along_axis(known[:, 0], two, np.exp(rng.uniform(-SETTINGS.audited_odds, 0.0, two.shape)), axis=1)
    return known
