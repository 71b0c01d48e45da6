"""Check certificates of privacy mechanisms: ``python verify.py FILE...`` or ``ldp-frontier verify FILE...``.

This file needs Python 3.11 with its standard library and nothing else: it may be copied and read alone. What
a certificate claims, and why each rule proves it, is in docs/certificates.md.

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
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from functools import lru_cache, partial
from math import gcd, isqrt
from operator import add, mul, sub
from pathlib import Path
from typing import Any, NamedTuple

FORMAT, VERSION = "ldp-frontier certificate", "1"
SOMETHING = "privacy for all who know something about U"
MEAN_SQUARE_ERROR = "mean square error"
ESTIMATION_CLAIMS = ("estimation error", "ldp estimation bound", "cone estimation bound")
#: Limits: bytes of a file, characters of a number, inputs times outputs or leaves of a tree, pairs of rays.
MAX_BYTES, MAX_DIGITS, MAX_TERMS, MAX_PAIRS = 1 << 26, 400, 20_000_000, 400_000_000
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
EXACT = Context(prec=8000, Emax=10**6, Emin=-(10**6), traps=list(decimal.getcontext().flags))
RAISED = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
LOW = Context(prec=50, rounding=decimal.ROUND_FLOOR, Emax=10**6, Emin=-(10**6), traps=RAISED)
HIGH = Context(prec=50, rounding=decimal.ROUND_CEILING, Emax=10**6, Emin=-(10**6), traps=RAISED)
BITS = 80  # of a logarithm that is a whole number, after the point
SERIES = [(1 << BITS) // odd for odd in (7, 5, 3, 1)]
DIGITS = re.compile(r"-?[0-9]+(\.[0-9]+)?")
SPLIT = re.compile(r"\?([0-9]{1,9})")
ENTRIES = re.compile(rf"0\*([1-9][0-9]{{0,6}})|[0-9]{{1,{MAX_DIGITS}}}")

Number = Decimal | int
Numbers = list[Decimal]
Ends = tuple[Decimal, Decimal]


class Malformed(Exception):
    """The file is no certificate: nothing is said about its claims."""


class Unproved(Exception):
    """A claim does not follow from what the file has as its proof."""


# Lower and upper ends of numbers that are no decimals.


def enclosed(function: str, x: Decimal) -> Ends:
    """Enclose ln x, exp x or sqrt x: those of a Context are the nearest numbers of 50 digits; 0 is exact."""
    nearest = getattr(LOW, function)(x)
    return (LOW.next_minus(nearest), HIGH.next_plus(nearest)) if nearest else (ZERO, ZERO)


ln, exp, sqrt = (lru_cache(1 << 14)(partial(enclosed, function)) for function in ("ln", "exp", "sqrt"))


@lru_cache(1 << 14)
def log_start(m: int, k: int) -> int:
    """Return 2^BITS ln(m 2^k), rounded down."""
    return int(LOW.multiply(LOW.fma(k, ln(TWO)[0], ln(Decimal(m))[0]), 1 << BITS))


@lru_cache(1 << 10)
def whole_log(n: int) -> int:
    """Return 2^BITS ln n, n >= 1, or at most 8 less.

    It is ln(m 2^k) + 2 (z + z^3/3 + ...), z = (n - m 2^k) / (n + m 2^k). With m the first 9 bits of n, z is
    below 2^-9. What follows z^7/7 is less than 1, and so is what each of the roundings takes away.
    """
    k = max(n.bit_length() - 9, 0)
    start = n >> k << k
    z = (n - start << BITS) // (n + start)
    square, series = z * z >> BITS, 0
    for coefficient in SERIES:
        series = coefficient + (series * square >> BITS)
    return log_start(n >> k, k) + (z * series >> BITS - 1)


@lru_cache(1 << 14)
def log(x: Decimal) -> Ends:
    """Enclose ln x, x > 0, to 23 decimals, and fast."""
    n, d = x.as_integer_ratio()
    near = whole_log(n) - whole_log(d)
    return LOW.divide(near - 8, 1 << BITS), HIGH.divide(near + 8, 1 << BITS)


def quotient(a: Number, b: Number) -> Ends:
    """Enclose a / b, b > 0."""
    return LOW.divide(a, b), HIGH.divide(a, b)


def power(x: Decimal, n: Decimal, d: Decimal) -> Ends:
    """Enclose x^(n/d), x >= 0, n > 0, d > 0."""
    if not x or (n, d) == (TWO, ONE):
        return x * x, x * x
    return exp(quotient(n * ln(x)[0], d)[0])[0], exp(quotient(n * ln(x)[1], d)[1])[1]


def shown(x: Decimal, *, up: bool, digits: int = 12) -> str:
    """Write a number with so many digits, rounded up or down: in the direction that claims less."""
    return f"{Context(prec=digits, rounding=decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR).plus(x):g}"


def level(epsilon: Any) -> str:
    """Write a level with 7 digits, rounded up."""
    text = shown(number(epsilon), up=True, digits=7)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def ball(order: Any, radius: Any) -> str:
    """Write what F is; its radius is in the file."""
    return f"F of order {order} and radius about {Context(prec=7).plus(number(radius)):g}"


def visible(text: str) -> str:
    r"""Write control and bidi characters, and all others that show nothing, as ``\n`` or ``\u202e``."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


