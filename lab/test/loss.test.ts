import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  ARRIVES,
  DEPARTS,
  DEPARTS_MARKED,
  type Description,
  IS_DROPPED,
  OPEN,
  type Picture,
  RECOVERY,
  reader,
  type Sighting,
  type Standing,
  TIMEOUT,
} from "../src/engine/figures.ts";
import { Instance } from "../src/engine/instance.ts";
import { type Course, courseOf, type Signal, samplesOf } from "../src/engine/replay.ts";
import { storyOf } from "../src/loss_story.ts";
import { headline, type Owner, tellingOf } from "../src/loss_words.ts";
import { Signals } from "../src/signals.ts";

const LOST: Signal = {
  kind: "dropped",
  timeS: 10,
  flow: 1,
  group: 0,
  packet: 500,
  bytes: 1500,
  acknowledges: false,
};
const OWNER: Owner = { group: "cubic", number: 2, responsive: true, recovery: "sack" };

function seen(timeS: number, happening: number, packet = 500): Sighting {
  return { timeS, happening, flow: 1, group: 0, packet, bytes: 1500, acknowledges: false };
}

function standing(timeS: number, cwndPackets: number, rest: Partial<Standing> = {}): Standing {
  return {
    timeS,
    isActive: true,
    state: OPEN,
    cwndPackets,
    ssthreshPackets: 20,
    rttS: 0.1,
    unacknowledged: 490,
    retransmissions: 3,
    timeouts: 1,
    ...rest,
  };
}

function course(standings: Standing[], sightings: Sighting[] = []): Course {
  return { standings, sightings, waitingPackets: 20, untilS: 12, hasEnded: false, isCut: false };
}

/** A fast retransmit: noticed at 10.1, repaired at 10.2, grown back at 10.9, and the next loss is noticed at 11. */
const FAST = course(
  [
    standing(9.5, 30),
    standing(10, 40),
    standing(10.05, 41, { unacknowledged: 500 }),
    standing(10.1, 28.7, { state: RECOVERY, retransmissions: 4, unacknowledged: 500 }),
    standing(10.2, 28.7, { unacknowledged: 530, retransmissions: 4 }),
    standing(10.9, 41, { unacknowledged: 700, retransmissions: 4 }),
    standing(11, 30, { state: RECOVERY, unacknowledged: 800, retransmissions: 5 }),
  ],
  [seen(10, IS_DROPPED), seen(10.11, ARRIVES), seen(10.15, DEPARTS)],
);

test("a fast retransmit is told from the loss to where the window has grown back", () => {
  expect(storyOf(LOST, FAST)).toEqual({
    windowPackets: 40,
    rttS: 0.1,
    wasRepairing: false,
    noticed: { timeS: 10.1, how: "recovery", unacknowledged: 500 },
    timeoutsS: [],
    fall: { timeS: 10.1, fromPackets: 41, toPackets: 28.7 },
    ssthreshPackets: 20,
    againS: [10.11],
    droppedAgainS: [],
    acknowledgedS: 10.2,
    grownBackS: 10.9,
    nextS: 11,
    isWhole: true,
  });
});

test("the next loss may be one that only the timer tells", () => {
  const last = standing(11, 1, { state: TIMEOUT, timeouts: 2, unacknowledged: 800 });
  const timed = course([...FAST.standings.slice(0, 5), last], FAST.sightings);
  const story = storyOf(LOST, timed);
  expect(story).toMatchObject({ nextS: 11, grownBackS: null, timeoutsS: [], isWhole: true });
  const told = new Map(tellingOf(LOST, OWNER, { story, course: timed, isLater: false }));
  expect(told.get("grown back")).toBe(
    "not before the next loss was noticed after 1.00\u202fs (10 round trips)",
  );
});

test("nothing is told before it has happened", () => {
  const at = (untilS: number) => storyOf(LOST, FAST, untilS);
  expect(at(10.09)).toMatchObject({ noticed: null, fall: null, acknowledgedS: null, windowPackets: 40 });
  expect(at(10.1)).toMatchObject({ noticed: { how: "recovery" }, againS: [], acknowledgedS: null });
  expect(at(10.5)).toMatchObject({ acknowledgedS: 10.2, grownBackS: null, nextS: null, isWhole: false });
  expect(at(10.95)).toMatchObject({ grownBackS: 10.9, nextS: null, isWhole: true });
  for (let untilS = 10; untilS < 11.2; untilS += 0.01) {
    const { noticed, fall, againS, acknowledgedS, grownBackS, nextS } = at(untilS);
    for (const told of [noticed?.timeS, fall?.timeS, againS[0], acknowledgedS, grownBackS, nextS])
      expect(told ?? 0).toBeLessThanOrEqual(untilS);
  }
});

