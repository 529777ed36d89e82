"""`make mutants`, Rust's half: which changes of the engines and the models the tests notice.

    python benches/mutants_rust.py [--only discipline,fluid] [--sample 50] [--seed 1] [--shard 1/8] [--write FILE.json]

cargo-mutants lists the mutants of each crate; so many are drawn by chance from each, which depends on the seed and the
sources alone, or one of several equal shards of all of them, or the faults of `mutants_by_hand.toml`. Each is built and
held against its own crate's tests; with `--users` what survives those is held against the tests of the crates that use
it, too. Mutants that mean the same are in `mutants_equivalent_rust.toml`, each with the reason, and are not drawn;
`--equivalent` runs those instead, `--again` those that survived an earlier run.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BY_HAND = ROOT / "benches" / "mutants_by_hand.toml"
EQUIVALENT = ROOT / "benches" / "mutants_equivalent_rust.toml"
WORK = ROOT / "target" / "mutants"

#: Each crate, and the crates whose tests may also notice what its own do not.
USERS: Mapping[str, tuple[str, ...]] = {
    "congestion": ("packet",),
    "discipline": ("packet",),
    "packet": (),
    "fluid": (),
    "closed_form": (),
    "scenario": ("packet", "fluid", "closed_form"),
}

#: Tests may take so many times as long as without a change, and so many seconds more.
PATIENCE, PATIENCE_S = 6.0, 20.0
BUILD_TIMEOUT_S = 900.0
#: A mutant that loops may collect without end.
MEMORY_BYTES = 12 * 2**30
#: What the crates' tests read besides the crates.
NEEDED = ("scenarios", "docs", "tests/ns2", "tests/reference", "clippy.toml", "rust-toolchain.toml", ".cargo")
#: So many are drawn from each crate where nothing else is said: 300 in all.
SAMPLE = 50

INSTALL = "cargo install cargo-mutants --locked"


class Fate(StrEnum):
    """How a mutant ended."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    UNVIABLE = "not viable"


@dataclass(frozen=True)
class Mutant:
    """One change of one file, as cargo-mutants names it.

    Attributes
    ----------
    crate : str
        The crate's folder.
    name : str
        `path:line:column: what is replaced`.
    line : str
        The line before the change, without indentation.
    diff : str
        The change as a unified diff.
    """

    crate: str
    name: str
    line: str
    diff: str

    @property
    def file(self) -> str:
        """The path from the crate's `src`."""
        return self.name.partition(":")[0].removeprefix(f"crates/{self.crate}/src/")

    @property
    def change(self) -> str:
        """What is replaced, without the place."""
        return self.name.split(": ", 1)[1]


@dataclass(frozen=True)
class Judged:
    """A mutant and how it ended."""

    mutant: Mutant
    fate: Fate


def _package(crate: str) -> str:
    return f"forebay-{crate.replace('_', '-')}"


