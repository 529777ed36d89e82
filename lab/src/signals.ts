/** The packets that were lost or marked last, for whoever wants to know more of one. */

import { DEPARTS_MARKED, IS_DROPPED, type Picture } from "./engine/figures.ts";
import type { Signal } from "./engine/replay.ts";

/** How many are kept of each kind: marks may be many, and must not push losses out. */
const KEPT = 12;

export class Signals {
  #dropped: Signal[] = [];
  #marked: Signal[] = [];

  /** Takes in what a picture tells. */
  see({ sightings }: Picture): void {
    for (const sighting of sightings) {
      const { happening, timeS, flow, group, packet, bytes, acknowledges } = sighting;
      const signal = { timeS, flow, group, packet, bytes, acknowledges };
      if (happening === IS_DROPPED) this.#dropped.push({ kind: "dropped", ...signal });
      if (happening === DEPARTS_MARKED) this.#marked.push({ kind: "marked", ...signal });
    }
    this.#dropped = this.#dropped.slice(-KEPT);
    this.#marked = this.#marked.slice(-KEPT);
  }

  /** The latest first. */
  get list(): Signal[] {
    return [...this.#dropped, ...this.#marked].sort((one, other) => other.timeS - one.timeS);
  }
}
