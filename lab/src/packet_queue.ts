/**
 * Packets in the queue in their order, reconstructed from packet events. The engine reports departures ahead
 * of time, so an event is applied when the displayed time reaches it.
 */

import { ARRIVAL, DROP, MARKED_DEPARTURE, type PacketEvent } from "./engine/figures.ts";

/** Packet in the queue, or one that leaves it. */
export interface Packet {
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  /** Whether the packet is an acknowledgment. */
  isAck: boolean;
  /** Arrival time, in seconds of the run. */
  arrivedS: number;
}

/** Event that the page shows for a moment. */
export interface Flash extends Packet {
  kind: "dropped" | "departed" | "marked" | "arrived";
  timeS: number;
}

/** Largest number of packets in the reconstructed queue. */
const MAX_PACKETS = 20_000;
/** Largest number of events that are not painted yet. */
const MAX_FLASHES = 500;

export class PacketQueue {
  /** Packets in the order of their arrival. */
  packets: Packet[] = [];
  /** Events since the list was last emptied. */
  flashes: Flash[] = [];
  /** Whether the order of the packets is unknown because events were missed. */
  isStale = false;
  #pending: PacketEvent[] = [];

  /** Adds packet events. `missed` is the number of events that the engine did not record. */
  add(events: readonly PacketEvent[], missed: number): void {
    if (missed > 0 || this.#pending.length + events.length > 4 * MAX_PACKETS) {
      this.#pending = [];
      this.packets = [];
      this.isStale = true;
      return;
    }
    this.#pending.push(...events);
    // A departure is reported ahead of time, between later arrivals. Simultaneous events retain their order.
    this.#pending.sort((one, other) => one.timeS - other.timeS);
  }

  /** Applies all events up to a time in seconds. */
  advanceTo(timeS: number): void {
    let at = 0;
    for (; at < this.#pending.length; at += 1) {
      const event = this.#pending[at];
      if (!event || event.timeS > timeS) break;
      this.#apply(event);
    }
    this.#pending.splice(0, at);
  }

  /** Number of packets in the queue by flow. */
  countsByFlow(): Map<number, number> {
    const found = new Map<number, number>();
    for (const { flow } of this.packets) found.set(flow, (found.get(flow) ?? 0) + 1);
    return found;
  }

  #apply(event: PacketEvent): void {
    const packet = {
      flow: event.flow,
      group: event.group,
      packet: event.packet,
      bytes: event.bytes,
      isAck: event.isAck,
      arrivedS: event.timeS,
    };
    if (event.kind === ARRIVAL) {
      this.packets.push(packet);
      if (this.packets.length > 2 * MAX_PACKETS) this.packets = this.packets.slice(-MAX_PACKETS);
      this.#flash({ ...packet, kind: "arrived", timeS: event.timeS });
      return;
    }
    const isDropped = event.kind === DROP;
    const at = this.#indexOf(event, isDropped);
    const found = at < 0 ? undefined : this.packets[at];
    if (found) this.packets.splice(at, 1);
    const kind = isDropped ? "dropped" : event.kind === MARKED_DEPARTURE ? "marked" : "departed";
    this.#flash({ ...(found ?? packet), kind, timeS: event.timeS });
  }

  /**
   * Index of the packet of an event. A drop refers to the last copy of the packet, a departure to the first,
   * because a retransmission may be in the queue as well.
   */
  #indexOf(event: PacketEvent, isDropped: boolean): number {
    const isSame = (packet: Packet): boolean => packet.flow === event.flow && packet.packet === event.packet;
    if (!isDropped) return this.packets.findIndex(isSame);
    for (let at = this.packets.length - 1; at >= 0; at -= 1) {
      const packet = this.packets[at];
      if (packet && isSame(packet)) return at;
    }
    return -1;
  }

  #flash(flash: Flash): void {
    this.flashes.push(flash);
    if (this.flashes.length > 2 * MAX_FLASHES) this.flashes = this.flashes.slice(-MAX_FLASHES);
  }
}
