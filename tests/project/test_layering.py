"""Modules of the package depend on each other one way: no circle anywhere, no arrow from a lower floor to a higher."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from forebay import _core
from tests.support.paths import ROOT

PACKAGE = ROOT / "python" / "forebay"

#: The floors from the ground up, the rooms of one floor beside each other. A room is a subpackage, or a module that is
#: in none. Rooms of one floor know nothing of each other; what is inside a room may know the rest of the room.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("_core", "interruption", "sanitize"),
    ("errors",),
    ("extras",),
    ("models", "results", "rules", "storage"),
    ("inputs", "text"),
    ("algorithms", "engines"),
    ("phase_effects",),
    ("scenario",),
    ("atlas", "configuration", "fabric", "measurement"),
    ("comparison", "contract", "explanation", "laboratory", "observation", "search", "sweeps"),
    ("fleets",),
    ("views",),
    ("networks", "papers"),
    ("commands",),
    ("__init__", "__main__"),
)

#: The largest number of modules outside of packages.
LOOSE = 12

Arrows = Mapping[str, Iterable[str]]


def modules() -> dict[str, Path]:
    """Every module by its name without "forebay."; the file of a subpackage has the subpackage's name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)] = path
    return found


def named(node: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """The modules that one node of the code names: in an import anywhere, or in a text that is imported later."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports inside of the package name the whole way"
        # `from forebay.views import plots` is the module plots, `from forebay.scenario import Scenario` the module
        # scenario.
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value.removeprefix("forebay.") in known:
            yield node.value
    elif isinstance(node, ast.JoinedStr):
        # A name with gaps, as of the drawing of whichever paper, is every module that it fits.
        parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in node.values]
        if "".join(parts).startswith("forebay"):
            yield from (name for name in (f"forebay.{each}" for each in known) if re.fullmatch("".join(parts), name))


def imported(code: str, known: Iterable[str]) -> set[str]:
    """The modules of the package that a module imports: at its top, in functions, for types only, or by name."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        for target in named(node, known):
            if target.partition(".")[0] != "forebay":
                continue
            inside = target.removeprefix("forebay").removeprefix(".")
            while inside and inside not in known:
                inside = inside.rpartition(".")[0]
            found.add(inside or "__init__")
    return found


@cache
def arrows() -> dict[str, set[str]]:
    """The modules of the package that each module imports."""
    found = modules()
    known = {*found, "_core"}
    return {name: imported(path.read_text(encoding="utf-8"), known) for name, path in found.items()}


def circle(graph: Arrows) -> list[str]:
    """The modules of one circle in the order of its arrows; empty where there is none."""
    finished: set[str] = set()

    def follow(name: str, way: list[str]) -> list[str]:
        if name in way:
            return way[way.index(name) :]
        for other in sorted(set(graph.get(name, ())) - finished):
            if found := follow(other, [*way, name]):
                return found
        finished.add(name)
        return []

    return next((found for name in sorted(graph) if (found := follow(name, []))), [])


def upward(graph: Arrows, floors: tuple[tuple[str, ...], ...]) -> list[str]:
    """Arrows that do not lead to a lower floor or stay inside of their room."""
    height = {room: number for number, floor in enumerate(floors) for room in floor}
    ways = [(name, other) for name, others in graph.items() for other in others]
    rooms = [(way, (way[0].partition(".")[0], way[1].partition(".")[0])) for way in ways]
    return [f"{way[0]} -> {way[1]}" for way, (here, there) in rooms if here != there and height[here] <= height[there]]


def test_no_circle_between_modules() -> None:
    assert circle(arrows()) == []


def test_arrows_lead_down() -> None:
    assert upward(arrows(), FLOORS) == []


def test_every_module_has_a_floor() -> None:
    rooms = {name.partition(".")[0] for name in modules()} | {"_core"}
    assert rooms == {room for floor in FLOORS for room in floor}


def test_few_modules_are_outside_of_packages() -> None:
    loose = [path.stem for path in PACKAGE.glob("*.py")]
    assert len(loose) <= LOOSE, sorted(loose)


def test_subpackages_import_nothing_by_themselves() -> None:
    """Importing a module also runs its packages: they must not lead anywhere, but for the interface of algorithms."""
    packages = {name: path for name, path in modules().items() if path.name == "__init__.py" and name != "__init__"}
    leading = {name: sorted(arrows()[name]) for name in packages if arrows()[name]}
    assert leading == {"algorithms": ["_core", "algorithms.interface"]}


def loaded(statement: str) -> set[str]:
    """Names of the modules that are there after a statement and were not before."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_stays_cheap() -> None:
    assert {name for name in loaded("import forebay") if name.startswith("forebay")} == {
        "forebay",
        "forebay.errors",
        "forebay.sanitize",
    }


def test_a_report_is_printed_without_what_is_heavy() -> None:
    found = {name.partition(".")[0] for name in loaded("import forebay.commands.run, forebay.views.reports")}
    assert not found & {"numpy", "scipy", "polars", "matplotlib", "dask"}


def test_a_search_imports_neither_scipy_nor_platforms_nor_pictures() -> None:
    search = "import forebay; forebay.recommend(forebay.Scenario.load('@dsl-access'), quick=True)"
    found = loaded(search)
    assert not {name.partition(".")[0] for name in found} & {"scipy", "polars", "matplotlib", "dask"}
    assert not {"forebay.configuration.platforms.registry", "forebay.measurement.cluster", "logging"} & set(found)


def test_the_command_line_starts_with_click_alone() -> None:
    found = loaded("import forebay.__main__")
    foreign = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names)
    assert foreign <= {"forebay", "click", "colorama"}
    own = {".".join(name.split(".")[:2]) for name in found if name.startswith("forebay.")}
    light = ("__main__", "commands", "errors", "inputs", "interruption", "sanitize", "storage")
    assert own == {f"forebay.{name}" for name in light}


def test_every_public_name_is_there() -> None:
    import forebay

    assert [name for name in forebay.__all__ if not hasattr(forebay, name)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from forebay.views import plots", {"views.plots"}),
        ("from forebay.views.plots import save", {"views.plots"}),
        ("import forebay.views.plots as drawn", {"views.plots"}),
        ("from forebay import recommend", {"__init__"}),
        ("from forebay import _core", {"_core"}),
        ("def late():\n    from forebay.views import plots", {"views.plots"}),
        ("if TYPE_CHECKING:\n    from forebay.views import plots", {"views.plots"}),
        ('HOMES = {"save": "forebay.views.plots"}', {"views.plots"}),
        ('import_module(f"forebay.{room}.plots")', {"views.plots"}),
        ('folder = "views"\nfrom json import loads', set()),
    ],
)
def test_imports_are_seen_wherever_they_stand(code: str, found: set[str]) -> None:
    assert imported(code, {"__init__", "_core", "views", "views.plots"}) == found


def test_circles_and_upward_arrows_are_seen() -> None:
    graph = {"low.one": ["low.two"], "low.two": ["high.one"], "high.one": ["beside.one", "low.one"], "beside.one": []}
    assert circle(graph) == ["high.one", "low.one", "low.two"]
    assert circle(graph | {"low.two": []}) == []
    assert circle({"one": ["one"]}) == ["one"]
    assert upward(graph, (("low",), ("high", "beside"))) == ["low.two -> high.one", "high.one -> beside.one"]


def test_code_asks_an_engine_for_capabilities_and_compares_no_engine_name() -> None:
    names = {engine.name for engine in _core.engines()}
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                compared = {side.value for side in sides if isinstance(side, ast.Constant)}
                assert not compared & names, f"{name}:{node.lineno}"


#: Functions of the stages of observe whose results are passed on as values, by the module that has each of them.
STAGES = {
    "link_rate": "observation.link_rate",
    "load_of": "observation.load",
    "base_round_trip": "observation.round_trips",
}


def call_sites(code: Mapping[str, str], function: str, home: str) -> list[str]:
    """The places that name a function: by its own name, by another one, or as an attribute of its module."""
    found = []
    for module, text in code.items():
        tree = ast.parse(text)
        names = {function} if module == home else set()
        modules = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == f"forebay.{home}":
                names |= {alias.asname or alias.name for alias in node.names if alias.name == function}
            elif isinstance(node, ast.ImportFrom) and node.module == f"forebay.{home.rpartition('.')[0]}":
                modules |= {alias.asname or alias.name for alias in node.names if alias.name == home.rpartition(".")[2]}
        for node in ast.walk(tree):
            by_name = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
            by_module = (
                isinstance(node, ast.Attribute)
                and node.attr == function
                and isinstance(node.value, ast.Name)
                and node.value.id in modules
            )
            if by_name or by_module:
                found.append(f"{module}:{node.lineno}")
    return found


@pytest.mark.parametrize("function", STAGES)
def test_a_stage_of_observe_is_computed_at_one_call_site(function: str) -> None:
    code = {name: path.read_text(encoding="utf-8") for name, path in modules().items()}
    assert len(call_sites(code, function, STAGES[function])) == 1


def test_a_second_call_site_is_seen() -> None:
    first = {"a": "from forebay.observation.load import load_of\nload_of(1)\n"}
    for second in (
        "from forebay.observation.load import load_of as described\nlist(map(described, []))\n",
        "from forebay.observation import load\ndef late():\n    load.load_of(1)\n",
    ):
        assert len(call_sites({**first, "b": second}, "load_of", STAGES["load_of"])) == 2
    assert call_sites(first, "load_of", STAGES["load_of"]) == ["a:2"]
    assert call_sites({"observation.load": "def load_of():\n    load_of()\n"}, "load_of", STAGES["load_of"]) != []


#: Files of the search that may have more than one entry for a scenario, each with the reason. None needs it.
SEVERAL_ENTRIES: Mapping[str, str] = {}

#: Annotations of a parameter or a field that holds a scenario.
SCENARIOS = ("Scenario", "_core.Scenario", "Scenario | None", "_core.Scenario | None")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def takes_scenario(function: Function) -> bool:
    """Whether a parameter of a function is a scenario."""
    listed = function.args
    every = (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)
    return any(each.annotation is not None and ast.unparse(each.annotation) in SCENARIOS for each in every)


def constructors(trees: Mapping[str, ast.Module]) -> set[str]:
    """The classes of some modules whose constructor takes a scenario, by a field, `__init__` or a base class."""
    classes = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    found: set[str] = set()
    for _ in classes:
        before = len(found)
        for name, node in classes.items():
            own = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            is_dataclass = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
            of_field = is_dataclass and any(ast.unparse(each.annotation) in SCENARIOS for each in fields)
            inherited = not own and any(ast.unparse(base) in found for base in node.bases)
            if inherited or of_field or any(map(takes_scenario, own)):
                found.add(name)
        if len(found) == before:
            break
    return found


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) == "Protocol" for base in node.bases)


def candidates(tree: ast.Module, built: set[str]) -> Iterator[tuple[str, str]]:
    """Public functions, methods and constructors of a module that take a scenario, each with what a caller names."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_") and takes_scenario(node):
            yield node.name, node.name
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not is_protocol(node):
            if node.name in built:
                yield node.name, node.name
            for each in node.body:
                if isinstance(each, Function) and not each.name.startswith("_") and takes_scenario(each):
                    yield f"{node.name}.{each.name}", each.name


