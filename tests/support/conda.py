"""A stand-in for conda, which answers what Snakemake asks of it and makes an environment by other means.

An environment is the interpreter of the caller, or a virtual environment into which pip installs what the
file of the environment lists, in the versions of `constraints.txt`. Of the latter, every process notes what
it imported.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
#: Conda's names, where they differ from those of PyPI.
NAMES = {"cvxpy": "cvxpy-base", "matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}

NOTE = """
import atexit, json, sys

@atexit.register
def note():
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    with open({notes!r}, "a") as lines:
        lines.write(json.dumps([sys.argv[0], sys.prefix, [file for file in files if file]]) + "\\n")
"""


def requirements(path: Path) -> list[str]:
    """Return the packages that a file of an environment lists, by the names of PyPI, with their versions."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]
    flat = [x for entry in listed for x in (entry["pip"] if isinstance(entry, dict) else [entry])]
    pypi = {conda: name for name, conda in NAMES.items()}
    found = []
    for entry in flat:
        name, versions = re.fullmatch(r"([\w.-]+)(.*)", entry).groups()
        if not entry.startswith("-") and name not in ("python", "pip"):
            found.append(pypi.get(name, name) + versions)
    return found


def install(folder: Path, *, with_packages: bool = False) -> str:
    """Put the program into a folder, and return the PATH that begins with it.

    The folder gets a copy of the file of the environment that is made, ``environment.yaml``, and the notes of
    its processes, ``notes.jsonl``: what was run, the prefix of the interpreter, and the files of the modules.
    """
    tools = folder / "bin"
    tools.mkdir(parents=True)
    kind = "packages" if with_packages else "caller"
    (tools / "conda").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -P "{__file__}" "{folder}" {kind} "$@"\n'
    )
    (tools / "conda").chmod(0o755)
    (tools / "activate").write_text('export PATH="$1/bin:$PATH"\n')
    return f"{tools}:{os.environ['PATH']}"


def create(prefix: Path, file: Path, folder: Path, kind: str) -> None:
    """Make an environment from its file."""
    (folder / "environment.yaml").write_bytes(file.read_bytes())
    if kind == "caller":
        (prefix / "bin").mkdir(parents=True)
        interpreter = prefix / "bin/python"
        interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        interpreter.chmod(0o755)
        return
    subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
    pip = [prefix / "bin/python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, *requirements(file)], check=True)
    (packages,) = prefix.glob("lib/python*/site-packages")
    (packages / "noting.py").write_text(NOTE.format(notes=str(folder / "notes.jsonl")))
    (packages / "noting.pth").write_text("import noting\n")


def main(folder: str, kind: str, *asked: str) -> None:
    """Answer one command."""
    if asked == ("info", "--json"):
        print(json.dumps({"conda_prefix": folder, "platform": "linux-64"}))
    elif asked == ("--version",):
        print("conda 24.9.0")
    elif asked[:2] == ("config", "--get"):
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif asked[:2] == ("env", "create"):
        prefix, file = (Path(asked[asked.index(option) + 1]) for option in ("--prefix", "--file"))
        create(prefix, file, Path(folder), kind)
    elif asked[0] != "clean":
        sys.exit(f"The stand-in for conda does not know what {asked} asks.")


if __name__ == "__main__":
    main(*sys.argv[1:])
