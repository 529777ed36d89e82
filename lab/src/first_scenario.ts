/** Scenario with which the page opens: its first loss comes within two seconds at the pace of the page. */

export const FIRST_SCENARIO = {
  name: "first-look",
  text: `# Two downloads and a call share the 5 Mb/s link of a router. The downloads fill the queue until a packet
# is lost, then they slow down. The call never slows down: its packets wait behind those of the downloads.
title = "Two downloads and a call on 5 Mb/s"

[link]
rate   = "5Mbps"
buffer = "20p"
queue  = "droptail"

[[flows]]
name   = "download"
cca    = "newreno"
rtt    = "60ms"
packet = "1500B"
access = { rate = "50Mbps" }

[[flows]]
name   = "backup"
cca    = "newreno"
rtt    = "80ms"
packet = "1500B"
access = { rate = "50Mbps" }

[[flows]]
name     = "call"
packet   = "200B"
workload = { cbr = { rate = "100kbps" } }

[run]
warmup       = "5s"
measure      = "60s"
replications = 4

[goal]
utilization     = ">= 95%"
queue_delay_p99 = "<= 80ms"
`,
} as const;
