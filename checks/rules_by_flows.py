"""Draw docs/images/rules-by-flows.png: the buffer of every rule against the number of flows.

Run it with the interpreter of the build: ``.venv/bin/python checks/rules_by_flows.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from forebay import _core

SCENARIO = """
[link]
rate = "1Gbps"
buffer = "100p"
[[flows]]
name = "long"
count = 1
cca = "newreno"
rtt = { linspace = ["80ms", "120ms"] }
packet = "1500B"
[run]
warmup = "10s"
measure = "60s"
[goal]
utilization = ">= 99%"
loss_rate = "<= 1%"
"""

FLOWS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 10000]
MARKERS = "osD^v<>PX*hpd8H"


def buffers_by_rule() -> tuple[dict[str, list[tuple[int, float]]], float]:
    """Buffers in packets by rule, as (flows, packets), and the bandwidth-delay product of the many-flow case."""
    curves: dict[str, list[tuple[int, float]]] = {}
    bdp = 0.0
    for count in FLOWS:
        scenario = _core.Scenario.parse(SCENARIO, "toml", "rules", [f"flows.long.count={count}"])
        bdp = scenario.bdp_packets or 0.0
        for rule in _core.rules(scenario):
            if rule.packets:
                curves.setdefault(rule.name, []).append((count, rule.packets))
    return curves, bdp


def draw(path: Path) -> None:
    """Write the picture."""
    curves, bdp = buffers_by_rule()
    figure, axes = plt.subplots(figsize=(9.5, 6.2), constrained_layout=True)
    names = sorted(curves, key=lambda name: -curves[name][-1][1])
    for at, name in enumerate(names):
        points = curves[name]
        axes.plot(
            [n for n, _ in points],
            [b for _, b in points],
            marker=MARKERS[at % len(MARKERS)],
            markersize=4,
            markevery=3,
            linewidth=1.6,
            linestyle="-" if at < 8 else "--",
            color=plt.get_cmap("tab20")(at % 20),
            label=name,
        )
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(0.5, None),
        xlabel="long flows (New Reno, RTT 80 to 120 ms)",
        ylabel="buffer (packets of 1500 B)",
        title="Buffer of each rule for a link of 1 Gb/s",
    )
    axes.grid(visible=True, which="major", alpha=0.3)
    other = axes.secondary_yaxis("right", functions=(lambda b: np.asarray(b) / bdp, lambda x: np.asarray(x) * bdp))
    other.set_ylabel("buffer (bandwidth-delay products)")
    axes.legend(loc="center left", bbox_to_anchor=(1.12, 0.5), frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(Path(__file__).parents[1] / "docs" / "images" / "rules-by-flows.png")
