"""`make fuzz`: run every target for some seconds, and print a line each, and the findings with a command to repeat.

Rust's targets run under cargo-fuzz, with the address sanitizer where there is a nightly toolchain and without it on
stable; Python's under atheris; `scenarios` are random ones for every engine. A target whose tool is missing is left out
and said; the exit code is 1 where something was found, and 2 where nothing could run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.targets import TARGETS

ROOT = Path(__file__).parent.parent.parent
OUT = ROOT / "out" / "fuzz"
CORPORA = ROOT / "fuzz" / "corpus"
#: Limits of one input: seconds, megabytes and bytes.
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=4096", "-print_final_stats=1")
#: One case of `scenarios` ends with this.
SCENARIOS = "scenarios"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a target's run.

    Attributes
    ----------
    name : str
        The target.
    executions, coverage : int or None
        Inputs that it was fed, and edges that they reached; None where that is not known.
    findings : tuple of str
        Commands that repeat what was found.
    """

    name: str
    executions: int | None
    coverage: int | None
    findings: tuple[str, ...] = ()


def main(arguments: list[str]) -> int:
    """Run the targets."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(arguments)
    rust = [path.stem for path in sorted((ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))]
    known = [*rust, *TARGETS, SCENARIOS]
    names = [name for name in options.only.split(",") if name] or known
    for name in names:
        if name not in known:
            print(f"make fuzz: found ONLY={name}; allowed: {', '.join(known)}", file=sys.stderr)
            return 2
    outcomes: list[Outcome] = []
    mine = [name for name in names if name in rust]
    toolchain = _toolchain() if mine else None
    if toolchain is not None and _built(toolchain, mine):
        outcomes += [_told(_fuzzed(name, _rust(name, toolchain), options.seconds)) for name in mine]
    mine = [name for name in names if name in TARGETS]
    if mine and importlib.util.find_spec("atheris") is None:
        print(f"make fuzz: no atheris for this Python ({', '.join(mine)} are left out): it has wheels for CPython "
              "3.11 to 3.13 on Linux", file=sys.stderr)  # fmt: skip
    elif mine:
        outcomes += [_told(_fuzzed(name, _python(name), options.seconds)) for name in mine]
    if SCENARIOS in names:
        outcomes.append(_told(_scenarios(options.seconds, options.seed)))
    return _summary(outcomes)


def _told(outcome: Outcome) -> Outcome:
    print(_line(outcome), flush=True)
    return outcome


def _toolchain() -> str | None:
    """The toolchain that has the address sanitizer, else stable; None without cargo-fuzz, which is said."""
    if shutil.which("cargo-fuzz") is None:
        print("make fuzz: Rust's targets need cargo-fuzz and a C++ compiler: cargo install cargo-fuzz", file=sys.stderr)
        return None
    nightly = subprocess.run(["cargo", "+nightly", "--version"], capture_output=True, check=False).returncode == 0
    if nightly:
        print("a nightly toolchain is there: Rust's targets run under the address sanitizer", flush=True)
        return "+nightly"
    print("no nightly toolchain: Rust's targets run on stable, without the address sanitizer", flush=True)
    return "+stable"


def _sanitizer(toolchain: str) -> tuple[str, ...]:
    return () if toolchain == "+nightly" else ("-s", "none")


def _built(toolchain: str, names: Sequence[str]) -> bool:
    """Build the targets; whether that went well. What it prints is shown where it did not."""
    print(f"building {', '.join(names)} (minutes, the first time)", flush=True)
    for name in names:
        command = ["cargo", toolchain, "fuzz", "build", *_sanitizer(toolchain), name]
        done = subprocess.run(command, cwd=ROOT / "fuzz", capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            return False
    return True


def _rust(name: str, toolchain: str) -> tuple[list[str], str]:
    """The command that runs a target, and the one that repeats an input."""
    run = ["cargo", toolchain, "fuzz", "run", *_sanitizer(toolchain), name]
    if name == "runs":
        return run, f"(cd fuzz && {' '.join(run)} ../%s)"
    return run, f"cargo run --profile attack -p forebay-attack --example feed -- {name} %s"


def _python(name: str) -> tuple[list[str], str]:
    return [sys.executable, "-m", "tests.attacks", "--fuzz", name], f"{_here()} -m tests.attacks {name} %s"


def _here() -> str:
    """The interpreter, as one types it."""
    path = Path(sys.executable)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _fuzzed(name: str, commands: tuple[list[str], str], seconds: int) -> Outcome:
    """Fuzz a target. Inputs that reach new code are stored beside the corpus, not in it."""
    run, repeat = commands
    corpus, findings = OUT / "corpus" / name, OUT / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    options = [str(corpus), str(CORPORA / name), f"-max_total_time={seconds}", *LIMITS,
               f"-artifact_prefix={findings / name}-"]  # fmt: skip
    separator = ["--"] if run[0] == "cargo" else []
    folders, flags = options[:2], options[2:]
    command = [*run, *folders, *separator, *flags]
    directory = ROOT / "fuzz" if run[0] == "cargo" else ROOT
    log = OUT / f"{name}.log"
    with log.open("wb") as file:
        # A target that hangs outside of its own inputs is ended, too.
        try:
            code = subprocess.run(
                command, cwd=directory, stdout=file, stderr=subprocess.STDOUT, check=False, timeout=seconds + 900,
                env=_environment(),
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = 1
    text = log.read_text(encoding="utf-8", errors="replace")
    found = tuple(dict.fromkeys(re.findall(r"Test unit written to (\S+)", text)))
    texts = [repeat % os.path.relpath(path, ROOT) for path in found]
    if code != 0 and not texts:
        texts = [f"it ended with {code}: see {os.path.relpath(log, ROOT)}"]
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    coverage = re.findall(r" cov: (\d+)", text)
    return Outcome(
        name, int(executions[1]) if executions else None, int(coverage[-1]) if coverage else None, tuple(texts)
    )


def _environment() -> Mapping[str, str]:
    return {**os.environ, "RUST_BACKTRACE": "0"}


def _scenarios(seconds: int, seed: int | None) -> Outcome:
    """Random scenarios for every engine; each broken law is printed with its scenario as it is found."""
    build = [
        "cargo",
        "build",
        "--quiet",
        "--profile",
        "attack",
        "-p",
        "forebay-engines",
        "--example",
        "random_scenarios",
    ]
    if subprocess.run(build, cwd=ROOT, check=False).returncode != 0:
        return Outcome(SCENARIOS, None, None, ("it does not build",))
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    run = [
        str(target / "attack" / "examples" / "random_scenarios"),
        str(seconds),
        *([] if seed is None else [str(seed)]),
    ]
    statements = list(_said(run))
    found = tuple(line.removeprefix("repeat: ") for line in statements if line.startswith("repeat: "))
    count = re.match(r"seed \d+: (\d+) scenarios", statements[-1]) if statements else None
    if count is None:
        found = (*found, "it ended early")
    return Outcome(SCENARIOS, int(count[1]) if count else None, None, found)


def _said(command: Sequence[str]) -> Iterator[str]:
    """Every line of a command, printed as it comes."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            yield line.rstrip("\n")


def _line(outcome: Outcome) -> str:
    executions = "" if outcome.executions is None else f"{outcome.executions:,}"
    coverage = "" if outcome.coverage is None else f"{outcome.coverage:,}"
    return f"{outcome.name:<14}{executions:>14}{coverage:>10}{len(outcome.findings):>10}"


def _summary(outcomes: Sequence[Outcome]) -> int:
    if not outcomes:
        print("make fuzz: nothing ran", file=sys.stderr)
        return 2
    print(f"\n{'target':<14}{'executions':>14}{'coverage':>10}{'findings':>10}")
    for outcome in outcomes:
        print(_line(outcome))
    found = [(outcome.name, command) for outcome in outcomes for command in outcome.findings]
    for name, command in found:
        print(f"{name}: {command}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
