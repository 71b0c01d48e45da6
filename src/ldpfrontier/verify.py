"""Check certificates of privacy mechanisms: ``python verify.py FILE...`` or ``ldp-frontier verify FILE...``.

This file needs Python 3.11 with its standard library and nothing else: it may be copied and read alone. What
a certificate claims, and why each rule proves it, is in docs/certificates.md. How a proof was found is of no
concern here.

Every number is a decimal as text, and taken exactly. Sums and products are exact (`EXACT` raises an exception
if a digit would be lost). Quotients, logarithms, exponentials and roots have a lower and an upper end, of
which a rule takes the one that makes its claim harder to prove. The exit code is 0 if every claim of every
file is proved, 1 if one is not, 2 if a file is malformed.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # what lies beside this file is not imported in the place of the library
    HERE = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != HERE]

import decimal
import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Context, Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

FORMAT, VERSION = "ldp-frontier certificate", "1"
#: Limits: bytes of a file, characters of a number, inputs times leaves of a tree.
MAX_BYTES, MAX_DIGITS, MAX_TERMS = 1 << 26, 400, 100_000_000
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
EXACT = Context(prec=8000, Emax=10**6, Emin=-(10**6), traps=list(Context().flags))
RAISED = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
LOW = Context(prec=50, rounding=decimal.ROUND_FLOOR, Emax=10**6, Emin=-(10**6), traps=RAISED)
HIGH = Context(prec=50, rounding=decimal.ROUND_CEILING, Emax=10**6, Emin=-(10**6), traps=RAISED)

Numbers = list[Decimal]
Ends = tuple[Decimal, Decimal]


class Malformed(Exception):
    """The file is no certificate: nothing is said about its claims."""


class Unproved(Exception):
    """A claim does not follow from what the file has as its proof."""


# Lower and upper ends of numbers that are no decimals


@lru_cache(1 << 16)
def enclosed(function: str, x: Decimal) -> Ends:
    """Enclose ln x, exp x or sqrt x: those of a Context are the nearest numbers of 50 digits; 0 is exact."""
    nearest = getattr(LOW, function)(x)
    return (LOW.next_minus(nearest), HIGH.next_plus(nearest)) if nearest else (ZERO, ZERO)


ln, exp, sqrt = (partial(enclosed, function) for function in ("ln", "exp", "sqrt"))


def quotient(a: Decimal, b: Decimal) -> Ends:
    """Enclose a / b, b > 0."""
    return LOW.divide(a, b), HIGH.divide(a, b)


def power(x: Decimal, n: Decimal, d: Decimal) -> Ends:
    """Enclose x^(n/d), x >= 0, n > 0, d > 0."""
    if (n, d) == (ONE, TWO) or not x:
        return sqrt(x)
    return exp(quotient(n * ln(x)[0], d)[0])[0], exp(quotient(n * ln(x)[1], d)[1])[1]


def dot(x: Iterable[Decimal], y: Iterable[Decimal]) -> Decimal:
    """Return a sum of products."""
    return sum((a * b for a, b in zip(x, y, strict=True)), ZERO)


def shown(x: Decimal, *, up: bool) -> str:
    """Write a number with 12 digits, rounded up or down."""
    return f"{Context(prec=12, rounding=decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR).plus(x):g}"


# Reading


def load(text: str) -> Any:
    """Read JSON in which no key occurs twice and every number is text."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Malformed(f"one of the keys {', '.join(key for key, _ in pairs)[:80]} occurs twice")
        return dict(pairs)

    def refused(text: str) -> Any:
        raise Malformed(f"{text[:20]} is not in quotes; numbers are text")

    hooks: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), refused)
    try:
        return json.loads(text, object_pairs_hook=unique, **hooks)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON: {error}") from None


def fields(value: Any, *names: str, optional: tuple[str, ...] = ()) -> list[Any]:
    """Return the values of an object with exactly these keys; None for an optional one that is not there."""
    if not isinstance(value, dict):
        raise Malformed(f"there is no object with the keys {', '.join(names)}")
    for name in sorted({*names, *value}):
        if name not in value or name not in (*names, *optional):
            raise Malformed(f"the key {name[:40]!a} is {'missing' if name in names else 'unknown'}")
    return [value.get(name) for name in (*names, *optional)]


