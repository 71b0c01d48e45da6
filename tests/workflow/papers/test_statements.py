"""Every numbered statement of the papers has an entry on its page: how it was checked, or why it was not."""

import re
from pathlib import Path

import pytest

from reproduction.ledger.claims import claims_of
from reproduction.planning.paper import papers

ROOT = Path(__file__).parents[3]
PAPERS = papers()


def named(kind, numbers):
    return [f"{kind} {number}" for number in numbers]


#: What the papers number: theorems, propositions, corollaries and lemmas, with those of the appendices.
NUMBERED = {
    "kairouz2016": [
        *named("Theorem", [2, 4, 5, 6, 7, 8, 12, 13, 14, 18, 19, 20, 21]),
        *named("Corollary", [9, 10, 11, 15, 16]),
        *named("Proposition", [17]),
        *named("Lemma", range(22, 28)),
    ],
    "liao2017": [
        *named("Theorem", [1, 2, 3]),
        *named("Proposition", [1]),
        *named("Corollary", [1]),
        *named("Lemma", range(1, 6)),
    ],
    "kalantari2018": [*named("Theorem", [1, 2, 3]), *named("Corollary", [1]), *named("Lemma", range(1, 11))],
    "lopuhaa2024": [
        *named("Theorem", range(1, 7)),
        *named("Proposition", [1, 2, 3]),
        *named("Lemma", [1, 2, 3, *(f"A{i}" for i in range(1, 9))]),
    ],
}


def entries(key):
    """Return what became of each statement of a page, by its name."""
    page = (ROOT / f"docs/reproduction/{key}.md").read_text(encoding="utf-8")
    section = page.partition("## Every numbered statement\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.M)[1:])


@pytest.mark.parametrize("key", NUMBERED)
def test_every_numbered_statement_has_an_entry(key):
    found = entries(key)
    numbered = [name for name in found if re.fullmatch(r"(Theorem|Proposition|Corollary|Lemma) A?\d+", name)]
    assert sorted(numbered) == sorted(NUMBERED[key])
    known = {claim.id for claim in claims_of(PAPERS[key])}
    for name, entry in found.items():
        word, _, rest = entry.partition(": ")
        assert word in ("checked", "step", "proved", "not checked"), name
        cited = set(re.findall(r"\b(?:K|Ka|L|Li)-[A-Z]\d+[a-z]?\b", rest))
        assert cited <= known, name
        assert cited or word not in ("checked", "step") or "errata" in rest, name
        for file in re.findall(r"tests/[\w/]+\.py", rest):
            assert (ROOT / file).is_file(), name


def test_claims_on_numbered_statements_are_among_them():
    """A claim of the ledger on a theorem is cited by the entry of that theorem."""
    for key, names in NUMBERED.items():
        found = entries(key)
        for claim in claims_of(PAPERS[key]):
            for name in names:
                if re.search(rf"{name}\b", claim.where) or claim.where.startswith(f"{name},"):
                    assert claim.id in found[name], (claim.id, name)


def test_how_many():
    """The numbers that the README and the report quote."""
    words = [
        entry.partition(":")[0] for key, names in NUMBERED.items() for name in names
        for entry in [entries(key)[name]]
    ]  # fmt: skip
    assert len(words) == 69
    counted = {word: words.count(word) for word in set(words)}
    assert counted == {"checked": 39, "step": 14, "proved": 14, "not checked": 2}
