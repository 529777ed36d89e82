/**
 * Experiments about current links: bufferbloat, BBR, incast, marks, fair queueing, synchronization, pacing.
 */

import { type Column, DELAY, type Experiment, LOSS, type Option, UTILIZATION } from "./types.ts";

/** Scenario with one link, made from its parts. */
function scenario(title: string, link: string, flows: string, run: string): string {
  return `title = "${title}"\n[link]\n${link}\n${flows}[run]\n${run}\n`;
}

function group(name: string, lines: string): string {
  return `[[flows]]\nname = "${name}"\n${lines}\n`;
}

const LONG = 'packet = "1500B"\nrecovery = "sack"\nstart = { uniform = ["0s", "1s"] }';
const CALL = group("call", 'packet = "200B"\nworkload = { cbr = { rate = "100kbps" } }');

const BLOAT = scenario(
  "A download and a call on 20 Mb/s",
  'rate = "20Mbps"\nbuffer = "1000p"',
  group("download", `cca = "cubic"\nrtt = "30ms"\n${LONG}`) + CALL,
  'warmup = "20s"\nmeasure = "40s"',
);

const RIVALS = scenario(
  "Two CUBIC and two BBR flows on 50 Mb/s",
  'rate = "50Mbps"\nbuffer = "50p"',
  ["cubic", "bbr"]
    .map((name) =>
      group(
        name,
        `count = 2\ncca = "${name}"\nrtt = { linspace = ["38ms", "42ms"] }\n${LONG}\naccess = { rate = "200Mbps" }`,
      ),
    )
    .join(""),
  'warmup = "30s"\nmeasure = "180s"',
);

const INCAST = scenario(
  "Forty servers answer one client at once",
  'rate = "10Gbps"\nbuffer = "100p"',
  group(
    "servers",
    'cca = "cubic"\nrecovery = "sack"\nrtt = "100us"\npacket = "1500B"\ninitial_window = "10p"\nmin_rto = "10ms"\naccess = { rate = "25Gbps" }\nworkload = { incast = { servers = 40, pause = "1ms", delay = { uniform = ["0us", "20us"] }, size = "32kB" } }',
  ),
  'warmup = "50ms"\nmeasure = "400ms"',
);

const MARKED = scenario(
  "Two flows with and without marks",
  'rate = "20Mbps"\nbuffer = "200p"\nqueue = "codel"',
  group("download", `count = 2\ncca = "cubic"\nrtt = { linspace = ["30ms", "40ms"] }\n${LONG}\necn = false`),
  'warmup = "15s"\nmeasure = "60s"',
);

const NEIGHBORS = scenario(
  "Four downloads and a call share a queue",
  'rate = "20Mbps"\nbuffer = "250p"\nqueue = "droptail"',
  group("download", `count = 4\ncca = "cubic"\nrtt = { linspace = ["20ms", "50ms"] }\n${LONG}`) + CALL,
  'warmup = "15s"\nmeasure = "45s"',
);

const EQUALS = scenario(
  "Eight synchronized flows",
  'rate = "50Mbps"\nbuffer = "40p"',
  group("flows", `count = 8\ncca = "newreno"\nrtt = "50ms"\n${LONG}\naccess = { rate = "200Mbps" }`),
  'warmup = "15s"\nmeasure = "60s"',
);

const MANY = scenario(
  "One flow, or many, on 60 Mb/s",
  'rate = "60Mbps"\nbuffer = "500p"',
  group("flows", `count = 1\ncca = "newreno"\nrtt = "100ms"\n${LONG}\naccess = { rate = "240Mbps" }`),
  'warmup = "40s"\nmeasure = "100s"',
);

const PACED = scenario(
  "Four flows with and without pacing",
  'rate = "50Mbps"\nbuffer = "15p"',
  group(
    "flow",
    `count = 4\ncca = "newreno"\nrtt = { linspace = ["70ms", "130ms"] }\n${LONG}\naccess = { rate = "1Gbps" }\npacing = false`,
  ),
  'warmup = "20s"\nmeasure = "60s"',
);

