"""Compiled functions without a wrapper for Python are called by compiled ones of their module only."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import FunctionType

import numba
import pytest

import ldpfrontier
from ldpfrontier.numerics import jit, numba_compiler

BORROWING = "inlined_late", "inner", "inner_without_nan"
INNER = *BORROWING, "inlined", "inner_with_arrays"
KERNELS = "borrowing_kernel", "kernel"
NUMBERS = {"None", "bool", "float", "int", "tuple"}
PACKAGE = Path(ldpfrontier.__file__).parent
TREES = {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
TESTS = {path: ast.parse(path.read_text()) for path in Path(__file__).parent.rglob("*.py")}


def functions(tree: ast.Module, *decorators: str) -> dict[str, ast.FunctionDef]:
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id in decorators for d in node.decorator_list)
    }


@cache
def called(tree: ast.AST) -> dict[str, set[str]]:
    """Names that are looked up, of "", and those that are imported from a module or are its attributes."""
    found = defaultdict[str, set[str]](set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found[""].add(node.id)
        if isinstance(node, ast.ImportFrom):
            found[(node.module or "").split(".")[-1]] |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found[node.value.id].add(node.attr)
    return found


@pytest.mark.parametrize("path", [p for p in TREES if functions(TREES[p], *INNER)], ids=lambda p: p.stem)
def test_python_does_not_call_inner_functions(path):
    inner = set(functions(TREES[path], *INNER))
    compiled = functions(TREES[path], *INNER, *KERNELS).values()
    assert not any(called(node)[""] & inner for node in TREES[path].body if node not in compiled)
    assert not [other for other, tree in (TREES | TESTS).items() if called(tree)[path.stem] & inner]


def test_what_borrows_arrays_makes_and_returns_none():
    borrowing = [
        function
        for tree in TREES.values()
        for function in functions(tree, *BORROWING, "borrowing_kernel").values()
    ]
    assert len(borrowing) > 50
    for function in borrowing:
        assert function.returns is not None
        assert set(re.findall(r"\w+", ast.unparse(function.returns))) <= NUMBERS
        # Numba refuses to compile what makes arrays without counting: said here before anything is compiled.
        assert not called(function)["np"] & {"empty", "zeros", "ones", "full", "array", "arange"}


def test_there_are_inner_functions():
    assert any(functions(tree, "inner") for tree in TREES.values())


# What is kept --------------------------------------------------------------------------------------------

CALLED = """
from typing import NamedTuple
from ldpfrontier.numerics.jit import {decorator}

class {name}(NamedTuple):
    x: float

@{decorator}
def halved(pair):
    return pair.x / {divisor}
"""
CALLER = """
from ldpfrontier.numerics.jit import kernel
from ldpfrontier_called import {name}, halved

@kernel
def call(pair):
    return halved(pair)

print(call({name}(6.0)), sum(call.dispatcher.stats.cache_hits.values()))
"""


def write_kernel(folder: Path, name: str, divisor: float, decorator: str = "inner") -> None:
    """Write the modules of a kernel; one that is the same stays as it is."""
    called = folder / "ldpfrontier_called.py"
    text = CALLED.format(name=name, divisor=divisor, decorator=decorator)
    if not called.exists() or called.read_text() != text:
        called.write_text(text)
    caller = folder / "caller.py"
    if not caller.exists() or name not in caller.read_text():
        caller.write_text(CALLER.format(name=name))


def run_kernel(folder: Path, name: str, divisor: float, decorator: str = "inner") -> tuple[str, str]:
    """Run a kernel in a process of its own; return what it gives, and how often it was found compiled."""
    write_kernel(folder, name, divisor, decorator)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGE.parent)])}
    run = subprocess.run(
        [sys.executable, "-c", "import caller"], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    value, hits = run.stdout.split()
    return value, hits


def test_what_is_kept_notices_changes_of_other_modules(tmp_path):
    """A change of what is called, that it is compiled otherwise, and that a class is renamed."""
    assert run_kernel(tmp_path, "Pair", 2.0) == ("3.0", "0")
    assert run_kernel(tmp_path, "Pair", 2.0) == ("3.0", "1")
    assert run_kernel(tmp_path, "Pair", 3.0) == ("2.0", "0")
    assert run_kernel(tmp_path, "Pair", 3.0, "inner_with_arrays") == ("2.0", "0")
    assert run_kernel(tmp_path, "Pair", 3.0, "inner_with_arrays") == ("2.0", "1")
    assert run_kernel(tmp_path, "Couple", 3.0, "inner_with_arrays") == ("2.0", "0")


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("left", [0, 40, 200])
def test_a_kept_file_that_is_cut_off_is_compiled_again(tmp_path, ending, left):
    run_kernel(tmp_path, "Pair", 2.0)
    (kept,) = (path for path in (tmp_path / "__pycache__").glob(f"caller.*{ending}"))
    kept.write_bytes(kept.read_bytes()[:left])
    assert run_kernel(tmp_path, "Pair", 2.0) == ("3.0", "0")
    assert run_kernel(tmp_path, "Pair", 2.0) == ("3.0", "1")


def test_processes_that_begin_together_compile_once(tmp_path):
    write_kernel(tmp_path, "Pair", 2.0)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: run_kernel(tmp_path, "Pair", 2.0), range(3)))
    assert sorted(found) == [("3.0", "0"), ("3.0", "1"), ("3.0", "1")]


DOUBLED = """
import sys
import numpy as np
from ldpfrontier.numerics.jit import kernel

