"""`make bench`: one JSON line per scenario file, then the line of two threads and the fluid engine's.

A scenario's line gives the data packets that reach the target link per second of processor time: the median over the
runs, the slowest and the fastest run. It gives the same median over the runs during which the machine did a fixed piece
of work at its full speed. It also gives events per packet, memory, and a digest of the results, which reveals a
speed-up that changes a result. With --count valgrind counts instructions and bytes per packet instead.
With --write the tables of the manual get the measured figures.

The fluid engine's lines come from the example `fluid_speed` of its crate: F1 against forward Euler at 2 ms in the same
run, law by law; F2 the whole of figure 6 of Kumar, Azad and Park; F3 1,000 flows at 100 Gb/s. Medians as well.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checks.bench.counting import count
from checks.bench.languages import languages
from checks.bench.observing import speeds
from checks.bench.packet import Timing, measure
from checks.bench.recommending import costs, scenario_files
from checks.bench.scaling import scaling
from checks.bench.sweeping import CELLS, overheads
from checks.bench.tables import write
from forebay.errors import ForebayError

__all__ = ["main"]

#: Lines of the fluid engine's own example, which cargo builds on request.
FLUID = ("F1", "F2", "F3")

#: The line of a batch on two threads, and its scenario.
THREADS, THREADS_SCENARIO = "threads", "W2"

#: All lines about the cost of an answer, and about the overhead of a sweep.
RECOMMEND, SWEEP = "R", "S"

#: All lines of how fast captures are read.
OBSERVE = "O"

#: All lines of algorithms in other languages; they run the scenario of two threads.
LANGUAGES = "L"


def _by_number(path: Path) -> tuple[list[int], str]:
    """Key that puts W9 before W10."""
    return [int(digits) for digits in re.findall(r"\d+", path.stem)], path.stem


def _fluid(names: Sequence[str]) -> int:
    """Run the fluid engine's example, which prints its lines; return its exit status."""
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "forebay-fluid", "--example", "fluid_speed"]
    try:
        return subprocess.run([*command, "--", *names], check=False).returncode
    except OSError as error:
        print(json.dumps({"name": ",".join(names), "error": f"cargo: {error.strerror}"}), flush=True)
        return 1


class _Printed(list[Mapping[str, Any]]):
    """The printed lines."""

    def add(self, line: Mapping[str, Any]) -> None:
        """Print a line."""
        print(json.dumps(line), flush=True)
        self.append(line)

    def timings(self, paths: Sequence[Path], runs: int) -> bool:
        """Print a line per scenario file; whether all could be measured."""
        found = measure(paths, runs)
        yardstick = min((timing.yardstick for timing in found.values() if isinstance(timing, Timing)), default=0.0)
        for path, timing in found.items():
            if isinstance(timing, Timing):
                self.add(timing.summary(yardstick))
            else:
                self.add({"name": path.stem, "error": str(timing)})
        return all(isinstance(timing, Timing) for timing in found.values())

    def lines(self, name: str, lines: Iterable[Mapping[str, Any]]) -> bool:
        """Print lines as they are found, or the reason why there are no more; return whether all were found."""
        try:
            for line in lines:
                self.add(line)
        except (ForebayError, OSError) as error:
            self.add({"name": name, "error": str(error)})
            return False
        return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per scenario; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of scenario files")
    parser.add_argument("--only", default="", help="comma-separated names, as in W1,F1")
    parser.add_argument("--scenarios", type=Path, help="those of R [default: a folder of this name beside the other]")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument(
        "--count", action="store_true", help="count instructions and bytes per packet instead (needs valgrind)"
    )
    parser.add_argument("--cells", type=int, default=CELLS, help=f"of the grid of S [default: {CELLS}]")
    parser.add_argument("--capture", type=Path, help="a kernel's for O, as `make captured KEEP=DIR` leaves them")
    parser.add_argument("--write", type=Path, help="page or folder of the manual whose tables get these figures")
    options = parser.parse_args(arguments)
    files = {path.stem: path for path in sorted(options.folder.glob("*.toml"), key=_by_number)}
    others = [] if options.count else [*([THREADS] if THREADS_SCENARIO in files else []), *FLUID]
    on_request = [] if options.count else [SWEEP, OBSERVE, *([LANGUAGES] if THREADS_SCENARIO in files else [])]
    answered = {} if options.count else scenario_files(options.scenarios or options.folder.parent / "scenarios")
    requested = [name.strip() for name in options.only.split(",") if name.strip()] or [*files, *others]
    if RECOMMEND in requested and answered:
        requested = [name for name in requested if name != RECOMMEND and name not in answered] + list(answered)
    known = [*files, *others, *answered, *on_request]
    unknown = [name for name in requested if name not in known]
    if unknown or not files or options.runs < 1:
        more = [RECOMMEND, "R/NAME"] if answered else []
        allowed = ", ".join([*files, *others, *more, *on_request]) if files else f"none in {options.folder}"
        print(f"bench: found `{','.join(unknown)}`; allowed: {allowed}", file=sys.stderr)
        return 2

    printed = _Printed()
    if options.count:
        counted = [printed.lines(name, map(count, [files[name]])) for name in requested]
        done = all(counted)
    else:
        done = printed.timings([files[name] for name in requested if name in files], options.runs)
    if THREADS in requested:
        done = printed.lines(THREADS, map(scaling, [files[THREADS_SCENARIO]])) and done
    if any(name in answered for name in requested):
        searched = {name: path for name, path in answered.items() if name in requested}
        done = printed.lines(RECOMMEND, costs(searched)) and done
    if SWEEP in requested:
        done = printed.lines(SWEEP, overheads(options.cells)) and done
    if OBSERVE in requested:
        done = printed.lines(OBSERVE, speeds(options.capture, min(options.runs, 3))) and done
    if LANGUAGES in requested:
        done = printed.lines(LANGUAGES, languages(files[THREADS_SCENARIO], min(options.runs, 5))) and done
    if options.write is not None:
        write(options.write, printed, files)
    fluid = [name for name in requested if name in FLUID]
    if fluid and _fluid(fluid) != 0:
        return 1
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
