import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  ARRIVAL,
  DEPARTURE,
  type Description,
  DROP,
  MARKED_DEPARTURE,
  OPEN,
  type PacketEvent,
  type Picture,
  RECOVERY,
  reader,
  type SenderState,
  TIMEOUT,
} from "../src/engine/figures.ts";
import { Instance } from "../src/engine/instance.ts";
import { type Signal, type StateHistory, samplesOf, stateHistoryOf } from "../src/engine/replay.ts";
import { storyOf } from "../src/loss_story.ts";
import { headline, type Owner, type QueueText, storyRows } from "../src/loss_text.ts";
import { firstPage, pageBefore, RecentSignals } from "../src/recent_signals.ts";

const LOST: Signal = {
  kind: "dropped",
  timeS: 10,
  flow: 1,
  group: 0,
  packet: 500,
  bytes: 1500,
  isAck: false,
};
const QUEUE: QueueText = {
  ...{ discipline: "droptail", title: "First in, first out", bufferPackets: 20, bufferText: "20p" },
};
const OWNER: Owner = { group: "cubic", number: 2, responsive: true, recovery: "sack" };

function packetEvent(timeS: number, kind: number, packet = 500): PacketEvent {
  return { timeS, kind, flow: 1, group: 0, packet, bytes: 1500, isAck: false };
}

function state(timeS: number, cwndPackets: number, rest: Partial<SenderState> = {}): SenderState {
  return {
    timeS,
    isActive: true,
    lossState: OPEN,
    cwndPackets,
    ssthreshPackets: 20,
    rttS: 0.1,
    sndUna: 490,
    retransmissions: 3,
    timeouts: 1,
    ...rest,
  };
}

function history(states: SenderState[], packetEvents: PacketEvent[] = []): StateHistory {
  return { states, packetEvents, waitingPackets: 20, untilS: 12, hasEnded: false, isTruncated: false };
}

/** Fast retransmit: detected at 10.1, recovered at 10.2, window restored at 10.9, next loss detected at 11. */
const FAST = history(
  [
    state(9.5, 30),
    state(10, 40),
    state(10.05, 41, { sndUna: 500 }),
    state(10.1, 28.7, { lossState: RECOVERY, retransmissions: 4, sndUna: 500 }),
    state(10.2, 28.7, { sndUna: 530, retransmissions: 4 }),
    state(10.9, 41, { sndUna: 700, retransmissions: 4 }),
    state(11, 30, { lossState: RECOVERY, sndUna: 800, retransmissions: 5 }),
  ],
  [packetEvent(10, DROP), packetEvent(10.11, ARRIVAL), packetEvent(10.15, DEPARTURE)],
);

test("the story of a fast retransmit ends with the restored window", () => {
  expect(storyOf(LOST, FAST)).toEqual({
    windowPackets: 40,
    rttS: 0.1,
    wasInRecovery: false,
    detection: { timeS: 10.1, method: "recovery", sndUna: 500 },
    timeoutsS: [],
    reduction: { timeS: 10.1, fromPackets: 41, toPackets: 28.7 },
    ssthreshPackets: 20,
    retransmissionsS: [10.11],
    droppedAgainS: [],
    acknowledgedS: 10.2,
    restoredS: 10.9,
    nextLossS: 11,
    isComplete: true,
  });
});

test("the next loss may be detected by the timer", () => {
  const last = state(11, 1, { lossState: TIMEOUT, timeouts: 2, sndUna: 800 });
  const timed = history([...FAST.states.slice(0, 5), last], FAST.packetEvents);
  const story = storyOf(LOST, timed);
  expect(story).toMatchObject({ nextLossS: 11, restoredS: null, timeoutsS: [], isComplete: true });
  const rows = new Map(storyRows(LOST, OWNER, { story, history: timed, isLater: false, queue: QUEUE }));
  expect(rows.get("window restored")).toBe(
    "not before the next loss was detected after 1.00\u202fs (10 round trips)",
  );
});

