"""The SHA-256 of every result, in the form of ``sha256sum``, so that one that was edited by hand is found.

A run removes from the list what it is going to make, and adds what it has made. What is in the list is
compared whenever the workflow is read. The time of the list is that at which nothing in it had been changed.
So only files whose status has changed since are read for this; no edit can set that time back.

Needs the standard library alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import file_digest
from pathlib import Path

#: The list, with names relative to its folder.
SUMS = Path("results/SHA256SUMS")


def remove(outputs: Iterable[Path | str], path: Path = SUMS) -> None:
    """Take files, and what is in folders, from the list: they are made again."""
    names = {_name(output, path) for output in outputs}
    known = read(path)
    kept = {
        name: digest
        for name, digest in known.items()
        if not names & {name, *(parent.as_posix() for parent in Path(name).parents)}
    }
    if kept != known:
        _write(kept, path, _now(path))


def add(outputs: Iterable[Path | str], path: Path = SUMS) -> None:
    """Add to the list the files among outputs, and those in folders, that it does not have."""
    known, now = read(path), _now(path)
    new = {
        name: _digest(file)
        for output in outputs
        for file in _files(Path(output))
        if (name := _name(file, path)) not in known
    }
    _write({**known, **new}, path, now)


def changed(path: Path = SUMS) -> list[str]:
    """Return the names of the files that were edited since they were made; a missing file is none of them."""
    found = []
    for name, digest in read(path).items():
        file = path.parent / name
        if file.is_file() and file.stat().st_ctime_ns >= path.stat().st_mtime_ns and _digest(file) != digest:
            found.append(file.as_posix())
    return found


def warning(path: Path = SUMS) -> str:
    """Return a sentence about the files that were changed; empty if there are none."""
    if not (names := changed(path)):
        return ""
    shown = ", ".join([*names[:5], *([f"and {len(names) - 5} more"] if len(names) > 5 else [])])
    return (
        f"These results were changed after they had been made: {shown}. Delete them and run the workflow"
        f" again; they are made anew. {path} has the digests of all results."
    )


def read(path: Path = SUMS) -> dict[str, str]:
    """Return the digests by name; none if there is no list. Lines without a digest are skipped."""
    if not path.is_file():
        return {}
    lines = (line.split("  ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    return {line[1]: line[0] for line in lines if len(line) == 2}


def _now(path: Path) -> int:
    """Return the time by the clock of the file system, ns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    partial.write_bytes(b"")
    return partial.stat().st_mtime_ns


def _write(digests: dict[str, str], path: Path, now: int) -> None:
    """Write the list, as of the given time if nothing in it has been changed."""
    if changed(path):
        now = path.stat().st_mtime_ns
    partial = _partial(path)
    lines = (f"{digests[name]}  {name}\n" for name in sorted(digests))
    partial.write_text("".join(lines), encoding="utf-8")
    os.utime(partial, ns=(now, now))
    os.replace(partial, path)


def _partial(path: Path) -> Path:
    return path.with_name(f".{os.getpid()}.{path.name}")


def _name(output: Path | str, path: Path) -> str:
    return Path(os.path.relpath(output, path.parent)).as_posix()


def _files(output: Path) -> Iterator[Path]:
    if output.is_dir():
        yield from (file for file in sorted(output.rglob("*")) if _is_result(file))
    elif output.is_file():
        yield output


def _is_result(file: Path) -> bool:
    """Whether a file of a folder is one of the results: Snakemake leaves a hidden one in each."""
    return file.is_file() and not file.name.startswith(".")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
