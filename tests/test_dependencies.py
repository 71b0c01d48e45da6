"""The dependencies: what the code imports, what is declared, and the environments of conda, held together."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCE, WORKFLOW = ROOT / "src/ldpfrontier", ROOT / "workflow"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: Distributions whose name is not that of what is imported; None for what comes with another.
DISTRIBUTIONS = {"yaml": "pyyaml", "markupsafe": "jinja2"}
#: Conda's names, where they differ from those of PyPI.
CONDA = {"cvxpy-base": "cvxpy", "matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}
#: Suffixes of the texts of the repository that may name a command.
TEXTS = (".md", ".py", ".smk", ".yaml", ".yml", ".def", ".html", ".rst", ".txt")
#: What no import statement names: the solver of cvxpy's programs, and what Snakemake's reports need;
#: ucimlrepo is run in a process of its own.
LOADED_BY_OTHERS = {"cvxpy": {"clarabel"}, "snakemake": {"pygments", "ucimlrepo"}}


@cache
def imported_by(path: Path) -> frozenset[str]:
    """Return the distributions that a file imports, other than the project and the standard library."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    own = {"ldpfrontier", "ldpsurvey", "reproduction", "papers", "beyond", "open_questions", "_job"}
    tops = {name.partition(".")[0] for name in names} - own - set(sys.stdlib_module_names)
    return frozenset(DISTRIBUTIONS.get(name, name) for name in tops)


def imported_below(folder: Path) -> set[str]:
    return {name for path in folder.rglob("*.py") for name in imported_by(path)}


def named(requirements: list[str]) -> dict[str, str]:
    """Return the version ranges of requirements by name; the project's own extras are resolved."""
    found = {}
    for requirement in requirements:
        name, extras, versions = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?\s*(.*)", requirement).groups()
        if name == "ldpfrontier":
            for extra in extras.strip("[]").split(","):
                found |= named(PROJECT["optional-dependencies"][extra])
        else:
            found[name] = versions.replace(" ", "")
    return found


HARD, EXTRAS = named(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
REPRODUCTION = {**HARD, **named(EXTRAS["workflow"])}


def under_extras(path: Path) -> dict[str, set[str]]:
    """Return the distributions that a file imports in blocks ``with extra(name)``, by the name."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.With) and (
            name := re.fullmatch(r"extra\('(\w+)'\)", ast.unparse(node.items[0]))
        ):
            block = ast.unparse(ast.Module(node.body, []))
            libraries = re.findall(r"^(?:from|import) (\w+)", block, re.MULTILINE)
            found.setdefault(name.group(1), set()).update(libraries)
    return found


def test_the_library_needs_what_it_imports_and_nothing_else() -> None:
    extras: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for name, libraries in under_extras(path).items():
            extras.setdefault(name, set()).update(libraries)
    assert len(HARD) <= 6
    assert imported_below(SOURCE) - set().union(*extras.values()) == set(HARD)
    for name, libraries in extras.items():
        declared = set(named(EXTRAS[name]))
        brought = {other for library in libraries for other in LOADED_BY_OTHERS.get(library, ())}
        assert declared == libraries | brought, name


def test_the_reproduction_needs_what_it_imports_and_nothing_else() -> None:
    imports = imported_below(WORKFLOW) | imported_below(SOURCE) | {"snakemake"}
    imports -= {*named(EXTRAS["regression"]), *named(EXTRAS["statistics"])}  # which are for own data alone
    brought = {other for library in imports for other in LOADED_BY_OTHERS.get(library, ())} - {"pygments"}
    assert imports | brought == set(REPRODUCTION)


def environment(path: str) -> dict[str, str]:
    """Return what an environment of conda has, by the names of PyPI."""
    listed = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    assert "conda-forge" in listed["channels"]
    flat = [
        x for entry in listed["dependencies"] for x in (entry["pip"] if isinstance(entry, dict) else [entry])
    ]
    parts = [re.fullmatch(r"([\w.-]+)(.*)", entry) for entry in flat if not entry.startswith("-")]
    found = [(part[1], part[2]) for part in parts if part and part[1] not in ("python", "pip")]
    return named([CONDA.get(name, name) + versions for name, versions in found])


@pytest.mark.parametrize("path", ["environment.yml", "workflow/envs/ldpfrontier.yaml"])
def test_environments_of_conda_have_the_same(path: str) -> None:
    expected = dict(REPRODUCTION)
    if path == "environment.yml":
        expected["pygments"] = ""
    else:
        # Snakemake puts itself on the path of a job.
        del expected["snakemake"]
    assert environment(path) == expected


def test_every_dependency_has_a_version_that_is_tested() -> None:
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    every = {name for extra in EXTRAS.values() for name in named(extra)} | set(HARD)
    assert {name.lower().replace("_", "-") for name in every} <= pinned


def pins(path: str) -> set[tuple[str, str]]:
    """Return the names and the versions of a file of pins, with their markers."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = (line.rstrip(" \\") for line in text.splitlines() if "==" in line and not line.startswith("#"))
    return {(name, rest) for name, _, rest in (line.partition("==") for line in lines)}


def test_the_packages_with_hashes_are_those_that_are_tested() -> None:
    """One resolution makes both files."""
    tested, locked = pins("constraints.txt"), pins("workflow/envs/locked.txt")
    assert {(name, rest.partition(" ")[0]) for name, rest in locked} <= {
        (name, rest.partition(" ")[0]) for name, rest in tested
    }
    assert set(REPRODUCTION) <= {name for name, _ in locked}
    text = (ROOT / "workflow/envs/locked.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(locked) > 50


def test_nothing_tells_anybody_to_install_the_project_from_an_index() -> None:
    """It is published on none: whoever registered its name there could offer a package of their own."""
    command = re.compile(r"\b(?:pipx?|conda|uv)\b[^\n]*\b(?:install|add)\b[^\n]*\bldp-?frontier\b", re.I)
    assert command.search("pip install 'ldpfrontier[parquet]'")
    folders = ("docs", "src", "workflow", "tools", "containers", "config", "profiles", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    files = [path for path in [*ROOT.glob("*.*"), *files] if path.suffix in ("", *TEXTS) and path.is_file()]
    assert len(files) > 300
    for path in files:
        assert not command.search(path.read_text(encoding="utf-8")), path
