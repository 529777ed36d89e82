/** Goals of a scenario, as far as the trade-off's picture can show them. */

import { estimate, type MetricName, type Point } from "./tradeoff.ts";

/** A bound on a metric of the picture, in its report's unit: shares, or seconds. */
export interface Goal {
  metric: MetricName;
  isLeast: boolean;
  bound: number;
}

/** Keys of goals, by metric of the picture. */
const KEYS: Record<string, MetricName> = {
  utilization: "utilization",
  loss_rate: "loss_rate",
  queue_delay_p99: "queue_delay_p99_s",
};
const SECONDS: Record<string, number> = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, ps: 1e-12 };

/** What a scenario asks: the goals that the picture shows, and the keys of those that it does not. */
export function goalsOf(canonical: string): { shown: Goal[]; others: string[] } {
  const whole = JSON.parse(canonical) as { goal?: Record<string, string | string[]> };
  const shown: Goal[] = [];
  const others: string[] = [];
  for (const [key, asked] of Object.entries(whole.goal ?? {})) {
    const metric = KEYS[key];
    for (const text of [asked].flat()) {
      const goal = metric ? goalOf(metric, text) : null;
      if (goal) shown.push(goal);
      else others.push(`${key} ${text}`);
    }
  }
  return { shown, others };
}

function goalOf(metric: MetricName, text: string): Goal | null {
  const parts = /^(>=|<=)\s*([\d.eE+-]+)\s*([a-z]*)$/.exec(text.trim());
  const scale = parts?.[3] ? SECONDS[parts[3]] : 1;
  if (!parts || scale === undefined) return null;
  return { metric, isLeast: parts[1] === ">=", bound: Number(parts[2]) * scale };
}

/** Whether a point meets a goal: "yes" and "no" with its whole interval, else "perhaps"; null before two runs. */
export function verdict(point: Point, goal: Goal): "yes" | "no" | "perhaps" | null {
  const found = estimate(point, goal.metric);
  if (found?.half == null) return null;
  const [low, high] = [found.mean - found.half, found.mean + found.half];
  if (goal.isLeast) return low >= goal.bound ? "yes" : high < goal.bound ? "no" : "perhaps";
  return high <= goal.bound ? "yes" : low > goal.bound ? "no" : "perhaps";
}

/** The smallest of the measured buffers that surely meets all goals; null where there is none. */
export function smallest(points: readonly Point[], goals: readonly Goal[]): number | null {
  const meets = (point: Point): boolean => goals.every((goal) => verdict(point, goal) === "yes");
  return points.find(meets)?.packets ?? null;
}