def number(text: Any, least: Decimal | None = None) -> Decimal:
    """Read a decimal, as -12.5; there are no exponents."""
    if not isinstance(text, str) or len(text) > MAX_DIGITS or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise Malformed(f"{str(text)[:40]!a} is no number, which is a text of digits, with - and a point")
    if least is not None and Decimal(text) < least:
        raise Malformed(f"{text[:40]} is below {least}")
    return Decimal(text)


def numbers(values: Any, least: Decimal | None = None, count: int | None = None) -> Numbers:
    """Read a list of decimals: as many as there must be, or at least one."""
    if not isinstance(values, list) or not values or len(values) != (count or len(values)):
        raise Malformed(f"there is no list of {count or 'one or more'} numbers")
    # Most entries of some channels are 0.
    return [ZERO if value == "0" and not least else number(value, least) for value in values]


def rows(values: Any, count: int | None = None) -> list[Numbers]:
    """Read rows of decimals, 0 or more and equally many: as many rows as there must be, or at least one."""
    if not isinstance(values, list) or not values or len(values) != (count or len(values)):
        raise Malformed(f"there is no list of {count or 'one or more'} rows of numbers")
    first = numbers(values[0], ZERO)
    return [first, *(numbers(row, ZERO, len(first)) for row in values[1:])]


class Document(NamedTuple):
    """What claims are about; weights are probabilities once they are divided by their sum.

    The utility is "mutual information" under a table of weights with a row per sensitive value (of a prior,
    one weight each), or the divergence of what p0 and p1, which have the same sum, induce. The probability
    of output y at input x is channel[x][y] / denominator; the inputs are the cells of the table, by rows.
    """

    utility: str
    table: list[Numbers]
    p0: Numbers
    p1: Numbers
    channel: list[Numbers]
    denominator: Decimal

    def weights(self) -> Numbers:
        """Return the weights of all inputs."""
        if not self.table:
            raise Malformed("this claim needs mutual information")
        return [w for row in self.table for w in row]

    def columns(self) -> Iterator[tuple[Decimal, ...]]:
        """Return the columns of the channel."""
        if not self.channel:
            raise Malformed("this claim needs a channel")
        return zip(*self.channel, strict=True)


def read_document(content: Any) -> tuple[Document, list[Any]]:
    """Return what claims are about, and the claims."""
    names = ("format", "version", "utility", "claims")
    form, version, utility, claims, channel, note = fields(content, *names, optional=("channel", "note"))
    if (form, version) != (FORMAT, VERSION):
        raise Malformed(f"it is not of the format {FORMAT!r}, version {VERSION!r}")
    if not isinstance(claims, list) or not claims or not isinstance(note or "", str):
        raise Malformed("there is no list of claims, or the note is no text")
    kind = utility.get("kind") if isinstance(utility, dict) else None
    table: list[Numbers] = []
    p0: Numbers = []
    p1: Numbers = []
    if kind == "mutual information" and "table" in utility:
        table = rows(fields(utility, "kind", "table")[1])
    elif kind == "mutual information":
        table = [[w] for w in numbers(fields(utility, "kind", "prior")[1], ZERO)]
    elif kind in ("kl", "tv", "chi2", "hellinger"):
        _, first, second = fields(utility, "kind", "p0", "p1")
        p0, p1 = rows([first, second])
        p0, p1 = [w * sum(p1) for w in p0], [w * sum(p0) for w in p1]
    else:
        raise Malformed("the utility is none of mutual information, kl, tv, chi2, hellinger")
    if not sum(p0 or [w for row in table for w in row]):
        raise Malformed("the weights sum to 0")
    matrix, denominator = read_channel(channel, len(p0) or len(table) * len(table[0]))
    return Document(str(kind), table, p0, p1, matrix, denominator), claims


def read_channel(channel: Any, inputs: int) -> tuple[list[Numbers], Decimal]:
    """Return the numerators of a channel, whose rows sum to the denominator, and the denominator."""
    if channel is None:
        return [], ONE
    denominator, entries = fields(channel, "denominator", "rows")
    matrix = rows(entries, inputs)
    for x, row in enumerate(matrix):
        if sum(row) != number(denominator, ONE):
            raise Malformed(f"row {x} of the channel does not sum to the denominator")
    return matrix, number(denominator)


def ratio(epsilon: Any, t: Any, *, at_least: bool) -> Decimal:
    """Return t, after proving that it is at least, or at most, e^epsilon."""
    level, (below, above) = number(epsilon, ZERO), ln(number(t, ONE))
    if below < level if at_least else above > level:
        raise Unproved(f"ln {t} is not at {'least' if at_least else 'most'} {epsilon}")
    return number(t)


