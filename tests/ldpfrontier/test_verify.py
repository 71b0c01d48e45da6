"""The checker of certificates: it runs alone, says what is proved, and refuses what is not a proof."""

from __future__ import annotations

import ast
import copy
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from ldpfrontier import verify

FILE = Path(verify.__file__)

#: Two inputs, equally likely, with ratios of at most 3; the optimum is ln 2 - h(1/4) = 0.13081203594113694...
TWO: dict[str, Any] = {
    "format": "ldp-frontier certificate",
    "version": "1",
    "utility": {"kind": "mutual information", "prior": ["0.5", "0.5"]},
    "channel": {"denominator": "4", "rows": [["3", "1"], ["1", "3"]]},
    "claims": [
        {
            "kind": "ldp bound",
            "epsilon": "1.0986122886681",
            "t": "3",
            "bound": "0.130812035941138",
            "prices": ["0.065406017970569", "0.065406017970569"],
            "trees": [["?0", "?1", "3", "2", "?1", "2", "1"]],
        },
        {"kind": "utility", "at least": "0.130812035941136"},
        {"kind": "local privacy", "epsilon": "1.0986122886682", "t": "3"},
    ],
}


def code_of(content: Any, tmp_path: Path) -> tuple[int, str]:
    """Write a document, or a text, check it, and return the exit code and what is said."""
    path = tmp_path / "certificate.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return verify.check_file(path)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    document = copy.deepcopy(TWO)
    change(document)
    return document


# The program ----------------------------------------------------------------------------------------------


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert all(node.level == 0 for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names) | {"__future__"}
    assert "float(" not in FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["elsewhere", "in place"])
def test_it_runs_as_a_file(tmp_path: Path, place: str) -> None:
    """Copied alone, without the packages of this environment; and where it lies, beside a module `types`."""
    program = FILE
    if place == "elsewhere":
        program = Path(shutil.copy(FILE, tmp_path / "verify.py"))
    (tmp_path / "json.py").write_text("raise SystemExit(0)")
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(TWO))
    bad.write_text(json.dumps(changed(lambda d: d["claims"][0].update(bound="0.13"))))
    done = [
        subprocess.run(
            [sys.executable, "-S", "-E", program, *files], capture_output=True, text=True, cwd=tmp_path
        )
        for files in ([good], [bad], [good, tmp_path / "none", bad], [], [bad, good])
    ]
    assert [d.returncode for d in done] == [0, 1, 2, 2, 1], done
    assert done[2].stdout.count("\n") == 3
    assert done[0].stdout == (
        f"{good}: proved. No mechanism with ratios at most e^1.0986122886681 has more than 0.130812035942"
        " nats; the mechanism in this file has 0.130812035941 nats; the mechanism in this file has ratios at"
        " most e^1.098613 (local privacy).\n"
    )


# Numbers --------------------------------------------------------------------------------------------------


@mpmath.workdps(120)
def test_ends_enclose_and_are_near() -> None:
    rng = np.random.default_rng(0)
    texts = [f"{x:.30f}" for x in rng.random(100) * 10.0 ** rng.integers(-20, 20, 100)]
    texts += ["1.00000000000000000000000000000001", "0.9999999999999999999999", "2", "1e-30"]
    for text in texts:
        x = verify.Decimal(text)
        low, high = verify.ln(x)
        assert mpmath.mpf(str(low)) < mpmath.log(mpmath.mpf(str(x))) < mpmath.mpf(str(high))
        assert high - low <= abs(high) * verify.Decimal("1e-48")
        low, high = verify.log(x)
        assert mpmath.mpf(str(low)) <= mpmath.log(mpmath.mpf(str(x))) < mpmath.mpf(str(high))
        assert high - low <= verify.Decimal("1.4e-23")
        low, high = verify.exp(y := verify.LOW.remainder(x, 100))
        assert mpmath.mpf(str(low)) < mpmath.exp(mpmath.mpf(str(y))) < mpmath.mpf(str(high))
        low, high = verify.quotient(verify.ONE, x)
        with verify.decimal.localcontext(verify.EXACT):
            assert low * x <= 1 <= high * x
    assert verify.ln(verify.ONE) == (0, 0)
    low, high = verify.exp(verify.ZERO)
    assert low <= 1 <= high


