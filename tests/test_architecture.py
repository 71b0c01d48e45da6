"""How the code is divided, from what its modules import: one way, without detours, and cheap to change."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import ldpfrontier
import ldpsurvey
from reproduction.data.catalogue import catalogue
from reproduction.planning.imports import FOLDERS, ROOT, SCRIPTS, imported_modules
from reproduction.planning.paper import FunctionCall, Layout, Paper, Table, module_name, papers

PAPERS = papers()

each_paper = pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.key)


def name_of(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path, folder): path for folder in FOLDERS.values() for path in sorted(folder.rglob("*.py"))}


def top(module: str) -> str:
    """Return the package of a module."""
    return module.partition(".")[0]


#: Own data is a package that uses the library, and imported by nothing else.
SURVEY = "ldpsurvey"

#: It was a folder of the library once; the module says where it is.
MOVED = "ldpfrontier.survey"

LIBRARY = {name: path for name, path in FILES.items() if top(name) == "ldpfrontier" and name != MOVED}
SOURCE = LIBRARY | {name: path for name, path in FILES.items() if top(name) == "ldpsurvey"}


@cache
def options() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def reached(module: str) -> frozenset[str]:
    """Return the modules of the project that a module imports, directly or not."""
    return frozenset(imported_modules(module)) - {module}


# Imports point one way ------------------------------------------------------------------------------------

#: From the lowest: a module may import its own folder, and folders of the layers below. The checker stands
#: alone, and the longest name counts.
LAYERS = (
    {"ldpfrontier.base", "ldpfrontier.verify"},
    {"ldpfrontier.numerics"},
    {"ldpfrontier.model"},
    {"ldpfrontier.uncertainty", "ldpfrontier.engines"},
    {
        "ldpfrontier.hypothesis_testing",
        "ldpfrontier.hamming",
        "ldpfrontier.questionnaires",
        "ldpfrontier.reports",
        "ldpfrontier.engines.column_generation",
        "ldpfrontier.engines.products.geometry",
    },
    {"ldpfrontier.engines.listed", "ldpfrontier.engines.products"},
    {"ldpfrontier.engines.joint", "ldpfrontier.engines.over_set"},
    {"ldpfrontier.engines.projections"},
    {"ldpfrontier.engines.columns"},
    {"ldpfrontier.engines.designs"},
    {"ldpfrontier.promises"},
    {"ldpfrontier.certificates"},
    {"ldpfrontier"},
    {"reproduction.base"},
    {"reproduction.results"},
    {"reproduction.data"},
    {"reproduction.planning"},
    {"reproduction"},
    {"reproduction.ledger"},
    {f"papers.{key}" for key, paper in PAPERS.items() if not paper.is_beyond} | {"papers"},
    {"beyond"},
    {"open_questions"},
    {"reproduction.report"},
    {"ldpsurvey.base"},
    {"ldpsurvey.data"},
    {"ldpsurvey.channel"},
    {"ldpsurvey.estimate"},
    {"ldpsurvey.design"},
    {"ldpsurvey.questionnaire"},
    {"ldpsurvey.answer", "ldpsurvey.analysis"},
    {"ldpsurvey.command"},
    {"ldpsurvey"},
)
LAYER_OF = {name: layer for layer, units in enumerate(LAYERS) for name in units}


def unit(module: str) -> str:
    """Return the unit of a module: the longest part of its name that is one."""
    while module not in LAYER_OF:
        module = module.rpartition(".")[0]
    return module


@pytest.mark.parametrize("module", [name for name in FILES if name not in ("ldpfrontier", MOVED)])
def test_imports_point_one_way(module: str) -> None:
    own = unit(module)
    for other in sorted(reached(module)):
        allowed = unit(other) == own or LAYER_OF[unit(other)] < LAYER_OF[own]
        assert allowed, f"{module} of {own} imports {other} of {unit(other)}"


def test_every_folder_is_in_one_layer() -> None:
    """No module but the checker, which stands alone, has a layer of its own."""
    folders = {
        name if path.name == "__init__.py" else name.rpartition(".")[0] for name, path in FILES.items()
    }
    named = [name for units in LAYERS for name in units]
    assert sorted(named) == sorted({*folders, "ldpfrontier.verify"})


def test_the_maps_of_pages_are_the_layers() -> None:
    """From the lowest, and with every folder that has a layer; those of the engines are on their page."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = []
    for place, rows in re.findall(r"<!-- layers: (\S+) -->\n(.*?)<!-- end -->", text, re.DOTALL):
        paths = [Path(place, folder) for folder in re.findall(r"^\| `([\w/.]+)` \|", rows, re.MULTILINE)]
        names = [".".join(path.with_suffix("").parts) for path in paths]
        told.append([name.removeprefix("src.").removeprefix("workflow.") for name in names])
    text = (ROOT / "src/ldpfrontier/engines/README.md").read_text(encoding="utf-8")
    engines = re.findall(r"^\| \[`(\w+)/`\]", text, re.MULTILINE)
    told.append([f"ldpfrontier.engines.{name}" for name in engines])
    for names in told:
        layers = [LAYER_OF[name] for name in names]
        assert layers == sorted(layers), names
    inner = {"ldpfrontier", SURVEY, "ldpfrontier.engines.products.geometry"}
    expected = {name for name in LAYER_OF if not name.startswith("papers.")} - inner
    assert sorted(name for names in told for name in names) == sorted(expected)


