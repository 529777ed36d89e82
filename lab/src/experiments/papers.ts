/** Five papers on buffers as experiments; docs/papers has the whole comparison. */

import { DELAY, type Experiment, LOSS, UTILIZATION } from "./types.ts";

const ELASTIC = `title = "One long flow beside a background"
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

const TRADE = `title = "Four flows that lose together"
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

const TOGETHER = `title = "Ten flows on 10 Gb/s, as a fluid"
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
      "One long flow shares a link with the packets of many small flows, which come at random and take half of it. How much of the link is used with 20, 100 and 625 packets of buffer?",
    prediction: { kind: "curve", metric: "utilization", axis: "link used" },
    scenario: ELASTIC,
    watch:
      "Watch the window of the long flow: each drop cuts it. With 20 packets this is long before the link is full.",
    runs: [
      { name: "20 packets", overrides: ["link.buffer=20p"] },
      { name: "100 packets", overrides: ["link.buffer=100p"] },
      { name: "625 packets", overrides: ["link.buffer=625p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    happened: (it) =>
      `With 20 packets the link is used for ${it.share(0)}: where a burst of the long flow meets a small cluster of other packets, one is lost, long before the link is full. The long flow gets ${it.rate(0, "long.goodput_bps")} of the 25 Mb/s that are free. 100 packets give ${it.share(1)}, 625 give ${it.share(2)}. The price is waiting: one packet in a hundred waits at least ${it.time(0)}, ${it.time(1)} and ${it.time(2)}.`,
    claim: (it) =>
      it.of(0, "utilization") < it.of(1, "utilization") &&
      it.of(1, "utilization") < it.of(2, "utilization") &&
      it.of(0, "queue_delay_p99_s") < it.of(1, "queue_delay_p99_s") &&
      it.of(1, "queue_delay_p99_s") < it.of(2, "queue_delay_p99_s"),
    paper: {
      source: AUGE,
      said: "The paper finds that one flow gets about 40 % of the free rate with 20 packets, that 625 packets fill the link, and that 100 packets are a good compromise.",
      compared: (it) =>
        `Here the flow gets ${it.part(0, "long.goodput_bps", 25e6)} of the free rate with 20 packets, and the order is the same. The paper does not say which New Reno it means. Here losses are repaired with SACK, and the patient New Reno of RFC 6582 does about as well; with the impatient one, the default of ns-2, even 625 packets do not quite fill the link.`,
    },
  },
  {
    id: "elastic-flows",
    title: "Do more flows need more buffer?",
    question:
      "Long flows share a link with a background that takes half of it. The buffer has 20 packets. What happens to the use of the link with two and four long flows instead of one?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "It rises clearly with each step",
          holds: (it) =>
            it.of(1, "utilization") > it.of(0, "utilization") + 0.01 &&
            it.of(2, "utilization") > it.of(1, "utilization") + 0.01,
        },
        {
          text: "It falls clearly: more flows fight for the same places",
          holds: (it) => it.of(2, "utilization") < it.of(0, "utilization") - 0.01,
        },
        {
          text: "Neither of these",
          holds: (it) =>
            it.of(2, "utilization") >= it.of(0, "utilization") - 0.01 &&
            !(
              it.of(1, "utilization") > it.of(0, "utilization") + 0.01 &&
              it.of(2, "utilization") > it.of(1, "utilization") + 0.01
            ),
        },
      ],
    },
    scenario: ELASTIC,
    watch: "Watch the windows. When one is cut, do the others go on?",
    runs: [1, 2, 4].map((count) => ({
      name: count === 1 ? "one flow" : `${count} flows`,
      overrides: [`flows.long.count=${count}`],
    })),
    columns: [
      UTILIZATION,
      LOSS,
      { title: "flows that lose together", metric: "synchronization", unit: "share" },
    ],
    happened: (it) =>
      `The link is used for ${it.share(0)}, ${it.share(1)} and ${it.share(2)}. When a loss cuts one flow, others go on: of two flows ${it.share(1, "synchronization")} lose in the same moment on average, of four ${it.share(2, "synchronization")}. One flow alone is the hard case.`,
    claim: (it) =>
      it.of(1, "utilization") > it.of(0, "utilization") &&
      it.of(2, "utilization") > it.of(1, "utilization") &&
      it.of(2, "synchronization") < it.of(1, "synchronization") &&
      it.of(1, "synchronization") < 0.75,
    paper: {
      source: AUGE,
      said: "The paper finds little synchronized loss even with two flows, and a link that is used better the more flows there are. What counts is how many flows the link itself limits: typically none, one or two. A single one is the worst case, and a frequent one.",
    },
  },
  {
    id: "highspeed",
    title: "A controller that cuts less",
    question:
      "HighSpeed TCP cuts its window less when the window is large. Is a hundredth of the bandwidth-delay product enough for four such flows?",
    prediction: {
      kind: "choice",
      options: [
        { text: "Yes: more than 95 % of the link is used", holds: (it) => it.of(0, "utilization") > 0.95 },
        {
          text: "Nearly: between 80 and 95 %",
          holds: (it) => it.of(0, "utilization") > 0.8 && it.of(0, "utilization") <= 0.95,
        },
        { text: "No: 80 % or less", holds: (it) => it.of(0, "utilization") <= 0.8 },
      ],
    },
    scenario: HIGH_SPEED,
    watch: "Watch the queue: it fills in short bursts while most of the time nothing waits.",
    runs: [
      { name: "13 packets", overrides: ["link.buffer=13p"] },
      { name: "125 packets", overrides: ["link.buffer=125p"] },
      { name: "1250 packets", overrides: ["link.buffer=1250p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    happened: (it) =>
      `A hundredth of the product (13 packets) gives ${it.share(0)}, a tenth ${it.share(1)}, the whole ${it.share(2)}. Packets come in bursts, and a very small buffer loses some of a burst even on a link that is far from full.`,
    claim: (it) =>
      it.of(0, "utilization") < it.of(1, "utilization") && it.of(1, "utilization") < it.of(2, "utilization"),
    paper: {
      source:
        'D. Barman, G. Smaragdakis and I. Matta, "The effect of router buffer size on HighSpeed TCP performance", 2004, sections III and V',
      said: "The paper says, for ten flows on 1 Gb/s, that a tenth of the bandwidth-delay product keeps the link at least 90 % busy, and that the use falls drastically below it.",
      compared: (it) =>
        `Here, on a smaller link, a tenth gives ${it.share(1)}. The simulations of the paper say so, too. Its formula does not: it knows no bursts, and promises 97 % for a fiftieth there.`,
    },
  },
  {
    id: "small-buffer-loss",
    title: "The link is full. Are its users happy?",
    question:
      "Sixty flows fill a link of 10 Mb/s. The rule of the square root asks for 16 packets of buffer here. The buffer grows from 20 to 200 packets. What changes most?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "The use of the link: it rises by more than 5 points",
          holds: (it) => it.of(1, "utilization") - it.of(0, "utilization") > 0.05,
        },
        {
          text: "The loss: it falls by more than a quarter, while the link is about as full as before",
          holds: (it) =>
            it.of(1, "utilization") - it.of(0, "utilization") <= 0.05 &&
            it.of(1, "loss_rate") < 0.75 * it.of(0, "loss_rate"),
        },
        {
          text: "The waiting time, and nothing else",
          holds: (it) =>
            it.of(1, "utilization") - it.of(0, "utilization") <= 0.05 &&
            it.of(1, "loss_rate") >= 0.75 * it.of(0, "loss_rate"),
        },
      ],
    },
    scenario: CROWD,
    watch:
      "Watch how small the windows are: a loss at a window of two or three packets means a long silence.",
    runs: [
      { name: "20 packets", overrides: ["link.buffer=20p"] },
      { name: "200 packets", overrides: ["link.buffer=200p"] },
    ],
    columns: [
      UTILIZATION,
      LOSS,
      DELAY,
      { title: "slow flow (10th of 100)", metric: "users.flow_goodput_p10_bps", unit: "rate" },
      { title: "middle flow", metric: "users.flow_goodput_p50_bps", unit: "rate" },
    ],
    happened: (it) =>
      `Both buffers use the link well: ${it.share(0)} and ${it.share(1)}. But ${it.share(0, "loss_rate")} of the packets are lost with 20 packets of buffer, and ${it.share(1, "loss_rate")} with 200. A slow flow gets ${it.rate(0, "users.flow_goodput_p10_bps")} and ${it.rate(1, "users.flow_goodput_p10_bps")}. The price is waiting: one packet in a hundred waits at least ${it.time(0)} and ${it.time(1)}.`,
    claim: (it) =>
      it.of(0, "utilization") > 0.95 &&
      it.of(1, "utilization") > 0.95 &&
      it.of(1, "loss_rate") < it.of(0, "loss_rate") &&
      it.of(1, "users.flow_goodput_p10_bps") > it.of(0, "users.flow_goodput_p10_bps"),
    paper: {
      source:
        'A. Dhamdhere and C. Dovrolis, "Open issues in router buffer sizing", 2006, sections 3.1 and 4.3',
      said: "The paper warns that a full link alone is the wrong goal. For 200 flows it finds 7 to 8 % of loss with the 18 packets that the square root asks for, about 2 % with 500, and that about 80 % of the long flows get more with the large buffer.",
      compared: () =>
        "forebay's reproduction of the paper agrees, except that its losses are higher than the printed ones, as are those of ns-2.",
    },
  },
  {
    id: "rate-and-delay",
    title: "More rate or less delay?",
    question:
      "Four equal flows share a link with a bandwidth-delay product of 250 packets. You go from 250 to 1000 packets of buffer. How much more of the link is used?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Hardly any: less than 3 points",
          holds: (it) => it.of(2, "utilization") - it.of(1, "utilization") < 0.03,
        },
        {
          text: "3 to 15 points",
          holds: (it) => {
            const gain = it.of(2, "utilization") - it.of(1, "utilization");
            return gain >= 0.03 && gain < 0.15;
          },
        },
        {
          text: "15 points or more",
          holds: (it) => it.of(2, "utilization") - it.of(1, "utilization") >= 0.15,
        },
      ],
    },
    scenario: TRADE,
    watch: "Watch when the queue becomes empty. Only then does the link lose time.",
    runs: [
      { name: "5 packets", overrides: ["link.buffer=5p"] },
      { name: "250 packets", overrides: ["link.buffer=250p"] },
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
    ],
    columns: [UTILIZATION, LOSS, DELAY],
    happened: (it) =>
      `The link is used for ${it.share(0)}, ${it.share(1)} and ${it.share(2)}; 99 of 100 packets wait less than ${it.time(0)}, ${it.time(1)} and ${it.time(2)}. Once the queue does not run empty, more buffer buys only delay.`,
    claim: (it) =>
      it.of(0, "utilization") < it.of(1, "utilization") &&
      it.of(2, "utilization") - it.of(1, "utilization") < 0.03 &&
      it.of(2, "queue_delay_p99_s") > 2 * it.of(1, "queue_delay_p99_s"),
    paper: {
      source:
        'K. Avrachenkov, U. Ayesta and A. Piunovskiy, "Optimal choice of the buffer size in the Internet routers", 2005, sections II and III',
      said: "The paper draws all sensible trades of rate against delay (its Pareto set), and finds a buffer beyond which only delay grows. It adds that this buffer shrinks as flows are added.",
      compared: () =>
        "forebay agrees on the first and not on the second: flows that lose together, as these do, need about one bandwidth-delay product, however many they are. You can try it: change the number of flows.",
    },
  },
  {
    id: "losing-together",
    title: "Losing together",
    question:
      "Ten flows on 10 Gb/s have a small buffer. When it overflows, all ten lose, or only three. How much does this matter? (A fluid model answers this: of packets nobody can say beforehand how many flows lose.)",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "A little: the difference is less than 10 points",
          holds: (it) => Math.abs(it.of(1, "utilization") - it.of(0, "utilization")) < 0.1,
        },
        {
          text: "A lot: with three losers at least 10 points more are used",
          holds: (it) => it.of(1, "utilization") - it.of(0, "utilization") >= 0.1,
        },
        {
          text: "A lot, the other way round",
          holds: (it) => it.of(0, "utilization") - it.of(1, "utilization") >= 0.1,
        },
      ],
    },
    scenario: TOGETHER,
    watch:
      "The fluid has no packets to show. Below the same link is played with packets: there the queue decides who loses. Watch how many windows fall together.",
    runs: [
      { name: "all lose", overrides: ["fluid.minimum_synchronization=1"], engine: "fluid" },
      { name: "three lose", overrides: ["fluid.minimum_synchronization=0.3"], engine: "fluid" },
      {
        name: "three to ten lose",
        overrides: ["fluid.minimum_synchronization=0.3", "fluid.law=truncated_normal"],
        engine: "fluid",
      },
      {
        name: "all lose, CUBIC",
        overrides: ["fluid.minimum_synchronization=1", "flows.ten.cca=cubic"],
        engine: "fluid",
      },
    ],
    columns: [UTILIZATION, { title: "flows that lose together", metric: "synchronization", unit: "share" }],
    happened: (it) =>
      `If all flows lose together the link is used for ${it.share(0)}; if three do, for ${it.share(1)}. If another number from three to ten is drawn each time, it is ${it.share(2)}. CUBIC gives ${it.share(3)}, even if all lose together: it cuts its window less.`,
    claim: (it) =>
      it.of(1, "utilization") > it.of(2, "utilization") &&
      it.of(2, "utilization") > it.of(0, "utilization") &&
      it.of(3, "utilization") > it.of(0, "utilization"),
    paper: {
      source:
        'S. Kumar, M. Azad and S.-J. Park, "A fluid-based simulation study: the effect of loss synchronization on sizing buffers over 10Gbps high speed networks", 2010, sections III.B and V',
      said: "The paper lets the number of losers be drawn. It says that small buffers do well with AIMD, the sawtooth of New Reno, and badly with CUBIC, and that AIMD gains when fewer flows lose together.",
      compared: (it) =>
        `forebay agrees on the last: here AIMD gains ${it.points(0, 2)}. On the first it finds the opposite: CUBIC uses ${it.points(0, 3)} more than AIMD if all lose together.`,
    },
  },
];
