"""Break the rules that bounds rest on, one at a time, and print those that no test notices.

A bound is only as good as the rules by which it prunes, rounds and ends early, and a wrong one often leaves
all results as they are: a search finds the best mechanism, and nobody asks the bound. So every rule of
`tools/mutations.yaml` is broken in a copy of the tree, and its tests, which pass there as it is, must fail
within the limit of time::

    python tools/mutations.py                     # all, two at a time
    python tools/mutations.py joint uncertainty   # those whose file or reason has one of these texts

The exit code is the number of those that survive.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
#: What tests need, and is copied.
_COPIED = ("src", "tests", "docs", "tools", "workflow", "config", "resources", "pyproject.toml")


class Rule(NamedTuple):
    """A rule, what breaks it, and who should notice."""

    file: str  # below src
    why: str
    text: str  # which occurs there once
    broken: str
    tests: str  # below tests, several with spaces between


def listed() -> list[Rule]:
    """Return the rules of `tools/mutations.yaml`."""
    files = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return [Rule(file, **rule) for file, rules in files.items() for rule in rules]


def places(rule: Rule) -> int:
    """Return how often the text of a rule occurs in its file."""
    return (ROOT / "src" / rule.file).read_text(encoding="utf-8").count(rule.text)


def copied_tree(folder: Path) -> Path:
    """Copy the tree, with what is compiled, so that it need not be compiled again."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy2(source, folder / name)
    return folder


def tested(tree: Path, tests: Iterable[str], processes: int, limit: float | None) -> bool | None:
    """Return whether tests of a tree pass, until the first one fails; None if time is up."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["-n", str(processes), *(f"tests/{name}" for name in tests)]
    path = {"PYTHONPATH": str(tree / "src")}
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=os.environ | path,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    return done.returncode == 0


def seconds_until_noticed(rule: Rule, tree: Path, limit: float) -> float | None:
    """Return after how many seconds a test of a tree fails where a rule is broken; None if none does."""
    path = tree / "src" / rule.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(rule.text, rule.broken), encoding="utf-8")
    start = time.monotonic()
    try:
        passed = tested(tree, rule.tests.split(), 0, limit)
    finally:
        path.write_text(whole, encoding="utf-8")
    return time.monotonic() - start if passed is False else None


def main() -> int:
    """Break the rules chosen; print a line for each, and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("texts", nargs="*", help="parts of files or reasons; all rules by default")
    parser.add_argument("--seconds", type=float, default=180.0, help="limit for each rule (180)")
    parser.add_argument("--at-once", type=int, default=2, help="rules at a time (2)")
    asked = parser.parse_args()
    rules = [
        rule
        for rule in listed()
        if not asked.texts or any(text in f"{rule.file} {rule.why}" for text in asked.texts)
    ]
    for rule in rules:
        if (count := places(rule)) != 1:
            parser.error(f"{rule.file} has the text of a rule {count} times: {rule.text}")
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        trees = Queue[Path]()
        for number in range(asked.at_once):
            trees.put(copied_tree(Path(folder) / str(number)))

        every = {name for rule in rules for name in rule.tests.split()}
        if not tested(Path(folder) / "0", sorted(every), asked.at_once, None):
            parser.error("A test fails where no rule is broken.")

        def run(rule: Rule) -> float | None:
            tree = trees.get()
            try:
                return seconds_until_noticed(rule, tree, asked.seconds)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(asked.at_once) as pool:
            for rule, seconds in zip(rules, pool.map(run, rules), strict=True):
                outcome = "SURVIVES" if seconds is None else f"{seconds:5.1f} s"
                print(f"{outcome}  {rule.file}: {rule.why}", flush=True)
                if seconds is None:
                    survivors.append(rule)
    print(f"{len(survivors)} of {len(rules)} survive")
    for rule in survivors:
        print(f"  {rule.file}: {rule.text!r} -> {rule.broken!r}")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main())
