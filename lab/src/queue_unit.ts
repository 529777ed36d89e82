/**
 * Unit in which a queue is compared with its buffer. A buffer of bytes holds more small packets than large ones,
 * and classes may have buffers of their own, so a number of packets is not always a part of the buffer.
 */

import { runTables } from "./comparison.ts";
import type { Resolved } from "./engine/protocol.ts";
import { amount } from "./numbers.ts";

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

/** Returns the limit of the target link's queue. Bytes of packets that are all equal limit the packets. */
export function queueLimit(resolved: Pick<Resolved, "canonical" | "target">): QueueLimit {
  const { link, links, flows = [] } = runTables(resolved.canonical) as Tables;
  const { buffer, queue } = link ?? links?.[resolved.target] ?? {};
  const { classes = [] } = (queue !== null && typeof queue === "object" ? queue : {}) as QueueTable;
  if (classes.some((own) => own.buffer !== undefined)) return "classes";
  const sizes = new Set(flows.map(({ packet }) => JSON.stringify(packet)));
  return typeof buffer !== "string" || /^\d+p$/.test(buffer) || sizes.size < 2 ? "packets" : "bytes";
}

/** Text of the packets in a queue, such as "8 of 20 packets in the queue". */
export function contentsText(waiting: number, packets: number, limit: QueueLimit): string {
  // A buffer that shrinks holds for a moment more packets than its new size.
  const isPart = limit === "packets" && Math.round(waiting) <= Math.round(packets);
  return isPart
    ? `${Math.round(waiting)} of ${Math.round(packets)} packets in the queue`
    : `${amount(waiting)} packets in the queue`;
}
