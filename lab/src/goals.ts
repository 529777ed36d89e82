/** Goals of a scenario that the trade-off charts can show. */

import type { Goal } from "./engine/protocol.ts";
import { estimate, METRICS, type MetricName, type Point } from "./tradeoff.ts";

/** Bound on a metric of the charts, in the unit of reports: shares, or seconds. */
export type ShownGoal = Pick<Goal, "at_least" | "bound"> & { metric: MetricName };

/** Splits the goals into those that the charts show, and the texts of the others. */
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

/**
 * Compares the 95 % interval of a point with a goal: "yes" or "no" if the whole interval agrees, else
 * "perhaps". Null if the point has fewer than two runs.
 */
export function verdict(point: Point, goal: ShownGoal): "yes" | "no" | "perhaps" | null {
  const found = estimate(point, goal.metric);
  if (found?.half == null) return null;
  const [low, high] = [found.mean - found.half, found.mean + found.half];
  if (goal.at_least) return low >= goal.bound ? "yes" : high < goal.bound ? "no" : "perhaps";
  return high <= goal.bound ? "yes" : low > goal.bound ? "no" : "perhaps";
}

/** Smallest measured buffer whose intervals meet all goals, in packets; null if there is none. */
export function smallest(points: readonly Point[], goals: readonly ShownGoal[]): number | null {
  const meets = (point: Point): boolean => goals.every((goal) => verdict(point, goal) === "yes");
  return points.find(meets)?.packets ?? null;
}