test("a timeout lowers the window to one packet, and slow start follows", () => {
  const late = course(
    [
      standing(10, 12, { ssthreshPackets: Number.POSITIVE_INFINITY }),
      standing(11.2, 1, { state: TIMEOUT, timeouts: 2, ssthreshPackets: 6, unacknowledged: 500 }),
      standing(11.3, 2, { state: OPEN, timeouts: 2, ssthreshPackets: 6, unacknowledged: 501 }),
      standing(11.8, 13, { timeouts: 2, ssthreshPackets: 6, unacknowledged: 560 }),
    ],
    [seen(11.2, ARRIVES)],
  );
  const story = storyOf(LOST, late);
  expect(story).toMatchObject({
    noticed: { timeS: 11.2, how: "timeout" },
    timeoutsS: [11.2],
    fall: { fromPackets: 12, toPackets: 1 },
    grownBackS: 11.8,
  });
  const told = new Map(tellingOf(LOST, OWNER, { story, course: late, isLater: false }));
  expect(told.get("its window")).toBe("fell from 12.00 to 1.000 packets (× 0.083); slow start up to 6.000");
  expect(told.get("noticed")).toMatch(/^after 1\.20\u202fs \(12 round trips\): .* timer expired$/);
});

test("a loss within a repair lowers no window again, and one that is lost again is said to be", () => {
  const within = course(
    [
      standing(9.9, 20, { state: RECOVERY }),
      standing(10.1, 20, { state: RECOVERY, retransmissions: 4 }),
      standing(10.2, 20, { state: RECOVERY, retransmissions: 5 }),
      standing(10.25, 20, { state: RECOVERY, retransmissions: 6 }),
      standing(10.4, 20.1, { unacknowledged: 540, retransmissions: 6 }),
    ],
    [seen(10.21, ARRIVES), seen(10.21, IS_DROPPED), seen(10.3, ARRIVES)],
  );
  const story = storyOf(LOST, within);
  expect(story).toMatchObject({
    wasRepairing: true,
    noticed: { timeS: 10.2, how: "repair" },
    fall: null,
    droppedAgainS: [10.21],
    acknowledgedS: 10.4,
    isWhole: true,
  });
  const told = new Map(tellingOf(LOST, OWNER, { story, course: within, isLater: false }));
  expect(told.get("its window")).toMatch(/^did not fall again/);
  expect(told.get("noticed")).toContain("was repairing an earlier loss");
  const calm = course(
    within.standings.map((it) => ({ ...it, state: OPEN })),
    within.sightings,
  );
  const probed = new Map(
    tellingOf(LOST, OWNER, { story: storyOf(LOST, calm), course: calm, isLater: false }),
  );
  expect(probed.get("noticed")).toContain("a probe sent it again");
  expect(told.get("sent again")).toMatch(/and lost again$/);
  expect(told.has("grown back")).toBe(false);
});

test("a window that falls by degrees is told by its lowest until the repair is over", () => {
  const gradual = course(
    [
      standing(10, 40),
      standing(10.1, 39, { state: RECOVERY, unacknowledged: 500 }),
      standing(10.15, 30, { state: RECOVERY, unacknowledged: 500 }),
      standing(10.2, 20, { unacknowledged: 530 }),
      standing(10.3, 10, { unacknowledged: 540 }),
    ],
    [seen(10.11, ARRIVES)],
  );
  expect(storyOf(LOST, gradual).fall).toEqual({ timeS: 10.2, fromPackets: 40, toPackets: 20 });
});

test("a controller that does not slow down is said not to", () => {
  const steady = course(
    [
      standing(10, 40),
      standing(10.1, 40, { state: RECOVERY, unacknowledged: 498 }),
      standing(10.2, 40, { unacknowledged: 510 }),
    ],
    [seen(10.11, ARRIVES)],
  );
  const story = storyOf(LOST, steady);
  expect(story).toMatchObject({ fall: null, noticed: { how: "recovery", unacknowledged: 498 } });
  const told = new Map(tellingOf(LOST, OWNER, { story, course: steady, isLater: false }));
  expect(told.get("its window")).toMatch(/^did not fall: its controller/);
  expect(told.get("noticed")).toContain("the first one missing was packet 498");
});

test("a mark is heard with its acknowledgment, and heeded once a round trip", () => {
  const marked: Signal = { ...LOST, kind: "marked" };
  const heeded = course([
    standing(10, 40),
    standing(10.05, 40, { unacknowledged: 499 }),
    standing(10.1, 20, { unacknowledged: 501 }),
    standing(10.15, 20, { unacknowledged: 505 }),
  ]);
  expect(storyOf(marked, heeded)).toMatchObject({
    noticed: { timeS: 10.1, how: "echo" },
    fall: { fromPackets: 40, toPackets: 20 },
  });
  expect(storyOf({ ...marked, packet: 502 }, heeded)).toMatchObject({
    noticed: { timeS: 10.15 },
    fall: null,
  });
});

