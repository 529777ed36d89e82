/** Scale of the buffer: one logarithmic scale for the end of the queue in the picture, the slider and the keys. */

import { roundUp } from "./axes.ts";
import type { Edit } from "./changes.ts";
import { withBuffer } from "./changes.ts";
import type { Controls, Resolved } from "./engine/protocol.ts";
import { isInBytes } from "./queue_unit.ts";

/** Units of a buffer in a scenario, with their names. */
export const UNITS = [
  ["p", "packets"],
  ["BDP", "× BDP"],
  ["ms", "ms"],
  ["kB", "kB"],
] as const;

/** Buffers beyond this number of bandwidth-delay products are set in the number field only. */
const MAX_BDPS = 5;
/** Smallest upper end of the scale, in packets. */
const LEAST_END = 100;

/**
 * Largest buffer of the scale in packets: a round number that does not change while the end is dragged. A
 * buffer at this end or beyond it has a scale with room for twice as much.
 */
export function scaleEnd(resolved: Pick<Resolved, "bdp_packets" | "buffer"> | null): number {
  const wanted = Math.max(MAX_BDPS * (resolved?.bdp_packets ?? 0), LEAST_END);
  const end = roundUp(wanted);
  const own = Math.ceil(resolved?.buffer.packets ?? 1);
  return own < end ? end : 2 * own;
}

/** Place of a buffer on the scale, from 0 for one packet to 1. */
export function placeOf(packets: number, end: number): number {
  return Math.min(1, Math.max(0, Math.log(Math.max(1, packets)) / Math.log(end)));
}

/** Whole number of packets at a place of the scale. */
export function packetsAt(place: number, end: number): number {
  return Math.max(1, Math.round(end ** Math.min(1, Math.max(0, place))));
}

/** Next buffer by a share of it, by at least one packet. */
export function stepped(packets: number, share: number, end: number): number {
  const step = Math.sign(share) * Math.max(1, Math.round(Math.abs(share) * packets));
  return Math.min(end, Math.max(1, Math.round(packets) + step));
}

/** Amount of a unit in one packet of the buffer; null if the link has no such unit. */
export function unitsPerPacket({ buffer }: Pick<Resolved, "buffer">, unit: string): number | null {
  const { packets, bytes, seconds, bdp } = buffer;
  if (unit === "p" || packets <= 0) return unit === "p" ? 1 : null;
  const amount = { BDP: bdp, ms: seconds * 1e3, kB: bytes / 1e3 }[unit] ?? null;
  return amount === null || !(amount > 0) ? null : amount / packets;
}

/**
 * Edit that sets the buffer to a number of packets that was simulated: in packets if the limit is in packets, else
 * in kilobytes, which are exact.
 */
export function withTested(controls: Controls, resolved: Resolved, packets: number): Edit {
  if (!isInBytes(resolved)) return withBuffer(controls, packets, "p");
  return withBuffer(controls, Math.ceil(packets * resolved.packet_bytes) / 1e3, "kB");
}

/** Edit that sets the buffer to a number of packets, written in a unit. */
export function withPackets(controls: Controls, resolved: Resolved, packets: number, unit: string): Edit {
  const per = unitsPerPacket(resolved, unit);
  if (unit === "p" || per === null) return withBuffer(controls, Math.round(packets), "p");
  return withBuffer(controls, Number((packets * per).toPrecision(4)), unit);
}
