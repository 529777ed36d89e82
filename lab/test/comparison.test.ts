import { expect, test } from "vitest";
import { type ComparedRun, changeTitle, compare, comparisonText, runKey } from "../src/comparison.ts";
import { type ChartColumn, type Description, reader } from "../src/engine/figures.ts";
import { History } from "../src/history.ts";
import type { Report } from "../src/model.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

/** Run with `count` intervals of `widthS` seconds on a link of 8 kb/s. */
function run(count: number, widthS: number, column: (at: number) => Partial<ChartColumn>): ComparedRun {
  const history = new History(0);
  const columns = Array.from({ length: count }, (_, at) => ({
    ...{ losses: 0, marks: 0, bytes: 0, queue: { min: 0, max: 0, mean: 0 }, windows: [] },
    ...column(at),
  }));
  history.update({ widthS, first: 0, columns }, count * widthS);
  const keys = { key: `${count}`, keyWithoutBuffer: "" };
  return { history, ...keys, bufferText: "20 packets", rateBps: 8000, packetBytes: 0, whole: null };
}

const LIMITS = { warmupS: 4, spanS: 2 };
const queue = (mean: number): Pick<ChartColumn, "queue"> => ({ queue: { min: 0, max: 30, mean } });

test("two runs are compared over the same time after the warm-up", () => {
  const before = run(10, 1, (at) => ({ bytes: at < 4 ? 0 : 970, losses: 1, ...queue(12) }));
  const now = run(40, 0.5, (at) => ({ bytes: at < 8 ? 0 : 452, losses: 2, ...queue(5) }));
  const found = compare(before, now, LIMITS);
  expect(found).toMatchObject({ fromS: 4, untilS: 10 });
  expect(found?.was).toEqual({ utilization: 0.97, losses: 6, queuePackets: 12 });
  expect(found?.is.utilization).toBeCloseTo(0.904, 9);
  expect(found?.is).toMatchObject({ losses: 24, queuePackets: 5 });
  const text = comparisonText(found ?? (expect.fail() as never)).replaceAll("\u202f", " ");
  expect(text).toBe(
    "utilization was 97.0 %, now 90.4 %; losses were 6, now 24; the mean queue was 12.0 packets, now 5.00 (from 4.00 s to 10.0 s of both runs).",
  );
});

test("short runs are compared from the start, and very short ones not at all", () => {
  const still = (count: number): ComparedRun => run(count, 1, () => ({}));
  expect(compare(still(5), still(40), LIMITS)).toMatchObject({ fromS: 0, untilS: 5 });
  expect(compare(still(40), still(6), LIMITS)).toMatchObject({ fromS: 4, untilS: 6 });
  expect(compare(still(1), still(40), LIMITS)).toBeNull();
});

test("complete runs are compared by their own totals, and others by their intervals", () => {
  const own = run(10, 1, () => ({ losses: 2 }));
  const whole = { utilization: 0.95, losses: 13, queuePackets: 4 };
  expect(compare({ ...own, whole }, { ...own, whole }, LIMITS)?.is).toEqual(whole);
  expect(compare({ ...own, whole }, own, LIMITS)?.is.losses).toBe(12);
  // The longer of two runs has totals of another time.
  expect(compare({ ...own, whole }, { ...run(20, 1, () => ({})), whole }, LIMITS)?.was.losses).toBe(12);
});

test("a time of few packets has no utilization, because a packet in transmission is not counted", () => {
  const own = run(10, 1, () => ({ bytes: 990, losses: 1 }));
  // Six seconds after the warm-up, with 1000 bytes each.
  expect(compare({ ...own, packetBytes: 6 }, own, LIMITS)?.was.utilization).toBeCloseTo(0.99, 9);
  const found = compare({ ...own, packetBytes: 7 }, { ...own, packetBytes: 7 }, LIMITS);
  expect(found && comparisonText(found)).toMatch(/^losses were 6/);
});

test("a link whose rate changes has no utilization to compare", () => {
  const own = { ...run(10, 1, () => ({ bytes: 500 })), rateBps: Number.NaN };
  const found = compare(own, own, LIMITS);
  expect(found && comparisonText(found)).not.toContain("utilization");
});

test("title and goals do not change a run", () => {
  const canonical = (title: string, buffer: string): string =>
    JSON.stringify({ title, goal: { utilization: title }, link: { buffer } });
  expect(runKey(canonical("one", "20p"))).toBe(runKey(canonical("two", "20p")));
  expect(runKey(canonical("one", "20p"))).not.toBe(runKey(canonical("one", "10p")));
});

test("the title of a change names both buffers", () => {
  const own = run(10, 1, () => ({}));
  const smaller = { ...own, bufferText: "10 packets" };
  expect(changeTitle(own, smaller)).toBe("Buffer of 10 packets instead of 20 packets");
  expect(changeTitle(own, own)).toBe("After the change");
  // A buffer in bandwidth-delay products changes with the rate, which is the cause of the difference.
  expect(changeTitle(own, { ...smaller, keyWithoutBuffer: "another rate" })).toBe("After the change");
});

test.skipIf(!HAS_ENGINES)("the utilization of a whole run is that of its report", () => {
  const own = engines();
  const look = reader(own.ask<Description>({ do: "describe" }).columns);
  const text = `[link]\nrate = "5Mbps"\nbuffer = "10p"\n[[flows]]\nrtt = "50ms"\ncca = "newreno"
[run]\nwarmup = "2s"\nmeasure = "20s"\n`;
  own.ask({ do: "begin", text, chart: { columns: 1200, flows: 1 } });
  while (!own.advance(10n ** 18n, 1_000_000)) {
    // Continue to the end.
  }
  const { chart, timeS } = look(own.look(0));
  const history = new History(1);
  history.update(chart, timeS);
  const { metrics } = own.ask<Report>({ do: "finish" });
  const whole = { ...run(1, 1, () => ({})), history, rateBps: 5e6 };
  const found = compare(whole, whole, { warmupS: 2, spanS: 1 });
  expect(found?.untilS).toBeCloseTo(22, 1);
  expect(found?.is.utilization).toBeCloseTo(metrics.utilization?.mean ?? Number.NaN, 3);
});
