"""Packages that `recommend` does not need may be missing: every verb works, or prints how to install the package."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from forebay.commands.program import cli
from forebay.commands.version import REQUIRED
from forebay.errors import MissingPackageError
from forebay.extras import EXTRAS, how_to_get, need
from tests.support.commands import without_costs
from tests.support.forked import Answer
from tests.support.paths import PAGE, ROOT
from tests.support.scenarios import PORTS, PROFILE, SMALL

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {module for extra in EXTRAS for module in extra.modules}

#: An import that fails as it does where nothing of the name is installed, however often it is asked for.
HIDING = """
import sys
hidden = sys.argv.pop(1).split(",")
for name in list(sys.modules):
    if name.partition(".")[0] in hidden:
        del sys.modules[name]
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden)
"""
COMMAND = f"{HIDING}\nsys.argv[0] = 'forebay'\nfrom forebay.__main__ import main\nmain()"

#: A call of every verb, by what it cannot do without.
CALLS: tuple[tuple[list[str], set[str]], ...] = (
    (["--help"], set()),
    (["--version"], set()),
    (["recommend", "small.toml", "--quick", "--fresh", "--out", "made", "--report", "a.html"], set()),
    (["check", "small.toml", "--fresh"], set()),
    (["run", "small.toml"], set()),
    (["run", "small.toml", "--trace", "made"], {"polars"}),
    (["compare", "small.toml", "--points", "2", "--out", "made"], set()),
    (["sweep", "small.toml", "--over", "link.buffer=5p,9p", "--out", "made/sweep"], {"polars"}),
    (
        ["sweep", "small.toml", "--over", "link.buffer=5p", "--out", "made/b", "--bundle", "made/b.zip"],
        {"polars", "matplotlib"},
    ),
    (["plot", "swept"], {"polars", "matplotlib"}),
    (["reproduce", "list"], set()),
    (["reproduce", "avrachenkov", "--quick", "--out", "made/gallery"], {"polars", "matplotlib"}),
    (["observe", "flows.csv"], {"polars"}),
    (["emulate", "small.toml", "--trace", "made", "--as", "nobody", "--", "true"], {"polars"}),
    (["explain", "utilization"], set()),
    (["lab", "small.toml", "--no-open", "--out", "made/lab.html"], set()),
    (["fleet", "ports.csv", "--profiles", "profiles", "--out", "made/fleet"], {"polars"}),
    (["translate", "interface.txt"], set()),
    (["headroom", "--rate", "100Gbps", "--cable", "300m"], set()),
    (["conformance", f"{ROOT}/examples/algorithms/newreno.py:NewReno", "--allow-code"], set()),
    (["new", "--list"], set()),
    (["new", "--algorithm", "mine", "--language", "rust", "--out", "made/mine"], set()),
    (["schema"], set()),
    (["completion", "bash"], set()),
)
#: Calls that are refused for what they ask whatever is installed.
REFUSED = {"emulate", "translate"}
#: All that may not be there.
ALL = {name.partition(".")[0] for name in MODULES}

FLOWS = "ts,te,sa,da,sp,dp,pr,ipkt,ibyt\n" + "".join(
    f"2024-01-01 00:00:{second:02d},2024-01-01 00:00:{second + 9:02d},10.0.0.1,10.0.0.2,{second},443,TCP,9,9000\n"
    for second in range(40)
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the calls name."""
    found = tmp_path_factory.mktemp("extras")
    for name, text in (("small.toml", SMALL), ("flows.csv", FLOWS), ("interface.txt", "x\n")):
        (found / name).write_text(text, encoding="utf-8")
    (found / "profiles").mkdir()
    (found / "profiles" / "small.toml").write_text(PROFILE, encoding="utf-8")
    (found / "ports.csv").write_text(PORTS, encoding="utf-8")
    assert hidden([], ["sweep", "small.toml", "--over", "link.buffer=5p,9p", "--out", "swept"], found).code == 0
    return found


def hidden(modules: list[str], arguments: list[str], place: Path) -> Answer:
    """Call the command where some modules are not installed."""
    command = [sys.executable, "-c", COMMAND, ",".join(modules) or "-", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=place)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_every_verb_is_called() -> None:
    assert {call[0] for call, _ in CALLS if not call[0].startswith("-")} == set(cli.commands)


@pytest.mark.long
@pytest.mark.parametrize("lacking", [{"matplotlib"}, {"polars"}, ALL], ids=["matplotlib", "polars", "all"])
def test_every_verb_answers_or_says_what_it_needs(lacking: set[str], place: Path) -> None:
    for call, needs in CALLS:
        if (lacking != ALL and not needs and not draws(call)) or (call[0] == "lab" and not PAGE.is_file()):
            continue
        answer = hidden(sorted(lacking), call, place)
        text = f"{call}: {answer.err}"
        assert "Traceback" not in answer.err, text
        absent = needs & lacking
        if absent:
            assert answer.code == 2, text
            assert answer.err.count("\n") == 1, text
            assert all(f"no {module}, which" in answer.err for module in absent), text
            assert re.search(r'allowed: after `pip install "forebay\[[a-z,]+\]"`$', answer.err.strip()), text
            continue
        assert answer.err.count("pip install") == ("matplotlib" in lacking and draws(call)), text
        assert answer.code == (2 if call[0] in REFUSED else 0), text