test("a story has no event after its end time", () => {
  const at = (untilS: number) => storyOf(LOST, FAST, untilS);
  expect(at(10.09)).toMatchObject({
    detection: null,
    reduction: null,
    acknowledgedS: null,
    windowPackets: 40,
  });
  expect(at(10.1)).toMatchObject({
    detection: { method: "recovery" },
    retransmissionsS: [],
    acknowledgedS: null,
  });
  expect(at(10.5)).toMatchObject({
    acknowledgedS: 10.2,
    restoredS: null,
    nextLossS: null,
    isComplete: false,
  });
  expect(at(10.95)).toMatchObject({ restoredS: 10.9, nextLossS: null, isComplete: true });
  for (let untilS = 10; untilS < 11.2; untilS += 0.01) {
    const { detection, reduction, retransmissionsS, acknowledgedS, restoredS, nextLossS } = at(untilS);
    for (const rows of [
      detection?.timeS,
      reduction?.timeS,
      retransmissionsS[0],
      acknowledgedS,
      restoredS,
      nextLossS,
    ])
      expect(rows ?? 0).toBeLessThanOrEqual(untilS);
  }
});

test("a timeout reduces the window to one packet and starts slow start", () => {
  const late = history(
    [
      state(10, 12, { ssthreshPackets: Number.POSITIVE_INFINITY }),
      state(11.2, 1, { lossState: TIMEOUT, timeouts: 2, ssthreshPackets: 6, sndUna: 500 }),
      state(11.3, 2, { lossState: OPEN, timeouts: 2, ssthreshPackets: 6, sndUna: 501 }),
      state(11.8, 13, { timeouts: 2, ssthreshPackets: 6, sndUna: 560 }),
    ],
    [packetEvent(11.2, ARRIVAL)],
  );
  const story = storyOf(LOST, late);
  expect(story).toMatchObject({
    detection: { timeS: 11.2, method: "timeout" },
    timeoutsS: [11.2],
    reduction: { fromPackets: 12, toPackets: 1 },
    restoredS: 11.8,
  });
  const rows = new Map(storyRows(LOST, OWNER, { story, history: late, isLater: false, queue: QUEUE }));
  expect(rows.get("window change")).toBe(
    "fell from 12.00 to 1.000 packets (× 0.083); slow start up to 6.000",
  );
  expect(rows.get("detected")).toMatch(/^after 1\.20\u202fs \(12 round trips\): .* timer expired$/);
});

test("a loss within a recovery causes no further reduction, and a repeated loss is reported", () => {
  const within = history(
    [
      state(9.9, 20, { lossState: RECOVERY }),
      state(10.1, 20, { lossState: RECOVERY, retransmissions: 4 }),
      state(10.2, 20, { lossState: RECOVERY, retransmissions: 5 }),
      state(10.25, 20, { lossState: RECOVERY, retransmissions: 6 }),
      state(10.4, 20.1, { sndUna: 540, retransmissions: 6 }),
    ],
    [packetEvent(10.21, ARRIVAL), packetEvent(10.21, DROP), packetEvent(10.3, ARRIVAL)],
  );
  const story = storyOf(LOST, within);
  expect(story).toMatchObject({
    wasInRecovery: true,
    detection: { timeS: 10.2, method: "same_recovery" },
    reduction: null,
    droppedAgainS: [10.21],
    acknowledgedS: 10.4,
    isComplete: true,
  });
  const rows = new Map(storyRows(LOST, OWNER, { story, history: within, isLater: false, queue: QUEUE }));
  expect(rows.get("window change")).toMatch(/^no further reduction/);
  expect(rows.get("detected")).toContain("was recovering from an earlier loss");
  const calm = history(
    within.states.map((it) => ({ ...it, lossState: OPEN })),
    within.packetEvents,
  );
  const probed = new Map(
    storyRows(LOST, OWNER, { story: storyOf(LOST, calm), history: calm, isLater: false, queue: QUEUE }),
  );
  expect(probed.get("detected")).toContain("a probe retransmitted the packet");
  expect(rows.get("retransmitted")).toMatch(/and was lost again$/);
  expect(rows.has("window restored")).toBe(false);
});

test("a gradual reduction ends at the lowest window of the recovery", () => {
  const gradual = history(
    [
      state(10, 40),
      state(10.1, 39, { lossState: RECOVERY, sndUna: 500 }),
      state(10.15, 30, { lossState: RECOVERY, sndUna: 500 }),
      state(10.2, 20, { sndUna: 530 }),
      state(10.3, 10, { sndUna: 540 }),
    ],
    [packetEvent(10.11, ARRIVAL)],
  );
  expect(storyOf(LOST, gradual).reduction).toEqual({ timeS: 10.2, fromPackets: 40, toPackets: 20 });
});

