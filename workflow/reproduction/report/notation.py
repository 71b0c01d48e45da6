"""Formulas in running text, from the plain notation of the ledger to MathML.

Statements, rules, captions and findings are plain text, which CSV and Markdown show as it is: ``D_1 ≤ D_i``,
``(e^ε - 1)²/(e^ε + 1) TV(P0, P1)``, ``1e-9``. `typeset` finds what of a text is a formula and sets it for a
browser. Whatever follows the grammar below and has something that prose has not (an operator, an index, an
exponent, a Greek letter, an argument) is one; everything else stays as it was. Each formula keeps its plain
notation as ``alttext``, for search and for readers who do not see it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

#: Letters that are variables wherever they stand alone; others need an operator, an index or an argument.
VARIABLES = frozenset("kMDXYFPQHGWplf")
#: Names that take what follows them, and names that stand for themselves.
FUNCTIONS = frozenset({"log", "exp", "max", "min", "sqrt", "tanh", "inf", "sup"})
NAMES = FUNCTIONS | {"TV", "KL", "NMI", "rad"}

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789−+n", strict=True))
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?|\.\d+|[½¼¾])(?:e([-+]?\d+))?(?![A-Za-z\d])(%?)")
_LETTERS = re.compile(r"[A-Za-z]+")
_SYMBOL = re.compile(r"[α-ωϵΑ-ΡΤ-Ω∞ℓ]")
_OPERATOR = re.compile(r"( ?)(<=|>=|[-+−±=≤≥<>≈≠∈→])( ?)")
_RELATIONS = frozenset("=≤≥<>≈≠∈→") | {"<=", ">="}
_CLOSED = {"(": ")", "[": "]", "{": "}", "|": "|", "‖": "‖"}
_SEPARATOR = re.compile(r" ?(\|\||[,;|‖:]) ?")
# What looks like a difference and is none: the ids of claims.
_ID = re.compile(r"[A-Z][a-z]?-[A-Z]+\d+[a-z]?\b")
_TAIL = re.compile(r"[.,;:)\]%]+|-[a-z]+")
_PROSE = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|.", re.DOTALL)
#: Longer formulas, in characters, may be broken.
_LONG = 24
_SPACE = '<mspace width="0.17em"/>'
_TIGHT = {"lspace": "0", "rspace": "0"}
_WRITTEN = {"-": "−", "<=": "≤", ">=": "≥", "||": "‖"}


def typeset(text: str) -> Markup:
    """Return a text as HTML: escaped, with its formulas as MathML.

    Parameters
    ----------
    text : str
        Any text; one without formulas is only escaped.
    """
    found, place = [], 0
    while place < len(text):
        formula = None if _ID.match(text, place) else _Reader(text).sum(place)
        if formula and formula.mark:
            tail = _TAIL.match(text, formula.end)
            *before, last = _pieces(text, place, formula)
            # No line begins with the full stop of the one before.
            found += [*before, f'<span class="nb">{last}{escape(tail[0])}</span>' if tail else last]
            place = tail.end() if tail else formula.end
            continue
        word = _PROSE.match(text, place)
        assert word is not None
        found.append(escape(word[0]))
        place = word.end()
    return Markup("".join(found))  # Escaped above, piece by piece.


def _pieces(text: str, start: int, formula: _Part) -> list[str]:
    """Return a formula as elements; a long one in pieces, as browsers break no line within an element."""
    cuts = [*formula.cuts, (formula.end, len(formula.xml))]
    if formula.end - start <= _LONG:
        cuts = cuts[-1:]
    pieces, written = [], 0
    for end, length in cuts:
        xml = _row(formula.xml[written:length])
        pieces.append(f'<math alttext="{escape(text[start:end])}">{xml}</math>')
        start, written = end, length
    return pieces


@dataclass(frozen=True)
class _Part:
    """A piece of a formula: its elements, where it ends, and what decides whether it is one at all.

    `mark`: it has what prose has not. `number`: it is one. `inner`: the content of a group in round brackets,
    which a fraction shows without them. `factor`: it may follow another with nothing but a space between.
    `cuts`: where a line may end, in the text and in the elements.
    """

    end: int
    xml: str
    mark: bool = False
    number: bool = False
    inner: str = ""
    factor: bool = True
    cuts: tuple[tuple[int, int], ...] = ()


def _row(xml: str) -> str:
    """Return one element, as indices, exponents and fractions want it."""
    return xml if len(re.findall(r"<(?!/)", xml)) == 1 else f"<mrow>{xml}</mrow>"


def _mo(sign: str, **attributes: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<mo{more}>{escape(_WRITTEN.get(sign, sign))}</mo>"


def _mi(name: str) -> str:
    return f"<mi>{name}</mi>"


@dataclass(frozen=True)
class _Reader:
    """Reads a formula at a place of a text; every method returns None where there is none."""

    text: str

    def _at(self, place: int) -> str:
        return self.text[place : place + 1]

    def sum(self, place: int, inside: bool = False) -> _Part | None:
        """Read terms with operators between them, all with a space on both sides or on none."""
        sign = self._at(place) if self._at(place) in ("-", "−", "±") else ""
        first = self.product(place + len(sign), inside or bool(sign))
        if first is None:
            return None
        xml, mark, related = (_mo(sign, form="prefix") if sign else "") + first.xml, first.mark, False
        end, number, cuts = first.end, first.number, []
        while operator := _OPERATOR.match(self.text, end):
            before, symbol, after = operator.groups()
            following = self.product(operator.end(), True) if len(before) == len(after) else None
            if following is None or (number and following.number and not before):
                break
            cuts.append((end, len(xml)))
            # Also at the beginning of a piece it stands between two terms.
            xml, mark = xml + _mo(symbol, form="infix") + following.xml, True
            end, number = following.end, following.number
            related = related or symbol in _RELATIONS
        alone = end == first.end and not sign
        inner = first.inner if alone else ""
        return _Part(end, xml, mark, alone and first.number, inner, not related, tuple(cuts))

    def product(self, place: int, inside: bool) -> _Part | None:
        """Read factors beside each other, or with a sign between them."""
        part = self.factor(place, inside)
        if part is None:
            return None
        while following := self._times(part) or self._over(part) or self._beside(part, inside):
            part = following
        return part

    def _times(self, left: _Part) -> _Part | None:
        sign = re.compile(r" ?([·×]) ?| (x) (?=\d)").match(self.text, left.end)
        if sign is None or not (sign[1] or left.number):
            return None
        right = self.factor(sign.end(), True)
        return right and _Part(right.end, left.xml + _mo("×" if sign[2] else sign[1]) + right.xml, True)

    def _over(self, left: _Part) -> _Part | None:
        sign = re.compile(r"( ?)/( ?)").match(self.text, left.end)
        right = self.factor(sign.end(), True) if sign and len(sign[1]) == len(sign[2]) else None
        if sign is None or right is None or (sign[1] and not (left.mark or right.mark)):
            return None
        if left.inner or right.inner:
            above, below = left.inner or left.xml, right.inner or right.xml
            return _Part(right.end, f"<mfrac>{_row(above)}{_row(below)}</mfrac>", True)
        return _Part(right.end, left.xml + _mo("/", **_TIGHT) + right.xml, True)

    def _beside(self, left: _Part, inside: bool) -> _Part | None:
        space = self._at(left.end) == " "
        right = self.factor(left.end + space, inside)
        if right is None or right.number or not (left.factor and right.factor and (right.mark or inside)):
            return None
        if not space and not (left.number or (left.inner and right.inner)):
            return None
        return _Part(right.end, left.xml + _SPACE * space + right.xml, left.mark or right.mark)

    def factor(self, place: int, inside: bool) -> _Part | None:
        """Read a number, a group, a sum sign, or a variable or a function with what belongs to it."""
        start = self._at(place)
        if start == "Σ":
            space = self._at(place + 1) == " "
            body = self.factor(place + 1 + space, True)
            return body and _Part(body.end, _mo("Σ", form="prefix") + body.xml, True)
        if number := _NUMBER.match(self.text, place):
            return self._number(number)
        if start in _CLOSED and start:
            group = self._group(place)
            return group and self._scripts(group)
        if self.text.startswith("...", place) and inside:
            return _Part(place + 3, _mo("…"), number=True)
        if symbol := _SYMBOL.match(self.text, place):
            return self._applied(self._scripts(self._numbered(symbol[0], symbol.end(), True)))
        return self._named(place, inside)

    def _number(self, found: re.Match[str]) -> _Part:
        mantissa, exponent, percent = found.groups()
        if exponent is None or not int(exponent):
            xml = f"<mn>{mantissa}{percent}</mn>"
            return self._scripts(_Part(found.end(), xml, exponent is not None, number=True))
        power = int(exponent)
        digits = f"{'<mo>−</mo>' if power < 0 else ''}<mn>{abs(power)}</mn>"
        ten = f"<msup><mn>10</mn>{_row(digits)}</msup>"
        xml = ten if mantissa == "1" else f"<mn>{mantissa}</mn>{_mo('×')}{ten}"
        return _Part(found.end(), xml, True, number=True)

    def _named(self, place: int, inside: bool) -> _Part | None:
        found = _LETTERS.match(self.text, place)
        if found is None or (place and self.text[place - 1].isalpha() and self.text[place - 1].isascii()):
            return None
        name, end = found[0], found.end()
        if name in FUNCTIONS:
            called = self._scripts(_Part(end, _mi(name)))
            space = self._at(called.end) == " "
            argument = self.factor(called.end + space, True)
            if argument is None:
                return None
            if name == "sqrt" and argument.inner:
                return _Part(argument.end, f"<msqrt>{argument.inner}</msqrt>", True)
            return _Part(argument.end, called.xml + _SPACE * space + argument.xml, True)
        if len(name) > 1 and not (name in NAMES and (inside or self._at(end) in "_^(²") and self._at(end)):
            return None
        if self._at(end) == "\u0302":  # A hat.
            end, name = end + 1, f"{name}\u0302"
        bare = self._numbered(name, end, name in VARIABLES or len(name) > 1)
        part = self._applied(self._scripts(bare))
        following = self._at(part.end)
        if following.isalnum() and following.isascii():
            return None
        return part if part.mark or inside or _OPERATOR.match(self.text, part.end) else None

    def _numbered(self, name: str, end: int, mark: bool) -> _Part:
        """Add an index that is written directly behind a letter, as in P0."""
        index = re.compile(r"\d+(?!\w|\.\d)").match(self.text, end) if len(name) == 1 else None
        if index is None:
            return _Part(end, _mi(name), mark)
        return _Part(index.end(), f"<msub>{_mi(name)}<mn>{index[0]}</mn></msub>", True)

    def _applied(self, part: _Part) -> _Part:
        """Add an argument in brackets, directly behind the name."""
        group = self._group(part.end) if self._at(part.end) == "(" else None
        return self._scripts(_Part(group.end, part.xml + group.xml, True)) if group else part

    def _group(self, place: int) -> _Part | None:
        """Read what is between brackets or bars: sums with separators."""
        opened, mark, xml, end, single, related = self._at(place), False, "", place + 1, True, False
        closed = _CLOSED[opened]
        while True:
            item = self.sum(end, True) or (self._word(end) if opened == "|" else None)
            if item is None:
                return None
            xml, mark, end = xml + item.xml, mark or item.mark, item.end
            related = related or not item.factor
            if self._at(end) == closed:
                break
            separator = _SEPARATOR.match(self.text, end)
            if separator is None:
                return None
            xml, end, single = xml + _mo(separator[1]), separator.end(), False
        fence = {"stretchy": "false"}
        whole = _mo(opened, form="prefix", **fence) + xml + _mo(closed, form="postfix", **fence)
        inner = xml if single and opened == "(" else ""
        mark = mark or opened in "|‖"
        return _Part(end + 1, whole, mark, inner=inner, factor=single and not related)

    def _word(self, place: int) -> _Part | None:
        found = _LETTERS.match(self.text, place)
        return _Part(found.end(), f"<mtext>{found[0]}</mtext>") if found else None

    def _scripts(self, base: _Part) -> _Part:
        """Add indices and exponents: `_s`, `_ki`, `^2`, `^-ε`, `^(M-1)`, `²`, `*`, and primes."""
        # Stars and primes are raised by themselves.
        below, above, beside, end = "", "", "", base.end
        while True:
            sign, start = self._at(end), end
            if sign == "_" and (index := re.compile(r"[A-Za-z]+\d*|\d+").match(self.text, end + 1)):
                below, end = below + self._index(index[0]), index.end()
            elif sign == "^" and (exponent := self._exponent(end + 1)):
                above, end = above + (exponent.inner or exponent.xml), exponent.end
            elif sign and sign in _SUPERSCRIPTS:
                above, end = above + f"<mn>{_SUPERSCRIPTS[sign]}</mn>", end + 1
            elif sign == "*" and not self._at(end + 1).isalnum():
                beside, end = beside + _mo("*", **_TIGHT), end + 1
            elif sign == "'" and not base.number and not self._at(end + 1).isalnum():
                beside, end = beside + _mo("′", **_TIGHT), end + 1
            if end == start:
                break
        if end == base.end:
            return base
        parts = "".join(_row(part) for part in (base.xml + beside, below, above) if part)
        tag = "msubsup" if below and above else "msub" if below else "msup" if above else "mrow"
        # A power of a group needs its brackets, also in a fraction.
        return _Part(end, f"<{tag}>{parts}</{tag}>", True)

    @staticmethod
    def _index(name: str) -> str:
        letters, digits = re.match(r"([A-Za-z]*)(\d*)", name).groups()  # type: ignore[union-attr]
        xml = _mi(letters) if letters.upper() in NAMES else "".join(map(_mi, letters))
        if not digits:
            return xml
        return f"<msub>{xml}<mn>{digits}</mn></msub>" if letters else f"<mn>{digits}</mn>"

    def _exponent(self, place: int) -> _Part | None:
        sign = self._at(place) if self._at(place) in ("-", "−", "+") else ""
        first = self.factor(place + len(sign), True)
        if first is None:
            return None
        following = self.factor(first.end, True) if first.number and not sign.isspace() else None
        if following and not following.number and following.factor:
            first = _Part(following.end, first.xml + following.xml)
        xml = (_mo(sign, form="prefix") if sign else "") + (first.inner or first.xml)
        return _Part(first.end, xml)
