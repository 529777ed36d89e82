/** Goals of a scenario, as far as the trade-off's picture can show them. */

import type { Goal } from "./engine/protocol.ts";
import { estimate, METRICS, type MetricName, type Point } from "./tradeoff.ts";

/** A bound on a metric of the picture, in its report's unit: shares, or seconds. */
export type ShownGoal = Pick<Goal, "at_least" | "bound"> & { metric: MetricName };

/** What a scenario asks: the goals that the picture shows, and in words those that it does not. */
export function goalsOf(goals: readonly Goal[]): { shown: ShownGoal[]; others: string[] } {
  const shown: ShownGoal[] = [];
  const others: string[] = [];
  for (const { group, metric, at_least, bound, text } of goals) {
    const name = METRICS.find((it) => it.name === metric)?.name;
    if (group === null && name) shown.push({ metric: name, at_least, bound });
    else others.push(text);
  }
  return { shown, others };
}

/** Whether a point meets a goal: "yes" and "no" with its whole interval, else "perhaps"; null before two runs. */
export function verdict(point: Point, goal: ShownGoal): "yes" | "no" | "perhaps" | null {
  const found = estimate(point, goal.metric);
  if (found?.half == null) return null;
  const [low, high] = [found.mean - found.half, found.mean + found.half];
  if (goal.at_least) return low >= goal.bound ? "yes" : high < goal.bound ? "no" : "perhaps";
  return high <= goal.bound ? "yes" : low > goal.bound ? "no" : "perhaps";
}

/** The smallest of the measured buffers that surely meets all goals; null where there is none. */
export function smallest(points: readonly Point[], goals: readonly ShownGoal[]): number | null {
  const meets = (point: Point): boolean => goals.every((goal) => verdict(point, goal) === "yes");
  return points.find(meets)?.packets ?? null;
}