test("the story reports a congestion control that does not slow down", () => {
  const steady = history(
    [state(10, 40), state(10.1, 40, { lossState: RECOVERY, sndUna: 498 }), state(10.2, 40, { sndUna: 510 })],
    [packetEvent(10.11, ARRIVAL)],
  );
  const story = storyOf(LOST, steady);
  expect(story).toMatchObject({ reduction: null, detection: { method: "recovery", sndUna: 498 } });
  const rows = new Map(storyRows(LOST, OWNER, { story, history: steady, isLater: false, queue: QUEUE }));
  expect(rows.get("window change")).toMatch(/^no reduction: this congestion control/);
  expect(rows.get("detected")).toContain("the first missing packet was 498");
});

test("a mark is detected with its acknowledgment and reduces the window once per round trip", () => {
  const marked: Signal = { ...LOST, kind: "marked" };
  const marks = history([
    state(10, 40),
    state(10.05, 40, { sndUna: 499 }),
    state(10.1, 20, { sndUna: 501 }),
    state(10.15, 20, { sndUna: 505 }),
  ]);
  expect(storyOf(marked, marks)).toMatchObject({
    detection: { timeS: 10.1, method: "echo" },
    reduction: { fromPackets: 40, toPackets: 20 },
  });
  expect(storyOf({ ...marked, packet: 502 }, marks)).toMatchObject({
    detection: { timeS: 10.15 },
    reduction: null,
  });
});

test("unresponsive packets have no effect on their sender", () => {
  const owner = { ...OWNER, responsive: false };
  const unresponsive = history([]);
  const rows = storyRows(LOST, owner, {
    story: storyOf(LOST, unresponsive),
    history: unresponsive,
    isLater: false,
    queue: QUEUE,
  });
  expect(rows.map(([name]) => name)).toEqual(["queue", "effect"]);
  expect(rows[1]?.[1]).toContain("does not slow down");
  expect(headline(LOST, owner)).toBe("A packet of group “cubic” was lost at 10.0000\u202fs");
  expect(headline(LOST, OWNER)).toBe("Packet 500 of flow 2 of group “cubic” was lost at 10.0000\u202fs");
});

test("the latest losses and marks of a picture are listed", () => {
  const signals = new RecentSignals();
  const lost = [packetEvent(1, DROP, 6), packetEvent(3, DROP, 7)];
  signals.add({ signals: [...lost, packetEvent(2, MARKED_DEPARTURE, 8)], dropped: 72_460, marked: 1 });
  expect(signals.list.map(({ kind, packet }) => [kind, packet])).toEqual([
    ["dropped", 7],
    ["marked", 8],
    ["dropped", 6],
  ]);
  expect([signals.total("dropped"), signals.total("marked")]).toEqual([72_460, 1]);
});

test("a page of the list is requested by numbers, and its latest packet comes first", async () => {
  const requests: object[] = [];
  const signal = { time_s: 1, flow: 2, group: 0, packet: 3, bytes: 1500, acknowledges: false };
  const ask = <T>(request: object): Promise<T> => {
    requests.push(request);
    const signals = [10, 11].map((number) => ({ ...signal, number, packet: number }));
    return Promise.resolve({ total: 50, first: 10, signals } as T);
  };
  const page = await pageBefore(ask, "dropped", 12);
  expect(requests).toEqual([{ do: "signals", kind: "dropped", from: 0, count: 12 }]);
  expect(page).toMatchObject({ from: 10, until: 12, total: 50, first: 10 });
  expect(page.list.map(({ packet }) => packet)).toEqual([11, 10]);
});

test("the first page has the first packets that the engines still list", async () => {
  const asked: object[] = [];
  const listing = (total: number, first: number) => {
    return <T>(request: object): Promise<T> => {
      asked.push(request);
      return Promise.resolve({ total, first, signals: [] } as T);
    };
  };
  expect(await firstPage(listing(500, 0), "dropped")).toMatchObject({ from: 0, until: 24, total: 500 });
  expect(asked).toHaveLength(1);
  expect(await firstPage(listing(500, 300), "marked")).toMatchObject({ from: 300, until: 324, first: 300 });
  expect(await firstPage(listing(7, 0), "dropped")).toMatchObject({ from: 0, until: 7, total: 7 });
});