def test_the_library_knows_nothing_of_the_reproduction() -> None:
    assert not [name for name in LIBRARY if reached(name) - set(LIBRARY)]


def test_papers_use_engines_by_public_names() -> None:
    """The engines are `numerics` and the folders of `engines`."""
    found = dict[str, set[str]]()
    for module, path in FILES.items():
        if top(module) not in ("papers", "beyond", "open_questions"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            home = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if re.match(r"ldpfrontier\.(numerics|engines\.\w+)\.", home):
                names = {alias.name for alias in node.names} - {*ldpfrontier.__all__}
                found.setdefault(module, set()).update(names)
    assert {module: names for module, names in found.items() if names} == {}
    assert found


def test_what_is_for_own_data_uses_public_names_of_the_library() -> None:
    """Beside these it imports the modules at the bottom, and the checker, which stands alone."""
    alone = {"base.types", "base.extras", "base.atomic", "verify"}
    for module, path in FILES.items():
        if top(module) != SURVEY:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            home = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if home == "ldpfrontier":
                assert {alias.name for alias in node.names} <= {*ldpfrontier.__all__} | alone, module
            elif home.startswith("ldpfrontier."):
                assert home.removeprefix("ldpfrontier.") in alone, module


def test_tables_of_own_data_are_read_in_one_place() -> None:
    """What parses files serves `data.reading`, and lists of values; other folders read no table."""
    parsers, users = ("csv_files", "statistics_files"), set()
    for module in (name for name in FILES if top(name) == SURVEY):
        text = FILES[module].read_text(encoding="utf-8")
        if any(f"from {SURVEY}.data.{parser} import" in text for parser in parsers):
            users.add(module)
        if not module.startswith(f"{SURVEY}.data."):
            assert not re.search(r"\bread_(csv|parquet|excel|table)\(|import pyarrow", text), module
    assert users == {f"{SURVEY}.data.reading", f"{SURVEY}.data.value_lists"}


def test_what_is_for_own_data_can_be_deleted() -> None:
    """Nothing of the library or the reproduction imports it, nor does a program or another test."""
    others = [name for name in FILES if top(name) != SURVEY and name != MOVED]
    assert not {name: found for name in others if (found := [x for x in reached(name) if top(x) == SURVEY])}
    own = [ROOT / "tests/ldpsurvey", ROOT / "tests/support", ROOT / "benchmarks"]
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").glob("*.py")]:
        if not any(folder in path.parents for folder in own):
            assert f"from {SURVEY}" not in path.read_text(encoding="utf-8"), path


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not [(a, b) for a, b in combinations(FILES, 2) if a in reached(b) and b in reached(a)]


def test_names_are_imported_from_the_modules_that_define_them() -> None:
    """The package itself, whose names are for its users, is imported by none of its modules."""
    assert not [
        module
        for module in FILES
        if "ldpfrontier" in reached(module) and top(module) != SURVEY and module != MOVED
    ]


def test_folders_say_what_they_hold_and_nothing_else() -> None:
    """What an ``__init__`` did, every module below it would do, and no hash would know."""
    for module, path in FILES.items():
        if path.name == "__init__.py" and module not in (
            "ldpfrontier",
            SURVEY,
            "reproduction.planning.paper",
            "reproduction.data.catalogue",
        ):
            (only,) = ast.parse(path.read_text(encoding="utf-8")).body
            assert isinstance(only, ast.Expr), module


def test_every_module_serves_somebody() -> None:
    """Users, the workflow, or the papers; not only tests."""
    homes = {f"ldpfrontier.{home}" for home in ldpfrontier._HOMES.values()}
    homes |= {f"{SURVEY}.{home}" for home in ldpsurvey._HOMES.values()} | {MOVED}
    loaders = {entry.loader_name.partition(":")[0] for entry in catalogue().values()}
    own = {name for name in FILES if top(name) in ("papers", "beyond", "open_questions")}
    called = {name for paper in PAPERS.values() for call in calls(paper) for name in modules_of(call, paper)}
    called |= {name for name in own if name.rpartition(".")[2] in ("claims", "plan")}
    planning = {name for name in FILES if unit(name) in ("reproduction.base", "reproduction.planning")}
    scripts = set(imported_modules(*(path.stem for path in SCRIPTS.glob("*.py"))))
    commands = {command.partition(":")[0] for command in options()["project"]["scripts"].values()}
    commands.add(f"{SURVEY}.__main__")
    roots = homes | loaders | called | planning | scripts | commands
    served = {name for root in roots if root in FILES for name in (root, *reached(root))}
    folders = {name for name, path in FILES.items() if path.name == "__init__.py"}
    assert set(FILES) - served - folders == set()


# Tests lie where their module does -----------------------------------------------------------------------

#: Modules of the library that no test imports by name and that have no test file of their own: which tests of
#: what calls them are theirs.
TESTED_THROUGH = {
    "ldpfrontier.certificates.document": "ldpfrontier/certificates/test_documents.py",
    "ldpfrontier.certificates.staircase": "ldpfrontier/certificates/test_documents.py",
    "ldpfrontier.certificates.two_valued": "ldpfrontier/certificates/test_documents.py",
    "ldpfrontier.engines.columns.proximal_duals": "ldpfrontier/promises/test_association.py",
    "ldpfrontier.engines.designs.cut_columns": "ldpfrontier/promises/test_estimation.py",
    "ldpfrontier.engines.joint.compared_means": "ldpfrontier/engines/joint/test_separation.py",
    "ldpfrontier.engines.joint.worst_pairs": "ldpfrontier/engines/joint/test_separation.py",
    "ldpfrontier.engines.projections.schedule": "ldpfrontier/engines/projections/test_projection_class.py",
    "ldpfrontier.hamming.optimum": "ldpfrontier/hamming/test_hamming.py",
    "ldpfrontier.hypothesis_testing.two_outputs": "ldpfrontier/hypothesis_testing/test_leakage.py",
    "ldpfrontier.uncertainty.exact_intervals": "ldpfrontier/uncertainty/test_odds_ratios.py",
    "ldpsurvey.channel.kinds": "ldpsurvey/channel/test_allowance.py",
    "ldpsurvey.channel.routing": "ldpsurvey/command/test_questionnaire_command.py",
    "ldpsurvey.command.analysis_commands": "ldpsurvey/design/test_known_channels.py",
    "ldpsurvey.command.answer_commands": "ldpsurvey/answer/test_collecting.py",
    "ldpsurvey.command.design_command": "ldpsurvey/command/test_cli.py",
    "ldpsurvey.command.estimate_texts": "ldpsurvey/command/test_cli.py",
    "ldpsurvey.command.idle_options": "ldpsurvey/command/test_options.py",
    "ldpsurvey.command.report_commands": "ldpsurvey/command/test_cli.py",
    "ldpsurvey.command.sample_estimates": "ldpsurvey/estimate/test_weighted.py",
    "ldpsurvey.estimate.additions": "ldpsurvey/estimate/test_weighted.py",
}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in a node: of a module, a tenth of all nodes."""
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, block, ()):
            yield inner
            yield from statements(inner)


def imported_by_tests(path: Path) -> set[str]:
    """Return the modules of both packages that a test file imports; of public names, where they are from."""
    found = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and top(home := node.module or "") in ("ldpfrontier", SURVEY):
            found.add(home)
            homes = {"ldpfrontier": ldpfrontier._HOMES, SURVEY: ldpsurvey._HOMES}.get(home, {})
            found |= {f"{home}.{homes.get(alias.name, alias.name)}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(SOURCE)


def test_every_module_of_both_packages_has_tests_that_can_be_found() -> None:
    imported = {path: imported_by_tests(path) for path in (ROOT / "tests").rglob("test_*.py")}
    named = set().union(*imported.values())
    without = set()
    for module, path in SOURCE.items():
        mirrored = ROOT / "tests" / path.relative_to(ROOT / "src").parent / f"test_{path.stem}.py"
        skipped = path.name in ("__init__.py", "__main__.py", "settings.py")
        if not (skipped or mirrored in imported or module in named):
            without.add(module)
    assert without == set(TESTED_THROUGH)
    for module, file in TESTED_THROUGH.items():
        assert any(module in reached(other) for other in imported[ROOT / "tests" / file]), module


# What only reads is cheap ---------------------------------------------------------------------------------

SOLVERS = {
    name
    for name in FILES
    if name.startswith(("ldpfrontier.engines.", "ldpfrontier.promises.", "ldpfrontier.hypothesis_testing."))
}
SOLVERS |= {"ldpfrontier.numerics.highs"}


def calls(paper: Paper) -> list[FunctionCall]:
    return [*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()]


def module_of(call: FunctionCall) -> str:
    return call.function_name.partition(":")[0]


def modules_of(call: FunctionCall, paper: Paper) -> set[str]:
    """Return the modules that the workflow hashes for a call: of its function, and of its schemas."""
    places = (name.rpartition("/") for name in call.tables)
    tables = [PAPERS[key or paper.key].tables[name] for key, _, name in places]
    tables += [call] if isinstance(call, Table) else []
    return {module_of(call), *(table.schema_name.partition(":")[0] for table in tables)}


def experiments(paper: Paper) -> set[str]:
    """Return the modules that compute tables and do not only rearrange others."""
    found = {module_of(table) for table in paper.tables.values()}
    return {name for name in found if not name.endswith(".summaries")}


@each_paper
def test_what_only_reads_imports_neither_experiments_nor_solvers(paper: Paper) -> None:
    readers = {module_of(call) for call in (*paper.figures.values(), *paper.layouts.values())}
    named = {module_name(paper.key, name) for name in ("figures", "claims", "summaries", "plan")}
    readers |= named & set(FILES)
    assert {module_name(paper.key, name) for name in ("figures", "claims")} <= readers
    for name in sorted(readers):
        found = reached(name) & (experiments(paper) | SOLVERS)
        assert not found, f"{name} imports {', '.join(sorted(found))}"
        assert name not in experiments(paper)


@each_paper
def test_what_is_hashed_reads_no_file(paper: Paper) -> None:
    """A file that a function reads by itself is in no hash; what it says must come as an argument."""
    called = {name for call in calls(paper) for name in modules_of(call, paper)}
    for module, path in imported_modules(*called).items():
        named = files_named(path)
        assert not named, f"{module} reads {', '.join(named)}; what calls it would not be run again"


@cache
def files_named(path: Path) -> list[str]:
    """Return the texts in a module that are paths from its folder, of files other than modules."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    values = {node.value for node in nodes if isinstance(node, ast.Constant)}
    texts = sorted(value for value in values if isinstance(value, str) and 0 < len(value) < 80)
    files = [text for text in texts if (path.parent / text).is_file()]
    return [file for file in files if Path(file).suffix not in ("", ".py")]


PLAIN = """
import os, sys
from importlib.machinery import PathFinder

#: Of the standard library, or what Snakemake brings: yaml, jsonschema, psutil, and what they need themselves.
KNOWN = {*sys.stdlib_module_names, "ldpfrontier", "reproduction", "papers", "beyond", "open_questions",
         "yaml", "_yaml", "jsonschema", "psutil", "jsonschema_specifications", "referencing", "rpds", "attr",
         "attrs", "typing_extensions"}
sys.modules.pop("numpy", None)

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in KNOWN:
            raise ModuleNotFoundError(f"{name} is a third-party library", name=name)

sys.meta_path.insert(0, Refuse())
import importlib, json
from pathlib import Path
from typing import Any
try:
    import numpy
    raise SystemExit("the hook does not work")
except ModuleNotFoundError:
    pass

root = Path(sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)

from reproduction.data import catalogue as data
from reproduction.planning import configuration
from reproduction.planning.imports import code_hash
from reproduction.planning.paper import papers
from reproduction.planning.plan import plan_of

found = papers()
common = json.loads((root / "workflow/schemas/common.schema.json").read_text(encoding="utf-8"))
for names in ((), ("smoke",)):
    plan = plan_of(*names)
    configuration.check(plan.configuration, common, found.values())
    jobs = []
    for paper in plan.papers.values():
        assert plan.target_files(paper, ["svg"])
        for call in (*paper.tables.values(), *paper.figures.values(), *paper.layouts.values()):
            for part in plan.parts(call) if getattr(call, "parts", None) else [None]:
                jobs.append(json.dumps([call.name, part, plan.job_description(call, part)]))
            assert code_hash("compute", call.function_name.partition(":")[0])
    assert len(jobs) == len(set(jobs)) > len(found)
    assert plan.data_sets(*plan.papers.values()) == sorted(data.catalogue())
assert "ldpfrontier.verify" not in sys.modules
print("planned", len(jobs))
"""


def test_a_workflow_is_planned_with_snakemake_alone() -> None:
    names = [
        name
        for name in FILES
        if unit(name) in ("reproduction.base", "reproduction.planning") or name.endswith(".plan")
    ]
    assert len(names) > len(PAPERS)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, str(ROOT), *names],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'workflow'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("planned ")


