"""What is compiled is kept for all processes, until a module that it was made of changes."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.registry import CPUDispatcher

import ldpfrontier
from ldpfrontier.numerics import jit

NUMBERS = {"None", "bool", "float", "int", "tuple"}
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(ldpfrontier.__path__, "ldpfrontier.")
    if "__main__" not in found.name
]
KERNELS = {
    value: module
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, CPUDispatcher) and value.__module__ == module.__name__
}


def test_what_borrows_arrays_returns_none():
    """Not even a part of an argument: it would be freed too early. Numba refuses those that make arrays."""
    borrowing = [kernel for kernel in KERNELS if not kernel.targetoptions.get("_nrt", True)]
    assert len(borrowing) > 30
    for kernel in borrowing:
        assert set(re.findall(r"\w+", kernel.__annotations__["return"])) <= NUMBERS


def test_kernels_alone_call_what_python_cannot_call():
    """Such a call ends the process: so no other function, and no other statement of a module, names them."""
    inner = {kernel for kernel in KERNELS if kernel.targetoptions.get("no_cpython_wrapper")}
    assert len(inner) > 30
    for module in MODULES:
        names = {name for name, value in vars(module).items() if isinstance(value, CPUDispatcher)}
        names = {name for name in names if vars(module)[name] in inner}
        for statement in ast.parse(inspect.getsource(module)).body if names else []:
            if isinstance(vars(module).get(getattr(statement, "name", "")), CPUDispatcher):
                continue
            named = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            assert not named & names


def test_all_that_kernels_name_is_among_the_sources():
    for kernel, module in KERNELS.items():
        sources = jit._sources(Path(module.__file__))
        for name in kernel.py_func.__code__.co_names:
            home = getattr(vars(module).get(name), "__module__", None) or ""
            if home.startswith("ldpfrontier."):
                assert Path(sys.modules[home].__file__) in sources


CALLED = """
from typing import NamedTuple
from ldpfrontier.numerics.jit import kernel

class {name}(NamedTuple):
    x: float

@kernel
def halved(pair):
    return pair.x / {divisor}
"""
CALLER = """
from ldpfrontier.called import {name}, halved
from ldpfrontier.numerics.jit import kernel

@kernel
def call(pair):
    return halved(pair)

print(call({name}(6.0)), sum(call.stats.cache_hits.values()))
"""


@pytest.fixture
def tree(tmp_path):
    """Return a folder with a package that has two modules with kernels."""
    library, package = Path(jit.__file__).parents[1], tmp_path / "ldpfrontier"
    shutil.copytree(library / "numerics", package / "numerics", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(library / "base", package / "base", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").touch()
    return tmp_path


def run(tree: Path, name: str = "Pair", divisor: float = 2.0) -> tuple[str, str]:
    """Run a kernel in a process of its own; return what it gives, and how often it was found compiled."""
    for module, text in ("called", CALLED), ("caller", CALLER):
        path, text = tree / f"ldpfrontier/{module}.py", text.format(name=name, divisor=divisor)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    environment = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", "import ldpfrontier.caller"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return value, hits


def test_what_is_kept_notices_changes_of_other_modules(tree):
    """A change of what is called, and that a class is renamed."""
    assert run(tree) == ("3.0", "0")
    assert run(tree) == ("3.0", "1")
    assert run(tree, divisor=3.0) == ("2.0", "0")
    assert run(tree, name="Couple", divisor=3.0) == ("2.0", "0")


def test_a_kept_file_that_is_cut_off_is_compiled_again(tree):
    run(tree)
    for ending, left in (("nbi", 0), ("nbc", 40)):
        (kept,) = (tree / "ldpfrontier/__pycache__").glob(f"caller.*.{ending}")
        kept.write_bytes(kept.read_bytes()[:left])
        assert run(tree) == ("3.0", "0")


def double(x: float) -> float:
    return 2.0 * x


def test_nothing_is_kept_where_nothing_can_be_written(monkeypatch):
    """As in a container whose files are read-only: everything works, and is compiled each time."""

    def njit(cache: bool = False, **options):
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(jit, "njit", njit)
    assert jit.kernel(double)(1.5) == 3.0


def test_compiling_is_announced_once(caplog, monkeypatch):
    """Of what the library compiles; what others compile is theirs to announce."""
    notice = jit._Notice()
    numba.core.event.register("numba:compile", notice)
    try:
        assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0
        assert not notice.said
        monkeypatch.setattr(double, "__module__", "ldpfrontier.example")
        for _ in range(2):
            assert numba.njit(double)(2.0) == 4.0
    finally:
        numba.core.event.unregister("numba:compile", notice)
    said = [record.message for record in caplog.records if "once per installation" in record.message]
    # Besides the listener here, that of the library, unless it has spoken before.
    assert len(said) in (1, 2)


def test_a_file_that_another_process_has_deleted_is_no_error(tmp_path, monkeypatch):
    module, kept = tmp_path / "module.py", tmp_path / "module.kernel.nbi"
    module.touch()
    kept.write_bytes(b"of other sources")

    def gone(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "unlink", gone)
    jit.delete_stale(module, tmp_path)
    assert not (tmp_path / "module.sources").exists()