test("a story says how full the queue was and what its discipline does", () => {
  const text = (queue: QueueText, signal = LOST): string | undefined => {
    const story = storyOf(signal, FAST);
    return storyRows(signal, OWNER, { story, history: FAST, isLater: false, queue })[0]?.[1];
  };
  expect(text(QUEUE)).toBe(
    "held 20 of 20 packets; drop-tail discards the packet that arrives at a full queue",
  );
  expect(text({ ...QUEUE, bufferText: "30kB" })).toContain("held 20 packets (buffer: 30kB); drop-tail");
  expect(text({ ...QUEUE, bufferText: "" })).toContain("held 20 packets; drop-tail");
  const codel = { ...QUEUE, discipline: "codel", title: "Controlled delay: drops at the head" };
  expect(text(codel)).toBe("held 20 of 20 packets; codel is “Controlled delay: drops at the head”");
});

// Tests with the engines.
const engines = process.env.FOREBAY_ENGINES;
const TEXT = `[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
count = 3
cca = "newreno"
rtt = "20ms"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "1s"
measure = "9s"
`;

function startedRun(): { run: Instance; read: (figures: Float64Array) => Picture } {
  const run = new Instance(new WebAssembly.Module(readFileSync(engines ?? "")));
  const read = reader(run.ask<Description>({ do: "describe" }).columns);
  run.ask({ do: "begin", text: TEXT });
  return { run, read };
}

const check = (): void => {};

test.runIf(engines)("a replay repeats the run and has the state of every instant", () => {
  const { run, read } = startedRun();
  run.watch(60_000);
  run.advance(6_000_000_000_000n, 1_000_000);
  const played = read(run.look(3));
  const drops = played.packetEvents.filter(({ kind, timeS }) => kind === DROP && timeS > 3);
  expect(drops.length).toBeGreaterThan(5);
  let falls = 0;
  for (const drop of drops) {
    const signal: Signal = { ...LOST, ...drop, kind: "dropped" };
    const request = { signal, beforeS: 0.3, roundTripS: 0.02, target: 0, responsive: true };
    const other = startedRun();
    const found = stateHistoryOf(other.run, request, { read, check });
    expect(found.isTruncated).toBe(false);
    // A dropped packet found a full queue. Another packet is in transmission.
    expect(found.waitingPackets).toBe(20);
    const again = played.packetEvents.filter(
      (it) => it.flow === drop.flow && it.packet === drop.packet && it.timeS >= drop.timeS && it.timeS < 5.9,
    );
    expect(found.packetEvents.filter(({ timeS }) => timeS < 5.9)).toEqual(again);
    const story = storyOf(signal, found);
    expect(story.acknowledgedS).not.toBeNull();
    expect(story.detection?.timeS).toBeLessThanOrEqual(story.retransmissionsS[0] ?? 0);
    expect(found.untilS).toBeGreaterThan(drop.timeS + 20 * story.rttS - 1e-9);
    if (story.detection?.method === "recovery" && story.reduction) {
      // New Reno halves what is in flight (RFC 5681 equation 4).
      expect(story.reduction.toPackets / story.reduction.fromPackets).toBeCloseTo(0.5, 1);
      falls += 1;
    }
  }
  expect(falls).toBeGreaterThan(2);
});

test.runIf(engines)("samples have equal intervals and the values of the run", () => {
  const { run, read } = startedRun();
  const request = { everyS: 0.5, untilS: 4.2, flows: 3, target: 0 };
  const { flows, rows: found } = samplesOf(run, request, { read, check });
  expect(found.map(([timeS]) => timeS)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]);
  const other = startedRun();
  other.run.advance(3_000_000_000_000n, 1_000_000_000);
  const shown = other.read(other.run.look(3));
  expect(flows).toEqual(shown.flows.map(({ flow, group }) => ({ flow, group })));
  expect(found[6]?.slice(6)).toEqual(shown.flows.map(({ cwndPackets }) => cwndPackets));
  const { waitingPackets, backlogS, drops } = shown.links[0] ?? {};
  expect(found[6]?.slice(1, 3)).toEqual([waitingPackets, backlogS]);
  expect(found[6]?.[4]).toBe(drops);
});

test.runIf(engines)("a replay that takes too long is stopped", () => {
  const { run, read } = startedRun();
  let calls = 0;
  const impatient = (): void => {
    calls += 1;
    if (calls > 2) throw new Error("too long");
  };
  const request = {
    signal: { ...LOST, timeS: 9 },
    beforeS: 1,
    roundTripS: 0.02,
    target: 0,
    responsive: true,
  };
  expect(() => stateHistoryOf(run, request, { read, check: impatient })).toThrow("too long");
});
