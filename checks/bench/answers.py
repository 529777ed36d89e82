"""`make answers BASE=COMMIT`: the cost of the answers of this checkout as a ratio to those of an earlier commit.

Both versions answer the same scenario files with their own `forebay recommend FILE --json`. They take turns, so that a
slow minute of the machine affects both. The earlier commit is built as a wheel from a worktree under `out/answers`, and
uses the packages of this Python. Nothing else of it is used, so that old commits work.

A scenario has one JSON line for the whole search and one for `--quick`, as soon as both versions have answered. A table
with the geometric means ends the output. `cpu_s` is the processor time of the runs, as in `make bench ONLY=R`.
`command_s` is the processor time of the whole command with the start of Python. Both are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.bench.recommending import scenario_files
from checks.programs import exit_code, is_chosen, processor_s
from forebay.errors import ForebayError, InputError

__all__ = ["MODES", "Answer", "Comparison", "Version", "built", "compared", "geometric_mean", "main", "table"]

ROOT = Path(__file__).parents[2]
#: Options of each kind of search.
MODES: Mapping[str, Sequence[str]] = {"whole": (), "quick": ("--quick",)}
#: Exit codes of an answer: met, impossible and undecided.
ANSWERED = (0, 1, 3)
#: Columns of the terminal for which the table is made.
WIDTH = 80


@dataclass(frozen=True, slots=True)
class Version:
    """A version of forebay that can be started.

    Attributes
    ----------
    name : str
        "base" or "now".
    package : Path
        Folder in which Python finds the package `forebay` with its extension.
    entry : str
        Entry point of the command, as in "forebay.__main__:main".
    """

    name: str
    package: Path
    entry: str

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line that runs the command `forebay` of this version."""
        module, _, function = self.entry.partition(":")
        start = f"import sys; from {module} import {function}; sys.argv[0] = 'forebay'; sys.exit({function}())"
        return [sys.executable, "-c", start, *arguments]

    def answer(self, path: Path, options: Sequence[str], pycache: Path) -> Answer:
        """The answer of `recommend` to a scenario file, without stored runs of earlier commands.

        Raises
        ------
        ForebayError
            If the command fails or prints no JSON, with the last line of its standard error.
        """
        command = self.command(["recommend", str(path.resolve()), "--json", *options])
        with (
            tempfile.TemporaryDirectory() as folder,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            environment = {
                **os.environ,
                "PYTHONPATH": str(self.package),
                "PYTHONPYCACHEPREFIX": str(pycache),
                "PYTHONDONTWRITEBYTECODE": "",
                "XDG_CACHE_HOME": folder,
            }
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=errors)
            command_s = processor_s(process)
            output.seek(0)
            errors.seek(0)
            try:
                if process.returncode not in ANSWERED:
                    raise ValueError
                return Answer.of(json.load(output), command_s)
            except (ValueError, LookupError, TypeError):
                said = errors.read().decode(errors="replace").strip().splitlines()
                raise ForebayError(said[-1] if said else f"exit code {process.returncode}, no JSON") from None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and its cost: processor seconds of the runs and of the whole command."""

    cpu_s: float
    command_s: float
    packets: int
    buffer: float | None

    @classmethod
    def of(cls, data: Mapping[str, Any], command_s: float) -> Answer:
        """The answer from the JSON of `recommend`."""
        buffer, cost = data["recommendation"], data["cost"]
        return cls(
            float(cost["cpu_s"]),
            command_s,
            int(cost["data_packets"]),
            None if buffer is None else float(buffer["packets"]),
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of both versions to one scenario, by round; or the error of the version that failed."""

    name: str
    mode: str
    base: Sequence[Answer] = ()
    now: Sequence[Answer] = ()
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        """Processor time of the runs now, as a ratio to the base; None after a failure."""
        return None if self.error else _median(self.now, "cpu_s") / _median(self.base, "cpu_s")

    def line(self) -> dict[str, Any]:
        """The JSON line."""
        if self.ratio is None:
            return {"name": self.name, "mode": self.mode, "error": self.error}
        costs = {"base": self.base, "now": self.now}
        seconds = {
            f"{version}_{key}": round(_median(answers, key), 3)
            for key in ("cpu_s", "command_s")
            for version, answers in costs.items()
        }
        command_ratio = _median(self.now, "command_s") / _median(self.base, "command_s")
        return {
            "name": self.name,
            "mode": self.mode,
            "ratio": round(self.ratio, 3),
            "command_ratio": round(command_ratio, 3),
            **seconds,
            **{f"{version}_million_packets": round(answers[0].packets / 1e6, 2) for version, answers in costs.items()},
            **{f"{version}_buffer_packets": answers[0].buffer for version, answers in costs.items()},
            "rounds": len(self.now),
        }


