"""Traces that scenarios play, drawn from published models: no recordings, and the same bytes on every machine.

``python -m checks.traces scenarios`` writes them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from forebay.storage.files import write_atomically

__all__ = ["lte"]

#: Seconds of the trace, and steps in a second.
LENGTH, STEPS = 120, 10
#: The seed of the trace; with another one the day is another.
SEED = 2013


def lte() -> str:
    """A cellular downlink, as Winstein, Sivaraman and Balakrishnan model it (NSDI 2013, section 3.1).

    The rate is a Brownian motion of 200 packets/s per root second between 0 and 1,000 packets/s; at 0 it stays for an
    exponential time of a second on average.

    Returns
    -------
    str
        A table of times and rates, ten of them a second.
    """
    draws = random.Random(SEED)
    most, noise, escapes = 1000.0, 200.0, 1.0
    rate, rows = 0.5 * most, ["time_s,rate_kbps"]
    for number in range(LENGTH * STEPS):
        rows.append(f"{number / STEPS:g},{rate * 12:.0f}")
        if rate == 0 and draws.random() > escapes / STEPS:
            continue
        moved = rate + draws.gauss(0, noise) / STEPS**0.5
        # The highest rate reflects, the lowest clamps.
        rate = max(0.0, min(moved, 2 * most - moved))
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the traces into the folder that is named."""
    write_atomically(Path(sys.argv[1]) / "lte.csv", lte())


if __name__ == "__main__":
    main()
