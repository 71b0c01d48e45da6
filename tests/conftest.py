"""What the tests share: papers that are not among those of the package."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

import papers as folder
from reproduction.planning import paper as papers

# As many processes as cores, and no threads beside them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Where nothing is kept, pytest rewrites all files of tests and every process compiles those of the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A Snakemake that can submit to Slurm looks for a controller at every start: for 9 seconds if there is none.
os.environ["SLURM_CONF"] = os.devnull

#: Files that take longest, with the folders that they are in.
LONGEST = (
    "workflow/test_workflow.py",
    "workflow/test_extending.py",
    "tools/test_site.py",
    "ledger/test_falsified.py",
    "survey/test_design.py",
    "designs/test_solve.py",
    "certificates/test_boxes.py",
    "survey/test_cli.py",
    "survey/test_options.py",
    "data/test_adult.py",
    "ldpfrontier/test_time_limit.py",
    "survey/test_pages.py",
    "tests/test_own_promise.py",
    "survey/test_extras.py",
)

# How long an example takes says nothing on a machine that others use.
settings.register_profile("shared", deadline=None, max_examples=40)
settings.load_profile("shared")


def pytest_addoption(parser):
    parser.addoption(
        "--long",
        action="store_true",
        help="also the tests marked long, and all instances where the others take a few (an hour)",
    )
    parser.addoption(
        "--fuzz",
        type=int,
        metavar="TIMES",
        default=1,
        help="draw so many times as many hostile instances of every public function",
    )


def pytest_sessionstart(session):
    """Compile the kernels once, before several processes need them at the same time."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        from support import (
            kernels,
        )  # not above: numpy asks once, when it is loaded, how many threads it may have

        kernels.compile_all()


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    # The longest files first, so that no process is left alone with one at the end.
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(f"{item.path.parent.name}/{item.path.name}", len(place)))


@pytest.fixture(scope="session")
def long(request):
    """Return whether time does not matter."""
    return request.config.getoption("--long")


@pytest.fixture
def shelve(monkeypatch):
    """Return a function that reads the papers of a folder, and lets their modules be imported."""
    before = {name for name in sys.modules if name.startswith("papers.")}

    def shelve(root):
        monkeypatch.setattr(papers, "ROOT", Path(root))
        monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(root)])
        importlib.invalidate_caches()
        return papers.papers(Path(root))

    yield shelve
    for name in {name for name in sys.modules if name.startswith("papers.")} - before:
        del sys.modules[name]
        vars(folder).pop(name.split(".")[1], None)


@pytest.fixture
def toy(shelve):
    """Return the toy paper."""
    return shelve(Path(__file__).parent)["toy2026"]
