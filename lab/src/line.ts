/**
 * The queue as a line of packets, kept up by what is seen at the link. Departures are told ahead of their time, so
 * each sighting waits until the moment that is shown.
 */

import { ARRIVES, DEPARTS_MARKED, IS_DROPPED, type Sighting } from "./engine/figures.ts";

/** A packet in the queue, or on its way out of it. */
export interface Packet {
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  /** Whether it is an acknowledgment. */
  acknowledges: boolean;
  /** When it arrived, in seconds of the run. */
  arrivedS: number;
}

/** Something that is shown for a moment. */
export interface Flash extends Packet {
  kind: "dropped" | "departed" | "marked" | "arrived";
  timeS: number;
}

/** The packets whose order is known, when they become too many. */
const MOST = 20_000;
/** The flashes that wait to be shown, when they become too many. */
const MOST_FLASHES = 500;

export class Line {
  /** In the order of their arrival. */
  packets: Packet[] = [];
  /** What happened since this was emptied. */
  flashes: Flash[] = [];
  /** Whether so much passed by that nobody knows who waits. */
  isLost = false;
  #ahead: Sighting[] = [];

  /** Takes in what was seen, and how much was not. */
  see(sightings: readonly Sighting[], missed: number): void {
    if (missed > 0 || this.#ahead.length + sightings.length > 4 * MOST) {
      this.#ahead = [];
      this.packets = [];
      this.isLost = true;
      return;
    }
    this.#ahead.push(...sightings);
    // A departure that is told ahead of its time stands among later arrivals; what happens at once keeps its order.
    this.#ahead.sort((one, other) => one.timeS - other.timeS);
  }

  /** Everything up to a moment happens. */
  pass(timeS: number): void {
    let at = 0;
    for (; at < this.#ahead.length; at += 1) {
      const sighting = this.#ahead[at];
      if (!sighting || sighting.timeS > timeS) break;
      this.#happen(sighting);
    }
    this.#ahead.splice(0, at);
  }

  /** How many wait of each flow. */
  byFlow(): Map<number, number> {
    const found = new Map<number, number>();
    for (const { flow } of this.packets) found.set(flow, (found.get(flow) ?? 0) + 1);
    return found;
  }

  #happen(sighting: Sighting): void {
    const packet = {
      flow: sighting.flow,
      group: sighting.group,
      packet: sighting.packet,
      bytes: sighting.bytes,
      acknowledges: sighting.acknowledges,
      arrivedS: sighting.timeS,
    };
    if (sighting.happening === ARRIVES) {
      this.packets.push(packet);
      if (this.packets.length > 2 * MOST) this.packets = this.packets.slice(-MOST);
      this.#flash({ ...packet, kind: "arrived", timeS: sighting.timeS });
      return;
    }
    const isDropped = sighting.happening === IS_DROPPED;
    const at = this.#place(sighting, isDropped);
    const found = at < 0 ? undefined : this.packets[at];
    if (found) this.packets.splice(at, 1);
    const kind = isDropped ? "dropped" : sighting.happening === DEPARTS_MARKED ? "marked" : "departed";
    this.#flash({ ...(found ?? packet), kind, timeS: sighting.timeS });
  }

  /** A dropped packet is the last of its like, one that leaves the first: a repetition may wait beside it. */
  #place(sighting: Sighting, isDropped: boolean): number {
    const isIt = (packet: Packet): boolean =>
      packet.flow === sighting.flow && packet.packet === sighting.packet;
    if (!isDropped) return this.packets.findIndex(isIt);
    for (let at = this.packets.length - 1; at >= 0; at -= 1) {
      const packet = this.packets[at];
      if (packet && isIt(packet)) return at;
    }
    return -1;
  }

  #flash(flash: Flash): void {
    this.flashes.push(flash);
    if (this.flashes.length > 2 * MOST_FLASHES) this.flashes = this.flashes.slice(-MOST_FLASHES);
  }
}