# Rules: what a channel has


def privacy(document: Document, claim: Any) -> str:
    """Prove the means of Q(y|.) in two groups of inputs to have ratios at most t <= e^epsilon, for all y.

    The groups are single inputs ("local"); those with one u ("given U"); the sensitive values, by the largest
    and the least entry ("unconditional") or by the mean under the table ("at the table").
    """
    kind, epsilon, t = fields(claim, "kind", "epsilon", "t")
    most, table = ratio(epsilon, t, at_least=False), document.table
    a2 = len(table[0]) if table else 1
    if not table and kind != "local privacy":
        raise Malformed("this claim needs a table")
    for y, column in enumerate(document.columns()):
        blocks = [column[i : i + a2] for i in range(0, len(column), a2)]
        if kind == "local privacy":
            found = [list(zip(column, column, strict=True))]
        elif kind == "privacy given U":
            found = [[(v, v) for v in column[u::a2]] for u in range(a2)]
        elif kind == "unconditional privacy":
            found = [[(min(block), max(block)) for block in blocks]]
        else:
            means = [
                sum(w * v for w, v in zip(p, q, strict=True)) for p, q in zip(table, blocks, strict=True)
            ]
            found = [[quotient(m + ZERO, sum(p, ZERO)) for m, p in zip(means, table, strict=True) if any(p)]]
        if any(apart(groups, most) for groups in found):
            raise Unproved(f"output {y} has a ratio above {t}")
    return f"the one in this file has ratios at most {t} ({kind} at level {epsilon})"


def apart(groups: list[Ends], most: Decimal) -> list[tuple[int, int]]:
    """Return pairs of groups of which the first may have more than `most` times what the second has."""
    low, high = min(group[0] for group in groups), max(group[1] for group in groups)
    if high <= most * low:
        return []
    pairs = ((i, j) for i, a in enumerate(groups) if a[1] > most * low for j in range(len(groups)) if i != j)
    return [(i, j) for i, j in pairs if groups[i][1] > most * groups[j][0]]


def privacy_over_f(document: Document, claim: Any) -> str:
    """Prove R_s . v_s <= t R_s' . v_s' for s != s' and all conditionals R of F, t <= e^epsilon.

    F = {P : D(P-hat || P) <= radius}, P-hat the table. With g = 1 - 1 / order, M the power mean under P-hat
    given s of the power g, and D_s the divergence from R_s, R_s . x >= e^-D_s M_s(x) for x >= 0. So scalars
    m >= max v_s, m' <= min v_s have R_s . v_s <= m - e^-D_s M_s(m - v_s), and >= m' + e^-D_s M_s(v_s - m').
    In X_s = e^(g D_s), sum_s P-hat_s (X_s - 1) <= e^(g radius) - 1, and e^-D_s = X_s^(-1/g) is convex. A
    report has two scalars for every s, which serve where two groups may each use up all of the radius. Pairs
    [s, s', m, m', x, x'] share it: tangents in x and x' are least where one group uses all, the other none.
    """
    names = ("kind", "epsilon", "t", "order", "radius", "reports")
    _, epsilon, t, order, radius, reports = fields(claim, *names)
    weights, most, alpha = document.weights(), ratio(epsilon, t, at_least=False), number(order)
    table, a2, n, columns = document.table, len(document.table[0]), alpha - ONE, list(document.columns())
    if n <= 0 or not isinstance(reports, list) or len(reports) != len(columns):
        raise Malformed("the order is not above 1, or there are not as many reports as outputs")
    spare = sum(weights) * (exp(quotient(n * number(radius, ZERO), alpha)[1])[1] - ONE)
    sums = [sum(row, ZERO) for row in table]
    ends = [ONE + quotient(spare, p)[1] if p else ONE for p in sums]

    def mean(s: int, x: Numbers) -> Decimal:
        found = dot(table[s], [power(v, n, alpha)[0] for v in x])
        return power(quotient(found, sums[s])[0], alpha, n)[0] if sums[s] else ZERO

    def tangent(x: Decimal, at: Decimal) -> Decimal:
        slope, (low, high) = ONE + quotient(alpha * (at - x), n * at)[0], power(at, alpha, n)
        return slope * (quotient(ONE, high)[0] if slope > 0 else quotient(ONE, low)[1])

    for y, (column, report) in enumerate(zip(columns, reports, strict=True)):
        scalars, pairs = fields(report, "scalars", "pairs")
        blocks = [column[i : i + a2] for i in range(0, len(column), a2)]
        if not isinstance(pairs, list):
            raise Malformed("there is no list of pairs")
        shared = {(i, j): rest for i, j, *rest in (numbers(pair, count=6) for pair in pairs)}
        groups = []
        for s, (v, (upper, lower)) in enumerate(zip(blocks, map(numbers, scalars), strict=True)):
            left = tangent(ends[s], ends[s])
            above, below = mean(s, [upper - x for x in v]), mean(s, [x - lower for x in v])
            groups.append((lower + left * below, upper - left * above))
        for i, j in apart(groups, most):
            upper, lower, at, other = shared.get((Decimal(i), Decimal(j)), [max(blocks[i]), ZERO, ONE, ONE])
            above, below = mean(i, [upper - x for x in blocks[i]]), mean(j, [x - lower for x in blocks[j]])
            for x, z in ((ends[i], ONE), (ONE, ends[j])):
                if upper - most * lower > above * tangent(x, at) + most * below * tangent(z, other):
                    raise Unproved(f"output {y} is not proved to have a ratio of at most {t} of {i} to {j}")
    assumed = "that F has the true distribution is assumed"
    return (
        f"the one in this file has ratios at most {t} over F of order {order} and radius {radius} ({assumed})"
    )


