/**
 * The four readouts of a run, each over the same recent span of simulated time, and the shares of flows in
 * recent arrivals.
 */

import type { Picture } from "./engine/figures.ts";
import type { Resolved } from "./engine/protocol.ts";

/** Sums of a run up to a picture. */
interface Sums {
  timeS: number;
  busyS: number;
  arrivals: number;
  drops: number;
  deliveredBytes: number;
  /** Arrivals at the link of each flow, by its number. */
  arrived: Map<number, number>;
}

/** Readouts over a span. A share is between 0 and 1, NaN if it is unknown. */
export interface Readout {
  spanS: number;
  utilization: number;
  lossRate: number;
  goodputBps: number;
}

/** Span of the readouts, in round trips, and the smallest one in seconds of simulated time. */
const SPAN_ROUND_TRIPS = 10;

/**
 * Time since which the engine counts the packets of a link, in seconds: counting restarts when the warm-up
 * ends.
 */
export function countedSince(timeS: number, warmupS: number): number {
  return timeS > warmupS ? warmupS : 0;
}

export class Readouts {
  #sums: Sums[] = [];
  readonly #spanS: number;
  readonly #target: number;

  constructor(resolved: Resolved | null, roundTripS: number) {
    this.#spanS = SPAN_ROUND_TRIPS * (roundTripS + (resolved?.buffer.seconds ?? 0));
    this.#target = resolved?.target ?? 0;
  }

  add({ timeS, deliveredBytes, links, flows }: Picture): void {
    const link = links[this.#target];
    const last = this.#sums.at(-1);
    if (!link || (last && timeS <= last.timeS)) return;
    // Counting restarts when the warm-up ends.
    if (last && link.arrivals < last.arrivals) this.#sums = [];
    const busyS = (last?.busyS ?? 0) + link.utilization * (timeS - (last?.timeS ?? 0));
    const arrived = new Map<number, number>();
    for (const it of flows) arrived.set(it.flow, (arrived.get(it.flow) ?? 0) + it.arrived);
    this.#sums.push({ timeS, busyS, arrivals: link.arrivals, drops: link.drops, deliveredBytes, arrived });
    const second = (): number => this.#sums[1]?.timeS ?? timeS;
    while (this.#sums.length > 2 && timeS - second() >= this.#spanS) this.#sums.shift();
  }

  get now(): Readout | null {
    const [first, last] = [this.#sums[0], this.#sums.at(-1)];
    if (!first || !last || first === last) return null;
    const spanS = last.timeS - first.timeS;
    const arrivals = last.arrivals - first.arrivals;
    return {
      spanS,
      utilization: Math.min(1, (last.busyS - first.busyS) / spanS),
      lossRate: arrivals > 0 ? (last.drops - first.drops) / arrivals : Number.NaN,
      goodputBps: (8 * (last.deliveredBytes - first.deliveredBytes)) / spanS,
    };
  }

  /** Share of each flow in the arrivals of the span, in the order of their numbers. The rest has none. */
  get shares(): { flow: number; share: number }[] {
    const [first, last] = [this.#sums[0], this.#sums.at(-1)];
    if (!first || !last) return [];
    const all = last.arrivals - first.arrivals;
    if (all <= 0) return [];
    return [...last.arrived]
      .map(([flow, count]) => ({ flow, share: (count - (first.arrived.get(flow) ?? 0)) / all }))
      .filter(({ share }) => share > 0)
      .sort((one, other) => one.flow - other.flow);
  }
}
