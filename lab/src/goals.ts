/** Goals of a scenario that the trade-off charts can show. */

import { rateText } from "./changes.ts";
import type { Goal } from "./engine/protocol.ts";
import { estimate, METRICS, type MetricName, type Point } from "./tradeoff.ts";

/** Bound on a metric of the charts, in the unit of reports: shares, or seconds. */
export type ShownGoal = Pick<Goal, "at_least" | "bound"> & { metric: MetricName };

/** Goals of a scenario: those that the charts show, their texts, and the texts of the others. */
export interface Goals {
  shown: ShownGoal[];
  texts: string[];
  others: string[];
}

/** Splits the goals into those that the charts show and the others. */
export function goalsOf(goals: readonly Goal[]): Goals {
  const found: Goals = { shown: [], texts: [], others: [] };
  for (const goal of goals) {
    const { group, at_least, bound } = goal;
    const metric = METRICS.find(({ name }) => name === goal.metric)?.name;
    if (group === null && metric) {
      found.shown.push({ metric, at_least, bound });
      found.texts.push(goalText(goal));
    } else found.others.push(goalText(goal));
  }
  return found;
}

/** Names of metrics that differ from the words of their keys. */
const NAMES: Record<string, string> = {
  jain_index: "Jain’s fairness index",
  queue_delay: "queueing delay",
};
/** Metrics that are shares, which are written in percent. */
const SHARES = /^(utilization|loss_rate|mark_rate|synchronization)$/;

/** Goal in words, such as "queueing delay (99th percentile) at most 80 ms". */
export function goalText({ group, metric, at_least, bound }: Goal): string {
  const [, key = metric, percentile, unit] = /^(.+?)(?:_p(\d+)|_mean)?(?:_(s|bps))?$/.exec(metric) ?? [];
  const name = NAMES[key] ?? key.replaceAll("_", " ");
  const part = percentile ? ` (${percentile}th percentile)` : metric.includes("_mean") ? " (mean)" : "";
  const of = group === null ? "" : ` of ${group}`;
  return `${name}${of}${part} ${at_least ? "at least" : "at most"} ${boundText(bound, key, unit)}`;
}

function boundText(bound: number, key: string, unit: string | undefined): string {
  if (unit === "bps") return rateText(bound).replace(/(?=[A-Za-z])/, NARROW);
  if (unit === "s") {
    const [scale, name] = bound >= 1 || bound === 0 ? [1, "s"] : bound >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
    return `${exact(bound * scale)}${NARROW}${name}`;
  }
  return SHARES.test(key) ? `${exact(100 * bound)}${NARROW}%` : exact(bound);
}

const NARROW = "\u202f";

/** Number without the rounding errors of its last digits. */
function exact(value: number): string {
  return `${Number(value.toPrecision(6))}`;
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

/** Verdict on all goals together: the worst one. */
export function verdictOnAll(point: Point, goals: readonly ShownGoal[]): "yes" | "no" | "perhaps" {
  const verdicts = goals.map((goal) => verdict(point, goal));
  if (verdicts.includes("no")) return "no";
  return verdicts.every((it) => it === "yes") ? "yes" : "perhaps";
}

/** Largest tested buffer below the smallest one that meets the goals, with its verdict. */
export interface Gap {
  low: number;
  high: number;
  verdict: "no" | "perhaps";
}

/** Gap in which a smaller buffer that meets the goals may be; null if no smaller buffer was tested. */
export function gapBelow(points: readonly Point[], goals: readonly ShownGoal[]): Gap | null {
  const at = points.findIndex((point) => verdictOnAll(point, goals) === "yes");
  const [below, meeting] = [points[at - 1], points[at]];
  if (!below || !meeting) return null;
  const isMiss = verdictOnAll(below, goals) === "no";
  return { low: below.packets, high: meeting.packets, verdict: isMiss ? "no" : "perhaps" };
}

/** Smallest measured buffer whose intervals meet all goals, in packets; null if there is none. */
export function smallest(points: readonly Point[], goals: readonly ShownGoal[]): number | null {
  return points.find((point) => verdictOnAll(point, goals) === "yes")?.packets ?? null;
}
