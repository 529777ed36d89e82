/** Guides of the experiments: sketch, number line, reason, meaning and addresses of the papers. */

import type { Guide, Results } from "./types.ts";

/** Difference of the utilization between two runs, in percentage points. */
const gain =
  (from: number, to: number) =>
  (it: Results): number =>
    100 * (it.value(to, "utilization") - it.value(from, "utilization"));

/** Ratio of a metric between two runs, in percent. */
const part =
  (metric: string) =>
  (it: Results): number =>
    (100 * it.value(1, metric)) / it.value(0, metric);

const doi = (id: string): string => `https://doi.org/${id}`;
const rfc = (number: number): string => `https://www.rfc-editor.org/rfc/rfc${number}`;
const search = (title: string): string => `https://scholar.google.com/scholar?q=${encodeURIComponent(title)}`;

const AUGE = [{ title: "Augé and Roberts, 2006", url: doi("10.1109/NGI.2006.1678220") }];

const BBR_RATIO = {
  ...{ title: "goodput of BBR divided by that of CUBIC", unit: "×" },
  value: (it: Results): number => it.value(0, "bbr.goodput_bps") / it.value(0, "cubic.goodput_bps"),
  ...{ bounds: [1 / 1.5, 1.5], answers: [2, 1, 0], range: [0.01, 300] as const, isLog: true },
};

/** Change of the utilization from the first run to the second. */
const CHANGE = { title: "change of the utilization", unit: "percentage points", value: gain(0, 1) };

