"""Make the pins of all dependencies anew: `python tools/lock.py` in an environment that has uv.

Two files come out of one resolution for Python 3.11 and newer. `constraints.txt` has the version of each
package, for `pip install -c constraints.txt -e '.[workflow]'`. `workflow/envs/locked.txt` has the same
versions with the hashes of their files, without the packages of developers, for `pip install
--require-hashes`. Versions that `constraints.txt` already has are kept; `--upgrade` takes the newest ones
that `pyproject.toml` allows.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS, LOCKED = ROOT / "constraints.txt", ROOT / "workflow/envs/locked.txt"
_HEADER = "# Made by tools/lock.py: one version of each package for every Python from 3.11 on{what}.\n"


def resolved(*options: str) -> str:
    """Return what uv resolves `pyproject.toml` to, for all supported versions of Python and platforms."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise SystemExit("tools/lock.py needs uv: pip install uv")
    words = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-header"]
    words += ["--no-annotate", "--constraints", str(CONSTRAINTS), *options, "pyproject.toml"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that are allowed")
    if parser.parse_args().upgrade:
        CONSTRAINTS.write_text("", encoding="utf-8")
    CONSTRAINTS.write_text(_HEADER.format(what="") + resolved("--all-extras"), encoding="utf-8")
    locked = resolved("--extra", "workflow", "--extra", "cluster", "--generate-hashes")
    LOCKED.write_text(_HEADER.format(what=", with hashes") + locked, encoding="utf-8")


if __name__ == "__main__":
    main()
