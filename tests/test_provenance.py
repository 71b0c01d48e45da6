from pathlib import Path

import pytest

from ldpfrontier.provenance import code_hash, configuration_hash, describe, package_versions

FILES = {
    "ldpfrontier/__init__.py": "from .base import f as f\nfrom .top import top as top\n",
    "ldpfrontier/base.py": "import math\n\ndef f():\n    return 1\n",
    "ldpfrontier/other.py": "def h():\n    return 1\n",
    "ldpfrontier/lazy.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .other import h\n",
    "ldpfrontier/sub/__init__.py": "from .inner import a, b as c\nfrom .second import d\n",
    "ldpfrontier/sub/inner.py": "from ..base import f\n\ndef a():\n    return f()\n\nb = 2\n",
    "ldpfrontier/sub/second.py": "d = 3\n",
    "ldpfrontier/top.py": "from ldpfrontier.sub import a\n\ndef top():\n    from ldpfrontier import other\n",
    "scripts/job.py": "import numpy\nfrom _start import start\nfrom ldpfrontier import f\n",
    "scripts/_start.py": "def start():\n    pass\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def hashes(tree):
    names = ["base", "other", "lazy", "sub.inner", "sub.second", "top"]
    found = {name: code_hash(f"ldpfrontier.{name}", tree / "ldpfrontier") for name in names}
    return {**found, "job": code_hash(tree / "scripts/job.py", tree / "ldpfrontier")}


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("ldpfrontier/base.py", "return 1", "return 2", {"base", "sub.inner", "top", "job"}),
        ("ldpfrontier/sub/inner.py", "return f()", "return -f()", {"sub.inner", "top"}),
        ("ldpfrontier/sub/second.py", "3", "4", {"sub.second"}),
        ("ldpfrontier/other.py", "return 1", "return 2", {"other", "top"}),
        ("ldpfrontier/sub/__init__.py", "a, b as c", "b as a", {"top"}),
        ("ldpfrontier/__init__.py", ".top import top as top", ".base import f as g", set()),
        ("scripts/_start.py", "pass", "return", {"job"}),
        ("ldpfrontier/base.py", "def f():", "# why\n\ndef f():\n    '''Doc.'''\n", set()),
        ("ldpfrontier/base.py", "import math", "'''Doc.'''\nimport math", set()),
    ],
)
def test_an_edit_changes_the_hash_of_what_depends_on_it_and_nothing_else(tree, file, old, new, changed):
    before = hashes(tree)
    path = tree / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    after = hashes(tree)
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_missing_module_is_refused(tree):
    with pytest.raises(ValueError, match=r"no module or script ldpfrontier\.nothing"):
        code_hash("ldpfrontier.nothing", tree / "ldpfrontier")
    with pytest.raises(ValueError, match="no module or script"):
        code_hash(tree / "scripts/nothing.py", tree / "ldpfrontier")


def test_the_project_itself():
    scripts = Path(__file__).parents[1] / "workflow/scripts"
    found = {path.name: code_hash(path) for path in scripts.glob("[!_]*.py")}
    assert len(set(found.values())) == len(found) >= 6
    assert all(len(value) == 64 for value in found.values())


def test_configuration_hash_ignores_the_order_of_keys():
    assert configuration_hash({"a": 1, "b": [1, 2]}) == configuration_hash({"b": [1, 2], "a": 1})
    assert configuration_hash({"a": [1, 2]}) != configuration_hash({"a": [2, 1]})


def test_description_names_the_versions():
    described = describe("abc", {"a": 1})
    assert described["code_hash"] == "abc"
    assert described["packages"] == package_versions()
    assert "not installed" not in package_versions().values()