# What an edit runs again ----------------------------------------------------------------------------------


@cache
def files_of(script: str, modules: frozenset[str]) -> frozenset[Path]:
    return frozenset(imported_modules(script, *modules).values())


def changed(*files: str) -> set[tuple[str, str, str]]:
    """Return the calls, by paper, kind and name, whose hash an edit of some files changes."""
    found, paths = set(), {ROOT / file for file in files}
    assert all(path.is_file() for path in paths)
    for paper in PAPERS.values():
        for call in calls(paper):
            kind = {Table: "table", Layout: "layout"}.get(type(call), "figure")
            script = "compute" if kind == "table" else kind
            if files_of(script, frozenset(modules_of(call, paper))) & paths:
                found.add((paper.key, kind, call.name))
    return found


@pytest.mark.parametrize(
    ("file", "again"),
    [
        ("src/ldpfrontier/uncertainty/renyi_ball.py", {"lopuhaa2024", "beyond"}),
        ("src/ldpfrontier/promises/association.py", {"beyond"}),
        ("src/ldpfrontier/engines/column_generation/smoothed.py", {"kairouz2016", "lopuhaa2024", "beyond"}),
        ("src/ldpfrontier/hypothesis_testing/euclidean.py", {"liao2017"}),
        ("src/ldpfrontier/hamming/dp_leakage.py", {"kalantari2018"}),
        ("workflow/reproduction/results/tables.py", set(PAPERS)),
        ("workflow/reproduction/job.py", set(PAPERS)),
    ],
)
def test_an_edit_computes_again_what_depends_on_it(file: str, again: set[str]) -> None:
    found = changed(file)
    tables = {paper for paper, kind, _ in found if kind == "table"}
    # Answers to what the papers left open use all of the library.
    assert tables - {"open_questions"} == again & set(PAPERS) - {"open_questions"}
    if file.startswith("src/"):
        assert {kind for _, kind, _ in found} <= {"table"}, "what is drawn from tables needs no solver"


