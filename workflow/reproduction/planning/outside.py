"""What a configuration takes from outside the repository: files beside it, or in the working directory."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.planning.configuration import ConfigurationError
from reproduction.planning.own_mechanisms import OwnMechanism, own_mechanisms


def folders_of(files: Sequence[Path | str]) -> list[Path]:
    """Return where to look: beside the files of configuration, the last one first, then where one works."""
    return [*dict.fromkeys([*(Path(file).parent for file in reversed(files)), Path()])]


def locate_papers(configuration: dict[str, Any], folders: Sequence[Path]) -> list[str]:
    """Write the folders of the papers into the configuration, relative to the working directory; return them.

    The configuration is not checked yet: what `papers` has is left alone if it is no list of texts.
    """
    named = configuration.get("papers")
    if not (isinstance(named, list) and all(isinstance(path, str) for path in named)):
        return []
    found = [next((f / path for f in folders if (f / path).is_dir()), Path(path)) for path in named]
    configuration["papers"] = [os.path.relpath(path) for path in found]
    return list(configuration["papers"])


def locate_files(configuration: Mapping[str, Any], folders: Sequence[Path]) -> None:
    """Write the paths of the user's files of data into the configuration, relative to the working directory.

    The configuration is not checked yet: what names no file is left alone.
    """
    tables, adult = configuration.get("data"), configuration.get("adult")
    for entry in (*(tables.values() if isinstance(tables, dict) else ()), adult):
        named = entry.get("file") if isinstance(entry, dict) else None
        if isinstance(named, str) and not Path(named).is_absolute():
            found = next((folder / named for folder in folders if (folder / named).is_file()), None)
            entry["file"] = named if found is None else os.path.relpath(found)


def locate_mechanisms(configuration: Mapping[str, Any], folders: Sequence[Path]) -> None:
    """Write the file of every mechanism of the user's own into its entry, relative to the working directory.

    The folders are searched in their order; a mechanism whose module or function is not there is refused.
    """
    problems = []
    for key, section in configuration.items():
        for own in own_mechanisms(section).values():
            try:
                file = os.path.relpath(_file_of(own, folders))
            except ConfigurationError as problem:
                problems.append(
                    f"{key}.mechanisms: the function of {own.name} is {own.function!r}; {problem}"
                )
                continue
            for entry in section["mechanisms"]:
                if isinstance(entry, dict) and entry["name"] == own.name:
                    entry["file"] = file
    if problems:
        raise ConfigurationError("\n".join(problems))


def _file_of(own: OwnMechanism, folders: Sequence[Path]) -> Path:
    module, _, function = own.function.partition(":")
    for folder in folders:
        file = folder / f"{module}.py"
        if file.is_file():
            break
    else:
        raise ConfigurationError(
            f"there is no file {module}.py beside the configuration or in the working directory:"
            f" {', '.join(map(str, dict.fromkeys(folder.resolve() for folder in folders)))}."
        )
    try:
        defined = set(_names(ast.parse(file.read_text(encoding="utf-8"))))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not Python: {error}.") from None
    if function not in defined:
        raise ConfigurationError(f"{file} has no {function}; allowed is a function that it defines.")
    return file


def _names(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines or imports at its top level."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