def utility(document: Document, claim: Any) -> str:
    """Prove that the channel has a utility of at least so much."""
    least, (has, more) = number(fields(claim, "kind", "at least")[1]), value(document)
    if least > has:
        raise Unproved(f"the channel has no more than {shown(more, up=True)}, as far as is seen")
    unit = " nats" if document.utility in ("mutual information", "kl") else ""
    return f"the one in this file has {shown(least, up=False)}{unit}"


def value(document: Document) -> Ends:
    """Return a lower end of the utility of the channel, once rounded down and once up."""
    return quotient(*(information if document.table else divergence)(document))


def information(document: Document) -> Ends:
    """Return the least that total x mutual information can be, and total."""
    weights, has = document.weights(), ZERO
    total = sum(weights, ZERO)
    for column in document.columns():
        cells = [(w * n, n) for w, n in zip(weights, column, strict=True) if w and n]
        if mass := sum((wn for wn, _ in cells), ZERO):
            has += sum((wn * ln(n)[0] for wn, n in cells), -mass * ln(quotient(mass, total)[1])[1])
    return has, total * document.denominator


def divergence(document: Document) -> Ends:
    """Return the least that total x divergence can be, and total."""
    has = ZERO
    for column in document.columns():
        z0, z1 = dot(document.p0, column), dot(document.p1, column)
        if document.utility == "tv":
            has += abs(z0 - z1) / TWO
        elif document.utility == "hellinger":
            has += (z0 + z1) / TWO - sqrt(z0 * z1)[1]
        elif z0 and not z1:
            raise Unproved("an output occurs under p0 alone, so that the divergence is infinite")
        elif z0 and document.utility == "kl":
            has += z0 * ln(quotient(z0, z1)[0])[0]
        elif z1 and document.utility == "chi2":
            has += quotient((z0 - z1) * (z0 - z1), z1)[0]
    return has, sum(document.p0, ZERO) * document.denominator


# Rules: what no mechanism has


def leaves(tree: Any, inputs: int) -> Iterator[tuple[Decimal, list[int]]]:
    """Walk through a tree over all ways to give every input side 1 or 0, and return its leaves.

    A tree is a list in preorder: "?7" splits on input 7, its side 1 first; a number is a leaf. A leaf comes
    with the sides of all inputs, -1 where both are possible.
    """
    if not isinstance(tree, list) or not tree or len(tree) * inputs > MAX_TERMS:
        raise Malformed("a tree is no list, or an empty or too large one")
    side, splits, done = [-1] * inputs, list[int](), False
    for token in tree:
        x = int(token[1:]) if isinstance(token, str) and re.fullmatch(r"\?[0-9]{1,9}", token) else -1
        if done or x >= inputs or (x >= 0 and side[x] >= 0):
            raise Malformed(f"a tree has {str(token)[:40]!a} where it cannot be")
        if x >= 0:
            side[x] = 1
            splits.append(x)
            continue
        yield number(token), side
        while splits and side[splits[-1]] == 0:
            side[splits.pop()] = -1
        done = not splits
        if splits:
            side[splits[-1]] = 0
    if not done:
        raise Malformed("a tree lacks leaves")