@pytest.mark.parametrize(
    "file",
    [
        "workflow/reproduction/report/page.py",
        "workflow/reproduction/planning/plan.py",
        "src/ldpfrontier/__init__.py",
    ],
)
def test_an_edit_of_what_plans_or_reports_computes_and_draws_nothing(file: str) -> None:
    assert changed(file) == set()


def of_verdicts(keys: Iterable[str]) -> set[tuple[str, str, str]]:
    """Return the tables that hold verdicts: brief ones, which must follow the rules that decide them."""
    named = {(key, "sensitivity") for key in keys if "sensitivity" in PAPERS[key].tables}
    assert all(PAPERS[key].tables[name].brief for key, name in named)
    return {(key, "table", name) for key, name in named}


@pytest.mark.parametrize(
    "file", ["workflow/reproduction/ledger/claims.py", "workflow/reproduction/base/entries.py"]
)
def test_an_edit_of_the_ledger_makes_tables_of_verdicts_again_and_nothing_else(file: str) -> None:
    assert changed(file) == of_verdicts(PAPERS)


def test_an_edit_of_the_style_draws_again_and_computes_nothing() -> None:
    figures = {(key, "figure", name) for key, paper in PAPERS.items() for name in paper.figures}
    assert changed("workflow/reproduction/figure_style.py") == figures
    looks = changed("workflow/reproduction/plotting.py")
    assert looks
    assert looks <= figures


