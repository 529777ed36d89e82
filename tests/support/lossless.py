"""A lossless port for tests: sixteen servers answer at once, into a port of a switch with a shared memory."""

from __future__ import annotations

__all__ = ["PORT"]

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
