/** What happens on links today, as experiments: bufferbloat, BBR, incast, marks, fair queueing, timing. */

import { type Column, DELAY, type Experiment, LOSS, type Option, UTILIZATION } from "./types.ts";

/** A scenario of one link from its parts. */
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
  "Eight flows in step",
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
  "Four flows, in bursts or spread out",
  'rate = "50Mbps"\nbuffer = "15p"',
  group(
    "flow",
    `count = 4\ncca = "newreno"\nrtt = { linspace = ["70ms", "130ms"] }\n${LONG}\naccess = { rate = "1Gbps" }\npacing = false`,
  ),
  'warmup = "20s"\nmeasure = "60s"',
);

const TOGETHER: Column = { title: "flows that lose together", metric: "synchronization", unit: "share" };
const CALL_DELAY: Column = {
  title: "99 of 100 of the call wait less than",
  metric: "call.queue_delay_p99_s",
  unit: "time",
};

/** Answers about how far the use of the link rises from one run to another. */
function gains(from: number, to: number, little: number): Option[] {
  const gain: (it: Parameters<Option["holds"]>[0]) => number = (it) =>
    it.of(to, "utilization") - it.of(from, "utilization");
  const points = `${Math.round(little * 100)} point${little === 0.01 ? "" : "s"}`;
  return [
    { text: `More of the link is used: at least ${points}`, holds: (it) => gain(it) >= little },
    { text: `About the same: less than ${points} apart`, holds: (it) => Math.abs(gain(it)) < little },
    { text: `Less of the link is used: at least ${points}`, holds: (it) => gain(it) <= -little },
  ];
}

