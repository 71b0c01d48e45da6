from pathlib import Path

import pytest

from reproduction.planning.provenance import (
    code_hash,
    configuration_hash,
    imported_modules,
    package_versions,
    result_metadata,
)

FILES = {
    "src/ldpfrontier/__init__.py": "from .base import f as f\nfrom .top import top as top\n",
    "src/ldpfrontier/base.py": "import math\n\ndef f():\n    return 1\n",
    "src/ldpfrontier/other.py": "def h():\n    return 1\n",
    "src/ldpfrontier/lazy.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .other import h\n"
    ),
    "src/ldpfrontier/sub/__init__.py": "from .inner import a, b as c\nfrom .second import d\n",
    "src/ldpfrontier/sub/inner.py": "from ..base import f\n\ndef a():\n    return f()\n\nb = 2\n",
    "src/ldpfrontier/sub/second.py": "d = 3\n",
    "src/ldpfrontier/top.py": (
        "from ldpfrontier.sub import a\n\ndef top():\n    from ldpfrontier import other\n"
    ),
    "src/ldpfrontier/late/__init__.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ldpfrontier.other import h as g\n"
    ),
    "src/ldpfrontier/client.py": "from ldpfrontier.late import g\n",
    "scripts/job.py": "import numpy\nfrom _start import start\nfrom ldpfrontier import f\n",
    "scripts/_start.py": "def start():\n    pass\n",
    "scripts/other.py": "import ldpfrontier.sub.second\n",
    "elsewhere/job.py": "",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def hashes(tree):
    root = tree
    names = ["base", "other", "lazy", "sub.inner", "sub.second", "top", "client"]
    return {
        **{name: code_hash(f"ldpfrontier.{name}", root=root) for name in names},
        "job": code_hash(tree / "scripts/job.py", root=root),
        "job and top": code_hash(tree / "scripts/job.py", "ldpfrontier.top", root=root),
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        (
            "src/ldpfrontier/base.py",
            "return 1",
            "return 2",
            {"base", "sub.inner", "top", "job", "job and top"},
        ),
        ("src/ldpfrontier/sub/inner.py", "return f()", "return -f()", {"sub.inner", "top", "job and top"}),
        ("src/ldpfrontier/sub/second.py", "3", "4", {"sub.second"}),
        ("src/ldpfrontier/other.py", "return 1", "return 2", {"other", "top", "job and top", "client"}),
        ("src/ldpfrontier/sub/__init__.py", "a, b as c", "b as a", {"top", "job and top"}),
        ("src/ldpfrontier/__init__.py", ".top import top as top", ".base import f as g", set()),
        ("scripts/_start.py", "pass", "return", {"job", "job and top"}),
        ("src/ldpfrontier/base.py", "def f():", "# why\n\ndef f():\n    '''Doc.'''\n", set()),
        ("src/ldpfrontier/base.py", "import math", "'''Doc.'''\nimport math", set()),
    ],
)
def test_an_edit_changes_the_hash_of_what_depends_on_it_and_nothing_else(tree, file, old, new, changed):
    before = hashes(tree)
    path = tree / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    after = hashes(tree)
    assert {name for name in before if before[name] != after[name]} == changed


def test_the_order_of_the_sources_does_not_count(tree):
    root = tree
    sources = [tree / "scripts/job.py", tree / "scripts/other.py", "ldpfrontier.other"]
    assert code_hash(*sources, root=root) == code_hash(*sources[::-1], root=root)
    assert code_hash("ldpfrontier.other", "ldpfrontier.other", root=root) == code_hash(
        "ldpfrontier.other", root=root
    )


@pytest.mark.parametrize(
    ("sources", "modules"),
    [
        (["ldpfrontier.base"], {"base"}),
        (["ldpfrontier.lazy"], {"lazy"}),
        (["ldpfrontier.sub.inner"], {"sub.inner", "base"}),
        (["ldpfrontier.sub"], {"sub", "sub.inner", "sub.second", "base"}),
        (["ldpfrontier.top"], {"top", "sub.inner", "base", "other"}),
        # What a package loads on first use belongs to those who import it.
        (["ldpfrontier.client"], {"client", "other"}),
        (["ldpfrontier.lazy", "ldpfrontier.base"], {"lazy", "base"}),
        (["scripts/job.py"], {"script:job", "script:_start", "base"}),
        (["scripts/other.py", "ldpfrontier.other"], {"script:other", "sub.second", "other"}),
    ],
)
def test_what_is_imported(tree, sources, modules):
    paths = [tree / source if "/" in source else source for source in sources]
    found, links = imported_modules(*paths, root=tree)
    assert {name.removeprefix("ldpfrontier.") for name in found} == modules
    assert all(path.is_file() and path.is_relative_to(tree) for path in found.values())
    assert all(" = " in link for link in links)


def test_what_a_name_stands_for_is_known(tree):
    _, links = imported_modules("ldpfrontier.top", root=tree)
    assert "ldpfrontier.sub:a = ldpfrontier.sub.inner:a" in links


def test_what_is_missing_is_refused(tree):
    root = tree
    with pytest.raises(ValueError, match=r"no module or script ldpfrontier\.nothing; .* has no such file"):
        code_hash("ldpfrontier.base", "ldpfrontier.nothing", root=root)
    with pytest.raises(ValueError, match=r"no module or script numpy"):
        code_hash("numpy", root=root)
    with pytest.raises(ValueError, match=r"no module or script .*nothing\.py"):
        code_hash(tree / "scripts/nothing.py", root=root)
    with pytest.raises(ValueError, match=r"The scripts are in .*; allowed is one folder"):
        code_hash(tree / "scripts/job.py", tree / "elsewhere/job.py", root=root)


def test_the_project_itself():
    root = Path(__file__).parents[4]
    scripts = root / "workflow/scripts"
    found = {path.name: code_hash(path) for path in scripts.glob("[!_]*.py")}
    assert len(set(found.values())) == len(found) >= 6
    assert all(len(value) == 64 for value in found.values())
    modules, _ = imported_modules("ldpfrontier.channel")
    folder = root / "src/ldpfrontier"
    assert modules == {
        "ldpfrontier.channel": folder / "channel.py",
        "ldpfrontier.numerics.arguments": folder / "numerics/arguments.py",
        "ldpfrontier.numerics.settings": folder / "numerics/settings.py",
        "ldpfrontier.types": folder / "types.py",
    }


def test_configuration_hash_ignores_the_order_of_keys():
    assert configuration_hash({"a": 1, "b": [1, 2]}) == configuration_hash({"b": [1, 2], "a": 1})
    assert configuration_hash({"a": [1, 2]}) != configuration_hash({"a": [2, 1]})


def test_description_names_the_versions():
    described = result_metadata("abc", {"a": 1})
    assert described["code_hash"] == "abc"
    assert described["packages"] == package_versions()
    assert "not installed" not in package_versions().values()
