"""The code that a job runs, compared with the code that its run was planned with.

A run hashes the code when it is planned, and its jobs import it later. A file that was edited in between, and
edited back, would leave a result of other code under the hash of this one. So the plan of a run notes the
files of the project (`note`). A job records what it imports and reads of them, at the moment it does
(`watch`), and writes nothing unless that is the code of the plan (`require_planned`). Comments and docstrings
may differ.

A compiled module is used only if it names the hash of its source. The usual one names the size of the source
and its time in whole seconds, which an edit and its revert within one second leave as they were.

This module needs the standard library alone.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from reproduction.planning.provenance import normalized

#: What a run was planned with, in the directory of its results.
PLANNED = Path("results/.code.json")

#: The header of a compiled module (PEP 552): the bytes with its flags, the flags of one that is checked
#: against the hash of its source at every import, and the number of its bytes.
_FLAGS, _CHECKED_HASH, _CODE = slice(4, 8), (0b11).to_bytes(4, "little"), 16

#: Folders of what is compiled.
_COMPILED = "__pycache__"

#: What Snakemake puts before the text of a script ends with this line.
_PREAMBLE_END = b"######## snakemake preamble end #########\n"


class ChangedCode(RuntimeError):
    """The error for a job that ran other code than the plan has; the message names the files."""


# The plan -------------------------------------------------------------------------------------------------


def project_files(folders: Iterable[Path], more: Iterable[Path] = ()) -> dict[Path, bytes]:
    """Return the content of all files in some folders, and of more files, as they are at this moment."""
    found = [path for folder in folders for path in Path(folder).resolve().rglob("*")]
    found += [Path(path).resolve() for path in more]
    return {path: path.read_bytes() for path in found if path.is_file() and _COMPILED not in path.parts}


def note(
    files: Mapping[Path, bytes],
    folders: Iterable[Path],
    jobs: Mapping[str, Mapping[str, Any]] | None = None,
    path: Path = PLANNED,
) -> None:
    """Write down what a run is planned with, for its jobs.

    Parameters
    ----------
    files : mapping of Path to bytes
        As of `project_files`.
    folders : iterable of Path
        Those of the project. A file there that is not among the files is new.
    jobs : mapping of str to mapping, optional
        The parameters of every job by its first output; None if they are not known.
    path : Path
    """
    content = {
        "folders": [f"{Path(folder).resolve()}{os.sep}" for folder in folders],
        "files": {str(file): sha256(text).hexdigest() for file, text in sorted(files.items())},
        # A module that was edited is rare, and the code of one takes long to compare: a job does that.
        "sources": _packed({str(file): text for file, text in sorted(files.items()) if file.suffix == ".py"}),
        "jobs": None if jobs is None else {name: _parameters_hash(jobs[name]) for name in sorted(jobs)},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}{path.name}")
    partial.write_text(json.dumps(content, indent=0), encoding="utf-8")
    os.replace(partial, path)


def _packed(sources: Mapping[str, bytes]) -> str:
    text = json.dumps({file: source.decode("latin-1") for file, source in sources.items()})
    return base64.b64encode(zlib.compress(text.encode(), level=1)).decode()


def _unpacked(packed: str) -> dict[str, bytes]:
    sources: dict[str, str] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return {file: source.encode("latin-1") for file, source in sources.items()}


def _parameters_hash(parameters: Mapping[str, Any]) -> str:
    """Hash the parameters of a job in their order: keys of the configuration may be numbers and texts."""
    return sha256(json.dumps(parameters, default=str).encode()).hexdigest()


# The job --------------------------------------------------------------------------------------------------


class Watch:
    """What this process has imported and read of the files of the project.

    Parameters
    ----------
    planned : mapping
        What `note` wrote.
    """

    def __init__(self, planned: Mapping[str, Any]) -> None:
        self.planned = planned
        self.recorded: dict[str, set[bytes]] = {}
        self._folders = tuple(planned["folders"])
        self._is_reading = False

    def covers(self, path: str) -> bool:
        """Whether a file belongs to the project."""
        return path.startswith(self._folders) or path in self.planned["files"]

    def record(self, path: str, content: bytes) -> None:
        """Record what was imported or read."""
        self.recorded.setdefault(path, set()).add(content)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as Python does; one of the project is loaded by a `_Loader`."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and self.covers(str(spec.origin)):
            spec.loader = _Loader(name, str(spec.origin))
        return spec

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record a file of data when it is opened for reading, as an audit hook; loaders record modules."""
        if event != "open" or self._is_reading or not isinstance(arguments[0], str):
            return
        path, mode = arguments[:2]
        if path.endswith(".py") or _COMPILED in path or "r" not in (mode or ""):
            return
        if self.covers(real := os.path.realpath(path)) and os.path.isfile(real):
            self._is_reading = True
            try:
                self.record(real, Path(real).read_bytes())
            finally:
                self._is_reading = False

    def record_loaded(self) -> None:
        """Record what has been imported before this watch began, and the script that runs."""
        names = {os.path.basename(path) for path in self.planned["files"]}
        for name, module in list(sys.modules.items()):
            spec = getattr(module, "__spec__", None)
            if spec is None or type(spec.loader) is not SourceFileLoader:
                continue
            if os.path.basename(str(spec.origin)) not in names:
                continue
            if not self.covers(path := os.path.realpath(str(spec.origin))):
                continue
            content = Path(path).read_bytes()
            self.record(path, content)
            # The compiled module may be one of another source, see above.
            if spec.loader.get_code(name) != compile(content, path, "exec", dont_inherit=True):
                self.record(path, b"")
        main = sys.modules["__main__"]
        if copied := getattr(main, "__real_file__", None):
            # Snakemake runs a copy of the script, with a preamble.
            source = Path(copied).read_bytes().partition(_PREAMBLE_END)[2]
            self.record(os.path.realpath(str(main.__file__)), source)

    def changed(self) -> list[str]:
        """Return the files that were not as they were planned, relative to the working directory."""
        return sorted(
            os.path.relpath(path)
            for path, contents in self.recorded.items()
            if not all(self._is_planned(path, content) for content in contents)
        )

    def _is_planned(self, path: str, content: bytes) -> bool:
        if sha256(content).hexdigest() == self.planned["files"].get(path):
            return True
        try:
            return path in self._sources and normalized(content) == normalized(self._sources[path])
        except SyntaxError:
            return False

    @cached_property
    def _sources(self) -> dict[str, bytes]:
        return _unpacked(self.planned["sources"])


