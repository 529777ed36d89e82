/**
 * Lost and marked packets of a run. The engine lists them, whatever the speed of the run: the latest ones
 * come with each picture, and earlier ones on request.
 */

import { ARRIVAL, DROP, type PacketEvent, type Picture } from "./engine/figures.ts";
import type { Signal } from "./engine/replay.ts";

/** Number of packets on a page of the list. */
export const PAGE_LENGTH = 24;

/** Answer of the engines to a request for a part of a list, from crates/browser/src/signals.rs. */
interface Listing {
  total: number;
  first: number;
  signals: {
    number: number;
    time_s: number;
    flow: number;
    group: number;
    packet: number;
    bytes: number;
    acknowledges: boolean;
  }[];
}

/** Page of a list, the latest packet first. */
export interface SignalPage {
  kind: Signal["kind"];
  /** Number of the first packet on the page and after it, counted from 0 since the beginning of the run. */
  from: number;
  until: number;
  /** Number of all packets, and of the first one that the engines still list. */
  total: number;
  first: number;
  list: Signal[];
}

export class RecentSignals {
  /** Numbers of all packets since the beginning of the run. */
  dropped = 0;
  marked = 0;
  #latest: Signal[] = [];

  /** Adds the signals of a picture. */
  add({ signals, dropped, marked }: Pick<Picture, "signals" | "dropped" | "marked">): void {
    this.dropped = dropped;
    this.marked = marked;
    const latest = signals.filter(({ kind }) => kind !== ARRIVAL).map(signalOf);
    this.#latest = latest.sort((one, other) => other.timeS - one.timeS);
  }

  /** Latest signals of both kinds, the latest first. */
  get list(): Signal[] {
    return this.#latest;
  }

  /** Number of all packets of a kind. */
  total(kind: Signal["kind"]): number {
    return kind === "dropped" ? this.dropped : this.marked;
  }
}

/** Requests the page of the packets before number `until`. */
export async function pageBefore(
  ask: <T>(request: object) => Promise<T>,
  kind: Signal["kind"],
  until: number,
): Promise<SignalPage> {
  const from = Math.max(0, until - PAGE_LENGTH);
  const { total, first, signals } = await ask<Listing>({
    ...{ do: "signals", kind },
    from,
    count: until - from,
  });
  const list = signals.map(({ time_s, flow, group, packet, bytes, acknowledges }) => ({
    ...{ kind, timeS: time_s, flow, group, packet, bytes, isAck: acknowledges },
  }));
  return { kind, from: Math.max(from, first), until, total, first, list: list.reverse() };
}

/** Requests the page of the first packets that the engines still list. */
export async function firstPage(
  ask: <T>(request: object) => Promise<T>,
  kind: Signal["kind"],
): Promise<SignalPage> {
  const page = await pageBefore(ask, kind, PAGE_LENGTH);
  const until = Math.min(page.first + PAGE_LENGTH, page.total);
  return until === page.until ? page : pageBefore(ask, kind, until);
}

function signalOf({ kind, timeS, flow, group, packet, bytes, isAck }: PacketEvent): Signal {
  return { kind: kind === DROP ? "dropped" : "marked", timeS, flow, group, packet, bytes, isAck };
}