def test_the_projects_own_results_build_on_papers_and_no_paper_builds_on_another() -> None:
    assert {key: paper.builds_on for key, paper in PAPERS.items() if paper.builds_on} == {
        "beyond": ("lopuhaa2024",),
        "open_questions": ("kairouz2016", "kalantari2018", "liao2017"),
    }


@each_paper
def test_a_paper_imports_the_papers_that_it_builds_on_and_no_other(paper: Paper) -> None:
    homes = {module_name(key, ""): key for key in PAPERS}

    def home(module: str) -> str:
        return next((key for start, key in homes.items() if module.startswith(start)), "")

    own = [name for name in FILES if home(name) == paper.key]
    keys = {home(other) for name in own for other in reached(name)} - {""}
    assert keys - {paper.key} == set(paper.builds_on)


@pytest.mark.parametrize(
    ("key", "barred"),
    [
        ("lopuhaa2024", ("engines.joint", "engines.over_set", "engines.projections", "promises.robust")),
        ("kairouz2016", ("promises.polyopt",)),
    ],
)
def test_tables_of_a_paper_import_no_engine_of_what_it_does_not_have(
    key: str, barred: tuple[str, ...]
) -> None:
    """The optimum over F, and what else is found beyond the papers, has engines of its own."""
    found = imported_modules(*{module_of(table) for table in PAPERS[key].tables.values()})
    names = tuple(f"ldpfrontier.{name}" for name in barred)
    assert not [name for name in found if name.startswith(names)]


