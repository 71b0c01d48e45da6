"""Attackers who know exactly what a sentence about several reports says they know, and their best levels.

They use the matrix of a channel and the words that are printed, and none of the package's own levels: the
chances of all reports together are listed, given histories of a person's answers.
"""

import itertools
import math
import re
from dataclasses import dataclass

import numpy as np

#: A person's answers at every report: a place of the sensitive and one of the useful value each time.
History = list[tuple[int, int]]

SAME = "if the answers are the same each time"
ONE = re.compile(
    r"A report changes the odds between any two values of (?P<secret>.*?) by at most a factor of"
    r" (?P<factor>[\d.e+]+) \(level (?P<level>[\d.e-]+)\), (?P<who>.*?)\."
)
ALL = re.compile(r"have (?:together )?at most the level (?P<level>[\d.]+) for (?P<who>.*)\.$")
CHANCE = re.compile(r"A chance of (?P<before>[\d.]+)% .*? rises to at most (?P<after>[\d.]+)%")
CHANCES = re.compile(r"raise that chance to at most (?P<after>[\d.]+)% for (?P<who>[^.]*)\.")


@dataclass(frozen=True)
class Reader:
    """What a sentence says that somebody knows: of the useful value, and whether the answers may change."""

    knows: str  # "anything", "something", "each time"
    may_change: bool


def readers(words: str, useful: str) -> list[Reader]:
    """Return the readers whom a sentence names, each with what else it says of the answers."""
    found = []
    for part in words.split("; if not, for "):
        knows = "anything" if part.startswith("anyone, whatever they know or believe") else ""
        knows = "something" if part.startswith(f"whoever knows something about {useful}") else knows
        knows = "each time" if part.startswith(f"whoever knows {useful} each time") else knows
        assert knows, part
        found.append(Reader(knows, SAME not in part))
    return found


def level(columns: list[np.ndarray], given: dict[int, list[tuple[float, History]]]) -> float:
    """Return the largest log ratio of the chances of all reports, for weighted histories given each secret.

    `columns` has the matrix of each report, (sensitive, useful, outputs).
    """
    rows = []
    for histories in given.values():
        chances: np.ndarray = np.zeros(math.prod(one.shape[2] for one in columns))
        for weight, history in histories:
            product = np.array([weight])
            for matrix, (s, u) in zip(columns, history, strict=True):
                product = np.outer(product, matrix[s, u]).ravel()
            chances += product
        rows.append(chances)
    logs = np.log(np.array(rows))
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def learned(columns: list[np.ndarray], reader: Reader, low: np.ndarray | None, rng, tries: int = 8) -> float:
    """Return the level of S that a reader reaches; `low` are the least odds ratios that are allowed for."""
    a1, a2, _ = columns[0].shape
    reports, found = len(columns), 0.0
    pairs = list(itertools.permutations(range(a1), 2))

    def best(given):
        nonlocal found
        found = max(found, level(columns, given))

    def steps(s, us):
        return [(s, u) for u in us]

    for s, t in pairs:
        for u, w in itertools.product(range(a2), repeat=2):
            if reader.knows == "each time":
                best({s: [(1.0, steps(s, [u] * reports))], t: [(1.0, steps(t, [u] * reports))]})
            elif reader.knows == "something" and u != w and low is not None:
                # It is one of two values, at any odds, with the least odds ratio that is allowed for.
                for odds in np.exp(np.linspace(-6.0, 6.0, tries)):
                    weights = [odds / (1 + odds), 1 / (1 + odds)]
                    rho = min(low[s, t, u, w], 1e9)
                    others = np.array([weights[0] * rho, weights[1]])
                    others /= others.sum()
                    best({
                        one: [(p, steps(one, [v] * reports)) for p, v in zip(ps, (u, w), strict=True)]
                        for one, ps in ((s, weights), (t, others))
                    })  # fmt: skip
            elif reader.knows == "anything":
                best({s: [(1.0, steps(s, [u] * reports))], t: [(1.0, steps(t, [w] * reports))]})
            if not reader.may_change:
                continue
            if reader.knows == "each time":
                # The sensitive value differs once, and its other values and the useful ones are anything.
                us, ss = rng.integers(a2, size=reports).tolist(), rng.integers(a1, size=reports).tolist()
                best({one: [(1.0, list(zip([one, *ss[1:]], us, strict=True)))] for one in (s, t)})
                continue
            # The useful value, a fair coin each time, alternates if and only if the person is ill.
            turns = [[(u, w)[(start + place) % 2] for place in range(reports)] for start in range(2)]
            stays = [[v] * reports for v in (u, w)]
            best({
                one: [(0.5, steps(one, path)) for path in paths] for one, paths in ((s, stays), (t, turns))
            })  # fmt: skip
            # The sensitive value differs once, which the useful ones at all other reports tell.
            first = rng.integers(a2, size=2).tolist()
            best({
                one: [(1.0, [(one, begin), *steps(s, [v] * (reports - 1))])]
                for one, begin, v in ((s, first[0], u), (t, first[1], w))
            })  # fmt: skip
    return found


def record_learned(columns: list[np.ndarray]) -> float:
    """Return the level of the whole record for anyone, if the answers may change."""
    pairs = [np.log(one.reshape(-1, one.shape[2])) for one in columns]
    return math.fsum(float((rows[:, None] - rows).max()) for rows in pairs)


def violations(private, answer, rng, low=None, several=None):
    """Yield what sentences of a channel state, and what attackers find: (words, limit, found), in nats.

    `several` are the matrices of the reports that are allowed; by default so many of this channel.
    """
    table, said = private.table, private.promise()
    shape = (len(table.rows), len(table.columns), -1)
    own, useful = private.channel.matrix.reshape(shape), ", ".join(table.useful)
    # One report.
    one = ONE.search(said)
    assert one, said
    whole = one["secret"] == ", ".join(table.attributes)
    who = Reader("anything", False)
    if not whole and "whose knowledge about the person concerns" in one["who"]:
        who = Reader("something", False)
    elif not whole and "who knows the person's" in one["who"]:
        who = Reader("each time", False)
    found = record_learned([own]) if whole else learned([own], who, low, rng)
    yield one[0], float(one["level"]), found
    yield one[0] + " (factor)", math.log(float(one["factor"])), found
    chance = CHANCE.search(answer)
    assert chance, answer
    before = float(chance["before"]) / 100.0
    yield chance[0], raise_of(before, chance["after"]), found
    allowance = private.certificate.allowance
    if allowance is None:
        return
    columns = several if several is not None else [own] * allowance.reports
    sentence = said[said.index("reports of a person by") if allowance.reports else said.index("All rep") :]
    every, raised = ALL.search(sentence), CHANCES.search(answer)
    assert every, sentence
    assert raised, answer
    for words, limit in (
        (every["who"], float(every["level"])),
        (raised["who"], raise_of(before, raised["after"])),
    ):
        for reader in readers(words, useful) if table.useful else [Reader("anything", True)]:
            yield words, limit, learned(columns, reader, low, rng)
            if reader.knows == "anything" and reader.may_change and whole:
                yield f"{words} (record)", limit, record_learned(columns)


def raise_of(before: float, after: str) -> float:
    """Return by which level a chance is raised to another one, in percent, as it is printed."""
    end = float(after) / 100.0
    return math.inf if end >= 1.0 else math.log(end / (1.0 - end) * (1.0 - before) / before)
