/** Experiments about five papers on buffer sizing. docs/papers compares them in full. */

import { DELAY, type Experiment, LOSS, UTILIZATION } from "./types.ts";

const ELASTIC = `title = "One long flow with background traffic"
[link]
rate = "50Mbps"
buffer = "20p"
[[flows]]
name = "long"
count = 1
cca = "newreno"
recovery = "sack"
rtt = "100ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
access = { rate = "100Mbps" }
[[flows]]
name = "background"
packet = "1000B"
workload = { poisson = { rate = "25Mbps" } }
[run]
warmup = "15s"
measure = "45s"
`;

const AUGE = 'J. Augé and J. Roberts, "Buffer sizing for elastic traffic", 2006, section IV.B';

const HIGH_SPEED = `title = "Four HighSpeed TCP flows"
[link]
rate = "200Mbps"
buffer = "13p"
[[flows]]
name = "fast"
count = 4
cca = "highspeed"
recovery = "sack"
rtt = { linspace = ["40ms", "60ms"] }
packet = "1000B"
start = { uniform = ["0s", "1s"] }
access = { rate = "1Gbps" }
[run]
warmup = "20s"
measure = "40s"
`;

const CROWD = `title = "Sixty flows on a narrow link"
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "users"
count = 60
cca = "newreno"
recovery = "sack"
rtt = { linspace = ["30ms", "170ms"] }
packet = "1000B"
start = { uniform = ["0s", "2s"] }
[run]
warmup = "20s"
measure = "120s"
`;

const TRADE = `title = "Four flows with synchronized losses"
[link]
rate = "50Mbps"
buffer = "5p"
[[flows]]
name = "flows"
count = 4
cca = "newreno"
recovery = "sack"
rtt = "40ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
access = { rate = "200Mbps" }
[run]
warmup = "15s"
measure = "45s"
`;

const TOGETHER = `title = "Ten flows on 10 Gb/s in the fluid model"
[link]
rate = "10Gbps"
buffer = "0.05BDP"
[[flows]]
name = "ten"
count = 10
cca = "newreno"
rtt = { linspace = ["80ms", "120ms"] }
packet = "1000B"
[fluid]
minimum_synchronization = 1
law = "fixed"
[run]
warmup = "2000s"
measure = "20000s"
`;

