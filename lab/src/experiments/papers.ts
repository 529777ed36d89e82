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

const AUGE = 'J. Augé and J. Roberts, "Buffer sizing for elastic traffic", 2006';

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
warmup = "5s"
measure = "12s"
`;

const CROWD = `title = "Sixty flows on a narrow link"
[link]
rate = "10Mbps"
buffer = "10p"
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
      "One long flow shares a link with many short ones, which take half of it. How much of the link is used with 20, 100 and 625 packets of buffer?",
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
      `With 20 packets the link is used for ${it.share(0)}: a small cluster of background packets is enough for a loss. 100 packets give ${it.share(1)}, 625 give ${it.share(2)}. But the price is waiting: ${it.time(0)}, ${it.time(1)} and ${it.time(2)}.`,
    claim: (it) =>
      it.of(0, "utilization") < it.of(1, "utilization") &&
      it.of(1, "utilization") < it.of(2, "utilization") &&
      it.of(0, "queue_delay_p99_s") < it.of(1, "queue_delay_p99_s") &&
      it.of(1, "queue_delay_p99_s") < it.of(2, "queue_delay_p99_s"),
    paper: {
      source: AUGE,
      said: "The paper finds that one flow gets about 40 % of the free rate with 20 packets, and that 100 packets are a good middle. forebay finds the same, if New Reno is the patient variant. The impatient one leaves the link idle even with 625 packets.",
    },
  },
  {
    id: "elastic-flows",
    title: "Do more flows need more buffer?",
    question:
      "The buffer stays at 20 packets. What happens to the use of the link with two and four long flows instead of one?",
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
      `The link is used for ${it.share(0)}, ${it.share(1)} and ${it.share(2)}. When a loss cuts one flow, the others go on: of four flows only ${it.share(2, "synchronization")} lose in the same moment. One flow alone is the hard case.`,
    claim: (it) =>
      it.of(2, "utilization") > it.of(0, "utilization") &&
      it.of(2, "synchronization") < it.of(0, "synchronization"),
    paper: {
      source: AUGE,
      said: "The paper says the same: what counts is how many flows the link really limits, and often it is only one. forebay measures that about half of two flows and a third of four lose together.",
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
      `A hundredth of the product (13 packets) gives ${it.share(0)}, a tenth ${it.share(1)}, the whole ${it.share(2)}. Packets come in bursts, and a very small buffer loses bursts even on a link that is not full.`,
    claim: (it) =>
      it.of(0, "utilization") < it.of(1, "utilization") && it.of(1, "utilization") < it.of(2, "utilization"),
    paper: {
      source:
        'D. Barman, G. Smaragdakis and I. Matta, "The effect of router buffer size on HighSpeed TCP performance", 2004',
      said: "The paper says that a tenth of its full buffer keeps 1 Gb/s at least 90 % busy, and forebay agrees. Its formula knows no bursts: for a fiftieth it promises 97 %, where packets give less than 40 %.",
    },
  },
  {
    id: "small-buffer-loss",
    title: "The link is full. Are its users happy?",
    question: "Sixty flows fill a narrow link. The buffer grows from 10 to 200 packets. What changes most?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "The use of the link: it rises by more than 10 points",
          holds: (it) => it.of(1, "utilization") - it.of(0, "utilization") > 0.1,
        },
        {
          text: "The loss: it falls by more than a quarter, and the link is about as full as before",
          holds: (it) =>
            it.of(1, "utilization") - it.of(0, "utilization") <= 0.1 &&
            it.of(1, "loss_rate") < 0.75 * it.of(0, "loss_rate"),
        },
        {
          text: "Only the waiting time",
          holds: (it) =>
            it.of(1, "utilization") - it.of(0, "utilization") <= 0.1 &&
            it.of(1, "loss_rate") >= 0.75 * it.of(0, "loss_rate"),
        },
      ],
    },
    scenario: CROWD,
    watch:
      "Watch how small the windows are: a loss at a window of two or three packets means a long silence.",
    runs: [
      { name: "10 packets", overrides: ["link.buffer=10p"] },
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
      `Both buffers use the link well: ${it.share(0)} and ${it.share(1)}. But ${it.share(0, "loss_rate")} of the packets are lost with 10 packets of buffer, and ${it.share(1, "loss_rate")} with 200. A slow flow gets ${it.rate(0, "users.flow_goodput_p10_bps")} and ${it.rate(1, "users.flow_goodput_p10_bps")}.`,
    claim: (it) =>
      it.of(0, "utilization") > 0.9 &&
      it.of(1, "utilization") > 0.9 &&
      it.of(1, "loss_rate") < it.of(0, "loss_rate"),
    paper: {
      source: 'A. Dhamdhere and C. Dovrolis, "Open issues in router buffer sizing", 2006',
      said: "The paper warns: a full link is the wrong goal where many flows crowd. It finds high loss with a small buffer, and so does forebay, with even higher loss than printed. In both most long flows get more with the large buffer.",
    },
  },
  {
    id: "rate-and-delay",
    title: "More rate or less delay?",
    question:
      "Four equal flows have a bandwidth-delay product of 250 packets. You go from 250 to 1000 packets of buffer. How much more of the link is used?",
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
        'K. Avrachenkov, U. Ayesta and A. Piunovskiy, "Optimal choice of the buffer size in the Internet routers", 2005',
      said: "The paper draws all sensible trades of rate against delay, and finds a buffer beyond which only delay grows. forebay agrees on that. It does not agree that this buffer shrinks as flows are added: flows that lose together need about one bandwidth-delay product, however many they are.",
    },
  },
  {
    id: "losing-together",
    title: "Losing together",
    question:
      "Ten flows on 10 Gb/s have a small buffer. When it overflows, all ten lose, or only three. How much does this matter? (A fluid model plays this: packets would take too long.)",
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
      "The page cannot play 10 Gb/s packet by packet in good time. The fluid model answers at once: go on.",
    runs: [
      { name: "all lose", overrides: ["fluid.minimum_synchronization=1"], engine: "fluid" },
      { name: "three lose", overrides: ["fluid.minimum_synchronization=0.3"], engine: "fluid" },
      {
        name: "all lose, CUBIC",
        overrides: ["fluid.minimum_synchronization=1", "flows.ten.cca=cubic"],
        engine: "fluid",
      },
    ],
    columns: [UTILIZATION],
    happened: (it) =>
      `If all flows lose together the link is used for ${it.share(0)}; if three do, ${it.share(1)}. Changing the controller to CUBIC gives ${it.share(2)}, even if all lose together.`,
    claim: (it) =>
      it.of(1, "utilization") > it.of(0, "utilization") && it.of(2, "utilization") > it.of(0, "utilization"),
    paper: {
      source:
        'S. Kumar, M. Azad and S.-J. Park, "A fluid-based simulation study: the effect of loss synchronization on sizing buffers over 10Gbps high speed networks", 2010',
      said: "The paper says that small buffers do well with AIMD and badly with CUBIC. forebay finds the opposite for these two: CUBIC cuts less. Both find that AIMD gains when fewer flows lose together. Here exactly three lose each time; where three is only the least and often more do, forebay finds a gain of about 4 points.",
    },
  },
];
