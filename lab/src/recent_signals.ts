/** List of the packets that were lost or marked last. */

import { DROP, MARKED_DEPARTURE, type Picture } from "./engine/figures.ts";
import type { Signal } from "./engine/replay.ts";

/** Length of the list for each kind. Frequent marks do not displace losses. */
const LIMIT = 12;

export class RecentSignals {
  #dropped: Signal[] = [];
  #marked: Signal[] = [];

  /** Adds the drops and marks of a picture. */
  add({ packetEvents }: Picture): void {
    for (const event of packetEvents) {
      const { kind, timeS, flow, group, packet, bytes, isAck } = event;
      const signal = { timeS, flow, group, packet, bytes, isAck };
      if (kind === DROP) this.#dropped.push({ kind: "dropped", ...signal });
      if (kind === MARKED_DEPARTURE) this.#marked.push({ kind: "marked", ...signal });
    }
    this.#dropped = this.#dropped.slice(-LIMIT);
    this.#marked = this.#marked.slice(-LIMIT);
  }

  /** Signals, the latest first. */
  get list(): Signal[] {
    return [...this.#dropped, ...this.#marked].sort((one, other) => other.timeS - one.timeS);
  }
}
