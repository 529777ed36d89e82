import { expect, test } from "vitest";
import { goalsOf, smallest, verdict } from "../src/goals.ts";
import type { Report } from "../src/model.ts";
import type { Point } from "../src/tradeoff.ts";

function point(packets: number, utilizations: number[], delay = 0.01): Point {
  const runs = utilizations.map((mean) => ({
    engine: "packet",
    metrics: {
      utilization: { mean, half_width: null },
      queue_delay_p99_s: { mean: delay, half_width: null },
    },
  }));
  return { packets, runs: runs as unknown as Report[] };
}

test("goals on displayed metrics of the link are shown, and other goals are listed", () => {
  const asked = (metric: string, bound: number, group: string | null = null) => ({
    ...{ group, metric, at_least: true, bound },
    text: `${metric} >= ${bound}`,
  });
  const goals = [
    asked("utilization", 0.95),
    asked("queue_delay_p99_s", 2e-6),
    asked("jain_index", 0.9),
    asked("loss_rate", 0.01, "call"),
  ];
  const { shown, others } = goalsOf(goals);
  expect(shown).toEqual([
    { metric: "utilization", at_least: true, bound: 0.95 },
    { metric: "queue_delay_p99_s", at_least: true, bound: 2e-6 },
  ]);
  expect(others).toEqual(["jain_index >= 0.9", "loss_rate >= 0.01"]);
  expect(goalsOf([])).toEqual({ shown: [], others: [] });
});

test("a goal is met if the whole interval meets it", () => {
  const goal = { metric: "utilization", at_least: true, bound: 0.9 } as const;
  expect(verdict(point(1, [0.95]), goal)).toBeNull();
  expect(verdict(point(1, [0.95, 0.951, 0.949]), goal)).toBe("yes");
  expect(verdict(point(1, [0.95, 0.8, 0.99]), goal)).toBe("perhaps");
  expect(verdict(point(1, [0.5, 0.501, 0.502]), goal)).toBe("no");
  const most = { metric: "utilization", at_least: false, bound: 0.9 } as const;
  expect(verdict(point(1, [0.95, 0.951, 0.949]), most)).toBe("no");
  expect(verdict(point(1, [0.5, 0.501, 0.502]), most)).toBe("yes");
});

test("the smallest buffer is the first whose intervals meet all goals", () => {
  const goals = [
    { metric: "utilization", at_least: true, bound: 0.9 },
    { metric: "queue_delay_p99_s", at_least: false, bound: 0.02 },
  ] as const;
  const points = [
    point(5, [0.5, 0.51]),
    point(10, [0.7, 0.99]),
    point(20, [0.95, 0.951]),
    point(40, [0.99, 0.99], 0.05),
  ];
  expect(smallest(points, goals)).toBe(20);
  expect(smallest(points.slice(0, 2), goals)).toBeNull();
  expect(smallest([point(40, [0.99, 0.99], 0.05)], goals)).toBeNull();
});