/** Answers about the ratio of what two groups get. */
function ratios(run: number): Option[] {
  const ratio: (it: Parameters<Option["holds"]>[0]) => number = (it) =>
    it.of(run, "bbr.goodput_bps") / it.of(run, "cubic.goodput_bps");
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
      "A home line of 20 Mb/s has a buffer of 1000 packets. One download runs. A call runs beside it. How long do its slowest packets wait (the 99th of 100)?",
    prediction: {
      kind: "choice",
      options: [
        { text: "Less than 50 ms", holds: (it) => it.of(0, "call.queue_delay_p99_s") < 0.05 },
        {
          text: "50 to 300 ms",
          holds: (it) =>
            it.of(0, "call.queue_delay_p99_s") >= 0.05 && it.of(0, "call.queue_delay_p99_s") < 0.3,
        },
        { text: "300 ms or more", holds: (it) => it.of(0, "call.queue_delay_p99_s") >= 0.3 },
      ],
    },
    scenario: BLOAT,
    watch: "Watch the queue: it fills and never empties.",
    runs: [
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
      { name: "50 packets", overrides: ["link.buffer=50p"] },
      { name: "1000 packets, CoDel", overrides: ["link.buffer=1000p", "link.queue=codel"] },
    ],
    columns: [UTILIZATION, LOSS, CALL_DELAY],
    happened: (it) =>
      `Of the call's packets 99 of 100 wait less than ${it.time(0, "call.queue_delay_p99_s")} with a buffer of 1000 packets, less than ${it.time(1, "call.queue_delay_p99_s")} with 50, and less than ${it.time(2, "call.queue_delay_p99_s")} with CoDel. The link is used for ${it.share(0)}, ${it.share(1)} and ${it.share(2)}.`,
    claim: (it) =>
      it.of(1, "call.queue_delay_p99_s") < it.of(0, "call.queue_delay_p99_s") / 3 &&
      it.of(2, "call.queue_delay_p99_s") < it.of(0, "call.queue_delay_p99_s") / 3,
    paper: {
      source:
        'J. Gettys and K. Nichols, "Bufferbloat: dark buffers in the Internet", 2011; K. Nichols and V. Jacobson, "Controlling queue delay", 2012',
      said: "The first found home lines with seconds of buffer: a sender that only slows down at a loss fills whatever there is. The answer of the second is CoDel: it looks at how long packets wait and drops early.",
    },
  },
  {
    id: "bbr-shallow",
    title: "BBR against CUBIC: a shallow buffer",
    question:
      "Two CUBIC and two BBR flows share 50 Mb/s. The buffer is a third of the bandwidth-delay product. Who gets more?",
    prediction: { kind: "choice", options: ratios(0) },
    scenario: RIVALS,
    watch: "Watch the windows: which flows give way after a drop?",
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
    happened: (it) =>
      `With 50 packets the two CUBIC flows get ${it.rate(0, "cubic.goodput_bps")} and the two BBR flows ${it.rate(0, "bbr.goodput_bps")}. With one bandwidth-delay product (170 packets) it is ${it.rate(1, "cubic.goodput_bps")} and ${it.rate(1, "bbr.goodput_bps")}, with two ${it.rate(2, "cubic.goodput_bps")} and ${it.rate(2, "bbr.goodput_bps")}. This first version of BBR does not answer to a loss (${it.share(0, "loss_rate")} are lost with 50 packets); CUBIC does.`,
    claim: (it) => {
      const ratio = (run: number): number => it.of(run, "bbr.goodput_bps") / it.of(run, "cubic.goodput_bps");
      return ratio(0) > ratio(1) && ratio(1) > ratio(2) && ratio(2) > 1;
    },
    paper: {
      source:
        'M. Hock, R. Bless and M. Zitterbart, "Experimental evaluation of BBR congestion control", 2017',
      said: "The authors measured that BBR pushes loss-based flows aside where the buffer is small, and loses many packets itself. Where it is large, CUBIC gets its part.",
    },
  },
  {
    id: "bbr-deep",
    title: "BBR against CUBIC: a deep buffer",
    question:
      "Two CUBIC and two BBR flows share 50 Mb/s. Now the buffer holds eight bandwidth-delay products. Who gets more?",
    prediction: { kind: "choice", options: ratios(0) },
    scenario: RIVALS.replace('"50p"', '"1330p"'),
    watch: "Watch the queue: CUBIC fills it, and BBR stops at two products on the way, as it estimates them.",
    runs: [
      { name: "1330 packets", overrides: ["link.buffer=1330p"] },
      { name: "50 packets", overrides: ["link.buffer=50p"] },
    ],
    columns: [
      { title: "CUBIC, both flows", metric: "cubic.goodput_bps", unit: "rate" },
      { title: "BBR, both flows", metric: "bbr.goodput_bps", unit: "rate" },
      DELAY,
    ],
    happened: (it) =>
      `With 1330 packets the two CUBIC flows get ${it.rate(0, "cubic.goodput_bps")} and the two BBR flows ${it.rate(0, "bbr.goodput_bps")}; with 50 packets ${it.rate(1, "cubic.goodput_bps")} and ${it.rate(1, "bbr.goodput_bps")}. CUBIC fills the deep buffer and seldom loses; BBR limits what it has on the way. But everybody waits: one packet in a hundred at least ${it.time(0)}.`,
    claim: (it) => {
      const ratio = (run: number): number => it.of(run, "bbr.goodput_bps") / it.of(run, "cubic.goodput_bps");
      return ratio(0) < 1.5 && ratio(1) > 5 * ratio(0) && it.of(0, "queue_delay_p99_s") > 0.2;
    },
    paper: {
      source:
        'N. Cardwell and others, "BBR: congestion-based congestion control", 2016; R. Ware and others, "Modeling BBR\'s interactions with loss-based congestion control", 2019',
      said: "The first limits what BBR has on the way to about two bandwidth-delay products, as it estimates them. The second finds that this limit decides what BBR gets beside CUBIC, and that the queue which CUBIC keeps makes the estimate larger.",
    },
  },
  {
    id: "incast",
    title: "Incast",
    question:
      "Forty servers answer one client at the same moment, with 32 kB each: 1 ms of the link's time. A sender's timer waits at least 10 ms. With 100 packets of buffer, how long do the slowest reads take?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Less than 2 ms: about the time to send the data",
          holds: (it) => it.of(0, "servers.request_time_p99_s") < 0.002,
        },
        {
          text: "2 to 9 ms",
          holds: (it) =>
            it.of(0, "servers.request_time_p99_s") >= 0.002 && it.of(0, "servers.request_time_p99_s") < 0.009,
        },
        {
          text: "9 ms or more: someone waits for the timer",
          holds: (it) => it.of(0, "servers.request_time_p99_s") >= 0.009,
        },
      ],
    },
    scenario: INCAST,
    watch:
      "Watch the queue in slow motion: all answers come at once, and many of their last packets are dropped.",
    runs: [
      { name: "100 packets", overrides: ["link.buffer=100p"] },
      { name: "1000 packets", overrides: ["link.buffer=1000p"] },
      { name: "100 packets, RACK", overrides: ["link.buffer=100p", "flows.servers.recovery=rack"] },
    ],
    columns: [
      { title: "slowest reads (99th of 100)", metric: "servers.request_time_p99_s", unit: "time" },
      LOSS,
      UTILIZATION,
    ],
    happened: (it) =>
      `With 100 packets the slowest reads take ${it.time(0, "servers.request_time_p99_s")} and ${it.share(0, "loss_rate")} are lost. Of some answer the last packets are lost: nothing comes behind them that would tell, so only the timer helps. With 1000 packets it is ${it.time(1, "servers.request_time_p99_s")} and ${it.share(1, "loss_rate")}. Senders with RACK send a probe soon instead of waiting for the timer: ${it.time(2, "servers.request_time_p99_s")} with 100 packets, although ${it.share(2, "loss_rate")} are lost.`,
    claim: (it) =>
      it.of(0, "servers.request_time_p99_s") > 0.01 &&
      it.of(1, "servers.request_time_p99_s") < it.of(0, "servers.request_time_p99_s") / 2 &&
      it.of(2, "servers.request_time_p99_s") < it.of(0, "servers.request_time_p99_s") / 2 &&
      it.of(2, "loss_rate") > it.of(1, "loss_rate"),
    paper: {
      source:
        'Y. Chen and others, "Understanding TCP incast throughput collapse in datacenter networks", 2009; RACK: RFC 8985, 2021',
      said: "The authors saw that reads wait for the retransmission timer, and that a shorter smallest timeout helps. The first windows of all servers arrive before a loss can slow anybody down: the buffer must hold them, or the repair must be quick.",
    },
  },
  {
    id: "marks",
    title: "Marks instead of drops",
    question:
      "CoDel can drop packets, or mark them (ECN). Both ask the sender to slow down. What happens to the loss with marks?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "It stays about the same",
          holds: (it) => it.of(1, "loss_rate") > 0.5 * it.of(0, "loss_rate"),
        },
        {
          text: "It falls to less than a half",
          holds: (it) => it.of(1, "loss_rate") <= 0.5 * it.of(0, "loss_rate"),
        },
      ],
    },
    scenario: MARKED,
    watch:
      "Play the run with drops, then the one with marks: the queue looks alike, but nothing is sent twice.",
    runs: [
      { name: "drops", overrides: ["flows.download.ecn=false"] },
      { name: "marks", overrides: ["flows.download.ecn=true"] },
    ],
    columns: [UTILIZATION, LOSS, { title: "marked", metric: "mark_rate", unit: "share" }, DELAY],
    happened: (it) =>
      `With drops ${it.share(0, "loss_rate")} are lost; with marks ${it.share(1, "loss_rate")}, and ${it.share(1, "mark_rate")} are marked. The link is used for ${it.share(0)} and ${it.share(1)}.`,
    claim: (it) =>
      it.of(1, "mark_rate") > 0 &&
      it.of(0, "mark_rate") === 0 &&
      it.of(1, "loss_rate") < it.of(0, "loss_rate"),
    paper: {
      source: "K. Ramakrishnan, S. Floyd and D. Black, RFC 3168, 2001, section 5",
      said: "The standard says that a sender answers to a mark as it does to a loss. The message is the same, but no packet has to be sent again.",
    },
  },
  {
    id: "fair-queueing",
    title: "A queue for each flow",
    question:
      "Four downloads and a call share 20 Mb/s. With a fair queue each flow waits in its own line. What does the call gain?",
    prediction: {
      kind: "choice",
      options: [
        {
          text: "Nothing: the link is just as full",
          holds: (it) => it.of(1, "call.queue_delay_p99_s") > 0.8 * it.of(0, "call.queue_delay_p99_s"),
        },
        {
          text: "It waits less, but more than a tenth as long",
          holds: (it) => {
            const part = it.of(1, "call.queue_delay_p99_s") / it.of(0, "call.queue_delay_p99_s");
            return part > 0.1 && part <= 0.8;
          },
        },
        {
          text: "It waits a tenth as long or less",
          holds: (it) => it.of(1, "call.queue_delay_p99_s") <= 0.1 * it.of(0, "call.queue_delay_p99_s"),
        },
      ],
    },
    scenario: NEIGHBORS,
    watch: "Watch the call’s packets between those of the downloads.",
    runs: [
      { name: "one queue", overrides: ["link.queue=droptail"] },
      { name: "a queue for each flow", overrides: ["link.queue=fq_codel"] },
    ],
    columns: [CALL_DELAY, { title: "call lost", metric: "call.loss_rate", unit: "share" }, UTILIZATION],
    happened: (it) =>
      `In one queue 99 of 100 packets of the call wait less than ${it.time(0, "call.queue_delay_p99_s")}, in its own less than ${it.time(1, "call.queue_delay_p99_s")}. The link is used for ${it.share(0)} and ${it.share(1)}.`,
    claim: (it) =>
      it.of(1, "call.queue_delay_p99_s") < it.of(0, "call.queue_delay_p99_s") / 10 &&
      it.of(1, "utilization") > 0.9,
    paper: {
      source: "T. Høiland-Jørgensen and others, RFC 8290 (FQ-CoDel), 2018, section 4.2",
      said: "The standard serves first those flows that had nothing waiting when their packet came. A flow that sends less than its fair share hardly waits, whatever its neighbors do.",
    },
  },
  {
    id: "in-step",
    title: "Flows in step",
    question:
      "Eight flows with equal round trips get round trips from 20 to 80 ms instead. The buffer stays small. What happens to the link?",
    prediction: { kind: "choice", options: gains(0, 1, 0.01) },
    scenario: EQUALS,
    watch: "Watch the windows: do they fall together?",
    runs: [
      { name: "equal round trips", overrides: ["flows.flows.rtt=50ms"] },
      { name: "spread round trips", overrides: ['flows.flows.rtt={ linspace = ["20ms", "80ms"] }'] },
    ],
    columns: [TOGETHER, UTILIZATION, LOSS],
    happened: (it) =>
      `With equal round trips ${it.share(0, "synchronization")} of the flows lose together on average, with spread ones ${it.share(1, "synchronization")}. The link is used for ${it.share(0)} and ${it.share(1)}: when all windows fall together, the small buffer runs empty.`,
    claim: (it) =>
      it.of(1, "synchronization") < it.of(0, "synchronization") &&
      it.of(1, "utilization") > it.of(0, "utilization"),
    paper: {
      source: 'L. Zhang and D. Clark, "Oscillating behavior of network traffic", 1990',
      said: "The authors saw in simulations that flows through one drop-tail queue lose in the same moment, so that their windows move in step.",
      compared: () =>
        "Equal round trips are the worst case. A laboratory often has them, the Internet hardly ever: a buffer that was found there is too large elsewhere.",
    },
  },
  {
    id: "square-root",
    title: "Why the square root?",
    question:
      "One flow with a bandwidth-delay product of buffer (500 packets) fills this link. How much of it is used with 62 packets, an eighth: by one flow, and by 64 flows?",
    prediction: { kind: "curve", metric: "utilization", axis: "link used" },
    scenario: MANY,
    watch: "Watch the windows. With many flows some rise while others fall: the sum moves less.",
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
    happened: (it) =>
      `One flow uses the link for ${it.share(0)} with 500 packets and for ${it.share(1)} with 62; 64 flows use it for ${it.share(2)} with 62. In one loss only ${it.share(2, "synchronization")} of the 64 lose together, so that the ups and downs of their windows partly cancel. It has a price: ${it.share(2, "loss_rate")} of the packets are lost, because 64 flows on this link have small windows.`,
    claim: (it) =>
      it.of(0, "utilization") > 0.97 &&
      it.of(1, "utilization") < it.of(2, "utilization") - 0.05 &&
      it.of(2, "synchronization") < 0.6 &&
      it.of(2, "loss_rate") > it.of(1, "loss_rate"),
    paper: {
      source: 'G. Appenzeller, I. Keslassy and N. McKeown, "Sizing router buffers", 2004, section 3',
      said: "The paper argues: the sum of N independent windows varies like the square root of N, so a bandwidth-delay product over this root is enough. For 64 flows this is an eighth. That holds only if flows do not lose together.",
    },
  },
  {
    id: "pacing",
    title: "Pacing",
    question:
      "Four flows send bursts into a very small buffer (15 packets). Then they spread their packets over the round trip. What happens?",
    prediction: { kind: "choice", options: gains(0, 1, 0.03) },
    scenario: PACED,
    watch: "Watch the packets on their way: do they come in groups?",
    runs: [
      { name: "in bursts", overrides: ["flows.flow.pacing=false"] },
      { name: "spread out", overrides: ["flows.flow.pacing=true"] },
    ],
    columns: [UTILIZATION, LOSS, TOGETHER],
    happened: (it) =>
      `In bursts the link is used for ${it.share(0)}, spread out for ${it.share(1)}. The loss is ${it.share(0, "loss_rate")} and ${it.share(1, "loss_rate")}.`,
    claim: (it) => it.of(1, "utilization") > it.of(0, "utilization"),
    paper: {
      source: 'M. Enachescu and others, "Routers with very small buffers", 2006',
      said: "The paper says that a few dozen packets are enough if senders spread their packets and a small part of the link may be given up. Without bursts a small buffer overflows later.",
    },
  },
];
