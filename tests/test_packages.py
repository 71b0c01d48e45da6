"""The archive of sources has what the repository has, and the wheel has the library alone."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.long

BUILD = "import sys, setuptools.build_meta as b; print(b.build_{kind}(sys.argv[1]))"


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> tuple[Path, set[str]]:
    """Copy the files of the repository; return the copy and their names."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a repository")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    copy = tmp_path_factory.mktemp("tree")
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    return copy, names


def built(kind: str, tree: Path, out: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(kind=kind), str(out)], cwd=tree, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out / done.stdout.splitlines()[-1]


def test_the_archive_of_sources_has_the_repository(tree, tmp_path: Path) -> None:
    copy, names = tree
    with tarfile.open(built("sdist", copy, tmp_path)) as archive:
        members = {re.sub(r"^[^/]+/", "", member.name) for member in archive if member.isfile()}
    added = {"PKG-INFO", "setup.cfg"}
    assert names <= members
    assert {name for name in members - names - added if ".egg-info/" not in name} == set()


def test_the_wheel_has_the_library_alone(tree, tmp_path: Path) -> None:
    copy, names = tree
    with zipfile.ZipFile(built("wheel", copy, tmp_path)) as wheel:
        members = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        text = wheel.read(metadata).decode()
    assert members == {name.removeprefix("src/") for name in names if name.startswith("src/")}
    required = set(re.findall(r"(?m)^Requires-Dist: ([a-z]+)[<>=,.\d]*$", text))
    assert required == {"highspy", "numba", "numpy", "scipy"}