export const GUIDES: Record<string, Guide> = {
  bufferbloat: {
    rows: [
      { flows: 2, buffer: 1, fill: 0.95 },
      { flows: 2, buffer: 0.25, fill: 0.9 },
    ],
    reason: "The download slows down only at a loss, so it fills whatever buffer there is.",
    meaning:
      "A buffer far beyond the bandwidth-delay product adds delay for all packets and carries nothing more.",
    links: [
      { title: "Gettys and Nichols, 2011", url: "https://queue.acm.org/detail.cfm?id=2071893" },
      { title: "Nichols and Jacobson, 2012", url: "https://queue.acm.org/detail.cfm?id=2209336" },
    ],
    scale: {
      ...{ title: "queueing delay of the call, 99th percentile", unit: "ms" },
      value: (it) => 1e3 * it.value(0, "call.queue_delay_p99_s"),
      ...{ bounds: [50, 300], answers: [0, 1, 2], range: [5, 2000], isLog: true },
    },
  },
  "rate-and-delay": {
    rows: [
      { flows: 4, buffer: 0.12, fill: 0.4, has: ["losses"] },
      { flows: 4, buffer: 0.5, fill: 0.6 },
      { flows: 4, buffer: 1, fill: 0.85 },
    ],
    reason: "With 250 packets the queue never becomes empty, so the link is busy all the time already.",
    meaning: "Beyond the buffer at which the link is always busy, each further packet only adds delay.",
    links: [
      {
        title: "Avrachenkov and others, 2005",
        url: search("Optimal choice of the buffer size in the Internet routers"),
      },
    ],
    scale: {
      ...{ title: "rise of the utilization", unit: "percentage points", value: gain(1, 2) },
      ...{ bounds: [3, 15], answers: [0, 1, 2], range: [-2, 25] },
    },
  },
  "elastic-buffer": {
    rows: [
      { flows: 1, buffer: 0.15, fill: 0.6, has: ["losses"] },
      { flows: 1, buffer: 0.4, fill: 0.6 },
      { flows: 1, buffer: 1, fill: 0.7 },
    ],
    reason: "Random clusters of other packets fill a small buffer, so the long flow loses packets early.",
    meaning: "One long flow beside random traffic needs more than a few dozen packets to fill the link.",
    links: AUGE,
  },
  pacing: {
    rows: [
      { flows: 4, buffer: 0.3, fill: 1, has: ["bursts", "losses"] },
      { flows: 4, buffer: 0.3, fill: 0.4 },
    ],
    reason: "A burst fills 15 places at once, whereas paced packets leave before the next ones arrive.",
    meaning: "A very small buffer is enough only if senders spread their packets.",
    links: [{ title: "Enachescu and others, 2006", url: doi("10.1109/INFOCOM.2006.240") }],
    scale: {
      ...CHANGE,
      ...{ bounds: [-3, 3], answers: [2, 1, 0], range: [-60, 60] },
    },
  },
  "small-buffer-loss": {
    rows: [
      { flows: 8, buffer: 0.3, fill: 1, has: ["losses"] },
      { flows: 8, buffer: 1, fill: 0.8 },
    ],
    reason: "Sixty flows keep the link full with any of these buffers, but a small buffer makes them lose.",
    meaning: "A busy link is not the only goal: look at the loss rate and at the slowest flows, too.",
    links: [{ title: "Dhamdhere and Dovrolis, 2006", url: doi("10.1145/1111322.1111342") }],
  },
  "elastic-flows": {
    rows: [
      { flows: 1, buffer: 0.3, fill: 0.4 },
      { flows: 2, buffer: 0.3, fill: 0.6 },
      { flows: 4, buffer: 0.3, fill: 0.8 },
    ],
    reason: "When one flow slows down after a loss, the others continue to send.",
    meaning: "More long flows need no larger buffer: the hardest case is a single long flow.",
    links: AUGE,
  },
  "square-root": {
    rows: [
      { flows: 1, buffer: 1, fill: 0.7 },
      { flows: 1, buffer: 0.3, fill: 0.3 },
      { flows: 8, buffer: 0.3, fill: 0.8, has: ["losses"] },
    ],
    reason: "The windows of many flows rise and fall at different times, so their sum varies little.",
    meaning:
      "Many flows need a bandwidth-delay product divided by the square root of their number, unless they lose together.",
    links: [{ title: "Appenzeller, Keslassy and McKeown, 2004", url: doi("10.1145/1015467.1015499") }],
  },
  "in-step": {
    rows: [
      { flows: 8, buffer: 0.35, fill: 1, has: ["bursts", "losses"] },
      { flows: 8, buffer: 0.35, fill: 0.7 },
    ],
    reason: "Flows with equal round-trip times reach the full buffer together and slow down together.",
    meaning: "A buffer that was sized in a laboratory with equal round trips is too large for real traffic.",
    links: [
      {
        title: "Zhang and Clark, 1990 (search)",
        url: search("Oscillating behavior of network traffic: a case study simulation"),
      },
    ],
    scale: {
      ...CHANGE,
      ...{ bounds: [-1, 1], answers: [2, 1, 0], range: [-12, 12] },
    },
  },
  "losing-together": {
    rows: [
      { flows: 8, buffer: 0.3, fill: 1, has: ["losses"] },
      { flows: 8, buffer: 0.3, fill: 0.8 },
    ],
    reason: "If all windows fall at the same time, the small buffer becomes empty and the link idle.",
    meaning:
      "The necessary buffer depends on how many flows lose at the same time, not on their number alone.",
    links: [
      {
        title: "Kumar, Azad and Park, 2010 (search)",
        url: search(
          "A fluid-based simulation study: the effect of loss synchronization on sizing buffers over 10Gbps high speed networks",
        ),
      },
    ],
    scale: {
      ...CHANGE,
      ...{ bounds: [-10, 10], answers: [2, 0, 1], range: [-40, 40] },
    },
  },
  highspeed: {
    rows: [
      { flows: 4, buffer: 0.15, fill: 1, has: ["bursts", "losses"] },
      { flows: 4, buffer: 0.5, fill: 0.6 },
      { flows: 4, buffer: 1, fill: 0.7 },
    ],
    reason:
      "Packets arrive in bursts, and a very small buffer drops part of a burst on a link that is not full.",
    meaning: "A smaller window reduction does not replace a buffer that holds a burst.",
    links: [
      {
        title: "Barman, Smaragdakis and Matta, 2004",
        url: search("The Effect of Router Buffer Size on HighSpeed TCP Performance"),
      },
    ],
    scale: {
      ...{ title: "utilization with 13 packets", unit: "%" },
      value: (it) => 100 * it.value(0, "utilization"),
      ...{ bounds: [80, 95], answers: [2, 1, 0], range: [0, 100] },
    },
  },
  "fair-queueing": {
    rows: [
      { flows: 5, buffer: 0.8, fill: 0.9 },
      { flows: 5, buffer: 0.8, fill: 0.6, has: ["lanes"] },
    ],
    reason: "The call has a queue of its own, which is nearly always empty.",
    meaning:
      "With fair queueing the delay of a thin flow hardly depends on what the others put into the buffer.",
    links: [{ title: "RFC 8290 (FQ-CoDel)", url: rfc(8290) }],
    scale: {
      ...{ title: "delay relative to one shared queue", unit: "%" },
      value: part("call.queue_delay_p99_s"),
      ...{ bounds: [10, 80], answers: [2, 1, 0], range: [0, 100] },
    },
  },
  marks: {
    rows: [
      { flows: 2, buffer: 0.7, fill: 0.4, has: ["losses"] },
      { flows: 2, buffer: 0.7, fill: 0.4, has: ["marks"] },
    ],
    reason: "A mark slows the sender down as a loss does, but the packet arrives.",
    meaning: "With marks a queue can be short without losses.",
    links: [{ title: "RFC 3168 (ECN)", url: rfc(3168) }],
    scale: {
      ...{ title: "loss rate relative to drops", unit: "%", value: part("loss_rate") },
      ...{ bounds: [50], answers: [1, 0], range: [0, 120] },
    },
  },
  "bbr-shallow": {
    rows: [
      { flows: 4, buffer: 0.25, fill: 1, has: ["losses"] },
      { flows: 4, buffer: 0.55, fill: 0.9 },
      { flows: 4, buffer: 0.8, fill: 0.9 },
    ],
    reason: "CUBIC slows down at each loss, and the first version of BBR does not.",
    meaning: "In a shallow buffer the congestion control of a flow decides its share of the link.",
    links: [{ title: "Hock, Bless and Zitterbart, 2017", url: doi("10.1109/ICNP.2017.8117540") }],
    scale: BBR_RATIO,
  },
  "bbr-deep": {
    rows: [
      { flows: 4, buffer: 1, fill: 0.9 },
      { flows: 4, buffer: 0.2, fill: 1, has: ["losses"] },
    ],
    reason: "CUBIC fills the deep buffer, and BBR limits its own data in flight.",
    meaning: "A deep buffer gives CUBIC its share back, and all flows pay with delay.",
    links: [
      { title: "Cardwell and others, 2016", url: "https://queue.acm.org/detail.cfm?id=3022184" },
      { title: "Ware and others, 2019", url: doi("10.1145/3355369.3355604") },
    ],
    scale: BBR_RATIO,
  },
  incast: {
    rows: [
      { flows: 8, buffer: 0.3, fill: 1, has: ["bursts", "losses"] },
      { flows: 8, buffer: 1, fill: 0.9, has: ["bursts"] },
    ],
    reason: "If the last packets of an answer are lost, only the retransmission timer repairs the loss.",
    meaning:
      "A port that many servers answer through needs a buffer for all first windows, or fast loss recovery.",
    links: [
      { title: "Chen and others, 2009", url: doi("10.1145/1592681.1592693") },
      { title: "RFC 8985 (RACK)", url: rfc(8985) },
    ],
    scale: {
      ...{ title: "slowest reads with 100 packets", unit: "ms" },
      value: (it) => 1e3 * it.value(0, "servers.request_time_p99_s"),
      ...{ bounds: [2, 9], answers: [0, 1, 2], range: [0.5, 50], isLog: true },
    },
  },
  "ecn-and-pauses": {
    rows: [
      { flows: 8, buffer: 0.2, fill: 0.3, has: ["marks"] },
      { flows: 8, buffer: 0.6, fill: 0.6, has: ["marks"] },
      { flows: 8, buffer: 1, fill: 0.9, has: ["pauses"] },
    ],
    reason: "A host has 60 kB in the queue before K packets wait, so pauses come before marks.",
    meaning:
      "Choose K between two limits: the link stays full above it, and marks come before pauses below it.",
    links: [
      { title: "Alizadeh and others, 2010 (DCTCP)", url: doi("10.1145/1851182.1851192") },
      { title: "Zhu and others, 2015 (DCQCN)", url: doi("10.1145/2785956.2787484") },
    ],
    scale: {
      ...{ title: "time with a paused host, K = 400 packets", unit: "%" },
      value: (it) => (100 * it.value(2, "pause_time_s")) / 0.09,
      ...{ bounds: [20, 80], answers: [0, 1, 2], range: [0, 101] },
    },
  },
  "pause-spreads": {
    rows: [
      { flows: 2, buffer: 1, fill: 1, has: ["pauses"] },
      { flows: 2, buffer: 1, fill: 0.2 },
    ],
    reason: "A paused link holds all of its packets, also those that do not go to the slow port.",
    meaning:
      "A pause moves the queue to the links before, so keep flows to slow receivers in a class of their own.",
    links: [
      { title: "Zhu and others, 2015 (DCQCN)", url: doi("10.1145/2785956.2787484") },
      { title: "IEEE 802.1Qbb", url: "https://1.ieee802.org/dcb/802-1qbb/" },
    ],
    scale: {
      ...{ title: "goodput of the victim", unit: "Gb/s" },
      value: (it) => it.value(0, "victim.goodput_bps") / 1e9,
      ...{ bounds: [4, 6], answers: [2, 1, 0], range: [0, 10] },
    },
  },
};
