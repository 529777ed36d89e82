"""The memory estimate of a run beside the measured peak, each run in a process of its own.

``python -m checks.memory FILE...`` prints a line for each scenario; the measured peak is the resident memory
above the interpreter's own. The exit status is 1 if an estimate differs by more than a factor of two plus 20 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from forebay.text.formatting import size

__all__ = ["Measured", "measure"]

#: The factor and the bytes by which an estimate may differ from the measured peak.
FACTOR, SLACK = 2.0, 20e6

#: Runs one replication without a limit and prints the estimate and the peak above the interpreter's own, in bytes.
PROGRAM = """
import json, resource, sys
from pathlib import Path
from forebay import Scenario, _core

def peak():
    # Linux hands ru_maxrss of the parent down to a child; the high-water mark in /proc is the process's own.
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

scenario = Scenario.load(sys.argv[1])
job = _core.Job(scenario.core, "packet", 1, 0, memory=1 << 50)
before = peak()
(outcome,) = _core.run_batch([job], 1)
if isinstance(outcome, Exception):
    raise outcome
print(json.dumps([job.memory_estimate, peak() - before]))
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Estimate and measured peak of one run, in bytes."""

    estimate: float
    peak: float

    @property
    def agrees(self) -> bool:
        """Whether they differ by no more than a factor of two plus 20 MB."""
        low, high = sorted((self.estimate, self.peak))
        return high <= FACTOR * low + SLACK


def measure(path: str) -> Measured:
    """Run one replication of a scenario file in a fresh process."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True)
    estimate, peak = json.loads(done.stdout)
    return Measured(estimate, peak)


def main(paths: Sequence[str]) -> int:
    """Print the table."""
    agree = True
    for path in paths:
        found = measure(path)
        agree &= found.agrees
        mark = "" if found.agrees else "  differs"
        print(f"{size(found.estimate):>10} {size(found.peak):>10}  {path}{mark}", flush=True)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