# Reading.


def load(text: str) -> Any:
    """Read JSON in which no key occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Malformed(f"one of the keys {', '.join(key for key, _ in pairs)[:80]} occurs twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON: {error}") from None


def fields(value: Any, *names: str, optional: tuple[str, ...] = ()) -> list[Any]:
    """Return the values of an object with exactly these keys; None for an optional one that is not there."""
    if not isinstance(value, dict):
        raise Malformed(f"there is no object with the keys {', '.join(names)}")
    for name in sorted({*names, *value}):
        if value.get(name) is None or name not in (*names, *optional):
            raise Malformed(f"the key {name[:40]!a} is {'missing' if name in names else 'unknown'}")
    return [value.get(name) for name in (*names, *optional)]


def number(text: Any, least: Decimal | None = None) -> Decimal:
    """Read a decimal, as -12.5; there are no exponents."""
    if not isinstance(text, str) or len(text) > MAX_DIGITS or not DIGITS.fullmatch(text):
        raise Malformed(f"{str(text)[:40]!a} is no number, which is a text of digits, with - and a point")
    x = Decimal(text)
    if least is not None and x < least:
        raise Malformed(f"{text[:40]} is below {least}")
    return x


def items(values: Any, what: str, count: int | None = None) -> list[Any]:
    """Return a list: of as many entries as there must be, or of at least one."""
    if not isinstance(values, list) or not values or len(values) != (count or len(values)):
        raise Malformed(f"there is no list of {count or 'one or more'} {what}")
    return values


def numbers(values: Any, least: Decimal | None = None, count: int | None = None) -> Numbers:
    """Read a list of decimals: as many as there must be, or at least one."""
    return [number(value, least) for value in items(values, "numbers", count)]


def rows(values: Any, count: int | None = None, least: Decimal | None = ZERO) -> list[Numbers]:
    """Read rows of decimals, 0 or more and equally many: as many rows as there must be, or at least one."""
    found = [numbers(row, least) for row in items(values, "rows of numbers", count)]
    return [row for row in found if len(row) == len(found[0]) or items(row, "numbers", len(found[0]))]


def whole(table: list[Numbers]) -> list[list[int]]:
    """Return decimals as whole numbers, multiplied by a power of ten."""
    places = max((-int(x.as_tuple().exponent) for row in table for x in row), default=0)
    return [[int(x.scaleb(places)) for x in row] for row in table]


class Document(NamedTuple):
    """What claims are about; weights are probabilities once they are divided by their sum.

    The utility is "mutual information" under a table of weights with a row per sensitive value (of a prior,
    one weight each), or the divergence of what p0 and p1, which have the same sum, induce. In the place of a
    utility there may be the "mean square error" of estimates: of a target of sums of probabilities, a row
    each. The probability of output y at input x is channel[x][y] / denominator; the inputs are the cells of
    the table, by rows.
    """

    utility: str
    unit: str  # written after a value
    table: list[Numbers]
    p0: list[int]
    p1: list[int]
    channel: list[list[int]]
    denominator: int
    target: list[Numbers]

    def weights(self) -> Numbers:
        """Return the weights of all inputs."""
        if not self.table:
            raise Malformed("this claim needs mutual information")
        return [w for row in self.table for w in row]

    def blocks(self, column: Sequence[int]) -> list[Sequence[int]]:
        """Return the entries of a column for every sensitive value."""
        a2 = len(self.table[0])
        return [column[i : i + a2] for i in range(0, len(column), a2)]

    def columns(self) -> Iterator[tuple[int, ...]]:
        """Return the columns of the channel."""
        if not self.channel:
            raise Malformed("this claim needs a channel")
        return zip(*self.channel, strict=True)


def read_document(content: Any) -> tuple[Document, list[Any]]:
    """Return the document that claims are about, checked, and the claims."""
    if isinstance(content, dict) and (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        where = "; the certificate of a channel is the file beside it that ends in .certificate.json"
        raise Malformed(f"it is not of the format {FORMAT!r}, version {VERSION!r}{where}")
    names = ("format", "version", "utility", "claims")
    utility, claims, channel, note = fields(content, *names, optional=("channel", "note"))[2:]
    if not isinstance(note or "", str):
        raise Malformed("the note is no text")
    kind = utility.get("kind") if isinstance(utility, dict) else None
    table, p0, p1, target = list[Numbers](), list[int](), list[int](), list[Numbers]()
    if kind in ("mutual information", MEAN_SQUARE_ERROR):
        form = "table" if "table" in utility else "prior"
        weights, *wanted = fields(utility, "kind", form, *["target"] * (kind == MEAN_SQUARE_ERROR))[1:]
        table = rows(weights) if form == "table" else [[w] for w in numbers(weights, ZERO)]
        target = rows(wanted[0], least=None) if wanted else target
    elif kind in ("kl", "tv", "chi2", "hellinger"):
        q0, q1 = whole(rows(fields(utility, "kind", "p0", "p1")[1:]))
        p0, p1 = [w * sum(q1) for w in q0], [w * sum(q0) for w in q1]
    else:
        known = f"mutual information, kl, tv, chi2, hellinger, {MEAN_SQUARE_ERROR}"
        raise Malformed(f"the utility is none of {known}")
    if not any(p0) and not any(map(any, table)):
        raise Malformed("the weights sum to 0")
    if target and len(target[0]) != len(table) * len(table[0]):
        raise Malformed("the rows of the target have not a number for each input")
    matrix, denominator = read_channel(channel, len(p0) or len(table) * len(table[0]))
    unit = " nats" if kind in ("mutual information", "kl") else ""
    return Document(str(kind), unit, table, p0, p1, matrix, denominator, target), items(claims, "claims")


def read_channel(channel: Any, inputs: int) -> tuple[list[list[int]], int]:
    """Return the numerators of a channel, whose rows sum to the denominator, and the denominator."""
    if channel is None:
        return [], 1
    denominator, entries = fields(channel, "denominator", "rows")
    matrix = list[list[int]]()
    for x, texts in enumerate(items(entries, "rows of numbers", inputs)):
        row = list[int]()
        for text in items(texts, "numbers"):
            if not (found := ENTRIES.fullmatch(text)):
                raise Malformed(f"{text[:40]!a} is no number, which is a text of digits in a channel")
            if not found[1]:
                row.append(int(text))
            elif (len(row) + int(found[1])) * inputs <= MAX_TERMS:
                row += [0] * int(found[1])  # "0*12" stands for twelve zeros
            else:
                raise Malformed(f"the channel has more than {MAX_TERMS} entries")
        if sum(row) != number(denominator, ONE) or len(row) != len((matrix or [row])[0]):
            raise Malformed(f"row {x} of the channel does not sum to the denominator, or has another length")
        matrix.append(row)
    return matrix, sum(matrix[0])


def checked_ratio(epsilon: Any, t: Any, *, at_least: bool) -> Decimal:
    """Return the number t, after proving that t >= e^epsilon, or t <= e^epsilon unless `at_least`."""
    level, (below, above) = number(epsilon, ZERO), ln(number(t, ONE))
    if below < level if at_least else above > level:
        raise Unproved(f"ln {t} is not at {'least' if at_least else 'most'} {epsilon}")
    return number(t)


# Rules: what a channel has.


def privacy(document: Document, claim: Any) -> str:
    """Prove that the means of Q(y|.) in two groups have ratios of at most t <= e^epsilon, for all y."""
    kind, epsilon, t, *odds = fields(claim, "kind", "epsilon", "t", *["odds"] * (claim["kind"] == SOMETHING))
    most, table = checked_ratio(epsilon, t, at_least=False), whole(document.table)
    if not table and kind != "local privacy":
        raise Malformed("this claim needs a table")
    least = least_ratios(document, *odds) if odds else {}
    groups: list[Sequence[tuple[Number, Number]]]
    for y, column in enumerate(document.columns()):
        blocks = document.blocks(column) if table else []
        if kind == "local privacy":
            groups = [[(min(column), min(column)), (max(column), max(column))]]
        elif kind in ("privacy given U", SOMETHING):
            groups = [[(v, v) for v in entries] for entries in zip(*blocks, strict=True)]
        elif kind == "unconditional privacy":
            groups = [[(min(block), max(block)) for block in blocks]]
        else:
            # Means in units of 2^-256, rounded down and up.
            parts = ((sum(map(mul, row, v)) << 256, sum(row)) for row, v in zip(table, blocks, strict=True))
            groups = [[(part // total, -(-part // total)) for part, total in parts if total]]
        known = any(told(blocks[i], blocks[j], rho, most) for (i, j), rho in least.items())
        if known or any(apart(own, most) for own in groups):
            raise Unproved(f"output {y} has a ratio above {t}")
    what = f"({kind}{', if its odds ratios hold' * bool(odds)})"
    return f"the mechanism in this file has ratios at most e^{level(epsilon)} {what}"


def apart(groups: Sequence[tuple[Number, Number]], most: Decimal) -> set[tuple[int, int]]:
    """Return pairs of groups of which the first may have more than `most` times what the second has."""
    limit, highest = most * min(low for low, _ in groups), max(high for _, high in groups)
    above = [i for i, (_, high) in enumerate(groups) if high > limit]
    below = [j for j, (low, _) in enumerate(groups) if highest > most * low] if above else []
    return {(i, j) for i in above for j in below if i != j and groups[i][1] > most * groups[j][0]}


def privacy_over_f(document: Document, claim: Any) -> str:
    """Prove R_s . v_s <= t R_s' . v_s' for s != s', all conditionals R of F and all columns v.

    A proof has numbers h, h', x, x' for every s: of the largest and of the least mean, how far a scalar is
    outside of the entries, in units of their range, and where X^(-1/g) has its tangent.
    """
    names = ("kind", "epsilon", "t", "order", "radius", "reports")
    _, epsilon, t, order, radius, reports = fields(claim, *names)
    document.weights()
    table, most, alpha = whole(document.table), checked_ratio(epsilon, t, at_least=False), number(order)
    n, columns = alpha - ONE, list(document.columns())
    if n <= 0:
        raise Malformed("the order is not above 1")
    spare, sums = exp(quotient(n * number(radius, ZERO), alpha)[1])[1] - ONE, [sum(row) for row in table]
    ends = [ONE + quotient(sum(sums) * spare, p)[1] if p else ONE for p in sums]

    @lru_cache(1 << 16)
    def tangent(s: int, at: Decimal) -> Ends:
        """Bound X^(-1/g) from below by its tangent in `at`, where X is at its largest, and where it is 1."""
        low, high = power(at, alpha, n)
        far, near = (LOW.add(ONE, quotient(alpha * (at - x), n * at)[0]) for x in (ends[s], ONE))
        return quotient(far, high if far > 0 else low)[0], quotient(near, high if near > 0 else low)[0]

    def gap(s: int, v: Sequence[int], scalar: Decimal, at: Decimal) -> Ends:
        """Bound X^(-1/g) M_s(x) from below in the same way, x the distances of entries from a scalar."""
        x = {entry: abs(scalar - entry) for entry in {*v}}
        if not sums[s] or not any(x.values()):
            return ZERO, ZERO
        if alpha == TWO:  # roots of whole numbers, which are fast
            places = 25 - max(x.values()).adjusted() // 2
            roots = {entry: isqrt(int(a.scaleb(2 * places))) for entry, a in x.items()}
            found = sum(map(mul, table[s], map(roots.__getitem__, v)))
            low, high = (Decimal(a).scaleb(-places) for a in (found, found + sums[s]))
        else:
            powers = zip(*(power(x[entry], n, alpha) for entry in v), strict=True)
            low, high = (Decimal(sum(map(mul, table[s], ends))) for ends in powers)
        low = power(LOW.divide(low, sums[s]), alpha, n)[0]
        high = power(HIGH.divide(high, sums[s]), alpha, n)[1]
        far, near = tangent(s, at)
        return far * (low if far >= 0 else high), near * (low if near >= 0 else high)

    for y, (column, proofs) in enumerate(zip(columns, items(reports, "reports", len(columns)), strict=True)):
        unproved, blocks = list[set[tuple[int, int]]](), document.blocks(column)
        for proof in items(proofs, "proofs"):
            far, near = list[Ends](), list[Ends]()
            for s, (v, hints) in enumerate(zip(blocks, items(proof, "groups", len(table)), strict=True)):
                out, out_below, at, at_below = numbers(hints, ZERO, 4)
                high, low = max(v), min(v)
                upper, lower = high + out * (high - low), low - out_below * (high - low)
                above, below = gap(s, v, upper, at), gap(s, v, lower, at_below)
                # One of two groups has all of the radius, and the other one none.
                # At orders near 1, gaps are powers that an exact sum would have thousands of digits for.
                far.append((LOW.add(lower, below[1]), HIGH.subtract(upper, above[0])))
                near.append((LOW.add(lower, below[0]), HIGH.subtract(upper, above[1])))
            unproved.append(apart(far, most) | apart(near, most))
        if left := set.intersection(*unproved):
            i, j = min(left)
            raise Unproved(f"output {y} is not proved to have a ratio of at most {t} of {i} to {j}")
    over = f"{ball(order, radius)} (assuming that F contains the true distribution)"
    return f"the mechanism in this file has ratios at most e^{level(epsilon)} over {over}"


def least_ratios(document: Document, odds: Any) -> dict[tuple[int, int], list[Numbers]]:
    """Return the least P(u|s') P(w|s) / (P(w|s') P(u|s)), or 1, by (s, s') with a row for each u.

    The file has them for s < s'; those of s' and s are the same with u and w exchanged.
    """
    a1, a2, outputs = len(document.table), len(document.table[0]), len(document.channel[0])
    pairs, terms = [(i, j) for i in range(a1) for j in range(i + 1, a1)], (a1 * a2) ** 2 * outputs
    tables = [rows(table, a2) for table in items(odds, "tables of odds ratios", len(pairs))]
    if terms > MAX_TERMS or not pairs or any(len(t[0]) != a2 or max(map(max, t)) > ONE for t in tables):
        raise Malformed(f"odds ratios are too many, not of two values of S, or not {a2} a row, 1 at most")
    turned = [[[*row] for row in zip(*table, strict=True)] for table in tables]
    return dict(zip([*pairs, *((j, i) for i, j in pairs)], [*tables, *turned], strict=True))


def told(x: Sequence[int], y: Sequence[int], odds: list[Numbers], most: Decimal) -> bool:
    """Tell whether a mean of x may exceed `most` times that of y, if x_u <= most y_u for all u.

    With a = most y - x it may not if sqrt(rho a_u) + sqrt(a_w) >= sqrt((1 - rho) (x_u - x_w)) for all u and w
    (docs/certificates.md), which is squared twice. Where a_w >= x_u - x_w, that is so for every rho.
    """
    a, all_u = [most * below - above for above, below in zip(x, y, strict=True)], range(len(x))
    cells = ((odds[u][w], x[u] - x[w], a[u], a[w]) for u in all_u for w in all_u)
    excess = (((ONE - rho) * rise - rho * b - c, rho * b * c) for rho, rise, b, c in cells if rise > c)
    return any(e > 0 and e * e > 4 * product for e, product in excess)


def utility(document: Document, claim: Any) -> str:
    """Prove that the channel has a utility of at least so much."""
    least, (has, more) = number(fields(claim, "kind", "at least")[1]), value(document)
    if least > has:
        raise Unproved(f"the channel has no more than {shown(more, up=True)}, as far as is seen")
    return f"the mechanism in this file has {shown(least, up=False)}{document.unit}"


def value(document: Document) -> Ends:
    """Return a lower end of the utility of the channel, once rounded down and once up."""
    return quotient(*(information if document.table else divergence)(document))


def information(document: Document) -> tuple[int, int]:
    """Return the least that total x mutual information can be, and total."""
    (weights,), has = whole([document.weights()]), 0
    total = sum(weights)
    for column in document.columns():
        cells = [(w * n, n) for w, n in zip(weights, column, strict=True) if n and w]
        if mass := sum(wn for wn, _ in cells):
            has += sum(wn * whole_log(n) for wn, n in cells) - mass * (whole_log(mass) + 8 - whole_log(total))
    return has, total * document.denominator << BITS


def divergence(document: Document) -> tuple[Decimal, int]:
    """Return the least that total x divergence can be, and total."""
    has = ZERO
    for column in document.columns():
        z0, z1 = (Decimal(sum(map(mul, p, column))) for p in (document.p0, document.p1))
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
    return has, sum(document.p0) * document.denominator


def inequalities(document: Document, claim: Any) -> str:
    """Prove that all columns v of the channel have b . v <= 0 for all rows b."""
    cone = read_inequalities(fields(claim, "kind", "inequalities")[1], len(document.weights()))
    for y, column in enumerate(document.columns()):
        if broken := [i for i, b in enumerate(cone) if sum(map(mul, b, column)) > 0]:
            raise Unproved(f"output {y} does not keep inequality {broken[0]}")
    return f"all columns of the mechanism in this file keep {len(cone)} inequalities"


def read_inequalities(values: Any, inputs: int) -> list[list[int]]:
    """Return rows b of b . v <= 0 in whole numbers."""
    found = [numbers(b, None, inputs) for b in items(values, "inequalities")]
    return [whole([b])[0] for b in found]


def estimation_error(document: Document, claim: Any) -> str:
    """Prove that A p is estimated without bias from n reports, at an error of at most so much / n."""
    most, error = number(fields(claim, "kind", "at most")[1], ZERO), least_error(document)
    if error > most:
        raise Unproved(
            f"the error is {shown(error, up=True)} / n, as far as is seen, which is above {most} / n"
        )
    return f"n reports of the mechanism in this file have a mean square error of {shown(most, up=True)} / n"


def least_error(document: Document) -> Decimal:
    """Return the upper end of tr(A M^-1 A') - |A p|^2, M = sum_y Q_y Q_y' / q_y.

    Terms of M with a positive q_y may be smaller. Its inverse is that of a matrix of whole numbers, by
    elimination without quotients (Bareiss 1968).
    """
    (weights,), A, columns = whole([document.weights()]), document.target, [*document.columns()]
    if len(weights) ** 3 * 1000 > MAX_TERMS:
        raise Malformed("there are too many inputs for this claim")
    masses = [sum(map(mul, weights, v)) for v in columns]
    unit, last, squares = 1 << 128 + max(masses).bit_length(), 1, ZERO
    scales = [unit // q if q else 0 for q in masses]
    scaled = ([*map(mul, scales, row)] for row in document.channel)
    *targets, (scale,) = whole([*A, [ONE]])
    matrix = [
        [sum(map(mul, row, own)) for row in document.channel] + [*wanted]
        for own, wanted in zip(scaled, zip(*targets, strict=True), strict=True)
    ]
    for k, row in enumerate(matrix):
        if row[k]:
            squares += sum(quotient(x * x, last * row[k])[1] for x in row[len(weights) :])
            for other in matrix[k + 1 :]:
                cells, own = zip(other[k:], row[k:], strict=True), other[k]
                other[k:] = [(row[k] * x - own * y) // last for x, y in cells]
            last = row[k]
        elif any(row[k:]):
            raise Unproved("no estimate from the reports of the mechanism in this file is unbiased")
    squares = quotient(squares * unit * document.denominator, sum(weights) * scale**2)[1]
    means = [sum(map(mul, row, weights)) for row in targets]
    return squares - quotient(sum(map(mul, means, means)), (sum(weights) * scale) ** 2)[0]


# Rules: what no mechanism has.


def leaves(tree: Any, size: int, root: Any, children: Callable[..., list[Any]]) -> Iterator[tuple[Any, Any]]:
    """Walk through a tree in preorder, and return its leaves with their nodes; "?7" is a split on 7."""
    pending = [root]
    for token in items(tree, "nodes of a tree"):
        if not pending or len(tree) * size > MAX_TERMS:
            raise Malformed(f"a tree has {str(token)[:40]!a} where it cannot be")
        node, split = pending.pop(), isinstance(token, str) and SPLIT.fullmatch(token)
        if split:
            pending += children(node, int(split[1]))[::-1]
        else:
            yield token, node
    if pending:
        raise Malformed("a tree lacks leaves")


#: An input has its least or its largest value, or either.
LEAST, LARGEST, FREE = range(3)


def decided(side: bytes, x: int, where: int) -> bytes:
    """Return a branch of a tree, after a decision about an input that was free in it."""
    if x >= len(side) or side[x] != FREE:
        raise Malformed(f"a tree has ?{x} where it cannot be")
    return side[:x] + bytes([where]) + side[x + 1 :]


def prices_bound(document: Document, claim: Any) -> str:
    """Prove a bound by prices that sum to it: no column is worth more than the price of its entries.

    The columns that span a class have one of two powers of t at every input. Locally private ones have 1 or
    t (kairouz2016, Theorem 2); so have those of S for NR, as I(S,U;Y) <= H(U|S) + I(S;Y). If v_{s,u} <= t
    v_{s',u'} for s != s', they have 1 or t, if there are not two s, or 1 or t^2 at one s and t elsewhere.
    """
    names = ("kind", "epsilon", "t", "bound", "prices", "trees" if document.table else "pieces")
    kind, epsilon, ratios, bound, costs, proofs = fields(claim, *names)
    t, table = checked_ratio(epsilon, ratios, at_least=True), document.table
    words = f"with ratios at most e^{epsilon}"
    rest = ZERO
    if not table and kind != "ldp bound":
        raise Malformed("this claim needs mutual information")
    if kind == "nonrobust bound":
        rest, table = conditional_entropy(table), [[Decimal(sum(row))] for row in table if any(row)]
        words = f"whose means given two sensitive values have ratios at most e^{epsilon} under this table"
    weights, all_s = [w for row in table for w in row], range(len(table))
    prices, classes = numbers(costs, count=len(weights or document.p0)), [[(0, 1) for _ in all_s]]
    if kind == "unconditional bound":
        words += " under every distribution of (S, U)"
        alone = [[(0, 2) if own == s else (1, 1) for own in all_s] for s in all_s]
        classes = alone if len(table) == 2 else classes + alone
        if len(table) == 1:
            raise Malformed("there is one sensitive value only")
    if not table:
        check_pieces(document, prices, t, proofs)
    for by_s, tree in zip(classes, items(proofs, "trees", len(classes)), strict=True) if table else ():
        powers = [own for row, own in zip(table, by_s, strict=True) for _ in row]
        check_tree(weights, prices, powers, t, tree)
    return proved(number(bound), rest + sum(prices), words, document.unit)


def proved(bound: Decimal, least: Decimal, words: str, unit: str) -> str:
    """Return the sentence that nothing exceeds a bound, if that is not below what was proved."""
    if least > bound:
        raise Unproved(f"only {shown(least, up=True)} is proved, which is more than {bound}")
    return f"no mechanism {words} has more than {shown(bound, up=True)}{unit}"


def conditional_entropy(table: list[Numbers]) -> Decimal:
    """Return the upper end of H(U|S) of a table."""
    found = whole(table)
    parts = (w * (whole_log(sum(row)) + 8 - whole_log(w)) for row in found for w in row if w)
    return quotient(sum(parts), sum(map(sum, found)) << BITS)[1]


def check_tree(
    weights: Numbers, prices: Numbers, powers: list[tuple[int, int]], t: Decimal, tree: Any
) -> None:
    """Prove sum_x P_x v_x ln v_x - Z ln Z <= prices . v, Z = P . v, for v_x one of two powers of t.

    A leaf has a z > 0, as -Z ln Z <= z - (1 + ln z) Z.
    """
    total, upper, terms = sum(weights), ln(t)[1], list[list[Ends]]()
    for place in (LEAST, LARGEST):
        values = [(t ** own[place], own[place] * upper) for own in powers]
        cells = zip(weights, prices, values, strict=True)
        terms.append([(w * v * log - total * c * v, w * v) for w, c, (v, log) in cells])

    def children(side: bytes, x: int) -> list[bytes]:
        return [decided(side, x, LARGEST), decided(side, x, LEAST)]

    for n, (token, side) in enumerate(leaves(tree, len(weights), bytes([FREE] * len(weights)), children)):
        if (z := number(token)) <= 0:
            raise Malformed(f"a leaf of a tree is {z}; it must be above 0")
        slope = ONE + log(z)[0]
        found = zip(side, *([a - slope * b for a, b in own] for own in terms), strict=True)
        above = (max(both) if where == FREE else both[where] for where, *both in found)
        if sum(above) + total * z > 0:
            raise Unproved(f"leaf {n} does not prove that its columns are worth no more than their prices")


def check_pieces(document: Document, prices: Numbers, t: Decimal, pieces: Any) -> None:
    """Prove z1 f(z0 / z1) <= prices . v, z0 = P0 . v, z1 = P1 . v, for columns v with values 1 and t.

    Pieces [b, s] cover the ratios z0 / z1, from 1 / t to t, by intervals [a, b] with a line of slope s each.
    """
    total, a = sum(document.p0), quotient(ONE, t)[0]
    for n, piece in enumerate(pieces):
        b, slope = numbers(piece, count=2)
        line = max(generator(document.utility, r) - slope * r for r in (a, b))
        cells = zip(document.p0, document.p1, prices, strict=True)
        terms = [slope * p + line * q - total * c for p, q, c in cells]
        if b < a or sum(x * t if x > 0 else x for x in terms) > 0:
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


def estimation_bound(document: Document, claim: Any) -> str:
    """Prove |W v|^2 <= (lam . v)(p . v), lam the prices, for columns v that span a class.

    By the inequality of Cauchy and Schwarz, A p is then estimated from n reports at no error below
    tr(A_c W')^2 / (n sum(lam)), A_c = A - A p 1'. Columns are the staircase columns of local privacy, or the
    extreme rays of the cone of b . v <= 0, v >= 0.
    """
    local, n, k = claim["kind"] == "ldp estimation bound", len(document.weights()), len(document.target)
    names = ("epsilon", "t") if local else ("inequalities",)
    *about, bound, costs, matrix = fields(claim, "kind", *names, "bound", "prices", "matrix")[1:]
    weights, prices, W = document.weights(), numbers(costs, None, n), rows(matrix, k, None)
    *products, (unit,) = whole([*W, prices, weights, [ONE]])
    total, least = sum(products[-1]), number(bound, ZERO)
    if len(W[0]) != n or sum(prices) <= 0:
        raise Malformed(f"the matrix has not {n} columns, or prices do not sum to more than 0")
    if local:
        most, words = checked_ratio(*about, at_least=True), f"with ratios at most e^{about[0]}"
        found = staircases(products, *whole([[ONE, most]])[0])
    else:
        cone = read_inequalities(about[0], n)
        words = f"whose columns keep {len(cone)} inequalities"
        found = ([sum(map(mul, row, v)) for row in products] for v in rays(cone, n))
    for *parts, cost, mass in found:
        if cost < 0 or total * sum(map(mul, parts, parts)) > unit * cost * mass:
            raise Unproved("a column is worth more than the price of its entries")
    trace = -sum(sum(map(mul, a, weights)) * sum(w) for a, w in zip(document.target, W, strict=True))
    trace += sum(weights) * sum(sum(map(mul, a, w)) for a, w in zip(document.target, W, strict=True))
    below = quotient(trace * trace, sum(prices) * sum(weights) ** 2)[0]
    if least > below:
        raise Unproved(f"only {shown(below, up=False)} is proved, which is less than {bound}")
    return f"no mechanism {words} has a mean square error of n reports below {shown(least, up=False)} / n"


def staircases(products: list[list[int]], low: int, high: int) -> Iterator[list[int]]:
    """Return the products of rows with all columns of two values: one entry changes at a time (Gray 1953)."""
    n = len(products[0])
    if len(products) << n > MAX_TERMS:
        raise Malformed("there are too many inputs for this claim")
    moves = [[(high - low) * row[x] for row in products] for x in range(n)]
    values = [low * sum(row) for row in products]
    yield values
    for step in range(1, 1 << n):
        x = (step & -step).bit_length() - 1
        change = add if (step ^ step >> 1) >> x & 1 else sub
        values = [*map(change, values, moves[x])]
        yield values


def rays(cone: list[list[int]], n: int) -> list[list[int]]:
    """List the extreme rays of b . v <= 0, v >= 0, by double description (Motzkin et al. 1953).

    What a ray meets with equality is a set of bits: inputs that are 0, then inequalities. Two rays are
    adjacent, and leave a ray on the border of an inequality between them, if no third one meets all that
    both meet (Fukuda and Prodon 1996).
    """
    found, work = [[int(x == own) for x in range(n)] for own in range(n)], 0
    met = [(1 << n) - 1 ^ 1 << own for own in range(n)]
    for place, b in enumerate(cone, n):
        values, holders = [sum(map(mul, b, v)) for v in found], [0] * place
        over, under = ([i for i, x in enumerate(values) if sign * x > 0] for sign in (1, -1))
        for i, own in enumerate(met if over else []):
            for bit in range(place):
                holders[bit] |= (own >> bit & 1) << i
        work += len(over) * (len(under) + place)
        if work > MAX_PAIRS or len(found) > MAX_TERMS // (n * n):
            raise Malformed("the cone has too many extreme rays")
        new, common_of = list[list[int]](), list[int]()
        for i, j in ((i, j) for i in over for j in under if (met[i] & met[j]).bit_count() >= n - 2):
            holding, common = (1 << len(met)) - 1, met[i] & met[j]
            for bit in range(place):
                holding &= holders[bit] if common >> bit & 1 else holding
            if holding.bit_count() == 2:
                ray = [values[i] * y - values[j] * x for x, y in zip(found[i], found[j], strict=True)]
                new.append([x // gcd(*ray) for x in ray])
                common_of.append(common | 1 << place)
        kept = [i for i, x in enumerate(values) if x <= 0]
        met = [met[i] | (not values[i]) << place for i in kept] + common_of
        found = [found[i] for i in kept] + new
    return found


RULES: dict[str, Callable[[Document, Any], str]] = {
    **dict.fromkeys(("local privacy", "privacy given U", "unconditional privacy", SOMETHING), privacy),
    "privacy at the table": privacy,
    "privacy over F": privacy_over_f,
    "inequalities": inequalities,
    "utility": utility,
    **dict.fromkeys(ESTIMATION_CLAIMS, estimation_bound),
    "estimation error": estimation_error,
    **dict.fromkeys(("ldp bound", "nonrobust bound", "unconditional bound"), prices_bound),
}

# Files.


def check(content: Any) -> list[str]:
    """Return a sentence for every claim of a document, if all of them are proved; else raise an exception."""
    with decimal.localcontext(EXACT):
        try:
            document, claims = read_document(content)
            kinds = [str(claim.get("kind") if isinstance(claim, dict) else None) for claim in claims]
            if unknown := [kind for kind in kinds if kind not in RULES]:
                raise Malformed(f"a claim is of the kind {unknown[0][:40]!a}, which is unknown")
            valued = [kind for kind in kinds if kind.endswith(("utility", "bound", "error"))]
            if wrong := [kind for kind in valued if (kind in ESTIMATION_CLAIMS) != bool(document.target)]:
                raise Malformed(f"a claim of the kind {wrong[0]!r} cannot be about {document.utility}")
            return [RULES[kind](document, claim) for kind, claim in zip(kinds, claims, strict=True)]
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            raise Malformed(f"a part is out of range, or not of the form it should have: {error!a}") from None


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
        print(visible(f"{path}: {message}").encode("ascii", "backslashreplace").decode())
    return max(code for code, _ in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
