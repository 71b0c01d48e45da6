"""Compiled functions without a wrapper for Python are called by compiled ones of their module only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ldpfrontier

INNER = "inlined", "inlined_late", "inner", "inner_without_nan"
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


def called(tree: ast.AST, module: str = "") -> set[str]:
    """Names that are looked up, or, of a module, those that are imported from it or are its attributes."""
    found = set()
    for node in ast.walk(tree):
        if not module and isinstance(node, ast.Name):
            found.add(node.id)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == module:
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module:
            found.add(node.attr)
    return found


@pytest.mark.parametrize("path", [p for p in TREES if functions(TREES[p], *INNER)], ids=lambda p: p.stem)
def test_python_does_not_call_inner_functions(path):
    inner = set(functions(TREES[path], *INNER))
    compiled = functions(TREES[path], *INNER, "kernel").values()
    assert not any(called(node) & inner for node in TREES[path].body if node not in compiled)
    assert not [other for other, tree in (TREES | TESTS).items() if called(tree, path.stem) & inner]


def test_there_are_inner_functions():
    assert any(functions(tree, "inner") for tree in TREES.values())