def check_information(
    weights: Numbers, prices: Numbers, sides: tuple[list[Ends], list[Ends]], tree: Any
) -> None:
    """Prove sum_x P_x v_x ln v_x - Z ln Z <= prices . v, Z = P . v, for columns v of two values per input.

    An input has the values of the two sides, each with an upper end of its logarithm. A leaf has a z > 0: as
    -Z ln Z <= z - (1 + ln z) Z, a sum of terms of single inputs is left.
    """
    total = sum(weights, ZERO)
    terms = [
        [(w * v * log - total * c * v, w * v) for w, c, (v, log) in zip(weights, prices, side, strict=True)]
        for side in sides
    ]
    for n, (z, side) in enumerate(leaves(tree, len(weights))):
        if z <= 0:
            raise Malformed(f"a leaf of a tree is {z}; it must be above 0")
        slope, above = ONE + ln(z)[0], total * z
        for x, chosen in enumerate(side):
            above += max(
                a - slope * b for a, b in ([terms[chosen][x]] if chosen >= 0 else (terms[0][x], terms[1][x]))
            )
        if above > 0:
            raise Unproved(f"leaf {n} does not prove that its columns are worth no more than their prices")


def check_divergence(document: Document, prices: Numbers, t: Decimal, pieces: Any) -> None:
    """Prove z1 f(z0 / z1) <= prices . v, z0 = P0 . v, z1 = P1 . v, for columns v with values 1 and t.

    Pieces [b, s] cover the ratios z0 / z1, from 1 / t to t, by intervals [a, b]. The least line of slope s
    that is above f at a and b, r0 + s r, is above it between them; r0 z1 + s z0 - prices . v is a sum.
    """
    total, a = sum(document.p0, ZERO), quotient(ONE, t)[0]
    for n, piece in enumerate(pieces):
        b, slope = numbers(piece, count=2)
        line = max(generator(document.utility, r) - slope * r for r in (a, b))
        terms = [
            slope * p + line * q - total * c for p, q, c in zip(document.p0, document.p1, prices, strict=True)
        ]
        if b < a or sum((x * t if x > 0 else x for x in terms), ZERO) > 0:
            raise Unproved(f"piece {n} does not prove that its columns are worth no more than their prices")
        a = b
    if a < t:
        raise Unproved("the pieces do not reach the ratio t")


def generator(kind: str, r: Decimal) -> Decimal:
    """Return the upper end of f(r), r > 0, but for a multiple of r - 1, which adds up to nothing."""
    if kind == "kl":
        return r * ln(r)[1] - r + ONE
    if kind == "hellinger":
        return (r + ONE) / TWO - sqrt(r)[0]
    return abs(r - ONE) / TWO if kind == "tv" else (r - ONE) * (r - ONE)


def priced(claim: Any, inputs: int, proof: str) -> tuple[Decimal, Decimal, Numbers, Any]:
    """Return t >= e^epsilon, the bound, the prices, and what is to prove them, of a claim."""
    _, epsilon, t, bound, prices, found = fields(claim, "kind", "epsilon", "t", "bound", "prices", proof)
    return ratio(epsilon, t, at_least=True), number(bound), numbers(prices, count=inputs), found


def two_values(inputs: int, t: Decimal) -> tuple[list[Ends], list[Ends]]:
    """Return the two values of a column that is 1 or t at every input, with their logarithms."""
    return [(ONE, ZERO)] * inputs, [(t, ln(t)[1])] * inputs


def proved(bound: Decimal, least: Decimal, words: str, unit: str = " nats") -> str:
    """Return the sentence that nothing exceeds a bound, if that is not below what was proved."""
    if least > bound:
        raise Unproved(f"only {shown(least, up=True)} is proved, which is more than {bound}")
    return f"no mechanism {words} has more than {shown(bound, up=True)}{unit}"


