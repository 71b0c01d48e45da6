"""The hash of what a job runs: the files that count, and that each of them does."""

from pathlib import Path

import pytest

from reproduction.planning import imports
from reproduction.planning.imports import SCRIPTS, code_hash, imported_modules

FILES = {
    "script.py": "from first import used\nfrom folder.named import thing\n",
    "first.py": (
        "import math\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import unused\n"
        "def used():\n    try:\n        import second\n    except ImportError:\n        pass\n"
    ),
    "second.py": "import folder.below.third as t\n",
    "unused.py": "",
    "lone.py": "",
    "folder/__init__.py": "",
    "folder/named.py": "from . import beside\nfrom .below import third\nfrom folder.below import fourth\n",
    "folder/beside.py": "",
    "folder/below/__init__.py": "from folder.fifth import exported\n",
    "folder/below/third.py": "",
    "folder/below/fourth.py": "",
    "folder/fifth.py": "",
    "user.py": "from folder.below import exported\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def anew():
    """Return what forgets the files: within a process they count as they were first read."""

    def anew():
        for function in (imports._content, imports._file, imports._imports):
            function.cache_clear()

    yield anew
    anew()


def test_imports_are_followed_wherever_they_stand(folder):
    found = imported_modules("script", beside=folder)
    assert set(found) == {
        "script", "first", "second", "folder.named", "folder.beside", "folder.below.third",
        "folder.below.fourth",
    }  # fmt: skip
    assert found["folder.beside"] == folder / "folder/beside.py"


def test_a_name_of_a_package_is_that_of_the_module_that_defines_it(folder):
    assert set(imported_modules("user", beside=folder)) == {"user", "folder.fifth"}
    assert "ldpfrontier.model.mechanisms" in _of_text(folder, "from ldpfrontier import randomized_response\n")
    assert "ldpfrontier" not in _of_text(folder, "from ldpfrontier import randomized_response\n")
    # What a package imports on first use counts where it is imported as a whole.
    assert "ldpfrontier.promises.robust" in _of_text(folder, "import ldpfrontier\n")


def _of_text(folder: Path, text: str) -> set[str]:
    name = f"text{len(list(folder.iterdir()))}"
    (folder / f"{name}.py").write_text(text)
    return set(imported_modules(name, beside=folder))


@pytest.mark.parametrize("name", FILES)
def test_an_edit_of_any_file_that_is_imported_changes_the_hash(folder, anew, name):
    files = set(imported_modules("script", beside=folder).values())
    before = code_hash("script", beside=folder)
    (folder / name).write_text(FILES[name] + "EDITED = 1\n")
    assert code_hash("script", beside=folder) == before  # of this process
    anew()
    assert (code_hash("script", beside=folder) != before) == (folder / name in files)


def test_scripts_are_modules_and_what_is_not_there_is_refused():
    found = imported_modules("compute")
    assert found["compute"] == SCRIPTS / "compute.py"
    assert {"_job", "reproduction.job", "reproduction.results.tables", "ldpfrontier.model.channel"} <= set(
        found
    )
    assert code_hash("compute") != code_hash("collect")
    with pytest.raises(ValueError, match="no_such_module"):
        code_hash("no_such_module")
