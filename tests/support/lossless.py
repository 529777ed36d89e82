"""Lossless ports for tests: sixteen servers answer at once, into a port of a switch with a shared memory."""

from __future__ import annotations

from forebay import Scenario, _core
from forebay.inputs.goals import metric_value
from forebay.scenario import run_jobs

__all__ = ["CLASSES", "PORT", "mean_of_other_runs"]

PORT = """\
title = "Incast into a lossless port"

[[memories]]
name = "chip"
size = "12MB"

[[links]]
name   = "port"
rate   = "100Gbps"
buffer = "100MB"
memory = "chip"
memory_alpha = 1
queue  = { kind = "step", threshold = "400kB" }
pfc    = { xoff = "60kB", xon = "30kB", headroom = "70kB", cable = "300m", response = "2us" }
target = true

[[flows]]
name           = "servers"
cca            = "dctcp"
ecn            = true
path           = ["port"]
rtt            = { uniform = ["18us", "22us"] }
packet         = "1500B"
initial_window = "200p"
min_rto        = "1ms"
access         = { rate = "100Gbps" }
workload       = { incast = { servers = 16, size = "300kB", pause = "1ms" } }

[run]
warmup  = "0s"
measure = "10ms"

[goal]
"servers.request_time_p99" = "<= 0.6ms"
pause_time = "<= 2ms"
"""

#: A lossless class for storage beside a lossy class for the web, on a port of a switch with a shared memory.
CLASSES = """\
title = "Storage beside web: a lossless and a lossy class at 25 Gb/s"

[[memories]]
name = "chip"
size = "12MB"

[[links]]
name   = "port"
rate   = "25Gbps"
buffer = "12MB"
memory = "chip"
target = true

[links.queue]
kind     = "classes"
schedule = "dwrr"

[[links.queue.classes]]
name   = "storage"
groups = ["storage"]
weight = 3
queue  = { kind = "step", threshold = "700kB" }
pfc    = { xoff = "20kB", xon = "10kB", headroom = "30kB", cable = "300m", response = "2us" }

[[links.queue.classes]]
name   = "web"
groups = ["web"]
buffer = "1MB"

[[flows]]
name           = "storage"
cca            = "dctcp"
ecn            = true
path           = ["port"]
rtt            = { uniform = ["18us", "22us"] }
packet         = "1500B"
initial_window = "200p"
min_rto        = "1ms"
access         = { rate = "25Gbps" }
workload       = { incast = { servers = 16, size = "64kB", pause = "1ms" } }

[[flows]]
name    = "web"
path    = ["port"]
count   = 8
rtt     = { uniform = ["100us", "200us"] }
start   = { uniform = ["0s", "1ms"] }
min_rto = "1ms"
access  = { rate = "10Gbps" }

[run]
warmup  = "10ms"
measure = "20ms"

[goal]
"storage.request_time_p99" = "<= 1ms"
pause_time      = "<= 4ms"
"web.loss_rate" = "<= 0.2%"
utilization     = ">= 90%"
"""


def mean_of_other_runs(scenario: Scenario, name: str, *changes: str, runs: int = 20) -> float:
    """The mean of a metric over runs of another seed, with some changes."""
    core = scenario.changed(*[("law", *change.split("=", 1)) for change in changes]).core if changes else scenario.core
    reports = {}
    jobs = [_core.Job(core, "packet", core.seed + 12_345, number) for number in range(runs)]
    run_jobs(jobs, None, None, lambda number, report: reports.update({number: report}), None)
    return sum(metric_value(name, report) for report in reports.values()) / runs