def ldp_bound(document: Document, claim: Any) -> str:
    """Prove that no mechanism with ratios at most t has more than a bound (kairouz2016, Theorem 2)."""
    inputs = len(document.p0) or len(document.weights())
    t, bound, prices, proof = priced(claim, inputs, "tree" if document.table else "pieces")
    if document.table:
        check_information(document.weights(), prices, two_values(inputs, t), proof)
    else:
        check_divergence(document, prices, t, proof)
    unit = " nats" if document.utility in ("mutual information", "kl") else ""
    return proved(bound, sum(prices, ZERO), f"with ratios at most {t}", unit)


def nonrobust_bound(document: Document, claim: Any) -> str:
    """Prove a bound on I(S,U;Y) <= H(U|S) + I(S;Y), if P(y|s) <= t P(y|s') under the table."""
    table = [row for row in document.table if any(row)]
    sums = [sum(row, ZERO) for row in table]
    t, bound, prices, tree = priced(claim, len(table), "tree")
    check_information(sums, prices, two_values(len(table), t), tree)
    words = f"whose probabilities given two sensitive values have ratios at most {t} under this table"
    return proved(bound, conditional_entropy(table) + sum(prices, ZERO), words)


def conditional_entropy(table: list[Numbers]) -> Decimal:
    """Return the upper end of H(U|S) of a table without empty rows."""
    parts = [w * ln(quotient(sum(row, ZERO), w)[1])[1] for row in table for w in row if w]
    return quotient(sum(parts, ZERO), sum((sum(row, ZERO) for row in table), ZERO))[1]


def unconditional_bound(document: Document, claim: Any) -> str:
    """Prove a bound if v_{s,u} <= t v_{s',u'} for all s != s', by the columns that span that cone."""
    weights, a2 = document.weights(), len(document.table[0])
    t, bound, prices, trees = priced(claim, len(weights), "trees")
    classes = [two_values(len(weights), t)] if len(document.table) != 2 else []
    for s in range(0, len(weights), a2):
        small, large = ([(t, ln(t)[1])] * len(weights) for _ in range(2))
        small[s : s + a2], large[s : s + a2] = [(ONE, ZERO)] * a2, [(t * t, TWO * ln(t)[1])] * a2
        classes.append((small, large))
    if len(document.table) == 1 or not isinstance(trees, list) or len(trees) != len(classes):
        raise Malformed(f"there are no {len(classes)} trees, or there is one sensitive value only")
    for sides, tree in zip(classes, trees, strict=True):
        check_information(weights, prices, sides, tree)
    return proved(bound, sum(prices, ZERO), f"with ratios at most {t} under every distribution of (S, U)")


# Rules: what no mechanism of PolyOpt has

#: The letters of a vertex are at its least value, at its largest, one at a third; or at either of the first.
LEAST, LARGEST, THIRD, FREE = 0, 1, 2, -1
Vertices = list[tuple[Decimal, Decimal, Decimal, Decimal]]


