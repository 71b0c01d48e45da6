"""Check certificates of privacy mechanisms: ``python verify.py FILE...`` or ``ldp-frontier verify FILE...``.

This file needs Python 3.11 with its standard library and nothing else: it may be copied and read alone. What
a certificate claims, and why each rule proves it, is in docs/certificates.md.

Every number is a decimal as text, and taken exactly. Sums and products are exact (`EXACT` raises an exception
if a digit would be lost). Quotients, logarithms, exponentials and roots have a lower and an upper end, of
which a rule takes the one that makes its claim harder to prove. The exit code is 0 if every claim of every
file is proved, 1 if one is not, 2 if a file is malformed or cannot be
read.
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
from itertools import product
from math import isqrt
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

FORMAT, VERSION = "ldp-frontier certificate", "1"
SOMETHING = "privacy for all who know something about U"
OF_QUESTIONS = "questionnaire privacy"
BESIDE = "; the certificate of this channel is in the file beside it that ends in .certificate.json"
#: Limits: bytes of a file, characters of a number, entries of a channel, and terms of all sums that are
#: checked, which take a few minutes; whole numbers of a questionnaire.
MAX_BYTES, MAX_DIGITS, MAX_TERMS, MAX_WORK, MOST = 1 << 26, 400, 20_000_000, 40_000_000, 1 << 200
#: Inputs up to which the columns of approximate privacy are listed: 94,465 of 7.
MAX_LISTED = 7
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
    """Enclose ln x or exp x: those of a Context are the nearest numbers of 50 digits; 0 is exact."""
    nearest = getattr(LOW, function)(x)
    return (LOW.next_minus(nearest), HIGH.next_plus(nearest)) if nearest else (ZERO, ZERO)


ln, exp = (lru_cache(1 << 14)(partial(enclosed, function)) for function in ("ln", "exp"))


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


def rows(values: Any, count: int | None = None) -> list[Numbers]:
    """Read rows of decimals, 0 or more and equally many: as many rows as there must be, or at least one."""
    found = [numbers(row, ZERO) for row in items(values, "rows of numbers", count)]
    return [row for row in found if len(row) == len(found[0]) or items(row, "numbers", len(found[0]))]


def whole(table: list[Numbers]) -> list[list[int]]:
    """Return decimals as whole numbers, multiplied by a power of ten."""
    places = max((-int(x.as_tuple().exponent) for row in table for x in row), default=0)
    return [[int(x.scaleb(places)) for x in row] for row in table]


class Document(NamedTuple):
    """What claims are about; weights are probabilities once they are divided by their sum.

    The utility is mutual information under a table of weights with a row per sensitive value (of a prior, one
    weight each). The probability of output y at input x is channel[x][y] / denominator; the inputs are the
    cells of the table, by rows. Of a questionnaire there is the largest ratio of chances alone, or 0.
    """

    table: list[Numbers]
    channel: list[list[int]]
    denominator: int
    ratio: Decimal = ZERO

    def weights(self) -> Numbers:
        """Return the weights of all inputs."""
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
        where = {
            "ldp-frontier channel": BESIDE,
            "ldp-frontier questionnaire": BESIDE,
        }.get(str(content.get("format")), "")
        raise Malformed(f"it is not of the format {FORMAT!r}, version {VERSION!r}{where}")
    if isinstance(content, dict) and "questionnaire" in content:
        names = ("format", "version", "questionnaire", "claims")
        questionnaire, claims = fields(content, *names, optional=("note",))[2:4]
        return Document([], [], 1, ratio_of(questionnaire)), items(claims, "claims")
    names = ("format", "version", "utility", "claims")
    utility, claims, channel, note = fields(content, *names, optional=("channel", "note"))[2:]
    if not isinstance(note or "", str):
        raise Malformed("the note is no text")
    form = "prior" if isinstance(utility, dict) and "prior" in utility else "table"
    kind, weights = fields(utility, "kind", form)
    if kind != "mutual information":
        raise Malformed("the utility is not mutual information")
    table = rows(weights) if form == "table" else [[w] for w in numbers(weights, ZERO)]
    if not any(map(any, table)):
        raise Malformed("the weights sum to 0")
    matrix, denominator = read_channel(channel, len(table) * len(table[0]))
    document = Document(table, matrix, denominator)
    if (terms := sum(work(document, claim) for claim in items(claims, "claims"))) > MAX_WORK:
        raise Malformed(f"its claims are sums of about {terms} terms; at most {MAX_WORK} are checked")
    return document, claims


def ratio_of(questionnaire: Any) -> Decimal:
    """Return the largest ratio of the chances of a report of a questionnaire, rounded up, after checking it.

    A report is a lot, a question for each of its places, all different, and a permutation of the answers to
    each. Permutations are drawn until they are kept: if they send the own answers into the set of the lot, or
    else `kept` of `of` times. Equally many do so whatever the answers are, as the set has an entry for each
    combination of them. Nothing else depends on the answers, so that chances differ by at most `of` / `kept`.
    """
    answers, of, kept, lots = fields(questionnaire, "answers", "of", "kept", "lots")
    sizes = [place(size, 100) for size in items(answers, "numbers of answers")]
    total, accepted, weights = place(of, MOST), place(kept, MOST), 0
    for lot in items(lots, "lots"):
        weight, asked, entries = fields(lot, "weight", "questions", "set")
        weights, combinations = weights + place(weight, MOST), 1
        places = [[place(j, len(sizes)) for j in items(some, "questions")] for some in items(asked, "places")]
        for own in places:
            if len({sizes[j] for j in own}) > 1 or any({*own} & {*other} for other in places if other != own):
                raise Malformed("questions of one place differ in their answers, or in their other places")
            if len({*own}) < len(own) or places.count(own) > len(own):
                raise Malformed("there are fewer questions than places")
            combinations *= sizes[own[0]]
        if not isinstance(entries, str) or len(entries) != combinations or {*entries} != {"0", "1"}:
            raise Malformed("a set is not some of the combinations of answers and not all: a text of 0 and 1")
    if weights != total or not 0 < accepted <= total:
        raise Malformed("the weights of the lots do not sum to the number of draws, or none is kept")
    return quotient(total, accepted)[1]


def work(document: Document, claim: Any) -> int:
    """Return about how many terms the sums have that prove a claim, whatever it is."""
    inputs = len(document.table) * len(document.table[0])
    entries, parts = sum(map(len, document.channel)), claim if isinstance(claim, dict) else {}
    # Of people who know something about U, and with a chance delta, all pairs of inputs are compared.
    terms = entries * (inputs if parts.get("kind") in (SOMETHING, "approximate privacy") else 1)
    if parts.get("kind") == "approximate bound":  # of which all columns are listed
        terms += 2 * (min(inputs, MAX_LISTED) + 1) ** min(inputs, MAX_LISTED)
    cuts = parts.get("cuts")
    terms += len(cuts) * inputs if isinstance(cuts, list) else 0
    each = {"reports": len(document.table) + len(document.table[0]), "tree": inputs, "trees": inputs}
    return terms + sum(each.get(name, 1) * words(part) for name, part in parts.items())


def words(value: Any) -> int:
    """Return how many words the texts of a value have."""
    if isinstance(value, dict):
        return sum(map(words, value.values()))
    return sum(map(words, value)) if isinstance(value, list) else 1 + str(value).count(" ")


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
    least = least_ratios(document, *odds) if odds else {}
    groups: list[Sequence[tuple[Number, Number]]]
    for y, column in enumerate(document.columns()):
        blocks = document.blocks(column)
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


def approximate_privacy(document: Document, claim: Any) -> str:
    """Prove that sum_y max(0, Q(y|x) - t Q(y|x')) <= delta for all inputs x, x', with t <= e^epsilon."""
    epsilon, delta, t = fields(claim, "kind", "epsilon", "delta", "t")[1:]
    most, columns = checked_ratio(epsilon, t, at_least=False), [*document.columns()]
    allowed = number(delta, ZERO) * document.denominator
    for x, z in product(range(len(columns[0])), repeat=2):
        if sum(max(ZERO, column[x] - most * column[z]) for column in columns) > allowed:
            raise Unproved(f"inputs {x} and {z} are told apart with a chance above {delta}")
    return f"the mechanism in this file has ratios at most e^{level(epsilon)} but for a chance of {delta}"


def questionnaire_privacy(document: Document, claim: Any) -> str:
    """Prove that the chances of a report of a questionnaire have ratios of at most e^epsilon."""
    (epsilon,) = fields(claim, "kind", "epsilon")[1:]
    if ln(document.ratio)[1] > number(epsilon, ZERO):
        raise Unproved(f"the ratio is about {shown(document.ratio, up=True)}, which is above e^{epsilon}")
    return f"reports of this questionnaire have ratios at most e^{level(epsilon)} for all answers of a person"


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
    a1, a2 = len(document.table), len(document.table[0])
    tables = [rows(table, a2) for table in items(odds, "tables of odds ratios", a1 * (a1 - 1) // 2)]
    if a1 < 2 or any(len(t[0]) != a2 or max(map(max, t)) > ONE for t in tables):
        raise Malformed(f"odds ratios are not of two values of S, or not {a2} a row, 1 at most")
    pairs = [(i, j) for i in range(a1) for j in range(i + 1, a1)]
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
    return f"the mechanism in this file has {shown(least, up=False)} nats"


def value(document: Document) -> Ends:
    """Return a lower end of the information of the channel in nats, once rounded down and once up."""
    (weights,), has = whole([document.weights()]), 0
    total = sum(weights)
    for column in document.columns():
        cells = [(w * n, n) for w, n in zip(weights, column, strict=True) if n and w]
        if mass := sum(wn for wn, _ in cells):
            has += sum(wn * whole_log(n) for wn, n in cells) - mass * (whole_log(mass) + 8 - whole_log(total))
    return quotient(has, total * document.denominator << BITS)


# Rules: what no mechanism has.


def prices_bound(document: Document, claim: Any) -> str:
    """Prove a bound by prices that sum to it: no column is worth more than the price of its entries.

    The columns that span all locally private ones have the entries 1 or t (kairouz2016, Theorem 2). Of NR it
    is enough to look at those of S, as I(S,U;Y) <= H(U|S) + I(S;Y).
    """
    names = ("kind", "epsilon", "t", "bound", "prices", "trees")
    kind, epsilon, ratios, bound, costs, trees = fields(claim, *names)
    t, table = checked_ratio(epsilon, ratios, at_least=True), document.table
    words, rest = f"with ratios at most e^{epsilon}", ZERO
    if kind == "nonrobust bound":
        rest, table = conditional_entropy(table), [[Decimal(sum(row))] for row in table if any(row)]
        words = f"whose means given two sensitive values have ratios at most e^{epsilon} under this table"
    weights = [w for row in table for w in row]
    prices = numbers(costs, count=len(weights))
    check_tree(weights, prices, t, items(trees, "trees", 1)[0])
    return f"no mechanism {words} has more than {shown(bounded(bound, rest + sum(prices)), up=True)} nats"


def approximate_bound(document: Document, claim: Any) -> str:
    """Prove a bound by prices of entries, and of what ratios above t need of delta.

    Of all columns it is enough to look at those whose entries are 0 or t^i, i = 0..r, where every i occurs:
    the others are sums of them, of which the comparisons have the same signs.
    """
    names = ("kind", "epsilon", "delta", "t", "bound", "prices", "excess prices")
    epsilon, delta, ratios, bound, costs, of_excess = fields(claim, *names)[1:]
    t, weights, chance = (
        checked_ratio(epsilon, ratios, at_least=True),
        document.weights(),
        number(delta, ZERO),
    )
    k, total = len(weights), sum(weights)
    prices, excess = numbers(costs, count=k), [numbers(row, ZERO, k) for row in items(of_excess, "rows", k)]
    if k > MAX_LISTED:
        raise Malformed(f"it has {k} inputs; with a chance delta, at most {MAX_LISTED} are checked")
    powers, most = [t**i for i in range(k)], ln(t)[1]
    for exponents in product(range(-1, k), repeat=k):
        if {*exponents} - {-1} != {*range(max(exponents) + 1)} or max(exponents) < 0:
            continue
        v = [powers[i] if i >= 0 else ZERO for i in exponents]
        mass = sum(map(mul, weights, v))
        value = sum(w * e * i for w, e, i in zip(weights, v, exponents, strict=True)) * most
        value -= mass * ln(quotient(mass, total)[0])[0] if mass else ZERO
        needed = sum(map(mul, prices, v))
        for x, z in product(range(k), repeat=2):
            if exponents[x] > exponents[z] + 1 or exponents[x] >= 0 > exponents[z]:
                needed += excess[x][z] * (v[x] - t * v[z])
        if value > total * needed:
            raise Unproved(f"the column with the exponents {exponents} is worth more than its prices")
    least = sum(prices) + chance * sum(map(sum, excess))
    words = f"with ratios at most e^{epsilon} but for a chance of {delta}"
    return f"no mechanism {words} has more than {shown(bounded(bound, least), up=True)} nats"


def bounded(bound: Any, least: Number) -> Decimal:
    """Return the bound of a claim, after proving that it is at least what is proved."""
    if least > (most := number(bound)):
        raise Unproved(f"only {shown(Decimal(least), up=True)} is proved, which is more than {most}")
    return most


def conditional_entropy(table: list[Numbers]) -> Decimal:
    """Return the upper end of H(U|S) of a table."""
    found = whole(table)
    parts = (w * (whole_log(sum(row)) + 8 - whole_log(w)) for row in found for w in row if w)
    return quotient(sum(parts), sum(map(sum, found)) << BITS)[1]


#: An input has the entry 1 or the entry t, or either.
LEAST, LARGEST, FREE = range(3)


def check_tree(weights: Numbers, prices: Numbers, t: Decimal, tree: Any) -> None:
    """Prove sum_x P_x v_x ln v_x - Z ln Z <= prices . v, Z = P . v, for entries v_x of 1 or t.

    The tree is in preorder: "?7" is a split on input 7. A leaf has a z > 0, as -Z ln Z <= z - (1 + ln z) Z.
    """
    total, cells = sum(weights), [*zip(weights, prices, strict=True)]
    terms = [
        [(w * v * power - total * c * v, w * v) for w, c in cells]
        for v, power in ((ONE, ZERO), (t, ln(t)[1]))
    ]
    pending, size, leaf = [bytes([FREE] * len(weights))], len(weights), 0
    for token in items(tree, "nodes of a tree"):
        if not pending:
            raise Malformed(f"a tree has {str(token)[:40]!a} where it cannot be")
        side, split = pending.pop(), isinstance(token, str) and SPLIT.fullmatch(token)
        if split:
            if (x := int(split[1])) >= size or side[x] != FREE:
                raise Malformed(f"a tree has ?{x} where it cannot be")
            pending += [side[:x] + bytes([where]) + side[x + 1 :] for where in (LEAST, LARGEST)]
            continue
        if (z := number(token)) <= 0:
            raise Malformed(f"a leaf of a tree is {z}; it must be above 0")
        slope, leaf = ONE + log(z)[0], leaf + 1
        found = zip(side, *([a - slope * b for a, b in own] for own in terms), strict=True)
        above = (max(both) if where == FREE else both[where] for where, *both in found)
        if sum(above) + total * z > 0:
            raise Unproved(f"leaf {leaf} does not prove that its columns are worth no more than their prices")
    if pending:
        raise Malformed("a tree lacks leaves")


def boxes_bound(document: Document, claim: Any) -> str:
    """Prove a bound by prices that sum to it, and boxes in each of which no column is worth more than they.

    Of the class of mechanisms only cuts are used: inequalities a . v <= 0 that all of its columns v meet.
    """
    over_f = claim["kind"] == "robust bound"
    own = ("order", "radius") if over_f else ("odds",)
    names = ("kind", "epsilon", "t", "bound", "prices", "tree", "cuts", *own)
    _, epsilon, ratios, bound, costs, tree, listed, *known = fields(claim, *names)
    t, weights = checked_ratio(epsilon, ratios, at_least=True), document.weights()
    prices, cuts = numbers(costs, count=len(weights)), items(listed, "cuts")
    if not all(weights):
        raise Malformed("a weight is 0, so that entries of columns have no bound")
    rows_of = cuts_over_f if over_f else cuts_of_odds
    check_boxes(weights, prices, rows_of(document, t, cuts, *known), items(tree, "nodes of a tree"))
    about = f"over {ball(*known)}" if over_f else "for all who know something about U, at its odds ratios,"
    most = shown(bounded(bound, sum(prices)), up=True)
    return f"no mechanism with ratios at most e^{epsilon} {about} has more than {most} nats"


def cuts_over_f(document: Document, t: Decimal, cuts: list[Any], order: Any, radius: Any) -> list[Numbers]:
    """Return P(s') P_s . v_s - t P(s) P_s' . v_s' of members P of F, rounded down, as v >= 0."""
    alpha, spread, found = number(order), number(radius, ZERO), list[Numbers]()
    if (n := alpha - ONE) <= 0:
        raise Malformed("the order is not above 1")
    total = log(sum(document.weights(), ZERO))[0]
    shares, most = [log(w)[1] - total for w in document.weights()], exp(n * spread)[0]
    for k, cut in enumerate(cuts):
        *pair, weights = fields(cut, "s", "s'", "member")
        (s, other), member = (place(x, len(document.table)) for x in pair), rows(weights, len(document.table))
        cells, sums = [q for row in member for q in row], [sum(row, ZERO) for row in member]
        if s == other or len(cells) != len(shares) or not all(cells):
            raise Malformed(f"cut {k} is of one sensitive value, or its member has a 0 or another shape")
        # The sum of p^alpha q^(1 - alpha) is e^((alpha - 1) D).
        sum_of_all = log(sum(sums, ZERO))[1]
        powers = (exp(alpha * p - n * (log(q)[0] - sum_of_all)) for p, q in zip(shares, cells, strict=True))
        if sum(above for _, above in powers) > most:
            raise Unproved(f"the member of cut {k} is not proved to be in F")
        factors = {s: sums[other], other: -t * sums[s]}
        found.append([LOW.plus(factors.get(i, ZERO) * q) for i, row in enumerate(member) for q in row])
    return found


def cuts_of_odds(document: Document, t: Decimal, cuts: list[Any], odds: Any) -> list[Numbers]:
    """Return cuts for people of whom, given s, a share a has u and the others w, rounded down, as v >= 0.

    Given s' these are as rho a to 1 - a, by the sum of which the condition is multiplied.
    """
    least, found = least_ratios(document, odds), list[Numbers]()
    a1, a2 = len(document.table), len(document.table[0])
    for k, cut in enumerate(cuts):
        *places, share = fields(cut, "s", "s'", "u", "w", "share")
        s, other, u, w = (place(x, size) for x, size in zip(places, (a1, a1, a2, a2), strict=True))
        rho, of_u = least[s, other][u][w], number(share, ZERO)
        of_w = ONE - of_u
        if of_w < 0 or not (both := rho * of_u + of_w):
            raise Malformed(f"the share of cut {k} is above 1, or leaves nobody with s'")
        row = [ZERO] * (a1 * a2)
        row[s * a2 + u] += both * of_u
        row[s * a2 + w] += both * of_w
        row[other * a2 + u] -= t * rho * of_u
        row[other * a2 + w] -= t * of_w
        found.append([*map(LOW.plus, row)])
    return found


def check_boxes(weights: Numbers, prices: Numbers, cuts: list[Numbers], tree: list[Any]) -> None:
    """Prove sum_x P_x v_x ln v_x <= prices . v for all v >= 0 with P . v = 1 that meet the cuts.

    The tree is in preorder: "?7 0.5" splits a box at v_7 = 0.5, and larger values come first. A leaf
    "m k:l ..." has a multiplier m of P . v = 1 and multipliers l >= 0 of cuts k. With them, the difference is
    at most a sum of convex functions of one entry each, which are largest at an end of its interval.
    """
    total, size, leaf = sum(weights, ZERO), len(weights), 0
    pending = [[(ZERO, quotient(total, w)[1]) for w in weights]]
    for token in tree:
        first, *rest = token.split(" ") if isinstance(token, str) else [""]
        if not pending:
            raise Malformed(f"a tree has {str(token)[:40]!a} where it cannot be")
        box = pending.pop()
        if split := SPLIT.fullmatch(first):
            x, (at,) = int(split[1]), numbers(rest, ZERO, 1)
            if x >= size or not box[x][0] < at < box[x][1]:
                raise Malformed(f"a tree has {token[:40]!a} where it cannot be")
            pending += [[*box[:x], part, *box[x + 1 :]] for part in ((box[x][0], at), (at, box[x][1]))]
            continue
        leaf, m = leaf + 1, number(first)
        slopes = [total * c + m * w for w, c in zip(weights, prices, strict=True)]
        for name, _, text in (pair.partition(":") for pair in rest):
            factor, cut = total * number(text, ZERO), cuts[place(name, len(cuts))]
            slopes = [slope + factor * a for slope, a in zip(slopes, cut, strict=True)]
        ends = zip(weights, slopes, box, strict=True)
        above = (max(w * product_log(v) - slope * v for v in interval) for w, slope, interval in ends)
        if sum(above) + total * m > 0:
            raise Unproved(f"leaf {leaf} does not prove that its columns are worth no more than their prices")
    if pending:
        raise Malformed("a tree lacks leaves")


def product_log(v: Decimal) -> Decimal:
    """Return the upper end of v ln v, v >= 0."""
    return v * log(v)[1] if v else ZERO


def place(text: Any, count: int) -> int:
    """Read the number of one of so many things, from 0: digits alone."""
    x = number(text, ZERO)
    if x >= count or not text.isdigit():
        raise Malformed(f"{text[:40]} is not the number of one of {count}")
    return int(x)


RULES: dict[str, Callable[[Document, Any], str]] = {
    **dict.fromkeys(("local privacy", "privacy given U", "unconditional privacy", SOMETHING), privacy),
    "privacy at the table": privacy,
    OF_QUESTIONS: questionnaire_privacy,
    "privacy over F": privacy_over_f,
    "approximate privacy": approximate_privacy,
    "utility": utility,
    **dict.fromkeys(("ldp bound", "nonrobust bound"), prices_bound),
    "approximate bound": approximate_bound,
    **dict.fromkeys(("robust bound", "association bound"), boxes_bound),
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
            if other := [kind for kind in kinds if (kind == OF_QUESTIONS) != bool(document.ratio)]:
                raise Malformed(f"a claim is of the kind {other[0]!a}, which the file is not about")
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
    except FileNotFoundError:
        return 2, "there is no such file."
    except OSError as error:
        return 2, f"cannot be read: {error.strerror}."
    except (Malformed, UnicodeDecodeError) as error:
        own = Path(path).with_suffix(".certificate.json")
        where = f"; the certificate of this channel is {own.name}" if own.is_file() else BESIDE
        return 2, f"malformed: {error}.".replace(BESIDE, where)


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
