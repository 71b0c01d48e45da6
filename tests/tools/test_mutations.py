"""The list of rules that a tool breaks: every text is in the code once, and has tests."""

from pathlib import Path

import pytest

from support.programs import program

ROOT = Path(__file__).parents[2]
mutations = program("tools/mutations.py")
RULES = mutations.listed()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.file}: {rule.why}")
def test_a_rule_is_in_the_code_once_and_has_tests(rule):
    assert mutations.places(rule) == 1
    assert rule.broken != rule.text
    for name in rule.tests.split():
        path, _, test = name.partition("::")
        assert (ROOT / "tests" / path).exists()
        assert not test or f"def {test}" in (ROOT / "tests" / path).read_text(encoding="utf-8")


def test_rules_are_many_and_differ():
    assert len({(rule.file, rule.broken) for rule in RULES}) == len(RULES) >= 40
