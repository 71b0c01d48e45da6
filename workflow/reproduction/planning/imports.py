"""The code that a job runs, as one hash: every module of the project that its function imports, in turn.

Snakemake sees the script of a rule, but not what that imports. With `code_hash` in the ``params`` of a rule,
an edit of a module runs again what depends on it, and nothing else. Imports are found by reading the
statements, so that nothing is imported for it. The bytes of a file count, comments included.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Where the packages of the project are; those of papers may be outside of the repository as well.
FOLDERS = {
    "ldpfrontier": ROOT / "src/ldpfrontier",
    "ldpsurvey": ROOT / "src/ldpsurvey",
    "reproduction": ROOT / "workflow/reproduction",
    "papers": ROOT / "workflow/papers",
    "beyond": ROOT / "workflow/beyond",
    "open_questions": ROOT / "workflow/open_questions",
}
SCRIPTS = ROOT / "workflow/scripts"

Import = ast.Import | ast.ImportFrom


def code_hash(*modules: str, beside: Path = SCRIPTS) -> str:
    """Return the SHA-256 of modules and of all that they import of the project, 64 hexadecimal digits.

    The modules have dotted names. One outside of the packages is in the folder `beside`, by default that of
    the scripts, so that ``compute`` is one of them.
    """
    files = imported_modules(*modules, beside=beside)
    text = "\n".join(f"{name}: {hashlib.sha256(_content(files[name])).hexdigest()}" for name in sorted(files))
    return hashlib.sha256(text.encode()).hexdigest()


def imported_modules(*modules: str, beside: Path = SCRIPTS) -> dict[str, Path]:
    """Return the files of modules and of all that they import of the project; arguments as of `code_hash`."""
    found: dict[str, Path] = {}
    pending = [*modules]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        path = _file(name, beside)
        if path is None:
            raise ValueError(f"There is no module {name} in the project, and none in {beside}.")
        found[name] = path
        pending += _imports(name, beside)
    return found


@cache
def _file(module: str, beside: Path) -> Path | None:
    """Return the file of a module, or None if it is not the project's."""
    top, *rest = module.split(".")
    folders = [FOLDERS.get(top, beside / top)]
    if top == "papers":
        folders = [Path(folder) for folder in importlib.import_module("papers").__path__]
    for folder in folders:
        path = folder.joinpath(*rest)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate
    return None


@cache
def _imports(module: str, beside: Path) -> list[str]:
    """Return the modules of the project that a module imports by itself."""
    path = _file(module, beside)
    assert path is not None
    tree = ast.parse(_content(path))
    # A package may import on first use what it names for type checkers.
    nodes = _names_of(tree) if path.name == "__init__.py" else _executed(tree.body)
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
            within = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*within, *filter(None, [node.module])])
            found += [_definer(base, alias.name, beside) for alias in node.names]
    return [name for name in dict.fromkeys(found) if _file(name, beside)]


def _definer(package: str, name: str, beside: Path) -> str:
    """Return the module that ``from package import name`` is about: of a package, the one that defines it."""
    if _file(f"{package}.{name}", beside):
        return f"{package}.{name}"
    path = _file(package, beside)
    if path is not None and path.name == "__init__.py":
        for node in _names_of(ast.parse(_content(path))):
            if isinstance(node, ast.ImportFrom) and name in {x.asname or x.name for x in node.names}:
                return node.module or package
    return package


def _names_of(tree: ast.Module) -> list[Import]:
    return [node for node in ast.walk(tree) if isinstance(node, Import)]


def _executed(body: Iterable[ast.AST]) -> Iterator[Import]:
    """Yield the imports among statements, and in those, that are not for type checkers alone."""
    for node in body:
        if isinstance(node, Import):
            yield node
        is_checked = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            if not (is_checked and block == "body"):
                yield from _executed(getattr(node, block, ()))


@cache
def _content(path: Path) -> bytes:
    """Return the content of a file: the same during all of a process, whatever becomes of it."""
    return path.read_bytes()
