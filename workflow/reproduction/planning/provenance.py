"""The provenance of a result: hashes of the code and of the configuration, and versions of packages.

Snakemake does not see the modules that a script imports. The hash of a job's code is that of the syntax
trees of all modules of the project that its script and its function import, directly or not (the closure of
the import graph, found by depth-first search). With `code_hash` in the ``params`` of a rule, an edit of a
module runs again what depends on it, and nothing else.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

#: The packages of the project: the library and the reproduction, by their folders in the repository.
FOLDERS = {
    "ldpfrontier": "src/ldpfrontier",
    "reproduction": "workflow/reproduction",
    "papers": "workflow/papers",
}
PACKAGES = ("clarabel", "cvxpy", "highspy", "matplotlib", "numpy", "pandas", "pyarrow", "scipy")

_ROOT = Path(__file__).resolve().parents[3]
_NOTHING: Mapping[str, Path] = {}


def code_hash(*sources: str | Path, root: Path = _ROOT, outside: Mapping[str, Path] = _NOTHING) -> str:
    """Hash the code that modules and scripts run, as far as it belongs to the project.

    The hash covers the files and, transitively, every module of the library and of the reproduction (and, for
    a script, every module beside it) that they import. A name imported from a package is followed to the
    module that defines it, so
    that an ``__init__`` that re-exports everything does not tie everything together. Comments, docstrings and
    layout do not count, nor do imports under ``if TYPE_CHECKING``.

    Parameters
    ----------
    *sources : str or Path
        Dotted names of modules of the project, or paths of scripts, all in one folder.
    root : Path
        The repository.
    outside : mapping of str to Path
        Folders of packages outside of it, such as ``papers.mine``, by their names.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ValueError
        If there is no such module or script, or the scripts are in several folders.
    """
    modules, links = imported_modules(*sources, root=root, outside=outside)
    text = [f"{module}: {_digest(_read(path)[1])}" for module, path in sorted(modules.items())]
    return _digest("\n".join(text + sorted(links)))


def imported_modules(
    *sources: str | Path, root: Path = _ROOT, outside: Mapping[str, Path] = _NOTHING
) -> tuple[dict[str, Path], set[str]]:
    """Return the files of all modules that sources import, directly or not, and what names stand for."""
    folders = {source.parent for source in sources if isinstance(source, Path)}
    if len(folders) > 1:
        raise ValueError(f"The scripts are in {', '.join(map(str, sorted(folders)))}; allowed is one folder.")
    graph = _graph(root, next(iter(folders), None), outside)
    pending = []
    for source in sources:
        start = f"{graph.SCRIPT}{source.stem}" if isinstance(source, Path) else source
        if graph.file(start) is None:
            raise ValueError(f"There is no module or script {source}; {root} has no such file.")
        pending.append(start)
    seen, links = dict[str, Path](), set[str]()
    while pending:
        module = pending.pop()
        path = graph.file(module)
        if module in seen or path is None:
            continue
        seen[module] = path
        for name, (target, original) in graph.imports(module):
            # What a name stands for, when a package re-exports it, is part of the code.
            links.add(f"{name} = {target}:{original}")
            pending.append(target)
    return seen, links


class _Graph:
    """Imports between the files of the project's packages and of one directory of scripts."""

    SCRIPT = "script:"

    def __init__(self, root: Path, scripts: Path | None, outside: Mapping[str, Path]) -> None:
        self.root, self.scripts, self.outside = root, scripts, outside
        self._files: dict[str, Path | None] = {}
        self._imported: dict[str, list[tuple[str, tuple[str, str]]]] = {}

    def file(self, module: str) -> Path | None:
        """Return the file of a module, or None if it is not the project's."""
        if module not in self._files:
            self._files[module] = self._find(module)
        return self._files[module]

    def _find(self, module: str) -> Path | None:
        top, *parts = module.split(".")
        if top.startswith(self.SCRIPT) and self.scripts:
            path = self.scripts.joinpath(top.removeprefix(self.SCRIPT), *parts)
        elif (package := ".".join([top, *parts[:1]])) in self.outside:
            path = self.outside[package].joinpath(*parts[1:])
        elif top in FOLDERS:
            path = self.root.joinpath(FOLDERS[top], *parts)
        else:
            return None
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate
        return None

    def imports(self, module: str) -> list[tuple[str, tuple[str, str]]]:
        """Return the imported names, each with the module that defines it and its name there."""
        if module not in self._imported:
            self._imported[module] = list(self._find_imports(module))
        return self._imported[module]

    def _find_imports(self, module: str) -> Iterator[tuple[str, tuple[str, str]]]:
        for node in _statements(self.file(module)):
            if isinstance(node, ast.Import):
                names = [(alias.name, "") for alias in node.names]
            else:
                base = self._absolute(module, node)
                names = [(base, alias.name) for alias in node.names]
            for base, name in names:
                if target := self._definer(base, name):
                    yield f"{base}:{name}", target

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        path = self.file(module)
        package = module if path and path.name == "__init__.py" else module.rpartition(".")[0]
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        return f"{package}.{node.module}" if node.module else package

    def _definer(self, base: str, name: str) -> tuple[str, str] | None:
        """Return the module and the name for ``from base import name`` (``import base`` if name is empty)."""
        if base.split(".")[0] not in FOLDERS and not base.startswith(self.SCRIPT):
            return self._definer(f"{self.SCRIPT}{base}", name)
        if name and self.file(f"{base}.{name}"):
            return f"{base}.{name}", ""
        path = self.file(base)
        if path is None:
            return None
        if name and path.name == "__init__.py":
            for node in _exports(path):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._definer(self._absolute(base, node), alias.name)
        return base, name


