"""`make mutants BY_HAND=1`: whether Rust's tests notice the faults of `checks/faults_by_hand.toml`.

A fault is a constant that is a little wrong or a rule left out, which cargo-mutants does not make. The program applies
one fault at a time to a copy of the tree in `target/faults` and runs the tests of the fault's crate there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAULTS", "Fault", "main", "read_faults"]

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "checks" / "faults_by_hand.toml"
WORK = ROOT / "target" / "faults"
LOG = WORK / "cargo.log"

#: Allowed time of a test run: a multiple of its time without a fault, plus seconds.
TIMEOUT_MULTIPLIER, TIMEOUT_S = 6.0, 60.0


@dataclass(frozen=True)
class Fault:
    """One change of one place in a source file: `before` occurs once in `file`, a path from the root.

    The tests of the crate `tests` run, by default those of the crate of the file.
    """

    what: str
    file: str
    before: str
    after: str
    tests: str = ""

    @property
    def crate(self) -> str:
        """Crate whose tests run."""
        return self.tests or self.file.split("/")[1]


def read_faults(crates: Sequence[str] = ()) -> list[Fault]:
    """Faults whose tests are in one of the crates; all faults if no crate is named."""
    faults = [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]]
    return [fault for fault in faults if not crates or fault.crate in crates]


def copy_tree(target: Path) -> None:
    """Copy the files that Git tracks or would add, as new files, so that cargo builds each of them again."""
    shutil.rmtree(target, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def cargo_test(crate: str, *options: str, timeout_s: float | None = None) -> bool:
    """Run the tests of a crate in the copy; whether they end in time and pass."""
    package = f"forebay-{crate}".replace("_", "-")
    command = ["cargo", "test", "--quiet", "--locked", "--profile", "mutants", "--package", package, *options]
    environment = os.environ | {"CARGO_TARGET_DIR": str(WORK / "build"), "RUSTFLAGS": "--cap-lints=allow"}
    with LOG.open("a") as log:
        process = subprocess.Popen(
            command, cwd=WORK / "tree", env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        return process.wait(timeout_s) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the outcome of each fault of the crates that the arguments name, or of all.

    Returns 1 if a fault survives or does not build, and 2 if the tests fail without a fault.
    """
    crates = list(sys.argv[1:] if arguments is None else arguments)
    faults = read_faults(crates)
    if not faults:
        print(f"no fault for the tests of {', '.join(crates)} in {FAULTS}", file=sys.stderr)
        return 2
    copy_tree(WORK / "tree")
    LOG.unlink(missing_ok=True)
    limits: dict[str, float] = {}
    caught = 0
    for fault in faults:
        if fault.crate not in limits:
            built = cargo_test(fault.crate, "--no-run")
            begin = time.monotonic()
            if not built or not cargo_test(fault.crate):
                print(f"the tests of {fault.crate} fail without a fault: see {LOG}", file=sys.stderr)
                return 2
            limits[fault.crate] = TIMEOUT_MULTIPLIER * (time.monotonic() - begin) + TIMEOUT_S
        path = WORK / "tree" / fault.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
        built = cargo_test(fault.crate, "--no-run")
        survived = built and cargo_test(fault.crate, timeout_s=limits[fault.crate])
        path.write_text(text, encoding="utf-8")
        caught += built and not survived
        outcome = "survived" if survived else "caught" if built else "not built"
        print(f"{outcome}: {fault.file}: {fault.what}", flush=True)
    print(f"{caught} of {len(faults)} faults caught")
    return int(caught < len(faults))


if __name__ == "__main__":
    raise SystemExit(main())