const TOGETHER: Column = { title: "flows with simultaneous loss", metric: "synchronization", unit: "share" };
const CALL_DELAY: Column = {
  title: "queueing delay of the call, 99th percentile",
  metric: "call.queue_delay_p99_s",
  unit: "time",
};

/**
 * Answers about the change of the utilization from one run to another. `little` is the smallest difference
 * that counts.
 */
function gains(from: number, to: number, little: number): Option[] {
  const gain: (it: Parameters<Option["holds"]>[0]) => number = (it) =>
    it.value(to, "utilization") - it.value(from, "utilization");
  const points = `${Math.round(little * 100)} percentage point${little === 0.01 ? "" : "s"}`;
  return [
    { text: `The utilization rises by at least ${points}`, holds: (it) => gain(it) >= little },
    { text: `The utilization changes by less than ${points}`, holds: (it) => Math.abs(gain(it)) < little },
    { text: `The utilization falls by at least ${points}`, holds: (it) => gain(it) <= -little },
  ];
}

/** Answers about the ratio of the goodput of two groups. */
function ratios(run: number): Option[] {
  const ratio: (it: Parameters<Option["holds"]>[0]) => number = (it) =>
    it.value(run, "bbr.goodput_bps") / it.value(run, "cubic.goodput_bps");
  return [
    { text: "BBR gets more than 1.5 times as much", holds: (it) => ratio(it) > 1.5 },
    { text: "Both get about the same", holds: (it) => ratio(it) <= 1.5 && ratio(it) >= 1 / 1.5 },
    { text: "CUBIC gets more than 1.5 times as much", holds: (it) => ratio(it) < 1 / 1.5 },
  ];
}