export const PAPERS: readonly Experiment[] = [
  {
    id: "elastic-buffer",
    title: "One long flow and its buffer",
    question:
      "One long flow shares a link with many small flows. The packets of the small flows arrive at random and use half of the link. What is the utilization with a buffer of 20, 100 and 625 packets?",
    prediction: { kind: "curve", metric: "utilization", axis: "utilization" },
    scenario: ELASTIC,
    watch:
      "Watch the congestion window of the long flow. Each drop reduces it. With 20 packets, drops occur long before the link is full.",
    runs: [
      { name: "20 packets", overrides: ["link.buffer=20p"] },
      { name: "100 packets", overrides: ["link.buffer=100p"] },
      { name: "625 packets", overrides: ["link.buffer=625p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    explanation: (it) =>
      `With 20 packets the utilization is ${it.share(0)}. A burst of the long flow meets a small cluster of other packets, and a packet is lost long before the link is full. The long flow gets ${it.rate(0, "long.goodput_bps")} of the free 25 Mb/s. The utilization is ${it.share(1)} with 100 packets and ${it.share(2)} with 625. The cost is queueing delay: its 99th percentiles are ${it.time(0)}, ${it.time(1)} and ${it.time(2)}.`,
    claim: (it) =>
      it.value(0, "utilization") < it.value(1, "utilization") &&
      it.value(1, "utilization") < it.value(2, "utilization") &&
      it.value(0, "queue_delay_p99_s") < it.value(1, "queue_delay_p99_s") &&
      it.value(1, "queue_delay_p99_s") < it.value(2, "queue_delay_p99_s"),
    paper: {
      source: AUGE,
      result:
        "The paper finds that one flow gets about 40 % of the free rate with 20 packets. A buffer of 625 packets fills the link, and 100 packets are a good compromise.",
      comparison: (it) =>
        `Here the flow gets ${it.part(0, "long.goodput_bps", 25e6)} of the free rate with 20 packets, and the order of the buffers is the same. The paper does not state its variant of New Reno. This experiment uses loss recovery with SACK. The slow-but-steady variant of New Reno (RFC 6582) gives similar results. With the impatient variant, the default of ns-2, even 625 packets do not quite fill the link.`,
    },
  },
  {
    id: "elastic-flows",
    title: "Do more flows need more buffer?",
    question:
      "Long flows share a link with background traffic that uses half of it. The buffer has 20 packets. How does the utilization change with two and four long flows instead of one?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "It rises clearly with each step",
          holds: (it) =>
            it.value(1, "utilization") > it.value(0, "utilization") + 0.01 &&
            it.value(2, "utilization") > it.value(1, "utilization") + 0.01,
        },
        {
          text: "It falls clearly: more flows compete for the same buffer",
          holds: (it) => it.value(2, "utilization") < it.value(0, "utilization") - 0.01,
        },
        {
          text: "Neither of these",
          holds: (it) =>
            it.value(2, "utilization") >= it.value(0, "utilization") - 0.01 &&
            !(
              it.value(1, "utilization") > it.value(0, "utilization") + 0.01 &&
              it.value(2, "utilization") > it.value(1, "utilization") + 0.01
            ),
        },
      ],
    },
    scenario: ELASTIC,
    watch: "Watch the congestion windows. When one is reduced, do the others continue to grow?",
    runs: [1, 2, 4].map((count) => ({
      name: count === 1 ? "one flow" : `${count} flows`,
      overrides: [`flows.long.count=${count}`],
    })),
    columns: [
      UTILIZATION,
      LOSS,
      { title: "flows with simultaneous loss", metric: "synchronization", unit: "share" },
    ],
    explanation: (it) =>
      `The utilization is ${it.share(0)}, ${it.share(1)} and ${it.share(2)}. When a loss reduces the window of one flow, other flows continue. On average ${it.share(1, "synchronization")} of two flows lose at the same time, and ${it.share(2, "synchronization")} of four. A single flow is the hardest case.`,
    claim: (it) =>
      it.value(1, "utilization") > it.value(0, "utilization") &&
      it.value(2, "utilization") > it.value(1, "utilization") &&
      it.value(2, "synchronization") < it.value(1, "synchronization") &&
      it.value(1, "synchronization") < 0.75,
    paper: {
      source: AUGE,
      result:
        "The paper finds little synchronized loss even with two flows. The utilization rises with the number of flows. The number that matters is that of the flows which the link itself limits: typically none, one or two. A single flow is the worst case, and it is frequent.",
    },
  },
  {
    id: "highspeed",
    title: "A smaller window reduction",
    question:
      "HighSpeed TCP reduces a large window by a smaller factor. Is a hundredth of the bandwidth-delay product enough for four such flows?",
    prediction: {
      kind: "choice",
      options: [
        { text: "Yes: the utilization is above 95 %", holds: (it) => it.value(0, "utilization") > 0.95 },
        {
          text: "Nearly: between 80 and 95 %",
          holds: (it) => it.value(0, "utilization") > 0.8 && it.value(0, "utilization") <= 0.95,
        },
        { text: "No: 80 % or less", holds: (it) => it.value(0, "utilization") <= 0.8 },
      ],
    },
    scenario: HIGH_SPEED,
    watch: "Watch the queue. It fills in short bursts and is empty most of the time.",
    runs: [
      { name: "13 packets", overrides: ["link.buffer=13p"] },
      { name: "125 packets", overrides: ["link.buffer=125p"] },
      { name: "1250 packets", overrides: ["link.buffer=1250p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    explanation: (it) =>
      `The utilization is ${it.share(0)} with a hundredth of the product (13 packets), ${it.share(1)} with a tenth, and ${it.share(2)} with the whole product. Packets arrive in bursts. A very small buffer drops part of a burst even if the link is far from full.`,
    claim: (it) =>
      it.value(0, "utilization") < it.value(1, "utilization") &&
      it.value(1, "utilization") < it.value(2, "utilization"),
    paper: {
      source:
        'D. Barman, G. Smaragdakis and I. Matta, "The effect of router buffer size on HighSpeed TCP performance", 2004, sections III and V',
      result:
        "For ten flows on 1 Gb/s, the paper finds that a tenth of the bandwidth-delay product keeps the utilization at 90 % or more. With a smaller buffer the utilization falls drastically.",
      comparison: (it) =>
        `Here, on a slower link, a tenth gives ${it.share(1)}. The simulations of the paper agree. Its formula does not: it ignores bursts and predicts 97 % for a fiftieth on that link.`,
    },
  },
  {
    id: "small-buffer-loss",
    title: "Is a full link enough?",
    question:
      "Sixty flows fill a link of 10 Mb/s. The square-root rule gives a buffer of 16 packets here. The buffer grows from 20 to 200 packets. What changes most?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "The utilization: it rises by more than 5 percentage points",
          holds: (it) => it.value(1, "utilization") - it.value(0, "utilization") > 0.05,
        },
        {
          text: "The loss rate: it falls by more than a quarter, while the utilization is about the same",
          holds: (it) =>
            it.value(1, "utilization") - it.value(0, "utilization") <= 0.05 &&
            it.value(1, "loss_rate") < 0.75 * it.value(0, "loss_rate"),
        },
        {
          text: "Only the queueing delay",
          holds: (it) =>
            it.value(1, "utilization") - it.value(0, "utilization") <= 0.05 &&
            it.value(1, "loss_rate") >= 0.75 * it.value(0, "loss_rate"),
        },
      ],
    },
    scenario: CROWD,
    watch:
      "Watch the small windows. A loss at a window of two or three packets causes a long pause until the retransmission timer expires.",
    runs: [
      { name: "20 packets", overrides: ["link.buffer=20p"] },
      { name: "200 packets", overrides: ["link.buffer=200p"] },
    ],
    columns: [
      UTILIZATION,
      LOSS,
      DELAY,
      { title: "slow flow (10th percentile)", metric: "users.flow_goodput_p10_bps", unit: "rate" },
      { title: "median flow", metric: "users.flow_goodput_p50_bps", unit: "rate" },
    ],
    explanation: (it) =>
      `Both buffers give a high utilization: ${it.share(0)} and ${it.share(1)}. The loss rate is ${it.share(0, "loss_rate")} with a buffer of 20 packets and ${it.share(1, "loss_rate")} with 200. A slow flow gets ${it.rate(0, "users.flow_goodput_p10_bps")} and ${it.rate(1, "users.flow_goodput_p10_bps")}. The cost is queueing delay: its 99th percentiles are ${it.time(0)} and ${it.time(1)}.`,
    claim: (it) =>
      it.value(0, "utilization") > 0.95 &&
      it.value(1, "utilization") > 0.95 &&
      it.value(1, "loss_rate") < it.value(0, "loss_rate") &&
      it.value(1, "users.flow_goodput_p10_bps") > it.value(0, "users.flow_goodput_p10_bps"),
    paper: {
      source:
        'A. Dhamdhere and C. Dovrolis, "Open issues in router buffer sizing", 2006, sections 3.1 and 4.3',
      result:
        "The paper warns that high utilization alone is the wrong goal. For 200 flows the square-root rule gives 18 packets. The paper finds a loss rate of 7 to 8 % with this buffer and about 2 % with 500 packets. About 80 % of the long flows get more with the large buffer.",
      comparison: () =>
        "forebay's reproduction of the paper agrees, with one exception: its loss rates are higher than the printed ones. Those of ns-2 are higher as well.",
    },
  },
  {
    id: "rate-and-delay",
    title: "More utilization or less delay?",
    question:
      "Four equal flows share a link with a bandwidth-delay product of 250 packets. The buffer grows from 250 to 1000 packets. How much does the utilization rise?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Hardly at all: less than 3 percentage points",
          holds: (it) => it.value(2, "utilization") - it.value(1, "utilization") < 0.03,
        },
        {
          text: "3 to 15 percentage points",
          holds: (it) => {
            const gain = it.value(2, "utilization") - it.value(1, "utilization");
            return gain >= 0.03 && gain < 0.15;
          },
        },
        {
          text: "15 percentage points or more",
          holds: (it) => it.value(2, "utilization") - it.value(1, "utilization") >= 0.15,
        },
      ],
    },
    scenario: TRADE,
    watch: "Watch when the queue becomes empty. Only then is the link idle.",
    runs: [
      { name: "5 packets", overrides: ["link.buffer=5p"] },
      { name: "250 packets", overrides: ["link.buffer=250p"] },
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    explanation: (it) =>
      `The utilization is ${it.share(0)}, ${it.share(1)} and ${it.share(2)}. The 99th percentile of the queueing delay is ${it.time(0)}, ${it.time(1)} and ${it.time(2)}. If the queue never becomes empty, a larger buffer only adds delay.`,
    claim: (it) =>
      it.value(0, "utilization") < it.value(1, "utilization") &&
      it.value(2, "utilization") - it.value(1, "utilization") < 0.03 &&
      it.value(2, "queue_delay_p99_s") > 2 * it.value(1, "queue_delay_p99_s"),
    paper: {
      source:
        'K. Avrachenkov, U. Ayesta and A. Piunovskiy, "Optimal choice of the buffer size in the Internet routers", 2005, sections II and III',
      result:
        "The paper computes the Pareto set of rate and delay, and finds a buffer beyond which only the delay grows. It adds that this buffer shrinks as flows are added.",
      comparison: () =>
        "forebay agrees with the first result and not with the second. Flows with synchronized losses, such as these, need about one bandwidth-delay product for any number of flows. To test this, change the number of flows.",
    },
  },
  {
    id: "losing-together",
    title: "Losing together",
    question:
      "Ten flows on 10 Gb/s share a small buffer. When it overflows, either all ten flows lose packets or only three. How much does this matter? The runs use a fluid model, because in a packet-level model the number of flows that lose cannot be set.",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "A little: the utilization differs by less than 10 percentage points",
          holds: (it) => Math.abs(it.value(1, "utilization") - it.value(0, "utilization")) < 0.1,
        },
        {
          text: "A lot: with three flows the utilization is at least 10 percentage points higher",
          holds: (it) => it.value(1, "utilization") - it.value(0, "utilization") >= 0.1,
        },
        {
          text: "A lot: with three flows the utilization is at least 10 percentage points lower",
          holds: (it) => it.value(0, "utilization") - it.value(1, "utilization") >= 0.1,
        },
      ],
    },
    scenario: TOGETHER,
    watch:
      "The fluid model has no packets to show. The view below plays the same link in the packet-level model, where the queue decides which flows lose. Watch how many windows fall at the same time.",
    runs: [
      { name: "all flows lose", overrides: ["fluid.minimum_synchronization=1"], engine: "fluid" },
      { name: "three flows lose", overrides: ["fluid.minimum_synchronization=0.3"], engine: "fluid" },
      {
        name: "three to ten flows lose",
        overrides: ["fluid.minimum_synchronization=0.3", "fluid.law=truncated_normal"],
        engine: "fluid",
      },
      {
        name: "all flows lose, CUBIC",
        overrides: ["fluid.minimum_synchronization=1", "flows.ten.cca=cubic"],
        engine: "fluid",
      },
    ],
    columns: [
      UTILIZATION,
      { title: "flows with simultaneous loss", metric: "synchronization", unit: "share" },
    ],
    explanation: (it) =>
      `The utilization is ${it.share(0)} if all flows lose, and ${it.share(1)} if three flows lose. If the number is random between three and ten for each loss, it is ${it.share(2)}. CUBIC gives ${it.share(3)} even if all flows lose, because it reduces its window by a smaller factor.`,
    claim: (it) =>
      it.value(1, "utilization") > it.value(2, "utilization") &&
      it.value(2, "utilization") > it.value(0, "utilization") &&
      it.value(3, "utilization") > it.value(0, "utilization"),
    paper: {
      source:
        'S. Kumar, M. Azad and S.-J. Park, "A fluid-based simulation study: the effect of loss synchronization on sizing buffers over 10Gbps high speed networks", 2010, sections III.B and V',
      result:
        "In the paper the number of flows that lose is random. The paper says that small buffers do well with AIMD (additive increase, multiplicative decrease, as in New Reno) and badly with CUBIC. It adds that AIMD gains if fewer flows lose at the same time.",
      comparison: (it) =>
        `forebay agrees with the last result: here AIMD gains ${it.points(0, 2)}. It disagrees with the first: if all flows lose, the utilization of CUBIC is ${it.points(0, 3)} above that of AIMD.`,
    },
  },
];
