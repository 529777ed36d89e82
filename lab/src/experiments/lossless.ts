/** Experiments about lossless links: a threshold of marks beside pauses, and a pause that spreads. */

import { type Column, DELAY, type Experiment, UTILIZATION } from "./types.ts";

const PORT = `title = "Two copies and an incast share a lossless port"
[link]
rate = "10Gbps"
buffer = "1MB"
queue = { kind = "step", threshold = "65p" }
pfc = { xoff = "60kB", xon = "50kB", headroom = "30kB", cable = "100m", response = "2us" }
${group("copies", 'count = 2\nrtt = "100us"')}
${group("servers", 'rtt = "100us"\nworkload = { incast = { servers = 20, size = "32kB", pause = "4ms" } }')}
[run]
warmup = "10ms"
measure = "90ms"
`;

const PAUSES = '{ xoff = "100kB", xon = "80kB", headroom = "60kB", response = "1us" }';
/** Pauses that never begin, because the windows of both flows are smaller. */
const NO_PAUSES = PAUSES.replace("100kB", "900kB");

/** Shared link with a class of its own for each flow. */
const CLASSES = `queue = { kind = "classes", schedule = "dwrr", classes = [
  { name = "culprit", groups = ["culprit"], pfc = ${PAUSES} },
  { name = "victim", groups = ["victim"], pfc = ${PAUSES} },
] }`;

const CHAIN = `title = "A slow receiver behind two shared links"
${link("up", "10Gbps", CLASSES)}
${link("down", "10Gbps", `${CLASSES}\ntarget = true`)}
${link("slow", "2.5Gbps", `pfc = ${PAUSES}`)}
${link("fast", "10Gbps", "")}
${chained("culprit", "slow")}
${chained("victim", "fast")}
[run]
warmup = "5ms"
measure = "45ms"
`;

function group(name: string, lines: string): string {
  return `[[flows]]
name = "${name}"
cca = "dctcp"
ecn = true
packet = "1500B"
access = { rate = "10Gbps" }
${lines}`;
}

function link(name: string, rate: string, lines: string): string {
  return `[[links]]
name = "${name}"
rate = "${rate}"
delay = "1us"
buffer = "1MB"
${lines}`;
}

function chained(name: string, last: string): string {
  return `[[flows]]
name = "${name}"
path = ["up", "down", "${last}"]
rtt = "20us"
packet = "1500B"
receive_window = "300p"
access = { rate = "10Gbps" }
start = "0s"`;
}

const MEASURED_S = 0.09;
const PAUSE: Column = { title: "port pauses a host for", metric: "pause_time_s", unit: "time" };
const VICTIM: Column = { title: "victim", metric: "victim.goodput_bps", unit: "rate" };
const CULPRIT: Column = { title: "culprit", metric: "culprit.goodput_bps", unit: "rate" };
const SPREAD: Column = { title: "hops of the pause", metric: "slow.spread", unit: "number" };
const UP: Column = { title: "link “up” paused for", metric: "up.paused_time_s", unit: "time" };

/** Overrides that give each shared link one queue for both flows. */
function oneQueue(pfc: string): string[] {
  return ["up", "down"].flatMap((name) => [`links.${name}.queue=droptail`, `links.${name}.pfc=${pfc}`]);
}