_frozen: dict[Path, bytes] = {}
#: What is known of the imports between files that are frozen: each is looked for, and looked through, once.
_graphs: dict[tuple[Any, ...], _Graph] = {}


def freeze(files: Mapping[Path, bytes]) -> None:
    """Let code be hashed as some files are at this moment, whatever becomes of them."""
    _frozen.clear()
    _frozen.update(files)
    _graphs.clear()


def _graph(root: Path, scripts: Path | None, outside: Mapping[str, Path]) -> _Graph:
    if not _frozen:
        return _Graph(root, scripts, outside)
    key = root, scripts, *sorted(outside.items())
    return _graphs.setdefault(key, _Graph(root, scripts, outside))


def normalized(source: bytes) -> str:
    """Return the code of a module in one layout, without comments and docstrings."""
    return _parsed(source)[1]


def _statements(path: Path | None) -> list[ast.Import | ast.ImportFrom]:
    return _read(path)[0]


def _exports(path: Path) -> list[ast.ImportFrom]:
    """Return also the imports for type checkers: a package may load on first use what they name."""
    return _read(path)[2]


# A workflow hashes dozens of scripts that share most of their modules, in every job's process: each version
# of a file is read and parsed once.

_Parsed = tuple[list[ast.Import | ast.ImportFrom], str, list[ast.ImportFrom]]


def _read(path: Path | None) -> _Parsed:
    assert path is not None
    return _parsed(_frozen[path] if path in _frozen else _content(path, path.stat().st_mtime_ns))


@cache
def _content(path: Path, modified: int) -> bytes:
    return path.read_bytes()


@cache
def _parsed(source: bytes) -> _Parsed:
    tree = ast.parse(source)
    statements: list[ast.Import | ast.ImportFrom] = []
    exports: list[ast.ImportFrom] = []
    _sift(tree, statements, exports)
    return statements, ast.unparse(tree), exports


#: Where a statement has others; what is in none of them, such as an expression, has no import.
_BLOCKS = "body", "handlers", "orelse", "finalbody", "cases"


def _sift(
    node: ast.AST,
    statements: list[ast.Import | ast.ImportFrom],
    exports: list[ast.ImportFrom],
    runs: bool = True,
) -> None:
    """Remove the docstrings from a statement and those in it, and collect its imports.

    Parameters
    ----------
    node : AST
        Changed in place.
    statements, exports : list
        To be continued by the imports that run, and by those of names from modules that run or do not.
    runs : bool
        Whether the statement runs, rather than being for type checkers alone.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        if runs:
            statements.append(node)
        if isinstance(node, ast.ImportFrom):
            exports.append(node)
        return
    is_checked = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for block in _BLOCKS:
        for inner in getattr(node, block, ()):
            _sift(inner, statements, exports, runs and not (is_checked and block == "body"))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del node.body[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def configuration_hash(configuration: Mapping[str, Any]) -> str:
    """Hash a configuration by its content: the order of the keys does not count.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return _digest(json.dumps(configuration, sort_keys=True))


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that compute and write results."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def result_metadata(code: str, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a result file: `code` is the hash that its rule has in ``params``."""
    return {
        "code_hash": code,
        # Not by an import statement: the list of exports is no part of what a job runs.
        "code_version": import_module("ldpfrontier").__version__,
        "configuration_hash": configuration_hash(configuration),
        "packages": package_versions(),
    }
