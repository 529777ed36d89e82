"""`make mutants`, Python's half: which changes of the code that judges and searches the tests notice.

    python benches/mutants_python.py [--only goals,search.goal_test] [--sample 300] [--seed 1] [--write FILE.json]

First every test of the modules asked for runs once, watched line by line. Then each mutant (`mutation.py` says which
there are) runs in a process of its own against the tests that reach its line, the cheapest file first, until one fails.
It is caught where one does, timed out where one takes far longer than it did, not viable where the module cannot even
be imported, and survives otherwise. Nothing is written into the sources: a mutant lives in memory. The draw depends on
the seed and the sources alone. Mutants that mean the same are in `mutants_equivalent.toml`, each with the reason, and
are not drawn; `--equivalent` runs those instead, and tells which of them a test does tell apart.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

try:
    from mutation import Mutant, mutants_of, statement_lines
except ImportError as missing:
    print(f"{missing}; install what mutants need: pip install -r requirements/mutants.txt", file=sys.stderr)
    sys.exit(2)

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "python" / "forebay"
EQUIVALENT = ROOT / "benches" / "mutants_equivalent.toml"
#: Where it is kept what the tests of a file reach, by everything that decides over it.
WATCHED = ROOT / "out" / "mutants"
#: What several test files use.
SHARED = ("conftest.py", "support/cycles.py", "support/damages.py", "support/oracle.py")

#: The test files that concern each module.
TESTS: Mapping[str, tuple[str, ...]] = {
    "inputs.goals": ("goals_laws", "several_goals", "rule_verdict", "search"),
    "results.statistics": ("statistics_laws", "statistics", "search_laws"),
    "search.answer": ("frozen", "recommendation_laws", "findings_laws", "answers", "several_goals"),
    "search.bracketing": ("noisy_root", "search"),
    "search.check_report": ("check",),
    "search.checked_buffers": ("check",),
    "search.checking": ("check",),
    "search.choice": ("choice",),
    "search.configured": ("configured",),
    "search.class_sizing": ("class_sizing",),
    "search.noisy_root": ("noisy_root", "search"),
    "search.delay_bound": ("delay_bound",),
    "search.findings": ("frozen", "findings_laws", "search", "answers", "rule_verdict"),
    "search.independence": ("frozen", "goal_test_laws", "search", "independence"),
    "search.feasible": ("survey",),
    "search.interpolation": ("findings_laws", "search_laws", "rule_verdict", "answers"),
    "search.goal_test": ("frozen", "goal_test_laws", "search", "several_goals"),
    "search.rule_verdict": ("frozen", "goal_test_laws", "rule_verdict", "several_goals"),
    "search.joint_buffers": ("class_sizing",),
    "search.buffer_variable": ("frozen", "varying_laws", "over"),
    "search.ladder": ("ladder",),
    "search.measurable": ("frozen", "varying_laws", "measurable"),
    "search.measurements": ("recommendation_laws", "resumption_laws", "search", "strata"),
    "search.noisy_threshold": ("noisy_threshold", "search"),
    "search.named_buffer": ("configured",),
    "search.search_state": ("frozen", "search_laws", "search", "verdicts"),
    "search.optimizing": ("optimum",),
    "search.optimum": ("optimum",),
    "search.overlaps": ("overlaps",),
    "search.plan": ("frozen", "search_laws", "search", "over"),
    "search.port_warnings": ("port_warnings",),
    "search.quick": ("quick", "verdicts"),
    "search.range_variable": ("range_variable",),
    "search.ranking": ("choice",),
    "search.rare_states": ("rare_states",),
    "search.recommendation": (
        "frozen",
        "recommendation_laws",
        "findings_laws",
        "several_goals",
        "recommend_more",
        "answers",
        "over",
        "independence",
    ),
    "search.resumption": ("resumption_laws", "resumption"),
    "search.scaling": ("ladder",),
    "search.sensitivity": ("varying_laws", "recommend_more", "uncertain"),
    "search.sequential_test": ("check",),
    "search.value": ("value", "range_variable"),
    "search.smallest": ("frozen", "search_laws", "search", "verdicts"),
    "search.strata": ("strata",),
    "search.survey": ("survey",),
    "search.surveying": ("survey",),
    "search.parameter_rules": ("parameter_rules",),
    "search.tradeoff": ("recommendation_laws", "recommend_more"),
    "search.twins": ("twins",),
    "search.unmeasured": ("observe_day", "observe_one_sided"),
    "search.time_budget": ("quick",),
    "search.answer_parts": ("frozen", "findings_laws", "answers"),
    "search.answering": ("frozen", "findings_laws", "answers", "over", "port_warnings"),
    "search.class_answer": ("class_sizing",),
    "search.class_steps": ("class_sizing",),
    "search.confirmation": ("frozen", "search_laws", "search", "verdicts"),
    "search.evidence": ("frozen", "findings_laws", "search", "answers", "twins"),
    "search.evidence_warnings": ("frozen", "findings_laws", "answers", "independence"),
    "search.goals": ("several_goals", "recommendation_laws"),
    "search.listener": ("options", "recommendation_laws", "check"),
    "search.options": ("options", "recommendation_laws", "quick"),
    "search.planning": ("recommendation_laws", "range_variable", "stated_evidence"),
    "search.port_classes": ("class_sizing",),
    "search.question": ("findings_laws", "over", "delay_bound"),
    "search.searching": ("quick", "answers", "ladder"),
    "search.shorter_runs": ("quick",),
    "search.variations": ("findings_laws",),
    "search.words": ("frozen", "range_variable", "search"),
}

#: Tests that judge by the clock fail on a busy machine, whatever the mutant.
BY_THE_CLOCK = ("test_a_goal_that_cannot_be_is_refused_at_once",)
#: Tests that take longer than so many seconds by themselves do not run against mutants.
LONGEST_S = 8.0
#: A test may take so many times its own processor time, and so many seconds more, before a mutant counts as timed out.
PATIENCE, PATIENCE_S = 10.0, 5.0
#: So much memory more than at its start may a mutant take: one that loops often collects, too.
MEMORY_BYTES = 3 * 2**30
#: A test's way through one function is watched so many times: what it reaches only later another test reaches, too.
WATCHED_CALLS = 300


class Fate(StrEnum):
    """How a mutant ended."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    NOT_VIABLE = "not viable"