class Block(NamedTuple):
    """The w >= 0 with rest max w + L . w <= top and rest min w + L . w >= 1, rest = 1 - sum L."""

    weights: Numbers
    prices: Numbers
    least: Numbers  # L, the least probabilities
    rest: Decimal
    width: Decimal  # (top - 1) / rest
    top: Decimal

    def curves(self, side: list[int]) -> list[Vertices]:
        """Return both ends of the curves of vertices whose letters are there, by m, M, x and L . w.

        With T the letters at M, l = L(T) and d = width, the curves are M = m + d, m = 1 - d l; m = 0,
        M = top / (rest + l); and m = 0, M = d, and x = (1 - d l) / L_j at a third letter j.
        """
        low = sum((x for x, where in zip(self.least, side, strict=True) if where == LARGEST), ZERO)
        high = sum((x for x, where in zip(self.least, side, strict=True) if where == FREE), low)
        d, fewest, most = self.width, ONE - self.width * high, ONE - self.width * low
        if THIRD in side:
            own = self.least[side.index(THIRD)]
            a, b = max(quotient(fewest, own)[0], ZERO), min(quotient(most, own)[1], d)
            return [[(ZERO, d, x, ONE) for x in (a, b)]] if a <= b else []
        found: list[Vertices] = []
        if most >= 0:
            found.append([(m, m + d, ZERO, ONE - self.rest * m) for m in (max(fewest, ZERO), most)])
        if fewest <= 0:
            a, b = quotient(self.top, self.rest + high)[0], quotient(self.top, self.rest + low)[1]
            found.append([(ZERO, M, ZERO, self.top - self.rest * M) for M in (a, min(b, d))])
        return found

    def leaf(self, side: list[int], ends: Vertices, slope: Decimal, y: Decimal) -> Decimal:
        """Bound sum_u W_u w_u ln w_u - (c_u + slope W_u) w_u, y the multiplier of the equation of L . w."""
        found, cells = [], list(zip(self.weights, self.prices, self.least, side, strict=True))
        prices = [c + slope * w + y * least for w, c, least, _ in cells]
        for *values, mean in ends:
            logs, total = [v * ln(v)[1] if v else ZERO for v in values], y * mean
            for (w, _, _, where), price in zip(cells, prices, strict=True):
                at = [w * log - price * v for log, v in zip(logs, values, strict=True)]
                total += max(at[:2]) if where == FREE else at[where]
            found.append(total)
        return max(found)

    def bound(self, tree: Any, slope: Decimal, z: Ends) -> Decimal:
        """Bound the same over all vertices w with z(w) = W . w between two ends.

        A tree is a list in preorder: "?3" splits on letter 3, which is at the largest value, or the least,
        or, if two curves are left, a third one; children without a curve are left out. A leaf is "y" or
        "y tilt", the tilt a multiplier of the ends of z.
        """
        if not isinstance(tree, list) or len(tree) * len(self.weights) > MAX_TERMS:
            raise Malformed("there is no tree of a block, or one too large")
        side, found = [FREE] * len(self.weights), list[Decimal]()
        pending = [(side, self.curves(side))]
        for token in tree:
            if not pending or not isinstance(token, str):
                raise Malformed(f"the tree of a block has {str(token)[:40]!a} where it cannot be")
            side, curves = pending.pop()
            if re.fullmatch(r"\?[0-9]{1,4}", token):
                if (u := int(token[1:])) >= len(side) or side[u] != FREE:
                    raise Malformed(f"the tree of a block has {token} where it cannot be")
                places = (THIRD, LEAST, LARGEST) if len(curves) == 2 and self.least[u] else (LEAST, LARGEST)
                children = [[*side[:u], where, *side[u + 1 :]] for where in places]
                pending += [(child, along) for child in children if (along := self.curves(child))]
                continue
            y, tilt = (number(x) for x in [*token.split(" ", 1), "0"][:2])
            ends = [end for curve in curves for end in curve]
            found.append(self.leaf(side, ends, slope + tilt, y) + max(tilt * z[0], tilt * z[1]))
        if pending or not found:
            raise Malformed("the tree of a block lacks leaves")
        return max(found)


def polyopt_bound(document: Document, claim: Any) -> str:
    """Prove that no mechanism of PolyOpt has more than a bound (lopuhaa2024, Definition 3: all pairs).

    The least probabilities are given, and if order and radius are, too, they are at least those over F. A
    tree is a list in preorder: {"block", "at"} splits on whether z_s is at most a number, the lower side
    first; a leaf has a slope, as -Z ln Z <= e^(slope - 1) - slope Z, and a tree for every block.
    """
    names = ("kind", "epsilon", "t", "bound", "least", "prices", "tree")
    _, epsilon, t, bound, least, prices, tree, *ball = fields(claim, *names, optional=("order", "radius"))
    table, total, most = document.table, sum(document.weights(), ZERO), ratio(epsilon, t, at_least=True)
    a2, blocks, whole, lower = len(table[0]), list[Block](), list[Ends](), rows(least, len(table))
    costs = numbers(prices, count=len(table) * a2)
    for s, (row, L) in enumerate(zip(table, lower, strict=True)):
        if len(L) != a2 or (rest := ONE - sum(L)) <= 0:
            raise Malformed(f"row {s} of the least probabilities is not of {a2} that sum to less than 1")
        width, own = quotient(most - ONE, rest)[1], [total * c for c in costs[s * a2 : (s + 1) * a2]]
        blocks.append(Block(row, own, L, rest, width, ONE + rest * width))
        whole.append((ZERO, sum(row) * (ONE + width)))
    if ball != [None, None]:
        check_least(table, lower, number(ball[0]), number(ball[1], ZERO))
    pending = [whole]
    for n, node in enumerate(tree if isinstance(tree, list) else []):
        ends = pending.pop() if pending else []
        if ends and isinstance(node, dict) and "at" in node:
            block, at = (number(x, ZERO) for x in fields(node, "block", "at"))
            if block not in range(len(blocks)):
                raise Malformed(f"there is no block {block}")
            s = int(block)
            pending += [[*ends[:s], own, *ends[s + 1 :]] for own in ((at, ends[s][1]), (ends[s][0], at))]
            continue
        slope, trees = fields(node, "slope", "trees")
        if not isinstance(trees, list) or not len(trees) == len(blocks) == len(ends):
            raise Malformed(f"node {n} is one too many, or has no list of {len(blocks)} trees")
        lam = number(slope)
        heights = [each.bound(own, lam, z) for each, own, z in zip(blocks, trees, ends, strict=True)]
        if sum(heights) + total * exp(lam - ONE)[1] > 0:
            raise Unproved(f"node {n} does not prove that its columns are worth no more than their prices")
    if pending:
        raise Malformed("a tree lacks leaves")
    over = (
        "these least probabilities" if ball == [None, None] else "F of order {} and radius {}".format(*ball)
    )
    return proved(number(bound), sum(costs, ZERO), f"of PolyOpt, with ratios at most {t} over {over},")