def listed(crate: str) -> list[Mutant]:
    """Every mutant of a crate, in the order of its files."""
    text = subprocess.run(
        ["cargo", "mutants", "--list", "--json", "--package", _package(crate)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [_mutant(crate, found) for found in json.loads(text)]


def _mutant(crate: str, found: Mapping[str, Any]) -> Mutant:
    line = (ROOT / found["file"]).read_text().splitlines()[found["span"]["start"]["line"] - 1]
    return Mutant(crate, found["name"], line.strip(), found["diff"])


def faults() -> Iterator[Mutant]:
    """The faults that were thought of by hand.

    Raises
    ------
    SystemExit
        Where the sources no longer say what a fault changes.
    """
    for fault in tomllib.loads(BY_HAND.read_text())["fault"]:
        name, before = fault["file"], (ROOT / fault["file"]).read_text()
        if before.count(fault["before"]) != 1:
            raise SystemExit(f"{BY_HAND.name}: '{fault['what']}' changes what stands in {name} not once")
        after = before.replace(fault["before"], fault["after"])
        lines = [text.splitlines(keepends=True) for text in (before, after)]
        number = before[: before.index(fault["before"])].count("\n") + 1
        yield Mutant(
            crate=name.split("/")[1],
            name=f"{name}:{number}: {fault['what']}",
            line=lines[0][number - 1].strip(),
            diff="".join(difflib.unified_diff(*lines, name, name)),
        )


def equivalents() -> Mapping[tuple[str, str, str], str]:
    """The reason why a mutant means the same, by its crate and file, its change and the line before."""
    entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    return {(entry["file"], entry["change"], entry["line"]): entry["reason"] for entry in entries}


def survived(path: Path) -> frozenset[tuple[str, str, str]]:
    """What survived in an earlier run, whose notes are in a file: known by the line, which may have moved."""
    entries = [each for each in json.loads(path.read_text()) if each["fate"] == Fate.SURVIVED]
    fields = ("crate", "name", "line", "diff")
    return frozenset(_key(Mutant(**{field: entry[field] for field in fields})) for entry in entries)


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return f"{mutant.crate}/{mutant.file}", mutant.change, mutant.line


class Workshop:
    """A copy of the sources in which one file at a time is changed, built and tested.

    The copy and what was built of it stay for the next call, so that a mutant costs one crate and its tests.

    Attributes
    ----------
    tree : Path
        The copy.
    digests : dict[str, str]
        What the files of each crate are, and of all that its tests read: a fate holds for these only.
    """

    def __init__(self, *, users: bool) -> None:
        self.users = users
        self.tree = WORK / "tree"
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "Cargo.*", "crates", *NEEDED],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        here = {name for name in names.split("\0") if name and (ROOT / name).is_file()}
        for old in [path for path in self.tree.rglob("*") if path.is_file()]:
            if str(old.relative_to(self.tree)) not in here:
                old.unlink()
        hashes: dict[str, hashlib._Hash] = {crate: hashlib.sha256() for crate in USERS}
        for name in sorted(here):
            content = (ROOT / name).read_bytes()
            self._put(name, content)
            if (crate := name.split("/")[1] if name.startswith("crates/") else "") in hashes:
                hashes[crate].update(name.encode() + b"\0" + content)
        self.digests = {crate: found.hexdigest() for crate, found in hashes.items()}
        self._limits: dict[tuple[str, str], float] = {}

    def _put(self, name: str, content: bytes) -> None:
        """Write a file where it differs, so that cargo builds again what changed only."""
        path = self.tree / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def judge(self, mutant: Mutant) -> Fate:
        """Build a mutant and hold it against its crate's tests, the quick ones first, and then against its users'."""
        name = mutant.name.partition(":")[0]
        try:
            subprocess.run(
                ["patch", "--quiet", name],
                cwd=self.tree,
                input=mutant.diff,
                check=True,
                text=True,
                stdout=subprocess.DEVNULL,
            )
            fates = (self._tests(*each) for each in self._rounds(mutant.crate))
            return next((fate for fate in fates if fate is not Fate.SURVIVED), Fate.SURVIVED)
        finally:
            self._put(name, (ROOT / name).read_bytes())

    def _rounds(self, crate: str) -> list[tuple[str, str]]:
        """The tests of a crate: those inside it, and those beside it where there are any."""
        crates = [crate, *(USERS[crate] if self.users else ())]
        beside = [each for each in crates if (ROOT / "crates" / each / "tests").is_dir()]
        return [(crate, "--lib"), *((each, "--test=*") for each in beside)]

    def prepare(self, crate: str) -> None:
        """Build and time a crate's tests as they are.

        Raises
        ------
        SystemExit
            Where they fail without any change.
        """
        for each in self._rounds(crate):
            command = self._command(*each)
            begin = time.monotonic()
            if self._cargo([*command, "--no-run"], BUILD_TIMEOUT_S) == 0:
                begin = time.monotonic()
                if self._cargo(command, BUILD_TIMEOUT_S) == 0:
                    self._limits[each] = PATIENCE * (time.monotonic() - begin) + PATIENCE_S
                    continue
            raise SystemExit(f"the tests of {crate} fail as they are: {' '.join(command)}")

    def _command(self, crate: str, which: str) -> list[str]:
        return ["cargo", "test", "--quiet", "--profile", "mutants", "--locked", "--package", _package(crate), which]

    def _tests(self, crate: str, which: str) -> Fate:
        command = self._command(crate, which)
        if self._cargo([*command, "--no-run"], BUILD_TIMEOUT_S) != 0:
            return Fate.UNVIABLE
        status = self._cargo(command, self._limits[crate, which])
        return Fate.TIMED_OUT if status is None else Fate.CAUGHT if status else Fate.SURVIVED

    def _cargo(self, command: Sequence[str], limit_s: float) -> int | None:
        """Run cargo without a word; its status, nothing where it took too long."""
        surroundings = {
            "CARGO_TARGET_DIR": str(WORK / "build"),
            "RUSTFLAGS": "--cap-lints=allow",
            "RUST_BACKTRACE": "0",
        }
        process = subprocess.Popen(
            command,
            cwd=self.tree,
            env=os.environ | surroundings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def judged(crate: str, mutants: Sequence[Mutant], workshop: Workshop, notes: Notes) -> Iterator[Judged]:
    """Judge one mutant of a crate after the other, and say how it goes on; what is noted is not run again."""
    if any(notes.fate(crate, each) is None for each in mutants):
        workshop.prepare(crate)
    for number, mutant in enumerate(mutants, 1):
        begin = time.monotonic()
        fate = notes.fate(crate, mutant)
        if fate is None:
            fate = workshop.judge(mutant)
            notes.add(crate, mutant, fate)
        print(f"{number}/{len(mutants)} {fate}: {mutant.name} ({time.monotonic() - begin:.0f} s)", flush=True)
        yield Judged(mutant, fate)


class Notes:
    """The fates so far, in a file where one is asked for: an interrupted run goes on where it stopped.

    They hold for the crate's sources as they were; of others nothing is taken.
    """

    def __init__(self, path: Path | None, digests: Mapping[str, str]) -> None:
        self._path, self._digests = path, dict(digests)
        self._entries: list[dict[str, str]] = []
        if path is not None and path.exists():
            self._entries = [each for each in json.loads(path.read_text()) if each["sources"] == digests[each["crate"]]]
        self._fates = {(each["crate"], each["name"]): Fate(each["fate"]) for each in self._entries}

    def fate(self, crate: str, mutant: Mutant) -> Fate | None:
        """The fate of a mutant, where it is known."""
        return self._fates.get((crate, mutant.name))

    def add(self, crate: str, mutant: Mutant, fate: Fate) -> None:
        """Keep a fate."""
        self._fates[crate, mutant.name] = fate
        self._entries.append(asdict(mutant) | {"fate": fate.value, "sources": self._digests[crate]})
        if self._path is not None:
            partial = self._path.with_name(f"{self._path.name}.partial")
            partial.write_text(json.dumps(self._entries, indent=1) + "\n")
            partial.replace(self._path)


def drawn(mutants: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """The sample, or the shard, in the order of the files."""
    if options.shard:
        part, _, parts = options.shard.partition("/")
        return list(mutants[int(part) - 1 :: int(parts)])
    generator = random.Random(f"{options.seed}/{mutants[0].crate}")
    return [mutants[k] for k in sorted(generator.sample(range(len(mutants)), min(options.sample, len(mutants))))]


def table(found: Mapping[str, Sequence[Judged]], sizes: Mapping[str, int]) -> Iterator[str]:
    """A line per crate, the sum, and the share that all mutants would show."""
    yield f"{'crate':<12} {'mutants':>8} {'drawn':>6} {'viable':>7} {'caught':>7} {'share':>7}"
    shares: dict[str, float] = {}
    total: Counter[Fate] = Counter()
    for crate, each in found.items():
        fates = Counter(one.fate for one in each)
        total += fates
        shares[crate] = _share(fates)
        yield f"{crate:<12} {sizes[crate]:>8} {_counts(fates)}"
    yield f"{'all':<12} {sum(sizes.values()):>8} {_counts(total)}"
    weighted = sum(shares[crate] * sizes[crate] for crate in shares) / max(1, sum(sizes[crate] for crate in shares))
    yield f"weighted by the mutants of each crate: {weighted:.1%}"


def _caught(fates: Counter[Fate]) -> int:
    return fates[Fate.CAUGHT] + fates[Fate.TIMED_OUT]


def _viable(fates: Counter[Fate]) -> int:
    return _caught(fates) + fates[Fate.SURVIVED]


def _share(fates: Counter[Fate]) -> float:
    return _caught(fates) / max(1, _viable(fates))


def _counts(fates: Counter[Fate]) -> str:
    return f"{fates.total():>6} {_viable(fates):>7} {_caught(fates):>7} {_share(fates):>7.1%}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the survivors and the table; 1 where less than 90 % are caught, 2 where nothing could be run."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--only", default="", help=f"comma-separated crates of {', '.join(USERS)}")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many are drawn from each crate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shard", default="", metavar="K/N", help="every Nth mutant from the Kth on, instead of a draw"
    )
    parser.add_argument("--by-hand", action="store_true", help=f"the faults of {BY_HAND.name} instead")
    parser.add_argument("--again", type=Path, help="those that survived in this file of --write, and are still there")
    parser.add_argument("--users", action="store_true", help="let the tests of the crates that use it catch it, too")
    parser.add_argument("--equivalent", action="store_true", help="run those that are said to mean the same")
    parser.add_argument("--write", type=Path, help="a JSON file for every mutant's fate, with which a run goes on")
    options = parser.parse_args(arguments)
    crates = [each for each in options.only.split(",") if each] or list(USERS)
    if unknown := [each for each in crates if each not in USERS]:
        parser.error(f"--only: found '{unknown[0]}'; allowed: {', '.join(USERS)}")
    if options.shard and not re.fullmatch(r"[1-9]\d{0,5}/[1-9]\d{0,5}", options.shard):
        parser.error(f"--shard: found '{options.shard}'; allowed: K/N, as in 1/8")
    if not shutil.which("cargo-mutants"):
        print(f"make mutants needs cargo-mutants: {INSTALL}", file=sys.stderr)
        return 2
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is stopped, too
    by_hand = list(faults())
    WORK.mkdir(parents=True, exist_ok=True)
    lock = (WORK / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"make mutants: another run works in {WORK}", file=sys.stderr)
        return 2
    same, workshop = equivalents(), Workshop(users=options.users)
    survivors = survived(options.again) if options.again else frozenset[tuple[str, str, str]]()
    notes = Notes(options.write, workshop.digests)
    sizes: dict[str, int] = {}
    found: dict[str, list[Judged]] = {}
    for crate in crates:
        mutants = [each for each in by_hand if each.crate == crate] if options.by_hand else listed(crate)
        known = [each for each in mutants if _key(each) in same]
        others = [each for each in mutants if _key(each) not in same]
        sizes[crate] = len(others)
        chosen = known if options.equivalent else others if options.by_hand else drawn(others, options)
        if options.again:
            chosen = [each for each in others if _key(each) in survivors]
        found[crate] = list(judged(crate, chosen, workshop, notes))
    for each in (one for crate in found.values() for one in crate if one.fate is Fate.SURVIVED):
        print(f"\n{each.mutant.name}\n{each.mutant.line}")
    print()
    print("\n".join(table(found, sizes)))
    fates = Counter(one.fate for crate in found.values() for one in crate)
    return 0 if options.equivalent or _share(fates) >= 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