#: What a trial's process exits with; anything else is a crash, which a test run notices.
_EXITS = {0: Fate.SURVIVED, 1: Fate.CAUGHT, 70: Fate.NOT_VIABLE, 71: Fate.TIMED_OUT}


@dataclass
class Watched:
    """What one test did: processor time, and by module the lines that it reached."""

    seconds: float = 0.0
    passed: bool = True
    lines: dict[str, set[int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As it is kept."""
        lines = {module: sorted(lines) for module, lines in self.lines.items()}
        return {"seconds": self.seconds, "passed": self.passed, "lines": lines}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Watched:
        """As it was kept."""
        lines = {module: set(lines) for module, lines in kept["lines"].items()}
        return cls(kept["seconds"], kept["passed"], lines)


@dataclass(frozen=True)
class Trial:
    """A mutant of a module and what became of it."""

    module: str
    mutant: Mutant
    fate: Fate
    tests: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Try a sample of the mutants; 1 where fewer than nine in ten of the viable ones are noticed."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="comma-separated modules, as in goals,search (all of search)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many at random; all by default")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at once")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the results as JSON")
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    parser.add_argument("--equivalent", action="store_true", help="try those that are said to mean the same")
    options = parser.parse_args(arguments)
    modules = _modules(options.only)
    if not modules:
        print(f"--only: found {options.only}; allowed: {', '.join(TESTS)}, search", file=sys.stderr)
        return 2
    told, same = _population(modules)
    drawn = same if options.equivalent else told
    if options.sample and options.sample < len(drawn):
        chosen = random.Random(options.seed).sample(range(len(drawn)), options.sample)
        drawn = [drawn[index] for index in sorted(chosen)]
    if options.list:
        for module, mutant in drawn:
            print(f"{module}:{mutant.line}: {mutant.operator}: {mutant.before}  ->  {mutant.after}")
    print(f"{len(told)} mutants, {len(same)} more that mean the same; {len(drawn)} drawn with seed {options.seed}")
    if options.list:
        return 0
    trials = list(_tried(drawn, max(1, options.jobs)))
    for line in _summary(trials, equivalent=options.equivalent):
        print(line)
    if options.write is not None:
        options.write.write_text(json.dumps(_told(trials, options), indent=1) + "\n", encoding="utf-8")
    return int(10 * _noticed(trials) < 9 * _viable(trials))


def _modules(only: str) -> list[str]:
    """The modules asked for, in order; "search" stands for all of its modules."""
    names = [name.strip() for name in only.split(",") if name.strip()] or ["goals", "statistics", "search"]
    known = {module for module in TESTS for name in names if module == name or module.startswith(f"{name}.")}
    unknown = [name for name in names if not any(m == name or m.startswith(f"{name}.") for m in TESTS)]
    return [] if unknown else [module for module in TESTS if module in known]


def _path(module: str) -> Path:
    return SOURCES / f"{module.replace('.', '/')}.py"


# Which mutants ---------------------------------------------------------------------------------------------------


def _population(modules: Iterable[str]) -> tuple[list[tuple[str, Mutant]], list[tuple[str, Mutant]]]:
    """All mutants of the modules, and those that are said to mean the same."""
    with EQUIVALENT.open("rb") as file:
        listed = tomllib.load(file)["equivalent"]
    same: dict[str, set[tuple[str, str, str | None]]] = {}
    for entry in listed:
        afters = entry["after"] if isinstance(entry["after"], list) else [entry["after"]]
        known = same.setdefault(entry["module"], set())
        known.update((entry["before"], after, entry.get("below")) for after in afters)
    told: list[tuple[str, Mutant]] = []
    equal: list[tuple[str, Mutant]] = []
    for module in modules:
        known, found = same.get(module, set()), set()
        for mutant in mutants_of(_path(module).read_text(encoding="utf-8")):
            keys = {(mutant.before, mutant.after, below) for below in (mutant.below, None)} & known
            found |= keys
            (equal if keys else told).append((module, mutant))
        for before, after, _ in sorted(known - found, key=str):
            print(f"{EQUIVALENT.name}: {module} has no mutant `{after}` of `{before}` any more", file=sys.stderr)
    return told, equal


# Trying them -----------------------------------------------------------------------------------------------------


def _tried(drawn: Sequence[tuple[str, Mutant]], jobs: int) -> Iterator[Trial]:
    """Try each mutant, some at once; in the order of the draw."""
    _prepare()
    modules = list(dict.fromkeys(module for module, _ in drawn))
    tests = _survey(modules)
    lines = {module: statement_lines(_path(module).read_text(encoding="utf-8")) for module in modules}
    running: dict[int, tuple[int, float]] = {}
    done: dict[int, Trial] = {}
    chosen = [_concerned(tests, module, lines[module][mutant.line]) for module, mutant in drawn]
    waiting = list(range(len(drawn)))
    while waiting or running:
        while waiting and len(running) < jobs:
            index = waiting.pop(0)
            running[_fork(*drawn[index], chosen[index])] = index, time.monotonic()
        process, status, _ = os.wait3(0)
        index, started = running.pop(process)
        code = os.waitstatus_to_exitcode(status)
        fate = Fate.TIMED_OUT if code in {-signal.SIGXCPU, -signal.SIGKILL} else _EXITS.get(code, Fate.CAUGHT)
        module, mutant = drawn[index]
        done[index] = Trial(module, mutant, fate, len(chosen[index]), round(time.monotonic() - started, 2))
        print(f"{len(done)}/{len(drawn)} {module}:{mutant.line}: {fate}", file=sys.stderr, flush=True)
    yield from (done[index] for index in range(len(drawn)))


def _prepare() -> None:
    """Import once what every trial needs, but nothing of forebay."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["PYTHONPATH"] = str(SOURCES.parent)
    sys.path[:0] = [str(SOURCES.parent), str(ROOT)]
    os.chdir(ROOT)
    for name in ("numpy", "scipy.special", "scipy.stats", "scipy.signal", "polars", "rich.console", "click", "jinja2"):
        importlib.import_module(name)
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutants")
    assert not any(name.split(".")[0] == "forebay" for name in sys.modules)


def _survey(modules: Sequence[str]) -> dict[str, Watched]:
    """Run the tests that concern the modules once; what each of them did. A file that is as it was is not run again."""
    sources = b"".join(path.read_bytes() for path in sorted(SOURCES.rglob("*.py")))
    shared = b"".join((ROOT / "tests" / name).read_bytes() for name in SHARED)
    tests: dict[str, Watched] = {}
    for name in dict.fromkeys(name for module in modules for name in TESTS[module]):
        file = next((ROOT / "tests").glob(f"*/test_{name}.py"))
        digest = hashlib.sha256(sources + shared + file.read_bytes()).hexdigest()
        left = WATCHED / f"{name}-{digest[:16]}.json"
        if not left.exists():
            for old in WATCHED.glob(f"{name}-*.json"):
                old.unlink()
            _watch(file.relative_to(ROOT).as_posix(), left)
        tests |= {test: Watched.of(each) for test, each in json.loads(left.read_text(encoding="utf-8")).items()}
    failed = [test for test, watched in tests.items() if not watched.passed]
    if failed:
        raise SystemExit(f"tests that fail without a mutant, too: {', '.join(failed)}")
    return tests


def _watch(file: str, left: Path) -> None:
    """Run the tests of a file in a process of its own, and leave there what each of them did."""
    left.parent.mkdir(parents=True, exist_ok=True)
    process = os.fork()
    if process == 0:
        try:
            with tempfile.TemporaryDirectory() as folder:
                survey = _Survey({str(_path(module)): module for module in TESTS})
                _pytest([file], survey, Path(folder) / "tests")
            told = {test: watched.to_dict() for test, watched in survey.tests.items()}
            left.write_text(json.dumps(told), encoding="utf-8")
        finally:
            os._exit(1)
    os.waitpid(process, 0)
    if not left.exists():
        raise SystemExit(f"{file}: the tests did not run")


def _concerned(tests: Mapping[str, Watched], module: str, lines: range) -> dict[str, float]:
    """The tests that reach lines of a module, or all that concern it where those run on import, by processor time."""
    files = {str(next((ROOT / "tests").glob(f"*/test_{name}.py")).relative_to(ROOT)) for name in TESTS[module]}
    found = {}
    for test, watched in tests.items():
        reached = watched.lines.get(module, set())
        mine = test.partition("::")[0] in files and not any(name in test for name in BY_THE_CLOCK)
        if mine and watched.seconds <= LONGEST_S and not (lines and reached.isdisjoint(lines)):
            found[test] = watched.seconds
    return found


def _fork(module: str, mutant: Mutant, tests: Mapping[str, float]) -> int:
    """Try a mutant in a process of its own; its id."""
    process = os.fork()
    if process:
        return process
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    code = 1
    try:
        code = _trial(module, mutant, tests, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(code)


def _trial(module: str, mutant: Mutant, tests: Mapping[str, float], folder: Path) -> int:
    """What the tests say of a mutant, as an exit code."""
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES,) * 2)
    total = int(PATIENCE_S + PATIENCE * sum(tests.values())) + 60
    resource.setrlimit(resource.RLIMIT_CPU, (total, total + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.dont_write_bytecode = True
    name = f"forebay.{module}"
    sys.meta_path.insert(0, _Instead(name, _path(module), mutant.text))
    try:
        importlib.import_module(name)
    except BaseException:
        return 70
    if not tests:
        return 0
    files: dict[str, dict[str, float]] = {}
    for test, seconds in tests.items():
        files.setdefault(test.partition("::")[0], {})[test] = seconds
    for number, file in enumerate(sorted(files, key=lambda file: sum(files[file].values()))):
        code = _pytest(["-x", file], _Chosen(files[file]), folder / str(number))
        # A file that cannot be collected notices the mutant, too; where no test runs, none does.
        if code not in {pytest.ExitCode.OK, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return 1
    return 0


def _pytest(arguments: Sequence[str], plugin: object, folder: Path) -> int:
    """Run pytest in this process."""
    quiet = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis was imported before, for its profile
    return int(pytest.main([*quiet, f"--basetemp={folder}", *arguments], plugins=[plugin]))


class _Instead(SourceFileLoader):
    """Finds one module and gives other text for it."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self._text = text

    def find_spec(self, name: str, _path: object = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The module, where it is the one."""
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """Compile the other text."""
        del fullname
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Chosen:
    """Runs only the chosen tests, the cheapest first, each for as long as it may take."""

    def __init__(self, tests: Mapping[str, float]) -> None:
        self._tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the others, and sort."""
        kept = [item for item in items if item.nodeid in self._tests]
        items[:] = sorted(kept, key=lambda item: self._tests[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """End the process where the test takes too long, in processor time or, where it waits, by the clock."""
        allowed = PATIENCE_S + PATIENCE * self._tests[item.nodeid]
        for timer, number, seconds in (
            (signal.ITIMER_PROF, signal.SIGPROF, allowed),
            (signal.ITIMER_REAL, signal.SIGALRM, 60 + 10 * allowed),
        ):
            signal.signal(number, _give_up)
            signal.setitimer(timer, seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    os._exit(71)


class _Survey:
    """Watches which lines of some files each test reaches, fixtures included, and how long it takes."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self.tests: dict[str, Watched] = {}
        self._of_fixtures: dict[Any, Watched] = {}
        self._now = [Watched()]
        self._calls: Counter[CodeType] = Counter()

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        module = self._files.get(code.co_filename)
        self._calls[code] += 1
        if module is None or self._calls[code] > WATCHED_CALLS:
            return None
        lines = self._now[-1].lines.setdefault(module, set())

        def line(frame: FrameType, _event: str, _argument: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        lines.add(frame.f_lineno)
        return line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch a test."""
        watched = self.tests[item.nodeid] = Watched()
        self._now, self._calls = [watched], Counter()
        started = time.process_time()
        sys.settrace(self._trace)
        try:
            result = yield
        finally:
            sys.settrace(None)
            watched.seconds = time.process_time() - started
        fixtures = getattr(item, "_fixtureinfo", None)
        for definitions in fixtures.name2fixturedefs.values() if fixtures is not None else ():
            for definition in definitions:
                self._add(watched, self._of_fixtures.get(definition))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """What sets up a fixture counts for every test that uses it."""
        self._now.append(Watched())
        try:
            return (yield)
        finally:
            self._of_fixtures[fixturedef] = self._now.pop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of failures; what is skipped notices nothing."""
        if report.failed:
            self.tests[report.nodeid].passed = False

    @staticmethod
    def _add(watched: Watched, more: Watched | None) -> None:
        for module, lines in (more.lines if more is not None else {}).items():
            watched.lines.setdefault(module, set()).update(lines)


# What is said ----------------------------------------------------------------------------------------------------


def _viable(trials: Iterable[Trial]) -> int:
    return sum(trial.fate is not Fate.NOT_VIABLE for trial in trials)


def _noticed(trials: Iterable[Trial]) -> int:
    return sum(trial.fate in {Fate.CAUGHT, Fate.TIMED_OUT} for trial in trials)


def _summary(trials: Sequence[Trial], *, equivalent: bool) -> Iterator[str]:
    """The survivors (or, of those that are said to mean the same, the others) and the table by module."""
    for trial in trials:
        if (trial.fate is Fate.SURVIVED) != equivalent:
            where = f"python/forebay/{trial.module.replace('.', '/')}.py:{trial.mutant.line}"
            yield f"\n{where}: {trial.fate}, {trial.mutant.operator}, {trial.tests} tests"
            yield from (f"- {line}" for line in trial.mutant.before.splitlines())
            yield from (f"+ {line}" for line in trial.mutant.after.splitlines() or [""])
    yield ""
    yield "| module | mutants | caught | timed out | survived | not viable | noticed |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    modules = [module for module in TESTS if any(trial.module == module for trial in trials)]
    for module in [*modules, "**all**"]:
        mine = [trial for trial in trials if module in {trial.module, "**all**"}]
        count = Counter(trial.fate for trial in mine)
        share = f"{100 * _noticed(mine) / _viable(mine):.0f} %" if _viable(mine) else "-"
        cells = (len(mine), *(count[fate] for fate in (Fate.CAUGHT, Fate.TIMED_OUT, Fate.SURVIVED, Fate.NOT_VIABLE)))
        yield f"| {module} | {' | '.join(map(str, cells))} | {share} |"


def _told(trials: Sequence[Trial], options: argparse.Namespace) -> dict[str, Any]:
    """The results as JSON."""
    return {
        "only": options.only,
        "sample": options.sample,
        "seed": options.seed,
        "viable": _viable(trials),
        "noticed": _noticed(trials),
        "mutants": [
            {
                "module": trial.module,
                "line": trial.mutant.line,
                "operator": trial.mutant.operator,
                "before": trial.mutant.before,
                "after": trial.mutant.after,
                "fate": trial.fate,
                "tests": trial.tests,
                "seconds": trial.seconds,
            }
            for trial in trials
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