def _median(answers: Sequence[Answer], key: str) -> float:
    """The median of a time, at least a microsecond."""
    return max(statistics.median(float(getattr(answer, key)) for answer in answers), 1e-6)


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The geometric mean of ratios; None of none."""
    return statistics.geometric_mean(ratios) if ratios else None


def compared(
    versions: tuple[Version, Version], files: Mapping[str, Path], modes: Sequence[str], rounds: int, pycache: Path
) -> Iterator[Comparison]:
    """A comparison for each scenario and mode, as soon as it is finished.

    The versions take turns, and the version that begins changes from round to round.
    """
    for number, (name, path) in enumerate(files.items(), start=1):
        for mode in modes:
            print(f"answers: {name}, {mode} ({number} of {len(files)})", file=sys.stderr, flush=True)
            yield _compared(versions, name, path, mode, rounds, pycache)


def _compared(
    versions: tuple[Version, Version], name: str, path: Path, mode: str, rounds: int, pycache: Path
) -> Comparison:
    found: dict[str, list[Answer]] = {version.name: [] for version in versions}
    for turn in range(rounds):
        for version in versions if turn % 2 == 0 else reversed(versions):
            try:
                found[version.name].append(version.answer(path, MODES[mode], pycache))
            except ForebayError as error:
                return Comparison(name, mode, error=f"{version.name}: {error}")
    base, now = (found[version.name] for version in versions)
    return Comparison(name, mode, base, now)


# The earlier commit -------------------------------------------------------------------------------------------------


def built(commit: str, folder: Path) -> Version:
    """Build the package of a commit, or use the one that an earlier call built.

    Parameters
    ----------
    commit : str
        A commit, branch or tag.
    folder : Path
        Folder of all builds; they share one folder of cargo.

    Raises
    ------
    InputError
        If there is no such commit, or if it cannot be built.
    """
    if not commit:
        raise InputError("found no commit; allowed: BASE=COMMIT")
    sha = _output("git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", wrong=f"found `{commit}`").strip()
    entry = _entry(_output("git", "show", f"{sha}:pyproject.toml", wrong=f"{commit}: pyproject.toml"))
    package = folder / sha[:12]
    if not package.exists():
        tree = folder / "tree"
        _output("git", "worktree", "add", "--force", "--detach", str(tree), sha, wrong=commit)
        try:
            _build(tree, package, commit)
        finally:
            _output("git", "worktree", "remove", "--force", str(tree), wrong=commit)
    return Version("base", package, entry)


def _build(tree: Path, package: Path, commit: str) -> None:
    """Build a wheel of a worktree, and unpack it."""
    print(f"answers: building {commit} ...", file=sys.stderr, flush=True)
    maturin = Path(sys.executable).with_name("maturin")
    with tempfile.TemporaryDirectory(dir=package.parent) as made:
        _output(
            *(str(maturin), "build", "--release", "--locked", "--interpreter", sys.executable, "--out", made),
            cwd=tree,
            environment={"CARGO_TARGET_DIR": str(package.parent / "target")},
            wrong=f"{commit}: its build failed",
        )
        unpacked = Path(made, "package")
        for wheel in Path(made).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
        unpacked.rename(package)


def _entry(pyproject: str) -> str:
    """The entry point of the command `forebay`."""
    return str(tomllib.loads(pyproject)["project"]["scripts"]["forebay"])


def _output(*command: str, wrong: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """The standard output of a program that must succeed; `wrong` begins the line of its error."""
    settings = {**os.environ, **(environment or {})}
    try:
        process = subprocess.run(command, cwd=cwd or ROOT, env=settings, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{wrong}: {command[0]}: {error.strerror}") from error
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or [f"{command[0]}: exit code {process.returncode}"])[-1]
        raise InputError(f"{wrong}: {reason[:300]}")
    return process.stdout


# The table ----------------------------------------------------------------------------------------------------------


def table(comparisons: Sequence[Comparison]) -> list[str]:
    """The lines of a table of at most 80 columns: one row for each scenario, and a last one with geometric means."""
    by_name: dict[str, dict[str, Comparison]] = {}
    for comparison in comparisons:
        by_name.setdefault(comparison.name, {})[comparison.mode] = comparison
    head = [f"{'':20}{'CPU s':>24}{'CPU s, --quick':>24}", f"{'scenario':20}{_HEAD}{_HEAD}  buffer"]
    rows = [f"{_short(name):20}{_cells(found)}" for name, found in by_name.items()]
    errors = [
        f"{_short(each.name)}, {each.mode}: {each.error}"[:WIDTH] for each in comparisons if each.error is not None
    ]
    means = "".join(f"{'':16}{_number(geometric_mean(_ratios(comparisons, mode)), 8)}" for mode in MODES)
    return [*head, *(row[:WIDTH].rstrip() for row in rows), f"{'geometric mean':20}{means}".rstrip(), *errors]


_HEAD = f"{'base':>8}{'now':>8}{'ratio':>8}"


def _short(name: str) -> str:
    """The name of a scenario without R/, in the width of its column."""
    return name.removeprefix("R/")[:19]


def _cells(found: Mapping[str, Comparison]) -> str:
    """The times and ratios of a scenario, and its buffers in packets if the versions differ."""
    cells = []
    for mode in MODES:
        each = found.get(mode)
        if each is None:
            cells.append(f"{'–':>24}")
        elif each.ratio is None:
            cells.append(f"{'failed':>24}")
        else:
            seconds = [_number(_median(answers, "cpu_s"), 8) for answers in (each.base, each.now)]
            cells.append("".join([*seconds, _number(each.ratio, 8)]))
    answered = found.get("whole") or next(iter(found.values()))
    return "".join([*cells, "  ", _buffers(answered)])


def _buffers(each: Comparison) -> str:
    """The recommended buffer in packets, or both if they differ."""
    if each.error is not None:
        return ""
    texts = ["none" if side[0].buffer is None else f"{side[0].buffer:.0f}" for side in (each.base, each.now)]
    return texts[0] if texts[0] == texts[1] else ">".join(texts)


def _number(value: float | None, width: int) -> str:
    """A number with three digits; a dash without one."""
    if value is None:
        return f"{'–':>{width}}"
    return f"{value:{width}.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def _ratios(comparisons: Sequence[Comparison], mode: str) -> list[float]:
    return [each.ratio for each in comparisons if each.mode == mode and each.ratio is not None]


def _summary(comparisons: Sequence[Comparison], mode: str) -> dict[str, Any]:
    """The JSON line of all scenarios."""
    of_mode = [each for each in comparisons if each.mode == mode]
    known = {each.name: each.ratio for each in of_mode if each.ratio is not None}
    mean, largest = geometric_mean(list(known.values())), max(known, key=lambda name: known[name], default=None)
    return {
        "name": "R",
        "mode": mode,
        "scenarios": len(known),
        "geometric_mean": None if mean is None else round(mean, 3),
        "largest_ratio": None if largest is None else round(known[largest], 3),
        "largest": largest,
        "failed": [each.name for each in of_mode if each.error is not None],
    }


# The command --------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines and the table; 1 if a version failed on a scenario."""
    parser = argparse.ArgumentParser(prog="make answers", description=__doc__)
    parser.add_argument("--base", required=True, metavar="COMMIT", help="the earlier commit")
    parser.add_argument("--scenarios", type=Path, default=ROOT / "scenarios", help="folder of scenario files")
    parser.add_argument("--only", default="", help="comma-separated parts of names, as in dsl,R/campus")
    parser.add_argument("--rounds", type=int, default=1, help="answers of each version [default: 1]")
    parser.add_argument("--quick", action="store_true", help="only --quick")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "answers", help="folder of the builds")
    options = parser.parse_args(arguments)
    return exit_code("answers", lambda: _compare(options), "interrupted")


def _compare(options: argparse.Namespace) -> int:
    names = scenario_files(options.scenarios)
    files = {name: path for name, path in names.items() if is_chosen(name, options.only)}
    if not files:
        raise InputError(f"found `{options.only}`; allowed: {', '.join(names) or f'none in {options.scenarios}'}")
    if options.rounds < 1:
        raise InputError(f"found `{options.rounds}` rounds; allowed: 1 or more")
    options.folder.mkdir(parents=True, exist_ok=True)
    base = built(options.base, options.folder.resolve())
    now = Version("now", ROOT / "python", _entry((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    modes = ["quick"] if options.quick else list(MODES)
    pycache = options.folder.resolve() / "pycache"
    # The first commands compile Python's modules.
    list(compared((base, now), dict(list(files.items())[:1]), ["quick"], 1, pycache))
    found = []
    for comparison in compared((base, now), files, modes, options.rounds, pycache):
        found.append(comparison)
        print(json.dumps(comparison.line()), flush=True)
    for mode in modes:
        print(json.dumps(_summary(found, mode)), flush=True)
    print("\n".join(["", *table(found)]), flush=True)
    return 1 if any(each.error for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
