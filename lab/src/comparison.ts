/** Difference between the run before a change and the present run, over the same simulated time. */

import type { Resolved } from "./engine/protocol.ts";
import { BYTES_COLUMN, type History, LOSSES_COLUMN, QUEUE_COLUMN } from "./history.ts";
import { amount, digits, share, time } from "./numbers.ts";

/** Scenario of a run, as far as a comparison needs it. */
export interface ComparedRun {
  history: History;
  /** Equal for runs that are equal: the resolved scenario without title and goals. */
  key: string;
  /** Equal for runs that differ in the target link's buffer only. */
  keyWithoutBuffer: string;
  /** Buffer, such as "20 packets" or "300 ms". */
  bufferText: string;
  /** Rate of the target link in bit/s; NaN if it changes during a run. */
  rateBps: number;
  /** Size of a packet, in bytes. A packet in transmission is not counted yet. */
  packetBytes: number;
  /** Totals of the measured time, once the run is complete; null before. */
  whole: Totals | null;
}

/** Resolved scenario without texts for readers and goals: what decides a run. */
export function runTables(canonical: string): Record<string, unknown> {
  const { title, goal, ...rest } = JSON.parse(canonical || "{}") as Record<string, unknown>;
  return rest;
}

/** Key of the run of a resolved scenario. */
export function runKey(canonical: string): string {
  return JSON.stringify(runTables(canonical));
}

/** Resolved scenario without the buffer of the target link and without texts for readers. */
export function keyWithoutBuffer({ canonical, target }: Pick<Resolved, "canonical" | "target">): string {
  const found = runTables(canonical);
  const { link, links } = found as { link?: Record<string, unknown>; links?: Record<string, unknown>[] };
  for (const own of [link, links?.[target]]) if (own) delete own.buffer;
  return JSON.stringify(found);
}

/** Largest share of one packet in a utilization that is shown: the readouts, which are exact, have three digits. */
const RESOLUTION = 1e-3;

/** Totals of the target link over a time. */
export interface Totals {
  /** Share of the time in which the link was busy, from 0 to 1; NaN if the rate changes, or if the time is short. */
  utilization: number;
  losses: number;
  /** Mean length of the queue, in packets. */
  queuePackets: number;
}

export interface Comparison {
  /** Time of both runs that is compared, in seconds. */
  fromS: number;
  untilS: number;
  was: Totals;
  is: Totals;
}

/**
 * Compares two runs up to the end of the shorter one. The warm-up counts only until `spanS` seconds after it
 * are there. Null if the runs have less than `spanS` seconds together.
 */
export function compare(
  before: ComparedRun,
  now: ComparedRun,
  { warmupS, spanS }: { warmupS: number; spanS: number },
): Comparison | null {
  const untilS = Math.min(before.history.untilS, now.history.untilS);
  if (untilS < spanS) return null;
  const fromS = untilS - warmupS >= spanS ? warmupS : 0;
  // Complete runs have exact totals. Those of the intervals leave out the part of one.
  const areWhole = fromS === warmupS && before.history.untilS === now.history.untilS;
  if (areWhole && before.whole && now.whole) return { fromS, untilS, was: before.whole, is: now.whole };
  const [was, is] = [before, now].map((run) => totalsOf(run, fromS, untilS));
  return was && is ? { fromS, untilS, was, is } : null;
}

/** Totals of the intervals that lie wholly in a time; null if there is none. */
function totalsOf(
  { history, rateBps, packetBytes }: ComparedRun,
  fromS: number,
  untilS: number,
): Totals | null {
  const { widthS, columns } = history;
  const first = Math.ceil(fromS / widthS - 1e-6);
  const end = Math.min(history.length, Math.floor(untilS / widthS + 1e-6));
  if (!(widthS > 0) || end <= first) return null;
  const sum = (place: number): number =>
    (columns[place] ?? [])
      .slice(first, end)
      .reduce((total, value) => total + (Number.isNaN(value) ? 0 : value), 0);
  const linkBytes = (rateBps * (end - first) * widthS) / 8;
  const isResolved = packetBytes <= RESOLUTION * linkBytes;
  return {
    utilization: isResolved ? Math.min(1, sum(BYTES_COLUMN) / linkBytes) : Number.NaN,
    losses: sum(LOSSES_COLUMN),
    queuePackets: sum(QUEUE_COLUMN) / (end - first),
  };
}

/** Text of a change, such as "Buffer of 10 packets instead of 20 packets" if nothing else has changed. */
export function changeTitle(before: ComparedRun, now: ComparedRun): string {
  const isBufferOnly = before.keyWithoutBuffer === now.keyWithoutBuffer;
  return isBufferOnly && before.bufferText !== now.bufferText
    ? `Buffer of ${now.bufferText} instead of ${before.bufferText}`
    : "After the change";
}

/** Text of a comparison. */
export function comparisonText({ fromS, untilS, was, is }: Comparison): string {
  const pairs = [
    ["utilization was", share(was.utilization), share(is.utilization)],
    ["losses were", amount(was.losses), amount(is.losses)],
    ["the mean queue was", `${digits(was.queuePackets)} packets`, digits(is.queuePackets)],
  ].filter((values) => !values.includes("–"));
  const parts = pairs.map(([name, one, other]) => `${name} ${one}, now ${other}`);
  return `${parts.join("; ")} (from ${time(fromS)} to ${time(untilS)} of both runs).`;
}