export const TODAY: readonly Experiment[] = [
  {
    id: "bufferbloat",
    title: "Bufferbloat",
    question:
      "A home link of 20 Mb/s has a buffer of 1000 packets. One download and one call share it. What is the 99th percentile of the queueing delay of the call's packets?",
    prediction: {
      kind: "choice",
      options: [
        { text: "Less than 50 ms", holds: (it) => it.value(0, "call.queue_delay_p99_s") < 0.05 },
        {
          text: "50 to 300 ms",
          holds: (it) =>
            it.value(0, "call.queue_delay_p99_s") >= 0.05 && it.value(0, "call.queue_delay_p99_s") < 0.3,
        },
        { text: "300 ms or more", holds: (it) => it.value(0, "call.queue_delay_p99_s") >= 0.3 },
      ],
    },
    scenario: BLOAT,
    watch: "Watch the queue. It fills and never becomes empty.",
    runs: [
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
      { name: "50 packets", overrides: ["link.buffer=50p"] },
      { name: "1000 packets, CoDel", overrides: ["link.buffer=1000p", "link.queue=codel"] },
    ],
    columns: [UTILIZATION, LOSS, CALL_DELAY],
    explanation: (it) =>
      `The 99th percentile of the call's queueing delay is ${it.time(0, "call.queue_delay_p99_s")} with a buffer of 1000 packets, ${it.time(1, "call.queue_delay_p99_s")} with 50 packets, and ${it.time(2, "call.queue_delay_p99_s")} with CoDel. The utilization is ${it.share(0)}, ${it.share(1)} and ${it.share(2)}.`,
    claim: (it) =>
      it.value(1, "call.queue_delay_p99_s") < it.value(0, "call.queue_delay_p99_s") / 3 &&
      it.value(2, "call.queue_delay_p99_s") < it.value(0, "call.queue_delay_p99_s") / 3,
    paper: {
      source:
        'J. Gettys and K. Nichols, "Bufferbloat: dark buffers in the Internet", 2011; K. Nichols and V. Jacobson, "Controlling queue delay", 2012',
      result:
        "The first paper found home links with buffers of several seconds. A sender that slows down only at a loss fills any buffer. The second paper proposes CoDel, which measures the queueing delay of packets and drops early.",
    },
  },
  {
    id: "bbr-shallow",
    title: "BBR against CUBIC: a shallow buffer",
    question:
      "Two CUBIC and two BBR flows share 50 Mb/s. The buffer is a third of the bandwidth-delay product. Which flows get more?",
    prediction: { kind: "choice", options: ratios(0) },
    scenario: RIVALS,
    watch: "Watch the congestion windows. Which flows slow down after a drop?",
    runs: [
      { name: "50 packets", overrides: ["link.buffer=50p"] },
      { name: "170 packets", overrides: ["link.buffer=170p"] },
      { name: "330 packets", overrides: ["link.buffer=330p"] },
    ],
    columns: [
      { title: "CUBIC, both flows", metric: "cubic.goodput_bps", unit: "rate" },
      { title: "BBR, both flows", metric: "bbr.goodput_bps", unit: "rate" },
      UTILIZATION,
      LOSS,
    ],
    explanation: (it) =>
      `With 50 packets the two CUBIC flows get ${it.rate(0, "cubic.goodput_bps")} and the two BBR flows ${it.rate(0, "bbr.goodput_bps")}. With one bandwidth-delay product (170 packets) they get ${it.rate(1, "cubic.goodput_bps")} and ${it.rate(1, "bbr.goodput_bps")}, with two products ${it.rate(2, "cubic.goodput_bps")} and ${it.rate(2, "bbr.goodput_bps")}. This first version of BBR does not react to a loss, but CUBIC does. The loss rate with 50 packets is ${it.share(0, "loss_rate")}.`,
    claim: (it) => {
      const ratio = (run: number): number =>
        it.value(run, "bbr.goodput_bps") / it.value(run, "cubic.goodput_bps");
      return ratio(0) > ratio(1) && ratio(1) > ratio(2) && ratio(2) > 1;
    },
    paper: {
      source:
        'M. Hock, R. Bless and M. Zitterbart, "Experimental evaluation of BBR congestion control", 2017',
      result:
        "The authors measured that BBR displaces loss-based flows if the buffer is small, and loses many packets itself. If the buffer is large, CUBIC gets its share.",
    },
  },
  {
    id: "bbr-deep",
    title: "BBR against CUBIC: a deep buffer",
    question:
      "Two CUBIC and two BBR flows share 50 Mb/s. The buffer now holds eight bandwidth-delay products. Which flows get more?",
    prediction: { kind: "choice", options: ratios(0) },
    scenario: RIVALS.replace('"50p"', '"1330p"'),
    watch:
      "Watch the queue. CUBIC fills it, and BBR limits its data in flight to two bandwidth-delay products, as it estimates them.",
    runs: [
      { name: "1330 packets", overrides: ["link.buffer=1330p"] },
      { name: "50 packets", overrides: ["link.buffer=50p"] },
    ],
    columns: [
      { title: "CUBIC, both flows", metric: "cubic.goodput_bps", unit: "rate" },
      { title: "BBR, both flows", metric: "bbr.goodput_bps", unit: "rate" },
      DELAY,
    ],
    explanation: (it) =>
      `With 1330 packets the two CUBIC flows get ${it.rate(0, "cubic.goodput_bps")} and the two BBR flows ${it.rate(0, "bbr.goodput_bps")}. With 50 packets they get ${it.rate(1, "cubic.goodput_bps")} and ${it.rate(1, "bbr.goodput_bps")}. CUBIC fills the deep buffer and seldom loses packets. BBR limits its data in flight. All flows have a long queueing delay: its 99th percentile is ${it.time(0)}.`,
    claim: (it) => {
      const ratio = (run: number): number =>
        it.value(run, "bbr.goodput_bps") / it.value(run, "cubic.goodput_bps");
      return ratio(0) < 1.5 && ratio(1) > 5 * ratio(0) && it.value(0, "queue_delay_p99_s") > 0.2;
    },
    paper: {
      source:
        'N. Cardwell and others, "BBR: congestion-based congestion control", 2016; R. Ware and others, "Modeling BBR\'s interactions with loss-based congestion control", 2019',
      result:
        "The first paper limits the data in flight of BBR to about two bandwidth-delay products, as BBR estimates them. The second finds that this limit determines the share of BBR beside CUBIC. The queue that CUBIC maintains makes the estimate larger.",
    },
  },
  {
    id: "incast",
    title: "Incast",
    question:
      "Forty servers answer one client at the same time, with 32 kB each. The link needs 1 ms to send these data. The retransmission timer of a sender is at least 10 ms. How long do the slowest reads take with a buffer of 100 packets?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Less than 2 ms: about the time to send the data",
          holds: (it) => it.value(0, "servers.request_time_p99_s") < 0.002,
        },
        {
          text: "2 to 9 ms",
          holds: (it) =>
            it.value(0, "servers.request_time_p99_s") >= 0.002 &&
            it.value(0, "servers.request_time_p99_s") < 0.009,
        },
        {
          text: "9 ms or more: a sender waits for its timer",
          holds: (it) => it.value(0, "servers.request_time_p99_s") >= 0.009,
        },
      ],
    },
    scenario: INCAST,
    watch:
      "Watch the queue in slow motion. All answers arrive at once, and many of their last packets are dropped.",
    runs: [
      { name: "100 packets", overrides: ["link.buffer=100p"] },
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
      { name: "100 packets, RACK", overrides: ["link.buffer=100p", "flows.servers.recovery=rack"] },
    ],
    columns: [
      { title: "slowest reads (99th percentile)", metric: "servers.request_time_p99_s", unit: "time" },
      LOSS,
      UTILIZATION,
    ],
    explanation: (it) =>
      `With 100 packets the slowest reads take ${it.time(0, "servers.request_time_p99_s")}, and the loss rate is ${it.share(0, "loss_rate")}. If the last packets of an answer are lost, no later packet reveals the loss, so only the timer repairs it. With 1000 packets the slowest reads take ${it.time(1, "servers.request_time_p99_s")}, and the loss rate is ${it.share(1, "loss_rate")}. Senders with RACK soon send a probe instead of waiting for the timer. With 100 packets their slowest reads take ${it.time(2, "servers.request_time_p99_s")}, although the loss rate is ${it.share(2, "loss_rate")}.`,
    claim: (it) =>
      it.value(0, "servers.request_time_p99_s") > 0.01 &&
      it.value(1, "servers.request_time_p99_s") < it.value(0, "servers.request_time_p99_s") / 2 &&
      it.value(2, "servers.request_time_p99_s") < it.value(0, "servers.request_time_p99_s") / 2 &&
      it.value(2, "loss_rate") > it.value(1, "loss_rate"),
    paper: {
      source:
        'Y. Chen and others, "Understanding TCP incast throughput collapse in datacenter networks", 2009; RACK: RFC 8985, 2021',
      result:
        "The authors observed that reads wait for the retransmission timer, and that a shorter minimum timeout helps. The first windows of all servers arrive before a loss can slow down any sender. Either the buffer must hold them, or the loss recovery must be fast.",
    },
  },
  {
    id: "marks",
    title: "Marks instead of drops",
    question:
      "CoDel can drop packets, or mark them with explicit congestion notification (ECN). Both signal the sender to slow down. How do marks change the loss rate?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "It stays about the same",
          holds: (it) => it.value(1, "loss_rate") > 0.5 * it.value(0, "loss_rate"),
        },
        {
          text: "It falls to less than a half",
          holds: (it) => it.value(1, "loss_rate") <= 0.5 * it.value(0, "loss_rate"),
        },
      ],
    },
    scenario: MARKED,
    watch:
      "Play the run with drops, then the run with marks. The queue looks alike, but no packet is sent twice.",
    runs: [
      { name: "drops", overrides: ["flows.download.ecn=false"] },
      { name: "marks", overrides: ["flows.download.ecn=true"] },
    ],
    columns: [UTILIZATION, LOSS, { title: "marked", metric: "mark_rate", unit: "share" }, DELAY],
    explanation: (it) =>
      `The loss rate is ${it.share(0, "loss_rate")} with drops and ${it.share(1, "loss_rate")} with marks. With marks, ${it.share(1, "mark_rate")} of the packets are marked. The utilization is ${it.share(0)} and ${it.share(1)}.`,
    claim: (it) =>
      it.value(1, "mark_rate") > 0 &&
      it.value(0, "mark_rate") === 0 &&
      it.value(1, "loss_rate") < it.value(0, "loss_rate"),
    paper: {
      source: "K. Ramakrishnan, S. Floyd and D. Black, RFC 3168, 2001, section 5",
      result:
        "The standard says that a sender reacts to a mark as it does to a loss. The signal is the same, but no packet has to be retransmitted.",
    },
  },
  {
    id: "fair-queueing",
    title: "A queue for each flow",
    question:
      "Four downloads and a call share 20 Mb/s. With fair queueing each flow has its own queue. How does the queueing delay of the call change?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Hardly at all: it is more than 80 % of the former delay",
          holds: (it) => it.value(1, "call.queue_delay_p99_s") > 0.8 * it.value(0, "call.queue_delay_p99_s"),
        },
        {
          text: "It falls to between 10 % and 80 % of the former delay",
          holds: (it) => {
            const part = it.value(1, "call.queue_delay_p99_s") / it.value(0, "call.queue_delay_p99_s");
            return part > 0.1 && part <= 0.8;
          },
        },
        {
          text: "It falls to 10 % of the former delay or less",
          holds: (it) => it.value(1, "call.queue_delay_p99_s") <= 0.1 * it.value(0, "call.queue_delay_p99_s"),
        },
      ],
    },
    scenario: NEIGHBORS,
    watch: "Watch the packets of the call between those of the downloads.",
    runs: [
      { name: "one drop-tail (FIFO) queue", overrides: ["link.queue=droptail"] },
      { name: "a queue for each flow", overrides: ["link.queue=fq_codel"] },
    ],
    columns: [CALL_DELAY, { title: "call lost", metric: "call.loss_rate", unit: "share" }, UTILIZATION],
    explanation: (it) =>
      `The 99th percentile of the call's queueing delay is ${it.time(0, "call.queue_delay_p99_s")} in the shared queue and ${it.time(1, "call.queue_delay_p99_s")} in a queue of its own. The utilization is ${it.share(0)} and ${it.share(1)}.`,
    claim: (it) =>
      it.value(1, "call.queue_delay_p99_s") < it.value(0, "call.queue_delay_p99_s") / 10 &&
      it.value(1, "utilization") > 0.9,
    paper: {
      source: "T. Høiland-Jørgensen and others, RFC 8290 (FQ-CoDel), 2018, section 4.2",
      result:
        "FQ-CoDel first serves flows whose queue was empty when their packet arrived. A flow that sends less than its fair share has almost no queueing delay, independent of the other flows.",
    },
  },
  {
    id: "in-step",
    title: "Synchronized flows",
    question:
      "Eight flows have equal round-trip times. In a second run their round-trip times differ, from 20 to 80 ms. The buffer remains small. How does the utilization change?",
    prediction: { kind: "choice", options: gains(0, 1, 0.01) },
    scenario: EQUALS,
    watch: "Watch the congestion windows. Do they fall at the same time?",
    runs: [
      { name: "equal round-trip times", overrides: ["flows.flows.rtt=50ms"] },
      { name: "different round-trip times", overrides: ['flows.flows.rtt={ linspace = ["20ms", "80ms"] }'] },
    ],
    columns: [TOGETHER, UTILIZATION, LOSS],
    explanation: (it) =>
      `On average ${it.share(0, "synchronization")} of the flows lose at the same time with equal round-trip times, and ${it.share(1, "synchronization")} with different ones. The utilization is ${it.share(0)} and ${it.share(1)}. When all windows fall at the same time, the small buffer becomes empty.`,
    claim: (it) =>
      it.value(1, "synchronization") < it.value(0, "synchronization") &&
      it.value(1, "utilization") > it.value(0, "utilization"),
    paper: {
      source: 'L. Zhang and D. Clark, "Oscillating behavior of network traffic", 1990',
      result:
        "The authors observed in simulations that flows through one drop-tail (FIFO) queue lose at the same time. Their windows are then synchronized.",
      comparison: () =>
        "Equal round-trip times are the worst case. They are common in laboratories and very rare in the Internet. A buffer that was found in such a laboratory is too large elsewhere.",
    },
  },
  {
    id: "square-root",
    title: "Why the square root?",
    question:
      "One flow fills this link with a buffer of one bandwidth-delay product (500 packets). What is the utilization with 62 packets, an eighth, for one flow and for 64 flows?",
    prediction: { kind: "curve", metric: "utilization", axis: "utilization" },
    scenario: MANY,
    watch:
      "Watch the congestion windows. With many flows some grow while others fall, so their sum varies less.",
    runs: [
      { name: "one flow, 500 packets", overrides: ["link.buffer=500p"] },
      { name: "one flow, 62 packets", overrides: ["link.buffer=62p"] },
      {
        name: "64 flows, 62 packets",
        overrides: [
          "link.buffer=62p",
          "flows.flows.count=64",
          'flows.flows.rtt={ uniform = ["60ms", "140ms"] }',
        ],
      },
    ],
    columns: [UTILIZATION, LOSS, TOGETHER],
    explanation: (it) =>
      `The utilization of one flow is ${it.share(0)} with 500 packets and ${it.share(1)} with 62. For 64 flows it is ${it.share(2)} with 62 packets. On average only ${it.share(2, "synchronization")} of the 64 flows lose at the same time, so the variations of their windows partly cancel. The cost is a loss rate of ${it.share(2, "loss_rate")}, because 64 flows on this link have small windows.`,
    claim: (it) =>
      it.value(0, "utilization") > 0.97 &&
      it.value(1, "utilization") < it.value(2, "utilization") - 0.05 &&
      it.value(2, "synchronization") < 0.6 &&
      it.value(2, "loss_rate") > it.value(1, "loss_rate"),
    paper: {
      source: 'G. Appenzeller, I. Keslassy and N. McKeown, "Sizing router buffers", 2004, section 3',
      result:
        "The paper argues that the sum of N independent windows varies with the square root of N. A bandwidth-delay product divided by this root is therefore enough. For 64 flows this is an eighth. The argument holds only if the losses of flows are not synchronized.",
    },
  },
  {
    id: "pacing",
    title: "Pacing",
    question:
      "Four flows send bursts into a very small buffer (15 packets). In a second run they spread their packets over the round trip (pacing). How does the utilization change?",
    prediction: { kind: "choice", options: gains(0, 1, 0.03) },
    scenario: PACED,
    watch: "Watch the packets. Do they arrive in groups?",
    runs: [
      { name: "bursts", overrides: ["flows.flow.pacing=false"] },
      { name: "pacing", overrides: ["flows.flow.pacing=true"] },
    ],
    columns: [UTILIZATION, LOSS, TOGETHER],
    explanation: (it) =>
      `The utilization is ${it.share(0)} with bursts and ${it.share(1)} with pacing. The loss rate is ${it.share(0, "loss_rate")} and ${it.share(1, "loss_rate")}.`,
    claim: (it) => it.value(1, "utilization") > it.value(0, "utilization"),
    paper: {
      source: 'M. Enachescu and others, "Routers with very small buffers", 2006',
      result:
        "The paper says that a few dozen packets are enough if senders pace their packets and a small loss of utilization is acceptable. Without bursts a small buffer overflows later.",
    },
  },
];