def test_what_the_page_says_of_the_reach_of_papers_is_so() -> None:
    """The modules and lines of the library that the tables of a paper import, to a tenth."""
    page = (ROOT / "docs/reproduction/workflow.md").read_text(encoding="utf-8")
    rows = {
        key: numbers
        for key, *numbers in re.findall(r"^\| (\w+) \| (\d+) \| ([\d,]+) \|$", page, re.MULTILINE)
    }
    assert sorted(rows) == sorted(key for key, paper in PAPERS.items() if not paper.is_beyond)
    for key, (modules, lines) in rows.items():
        found = imported_modules(*{module_of(table) for table in PAPERS[key].tables.values()})
        own = [path for name, path in found.items() if name in LIBRARY and path.name != "__init__.py"]
        length = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)
        assert len(own) == pytest.approx(int(modules), rel=0.1), key
        assert length == pytest.approx(int(lines.replace(",", "")), rel=0.1), key


# One number can be followed --------------------------------------------------------------------------------


def words_of(path: Path, name: str) -> set[str]:
    """Return the words of a definition; in a module, with the definitions of the module that it uses."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return set(re.findall(r"[\w.:]+", text[text.index(name) :]))
    words: dict[str, set[str]] = {}
    for statement in ast.parse(text).body:
        nodes = list(ast.walk(statement))
        found = {getattr(node, key, None) for node in nodes for key in ("id", "attr", "value")}
        stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        named = [statement.name] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else stored
        for key in named:
            words.setdefault(key, set()).update(word for word in found if isinstance(word, str))
    used = [name]
    for one in used:  # grows meanwhile
        used += [other for other in words if other in words[one] and other not in used]
    return set().union(*(words[one] for one in used))


def test_the_way_of_one_number_is_as_the_page_says() -> None:
    """Each row is led to by one above, and says itself what it leads to."""
    page = (ROOT / "docs/reproduction/workflow.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^]]+\]\(\.\./\.\./([^)]+)\) \| `(\w+)` \| .+ \| (.+) \|$", page, re.MULTILINE)
    assert 5 < len(rows) == len({file for file, *_ in rows}) <= 14
    known = {"Snakefile"}
    for file, name, further in rows:
        path = ROOT / file
        assert {path.name, name} & known, f"nothing above leads to {name} in {file}"
        there = set(re.findall(r"`([^`]+)`", further))
        assert there <= words_of(path, name), f"{name} in {file}"
        known |= {word.rpartition(":")[2] for word in there}
    calls_of_it = PAPERS["lopuhaa2024"].tables["fig2"], PAPERS["lopuhaa2024"].figures["fig2"]
    assert {str(FILES[module_of(call)].relative_to(ROOT)) for call in calls_of_it} <= {row[0] for row in rows}


# Sizes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", FILES)
def test_no_module_is_long(module: str) -> None:
    """The checker is one file, to be copied alone: of it lines of code count, without docstrings."""
    text = FILES[module].read_text(encoding="utf-8")
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    if module == "ldpfrontier.verify":
        lines = {number for number in lines if not text.splitlines()[number - 1].lstrip().startswith("#")}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
        assert len(lines) <= 540  # it imports nothing of ours, and must stay one file
    else:
        assert len(text.splitlines()) <= 500


def test_files_beside_the_modules_are_installed_with_them() -> None:
    for package, patterns in options()["tool"]["setuptools"]["package-data"].items():
        for path in (ROOT / "src" / package).rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".md") and path.parent.name != "__pycache__":
                name = path.relative_to(ROOT / "src" / package).as_posix()
                depth = [pattern for pattern in patterns if pattern.count("/") == name.count("/")]
                assert any(fnmatch(name, pattern) for pattern in depth), name


def types_of(path: Path) -> Iterator[str]:
    """Yield the public names of classes and aliases of types that a module defines; no type variables."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            yield statement.name
        elif isinstance(statement, ast.Assign):
            value = statement.value
            variable = isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec")
            names = [ast.unparse(target) for target in statement.targets]
            yield from (name for name in names if re.fullmatch(r"[A-Z][a-z]\w*", name) and not variable)


def test_no_two_types_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in FILES.items():
        for name in types_of(path):
            homes.setdefault(name, []).append(module)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


#: Most arguments of a function; what has more takes a dataclass.
MOST_ARGUMENTS = 8

#: Parts of the names of decorators that compile: arrays are passed to kernels one by one.
KERNEL = "kernel"


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node


@pytest.mark.parametrize("module", FILES)
def test_functions_have_few_arguments(module: str) -> None:
    """But for public ones, and those of jobs, whose arguments are words of the user, given by name."""
    jobs = {call.function_name for paper in PAPERS.values() for call in calls(paper)}
    public = {
        f"{package.__name__}.{home}:{name}"
        for package in (ldpfrontier, ldpsurvey)
        for name, home in package._HOMES.items()
    }
    for function in functions_of(FILES[module]):
        by_place = [*function.args.posonlyargs, *function.args.args]
        number = len([one for one in by_place if one.arg not in ("self", "cls")])
        if f"{module}:{function.name}" in jobs | public:
            assert number <= MOST_ARGUMENTS, function.name
        elif not any(KERNEL in ast.unparse(decorator) for decorator in function.decorator_list):
            assert number + len(function.args.kwonlyargs) <= MOST_ARGUMENTS, function.name