test("nobody slows down for packets that nobody acknowledges", () => {
  const owner = { ...OWNER, responsive: false };
  const nobody = course([]);
  const told = tellingOf(LOST, owner, { story: storyOf(LOST, nobody), course: nobody, isLater: false });
  expect(told.map(([name]) => name)).toEqual(["queue then", "what follows"]);
  expect(told[1]?.[1]).toContain("nobody slows down");
  expect(headline(LOST, owner)).toBe("Group “cubic” lost a packet at 10.0000\u202fs");
  expect(headline(LOST, OWNER)).toBe("Flow 2 of group “cubic” lost packet 500 at 10.0000\u202fs");
});

test("the last losses are listed, and marks do not push them out", () => {
  const signals = new Signals();
  const picture = (sightings: Sighting[]): Picture => ({ sightings }) as unknown as Picture;
  signals.see(picture([seen(1, ARRIVES), seen(1, IS_DROPPED, 7)]));
  signals.see(picture(Array.from({ length: 100 }, (_, at) => seen(2 + at, DEPARTS_MARKED, at))));
  expect(signals.list.length).toBe(13);
  expect(signals.list.at(0)).toMatchObject({ kind: "marked", packet: 99 });
  expect(signals.list.at(-1)).toMatchObject({ kind: "dropped", packet: 7 });
});

// With the engines: the lab's tests are told where they are.
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

function begun(): { run: Instance; read: (figures: Float64Array) => Picture } {
  const run = new Instance(new WebAssembly.Module(readFileSync(engines ?? "")));
  const read = reader(run.ask<Description>({ do: "describe" }).columns);
  run.ask({ do: "begin", text: TEXT });
  return { run, read };
}

const check = (): void => {};

test.runIf(engines)("a replay is of the same run, and tells of every instant", () => {
  const { run, read } = begun();
  run.watch(60_000);
  run.advance(6_000_000_000_000n, 1_000_000);
  const played = read(run.look(3));
  const drops = played.sightings.filter(({ happening, timeS }) => happening === IS_DROPPED && timeS > 3);
  expect(drops.length).toBeGreaterThan(5);
  let falls = 0;
  for (const drop of drops) {
    const signal: Signal = { ...LOST, ...drop, kind: "dropped" };
    const asked = { signal, beforeS: 0.3, roundTripS: 0.02, target: 0, responsive: true };
    const other = begun();
    const found = courseOf(other.run, asked, { read, check });
    expect(found.isCut).toBe(false);
    // Who is dropped found a full queue; beside it one is in transmission.
    expect(found.waitingPackets).toBe(20);
    const again = played.sightings.filter(
      (it) => it.flow === drop.flow && it.packet === drop.packet && it.timeS >= drop.timeS && it.timeS < 5.9,
    );
    expect(found.sightings.filter(({ timeS }) => timeS < 5.9)).toEqual(again);
    const story = storyOf(signal, found);
    expect(story.acknowledgedS).not.toBeNull();
    expect(story.noticed?.timeS).toBeLessThanOrEqual(story.againS[0] ?? 0);
    expect(found.untilS).toBeGreaterThan(drop.timeS + 20 * story.rttS - 1e-9);
    if (story.noticed?.how === "recovery" && story.fall) {
      // New Reno halves what is in flight (RFC 5681 equation 4).
      expect(story.fall.toPackets / story.fall.fromPackets).toBeCloseTo(0.5, 1);
      falls += 1;
    }
  }
  expect(falls).toBeGreaterThan(2);
});

test.runIf(engines)("samples stand at equal distances, and say what the run said", () => {
  const { run, read } = begun();
  const asked = { everyS: 0.5, untilS: 4.2, flows: 3, target: 0 };
  const { flows, rows: found } = samplesOf(run, asked, { read, check });
  expect(found.map(([timeS]) => timeS)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]);
  const other = begun();
  other.run.advance(3_000_000_000_000n, 1_000_000_000);
  const shown = other.read(other.run.look(3));
  expect(flows).toEqual(shown.flows.map(({ flow, group }) => ({ flow, group })));
  expect(found[6]?.slice(6)).toEqual(shown.flows.map(({ cwndPackets }) => cwndPackets));
  const { waitingPackets, backlogS, drops } = shown.links[0] ?? {};
  expect(found[6]?.slice(1, 3)).toEqual([waitingPackets, backlogS]);
  expect(found[6]?.[4]).toBe(drops);
});

test.runIf(engines)("what takes too long is given up", () => {
  const { run, read } = begun();
  let calls = 0;
  const impatient = (): void => {
    calls += 1;
    if (calls > 2) throw new Error("too long");
  };
  const asked = { signal: { ...LOST, timeS: 9 }, beforeS: 1, roundTripS: 0.02, target: 0, responsive: true };
  expect(() => courseOf(run, asked, { read, check: impatient })).toThrow("too long");
});
