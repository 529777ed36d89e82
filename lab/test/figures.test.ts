/** Pictures are decoded by the names of their columns. */

import { expect, test } from "vitest";
import { type Columns, reader } from "../src/engine/figures.ts";

/** Columns in another order than that of the engines, and an unknown column. */
const COLUMNS: Columns = {
  header: [
    "missed_sightings",
    "more",
    "events",
    "time_s",
    "ended",
    "links",
    "flows",
    "sightings",
    "standings",
    "missed_standings",
    "delivered_bytes",
    ...["column_s", "first_column", "columns", "bands", "signals", "dropped", "marked"],
  ],
  link: [
    ...["pausing_s", "paused_senders", "paused_s", "paused", "marks", "drops", "arrivals"],
    ...["utilization", "backlog_s", "waiting_packets"],
  ],
  flow: [
    ...["dropped", "arrived", "timeouts", "retransmissions", "rtt_s", "ssthresh_packets"],
    ...["cwnd_packets", "active", "group", "flow"],
  ],
  sighting: ["acknowledges", "bytes", "packet", "group", "flow", "happening", "time_s"],
  standing: [
    ...["timeouts", "retransmissions", "unacknowledged", "rtt_s", "ssthresh_packets", "cwnd_packets"],
    ...["state", "active", "time_s"],
  ],
  column: ["mean", "max", "min", "bytes", "marks", "losses"],
  band: ["max", "mean", "min"],
};

function figures(missed: number): Float64Array {
  const header = [missed, -1, 70, 2.5, 1, 2, 1, 2, 1, 4, 6000, 0.5, 3, 2, 4, 1, 9, 8];
  const links = [0.5, 4, 0.25, 1, 1, 2, 3, 0.4, 5, 6, ...Array(4).fill(Number.NaN), 7, 8, 9, 0.1, 11, 12];
  const flow = [21, 22, 23, 24, 0.26, 27, 28, 1, 2, 3];
  const packetEvents = [0, 1500, 7, 0, 3, 1, 2.25, 1, 40, 8, 1, 4, 3, 2.5];
  const senderStates = [31, 32, 33, 0.34, 35, 36, 1, 1, 2.4];
  const chart = [5, 6, 4, 3000, 2, 1, 8, 9, 7, 6000, 0, 0];
  const bands = [2, 1, 0, 12, 11, 10, 22, 21, 20, Number.NaN, Number.NaN, Number.NaN];
  const signals = [0, 1000, 6, 0, 5, 3, 1.5];
  const first = [...header, ...links, ...flow, ...packetEvents, ...senderStates];
  return new Float64Array([...first, ...chart, ...bands, ...signals]);
}

const SENDER_STATE = {
  timeS: 2.4,
  isActive: true,
  lossState: 1,
  cwndPackets: 36,
  ssthreshPackets: 35,
  rttS: 0.34,
  sndUna: 33,
  retransmissions: 32,
  timeouts: 31,
};

test("every figure is found by its name in any order of columns", () => {
  const picture = reader(COLUMNS)(figures(0));
  const { timeS, events, hasEnded, missedPacketEvents, deliveredBytes } = picture;
  expect([timeS, events, hasEnded, missedPacketEvents, deliveredBytes]).toEqual([2.5, 70, true, 0, 6000]);
  expect(picture.links).toEqual([
    {
      ...{ waitingPackets: 6, backlogS: 5, utilization: 0.4, arrivals: 3, drops: 2, marks: 1 },
      pauses: { isPaused: true, pausedS: 0.25, pausedSenders: 4, pausingS: 0.5 },
    },
    {
      ...{ waitingPackets: 12, backlogS: 11, utilization: 0.1, arrivals: 9, drops: 8, marks: 7 },
      pauses: null,
    },
  ]);
  expect(picture.flows).toEqual([
    {
      flow: 3,
      group: 2,
      isActive: true,
      cwndPackets: 28,
      ssthreshPackets: 27,
      rttS: 0.26,
      retransmissions: 24,
      timeouts: 23,
      arrived: 22,
      dropped: 21,
    },
  ]);
  expect(picture.packetEvents).toEqual([
    { timeS: 2.25, kind: 1, flow: 3, group: 0, packet: 7, bytes: 1500, isAck: false },
    { timeS: 2.5, kind: 3, flow: 4, group: 1, packet: 8, bytes: 40, isAck: true },
  ]);
  expect([picture.senderStates, picture.missedSenderStates]).toEqual([[SENDER_STATE], 4]);
  const band = (min: number): object => ({ min, mean: min + 1, max: min + 2 });
  const none = { min: Number.NaN, mean: Number.NaN, max: Number.NaN };
  expect(picture.chart).toEqual({
    widthS: 0.5,
    first: 3,
    columns: [
      { losses: 1, marks: 2, bytes: 3000, queue: { min: 4, max: 6, mean: 5 }, windows: [band(0), band(10)] },
      { losses: 0, marks: 0, bytes: 6000, queue: { min: 7, max: 9, mean: 8 }, windows: [band(20), none] },
    ],
  });
  expect([picture.dropped, picture.marked]).toEqual([9, 8]);
  expect(picture.signals).toEqual([
    { timeS: 1.5, kind: 3, flow: 5, group: 0, packet: 6, bytes: 1000, isAck: false },
  ]);
});

test("packet events are not decoded if some were missed", () => {
  const picture = reader(COLUMNS)(figures(3));
  expect([picture.packetEvents, picture.missedPacketEvents]).toEqual([[], 3]);
  expect(picture.flows).toHaveLength(1);
  // The sender states after them are decoded.
  expect(picture.senderStates).toEqual([SENDER_STATE]);
});

test("a missing column is named in the error", () => {
  expect(() => reader({ ...COLUMNS, header: ["time_s"] })(figures(0))).toThrow("no column header.");
});