export const LOSSLESS: readonly Experiment[] = [
  {
    id: "ecn-and-pauses",
    title: "Marks before pauses",
    question:
      "Two copies and an incast of 20 servers share a lossless port of 10 Gb/s. The port marks packets above a threshold K, and pauses a host that has more than 60 kB in the queue. K rises from 65 to 400 packets. How long does the port pause at least one host?",
    prediction: {
      kind: "choice",
      options: [
        { text: "Less than 20 % of the time", holds: (it) => it.value(2, "pause_time_s") < 0.2 * MEASURED_S },
        {
          text: "20 to 80 % of the time",
          holds: (it) =>
            it.value(2, "pause_time_s") >= 0.2 * MEASURED_S && it.value(2, "pause_time_s") < 0.8 * MEASURED_S,
        },
        { text: "80 % of the time or more", holds: (it) => it.value(2, "pause_time_s") >= 0.8 * MEASURED_S },
      ],
    },
    scenario: PORT,
    watch:
      "Move K under “Controls”. With a small K the queue becomes empty. With a large K the table of pauses shows that the port pauses senders.",
    runs: [
      { name: "K = 2 packets", overrides: ["link.queue.threshold=2p"] },
      { name: "K = 65 packets", overrides: ["link.queue.threshold=65p"] },
      { name: "K = 400 packets", overrides: ["link.queue.threshold=400p"] },
    ],
    columns: [UTILIZATION, { title: "marked", metric: "mark_rate", unit: "share" }, DELAY, PAUSE],
    explanation: (it) =>
      `The utilization is ${it.share(0)} with K = 2, ${it.share(1)} with 65 and ${it.share(2)} with 400 packets. In ${MEASURED_S * 1e3} ms the port pauses a host for ${it.time(0, "pause_time_s")}, ${it.time(1, "pause_time_s")} and ${it.time(2, "pause_time_s")}. The 99th percentile of the queueing delay is ${it.time(0)}, ${it.time(1)} and ${it.time(2)}.`,
    claim: (it) =>
      it.value(0, "utilization") < it.value(1, "utilization") - 0.1 &&
      it.value(1, "utilization") > 0.98 &&
      it.value(1, "pause_time_s") < it.value(2, "pause_time_s") / 4 &&
      it.value(0, "pause_time_s") < it.value(1, "pause_time_s"),
    paper: {
      source:
        'M. Alizadeh and others, "Data Center TCP (DCTCP)", 2010, section 3.4; Y. Zhu and others, "Congestion Control for Large-Scale RDMA Deployments", 2015, section 4',
      result:
        "DCTCP needs K above a seventh of the bandwidth-delay product, or the link loses throughput. The paper on DCQCN chooses K so low that marks come before pauses.",
      comparison: () =>
        "A seventh of the bandwidth-delay product is 12 packets here. Bursts need more: the paper used 65 packets at 10 Gb/s.",
    },
  },
  {
    id: "pause-spreads",
    title: "A pause that spreads",
    question:
      "Two flows share the links “up” and “down” of 10 Gb/s. Then the culprit goes to a receiver of 2.5 Gb/s, and the victim to one of 10 Gb/s. All links are lossless. How much does the victim get?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "More than 6 Gb/s: what the culprit leaves",
          holds: (it) => it.value(0, "victim.goodput_bps") > 6e9,
        },
        {
          text: "4 to 6 Gb/s: half of the shared links",
          holds: (it) => it.value(0, "victim.goodput_bps") <= 6e9 && it.value(0, "victim.goodput_bps") >= 4e9,
        },
        {
          text: "Less than 4 Gb/s: about as much as the culprit",
          holds: (it) => it.value(0, "victim.goodput_bps") < 4e9,
        },
      ],
    },
    scenario: CHAIN,
    watch:
      "Look at the table of pauses below the link. The slow port pauses “down”, “down” pauses “up”, and “up” pauses the hosts.",
    runs: [
      { name: "one lossless queue", overrides: oneQueue(PAUSES) },
      { name: "no pauses", overrides: [...oneQueue(NO_PAUSES), `links.slow.pfc=${NO_PAUSES}`] },
      { name: "a class for each flow", overrides: [] },
    ],
    columns: [VICTIM, CULPRIT, SPREAD, UP],
    explanation: (it) =>
      `The pause reaches ${it.value(0, "slow.spread")} hops: “down”, “up” and the hosts. The victim never crosses the slow port, and gets ${it.rate(0, "victim.goodput_bps")}. Without pauses it gets ${it.rate(1, "victim.goodput_bps")}, and with a class for each flow ${it.rate(2, "victim.goodput_bps")}.`,
    claim: (it) =>
      it.value(0, "slow.spread") === 3 &&
      it.value(0, "victim.victims") === 1 &&
      it.value(2, "victim.victims") === 0 &&
      it.value(0, "victim.goodput_bps") < it.value(1, "victim.goodput_bps") / 1.5 &&
      it.value(0, "victim.goodput_bps") < it.value(2, "victim.goodput_bps") / 1.5,
    paper: {
      source:
        'Y. Zhu and others, "Congestion Control for Large-Scale RDMA Deployments", 2015, section 2.2; IEEE 802.1Qbb',
      result:
        "The paper shows the victim flow problem: pauses propagate hop by hop, and flows that do not cross the congested port lose throughput.",
    },
  },
];
