"""A small scenario that many tests run."""

from __future__ import annotations

#: A link that answers in milliseconds: 2 Mb/s, one flow, half a minute.
SMALL = """\
title = "Small link"

[link]
rate   = "2Mbps"
buffer = "20p"

[[flows]]
name     = "bulk"
cca      = "newreno"
rtt      = "40ms"
packet   = "1000B"
processing = "0s"

[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "1Mbps" } }

[run]
warmup  = "5s"
measure = "30s"
seed    = 3
replications = 2

[goal]
utilization = ">= 85%"
queue_delay_p99 = "<= 150ms"
"""


HOME = """
[[links]]
name = "up"
rate = "10Mbps"
buffer = "200ms"
target = true

[[links]]
name = "down"
rate = "50Mbps"
buffer = "50p"

[[flows]]
name = "calls"
workload = "voip"
path = ["up"]

[[flows]]
name = "watching"
cca = "bbr3"
rtt = "30ms"
path = ["down"]
reverse = ["up"]

[[flows]]
name = "home"
count = 2
rtt = ["20ms", "30ms"]
path = ["up"]
reverse = ["down"]
ecn = true
start = { uniform = ["0s", "2s"] }

[run]
warmup = "5s"
measure = "20s"
replications = 4

[goal]
"home.loss_rate" = "<= 1%"
"""

#: The small link as a profile of `fleet`, and two ports that use it.
PROFILE = SMALL.replace('"2Mbps"', '"{rate}"').replace('"20p"', '"{buffer}"')
PORTS = "device,port,rate_bps,buffer\na,eth0,2000000,9 packets\nb,eth1,2000000,10 packets\n"