@kernel
def doubled(x):
    found = np.empty(len(x))
    for i in range(len(x)):
        found[i] = 2.0 * x[i]
    return found

for kind in sys.argv[1:]:
    print(doubled(np.ones(3, kind)).sum(), "numba.typed.dictimpl" in sys.modules)
"""


def test_what_is_kept_runs_without_what_compiles(tmp_path):
    """With arrays that it makes; and for other types, what is not kept is compiled all the same."""
    (tmp_path / "doubling.py").write_text(DOUBLED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])}

    def run(*kinds: str) -> list[str]:
        command = [sys.executable, "doubling.py", *kinds]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:-1]

    assert run("float64") == ["6.0 True"]
    assert run("float64", "float32") == ["6.0 False", "6.0 True"]
    assert run("float64", "float32") == ["6.0 False", "6.0 False"]


HASHES = """
import importlib, pkgutil
import ldpfrontier
from ldpfrontier.numerics.jit import Kernel, source_hash
for found in pkgutil.walk_packages(ldpfrontier.__path__, "ldpfrontier."):
    if "__main__" not in found.name:
        for name, value in sorted(vars(importlib.import_module(found.name)).items()):
            if isinstance(value, Kernel):
                print(name, sorted(value.targetoptions.items()), source_hash(value.py_func))
"""


def test_what_is_kept_is_found_by_every_process():
    """Of a set in the options, say, the order differs from process to process."""
    texts = [
        subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert texts[0].count("\n") > 30
    assert len(set(texts)) == 1


def test_nothing_is_kept_where_nothing_can_be_written(monkeypatch):
    """As in a container whose files are read-only: everything works, and is compiled each time."""
    monkeypatch.setattr(numba_compiler, "njit", refuse_to_keep)
    assert jit.kernel(double)(1.5) == 3.0


def double(x: float) -> float:
    return 2.0 * x


def refuse_to_keep(cache: bool = False, **options):
    """Compile as numba does that finds no folder to write to."""
    if cache:
        raise RuntimeError("cannot cache function 'double': no locator available")
    return numba.njit(**options)


@jit.inner
def after(which: int) -> int:
    return which + 1


def last_of(count: int) -> int:
    which = -1
    for _ in range(count):
        which = after(which)
    return which


def test_nothing_is_compiled_for_the_number_that_a_variable_begins_with():
    """While types are inferred, the variable has that number as its type."""
    assert numba.njit(last_of)(3) == 2
    assert list(after._for_callers.overloads) == [(numba.int64,)]


def test_compiling_is_announced_once(caplog):
    """Of what the library compiles; what others compile is theirs to announce."""
    notice = numba_compiler._Notice()
    numba.core.event.register("numba:compile", notice)
    try:
        assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0
        assert not notice._said
        for n in (2.0, 3.0):
            own = FunctionType(double.__code__, {"__name__": "ldpfrontier.example"})
            own.__module__ = "ldpfrontier.example"
            assert numba.njit(own)(n) == 2.0 * n
    finally:
        numba.core.event.unregister("numba:compile", notice)
    said = [record.message for record in caplog.records if "once per installation" in record.message]
    # Besides the listener here, that of the library, unless it has spoken before.
    assert len(said) in (1, 2)