def check_least(table: list[Numbers], lower: list[Numbers], order: Decimal, radius: Decimal) -> None:
    """Prove L_su >= min {R(u) : R = P(.|s), P in F}, F = {P : D(P-hat || P) <= radius}, P-hat the table.

    With r = P-hat(u|s), a value q < r is one of R(u) if q (r / q)^a + (1 - q) ((1 - r) / (1 - q))^a <= X^a,
    a > 1 the order (lopuhaa2024, Proposition 1), X = 1 + (e^(g radius) - 1) / P-hat(s), g = 1 - 1 / a.
    """
    if order <= ONE:
        raise Malformed("the order is not above 1")
    total = sum((w for row in table for w in row), ZERO)
    spare = total * (exp(quotient((order - ONE) * radius, order)[0])[0] - ONE)
    for s, (row, L) in enumerate(zip(table, lower, strict=True)):
        p = sum(row, ZERO)
        for w, q in ((w, q) for w, q in zip(row, L, strict=True) if w > q * p):
            parts = [(q, w), (ONE - q, p - w)] if q else []
            found = sum((a * power(quotient(b, a * p)[1], order, ONE)[1] for a, b in parts), ZERO)
            if not q or found > power(ONE + quotient(spare, p)[0], order, ONE)[0]:
                raise Unproved(f"the least probability {q} of row {s} is not proved to be one")


RULES: dict[str, Callable[[Document, Any], str]] = {
    **dict.fromkeys(
        ("local privacy", "privacy given U", "unconditional privacy", "privacy at the table"), privacy
    ),
    "privacy over F": privacy_over_f,
    "utility": utility,
    "ldp bound": ldp_bound,
    "nonrobust bound": nonrobust_bound,
    "unconditional bound": unconditional_bound,
    "polyopt bound": polyopt_bound,
}

# Files


def check(content: Any) -> list[str]:
    """Return a sentence for every claim of a document, if all of them are proved; else raise an exception."""
    with decimal.localcontext(EXACT):
        try:
            document, claims = read_document(content)
            kinds = [str(claim.get("kind") if isinstance(claim, dict) else None) for claim in claims]
            if unknown := [kind for kind in kinds if kind not in RULES]:
                raise Malformed(f"a claim is of the kind {unknown[0][:40]!a}, which is unknown")
            return [RULES[kind](document, claim) for kind, claim in zip(kinds, claims, strict=True)]
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise Malformed(
                f"a part of it is not of the form that it should have, or out of range: {error!a}"
            ) from None


def check_file(path: str | Path) -> tuple[int, str]:
    """Return the exit code of a file, and what there is to say."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Malformed(f"it has more than {MAX_BYTES} bytes")
        said = "; ".join(check(load(data.decode("utf-8"))))
        return 0, f"proved. {said[0].upper()}{said[1:]}."
    except Unproved as error:
        return 1, f"NOT PROVED: {error}."
    except (Malformed, OSError, UnicodeDecodeError) as error:
        return 2, f"malformed: {error}."


def main(paths: list[str]) -> int:
    """Check files, say what is proved, and return the worst of their exit codes."""
    if not paths or paths[0].startswith("-"):
        print("usage: python verify.py FILE...", file=sys.stderr)
        return 2
    found = [check_file(path) for path in paths]
    for path, (_, message) in zip(paths, found, strict=True):
        print(f"{path}: {message}".encode("ascii", "backslashreplace").decode())
    return max(code for code, _ in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