_watch: Watch | None = None


def watch(path: Path = PLANNED) -> None:
    """Record from now on what this process imports and reads of the project; to be called first of all."""
    global _watch
    if path.is_file():
        _watch = Watch(json.loads(path.read_text(encoding="utf-8")))
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _watch)
        sys.addaudithook(_watch.audit)
        _watch.record_loaded()


def loader(name: str, path: Path | str) -> SourceFileLoader:
    """Return what loads a module of the user's own from its file, so that its code is recorded, too."""
    return _Loader(name, os.path.realpath(path))


def source_of(module: ModuleType) -> str:
    """Return the source of a module as this process has imported it, if it records that."""
    assert module.__spec__ is not None
    assert isinstance(module.__spec__.loader, SourceFileLoader)
    return module.__spec__.loader.get_source(module.__name__) or ""


class _Loader(SourceFileLoader):
    """Loads a module from its source, or from what was compiled of this very source."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, path)
        self._source: bytes | None = None

    def get_data(self, path: str) -> bytes:
        """Return the source, always the same one, or a compiled module that names the hash of its source."""
        if path != self.path:
            data = super().get_data(path)
            if data[_FLAGS] != _CHECKED_HASH:
                raise OSError(f"{path} does not name the hash of its source.")
            return data
        if self._source is None:
            self._source = super().get_data(path)
            if _watch is not None:
                _watch.record(path, self._source)
        return self._source

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write a compiled module with the hash of its source."""
        assert self._source is not None
        made = bytes(data)
        head = made[: _FLAGS.start] + _CHECKED_HASH + importlib.util.source_hash(self._source)
        super().set_data(path, head + made[_CODE:], _mode=_mode)


def require_planned(output: str = "", parameters: Mapping[str, Any] | None = None) -> None:
    """Refuse to go on if this process has run other code, or has other parameters, than the plan says.

    Parameters
    ----------
    output : str
        The first output of the job.
    parameters : mapping, optional
        Those that the job was started with.

    Raises
    ------
    ChangedCode
    """
    if _watch is None:
        raise ChangedCode(
            f"{PLANNED}, which says what code this run was planned with, is missing; allowed is a run without"
            " the option --no-hooks, which writes it."
        )
    if changed := _watch.changed():
        raise ChangedCode(
            f"The code was edited after this run had been planned: {', '.join(changed)}. This job ran the"
            " edited code, so its result is not written. Give the same command again."
        )
    jobs = _watch.planned["jobs"]
    if parameters is not None and jobs is not None and jobs.get(output) != _parameters_hash(parameters):
        raise ChangedCode(
            f"{output} was planned with other code, or with another configuration, than this job was started"
            " with, so it is not written. Give the same command again."
        )