@mpmath.workdps(60)
def test_fast_logarithms_enclose_where_their_series_is_worst() -> None:
    """Just below the next number of nine bits z is largest, and what is left out of the series."""
    for n in (1, 511, 512, (257 << 90) - 1, (257 << 9) - 1, (258 << 400) - 1, (1 << 20_000) - 1, 10**400):
        true = mpmath.log(n) * 2**verify.BITS
        assert 0 <= true - verify.whole_log(n) < 8


# What is refused ------------------------------------------------------------------------------------------

MALFORMED = {
    "no JSON": ("{", "not JSON"),
    "a list": ("[]", "no object"),
    "nested": ("[" * 100_000, "not JSON"),
    "twice": ('{"format": "a", "format": "b"}', "occurs twice"),
    "number": (json.dumps(changed(lambda d: d["claims"][0].update(bound=0.2))), "'0.2' is no number"),
    "exponent": (changed(lambda d: d["claims"][0].update(bound="1e999999999")), "no number"),
    "digits": (changed(lambda d: d["claims"][0].update(bound="1" * 500)), "no number"),
    "new line": (changed(lambda d: d["claims"][0].update(bound="1\n")), "no number"),
    "unknown key": (changed(lambda d: d.update(more="1")), "'more' is unknown"),
    "missing key": (changed(lambda d: d["claims"][0].pop("t")), "'t' is missing"),
    "version": (changed(lambda d: d.update(version="2")), "version '1'"),
    "kind": (changed(lambda d: d["claims"][0].update(kind="faith")), "'faith', which is unknown"),
    "utility": (changed(lambda d: d["utility"].update(kind="joy")), "not mutual information"),
    "weights": (changed(lambda d: d["utility"].update(prior=["0", "0"])), "sum to 0"),
    "rows": (changed(lambda d: d["channel"]["rows"].pop()), "list of 2 rows"),
    "ragged": (changed(lambda d: d["channel"]["rows"][0].append("0")), "another length"),
    "too many zeros": (changed(lambda d: d["channel"]["rows"][0].append("0*9999999")), "more than"),
    "row sum": (changed(lambda d: d["channel"].update(denominator="5")), "does not sum"),
    "no channel": (changed(lambda d: d.pop("channel")), "needs a channel"),
    "prices": (changed(lambda d: d["claims"][0]["prices"].pop()), "list of 2 numbers"),
    "dropped leaf": (changed(lambda d: d["claims"][0]["trees"][0].pop()), "lacks leaves"),
    "added leaf": (changed(lambda d: d["claims"][0]["trees"][0].append("1")), "where it cannot be"),
    "a tree as text": (changed(lambda d: d["claims"][0].update(trees=["1"])), "no list of one or more nodes"),
    "split": (changed(lambda d: d["claims"][0].update(trees=[["?2", "1", "1"]])), "where it cannot be"),
    "leaf": (changed(lambda d: d["claims"][0].update(trees=[["0"]])), "above 0"),
    "t": (changed(lambda d: d["claims"][0].update(t="0.5")), "below 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(tmp_path: Path, name: str) -> None:
    content, words = MALFORMED[name]
    code, said = code_of(content, tmp_path)
    assert code == 2, said
    assert re.match("malformed: .*" + re.escape(words), said), said


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    assert verify.check_file(tmp_path / "none.json") == (2, "there is no such file.")
    assert verify.check_file(tmp_path)[1].startswith("cannot be read: ")


FALSE = {
    "a lower bound": lambda d: d["claims"][0].update(bound="0.130812035941136"),
    "a lower price": lambda d: d["claims"][0].update(prices=["0.065406017970567"] * 2),
    "a larger level": lambda d: d["claims"][0].update(epsilon="1.0986122886682"),
    "another prior": lambda d: d["utility"].update(prior=["0.5", "0.49"]),
    "another leaf": lambda d: d["claims"][0]["trees"][0].__setitem__(3, "2.1"),
    "a root": lambda d: d["claims"][0].update(trees=[["2"]]),
    "more utility": lambda d: d["claims"][1].update({"at least": "0.130812035941138"}),
    "a smaller level": lambda d: d["claims"][2].update(epsilon="1.0986122886681"),
    "a zero": lambda d: d["channel"].update(rows=[["4", "0"], ["1", "3"]]),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_claims_are_refused(tmp_path: Path, name: str) -> None:
    code, said = code_of(changed(FALSE[name]), tmp_path)
    assert (code, said[:10]) == (1, "NOT PROVED"), said


@pytest.mark.parametrize(
    ("kind", "code"), [("privacy at the table", 0), ("privacy given U", 0), ("local privacy", 1)]
)
def test_an_output_of_impossible_inputs_alone(tmp_path: Path, kind: str, code: int) -> None:
    """Its mean is 0, exactly, for every sensitive value."""
    document = changed(lambda d: d.update(utility={"kind": "mutual information", "table": [["1", "0"]] * 2}))
    document["channel"] = {"denominator": "1", "rows": [["1", "0"], ["0", "1"]] * 2}
    document["claims"] = [{"kind": kind, "epsilon": "0", "t": "1"}]
    assert code_of(document, tmp_path)[0] == code


def test_the_work_of_all_claims_is_checked_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document with many claims about a long sum would take days; one as large as allowed is checked."""
    document, claims = verify.read_document(changed(lambda d: d["claims"].extend(100 * d["claims"])))
    needed = sum(verify.work(document, claim) for claim in claims)
    assert needed == 101 * sum(verify.work(document, claim) for claim in TWO["claims"])
    monkeypatch.setattr(verify, "MAX_WORK", needed)
    verify.read_document({**TWO, "claims": claims})
    monkeypatch.setattr(verify, "MAX_WORK", needed - 1)
    monkeypatch.setattr(verify, "RULES", dict.fromkeys(verify.RULES))  # none is begun
    with pytest.raises(verify.Malformed, match=f"about {needed} terms; at most {needed - 1} are checked"):
        verify.check({**TWO, "claims": claims})


def test_the_columns_of_approximate_privacy_are_counted() -> None:
    """A claim about 7 inputs takes seconds, so that a short document could take days."""
    claim = dict.fromkeys(("epsilon", "delta", "bound"), "1") | {"kind": "approximate bound", "t": "3"}
    claim |= {"prices": ["1"] * 7, "excess prices": [["1"] * 7] * 7}
    document = {**TWO, "utility": {"kind": "mutual information", "prior": ["1"] * 7}, "claims": [claim] * 99}
    del document["channel"]
    with pytest.raises(verify.Malformed, match="terms; at most"):
        verify.check(document)


def test_pairs_of_sensitive_values_are_counted_before_they_are_listed() -> None:
    many = {**TWO, "utility": {"kind": "mutual information", "table": [["1"]] * 50_000}}
    del many["channel"]
    claim = dict.fromkeys(("bound", "epsilon"), "1") | {"kind": "association bound", "t": "3"}
    claim |= {"prices": ["1"] * 50_000, "tree": ["1"], "cuts": [{}], "odds": [[["1"]]]}
    with pytest.raises(verify.Malformed, match="no list of 1249975000 tables"):
        verify.check({**many, "claims": [claim]})


@pytest.mark.parametrize("kind", ["channel", "questionnaire"])
def test_other_files_of_the_project_are_told_where_their_level_is(kind: str, tmp_path: Path) -> None:
    """By the name of a file that is there."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"format": f"ldp-frontier {kind}", "version": 4}), encoding="utf-8")
    assert "is in the file beside it that ends in .certificate.json" in verify.check_file(path)[1]
    (tmp_path / "c.certificate.json").touch()
    assert verify.check_file(path)[1].endswith("; the certificate of this channel is c.certificate.json.")
