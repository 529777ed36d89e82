import { expect, test } from "vitest";
import type { Report } from "../src/model.ts";
import { buffersOf, estimate, stepsBetween } from "../src/tradeoff.ts";
import { RESOLVED } from "./resolved.ts";

function run(utilization: number): Report {
  return {
    engine: "packet",
    metrics: { utilization: { mean: utilization, half_width: null } },
  } as unknown as Report;
}

test("buffers ascend, include the scenario's own, and cover the bandwidth-delay product", () => {
  for (const [own, product] of [
    [100, 100],
    [1, 5],
    [40_000, 20],
    [7, null],
  ] as const) {
    const resolved = { ...RESOLVED, buffer: { ...RESOLVED.buffer, packets: own }, bdp_packets: product };
    const found = buffersOf(resolved);
    expect(found).toContain(own);
    expect(found).toEqual([...new Set(found)].sort((one, other) => one - other));
    expect(found.at(-1)).toBeGreaterThanOrEqual(Math.max(2 * own, product ?? 0));
  }
});

test("the interval uses Student's t-distribution", () => {
  expect(estimate({ packets: 1, runs: [] }, "utilization")).toBeNull();
  expect(estimate({ packets: 1, runs: [run(0.9)] }, "utilization")).toEqual({ mean: 0.9, half: null });
  const three = estimate({ packets: 1, runs: [run(0.8), run(0.9), run(1.0)] }, "utilization");
  expect(three?.mean).toBeCloseTo(0.9);
  // R: qt(0.975, 2) * sd(c(0.8, 0.9, 1.0)) / sqrt(3)
  expect(three?.half).toBeCloseTo(0.248414, 4);
});

test("a search tests all buffers of a small gap, and a few of a large one", () => {
  expect(stepsBetween(17, 18)).toEqual([]);
  expect(stepsBetween(15, 17)).toEqual([16]);
  expect(stepsBetween(13, 18)).toEqual([14, 15, 16, 17]);
  expect(stepsBetween(13, 20)).toEqual([14, 15, 17, 18]);
  expect(stepsBetween(100, 3200)).toEqual([200, 400, 800, 1600]);
});
