/**
 * Unit in which a queue is compared with its buffer. A buffer of bytes holds more small packets than large ones,
 * and classes may have buffers of their own, so a number of packets is not always a part of the buffer.
 */

import { runTables } from "./comparison.ts";
import type { Resolved } from "./engine/protocol.ts";
import { amount, time } from "./numbers.ts";

/** Parts of a resolved scenario that decide the unit. */
interface Tables {
  link?: LinkTable;
  links?: readonly LinkTable[];
  flows?: readonly { packet?: unknown }[];
}

interface LinkTable {
  buffer?: unknown;
  queue?: unknown;
}

interface QueueTable {
  classes?: readonly { buffer?: unknown }[];
}

/** Limit of a queue: packets, bytes, or a buffer for each class. */
export type QueueLimit = "packets" | "bytes" | "classes";

/** Scenario as far as its buffer needs it. */
type Buffered = Pick<Resolved, "canonical" | "target">;

function targetOf({ canonical, target }: Buffered): LinkTable {
  const { link, links } = runTables(canonical) as Tables;
  return link ?? links?.[target] ?? {};
}

/** Whether the target link's buffer is a number of bytes. A buffer in BDP or in time is one, too. */
export function isInBytes(resolved: Buffered): boolean {
  const { buffer } = targetOf(resolved);
  return typeof buffer === "string" && !/^\d+p$/.test(buffer);
}

/**
 * Override that sets the target link's buffer to a number of packets. A limit in bytes stays one, as in the
 * native engines: crates/scenario/src/model/scenario/buffers.rs.
 */
export function bufferOverride(resolved: Resolved, packets: number): string {
  if (!isInBytes(resolved)) return `link.buffer=${packets}p`;
  const { buffer, packet_bytes } = resolved;
  const isOwn = packets === Math.round(buffer.packets);
  return `link.buffer=${isOwn ? buffer.bytes : Math.ceil(packets * packet_bytes)}B`;
}

/** Returns the limit of the target link's queue. Bytes of packets that are all equal limit the packets. */
export function queueLimit(resolved: Buffered): QueueLimit {
  const { flows = [] } = runTables(resolved.canonical) as Tables;
  const { queue } = targetOf(resolved);
  const { classes = [] } = (queue !== null && typeof queue === "object" ? queue : {}) as QueueTable;
  if (classes.some((own) => own.buffer !== undefined)) return "classes";
  const sizes = new Set(flows.map(({ packet }) => JSON.stringify(packet)));
  return isInBytes(resolved) && sizes.size > 1 ? "bytes" : "packets";
}

/** Size of a buffer in its unit: "20 packets", or "300 ms" if a number of packets would mislead. */
export function bufferText(resolved: Resolved): string {
  const { packets, seconds } = resolved.buffer;
  return queueLimit(resolved) === "bytes" ? time(seconds) : `${amount(packets)} packets`;
}

/** Text of the packets in a queue, such as "8 of 20 packets in the queue". */
export function contentsText(waiting: number, packets: number, limit: QueueLimit): string {
  // A buffer that shrinks holds for a moment more packets than its new size.
  const isPart = limit === "packets" && Math.round(waiting) <= Math.round(packets);
  return isPart
    ? `${Math.round(waiting)} of ${Math.round(packets)} packets in the queue`
    : `${amount(waiting)} packets in the queue`;
}
