import { expect, test } from "vitest";
import { type Description, type FlowFigures, type Picture, reader } from "../src/engine/figures.ts";
import { countedSince, Readouts } from "../src/readouts.ts";
import { engines, HAS_ENGINES } from "./engines.ts";
import { RESOLVED } from "./resolved.ts";

function resolved(flows: number): typeof RESOLVED {
  const group = { name: "a", count: flows, controller: "newreno", responsive: true, first_flow: 0 };
  const buffer = { packets: 10, bytes: 10_000, seconds: 0.05, bdp: 1 };
  return { ...RESOLVED, groups: [group], buffer, target: 0 };
}

/** Picture of a link at 80 % that drops every tenth packet, with flows that deliver 1.92 MB per second. */
function picture(timeS: number, flows: readonly number[], arrivals = 2000 * timeS): Picture {
  const link = {
    waitingPackets: 0,
    backlogS: 0,
    utilization: 0.8,
    arrivals,
    drops: arrivals / 10,
    marks: 0,
    pauses: null,
  };
  const each = (flow: number): FlowFigures => ({
    ...{ flow, group: 0, isActive: true, cwndPackets: 1, ssthreshPackets: 1, rttS: 0.05 },
    ...{ retransmissions: 0, timeouts: 0, dropped: 0 },
    arrived: flow === 0 ? 1500 * timeS : 500 * timeS,
  });
  const deliveredBytes = 1_920_000 * timeS;
  return { timeS, deliveredBytes, links: [link], flows: flows.map(each) } as unknown as Picture;
}

function played(readouts: Readouts, untilS: number, flows: readonly number[]): Readouts {
  for (let at = 0; at <= Math.round(untilS * 100); at += 1) readouts.add(picture(at / 100, flows));
  return readouts;
}

test("readouts are means over ten round trips with a full buffer", () => {
  const now = played(new Readouts(resolved(2), 0.05), 3, [0, 1]).now;
  expect(now?.spanS).toBeCloseTo(1, 6);
  expect(now?.utilization).toBeCloseTo(0.8, 6);
  expect(now?.lossRate).toBeCloseTo(0.1, 6);
  expect(now?.goodputBps).toBeCloseTo(8 * 1_920_000, 0);
});

test("a younger run has the span that it has", () => {
  expect(new Readouts(resolved(2), 0.05).now).toBeNull();
  expect(played(new Readouts(resolved(2), 0.05), 0.3, [0, 1]).now?.spanS).toBeCloseTo(0.3, 6);
});

test("the span restarts when the engine restarts counting at the end of the warm-up", () => {
  const readouts = played(new Readouts(resolved(2), 0.05), 2, [0, 1]);
  readouts.add(picture(2.1, [0, 1], 0));
  expect(readouts.now).toBeNull();
  readouts.add(picture(2.2, [0, 1], 200));
  expect(readouts.now?.spanS).toBeCloseTo(0.1, 6);
  expect(readouts.now?.lossRate).toBeCloseTo(0.1, 6);
});

test("shares of flows are those of recent arrivals", () => {
  const shares = played(new Readouts(resolved(2), 0.05), 3, [1, 0]).shares;
  expect(shares.map(({ flow }) => flow)).toEqual([0, 1]);
  expect(shares[0]?.share).toBeCloseTo(0.75, 6);
  expect(shares[1]?.share).toBeCloseTo(0.25, 6);
});

test.skipIf(!HAS_ENGINES)("counters say since when the engine counts, and losses add up", () => {
  const own = engines();
  const look = reader(own.ask<Description>({ do: "describe" }).columns);
  const text = `[link]\nrate = "5Mbps"\nbuffer = "10p"\n[[flows]]\nrtt = "50ms"\ncca = "newreno"\ncount = 4
[run]\nwarmup = "2s"\nmeasure = "3s"\n`;
  own.ask({ do: "begin", text, chart: { columns: 100, flows: 1 } });
  const at = (timeS: number): Picture => {
    while (own.now() < BigInt(timeS * 1e12)) own.advance(BigInt(timeS * 1e12), 1_000_000);
    return look(own.look(0));
  };
  const drops = (picture: Picture): number => picture.links[0]?.drops ?? Number.NaN;
  const [before, end, later] = [at(1.5), at(2), at(4)];
  expect(countedSince(before.timeS, 2)).toBe(0);
  expect(drops(before)).toBe(before.dropped);
  // At the end of the warm-up itself the counters are still those of the warm-up.
  expect(countedSince(end.timeS, 2)).toBe(0);
  expect(drops(end)).toBe(end.dropped);
  expect(countedSince(later.timeS, 2)).toBe(2);
  expect(drops(later)).toBe(later.dropped - end.dropped);
});
