import { expect, test } from "vitest";
import type { Goal } from "../src/engine/protocol.ts";
import { gapBelow, goalsOf, goalText, smallest, verdict } from "../src/goals.ts";
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
  const { shown, texts, others } = goalsOf(goals);
  expect(shown).toEqual([
    { metric: "utilization", at_least: true, bound: 0.95 },
    { metric: "queue_delay_p99_s", at_least: true, bound: 2e-6 },
  ]);
  expect(texts).toHaveLength(2);
  expect(others).toEqual(["Jain’s fairness index at least 0.9", "loss rate of call at least 1\u202f%"]);
  expect(goalsOf([])).toEqual({ shown: [], texts: [], others: [] });
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

test.each([
  [{ metric: "utilization", at_least: true, bound: 0.95 }, "utilization at least 95 %"],
  [{ metric: "utilization", at_least: true, bound: 0.9995 }, "utilization at least 99.95 %"],
  [{ metric: "queue_delay_p99_s", bound: 0.08 }, "queueing delay (99th percentile) at most 80 ms"],
  [
    { metric: "queue_delay_mean_s", bound: 0.015, group: "web" },
    "queueing delay of web (mean) at most 15 ms",
  ],
  [{ metric: "goodput_bps", at_least: true, bound: 2.5e6 }, "goodput at least 2.5 Mbps"],
  [{ metric: "completion_time_p99_s", bound: 2 }, "completion time (99th percentile) at most 2 s"],
  [{ metric: "jain_index", at_least: true, bound: 0.7 }, "Jain’s fairness index at least 0.7"],
] as const)("a goal is written in words: %j", (goal, words) => {
  const whole: Goal = { group: null, at_least: false, text: "", ...goal };
  expect(goalText(whole).replaceAll("\u202f", " ")).toBe(words);
});

test("the gap is between the smallest buffer that meets the goals and the tested one below it", () => {
  const goals = [{ metric: "utilization", at_least: true, bound: 0.9 }] as const;
  const points = [point(5, [0.5, 0.51]), point(10, [0.7, 0.99]), point(20, [0.95, 0.951])];
  expect(gapBelow(points, goals)).toEqual({ low: 10, high: 20, verdict: "perhaps" });
  expect(gapBelow([points[0], points[2]] as Point[], goals)).toEqual({ low: 5, high: 20, verdict: "no" });
  expect(gapBelow(points.slice(2), goals)).toBeNull();
  expect(gapBelow(points.slice(0, 2), goals)).toBeNull();
});