def test_a_cluster_says_what_it_needs(place: Path) -> None:
    call = ["sweep", "small.toml", "--over", "link.buffer=5p", "--out", "x", "--scheduler", "tcp://127.0.0.1:1"]
    answer = hidden(["distributed"], call, place)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == 'forebay: --scheduler: found no dask; allowed: after `pip install "forebay[cluster]"`\n'


def draws(call: list[str]) -> bool:
    """Whether a picture is part of what the call gives."""
    return call[0] in {"recommend", "compare"} and "--out" in call


@pytest.mark.long
def test_without_its_picture_the_answer_is_the_same(place: Path) -> None:
    call = ["recommend", "small.toml", "--quick", "--fresh", "--json", "--out"]
    whole, bare = hidden([], [*call, "whole"], place), hidden(["matplotlib", "polars"], [*call, "bare"], place)
    assert without_costs(json.loads(bare.out)) == without_costs(json.loads(whole.out))
    assert {path.suffix for path in (place / "whole").iterdir()} == {".json", ".png", ".svg"}
    assert {path.suffix for path in (place / "bare").iterdir()} == {".json"}


@pytest.mark.parametrize(
    ("module", "requested"),
    [
        ("polars", "answer.curve"),
        ("matplotlib", "answer.plot()"),
        ("polars", "forebay.compare(scenario, points=2).curve"),
        ("polars", "forebay.sweep(scenario, ['link.buffer=5p'], 'api')"),
        ("polars", "forebay.reproduce('avrachenkov', out='api')"),
        ("xarray", "forebay.sweep(scenario, ['link.buffer=5p,9p'], 'swept_too').xarray()"),
    ],
)
def test_calls_say_what_they_need(module: str, requested: str, place: Path) -> None:
    program = f"""{HIDING}
import forebay
scenario = forebay.Scenario.load("small.toml")
answer = forebay.recommend(scenario, quick=True) if "answer" in sys.argv[1] else None
try:
    eval(sys.argv[1])
except forebay.ForebayError as error:
    print(type(error).__name__, error)
"""
    command = [sys.executable, "-c", program, module, requested]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, cwd=place)
    assert done.stdout.startswith(f"MissingPackageError found no {module}, which "), done.stdout


def test_an_unforeseen_missing_module_is_one_line() -> None:
    program = """
import sys
sys.modules["polars.exceptions"] = None
sys.argv = ["forebay", "schema"]
from forebay.commands import schema
schema.schema.callback = lambda: __import__("polars.exceptions")
from forebay.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "forebay[tables]"' in done.stderr
    bug = program.replace("polars.exceptions", "nowhere_at_all")
    done = subprocess.run([sys.executable, "-c", bug], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" in done.stderr, "what is no extra is a bug, and shows where"


# The package's own metadata ----- ---------------------------------------------------------------------------------


def bare(requirement: str) -> str:
    """The name in a requirement."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def test_the_project_declares_what_the_commands_name() -> None:
    declared = PROJECT["optional-dependencies"]
    for extra in EXTRAS:
        assert set(extra.packages) <= set(map(bare, declared[extra.name])), extra.name
    whole = re.fullmatch(r"forebay\[(.*)\]", declared["all"][0])
    assert whole is not None
    assert {extra.name for extra in EXTRAS} <= set(whole[1].split(","))
    assert sorted(REQUIRED) == sorted(map(bare, PROJECT["dependencies"]))
    assert not set(REQUIRED) & {package for extra in EXTRAS for package in extra.packages}


def test_every_package_that_is_imported_is_declared() -> None:
    own = {"forebay", *sys.stdlib_module_names}
    # Packages of the measurements of the laboratory, and a dependency of Jinja2.
    others = {"selenium", "markupsafe"}
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "python" / "forebay").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found.update({name.partition(".")[0]: path for name in names})
    known = {*REQUIRED, *(module.partition(".")[0] for module in MODULES)}
    assert {name: path for name, path in found.items() if name not in own | known | others} == {}


def test_the_manual_tells_every_extra() -> None:
    rows = re.findall(
        r"^\| `forebay\[(\w+)\]` \|", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {extra.name for extra in EXTRAS} <= set(rows) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (None, 'pip install "forebay[plots,tables]"'),
        ("pipx_metadata.json", "pipx inject forebay matplotlib polars"),
        ("uv-receipt.toml", "uv tool install --with matplotlib --with polars forebay"),
    ],
)
def test_it_is_got_as_forebay_was(
    note: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if note is not None:
        (tmp_path / note).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert how_to_get("plots", "tables") == message


def test_what_is_there_is_not_needed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    need("matplotlib", "polars")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingPackageError, match=r"no polars, which makes .*forebay\[tables\]") as raised:
        need("matplotlib", "polars")
    assert "matplotlib" not in str(raised.value)


def test_the_version_is_the_first_line(place: Path) -> None:
    lines = hidden(["polars"], ["--version"], place).out.splitlines()
    assert re.fullmatch(r"forebay \d+\.\d+\.\d+\S*", lines[0])
    assert lines[1].startswith(f"engines {lines[0].split()[1]}+")
    assert "Python" in lines[2]
    assert all(any(f"{name} " in line for line in lines) for name in REQUIRED)
    assert any(line.startswith("laboratory: ") for line in lines)
