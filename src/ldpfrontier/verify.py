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

import json
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DecimalException, localcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

FORMAT, VERSION = "ldp-frontier certificate", "1"
#: Limits: bytes of a file, characters of a number, inputs times leaves of a tree.
MAX_BYTES, MAX_DIGITS, MAX_TERMS = 1 << 26, 400, 100_000_000
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
EXACT = Context(prec=8000, Emax=10**6, Emin=-(10**6), traps=list(Context().flags))
LOW = Context(prec=50, rounding=ROUND_FLOOR, Emax=10**6, Emin=-(10**6), traps=[])
HIGH = Context(prec=50, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6), traps=[])

Numbers = list[Decimal]
Ends = tuple[Decimal, Decimal]


class Malformed(Exception):
    """The file is no certificate: nothing is said about its claims."""


class Unproved(Exception):
    """A claim does not follow from what the file has as its proof."""


# Lower and upper ends of numbers that are no decimals; of 50 digits, ln, exp and sqrt of a Context are the
# nearest number there is, so that its neighbours enclose the true one.


@lru_cache(1 << 16)
def ln(x: Decimal) -> Ends:
    """Enclose ln x, x > 0."""
    return (LOW.next_minus(LOW.ln(x)), HIGH.next_plus(LOW.ln(x))) if x != 1 else (ZERO, ZERO)


def exp(x: Decimal) -> Ends:
    """Enclose e^x."""
    return (LOW.next_minus(LOW.exp(x)), HIGH.next_plus(LOW.exp(x))) if x else (ONE, ONE)


def sqrt(x: Decimal) -> Ends:
    """Enclose the square root of x >= 0."""
    return (LOW.next_minus(LOW.sqrt(x)), HIGH.next_plus(LOW.sqrt(x))) if x else (ZERO, ZERO)


def quotient(a: Decimal, b: Decimal) -> Ends:
    """Enclose a / b, b > 0."""
    return LOW.divide(a, b), HIGH.divide(a, b)


def shown(x: Decimal, *, up: bool) -> str:
    """Write a number with 12 digits, rounded up or down."""
    return f"{Context(prec=12, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(x):g}"


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
    return [number(value, least) for value in values]


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


def local_privacy(document: Document, claim: Any) -> str:
    """Prove Q(y|x) <= t Q(y|x') for all outputs y and inputs x, x', t <= e^epsilon."""
    _, epsilon, t = fields(claim, "kind", "epsilon", "t")
    most = ratio(epsilon, t, at_least=False)
    for y, column in enumerate(document.columns()):
        if max(column) > most * min(column):
            raise Unproved(f"output {y} has a ratio above {t}")
    return f"the one in this file has ratios at most {t}, so that it is {epsilon}-locally private"


def utility(document: Document, claim: Any) -> str:
    """Prove that the channel has a utility of at least so much."""
    least = number(fields(claim, "kind", "at least")[1])
    has, total = (information if document.table else divergence)(document)
    if least * total > has:
        raise Unproved(
            f"the channel was not seen to have more than {shown(quotient(has, total)[1], up=True)}"
        )
    unit = " nats" if document.utility in ("mutual information", "kl") else ""
    return f"the one in this file has {shown(least, up=False)}{unit}"


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
        z0 = sum((w * n for w, n in zip(document.p0, column, strict=True)), ZERO)
        z1 = sum((w * n for w, n in zip(document.p1, column, strict=True)), ZERO)
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


def ldp_bound(document: Document, claim: Any) -> str:
    """Prove that no mechanism with ratios at most t, t >= e^epsilon, has more than a bound."""
    _, epsilon, t, bound, prices, tree = fields(claim, "kind", "epsilon", "t", "bound", "prices", "tree")
    weights, most = document.weights(), ratio(epsilon, t, at_least=True)
    found = numbers(prices, count=len(weights))
    if sum(found) > number(bound):
        raise Unproved(f"the prices sum to more than {bound}")
    sides = [(ONE, ZERO)] * len(weights), [(most, ln(most)[1])] * len(weights)
    check_information(weights, found, sides, tree)
    return f"no mechanism with ratios at most {t} has more than {shown(number(bound), up=True)} nats"


RULES: dict[str, Callable[[Document, Any], str]] = {
    "local privacy": local_privacy,
    "utility": utility,
    "ldp bound": ldp_bound,
}

# Files


def check(content: Any) -> list[str]:
    """Return a sentence for every claim of a document, if all of them are proved; else raise an exception."""
    with localcontext(EXACT):
        try:
            document, claims = read_document(content)
            kinds = [str(claim.get("kind") if isinstance(claim, dict) else None) for claim in claims]
            if unknown := [kind for kind in kinds if kind not in RULES]:
                raise Malformed(f"a claim is of the kind {unknown[0][:40]!a}, which is unknown")
            return [RULES[kind](document, claim) for kind, claim in zip(kinds, claims, strict=True)]
        except DecimalException as error:
            raise Malformed(f"a number has too many digits ({type(error).__name__})") from None


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