def called(tree: ast.Module) -> set[str]:
    """Names that a module calls, hands over to be called, or imports by another name.

    Names in annotations, in plain imports and in `isinstance` do not count.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if alias.asname is not None}
        if isinstance(node, ast.Call):
            handed = (*node.args, *(keyword.value for keyword in node.keywords))
            for each in (node.func, *(() if ast.unparse(node.func) == "isinstance" else handed)):
                if isinstance(each, ast.Name):
                    found.add(each.id)
                elif isinstance(each, ast.Attribute):
                    found.add(each.attr)
    return found


def entries(search: Mapping[str, str], others: Mapping[str, str]) -> dict[str, list[str]]:
    """By module of the search, the entries for a scenario that another module of the package calls."""
    trees = {name: ast.parse(text) for name, text in search.items()}
    built = constructors(trees)
    calls = {name: called(ast.parse(text)) for name, text in (search | others).items()}
    found = {}
    for module, tree in trees.items():
        elsewhere = set().union(*(names for name, names in calls.items() if name != module))
        found[module] = [entry for entry, name in candidates(tree, built) if name in elsewhere]
    return found


def test_a_scenario_enters_each_file_of_the_search_once() -> None:
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules().items()}
    search = {name: text for name, text in texts.items() if name.startswith("search.")}
    others = {name: text for name, text in texts.items() if name not in search}
    found = entries(search, others)
    assert sum(map(len, found.values())) > 15, "the count sees entries"
    assert {name: each for name, each in found.items() if len(each) > 1 and name not in SEVERAL_ENTRIES} == {}
    assert [name for name in SEVERAL_ENTRIES if len(found[name]) <= 1] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def one(scenario: Scenario): ...", ["one"]),
        ("def one(core: _core.Scenario | None): ...\ndef _own(scenario: Scenario): ...", ["one"]),
        ("def one(scenario: Scenario): ...\ndef two(scenario: Scenario): ...", ["one", "two"]),
        ("@dataclass\nclass one:\n    scenario: Scenario", ["one"]),
        ("class one:\n    def __init__(self, scenario: Scenario): ...\nclass two(one): ...", ["one", "two"]),
        ("class one:\n    def two(self, scenario: Scenario): ...", ["one.two"]),
        ("class one(Protocol):\n    def two(self, scenario: Scenario): ...", []),
        ("def unused(scenario: Scenario): ...", []),
    ],
)
def test_entries_are_seen_in_functions_methods_and_constructors(code: str, found: list[str]) -> None:
    caller = "from here import two as other\ndef call(given: unused) -> None:\n    isinstance(one(given), unused)"
    assert entries({"search.here": code}, {"elsewhere": caller}) == {"search.here": found}


def test_no_test_module_imports_another() -> None:
    pattern = re.compile(r"^\s*(?:from|import) tests\.(?:\w+\.)*test_\w+\b", re.MULTILINE)
    files = (ROOT / "tests").rglob("*.py")
    assert [str(path) for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []
